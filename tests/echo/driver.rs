//! The driver of the toy protocol, made by following `trialogue::protocol::adding`.
//!
//! | frame | direction | means |
//! |---|---|---|
//! | `{"type":"hello","name":"trialogue"}` | to the server | a link stands |
//! | `{"type":"welcome","server":"echo 1"}` | from it | commands may be sent |
//! | `{"type":"say","id":"…","text":"…"}` | to the server | a message |
//! | `{"type":"said","id":"…","text":"…"}` | from it | the whole answer to it |

use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use trialogue::domain::*;
use trialogue::link::{CloseReason, Frame};
use trialogue::protocol::{Driver, Input, Output, ReplaceKey, Retry, Setup};
use trialogue::text::SafeText;

/// The only conversation.
const PLACE: &str = "echo";
/// So long an answer is awaited.
const PATIENCE: Duration = Duration::from_secs(30);

/// One account.
pub struct Echo {
    prefix: String,
    count: u64,
    is_ready: bool,
    out: VecDeque<Output>,
    /// Messages without an answer, by their ids on the wire.
    pending: BTreeMap<String, (CommandId, Moment)>,
}

impl Echo {
    /// A driver that waits for its first link.
    pub fn new(setup: &Setup) -> Self {
        Self {
            prefix: setup.seed[..4].iter().map(|b| format!("{b:02x}")).collect(),
            count: 0,
            is_ready: false,
            out: VecDeque::new(),
            pending: BTreeMap::new(),
        }
    }

    fn say(&mut self, topic: Topic) {
        let event = AccountEvent::live(topic);
        self.out.push_back(Output::Event(Box::new(event)));
    }

    fn write(&mut self, frame: &Value) {
        self.out
            .push_back(Output::Frame(Frame::text(frame.to_string())));
    }

    fn link(&mut self, state: LinkState) {
        self.say(Topic::Link(LinkEvent::Changed(state)));
    }

    fn end(&mut self, command: CommandId, outcome: CommandOutcome) {
        self.say(Topic::Outcome { command, outcome });
    }

    fn oddity(&mut self, words: &str) {
        self.say(Topic::Notice(Notice {
            kind: NoticeKind::Oddity,
            body: SafeText::prose(words),
            ..Notice::default()
        }));
    }

