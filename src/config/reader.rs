//! Reads TOML tables key by key and gathers every complaint with its line, so that the person sees
//! all of them at once. A key that nobody asked for is a complaint too. Whoever reads decides
//! whether complaints are the end of it ([`Reader::finish`]) or something to be told
//! ([`Reader::finish_with_complaints`]).

use super::error::{ConfigError, ConfigErrors};
use super::words;
use crate::domain::nearest;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item, TableLike};

/// A file that is being read.
pub(super) struct Reader {
    file: PathBuf,
    /// Where lines begin, for spans.
    text: String,
    /// Complaints, and whether what is around the line has no sense without it.
    errors: Vec<(ConfigError, bool)>,
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
            _ => Err(ConfigErrors(self.finish_with_complaints())),
        }
    }

    /// Everything that is wrong, in the order of the file.
    pub fn finish_with_complaints(self) -> Vec<ConfigError> {
        let mut errors: Vec<_> = self.errors.into_iter().map(|(error, _)| error).collect();
        errors.sort_by_key(|error| error.line);
        errors
    }

    /// How many complaints there are so far.
    pub fn count(&self) -> usize {
        self.errors.len()
    }

    /// Whether all complaints since then concern lines that can be done without.
    pub fn is_whole_since(&self, count: usize) -> bool {
        self.errors
            .iter()
            .skip(count)
            .all(|(_, is_grave)| !is_grave)
    }

    /// Says of the complaints since then what follows from them.
    pub fn explain(&mut self, count: usize, effect: &str) {
        for (error, is_grave) in self.errors.iter_mut().skip(count) {
            if *is_grave {
                error.effect.get_or_insert_with(|| effect.to_owned());
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
        self.remark(line, key, expected, suggestion);
        if let Some((_, is_grave)) = self.errors.last_mut() {
            *is_grave = true;
        }
    }

    /// Notes that a line is wrong which everything around it can do without.
    fn remark(
        &mut self,
        line: Option<usize>,
        key: impl Into<String>,
        expected: impl Into<String>,
        suggestion: Option<String>,
    ) {
        let error = ConfigError {
            file: self.file.clone(),
            line,
            key: key.into(),
            expected: expected.into(),
            suggestion,
            effect: None,
        };
        self.errors.push((error, false));
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
        let suggestion = nearest(&text, choices.iter().copied()).map(str::to_owned);
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
        let text = section.take(key)?.as_str();
        let color = text.and_then(words::color);
        if color.is_none() {
            let line = section.line(self, key);
            self.remark(
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

    /// Complains about every key of a section that nobody asked for; `elsewhere` are keys that would
    /// be known in another place, with what is to be said of them.
    pub fn close_but(&mut self, section: Section<'_>, elsewhere: &[(&str, &str)]) {
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
            match elsewhere.iter().find(|(name, _)| *name == key) {
                Some((_, why)) => self.remark(line, section.path(key), *why, None),
                None => {
                    let suggestion = nearest(key, section.known.iter().copied()).map(str::to_owned);
                    self.remark(line, section.path(key), "this key is not known", suggestion);
                }
            }
        }
    }

    /// Complains about every key of a section that nobody asked for.
    pub fn close(&mut self, section: Section<'_>) {
        self.close_but(section, &[]);
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

    /// The item of a key, without more.
    pub fn get(&self, key: &str) -> Option<&'a Item> {
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
