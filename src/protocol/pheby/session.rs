//! The link of an account: hello, ready, heartbeat, lockout (spec sections "Handshake" and
//! "Heartbeat"; readings P1 to P4). Must not touch conversations.

use super::frames::{ErrorBody, Ready, Request};
use super::refusals::{self, Asking};
use super::{Asked, Pheby};
use crate::domain::{
    AttachmentLimits, Capabilities, CommandOutcome, HistoryPaging, Identity, LinkEvent, LinkState,
    Moment, Secret, Severity, Support, Topic,
};
use crate::link::CloseReason;
use crate::protocol::decode::notice;
use crate::protocol::heartbeat::{Beat, Heartbeat};
use crate::protocol::{Output, Retry, retry};
use crate::text::SafeText;
use std::time::Duration;

/// The version this driver speaks.
const VERSION: u64 = 1;
/// A server that is silent for so long after hello is not there.
pub(super) const HELLO_PATIENCE: Duration = Duration::from_secs(10);

pub(super) const NO_MESSAGE_DELETION: &str =
    "Pheby cannot delete single messages; delete the conversation, or write a correction";
pub(super) const NO_PROFILE: &str = "Pheby has no execution profile to set";
pub(super) const NO_SERVER_SEARCH: &str = "Pheby does not search on the server; search here";
pub(super) const NO_CATALOG: &str =
    "Pheby does not list its slash commands; a command is sent as it is typed";
pub(super) const NO_THREADS: &str = "Pheby has no threads; begin a new conversation";
pub(super) const NO_CLEARING: &str = "Pheby cannot empty a conversation; delete it and begin anew";
pub(super) const NOT_IN_PHEBY: &str = "Pheby does not have this";

/// Where the link stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Down,
    /// Up, but there is no secret yet.
    WaitingForSecret {
        until: Moment,
    },
    /// Hello is out.
    Greeting,
    Ready,
}

/// The state of the link.
#[derive(Debug, Default)]
pub(super) struct Session {
    stage: Stage,
    heartbeat: Heartbeat,
    /// What a word of the server on this link means for the next one.
    verdict: Option<Retry>,
    /// The last link was ready before it ended.
    was_ready: bool,
    /// The server refused the secret, and no link was ready since. Further tries count against
    /// the lockout.
    was_unauthorized: bool,
}

impl Session {
    pub(super) fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    pub(super) fn is_down(&self) -> bool {
        self.stage == Stage::Down
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        match self.stage {
            Stage::WaitingForSecret { until } => Some(until),
            Stage::Down | Stage::Greeting => None,
            Stage::Ready => self.heartbeat.deadline(),
        }
    }

    /// A refused secret is never tried again by itself, however the link ended. A dial after it,
    /// by the person, that is turned away met the lockout, which lasts a minute.
    pub(super) fn retry(&self, reason: &CloseReason) -> Retry {
        if let Some(verdict) = self.verdict {
            return verdict;
        }
        if self.was_unauthorized && !self.was_ready && retry::is_turned_away(reason) {
            return Retry::NotBefore(retry::LOCKOUT);
        }
        retry::network(reason)
    }
}

impl Pheby {
    pub(super) fn link_up(&mut self, now: Moment) {
        self.oddities.reset();
        self.say(Topic::Link(LinkEvent::Changed(LinkState::Connecting)));
        if self
            .secret
            .as_ref()
            .is_some_and(|secret| !secret.is_empty())
        {
            self.greet(now);
        } else {
            self.session.stage = Stage::WaitingForSecret {
                until: now.after(HELLO_PATIENCE),
            };
            self.out.push_back(Output::WantSecret);
        }
    }

    fn greet(&mut self, now: Moment) {
        let Some(secret) = self.secret.clone() else {
            return;
        };
        self.session.stage = Stage::Greeting;
        let hello = Request::Hello {
            secret: secret.expose(),
            protocol_version: VERSION,
        };
        self.ask(now, &hello, Asked::Hello);
    }

    pub(super) fn renew_secret(&mut self, now: Moment, secret: Secret) {
        self.secret = Some(secret);
        if matches!(self.session.stage, Stage::WaitingForSecret { .. }) {
            self.greet(now);
        }
    }

