//! Complaints about a configuration: where, about what, and what was expected.

use std::fmt;
use std::path::PathBuf;

/// One thing that is wrong. The line is passed over until it is mended; everything else holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    pub file: PathBuf,
    /// Counted from one; none when it concerns the whole file or no file.
    pub line: Option<usize>,
    /// The key as it would be written, with its table; empty when it concerns no key.
    pub key: String,
    /// What was expected, as a sentence without its end.
    pub expected: String,
    /// A name that was probably meant.
    pub suggestion: Option<String>,
    /// What follows from it, as a sentence without its end, when that is more than the line.
    pub effect: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.as_os_str().is_empty() {
            write!(f, "{}", self.file.display())?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.expected)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        if let Some(effect) = &self.effect {
            let end = if self.suggestion.is_some() { "" } else { "." };
            write!(f, "{end} {effect}.")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Everything that is wrong, in the order of the file. Never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}
