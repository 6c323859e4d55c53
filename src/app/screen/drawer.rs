//! The drawer over the composer: slash commands, paths to attach, and the offer to attach a file
//! whose path was pasted. It opens and follows by itself; Tab takes a row, Enter only one that the
//! person moved to, and Esc closes it without a trace.

use super::attach;
use super::overlay::List;
use crate::app::Effect;
use crate::app::event::ListedFile;
use crate::app::slash;
use crate::app::state::{Redraw, State};
use crate::text::{SafeText, size_words};
use std::path::PathBuf;

/// Rows that are offered at most.
const ROWS: usize = 200;

/// What is open over the composer.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawer {
    pub kind: DrawerKind,
    pub list: List,
    /// The person moved the cursor in it, so Enter takes the row too.
    pub is_chosen: bool,
    /// Closed with Esc; stays so until what opened it is gone.
    pub is_dismissed: bool,
}

/// Which list it holds.
#[derive(Clone, PartialEq, Debug)]
pub enum DrawerKind {
    /// Commands that fit the word at the start of the draft.
    Commands,
    /// Paths that fit the word before the caret, which begins with `@` at this offset.
    Paths {
        start: usize,
        directory: String,
        entries: Vec<ListedFile>,
        is_loading: bool,
    },
    /// The text between the offsets is the path of a file.
    Offer {
        start: usize,
        end: usize,
        path: PathBuf,
    },
}

/// One row of the drawer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawerRow {
    pub label: SafeText,
    /// Byte offsets in the label that the filter matched.
    pub matched: Vec<usize>,
    /// Right after the label, dim: what may follow.
    pub hint: SafeText,
    pub detail: SafeText,
    /// Whose it is: the server's category, or none for our own.
    pub origin: Option<SafeText>,
}

/// What the draft in the conversation on screen calls for.
enum Wanted {
    Commands,
    Paths { start: usize, directory: String },
}

impl Drawer {
    fn new(kind: DrawerKind) -> Self {
        Self {
            kind,
            list: List::default(),
            is_chosen: false,
            is_dismissed: false,
        }
    }
}

/// The rows of the open drawer; none when it is closed.
pub fn rows(state: &State) -> Vec<DrawerRow> {
    let Some((account, _, conversation)) = state.focused() else {
        return Vec::new();
    };
    let composer = &conversation.composer;
    let Some(drawer) = composer.drawer.as_ref().filter(|d| !d.is_dismissed) else {
        return Vec::new();
    };
    match &drawer.kind {
        DrawerKind::Commands => {
            let Some(word) = command_being_typed(composer.text(), composer.caret()) else {
                return Vec::new();
            };
            slash::rows(account, word)
                .into_iter()
                .take(ROWS)
                .map(|row| DrawerRow {
                    label: row.name,
                    matched: row.matched,
                    hint: row.hint,
                    detail: row.description,
                    origin: row.category,
                })
                .collect()
        }
        DrawerKind::Paths { start, entries, .. } => {
            let typed = composer
                .text()
                .get(start + 1..composer.caret())
                .unwrap_or("");
            let (_, name) = split_path(typed);
            fitting(entries, name)
                .into_iter()
                .map(|(entry, matched)| DrawerRow {
                    label: SafeText::label(&shown_name(entry)),
                    matched,
                    hint: SafeText::default(),
                    detail: if entry.is_directory {
                        SafeText::default()
                    } else {
                        SafeText::label(&size_words(entry.size))
                    },
                    origin: None,
                })
                .collect()
        }
        DrawerKind::Offer { path, .. } => vec![DrawerRow {
            label: SafeText::label(&format!(
                "Attach {}",
                path.file_name()
                    .map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy())
            )),
            matched: Vec::new(),
            hint: SafeText::default(),
            detail: "instead of its path".into(),
            origin: None,
        }],
    }
}

/// What may follow the command whose arguments are being typed, or what becomes of a doubled slash.
pub fn arguments_hint(state: &State) -> Option<SafeText> {
    let (account, _, conversation) = state.focused()?;
    let composer = &conversation.composer;
    let text = composer.text();
    if let Some(said) = slash::literal(text) {
        let word = said.split_whitespace().next()?;
        let words = match slash::read(account, said) {
            slash::Typed::Server => "; it may be taken for a command",
            slash::Typed::Local(..) => "; not as the command of this program",
            slash::Typed::Text => "",
        };
        return (composer.caret() == text.len())
            .then(|| SafeText::label(&format!("  goes out as {word}{words}")));
    }
    let word = slash::command_word(text)?;
    let rest = &text[word.len()..];
    (rest.starts_with(' ') && rest.trim().is_empty())
        .then(|| slash::hint(account, word))
        .flatten()
}

fn shown_name(entry: &ListedFile) -> String {
    if entry.is_directory {
        format!("{}/", entry.name)
    } else {
        entry.name.clone()
    }
}

