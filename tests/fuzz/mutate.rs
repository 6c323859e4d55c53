//! What is mutated, and how.

use crate::random::Random;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// Frames of a server.
#[derive(Default)]
pub struct Corpus {
    pub frames: Vec<String>,
    /// The same, in the order of each transcript.
    pub sessions: Vec<Vec<String>>,
}

/// The frames of a protocol out of its transcripts.
pub fn corpus(kind: &str) -> &'static Corpus {
    static ALL: OnceLock<Mutex<BTreeMap<String, &'static Corpus>>> = OnceLock::new();
    let mut all = ALL.get_or_init(Mutex::default).lock().unwrap();
    if let Some(corpus) = all.get(kind) {
        return corpus;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/transcripts")
        .join(kind);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut corpus = Corpus::default();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let session: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("< "))
            .map(str::to_owned)
            .collect();
        if !session.is_empty() {
            corpus.frames.extend(session.iter().cloned());
            corpus.sessions.push(session);
        }
    }
    assert!(!corpus.frames.is_empty());
    let corpus: &'static Corpus = Box::leak(Box::new(corpus));
    all.insert(kind.to_owned(), corpus);
    corpus
}

/// Texts as agents write them: what the demo's scenarios say.
pub fn documents() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let mut documents = Vec::new();
    for part in ["scenarios", "conversations"] {
        let mut files: Vec<_> = std::fs::read_dir(folder.join(part))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(file).unwrap();
            documents.extend(
                text.split("'''")
                    .skip(1)
                    .step_by(2)
                    .map(|text| text.chars().take(6_000).collect()),
            );
        }
    }
    documents.push(
        "[a](https://b) `c` **d** ~~e~~\n\n> f\n\n1. g\n   - h\n\n|i|j|\n|-|-|\n|k|l|".into(),
    );
    documents
}

/// Pieces that have broken readers and terminals before.
const PIECES: &[&str] = &[
    "\u{1b}[2J",
    "\u{1b}]0;pwned\u{7}",
    "\u{9b}2J",
    "\u{1b}]52;c;ZXZpbA==\u{7}",
    "\\u001b[1;1H",
    "\\u0000",
    "\\ud800",
    "\\udfff",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{2028}",
    "\t",
    "\r",
    "\u{8}",
    "null",
    "true",
    "[]",
    "{}",
    "-1",
    "1e400",
    "18446744073709551616",
    "0.5",
    "\"\"",
    "\u{1F468}\u{200d}\u{1F469}\u{200d}\u{1F467}",
    "🇩🇪",
    "❤\u{fe0f}",
    "e\u{301}\u{301}\u{301}\u{301}",
    "漢字",
    "```",
    "~~~",
    "| a | b |\n|---|---|\n",
    "> > > > ",
    "    ",
    "1. ",
    "- [ ] ",
    "<div>",
    "![x](y)",
    "[x](javascript:alert(1))",
    "@@ -1,2 +3,4 @@",
    "\n\n",
    "\"type\":",
    "\"text\":",
    ",",
    ":",
    "{",
    "}",
];

/// A text with something wrong in it, or several things.
pub fn mutate(random: &mut Random, text: &str, others: &[String]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(5) {
        let length = characters.len() as u64;
        let from = random.below(length + 1) as usize;
        let to = (from + random.below(12) as usize).min(characters.len());
        match random.below(9) {
            0 => drop(characters.drain(from..to)),
            1 => drop(characters.splice(from..from, random.pick(PIECES).chars())),
            2 => drop(characters.splice(from..to, random.pick(PIECES).chars())),
            3 => {
                let piece: Vec<char> = characters[from..to].to_vec();
                let times = 1 + random.below(60) as usize;
                let repeated: Vec<char> = piece
                    .iter()
                    .copied()
                    .cycle()
                    .take(piece.len() * times)
                    .collect();
                characters.splice(from..from, repeated);
            }
            4 => characters.truncate(from),
            5 => {
                let other = random.pick(others);
                let skip = random.below(other.chars().count() as u64 + 1) as usize;
                let piece: Vec<char> = other.chars().skip(skip).take(80).collect();
                characters.splice(from..from, piece);
            }
            6 => {
                if let Some(character) = characters.get_mut(from) {
                    *character =
                        char::from_u32(random.below(0x11_0000) as u32).unwrap_or('\u{fffd}');
                }
            }
            7 => {
                // A value of a JSON field becomes another one.
                let colon = characters.iter().skip(from).position(|c| *c == ':');
                if let Some(colon) = colon {
                    let at = from + colon + 1;
                    let end = characters[at..]
                        .iter()
                        .position(|c| matches!(c, ',' | '}'))
                        .map_or(characters.len(), |n| at + n);
                    characters.splice(at..end, random.pick(PIECES).chars());
                }
            }
            _ => {
                let to = (from + 1 + random.below(4) as usize).min(characters.len());
                characters[from..to].reverse();
            }
        }
        characters.truncate(60_000);
    }
    characters.into_iter().collect()
}
