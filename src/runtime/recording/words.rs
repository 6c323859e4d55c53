//! Commands and ends of links in the words of the transcripts, so that a recording becomes a test
//! by being copied.

use crate::domain::{
    Answer, AttachmentSource, ChatCommand, Command, ConversationCommand, ModelCommand,
    OutgoingFile, Scope, SearchScope, TransferCommand,
};
use crate::link::{CloseReason, LinkFailure};

/// A command as a transcript writes it; none where transcripts have no words for it.
pub fn command_words(command: &Command) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    match command {
        Command::Chat(command) => chat(command, &mut words),
        Command::Conversation(command) => conversation(command, &mut words)?,
        Command::Answer {
            decision,
            conversation,
            answer,
        } => {
            words.push("answer".into());
            words.push(word(conversation.as_str()));
            words.push(word(decision.as_str()));
            match answer {
                Answer::Choice { value, reason } => {
                    words.push("choice".into());
                    words.push(word(value));
                    words.extend(reason.as_deref().map(word));
                }
                Answer::Text(text) => {
                    words.push("text".into());
                    words.push(word(text));
                }
            }
        }
        Command::Transfer(command) => transfer(command, &mut words),
        Command::Model(command) => model(command, &mut words),
        Command::Search(query) => {
            words.push("search".into());
            words.push(word(&query.text));
            match &query.scope {
                SearchScope::Conversation(id) => words.push(word(id.as_str())),
                SearchScope::All => {}
            }
        }
        Command::LoadCatalog => words.push("catalog".into()),
        Command::Invoke {
            function,
            conversation,
            subject,
            argument,
        } => {
            words.push("invoke".into());
            words.push(word(function));
            words.push(
                conversation
                    .as_ref()
                    .map_or("-".into(), |id| word(id.as_str())),
            );
            words.push(word(argument));
            words.extend(subject.as_deref().map(word));
        }
    }
    Some(words.join(" "))
}

fn chat(command: &ChatCommand, words: &mut Vec<String>) {
    match command {
        ChatCommand::Send {
            conversation,
            text,
            files,
            reply_to,
            auto_thread,
            effort,
        } => {
            words.push("send".into());
            words.push(word(conversation.as_str()));
            words.push(quoted(text));
            words.extend(files.iter().map(file));
            if let Some(reply_to) = reply_to {
                words.push(format!("reply_to={}", reply_to.as_str()));
            }
            if *auto_thread {
                words.push("auto_thread".into());
            }
            if let Some(effort) = effort {
                words.push(format!("effort={effort}"));
            }
        }
        ChatCommand::DeleteMessages {
            conversation,
            remotes,
        } => {
            words.push("delete-messages".into());
            words.push(word(conversation.as_str()));
            words.extend(remotes.iter().map(|remote| word(remote.as_str())));
        }
        ChatCommand::CancelRun { conversation, run } => {
            words.push("cancel".into());
            words.push(word(conversation.as_str()));
            words.extend(run.as_ref().map(|run| word(run.as_str())));
        }
    }
}

fn conversation(command: &ConversationCommand, words: &mut Vec<String>) -> Option<()> {
    let on = |on: bool| if on { "on" } else { "off" }.to_owned();
    let (name, conversation, rest) = match command {
        ConversationCommand::Refresh => ("refresh", None, None),
        ConversationCommand::Create { name, parent } => {
            words.push("create".into());
            words.extend(name.as_deref().map(word));
            if let Some(parent) = parent {
                words.push(format!("parent={}", parent.as_str()));
            }
            return Some(());
        }
        ConversationCommand::Rename { conversation, name } => {
            ("rename", Some(conversation), Some(word(name)))
        }
        ConversationCommand::Delete { conversation } => ("delete", Some(conversation), None),
        ConversationCommand::Clear { conversation } => ("clear", Some(conversation), None),
        ConversationCommand::Open { conversation } => ("open", Some(conversation), None),
        ConversationCommand::LoadOlder {
            conversation,
            before,
        } => ("older", Some(conversation), Some(word(before.as_str()))),
        ConversationCommand::SetDefault { conversation } => ("default", Some(conversation), None),
        ConversationCommand::SetFavorite {
            conversation,
            on: is_on,
        } => ("favorite", Some(conversation), Some(on(*is_on))),
        ConversationCommand::SetAutomation {
            conversation,
            on: is_on,
        } => ("automation", Some(conversation), Some(on(*is_on))),
        // An icon is bytes.
        ConversationCommand::SetAppearance { .. } => return None,
    };
    words.push(name.into());
    words.extend(conversation.map(|id| word(id.as_str())));
    words.extend(rest);
    Some(())
}

fn model(command: &ModelCommand, words: &mut Vec<String>) {
    let scope = |scope: &Scope| match scope {
        Scope::Account => "all".to_owned(),
        Scope::Conversation(id) => word(id.as_str()),
    };
    match command {
        ModelCommand::LoadCatalog { conversation } => {
            words.push("models".into());
            words.extend(conversation.as_ref().map(|id| word(id.as_str())));
        }
        ModelCommand::SetModel { choice, scope: of } => {
            words.extend(["model".into(), scope(of), word(&choice.model)]);
            words.extend(choice.provider.as_deref().map(word));
        }
        ModelCommand::SetEffort { level, scope: of } => {
            words.extend(["effort".into(), scope(of), word(level)]);
        }
        ModelCommand::SetAutoApprove { conversation, on } => {
            let on = if *on { "on" } else { "off" };
            words.extend([
                "auto-approve".into(),
                word(conversation.as_str()),
                on.into(),
            ]);
        }
        ModelCommand::SetProfile {
            conversation,
            adapter,
            model,
            directory,
        } => {
            words.extend(["profile".into(), word(conversation.as_str())]);
            for (name, value) in [
                ("adapter", adapter),
                ("model", model),
                ("directory", directory),
            ] {
                words.extend(value.as_ref().map(|value| format!("{name}={value}")));
            }
        }
    }
}