    pub(super) fn on_ready(&mut self, now: Moment, id: Option<String>, frame: &Ready) {
        if let Some(id) = id {
            self.pending.take(&id);
        }
        // The reply may come without the id.
        self.pending
            .take_first(|asked| matches!(asked, Asked::Hello));
        if self.session.is_ready() {
            return self.odd("a second ready");
        }
        if let Some(version) = frame.protocol_version.filter(|version| *version != VERSION) {
            return self.give_up(format!(
                "The server speaks version {version} of Pheby, this program version {VERSION}. \
                 Update the older of the two. What is stored here stays readable."
            ));
        }
        self.session.stage = Stage::Ready;
        self.session.was_ready = true;
        self.session.was_unauthorized = false;
        self.session.heartbeat.start(now);
        self.say(Topic::Link(LinkEvent::IdentityKnown(Identity {
            server: SafeText::label(&frame.server),
            version: SafeText::label(&format!("protocol {VERSION}")),
        })));
        let capabilities = Box::new(capabilities());
        self.say(Topic::Link(LinkEvent::CapabilitiesChanged(capabilities)));
        self.say(Topic::Link(LinkEvent::Changed(LinkState::Ready)));
        self.list(now, None);
        self.reopen_interrupted(now);
    }

    pub(super) fn on_pong(&mut self, now: Moment) {
        if let Some(latency_ms) = self.session.heartbeat.answer(now) {
            self.say(Topic::Link(LinkEvent::Heard {
                latency_ms: Some(latency_ms),
            }));
        }
    }

    pub(super) fn hear(&mut self, now: Moment) {
        if self.session.heartbeat.hear(now) {
            self.say(Topic::Link(LinkEvent::Heard { latency_ms: None }));
        }
    }

    pub(super) fn attend(&mut self, now: Moment) {
        self.session.heartbeat.attend(now);
    }

    pub(super) fn beat(&mut self, now: Moment) {
        if let Stage::WaitingForSecret { until } = self.session.stage
            && until.mono_ms <= now.mono_ms
        {
            return self.give_up(
                "There is no secret for this account. Set one with `trialogue account login`, \
                 then connect again."
                    .to_owned(),
            );
        }
        match self.session.heartbeat.beat(now) {
            Beat::Nothing => {}
            Beat::Ping => self.write(&Request::Ping, None),
            Beat::Silent(since) => self.say(Topic::Link(LinkEvent::Silent { since })),
            Beat::Dead => self.close(Retry::Backoff),
        }
    }

    pub(super) fn hello_unanswered(&mut self) {
        self.close(Retry::Backoff);
    }

    pub(super) fn on_error(&mut self, now: Moment, id: Option<String>, error: &ErrorBody) {
        if error.is_of_iris && !self.session.is_ready() {
            return self.give_up(
                "This looks like an Iris gateway, not like a Pheby server. Check the kind of the \
                 account (iris) and the path of its address; a Pheby server is at /ws most often."
                    .to_owned(),
            );
        }
        match error.code.as_str() {
            "unauthorized" => {
                self.session.was_unauthorized = true;
                let refusal = refusals::refusal(error, Asking::Other);
                return self.give_up(refusal.text.as_str().to_owned());
            }
            "version_mismatch" => {
                let mut words = refusals::refusal(error, Asking::Other)
                    .text
                    .as_str()
                    .to_owned();
                if !error.message.trim().is_empty() {
                    words.push_str(&format!(" The server says: {}", error.message.trim()));
                }
                return self.give_up(words);
            }
            "auth_timeout" => return self.close(Retry::Backoff),
            _ => {}
        }
        match id {
            Some(id) => {
                // An id that is not ours belongs to another client, or to a request given up.
                if let Some(asked) = self.pending.take(&id) {
                    self.on_request_error(now, asked, error);
                } else if let Some((command, conversation)) = self.runs.take_late(&id) {
                    let asked = Asked::Send {
                        command,
                        conversation,
                    };
                    self.on_request_error(now, asked, error);
                }
            }
            None if !self.session.is_ready() => {
                let refusal = refusals::refusal(error, Asking::Other);
                let event = notice(
                    Severity::Error,
                    None,
                    "The server refused the connection",
                    refusal.text.as_str(),
                );
                self.tell(event);
                self.close(Retry::Backoff);
            }
            None => {
                let refusal = refusals::refusal(error, Asking::Other);
                let event = notice(
                    Severity::Error,
                    None,
                    "The server reports an error",
                    refusal.text.as_str(),
                );
                self.tell(event);
            }
        }
    }

