//! Reads TOML tables key by key and gathers every complaint with its line, so that the person sees
//! all of them at once. A key that nobody asked for is a complaint too.

use super::error::{ConfigError, ConfigErrors};
use super::words;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item, TableLike};

/// A file that is being read.
pub(super) struct Reader {
    file: PathBuf,
    /// Where lines begin, for spans.
    text: String,
    errors: Vec<ConfigError>,
}

/// One table of it, and the keys that were asked for.
pub(super) struct Section<'a> {
    table: &'a dyn TableLike,
    /// Before the keys in complaints: empty, or `account.`.
    prefix: String,
    known: Vec<&'static str>,
}

impl Reader {
    pub fn new(file: &Path, text: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
            errors: Vec::new(),
        }
    }

    /// Parses the text; none, with a complaint, when it is no TOML.
    pub fn parse(&mut self) -> Option<Document<String>> {
        match Document::parse(self.text.clone()) {
            Ok(document) => Some(document),
            Err(error) => {
                let message = error.message().trim().replace('\n', ", ");
                let line = self.line(error.span());
                self.complain(line, "", message, None);
                None
            }
        }
    }

    /// What was read, or everything that is wrong with it.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, ConfigErrors> {
        match value {
            Some(value) if self.errors.is_empty() => Ok(value),
            _ => {
                let mut errors = self.errors;
                errors.sort_by_key(|error| error.line);
                Err(ConfigErrors(errors))
            }
        }
    }

    /// The line of a place.
    pub fn line(&self, span: Option<Range<usize>>) -> Option<usize> {
        let upto = self.text.as_bytes().get(..span?.start)?;
        Some(1 + upto.iter().filter(|byte| **byte == b'\n').count())
    }

    /// Notes that something is wrong.
    pub fn complain(
        &mut self,
        line: Option<usize>,
        key: impl Into<String>,
        expected: impl Into<String>,
        suggestion: Option<String>,
    ) {
        self.errors.push(ConfigError {
            file: self.file.clone(),
            line,
            key: key.into(),
            expected: expected.into(),
            suggestion,
        });
    }

    fn wrong(&mut self, section: &Section<'_>, key: &str, item: &Item, expected: &str) {
        let line = self.line(item.span());
        self.complain(line, section.path(key), expected, None);
    }

    pub fn text(&mut self, section: &mut Section<'_>, key: &'static str) -> Option<String> {
        let item = section.take(key)?;
        match item.as_str() {
            Some(text) => Some(text.to_owned()),
            None => {
                self.wrong(section, key, item, "expected text in quotes");
                None
            }
        }
    }

    /// A text out of a list.
    pub fn choice(
        &mut self,
        section: &mut Section<'_>,
        key: &'static str,
        choices: &[&str],
    ) -> Option<String> {
        let text = self.text(section, key)?;
        if choices.contains(&text.as_str()) {
            return Some(text);
        }
        let line = section.line(self, key);
        let expected = format!("`{text}` is none of {}", choices.join(", "));
        let suggestion = words::nearest(&text, choices.iter().copied()).map(str::to_owned);
        self.complain(line, section.path(key), expected, suggestion);
        None
    }

    pub fn flag(&mut self, section: &mut Section<'_>, key: &'static str) -> Option<bool> {
        let item = section.take(key)?;
        let flag = item.as_bool().or_else(|| match item.as_str()? {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        });
        if flag.is_none() {
            self.wrong(section, key, item, "expected true or false");
        }
        flag
    }

    pub fn path(&mut self, section: &mut Section<'_>, key: &'static str) -> Option<PathBuf> {
        self.text(section, key)
            .filter(|text| !text.is_empty())
            .map(|text| words::path(&text))
    }

    pub fn color(&mut self, section: &mut Section<'_>, key: &'static str) -> Option<(u8, u8, u8)> {
        let text = self.text(section, key)?;
        let color = words::color(&text);
        if color.is_none() {
            let line = section.line(self, key);
            self.complain(
                line,
                section.path(key),
                "expected a colour like \"#7cb7ff\"",
                None,
            );
        }
        color
    }

    /// A command: a list of words, or one text that is split into words. Never empty.
    pub fn command(&mut self, section: &mut Section<'_>, key: &'static str) -> Option<Vec<String>> {
        let item = section.take(key)?;
        let words = command_of(item);
        if words.is_none() {
            self.wrong(section, key, item, COMMAND);
        }
        words
    }

    /// A table inside; a complaint when it is something else.
    pub fn table<'a>(
        &mut self,
        section: &mut Section<'a>,
        key: &'static str,
    ) -> Option<Section<'a>> {
        let item = section.take(key)?;
        match item.as_table_like() {
            Some(table) => Some(Section::new(table, format!("{}.", section.path(key)))),
            None => {
                self.wrong(section, key, item, "expected a table");
                None
            }
        }
    }

    /// Complains about every key of a section that nobody asked for.
    pub fn close(&mut self, section: Section<'_>) {
        for (key, item) in section.table.iter() {
            if section.known.contains(&key) {
                continue;
            }
            let span = section
                .table
                .get_key_value(key)
                .and_then(|(key, _)| key.span())
                .or_else(|| item.span());
            let line = self.line(span);
            let suggestion = words::nearest(key, section.known.iter().copied()).map(str::to_owned);
            self.complain(line, section.path(key), "this key is not known", suggestion);
        }
    }
}

/// What is expected where a command stands.
pub(super) const COMMAND: &str =
    "expected a command: a list of words like [\"pass\", \"show\", \"name\"]";

/// The words of a command.
pub(super) fn command_of(item: &Item) -> Option<Vec<String>> {
    let words = match item.as_str() {
        Some(text) => words::split(text)?,
        None => item
            .as_array()?
            .iter()
            .map(|word| word.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()?,
    };
    (words.first().is_some_and(|program| !program.is_empty())).then_some(words)
}

impl<'a> Section<'a> {
    pub fn new(table: &'a dyn TableLike, prefix: impl Into<String>) -> Self {
        Self {
            table,
            prefix: prefix.into(),
            known: Vec::new(),
        }
    }

    /// The item of a key; the key is known from now on.
    pub fn take(&mut self, key: &'static str) -> Option<&'a Item> {
        self.known.push(key);
        self.table.get(key)
    }

    /// Every key with its item.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Item)> {
        self.table.iter()
    }

    /// The line of a key.
    pub fn line(&self, reader: &Reader, key: &str) -> Option<usize> {
        let (key, item) = self.table.get_key_value(key)?;
        reader.line(key.span().or_else(|| item.span()))
    }

    /// A key with its table in front.
    pub fn path(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}