/// A file that goes out: number of its transfer, name, size, media type, and its id on the server
/// where it has one. The signs between these do not stand in a name.
fn file(file: &OutgoingFile) -> String {
    let plain = |text: &str| text.replace([':', '='], "_");
    let mut text = format!(
        "file:{}:{}:{}:{}",
        file.transfer.0,
        plain(&file.name),
        file.size,
        plain(&file.media_type)
    );
    if let Some(id) = &file.uploaded {
        text.push_str(&format!("={}", id.as_str()));
    }
    word(&text)
}

fn transfer(command: &TransferCommand, words: &mut Vec<String>) {
    match command {
        TransferCommand::Fetch {
            attachment,
            transfer,
        } => {
            words.extend(["fetch".into(), word(attachment.id.as_str())]);
            words.push(format!("transfer={}", transfer.0));
            words.extend(attachment.size.map(|size| format!("size={size}")));
            match &attachment.source {
                AttachmentSource::Pull => {}
                AttachmentSource::HttpPath(path) => words.push(word(&format!("path={path}"))),
                // Where it lies here is nobody's business.
                AttachmentSource::LocalFile(_) => words.push("file=a-file".into()),
            }
        }
        TransferCommand::Cancel { transfer } => {
            words.extend(["cancel-transfer".into(), transfer.0.to_string()]);
        }
    }
}

/// A word that reads back as it is.
fn word(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '@'));
    if is_plain {
        text.to_owned()
    } else {
        quoted(text)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How a link ended.
pub fn ending(reason: &CloseReason) -> String {
    match reason {
        CloseReason::Ours => "ours".into(),
        CloseReason::Peer { code, .. } => match code {
            Some(code) => format!("peer {code}"),
            None => "peer".into(),
        },
        CloseReason::HttpStatus { status } => format!("http {status}"),
        CloseReason::Silent => "silent".into(),
        CloseReason::Exited { code, .. } => match code {
            Some(code) => format!("exited {code}"),
            None => "exited".into(),
        },
        CloseReason::Failed { kind, .. } => FAILURES
            .iter()
            .find(|(_, known)| known == kind)
            .map_or("broken", |(word, _)| word)
            .into(),
    }
}

const FAILURES: [(&str, LinkFailure); 12] = [
    ("address", LinkFailure::BadAddress),
    ("name", LinkFailure::NameNotFound),
    ("refused", LinkFailure::ConnectionRefused),
    ("unreachable", LinkFailure::Unreachable),
    ("timed-out", LinkFailure::TimedOut),
    ("tls", LinkFailure::Tls),
    ("proxy", LinkFailure::Proxy),
    ("protocol", LinkFailure::Protocol),
    ("too-large", LinkFailure::TooLarge),
    ("broken", LinkFailure::Broken),
    ("start", LinkFailure::CannotStart),
    ("locked", LinkFailure::Locked),
];

/// Reads what [`ending`] wrote.
pub fn read_ending(text: &str) -> CloseReason {
    let mut words = text.split(' ');
    let (first, number) = (words.next().unwrap_or_default(), words.next());
    match first {
        "ours" => CloseReason::Ours,
        "silent" => CloseReason::Silent,
        "peer" => CloseReason::Peer {
            code: number.and_then(|code| code.parse().ok()),
            reason: String::new(),
        },
        "http" => CloseReason::HttpStatus {
            status: number.and_then(|status| status.parse().ok()).unwrap_or(500),
        },
        "exited" => CloseReason::Exited {
            code: number.and_then(|code| code.parse().ok()),
            signal: None,
            stderr_tail: String::new(),
        },
        kind => CloseReason::Failed {
            kind: FAILURES
                .iter()
                .find(|(word, _)| *word == kind)
                .map_or(LinkFailure::Broken, |(_, kind)| *kind),
            detail: "As it was recorded.".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttachmentKind, TransferId};

    #[test]
    fn endings_read_back() {
        for text in [
            "ours",
            "silent",
            "peer 1001",
            "peer",
            "http 503",
            "exited 2",
            "timed-out",
        ] {
            assert_eq!(ending(&read_ending(text)), text);
        }
    }

    #[test]
    fn commands_are_written_as_transcripts_have_them() {
        let command = Command::Chat(ChatCommand::Send {
            conversation: "c".into(),
            text: "why \"so\"?\nnow".to_owned(),
            files: vec![OutgoingFile {
                transfer: TransferId(7),
                path: "/home/me/my notes.md".into(),
                name: "my notes.md".to_owned(),
                media_type: "text/markdown".to_owned(),
                kind: AttachmentKind::Document,
                size: 12,
                uploaded: None,
            }],
            reply_to: None,
            auto_thread: true,
            effort: None,
        });
        assert_eq!(
            command_words(&command).as_deref(),
            Some(r#"send c "why \"so\"?\nnow" "file:7:my notes.md:12:text/markdown" auto_thread"#)
        );
    }
}
