//! Who may know whom. Holds the table of the design: arrows between modules, the places of outside
//! crates, calls that the pure rooms must not make, and where names of protocols may stand.
//!
//! The sources are read as tokens (through `syn`), so that inline paths, grouped imports, `pub use`
//! and the insides of macros count like any other line. Code under `#[cfg(test)]` does not count.
#![allow(clippy::unwrap_used)]

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// One room: what it may import of ours, and which outside crates it may use.
struct Room {
    name: &'static str,
    ours: &'static [&'static str],
    crates: Crates,
}

enum Crates {
    These(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

use Crates::{AllBut, These};

/// The table. Left may import right; nothing else may.
const ROOMS: &[Room] = &[
    Room {
        name: "text",
        ours: &[],
        crates: These(&["unicode_width", "unicode_segmentation", "unicode_bidi"]),
    },
    Room {
        name: "input",
        ours: &[],
        crates: These(&["vte"]),
    },
    Room {
        name: "domain",
        ours: &["text"],
        crates: These(&["zeroize"]),
    },
    Room {
        name: "link",
        ours: &["domain"],
        crates: These(&["bytes"]),
    },
    Room {
        name: "render",
        ours: &["text"],
        crates: These(&[
            "pulldown_cmark",
            "textwrap",
            "syntect",
            "two_face",
            "anstyle_parse",
        ]),
    },
    Room {
        name: "config",
        ours: &["domain"],
        crates: These(&["serde", "toml", "toml_edit", "directories", "url"]),
    },
    Room {
        name: "protocol",
        ours: &["domain", "text", "link", "config"],
        crates: These(&["serde", "serde_json", "jiff", "sha2", "bytes", "base64"]),
    },
    Room {
        name: "transport",
        ours: &["link", "domain"],
        crates: These(&[
            "tokio",
            "tokio_util",
            "tokio_rustls",
            "tokio_tungstenite",
            "rustls",
            "rustls_platform_verifier",
            "webpki_root_certs",
            "reqwest",
            "hyper_util",
            "tower_service",
            "http",
            "url",
            "bytes",
            "futures_util",
            "process_wrap",
            "rustix",
            "tracing",
        ]),
    },
    Room {
        name: "store",
        ours: &["domain", "text"],
        crates: These(&["rusqlite", "serde", "serde_json", "tracing", "rustix"]),
    },
    Room {
        name: "paint",
        ours: &[],
        crates: These(&["ratatui"]),
    },
    Room {
        name: "app",
        ours: &["domain", "text", "input"],
        crates: These(&["nucleo_matcher", "unicode_segmentation"]),
    },
    Room {
        name: "view",
        ours: &["app", "domain", "text", "render", "paint"],
        crates: These(&["ratatui", "ratatui_image", "image"]),
    },
    Room {
        name: "demo",
        ours: &["link"],
        crates: These(&[
            "serde",
            "serde_json",
            "sha2",
            "toml",
            "bytes",
            "tokio",
            "tokio_util",
            "tokio_tungstenite",
            "futures_util",
            "hyper",
            "hyper_util",
            "http",
            "http_body_util",
        ]),
    },
    Room {
        name: "runtime",
        ours: &[
            "text",
            "input",
            "domain",
            "link",
            "render",
            "config",
            "protocol",
            "transport",
            "store",
            "paint",
            "app",
            "view",
        ],
        crates: AllBut(&["clap", "clap_complete", "clap_mangen"]),
    },
    Room {
        name: "cli",
        ours: &[
            "text", "input", "domain", "link", "render", "config", "protocol", "store", "paint",
            "app", "view", "runtime", "demo",
        ],
        crates: AllBut(&["tokio_tungstenite", "reqwest", "rustls", "process_wrap"]),
    },
    // The script that cargo runs before it builds.
    Room {
        name: "build",
        ours: &[],
        crates: These(&[]),
    },
    Room {
        name: "main",
        ours: &["cli"],
        crates: These(&["anyhow"]),
    },
];

/// Standard library and error derives, which bring no behaviour along.
const CRATES_FOR_ALL: &[&str] = &["std", "core", "alloc", "thiserror"];

/// Rooms that never read a clock, randomness, the environment or a file.
const PURE: &[&str] = &[
    "text", "input", "domain", "link", "render", "protocol", "paint", "app", "view",
];

/// What pure rooms must not call: paths that contain one of these in a row.
const BANNED: &[&[&str]] = &[
    &["Instant"],
    &["SystemTime"],
    &["Uuid"],
    &["rand"],
    &["getrandom"],
    &["RandomState"],
    &["std", "env"],
    &["std", "fs"],
    &["std", "net"],
    &["std", "process"],
    &["std", "thread"],
    &["File", "open"],
    &["Timestamp", "now"],
    &["Zoned", "now"],
    &["ZonedDateTime", "now"],
    &["TimeZone", "system"],
];

/// Methods that read a clock.
const BANNED_METHODS: &[&str] = &["elapsed"];

const PROTOCOLS: &[&str] = &["iris", "pheby", "omi"];

/// Where a protocol may be named: its own room, the demo, the command line, and the description of
/// accounts.
fn may_name_protocols(file: &Path) -> bool {
    let text = file.to_string_lossy();
    [
        "protocol/",
        "demo/",
        "cli/",
        "config/account",
        "config/file",
    ]
    .iter()
    .any(|place| text.contains(&format!("src/{place}")))
}

/// A path in the source, from its first segment on.
struct Found {
    segments: Vec<String>,
    line: usize,
    /// It stands behind a dot.
    is_method: bool,
}

#[derive(Default)]
struct Source {
    paths: Vec<Found>,
    /// Identifiers, and words of string literals.
    words: Vec<(String, usize)>,
    /// Modules it declares: a path that begins with one of them leads to no outside crate.
    modules: BTreeSet<String>,
    has_head: bool,
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let mut wrong = String::new();
    for (file, source) in sources() {
        let Some(room) = room_of(file) else { continue };
        for found in &source.paths {
            let Some(target) = target_of(&found.segments, file) else {
                continue;
            };
            let is_room = ROOMS.iter().any(|room| room.name == target);
            let is_allowed =
                target == room.name || room.ours.contains(&target.as_str()) || !is_room;
            // Of the configuration, drivers know the description of one account only.
            let is_too_wide = room.name == "protocol"
                && target == "config"
                && found.segments.get(2).is_none_or(|part| part != "account");
            if !is_allowed || is_too_wide {
                report(&mut wrong, file, found.line, &found.segments.join("::"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "arrows that are not in the table:\n{wrong}"
    );
}

#[test]
fn drivers_do_not_know_each_other() {
    let mut wrong = String::new();
    for (file, source) in sources() {
        let module = module_of(file);
        let Some(own) = module
            .get(1)
            .filter(|part| module[0] == "protocol" && PROTOCOLS.contains(&part.as_str()))
        else {
            continue;
        };
        for found in &source.paths {
            let names_another = found
                .segments
                .iter()
                .any(|part| part != own && PROTOCOLS.contains(&part.as_str()));
            if names_another {
                report(&mut wrong, file, found.line, &found.segments.join("::"));
            }
        }
    }
    assert!(wrong.is_empty(), "a driver that knows another:\n{wrong}");
}

#[test]
fn outside_crates_stand_where_they_belong() {
    let known = dependencies();
    let mut wrong = String::new();
    for (file, source) in sources() {
        let Some(room) = room_of(file) else { continue };
        for found in &source.paths {
            let first = found.segments[0].as_str();
            // A lone word is a variable or a field, not a path into a crate.
            if found.is_method
                || found.segments.len() < 2
                || !known.contains(first)
                || source.modules.contains(first)
            {
                continue;
            }
            let is_allowed = CRATES_FOR_ALL.contains(&first)
                || match &room.crates {
                    These(crates) => crates.contains(&first),
                    AllBut(crates) => !crates.contains(&first),
                };
            if !is_allowed {
                report(&mut wrong, file, found.line, &found.segments.join("::"));
            }
        }
    }
    assert!(wrong.is_empty(), "crates outside their place:\n{wrong}");
}

#[test]
fn pure_rooms_read_no_clock_no_chance_no_environment_and_no_file() {
    let mut wrong = String::new();
    for (file, source) in sources() {
        let Some(room) = room_of(file) else { continue };
        if !PURE.contains(&room.name) {
            continue;
        }
        for found in &source.paths {
            let is_banned = if found.is_method {
                BANNED_METHODS.contains(&found.segments[0].as_str())
            } else {
                BANNED.iter().any(|banned| {
                    found
                        .segments
                        .windows(banned.len())
                        .any(|window| window.iter().zip(*banned).all(|(a, b)| a == b))
                })
            };
            if is_banned {
                report(&mut wrong, file, found.line, &found.segments.join("::"));
            }
        }
    }
    assert!(wrong.is_empty(), "impure calls in pure rooms:\n{wrong}");
}

#[test]
fn protocols_are_named_only_where_they_live() {
    let mut wrong = String::new();
    for (file, source) in sources() {
        if may_name_protocols(file) {
            continue;
        }
        for (word, line) in &source.words {
            // The crate's own place in a list of modules is no name of a protocol.
            if parts(word)
                .iter()
                .any(|part| PROTOCOLS.contains(&part.as_str()))
            {
                report(&mut wrong, file, *line, word);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "names of protocols outside their rooms:\n{wrong}"
    );
}

#[test]
fn every_file_says_what_it_holds() {
    let silent: Vec<_> = sources()
        .iter()
        .filter(|(_, source)| !source.has_head)
        .map(|(file, _)| file)
        .collect();
    assert!(silent.is_empty(), "files without a `//!` head: {silent:#?}");
}

#[test]
fn the_reader_sees_grouped_and_inline_paths_and_leaves_tests_out() {
    let source = read_text(
        r#"
        pub use crate::{a::{b, C as D}, e};
        fn f() { let x = crate::g::H::i(); vec![crate::j::k]; y.elapsed(); }
        #[cfg(test)] mod tests { use crate::forbidden::thing; }
        #[cfg(all(test, unix))] use crate::forbidden::too;
        fn g() { super::l::m(); }
        "#,
    );
    let mut paths: Vec<_> = source
        .paths
        .iter()
        .map(|found| found.segments.join("::"))
        .filter(|path| path.contains("::") || path == "elapsed")
        .collect();
    paths.sort();
    assert_eq!(
        paths,
        [
            "crate::a::C",
            "crate::a::b",
            "crate::e",
            "crate::g::H::i",
            "crate::j::k",
            "elapsed",
            "super::l::m",
        ]
    );
    assert_eq!(parts("HttpOmiLink_iris"), ["http", "omi", "link", "iris"]);
    assert_eq!(parts("omitted"), ["omitted"]);
}

fn report(wrong: &mut String, file: &Path, line: usize, what: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = file.strip_prefix(root).unwrap_or(file).display();
    let _ = writeln!(wrong, "  {file}:{line}  {what}");
}

/// Every file of the program, read once for all tests.
fn sources() -> &'static [(PathBuf, Source)] {
    static SOURCES: OnceLock<Vec<(PathBuf, Source)>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let mut files = Vec::new();
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let source = read_text(&std::fs::read_to_string(&path).unwrap());
                    files.push((path, source));
                }
            }
        }
        files.sort_by(|a, b| a.0.cmp(&b.0));
        files
    })
}

/// The module a file is, from the crate root on; empty for the root.
fn module_of(file: &Path) -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut parts: Vec<_> = file
        .strip_prefix(source)
        .unwrap()
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if parts
        .last()
        .is_some_and(|last| last == "mod" || last == "lib")
    {
        parts.pop();
    }
    parts
}

fn room_of(file: &Path) -> Option<&'static Room> {
    let module = module_of(file);
    let name = module.first()?;
    let room = ROOMS.iter().find(|room| room.name == name);
    Some(room.unwrap_or_else(|| panic!("the table has no room {name}")))
}