    /// Ends the link; it is not tried again before the person changed something.
    fn give_up(&mut self, reason: String) {
        self.session.verdict = Some(Retry::Never);
        self.say(Topic::Link(LinkEvent::Changed(LinkState::Refused {
            reason: SafeText::prose(&reason),
        })));
        self.close(Retry::Never);
    }

    fn close(&mut self, retry: Retry) {
        if self.session.stage == Stage::Down {
            return;
        }
        self.session.verdict = Some(retry);
        self.session.stage = Stage::Down;
        self.session.heartbeat.stop();
        self.pending
            .take_first(|asked| matches!(asked, Asked::Hello));
        self.out.push_back(Output::Close {
            last: None,
            grace: Duration::ZERO,
            retry,
        });
    }

    pub(super) fn link_down(&mut self, now: Moment, reason: &CloseReason) {
        self.release_all(now);
        self.session.stage = Stage::Down;
        self.session.heartbeat.stop();
        for (_, asked) in self.pending.drain() {
            for command in asked.commands() {
                self.finish(command, CommandOutcome::LinkLost);
            }
        }
        self.drop_unsent_messages();
        for (conversation, run) in self.runs.conversations() {
            self.directory.interrupt(conversation, Some(run));
        }
        for conversation in self.decisions.conversations() {
            self.directory.interrupt(conversation, None);
        }
        self.runs.cut();
        let was_told = self.session.verdict.is_some();
        let retry = self.session.retry(reason);
        self.session.verdict = None;
        self.session.was_ready = false;
        if !was_told
            && retry == Retry::Never
            && let Some(words) = retry::refusal_words(reason)
        {
            self.say(Topic::Link(LinkEvent::Changed(LinkState::Refused {
                reason: SafeText::prose(&words),
            })));
        }
    }
}

/// What every server of version 1 can do.
fn capabilities() -> Capabilities {
    Capabilities {
        create_conversation: Support::Yes,
        create_thread: Support::No(NO_THREADS),
        rename_conversation: Support::Yes,
        delete_conversation: Support::Yes,
        delete_note: "",
        clear_conversation: Support::No(NO_CLEARING),
        set_default: Support::No(NOT_IN_PHEBY),
        favorite: Support::No(NOT_IN_PHEBY),
        appearance: Support::No(NOT_IN_PHEBY),
        automation: Support::No(NOT_IN_PHEBY),
        auto_thread: Support::No(NO_THREADS),
        delete_message: Support::No(NO_MESSAGE_DELETION),
        reply_to: Support::No("Pheby has no replies to single messages; quote the text instead"),
        read_receipts: Support::No("Pheby does not say what was read"),
        cancel_run: Support::Yes,
        queues_messages: Support::No("Pheby takes one message at a time; others wait here"),
        server_search: Support::No(NO_SERVER_SEARCH),
        slash_catalog: Support::No(NO_CATALOG),
        models: Support::Yes,
        models_per_conversation: Support::Yes,
        models_free_text: Support::No("Pheby takes the models that it lists"),
        effort: Support::Yes,
        auto_approve: Support::Yes,
        auto_approve_label: "auto-approve",
        profile: Support::No(NO_PROFILE),
        upload: Support::Yes,
        download: Support::Yes,
        reasoning: Support::No("Pheby does not send the agent's reasoning"),
        todos: Support::Yes,
        history: HistoryPaging::OlderThanToken,
        attachment_limits: AttachmentLimits {
            count: refusals::FILE_LIMIT,
            bytes: Some(refusals::UPLOAD_LIMIT),
            pictures: None,
        },
        text_limit: Some(refusals::TEXT_LIMIT),
        functions: Vec::new(),
    }
}
