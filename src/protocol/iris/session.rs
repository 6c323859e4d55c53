//! The link of an account: hello, hello.ack, sync, ready, health, heartbeat (readings I1, I13 to
//! I20, I40 to I45). Must not know what is in a conversation.

use super::frames::{Caps, ErrorBody, HelloAck, Request, ServerCaps, VERSION};
use super::lanes::Address;
use super::{Asked, Iris, refusals};
use crate::domain::{
    AttachmentLimits, Capabilities, CommandOutcome, ConversationId, HistoryPaging, Identity,
    LinkEvent, LinkState, Moment, Secret, Severity, Support, SyncEvent, Topic,
};
use crate::link::CloseReason;
use crate::protocol::decode::notice;
use crate::protocol::heartbeat::{Beat, Heartbeat};
use crate::protocol::{Output, Retry, Setup, retry};
use crate::text::SafeText;
use std::time::Duration;

/// A gateway that is silent for so long after hello is not there.
pub(super) const HELLO_PATIENCE: Duration = Duration::from_secs(10);
/// A replay that stands still for so long is over.
pub(super) const SYNC_PATIENCE: Duration = Duration::from_secs(30);
/// The fact that the first replay has not come to its end.
const NEW: &str = "first_sync";
/// Replayed frames after which the cursor is handed out.
const KEEP_EVERY: u64 = 100;

pub(super) const NO_MODELS: &str = "Iris changes models by the command /model";
pub(super) const NO_EFFORT: &str = "Iris changes the effort by the command /reasoning";
pub(super) const NO_AUTO_APPROVE: &str = "Iris switches auto-approve by the command /yolo";
pub(super) const NO_PROFILE: &str = "Iris has no execution profile to set";
pub(super) const NO_CLEARING: &str =
    "Iris cannot empty a conversation; delete messages, or the conversation";
pub(super) const NO_STOP: &str = "this gateway lists no /stop, so a run can only end by itself";
const NO_MEDIA: &str = "this gateway moves no files";
const NO_SEARCH: &str = "this gateway does not search; search here";

/// Where the link stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Down,
    WaitingForSecret {
        until: Moment,
    },
    /// Hello is out.
    Greeting,
    /// Missed frames are coming in.
    Syncing,
    Ready,
}

/// The state of the link, and of the replay.
#[derive(Debug)]
pub(super) struct Session {
    stage: Stage,
    heartbeat: Heartbeat,
    verdict: Option<Retry>,
    device_id: Option<String>,
    seed_name: String,
    caps: ServerCaps,
    pub(super) stops: bool,
    /// Up to where everything is stored here; none on a device that never synced.
    cursor: Option<i64>,
    /// It never synced to the end: what comes until then is old news.
    is_new: bool,
    /// That is kept.
    is_new_kept: bool,
    /// Up to where the replay came on this link.
    reached: Option<i64>,
    /// Frames up to here were announced to this device already.
    announced: i64,
    /// Notifications up to this time were announced while the link stood.
    pub(super) announced_ts: i64,
    replayed: u64,
    /// The gateway said that it restarts.
    restarts: bool,
    /// It restarted, or lost its state, since the last link stood: nobody waits there any more.
    pub(super) has_forgotten: bool,
    /// Counts links.
    pub(super) link: u64,
    /// Since when everything that was missed is here.
    pub(super) ready_at: Option<Moment>,
}