/// The top module a path of ours leads to.
fn target_of(segments: &[String], file: &Path) -> Option<String> {
    match segments[0].as_str() {
        "crate" | "trialogue" => segments.get(1).cloned(),
        "super" => {
            let ups = segments.iter().take_while(|part| *part == "super").count();
            let mut at = module_of(file);
            for _ in 0..ups {
                at.pop()?;
            }
            at.first().or_else(|| segments.get(ups)).cloned()
        }
        _ => None,
    }
}

fn dependencies() -> BTreeSet<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let table: toml::Table = std::fs::read_to_string(manifest).unwrap().parse().unwrap();
    table["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .map(|name| name.replace('-', "_"))
        .collect()
}

fn read_text(text: &str) -> Source {
    let tokens: TokenStream = syn::parse_str(text).unwrap();
    let mut source = Source {
        has_head: text.starts_with("//!"),
        ..Source::default()
    };
    walk(tokens, &mut source);
    source
}

fn walk(tokens: TokenStream, source: &mut Source) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    let mut is_after_dot = false;
    while at < tokens.len() {
        let was_dot = std::mem::take(&mut is_after_dot);
        match &tokens[at] {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                // `#![..]` has a mark in between.
                let bracket = match tokens.get(at + 1) {
                    Some(TokenTree::Punct(mark)) if mark.as_char() == '!' => at + 2,
                    _ => at + 1,
                };
                let Some(TokenTree::Group(group)) = tokens.get(bracket) else {
                    at += 1;
                    continue;
                };
                let text = group.stream().to_string();
                if is_test_only(&text) {
                    at = end_of_item(&tokens, bracket + 1);
                    continue;
                }
                if !text.starts_with("doc") {
                    walk(group.stream(), source);
                }
                at = bracket + 1;
            }
            TokenTree::Punct(punct) => {
                is_after_dot = punct.as_char() == '.';
                at += 1;
            }
            TokenTree::Ident(ident) => {
                if ident == "mod"
                    && let Some(TokenTree::Ident(module)) = tokens.get(at + 1)
                {
                    source.modules.insert(module.to_string());
                }
                let before = source.paths.len();
                at = path_at(&tokens, at, &[], source);
                for found in &mut source.paths[before..] {
                    found.is_method = was_dot;
                }
            }
            TokenTree::Group(group) => {
                walk(group.stream(), source);
                at += 1;
            }
            TokenTree::Literal(literal) => {
                let line = literal.span().start().line;
                let text = literal.to_string();
                if text.contains('"') {
                    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
                        source.words.push((word.to_owned(), line));
                    }
                }
                at += 1;
            }
        }
    }
}

