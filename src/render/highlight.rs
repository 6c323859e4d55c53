//! Colours of code, by role. Finding them costs far more than laying out, so rows stand plain until
//! someone has run the [`Job`]s elsewhere and put the results into [`Colours`].
//!
//! A block that still grows is coloured as far as its lines are whole. A line's colours depend on
//! what stands before it only, so a [`Highlighter`] goes on where it stopped, and the lines that have
//! colours keep them.

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
/// Coloured blocks that still grow and are kept.
const LIMIT_GROWING: usize = 8;

/// A block of code that wants its colours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    key: u64,
    language: String,
    code: Arc<str>,
    /// More lines may follow.
    is_growing: bool,
}

impl Job {
    /// A job for this code; none when it would stay plain anyway.
    pub fn new(language: &str, code: &str) -> Option<Self> {
        Self::of(language, code, false)
    }

    /// The same for the whole lines of a block that still grows.
    pub fn growing(language: &str, lines: &str) -> Option<Self> {
        Self::of(language, lines, true)
    }

    fn of(language: &str, code: &str, is_growing: bool) -> Option<Self> {
        if language.is_empty()
            || code.is_empty()
            || code.len() > LIMIT_BYTES
            || matches!(language, "text" | "txt" | "plain" | "plaintext")
            || code.lines().any(|line| line.len() > LIMIT_LINE)
        {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (language, code, is_growing).hash(&mut hasher);
        Some(Self {
            key: hasher.finish(),
            language: language.to_owned(),
            code: code.into(),
            is_growing,
        })
    }

    /// Whether more lines may follow. Of such jobs only the newest is worth doing.
    pub fn is_growing(&self) -> bool {
        self.is_growing
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
    /// Language and whole lines, for a block that still grows.
    growing: Option<(String, Arc<str>)>,
    /// For each line the pieces it consists of, in bytes. Empty when the language is not known.
    lines: Vec<Vec<(u32, Role)>>,
}

impl Coloured {
    /// The key of the job.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Whether it is of a block that still grows.
    pub fn is_growing(&self) -> bool {
        self.growing.is_some()
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
    /// Those of blocks that still grow, the latest last.
    growing: VecDeque<Arc<Coloured>>,
    revision: u64,
}

/// What is known of the colours of a block that grew: so many lines from its start on.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub lines: usize,
    coloured: Arc<Coloured>,
}

impl Start {
    /// The pieces of a line.
    pub fn line(&self, number: usize) -> Option<&[(u32, Role)]> {
        self.coloured.line(number)
    }
}

impl Colours {
    /// Keeps a result.
    pub fn insert(&mut self, coloured: Coloured) {
        if let Some((language, code)) = &coloured.growing {
            // What is known of fewer lines of the same block is no use any more.
            self.growing.retain(|known| {
                known
                    .growing
                    .as_ref()
                    .is_some_and(|(known, start)| known != language || !code.starts_with(&**start))
            });
            if self.growing.len() >= LIMIT_GROWING {
                self.growing.pop_front();
            }
            self.growing.push_back(Arc::new(coloured));
            self.revision += 1;
            return;
        }
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
        if job.is_growing {
            return self
                .start(&job.language, &job.code)
                .is_some_and(|start| start.lines >= job.code.lines().count());
        }
        self.found.contains_key(&job.key)
    }

    /// What is known of the first lines of a block.
    pub(super) fn start(&self, language: &str, code: &str) -> Option<Start> {
        self.growing
            .iter()
            .filter_map(|coloured| {
                let (known, lines) = coloured.growing.as_ref()?;
                (known == language && code.starts_with(&**lines)).then_some((coloured, lines))
            })
            .max_by_key(|(_, lines)| lines.len())
            .map(|(coloured, lines)| Start {
                lines: lines.lines().count(),
                coloured: Arc::clone(coloured),
            })
    }

    /// Goes up with every result.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn get(&self, key: u64) -> Option<Arc<Coloured>> {
        self.found.get(&key).cloned()
    }
}

/// Finds the colours of a block of code; see [`Highlighter`].
pub fn colour(job: &Job) -> Coloured {
    Highlighter::default().colour(job)
}

/// Finds colours, and remembers where the last block that grows stopped.
#[derive(Default)]
pub struct Highlighter {
    last: Option<Progress>,
}

impl Highlighter {
    /// Finds the colours of a block of code. Takes milliseconds, the first time tens of them: never
    /// on the thread that draws. A grammar that fails leaves the code plain.
    pub fn colour(&mut self, job: &Job) -> Coloured {
        let last = self.last.take();
        let progress = catch_unwind(AssertUnwindSafe(|| {
            let mut progress = match last {
                Some(last) if last.is_start_of(job) => last,
                _ => Progress::begin(&job.language)?,
            };
            progress.go_on(&job.code).then_some(progress)
        }))
        .unwrap_or_default();
        let lines = progress
            .as_ref()
            .map(|progress| progress.lines.clone())
            .unwrap_or_default();
        self.last = progress.filter(|_| job.is_growing);
        Coloured {
            key: job.key,
            growing: job
                .is_growing
                .then(|| (job.language.clone(), Arc::clone(&job.code))),
            lines,
        }
    }
}

/// A grammar in the middle of a block.
struct Progress {
    language: String,
    /// What was read.
    code: String,
    state: ParseState,
    stack: ScopeStack,
    lines: Vec<Vec<(u32, Role)>>,
}

impl Progress {
    fn begin(language: &str) -> Option<Self> {
        let syntax = syntax_for(syntaxes(), language)?;
        Some(Self {
            language: language.to_owned(),
            code: String::new(),
            state: ParseState::new(syntax),
            stack: ScopeStack::new(),
            lines: Vec::new(),
        })
    }

    fn is_start_of(&self, job: &Job) -> bool {
        self.language == job.language && job.code.starts_with(&self.code)
    }

    /// Reads what follows; false when the grammar failed.
    fn go_on(&mut self, code: &str) -> bool {
        let set = syntaxes();
        for line in code[self.code.len()..].split_inclusive('\n') {
            // The grammars want the line feed.
            let with_end = if line.ends_with('\n') {
                line.to_owned()
            } else {
                format!("{line}\n")
            };
            let Ok(operations) = self.state.parse_line(&with_end, set) else {
                return false;
            };
            let length = line.trim_end_matches('\n').len();
            let mut pieces: Vec<(u32, Role)> = Vec::new();
            let mut at = 0;
            for (offset, operation) in operations {
                let offset = offset.min(length);
                add(&mut pieces, offset.saturating_sub(at), role_of(&self.stack));
                at = at.max(offset);
                if self.stack.apply(&operation).is_err() {
                    return false;
                }
            }
            add(&mut pieces, length.saturating_sub(at), role_of(&self.stack));
            self.lines.push(pieces);
            self.code.push_str(line);
        }
        true
    }
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