impl Session {
    pub(super) fn new(setup: &Setup) -> Self {
        let number = |name: &str| {
            let value = setup.resume.facts.get(name)?;
            value.parse::<i64>().ok()
        };
        Self {
            stage: Stage::Down,
            heartbeat: Heartbeat::default(),
            verdict: None,
            device_id: setup.resume.facts.get("device_id").cloned(),
            seed_name: setup
                .seed
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            caps: ServerCaps::default(),
            stops: false,
            cursor: number("cursor"),
            is_new: number("cursor").is_none() || setup.resume.facts.contains_key(NEW),
            is_new_kept: setup.resume.facts.contains_key(NEW),
            reached: None,
            announced: 0,
            announced_ts: number("announced_ts").unwrap_or(0),
            replayed: 0,
            restarts: false,
            has_forgotten: false,
            link: 0,
            ready_at: None,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    pub(super) fn is_down(&self) -> bool {
        self.stage == Stage::Down
    }

    pub(super) fn is_syncing(&self) -> bool {
        self.stage == Stage::Syncing
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        match self.stage {
            Stage::WaitingForSecret { until } => Some(until),
            Stage::Down | Stage::Greeting => None,
            Stage::Syncing | Stage::Ready => self.heartbeat.deadline(),
        }
    }

    /// Whether a replayed frame was announced to this device before. On a device that never
    /// synced everything is old.
    pub(super) fn was_announced(&self, cursor: i64) -> bool {
        cursor <= self.announced || self.is_new
    }

    pub(super) fn retry(&self, reason: &CloseReason) -> Retry {
        if let Some(verdict) = self.verdict {
            return verdict;
        }
        match retry::network(reason) {
            Retry::Backoff if self.restarts => Retry::Soon,
            other => other,
        }
    }
}

impl Iris {
    pub(super) fn link_up(&mut self, now: Moment) {
        self.session.restarts = false;
        self.session.link += 1;
        self.session.ready_at = None;
        self.oddities.reset();
        self.tell_link(LinkState::Connecting);
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

    fn tell_link(&mut self, state: LinkState) {
        self.say(Topic::Link(LinkEvent::Changed(state)));
    }

    fn keep(&mut self, name: &str, value: String) {
        self.say(Topic::Sync(SyncEvent::Kept {
            name: name.to_owned(),
            value: Some(value),
        }));
    }

    fn greet(&mut self, now: Moment) {
        let Some(secret) = self.secret.clone() else {
            return;
        };
        let device_id = match self.session.device_id.clone() {
            Some(id) => id,
            None => {
                let id = format!("trialogue-{}", self.session.seed_name);
                self.session.device_id = Some(id.clone());
                self.keep("device_id", id.clone());
                id
            }
        };
        self.session.stage = Stage::Greeting;
        let hello = Request::Hello {
            token: secret.expose(),
            device_id: &device_id,
            device_name: "trialogue",
            caps: Caps {
                min_protocol: VERSION,
                media: true,
                push: "none",
            },
        };
        self.ask(now, "hello", &Address::default(), hello, Asked::Hello);
    }

    pub(super) fn renew_secret(&mut self, now: Moment, secret: Secret) {
        self.secret = Some(secret);
        if matches!(self.session.stage, Stage::WaitingForSecret { .. }) {
            self.greet(now);
        }
    }

    pub(super) fn on_hello_ack(&mut self, now: Moment, id: Option<u64>, ack: HelloAck) {
        self.take(id);
        self.pending
            .take_first(|asked| matches!(asked, Asked::Hello));
        if self.session.stage != Stage::Greeting {
            return self.odd("a hello.ack that nobody asked for");
        }
        self.session.stage = Stage::Syncing;
        self.session.heartbeat.start(now);
        self.session.announced = ack.last_pushed_cursor;
        self.session.reached = None;
        self.session.replayed = 0;
        self.session.caps = ack.server_caps;
        self.session.stops = false;
        self.say(Topic::Link(LinkEvent::IdentityKnown(Identity {
            server: "iris".into(),
            version: if ack.server_version.is_empty() {
                SafeText::label(&format!("protocol {VERSION}"))
            } else {
                SafeText::label(&ack.server_version)
            },
        })));
        self.tell_capabilities();
        self.tell_link(LinkState::Syncing);
        self.replace_directory(ack.channels);
        let sync = Request::Sync {
            // The server's own idea of where this device stands may be ahead of what was stored.
            cursor: self.session.cursor.unwrap_or(0),
        };
        self.ask(now, "sync", &Address::default(), sync, Asked::Sync);
    }

    /// A frame of the replay was taken in: it covers its cursor.
    pub(super) fn replayed(&mut self, now: Moment, cursor: i64) {
        if !self.session.is_syncing() {
            return;
        }
        let reached = self
            .session
            .reached
            .map_or(cursor, |reached| reached.max(cursor));
        self.session.reached = Some(reached);
        self.session.replayed += 1;
        // The replay moves, so it has time again.
        if self
            .pending
            .take_first(|asked| matches!(asked, Asked::Sync))
            .is_some()
        {
            // It ends by its kind, so the name it waits under does not matter.
            self.pending
                .insert("sync".to_owned(), Asked::Sync, now, SYNC_PATIENCE);
        }
        if self.session.replayed.is_multiple_of(KEEP_EVERY) {
            self.keep_part(reached);
        }
    }

    /// Hands out the cursor of a replay that has not come to its end.
    fn keep_part(&mut self, cursor: i64) {
        if self.session.is_new {
            self.session.is_new_kept = true;
            self.keep(NEW, "yes".to_owned());
        }
        self.keep_cursor(cursor);
    }

    /// Hands out the cursor behind the events that it covers.
    fn keep_cursor(&mut self, cursor: i64) {
        self.session.cursor = Some(cursor);
        let anchors = self.lanes.anchors();
        self.keep("cursor", cursor.to_string());
        self.keep("anchors", anchors);
        self.keep_all_calls();
    }

    pub(super) fn on_sync_done(&mut self, now: Moment, id: Option<u64>, head: Option<i64>) {
        self.take(id);
        self.pending
            .take_first(|asked| matches!(asked, Asked::Sync));
        if !self.session.is_syncing() {
            return;
        }
        let asked_from = self.session.cursor;
        let reached = self.session.reached;
        self.cover_calls();
        match head {
            Some(head) if asked_from.is_some_and(|from| head < from) => {
                self.session.has_forgotten = true;
                self.keep_cursor(head);
                self.say(Topic::Sync(SyncEvent::ServerLostState));
                self.drop_dead_decisions(now);
                self.forget_turns(now);
            }
            Some(head) => {
                // Frames behind the head that were replayed already need no second time.
                self.keep_cursor(reached.map_or(head, |reached| reached.max(head)));
            }
            None => {
                self.odd("sync.done without a cursor");
                if let Some(reached) = reached {
                    self.keep_cursor(reached);
                }
            }
        }
        self.be_ready(now);
    }

    pub(super) fn sync_unanswered(&mut self, now: Moment) {
        self.odd("a replay without an end");
        if let Some(reached) = self.session.reached {
            self.keep_cursor(reached);
        }
        self.be_ready(now);
    }

    fn be_ready(&mut self, now: Moment) {
        self.session.stage = Stage::Ready;
        self.session.ready_at = Some(now);
        self.drop_dead_decisions(now);
        self.open_replayed_decisions(now);
        self.drop_ended_todos();
        if std::mem::take(&mut self.session.is_new) {
            self.say(Topic::Sync(SyncEvent::ReadingBegan));
        }
        if std::mem::take(&mut self.session.is_new_kept) {
            self.say(Topic::Sync(SyncEvent::Kept {
                name: NEW.to_owned(),
                value: None,
            }));
        }
        self.say(Topic::Sync(SyncEvent::Done));
        self.resume_turns(now);
        self.tell_link(LinkState::Ready);
        self.load_catalog(now, None);
        self.ask_for_waiting(now);
    }

    pub(super) fn on_status(&mut self, state: &str) {
        let health = match state {
            "online" => None,
            "restarting" => {
                self.session.restarts = true;
                self.cut_turns();
                Some("the gateway restarts")
            }
            "degraded" => Some("the gateway works, but not well"),
            other => {
                self.odd(format!("an unknown state of the gateway: {other}"));
                return;
            }
        };
        self.say(Topic::Link(LinkEvent::HealthChanged(
            health.map(SafeText::from),
        )));
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
                "There is no token for this account. Set one with `trialogue account login`, \
                 then connect again.",
            );
        }
        match self.session.heartbeat.beat(now) {
            Beat::Nothing => {}
            Beat::Ping => {
                let id = self.mint();
                let ping = Request::Ping { ts: now.wall_ms };
                self.write(id, "ping", &Address::default(), ping);
            }
            Beat::Silent(since) => self.say(Topic::Link(LinkEvent::Silent { since })),
            Beat::Dead => self.close(Retry::Backoff),
        }
    }

    pub(super) fn hello_unanswered(&mut self) {
        self.close(Retry::Backoff);
    }

    pub(super) fn on_error(
        &mut self,
        now: Moment,
        id: Option<u64>,
        lane: Option<ConversationId>,
        error: &ErrorBody,
    ) {
        // What a replay reports was answered, or given up, long ago.
        if self.is_replay() {
            return;
        }
        if error.code == "auth" {
            let refusal = refusals::refusal(error, None);
            return self.give_up(refusal.text.as_str());
        }
        if self.session.stage == Stage::Greeting {
            if error.is_of_pheby {
                return self.give_up(
                    "This looks like a Pheby server, not like an Iris gateway. Check the kind of \
                     the account (pheby) and the path of its address.",
                );
            }
            return if error.code == "unsupported" {
                self.give_up(&format!(
                    "The gateway speaks another version of Iris; this program speaks version \
                     {VERSION}. Update the older of the two. The gateway says: {}",
                    error.message
                ))
            } else {
                let refusal = refusals::refusal(error, None);
                let event = notice(
                    Severity::Error,
                    None,
                    "The gateway refused the connection",
                    refusal.text.as_str(),
                );
                self.tell(event);
                self.close(Retry::Backoff);
            };
        }
        if let Some(asked) = self.take(id) {
            return self.on_request_error(now, asked, error);
        }
        // With an id it answers another device.
        if id.is_some() {
            return;
        }
        match lane {
            Some(lane) if self.fail_turn(now, &lane, &error.message) => {}
            lane => {
                let refusal = refusals::refusal(error, None);
                let event = notice(
                    Severity::Error,
                    lane,
                    "The gateway reports an error",
                    refusal.text.as_str(),
                );
                self.tell(event);
            }
        }
    }

    fn on_request_error(&mut self, now: Moment, asked: Asked, error: &ErrorBody) {
        let refusal = refusals::refusal(error, Some(&asked));
        match asked {
            Asked::Pull => self.pull_refused(now, refusal),
            Asked::UploadStart | Asked::UploadEnd => self.upload_refused(now, refusal),
            Asked::Sync => self.sync_unanswered(now),
            asked => {
                for command in asked.commands() {
                    self.finish(command, CommandOutcome::Refused(refusal.clone()));
                }
                // A decision whose answer was refused stays open.
                if let Asked::Pick { decision, .. } = asked {
                    self.pick_refused(decision);
                }
            }
        }
    }

    /// Ends the link; it is not tried again before the person changed something.
    fn give_up(&mut self, reason: &str) {
        self.session.verdict = Some(Retry::Never);
        self.tell_link(LinkState::Refused {
            reason: SafeText::prose(reason),
        });
        self.close(Retry::Never);
    }

    fn close(&mut self, retry: Retry) {
        if self.session.is_down() {
            return;
        }
        self.session.verdict = Some(retry);
        self.session.stage = Stage::Down;
        self.session.heartbeat.stop();
        self.out.push_back(Output::Close {
            last: None,
            grace: Duration::ZERO,
            retry,
        });
    }

    pub(super) fn link_down(&mut self, reason: &CloseReason) {
        // What was taken in is stored, so the next replay begins behind it.
        if self.session.is_syncing()
            && let Some(reached) = self.session.reached
        {
            self.keep_part(reached);
        }
        let was_told = self.session.verdict.is_some();
        let retry = self.session.retry(reason);
        self.session.verdict = None;
        self.session.has_forgotten |= self.session.restarts;
        self.session.restarts = false;
        self.session.stage = Stage::Down;
        self.session.heartbeat.stop();
        for (_, asked) in self.pending.drain() {
            for command in asked.commands() {
                self.finish(command, CommandOutcome::LinkLost);
            }
        }
        self.drop_transfers();
        for conversation in self.lanes.typing() {
            self.typing_off(&conversation);
        }
        self.lanes.cut();
        if !was_told
            && retry == Retry::Never
            && let Some(words) = retry::refusal_words(reason)
        {
            self.tell_link(LinkState::Refused {
                reason: SafeText::prose(&words),
            });
        }
    }

    pub(super) fn tell_capabilities(&mut self) {
        let capabilities = Box::new(self.capabilities());
        self.say(Topic::Link(LinkEvent::CapabilitiesChanged(capabilities)));
    }

    fn capabilities(&self) -> Capabilities {
        let when = |cap: Option<bool>, reason: &'static str| {
            if cap == Some(false) {
                Support::No(reason)
            } else {
                Support::Yes
            }
        };
        let caps = &self.session.caps;
        Capabilities {
            create_conversation: Support::Yes,
            create_thread: Support::Yes,
            rename_conversation: Support::Yes,
            delete_conversation: Support::Yes,
            delete_note: "",
            clear_conversation: Support::No(NO_CLEARING),
            set_default: Support::Yes,
            favorite: Support::Yes,
            appearance: Support::Yes,
            automation: Support::Yes,
            auto_thread: Support::Yes,
            delete_message: Support::Yes,
            reply_to: Support::Yes,
            read_receipts: Support::Yes,
            cancel_run: if self.session.stops {
                Support::Yes
            } else {
                Support::No(NO_STOP)
            },
            queues_messages: Support::Yes,
            server_search: when(caps.search, NO_SEARCH),
            slash_catalog: Support::Yes,
            models: Support::No(NO_MODELS),
            models_per_conversation: Support::No(NO_MODELS),
            models_free_text: Support::No(NO_MODELS),
            effort: Support::No(NO_EFFORT),
            auto_approve: Support::No(NO_AUTO_APPROVE),
            auto_approve_label: "auto-approve",
            profile: Support::No(NO_PROFILE),
            upload: when(caps.media, NO_MEDIA),
            download: when(caps.media, NO_MEDIA),
            reasoning: when(caps.reasoning, "this gateway sends no reasoning"),
            todos: Support::Yes,
            history: HistoryPaging::OlderThanToken,
            attachment_limits: AttachmentLimits {
                count: 10,
                bytes: None,
                pictures: None,
            },
            text_limit: None,
            functions: Vec::new(),
        }
    }
}