/// Entries that fit what is typed of a name: best first, hidden ones only when asked for.
fn fitting<'a>(entries: &'a [ListedFile], name: &str) -> Vec<(&'a ListedFile, Vec<usize>)> {
    let shown: Vec<&ListedFile> = entries
        .iter()
        .filter(|entry| name.starts_with('.') || !entry.name.starts_with('.'))
        .collect();
    super::fuzzy::rank(name, shown.iter().map(|entry| entry.name.as_str()))
        .into_iter()
        .take(ROWS)
        .map(|fit| (shown[fit.index], fit.matched))
        .collect()
}

/// The directory part of a typed path, with its slash, and the name after it.
fn split_path(typed: &str) -> (&str, &str) {
    typed
        .rfind('/')
        .map_or(("", typed), |at| typed.split_at(at + 1))
}

/// The word of a command while the caret stands in it.
fn command_being_typed(text: &str, caret: usize) -> Option<&str> {
    let word = if text == "/" {
        text
    } else {
        slash::command_word(text)?
    };
    (caret <= word.len() && caret > 0).then_some(word)
}

fn wanted(text: &str, caret: usize) -> Option<Wanted> {
    if command_being_typed(text, caret).is_some() {
        return Some(Wanted::Commands);
    }
    let start = text[..caret].rfind('@')?;
    let before = text[..start].chars().next_back();
    if before.is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | '"' | '\'')) {
        return None;
    }
    let typed = &text[start + 1..caret];
    // A path ends at a line break; a blank in it is written with a backslash.
    let ends = typed.contains('\n')
        || typed
            .char_indices()
            .any(|(at, c)| c == ' ' && !typed[..at].ends_with('\\'));
    if ends {
        return None;
    }
    Some(Wanted::Paths {
        start,
        directory: unescaped(split_path(typed).0),
    })
}

fn unescaped(path: &str) -> String {
    path.replace("\\ ", " ")
}

/// Opens, moves on or closes the drawer after the draft or the caret changed.
pub fn refresh(state: &mut State) -> Vec<Effect> {
    let Some((account, id)) = state.focus.clone() else {
        return Vec::new();
    };
    let Some(of) = state.conversation_mut(&account, &id) else {
        return Vec::new();
    };
    let composer = &mut of.composer;
    let mut effects = Vec::new();
    let wanted = wanted(composer.text(), composer.caret());
    composer.drawer = match (wanted, composer.drawer.take()) {
        (None, Some(old)) => match &old.kind {
            // The offer stands as long as the path does.
            DrawerKind::Offer { start, end, path }
                if composer.caret() == *end
                    && composer
                        .text()
                        .get(*start..*end)
                        .is_some_and(|text| attach::pasted_path(text).as_ref() == Some(path)) =>
            {
                Some(old)
            }
            _ => None,
        },
        (None, None) => None,
        (Some(Wanted::Commands), Some(old)) if old.kind == DrawerKind::Commands => Some(Drawer {
            list: List::default(),
            is_chosen: false,
            ..old
        }),
        (Some(Wanted::Commands), _) => Some(Drawer::new(DrawerKind::Commands)),
        (Some(Wanted::Paths { start, directory }), old) => match old {
            Some(Drawer {
                kind:
                    DrawerKind::Paths {
                        start: old_start,
                        directory: old_directory,
                        entries,
                        is_loading,
                    },
                is_dismissed,
                ..
            }) if old_start == start && (old_directory == directory || is_dismissed) => {
                let mut drawer = Drawer::new(DrawerKind::Paths {
                    start,
                    directory: old_directory,
                    entries,
                    is_loading,
                });
                drawer.is_dismissed = is_dismissed;
                Some(drawer)
            }
            _ => {
                effects.push(Effect::ListDirectory {
                    directory: directory.clone(),
                });
                Some(Drawer::new(DrawerKind::Paths {
                    start,
                    directory,
                    entries: Vec::new(),
                    is_loading: true,
                }))
            }
        },
    };
    effects
}

/// Takes what lies in a directory.
pub fn on_listing(state: &mut State, directory: &str, found: Vec<ListedFile>) {
    let Some((account, id)) = state.focus.clone() else {
        return;
    };
    let Some(of) = state.conversation_mut(&account, &id) else {
        return;
    };
    if let Some(Drawer {
        kind:
            DrawerKind::Paths {
                directory: wanted,
                entries,
                is_loading,
                ..
            },
        ..
    }) = &mut of.composer.drawer
        && wanted == directory
    {
        *entries = found;
        *is_loading = false;
        state.redraw(Redraw::Now);
    }
}

/// Whether there is something to take.
pub fn is_open(state: &State) -> bool {
    !rows(state).is_empty()
}