    fn frame(&mut self, frame: &Frame) {
        let value: Value = match frame.as_text().map(serde_json::from_str) {
            Some(Ok(value)) => value,
            _ => return self.oddity("a frame that is no JSON"),
        };
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "welcome" => self.welcome(text("server")),
            "said" => self.said(text("id"), text("text")),
            other => self.oddity(&format!("an unknown frame: {other}")),
        }
    }

    fn welcome(&mut self, server: &str) {
        self.is_ready = true;
        self.say(Topic::Link(LinkEvent::IdentityKnown(Identity {
            server: SafeText::label(server),
            ..Identity::default()
        })));
        let no = Support::No("an echo has nothing but text");
        self.say(Topic::Link(LinkEvent::CapabilitiesChanged(Box::new(
            Capabilities {
                create_conversation: no.clone(),
                upload: no.clone(),
                cancel_run: no,
                text_limit: Some(4_000),
                ..Capabilities::default()
            },
        ))));
        let info = ConversationInfo {
            kind: ConversationKind::Default,
            name: "Echo".into(),
            ..ConversationInfo::default()
        };
        self.say(Topic::Directory(DirectoryEvent::Replaced(vec![(
            PLACE.into(),
            info,
        )])));
        self.link(LinkState::Ready);
    }

    fn said(&mut self, id: &str, text: &str) {
        let Some((command, _)) = self.pending.remove(id) else {
            return self.oddity("an answer that nobody asked for");
        };
        let run = RunId::from(id);
        let message = IncomingMessage {
            remote: Some(RemoteId::from(format!("{id}/answer"))),
            author: Author::Assistant,
            text: text.to_owned(),
            run: Some(run.clone()),
            ..IncomingMessage::default()
        };
        self.say(Topic::Timeline(TimelineEvent::Upserted {
            conversation: PLACE.into(),
            message: Box::new(message),
        }));
        self.say(Topic::Run(RunEvent::Finished {
            conversation: PLACE.into(),
            run,
            outcome: RunOutcome::Completed,
        }));
        self.end(command, CommandOutcome::Done(Reply::Nothing));
    }

    fn command(&mut self, now: Moment, id: CommandId, command: Command) {
        if !self.is_ready {
            return self.end(id, CommandOutcome::NotSent);
        }
        match command {
            Command::Chat(ChatCommand::Send { text, .. }) => {
                self.count += 1;
                let wire = format!("{}-{}", self.prefix, self.count);
                self.pending.insert(wire.clone(), (id, now.after(PATIENCE)));
                self.write(&json!({"type": "say", "id": wire, "text": text}));
                self.say(Topic::Timeline(TimelineEvent::Acknowledged {
                    conversation: PLACE.into(),
                    command: id,
                    remote: Some(RemoteId::from(wire.as_str())),
                }));
                self.say(Topic::Run(RunEvent::Started {
                    conversation: PLACE.into(),
                    run: RunId::from(wire),
                    command: Some(id),
                    is_stated: false,
                }));
            }
            // There is no history to load, so opening is done at once.
            Command::Conversation(
                ConversationCommand::Open { .. } | ConversationCommand::Refresh,
            ) => self.end(id, CommandOutcome::Done(Reply::Nothing)),
            _ => self.end(
                id,
                CommandOutcome::Refused(Refusal::new(
                    RefusalCode::Unsupported,
                    "An echo cannot do that.",
                )),
            ),
        }
    }

    fn give_up(&mut self, id: String, outcome: CommandOutcome, run: RunOutcome) {
        let Some((command, _)) = self.pending.remove(&id) else {
            return;
        };
        self.say(Topic::Run(RunEvent::Finished {
            conversation: PLACE.into(),
            run: RunId::from(id),
            outcome: run,
        }));
        self.end(command, outcome);
    }
}

impl Driver for Echo {
    fn handle(&mut self, now: Moment, input: Input) {
        match input {
            Input::LinkUp { .. } => {
                self.link(LinkState::Connecting);
                self.write(&json!({"type": "hello", "name": "trialogue"}));
            }
            Input::LinkDown { .. } => {
                self.is_ready = false;
                for id in self.pending.keys().cloned().collect::<Vec<_>>() {
                    self.give_up(id, CommandOutcome::LinkLost, RunOutcome::Lost);
                }
            }
            Input::Frame(frame) => self.frame(&frame),
            Input::Command { id, command } => self.command(now, id, command),
            Input::Deadline => {
                let due: Vec<String> = self
                    .pending
                    .iter()
                    .filter(|(_, (_, until))| until.mono_ms <= now.mono_ms)
                    .map(|(id, _)| id.clone())
                    .collect();
                for id in due {
                    let refusal = Refusal::new(RefusalCode::TimedOut, "The echo did not come.");
                    let error = refusal.text.clone();
                    let failed = RunOutcome::Failed {
                        error,
                        hint: SafeText::default(),
                        details: SafeText::default(),
                    };
                    self.give_up(id, CommandOutcome::Refused(refusal), failed);
                }
            }
            // No HTTP, no files, no tools, and no secret.
            _ => {}
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Moment> {
        self.pending.values().map(|(_, until)| *until).min()
    }

    fn glance(&self, _: &Frame) -> Option<ReplaceKey> {
        // Every frame is complete and none makes another obsolete.
        None
    }

    fn redact(&self, frame: &Frame) -> Frame {
        frame.clone()
    }

    fn retry(&self, _: &CloseReason) -> Retry {
        Retry::Backoff
    }
}
