//! `keys.toml`: the person's key bindings, as text. A table is a context, a key is a sequence of
//! chords, a value is the name of an action, or `none` to take a binding away:
//!
//! ```toml
//! [composer]
//! "ctrl+s" = "send"
//! [global]
//! "ctrl+x q" = "none"
//! ```

use super::error::{ConfigError, ConfigErrors};
use super::file::read_text;
use super::reader::Reader;
use std::path::Path;

/// One line of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyLine {
    pub context: String,
    pub keys: String,
    pub action: String,
    /// File and line, for complaints of whoever knows the names.
    pub place: String,
}

/// The whole file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeyFile {
    pub lines: Vec<KeyLine>,
    /// Lines that were passed over.
    pub complaints: Vec<ConfigError>,
}

/// Reads the file; a missing one is an empty one. Only a file that cannot be read at all is an error.
pub fn load(path: &Path) -> Result<KeyFile, ConfigErrors> {
    match read_text(path)? {
        Some(text) => parse(path, &text),
        None => Ok(KeyFile::default()),
    }
}

/// Reads the text of a key file.
pub fn parse(path: &Path, text: &str) -> Result<KeyFile, ConfigErrors> {
    let mut reader = Reader::new(path, text);
    let Some(document) = reader.parse() else {
        return reader.finish(None);
    };
    let mut lines = Vec::new();
    for (context, item) in document.iter() {
        let Some(table) = item.as_table_like() else {
            let line = reader.line(item.span());
            let expected = "expected a table with the name of a context, like [composer]";
            reader.complain(line, context, expected, None);
            continue;
        };
        for (keys, item) in table.iter() {
            let span = table.get_key_value(keys).and_then(|(key, _)| key.span());
            let line = reader.line(span.or_else(|| item.span()));
            let place = match line {
                Some(line) => format!("{}:{line}", path.display()),
                None => path.display().to_string(),
            };
            match item.as_str() {
                Some(action) => lines.push(KeyLine {
                    context: context.to_owned(),
                    keys: keys.to_owned(),
                    action: action.to_owned(),
                    place,
                }),
                None => reader.complain(
                    line,
                    format!("{context}.\"{keys}\""),
                    "expected the name of an action in quotes, or \"none\"",
                    None,
                ),
            }
        }
    }
    Ok(KeyFile {
        lines,
        complaints: reader.finish_with_complaints(),
    })
}