/// Reads the path that begins at `at`, below the segments before it; gives the place behind it.
fn path_at(tokens: &[TokenTree], at: usize, before: &[String], source: &mut Source) -> usize {
    let mut segments = before.to_vec();
    let mut at = at;
    let mut line = 0;
    while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
        line = ident.span().start().line;
        let name = ident.to_string();
        source.words.push((name.clone(), line));
        segments.push(name);
        at += 1;
        if !is_double_colon(tokens, at) {
            break;
        }
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(_)) => at += 2,
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                let mut inside = 0;
                while inside < inner.len() {
                    match &inner[inside] {
                        TokenTree::Ident(ident) if ident == "as" => inside += 2,
                        TokenTree::Ident(_) => inside = path_at(&inner, inside, &segments, source),
                        _ => inside += 1,
                    }
                }
                return at + 3;
            }
            // A turbofish or a glob.
            _ => {
                at += 2;
                break;
            }
        }
    }
    source.paths.push(Found {
        segments,
        line,
        is_method: false,
    });
    at
}

fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    matches!(
        (tokens.get(at), tokens.get(at + 1)),
        (Some(TokenTree::Punct(a)), Some(TokenTree::Punct(b)))
            if a.as_char() == ':' && a.spacing() == Spacing::Joint && b.as_char() == ':'
    )
}

/// `cfg(test)` and its combinations that need `test`.
fn is_test_only(attribute: &str) -> bool {
    let text: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    text == "test" || text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// The place behind the item that begins here: behind its braces, or its semicolon.
fn end_of_item(tokens: &[TokenTree], from: usize) -> usize {
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return at + 1,
            TokenTree::Punct(punct) if punct.as_char() == ';' => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The words of an identifier, in lower case.
fn parts(identifier: &str) -> Vec<String> {
    let letters: Vec<char> = identifier.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let is_after_lower = at > 0 && letters[at - 1].is_lowercase();
        // The last capital of a row belongs to the word behind it.
        let ends_capitals = at > 0
            && letters[at - 1].is_uppercase()
            && letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if *letter == '_' || (letter.is_uppercase() && (is_after_lower || ends_capitals)) {
            words.push(String::new());
        }
        if *letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
