//! Files on a draft: paths as terminals paste them, attaching, and the limits of the account.

use super::composer::DraftFile;
use super::overlay::{Overlay, Prompted};
use crate::app::Effect;
use crate::app::event::FileFacts;
use crate::app::state::{Redraw, State};
use crate::domain::{AccountId, AttachmentKind, ConversationId, Severity};
use crate::text::{SafeText, size_words};
use std::path::{Path, PathBuf};

/// The path in a pasted text that is nothing but one: absolute, perhaps quoted, escaped as a shell
/// wants it, or as a `file://` link. Terminals paste a dropped file in one of these forms.
pub fn pasted_path(pasted: &str) -> Option<PathBuf> {
    let text = pasted.trim();
    if text.is_empty() || text.len() > 4096 || text.contains('\n') {
        return None;
    }
    let unquoted = [('\'', '\''), ('"', '"')]
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let path = if let Some(rest) = text.strip_prefix("file://") {
        percent_decoded(rest.strip_prefix("localhost").unwrap_or(rest))?
    } else if let Some(inner) = unquoted {
        inner.to_owned()
    } else {
        let mut plain = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => plain.push(chars.next()?),
                // A blank that is not escaped: this is prose.
                c if c.is_whitespace() => return None,
                c => plain.push(c),
            }
        }
        plain
    };
    let is_absolute = (path.starts_with('/') && path.len() > 1) || path.starts_with("~/");
    (is_absolute && !path.ends_with('/') && !path.contains('\0')).then(|| PathBuf::from(path))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(b) = rest.next() {
        if b == b'%' {
            let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
            let value = digit(rest.next())? * 16 + digit(rest.next())?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(b);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Hangs a file on a draft and has it looked at.
pub fn attach(
    state: &mut State,
    account: &AccountId,
    conversation: &ConversationId,
    path: PathBuf,
) -> Vec<Effect> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let can = &of.account.capabilities;
    if let Some(reason) = can.upload.refusal() {
        let words = format!("Files cannot be attached here: {reason}.");
        state.say(Severity::Warning, words);
        return Vec::new();
    }
    let most = can.attachment_limits.count;
    let Some(of) = state.conversation_mut(account, conversation) else {
        return Vec::new();
    };
    if of.composer.files.iter().any(|file| file.path == path) {
        return Vec::new();
    }
    if most > 0 && of.composer.files.len() >= most {
        state.say(
            Severity::Warning,
            format!("At most {most} files fit on one message here."),
        );
        return Vec::new();
    }
    of.composer.files.push(DraftFile {
        path: path.clone(),
        facts: None,
    });
    state.redraw(Redraw::Now);
    vec![Effect::InspectFile { path }]
}

/// Takes what is known of a file; one that cannot be sent is taken off the draft, with the reason.
pub fn on_inspected(state: &mut State, path: &Path, facts: Result<FileFacts, SafeText>) {
    let waiting: Vec<(AccountId, ConversationId)> = state
        .accounts
        .iter()
        .flat_map(|of| {
            of.conversations
                .iter()
                .filter(|(_, c)| {
                    c.composer
                        .files
                        .iter()
                        .any(|file| file.path == path && file.facts.is_none())
                })
                .map(|(id, _)| (of.account.id.clone(), id.clone()))
        })
        .collect();
    for (account, id) in waiting {
        // What the shell says of a file begins with its name already.
        let refusal = match &facts {
            Err(reason) => Some(format!("Not attached: {reason}")),
            Ok(facts) => too_much(state, &account, &id, path, facts)
                .map(|reason| format!("{} is not attached: {reason}", path.display())),
        };
        let asked = prompt_of(state, path);
        let Some(of) = state.conversation_mut(&account, &id) else {
            continue;
        };
        let files = &mut of.composer.files;
        match (&facts, refusal) {
            (Ok(facts), None) => {
                for file in files.iter_mut().filter(|file| file.path == path) {
                    file.path.clone_from(&facts.path);
                    file.facts = Some(facts.clone());
                }
                if let Some(at) = asked {
                    state.screen.overlays.remove(at);
                }
            }
            (_, refusal) => {
                files.retain(|file| file.path != path);
                let words = refusal.unwrap_or_default();
                match asked.and_then(|at| state.screen.overlays.get_mut(at)) {
                    Some(Overlay::Prompt(prompt)) => prompt.error = Some(SafeText::prose(&words)),
                    _ => state.say(Severity::Warning, words),
                }
            }
        }
        state.redraw(Redraw::Now);
    }
}

/// The popup in which this path was typed, when it still stands so.
fn prompt_of(state: &State, path: &Path) -> Option<usize> {
    state.screen.overlays.iter().position(|overlay| {
        matches!(overlay, Overlay::Prompt(prompt)
            if matches!(prompt.then, Prompted::AttachPath(..))
                && Path::new(prompt.line.text.trim()) == path)
    })
}

/// Why a file does not fit on the message.
fn too_much(
    state: &State,
    account: &AccountId,
    conversation: &ConversationId,
    path: &Path,
    facts: &FileFacts,
) -> Option<String> {
    let limits = &state
        .account(account)?
        .account
        .capabilities
        .attachment_limits;
    if let Some(most) = limits.bytes
        && facts.size > most
    {
        return Some(format!(
            "it has {}, at most {} are taken.",
            size_words(facts.size),
            size_words(most)
        ));
    }
    if facts.kind == AttachmentKind::Image
        && let Some(most) = limits.pictures
    {
        let pictures = state
            .conversation(account, conversation)?
            .composer
            .files
            .iter()
            .filter(|file| {
                file.path != path
                    && file
                        .facts
                        .as_ref()
                        .is_some_and(|facts| facts.kind == AttachmentKind::Image)
            })
            .count();
        if pictures >= most {
            return Some(format!("at most {most} pictures fit on one message here."));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_files_come_in_many_forms() {
        for (pasted, path) in [
            ("/tmp/a.png", Some("/tmp/a.png")),
            ("'/tmp/my file.png' ", Some("/tmp/my file.png")),
            ("/tmp/my\\ file.png\n", Some("/tmp/my file.png")),
            ("file:///tmp/my%20file.png", Some("/tmp/my file.png")),
            ("~/notes.md", Some("~/notes.md")),
            ("/usr/bin is full", None),
            ("/", None),
            ("/tmp/", None),
            ("text", None),
            ("/a\n/b", None),
        ] {
            assert_eq!(pasted_path(pasted), path.map(PathBuf::from), "{pasted:?}");
        }
    }
}
