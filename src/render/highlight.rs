//! Colours of code, by role. Finding them costs far more than laying out, so rows stand plain until
//! someone has run the [`Job`]s elsewhere and put the results into [`Colours`].

use super::row::Role;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// More code than this stays plain.
const LIMIT_BYTES: usize = 64 * 1024;
/// Longer lines make some grammars slow; the block stays plain.
const LIMIT_LINE: usize = 4 * 1024;
/// Coloured blocks that are kept.
const LIMIT_KEPT: usize = 512;

/// A block of code that wants its colours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    key: u64,
    language: String,
    code: Arc<str>,
}

impl Job {
    /// A job for this code; none when it would stay plain anyway.
    pub fn new(language: &str, code: &str) -> Option<Self> {
        if language.is_empty()
            || code.is_empty()
            || code.len() > LIMIT_BYTES
            || matches!(language, "text" | "txt" | "plain" | "plaintext")
            || code.lines().any(|line| line.len() > LIMIT_LINE)
        {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (language, code).hash(&mut hasher);
        Some(Self {
            key: hasher.finish(),
            language: language.to_owned(),
            code: code.into(),
        })
    }

    /// The same for the same code in the same language.
    pub fn key(&self) -> u64 {
        self.key
    }
}

/// The colours of one block of code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coloured {
    key: u64,
    /// For each line the pieces it consists of, in bytes. Empty when the language is not known.
    lines: Vec<Vec<(u32, Role)>>,
}

impl Coloured {
    /// The key of the job.
    pub fn key(&self) -> u64 {
        self.key
    }

    pub(super) fn line(&self, number: usize) -> Option<&[(u32, Role)]> {
        self.lines.get(number).map(Vec::as_slice)
    }
}

/// Colours that were found, the latest ones. A memo: forgetting one only costs finding it again.
#[derive(Clone, Debug, Default)]
pub struct Colours {
    found: HashMap<u64, Arc<Coloured>>,
    order: VecDeque<u64>,
    revision: u64,
}

impl Colours {
    /// Keeps a result.
    pub fn insert(&mut self, coloured: Coloured) {
        let key = coloured.key;
        if self.found.insert(key, Arc::new(coloured)).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > LIMIT_KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.found.remove(&oldest);
        }
        self.revision += 1;
    }

    /// Whether the colours for a job are there.
    pub fn has(&self, job: &Job) -> bool {
        self.found.contains_key(&job.key)
    }

    /// Goes up with every result.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn get(&self, key: u64) -> Option<Arc<Coloured>> {
        self.found.get(&key).cloned()
    }
}

/// Finds the colours of a block of code. Takes milliseconds, the first time tens of them: never on
/// the thread that draws. A grammar that fails leaves the code plain.
pub fn colour(job: &Job) -> Coloured {
    let lines = catch_unwind(AssertUnwindSafe(|| find(job))).unwrap_or_default();
    Coloured {
        key: job.key,
        lines,
    }
}

fn find(job: &Job) -> Vec<Vec<(u32, Role)>> {
    let set = syntaxes();
    let Some(syntax) = syntax_for(set, &job.language) else {
        return Vec::new();
    };
    let mut state = ParseState::new(syntax);
    let mut stack = ScopeStack::new();
    let mut lines = Vec::new();
    for line in job.code.split_inclusive('\n') {
        // The grammars want the line feed.
        let with_end = if line.ends_with('\n') {
            line.to_owned()
        } else {
            format!("{line}\n")
        };
        let Ok(operations) = state.parse_line(&with_end, set) else {
            return Vec::new();
        };
        let length = line.trim_end_matches('\n').len();
        let mut pieces: Vec<(u32, Role)> = Vec::new();
        let mut at = 0;
        for (offset, operation) in operations {
            let offset = offset.min(length);
            add(&mut pieces, offset.saturating_sub(at), role_of(&stack));
            at = at.max(offset);
            if stack.apply(&operation).is_err() {
                return Vec::new();
            }
        }
        add(&mut pieces, length.saturating_sub(at), role_of(&stack));
        lines.push(pieces);
    }
    lines
}

fn add(pieces: &mut Vec<(u32, Role)>, len: usize, role: Role) {
    let Ok(len) = u32::try_from(len) else {
        return;
    };
    if len == 0 {
        return;
    }
    match pieces.last_mut() {
        Some((last_len, last)) if *last == role => *last_len += len,
        _ => pieces.push((len, role)),
    }
}

fn syntaxes() -> &'static SyntaxSet {
    static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();
    SYNTAXES.get_or_init(two_face::syntax::extra_newlines)
}

fn syntax_for<'a>(set: &'a SyntaxSet, language: &str) -> Option<&'a SyntaxReference> {
    let name = language.to_ascii_lowercase();
    // Names that agents write and the grammars don't know.
    let known = match name.as_str() {
        "shell" | "console" | "shell-session" | "sh-session" | "terminal" => "bash",
        "js" | "node" | "mjs" | "cjs" => "javascript",
        "jsonc" | "json5" => "json",
        "py" | "python3" => "python",
        "golang" => "go",
        "c++" => "cpp",
        "csharp" => "cs",
        "docker" | "containerfile" => "dockerfile",
        "yml" => "yaml",
        "rs" => "rust",
        other => other,
    };
    set.find_syntax_by_token(known)
}

/// The role of the innermost scope that has one.
fn role_of(stack: &ScopeStack) -> Role {
    static ROLES: OnceLock<Vec<(Scope, Role)>> = OnceLock::new();
    let roles = ROLES.get_or_init(|| {
        SCOPES
            .iter()
            .filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role)))
            .collect()
    });
    for scope in stack.as_slice().iter().rev() {
        if let Some((_, role)) = roles.iter().find(|(known, _)| known.is_prefix_of(*scope)) {
            return *role;
        }
    }
    Role::CodeBlock
}

/// The first one that fits a scope wins, so the narrower stand before the wider.
const SCOPES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("punctuation.definition.comment", Role::Comment),
    ("constant.character.escape", Role::Escape),
    ("punctuation.definition.string", Role::String),
    ("string", Role::String),
    ("constant.numeric", Role::Number),
    ("constant", Role::Constant),
    ("keyword.operator", Role::Operator),
    ("keyword", Role::Keyword),
    ("storage.type.function", Role::Keyword),
    ("storage.type", Role::Type),
    ("storage", Role::Keyword),
    ("entity.name.function", Role::Function),
    ("support.function", Role::Function),
    ("variable.function", Role::Function),
    ("entity.name.tag", Role::Tag),
    ("entity.other.attribute-name", Role::Attribute),
    ("variable.annotation", Role::Attribute),
    ("meta.annotation", Role::Attribute),
    ("entity.name", Role::Type),
    ("entity.other.inherited-class", Role::Type),
    ("support.type.property-name", Role::Attribute),
    ("support", Role::Type),
    ("variable.language", Role::Keyword),
    ("variable.parameter", Role::Variable),
    ("variable", Role::Variable),
    ("punctuation", Role::Punctuation),
    ("markup.heading", Role::Heading3),
    ("markup.inserted", Role::DiffAdded),
    ("markup.deleted", Role::DiffRemoved),
    ("markup.raw", Role::Code),
    ("invalid", Role::Invalid),
];
