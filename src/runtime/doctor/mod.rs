//! What is well here and what is not, with a hint for each weakness. Facts are gathered first
//! ([`facts`]), then judged without touching anything ([`judge`]), so that every judgement can be
//! tested.

mod ask;
mod facts;
mod judge;

pub use ask::ask_terminal;
pub use facts::{Clipboard, Facts, FolderFact, Tmux, gather};
pub use judge::judge;

use crate::view::theme::Depth;
use std::fmt::Write as _;

/// How something stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Health {
    Good,
    /// It works, but something is missing that could be there.
    Limited,
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    pub health: Health,
    pub name: String,
    pub words: String,
    /// What to do; empty when it is well.
    pub hint: String,
}

impl Finding {
    /// Something that is as it should be.
    pub fn good(name: &str, words: impl Into<String>) -> Self {
        Self {
            health: Health::Good,
            name: name.to_owned(),
            words: words.into(),
            hint: String::new(),
        }
    }

    /// Something that could be better.
    pub fn limited(name: &str, words: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            health: Health::Limited,
            hint: hint.into(),
            ..Self::good(name, words)
        }
    }

    /// Something that does not work.
    pub fn bad(name: &str, words: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            health: Health::Bad,
            hint: hint.into(),
            ..Self::good(name, words)
        }
    }
}

/// Findings on one subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    pub title: String,
    pub findings: Vec<Finding>,
}

/// The whole page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub sections: Vec<Section>,
}

impl Report {
    /// The worst of all.
    pub fn health(&self) -> Health {
        self.sections
            .iter()
            .flat_map(|section| &section.findings)
            .map(|finding| finding.health)
            .max()
            .unwrap_or(Health::Good)
    }

    /// As text for a pipe or a terminal without colours: every line says in words how it stands.
    pub fn plain(&self) -> String {
        let mut out = String::new();
        let widest = self
            .sections
            .iter()
            .flat_map(|section| &section.findings)
            .map(|finding| finding.name.chars().count())
            .max()
            .unwrap_or(0);
        for section in &self.sections {
            let _ = writeln!(out, "{}", section.title);
            for finding in &section.findings {
                let mark = match finding.health {
                    Health::Good => "ok  ",
                    Health::Limited => "hint",
                    Health::Bad => "FAIL",
                };
                let _ = writeln!(out, "  {mark} {:widest$}  {}", finding.name, finding.words);
                for line in finding.hint.lines() {
                    let _ = writeln!(out, "       {:widest$}  -> {line}", "");
                }
            }
            out.push('\n');
        }
        out.push_str(match self.health() {
            Health::Good => "All is well.\n",
            Health::Limited => "All works; the hints say what could be better.\n",
            Health::Bad => "Something does not work; see the lines that say FAIL.\n",
        });
        out
    }

    /// As Markdown, for the page in the screen.
    pub fn markdown(&self, ascii: bool) -> String {
        let (good, limited, bad) = if ascii {
            ("ok", "hint", "FAIL")
        } else {
            ("✓", "!", "✗")
        };
        let mut out = String::new();
        for section in &self.sections {
            let _ = writeln!(out, "## {}\n", section.title);
            for finding in &section.findings {
                let mark = match finding.health {
                    Health::Good => good,
                    Health::Limited => limited,
                    Health::Bad => bad,
                };
                let (name, words) = (escape(&finding.name), escape(&finding.words));
                let _ = writeln!(out, "- {mark} **{name}** {words}");
                for line in finding.hint.lines() {
                    let _ = writeln!(out, "  - *{}*", escape(line));
                }
            }
            out.push('\n');
        }
        out
    }
}

/// The words for a depth of colour.
pub fn colours(depth: Depth) -> &'static str {
    match depth {
        Depth::Mono => "none (NO_COLOR, or asked for)",
        Depth::Ansi => "16",
        Depth::Indexed => "256",
        Depth::TrueColor => "24 bit",
    }
}

/// Text that Markdown must not take for its own.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '$' | '&'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_in_words_how_everything_stands() {
        let report = Report {
            sections: vec![Section {
                title: "Terminal".to_owned(),
                findings: vec![
                    Finding::good("colours", "24 bit"),
                    Finding::limited("keys", "old ones", "use Ctrl+J"),
                    Finding::bad("size", "1x1", "make it larger"),
                ],
            }],
        };
        assert_eq!(report.health(), Health::Bad);
        let plain = report.plain();
        assert!(plain.contains("ok   colours  24 bit"), "{plain}");
        assert!(plain.contains("-> use Ctrl+J"), "{plain}");
        assert!(plain.contains("FAIL size     1x1"), "{plain}");
        assert!(plain.is_ascii());
        assert!(report.markdown(false).contains("- ! **keys** old ones"));
    }
}