/// Whether the person moved to a row, so that Enter takes it.
pub fn is_chosen(state: &State) -> bool {
    state.focused().is_some_and(|(_, _, of)| {
        of.composer
            .drawer
            .as_ref()
            .is_some_and(|drawer| drawer.is_chosen && !drawer.is_dismissed)
    }) && is_open(state)
}

/// Moves the cursor in the drawer; false when it is closed.
pub fn step(state: &mut State, is_next: bool) -> bool {
    let count = rows(state).len();
    if count == 0 {
        return false;
    }
    let Some((account, id)) = state.focus.clone() else {
        return false;
    };
    let Some(drawer) = state
        .conversation_mut(&account, &id)
        .and_then(|of| of.composer.drawer.as_mut())
    else {
        return false;
    };
    let at = drawer.list.selected.min(count - 1);
    drawer.list.selected = if is_next {
        (at + 1) % count
    } else {
        (at + count - 1) % count
    };
    drawer.is_chosen = true;
    true
}

/// Puts the cursor on a row, for the mouse.
pub fn select(state: &mut State, row: usize) {
    if let Some((account, id)) = state.focus.clone()
        && let Some(drawer) = state
            .conversation_mut(&account, &id)
            .and_then(|of| of.composer.drawer.as_mut())
    {
        drawer.list.selected = row;
        drawer.is_chosen = true;
    }
}

/// Closes the drawer; false when it is closed.
pub fn dismiss(state: &mut State) -> bool {
    if !is_open(state) {
        return false;
    }
    if let Some((account, id)) = state.focus.clone()
        && let Some(drawer) = state
            .conversation_mut(&account, &id)
            .and_then(|of| of.composer.drawer.as_mut())
    {
        drawer.is_dismissed = true;
    }
    true
}

/// Takes the row under the cursor.
pub fn accept(state: &mut State) -> Vec<Effect> {
    let rows = rows(state);
    let Some((account, id)) = state.focus.clone() else {
        return Vec::new();
    };
    let Some(of) = state.conversation_mut(&account, &id) else {
        return Vec::new();
    };
    let Some(drawer) = of.composer.drawer.take() else {
        return Vec::new();
    };
    let Some(row) = rows.get(drawer.list.selected.min(rows.len().saturating_sub(1))) else {
        return Vec::new();
    };
    let text = of.composer.text().to_owned();
    match drawer.kind {
        DrawerKind::Commands => {
            let end = slash::command_word(&text).map_or(1, str::len);
            let rest = text[end..].trim_start();
            let start = format!("{} ", row.label);
            of.composer.put(&format!("{start}{rest}"), start.len());
            refresh(state)
        }
        DrawerKind::Paths { start, entries, .. } => {
            let caret = of.composer.caret();
            let typed = text.get(start + 1..caret).unwrap_or("");
            let (directory, name) = split_path(typed);
            let Some((entry, _)) = fitting(&entries, name)
                .into_iter()
                .nth(drawer.list.selected)
                .or_else(|| fitting(&entries, name).into_iter().next_back())
            else {
                return Vec::new();
            };
            if entry.is_directory {
                let path = format!("@{directory}{}/", entry.name.replace(' ', "\\ "));
                let caret_then = start + path.len();
                of.composer.put(
                    &format!("{}{path}{}", &text[..start], &text[caret..]),
                    caret_then,
                );
                return refresh(state);
            }
            let path = PathBuf::from(format!("{}{}", unescaped(directory), entry.name));
            of.composer
                .put(&format!("{}{}", &text[..start], &text[caret..]), start);
            attach::attach(state, &account, &id, path)
        }
        DrawerKind::Offer { start, end, path } => {
            of.composer
                .put(&format!("{}{}", &text[..start], &text[end..]), start);
            attach::attach(state, &account, &id, path)
        }
    }
}

/// Offers to attach the file whose path was just pasted before the caret.
pub fn offer(state: &mut State, pasted: &str) {
    let Some(path) = attach::pasted_path(pasted) else {
        return;
    };
    let Some((account, id)) = state.focus.clone() else {
        return;
    };
    let may_upload = state
        .account(&account)
        .is_some_and(|of| of.account.capabilities.upload.is_yes());
    if !may_upload {
        return;
    }
    if let Some(of) = state.conversation_mut(&account, &id) {
        let end = of.composer.caret();
        let Some(start) = end.checked_sub(pasted.len()) else {
            return;
        };
        of.composer.drawer = Some(Drawer::new(DrawerKind::Offer { start, end, path }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_at_sign_inside_a_word_opens_nothing() {
        assert!(wanted("me@example.org", 8).is_none());
        assert!(matches!(
            wanted("see @src/ma", 11),
            Some(Wanted::Paths { start: 4, directory }) if directory == "src/"
        ));
        assert!(wanted("see @src and", 12).is_none());
        assert!(wanted("a /mo", 5).is_none());
        assert!(matches!(wanted("/mo", 3), Some(Wanted::Commands)));
    }
}
