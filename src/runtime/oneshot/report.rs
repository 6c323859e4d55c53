//! What a command without a screen has to tell, and the memory needed to tell it once: how much of
//! a growing text was told already, and under which id a tool call was told first.

use crate::domain::{
    AccountId, Author, ConversationId, Decision, Expiry, IncomingMessage, LinkState, MessageSort,
    Part, RemoteId, RunEvent, RunId, RunOutcome, TextPatch, TimelineEvent, ToolCall, ToolCallId,
};
use crate::text::SafeText;
use std::collections::{BTreeMap, VecDeque};

/// Texts of finished messages that are remembered, so that a report that comes again is not told
/// again.
const REMEMBERED: usize = 256;

/// Something to tell, as it happens. Texts are cleaned.
#[derive(Debug)]
pub enum Report<'a> {
    Connected {
        account: &'a AccountId,
    },
    /// Where the link of an account stands now.
    Link(&'a LinkState),
    Conversation {
        id: &'a ConversationId,
        name: &'a SafeText,
    },
    Accepted,
    /// A run that something else than a message of ours began.
    Started {
        run: &'a RunId,
    },
    /// More of the text of an answer, to be appended.
    Text {
        message: &'a RemoteId,
        more: &'a str,
    },
    /// The text of an answer changed in a way that cannot be appended; all of it again.
    Rewritten {
        message: &'a RemoteId,
        text: &'a str,
    },
    /// A message, or a part of an answer between two tools, is complete.
    MessageEnded {
        message: &'a RemoteId,
        author: Author,
        at_ms: Option<i64>,
        text: &'a str,
    },
    Notice {
        text: &'a str,
    },
    Tool(&'a ToolCall),
    Decision(&'a Decision),
    /// A decision was answered, here or elsewhere.
    Resolved {
        decision: &'a crate::domain::DecisionId,
        choice: Option<&'a SafeText>,
    },
    /// A decision cannot be answered any more.
    Expired {
        decision: &'a crate::domain::DecisionId,
        why: &'a Expiry,
    },
    Attachment {
        name: &'a SafeText,
        size: Option<u64>,
    },
    Finished(&'a RunOutcome),
}

/// A text as far as it was told.
#[derive(Debug, Default)]
struct Told {
    text: String,
    author: Option<Author>,
    at_ms: Option<i64>,
    is_over: bool,
}

/// What was told of one conversation.
#[derive(Debug, Default)]
pub struct Tracker {
    told: BTreeMap<RemoteId, Told>,
    over: VecDeque<RemoteId>,
    /// Ids of tool calls as they are now, with those they were first told under.
    first_ids: BTreeMap<ToolCallId, ToolCallId>,
}

impl Tracker {
    /// Tells what a timeline event of the conversation says that was not told yet.
    pub fn timeline(&mut self, event: &TimelineEvent, report: &mut dyn FnMut(Report<'_>)) {
        match event {
            TimelineEvent::Upserted { message, .. } => self.message(message, report),
            TimelineEvent::Patched {
                remote,
                part: Part::Body,
                patch,
                ..
            } => {
                let text = match patch {
                    TextPatch::Replace(text) => text.clone(),
                    TextPatch::Append(more) => {
                        let before = self.told.get(remote).map(|told| told.text.as_str());
                        format!("{}{more}", before.unwrap_or_default())
                    }
                };
                self.tell(remote, text, false, report);
            }
            TimelineEvent::Ended {
                remote,
                text,
                sent_at_ms,
                ..
            } => {
                let told = self.told.entry(remote.clone()).or_default();
                told.at_ms = sent_at_ms.or(told.at_ms);
                let text = text
                    .clone()
                    .filter(|text| !text.is_empty())
                    .unwrap_or_else(|| told.text.clone());
                self.tell(remote, text, true, report);
            }
            TimelineEvent::Rekeyed { from, to, .. } => {
                if let Some(told) = self.told.remove(from) {
                    self.told.insert(to.clone(), told);
                    for id in self.over.iter_mut().filter(|id| *id == from) {
                        *id = to.clone();
                    }
                }
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &IncomingMessage, report: &mut dyn FnMut(Report<'_>)) {
        if matches!(message.sort, MessageSort::Notice | MessageSort::Aside) {
            return self.aside(message, report);
        }
        let Some(remote) = &message.remote else {
            return;
        };
        let told = self.told.entry(remote.clone()).or_default();
        told.author = Some(message.author);
        told.at_ms = message.sent_at_ms.or(told.at_ms);
        self.tell(remote, message.text.clone(), !message.is_streaming, report);
    }

    /// What is no part of the answer. It may come again, changed or seen as something else.
    fn aside(&mut self, message: &IncomingMessage, report: &mut dyn FnMut(Report<'_>)) {
        if let Some(remote) = &message.remote {
            let told = self.told.entry(remote.clone()).or_default();
            if told.is_over && told.text == message.text {
                return;
            }
            told.text = message.text.clone();
            self.note_over(remote);
        }
        let text = SafeText::prose(&message.text);
        report(Report::Notice {
            text: text.as_str(),
        });
    }

    /// A text is complete; few of those are remembered.
    fn note_over(&mut self, remote: &RemoteId) {
        let told = self.told.entry(remote.clone()).or_default();
        if !std::mem::replace(&mut told.is_over, true) {
            self.over.push_back(remote.clone());
            if self.over.len() > REMEMBERED
                && let Some(oldest) = self.over.pop_front()
            {
                self.told.remove(&oldest);
            }
        }
    }

    /// Tells the part of `text` that was not told yet.
    fn tell(
        &mut self,
        remote: &RemoteId,
        text: String,
        is_final: bool,
        report: &mut dyn FnMut(Report<'_>),
    ) {
        let told = self.told.entry(remote.clone()).or_default();
        if told.is_over && told.text == text {
            return;
        }
        let clean = SafeText::prose(&text);
        let before = SafeText::prose(&told.text);
        if let Some(more) = clean.as_str().strip_prefix(before.as_str()) {
            if !more.is_empty() {
                report(Report::Text {
                    message: remote,
                    more,
                });
            }
        } else if clean.as_str().trim() != before.as_str().trim() {
            // Space at its ends alone changes no text.
            report(Report::Rewritten {
                message: remote,
                text: clean.as_str(),
            });
        }
        told.text = text;
        if !is_final {
            return;
        }
        report(Report::MessageEnded {
            message: remote,
            author: told.author.unwrap_or(Author::Assistant),
            at_ms: told.at_ms,
            text: clean.as_str(),
        });
        self.note_over(remote);
    }

    /// Tells what a tool call says. It keeps the id it was first told under, so that scripts can
    /// pair the lines.
    pub fn tool(&mut self, tool: &ToolCall, report: &mut dyn FnMut(Report<'_>)) {
        let mut tool = tool.clone();
        if let Some(first) = self.first_ids.get(&tool.id) {
            tool.id = first.clone();
        }
        report(Report::Tool(&tool));
    }

    /// Takes note of another id of a call, or forgets the ids of a run that ended.
    pub fn follow(&mut self, event: &RunEvent) {
        match event {
            RunEvent::ToolRekeyed { from, to, .. } => {
                let first = self.first_ids.get(from).unwrap_or(from).clone();
                self.first_ids.insert(to.clone(), first);
            }
            RunEvent::Finished { .. } => self.first_ids.clear(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(text: &str) -> TimelineEvent {
        TimelineEvent::Patched {
            conversation: "c".into(),
            remote: "m".into(),
            run: None,
            part: Part::Body,
            patch: TextPatch::Replace(text.to_owned()),
        }
    }

    fn ended(text: &str) -> TimelineEvent {
        TimelineEvent::Ended {
            conversation: "c".into(),
            remote: "m".into(),
            text: Some(text.to_owned()),
            reasoning: None,
            footer: Default::default(),
            sent_at_ms: None,
            is_interrupted: false,
        }
    }

    #[test]
    fn what_is_no_part_of_the_answer_is_told_once_and_never_as_text() {
        let mut tracker = Tracker::default();
        let mut told = Vec::new();
        let said = |sort, text: &str| TimelineEvent::Upserted {
            conversation: "c".into(),
            message: Box::new(IncomingMessage {
                remote: Some("s".into()),
                author: Author::System,
                sort,
                text: text.to_owned(),
                ..IncomingMessage::default()
            }),
        };
        for event in [
            said(MessageSort::Notice, "may it?"),
            said(MessageSort::Aside, "may it?"),
            said(MessageSort::Aside, "2 min"),
        ] {
            tracker.timeline(&event, &mut |report| told.push(format!("{report:?}")));
        }
        assert_eq!(
            told,
            [
                r#"Notice { text: "may it?" }"#,
                r#"Notice { text: "2 min" }"#
            ]
        );
    }

    #[test]
    fn a_text_that_ends_without_its_outer_space_is_not_told_again() {
        let mut tracker = Tracker::default();
        let mut told = Vec::new();
        for event in [patched("one two \n"), ended("one two")] {
            tracker.timeline(&event, &mut |report| told.push(format!("{report:?}")));
        }
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("Text"), "{told:?}");
        assert!(told[1].starts_with("MessageEnded"), "{told:?}");
    }

    #[test]
    fn a_growing_text_is_told_once_and_a_changed_one_again() {
        let mut tracker = Tracker::default();
        let mut told = Vec::new();
        let events = [
            patched("one"),
            patched("one two"),
            patched("one three"),
            ended("one three."),
            ended("one three."),
            ended("edited"),
        ];
        for event in &events {
            tracker.timeline(event, &mut |report| {
                told.push(match report {
                    Report::Text { more, .. } => format!("+{more}"),
                    Report::Rewritten { text, .. } => format!("={text}"),
                    Report::MessageEnded { text, .. } => format!(".{text}"),
                    other => format!("{other:?}"),
                });
            });
        }
        assert_eq!(
            told,
            [
                "+one",
                "+ two",
                "=one three",
                "+.",
                ".one three.",
                "=edited",
                ".edited"
            ]
        );
    }
}
