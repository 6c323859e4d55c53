//! Everything that can be set about the demo gateways by name, for the command line and for people
//! who write gateways or clients: pace, seed and secret, and every other reading of a protocol.

use super::engine::Setup;
use super::{iris, omi, pheby};

/// How the gateways behave.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Its `epoch` is set to the real time, unless `is_fixed_in_time`.
    pub setup: Setup,
    pub is_fixed_in_time: bool,
    /// A folder that outlives the gateways behind sockets: what Pheby has on its disk.
    pub state: Option<std::path::PathBuf>,
    pub pheby: pheby::Readings,
    pub iris: iris::Readings,
    pub omi: omi::Readings,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self {
            setup: Setup::default(),
            is_fixed_in_time: false,
            state: None,
            pheby: pheby::Readings::seen(),
            iris: iris::Readings::default(),
            omi: omi::Readings::showroom(),
        }
    }
}

/// One thing that can be set: its name, what it takes, what it does.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    pub name: &'static str,
    pub takes: &'static str,
    pub about: &'static str,
    set: fn(&mut DemoOptions, &str) -> Option<()>,
}

/// A number as it is typed.
fn number<T: std::str::FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}

/// A switch as it is typed.
fn switch(value: &str) -> Option<bool> {
    match value {
        "on" | "yes" | "true" | "1" => Some(true),
        "off" | "no" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// One of several words.
fn word<T: Copy>(value: &str, words: &[(&str, T)]) -> Option<T> {
    words
        .iter()
        .find(|(word, _)| *word == value)
        .map(|(_, meaning)| *meaning)
}

macro_rules! row {
    ($name:literal, $takes:literal, $about:literal, |$options:ident, $value:ident| $place:expr => $parsed:expr) => {
        OptionRow {
            name: $name,
            takes: $takes,
            about: $about,
            set: |$options, $value| {
                $place = $parsed?;
                Some(())
            },
        }
    };
}

/// Everything that can be set.
pub const OPTIONS: &[OptionRow] = &[
    row!("speed", "PERCENT", "pace of the agent, 100 as in the files",
        |o, v| o.setup.speed => number(v).filter(|speed| *speed > 0)),
    row!("seed", "NUMBER", "other ids", |o, v| o.setup.seed => number(v)),
    row!("secret", "TEXT", "secret of Pheby and token of Iris", |o, v| o.setup.secret => Some(v.to_owned())),
    row!("pheby.lockout", "429|403|close", "what a locked-out address meets",
        |o, v| o.pheby.lockout => word(v, &[
            ("429", pheby::Lockout::Status(429)), ("403", pheby::Lockout::Status(403)), ("close", pheby::Lockout::Close)])),
    row!("pheby.close-on-large", "on|off", "a frame above the limit closes the connection",
        |o, v| o.pheby.closes_on_large_frame => switch(v)),
    row!("pheby.id-for-all", "on|off", "run.accepted carries the request id for every client",
        |o, v| o.pheby.accepted_id_for_all => switch(v)),
    row!("pheby.late", "on|off", "half a second before run.accepted", |o, v| o.pheby.accepts_late => switch(v)),
    row!("pheby.several-messages", "on|off", "texts around tools are messages of their own",
        |o, v| o.pheby.several_messages => switch(v)),
    row!("pheby.deltas", "on|off", "growing text", |o, v| o.pheby.without_deltas => switch(v).map(|on| !on)),
    row!("pheby.draft-ids", "on|off", "messages keep their draft ids in the history",
        |o, v| o.pheby.keeps_draft_ids => switch(v)),
    row!("pheby.complete-cancelled", "on|off", "a cancelled run completes its message",
        |o, v| o.pheby.completes_cancelled => switch(v)),
    row!("pheby.forget-tools", "on|off", "the snapshot lists tools only during a run",
        |o, v| o.pheby.forgets_tools => switch(v)),
    row!("pheby.page", "NUMBER", "largest page of history", |o, v| o.pheby.page => number(v).filter(|n| *n > 0).map(|n: usize| (n, n.min(200)))),
    row!("pheby.times", "on|off", "messages of the history have a time",
        |o, v| o.pheby.without_times => switch(v).map(|on| !on)),
    row!("pheby.silent-delete", "on|off", "other clients do not hear of a deletion",
        |o, v| o.pheby.deletes_silently => switch(v)),
    row!("pheby.silent-effort", "on|off", "other clients do not hear of a changed effort",
        |o, v| o.pheby.reasons_silently => switch(v)),
    row!("pheby.titles", "on|off", "the first text becomes the name of a chat",
        |o, v| o.pheby.names_conversations => switch(v)),
    row!("pheby.resume", "on|off", "runs go on by themselves after a restart",
        |o, v| o.pheby.resumes_after_restart => switch(v)),
    row!("pheby.todos", "on|off", "to-do lists are shown as a tool", |o, v| o.pheby.shows_todos => switch(v)),
    row!("pheby.download", "whole|corrupt|BYTES", "downloads are well, wrong, or break off after so many bytes",
        |o, v| o.pheby.download => word(v, &[("whole", pheby::Download::Whole), ("corrupt", pheby::Download::Corrupt)])
            .or_else(|| number(v).map(pheby::Download::Short))),
    row!("pheby.retention", "off|SECONDS", "how long files are kept",
        |o, v| o.pheby.retention => if v == "off" { Some(None) } else { number::<u64>(v).map(|s| Some(s * 1000)) }),
    row!("pheby.runless", "on|off", "unsolicited output comes without a run",
        |o, v| o.pheby.speaks_without_run => switch(v)),
    row!("pheby.plain-errors", "on|off", "errors over HTTP have no JSON body",
        |o, v| o.pheby.plain_http_errors => switch(v)),
    row!("iris.bytes", "bare|request-id|media-id|json", "what stands before the bytes of a pull",
        |o, v| o.iris.bytes => word(v, &[
            ("bare", iris::BytesLayout::Bare), ("request-id", iris::BytesLayout::RequestId),
            ("media-id", iris::BytesLayout::MediaId), ("json", iris::BytesLayout::JsonLine)])),
    row!("iris.offer-before-bytes", "on|off", "an offer with the request id goes before the bytes",
        |o, v| o.iris.offers_before_bytes => switch(v)),
    row!("iris.unknown-media", "end|error", "how a pull of unknown media fails",
        |o, v| o.iris.unknown_media_is_error => word(v, &[("end", false), ("error", true)])),
    row!("iris.pull", "whole|short|corrupt|failed", "what happens to pulls",
        |o, v| o.iris.pull => word(v, &[
            ("whole", iris::PullFault::None), ("short", iris::PullFault::Short),
            ("corrupt", iris::PullFault::Corrupt), ("failed", iris::PullFault::Failed)])),
    row!("iris.bad-hash", "error|ack", "how a wrong hash is told",
        |o, v| o.iris.bad_hash_is_ack => word(v, &[("error", false), ("ack", true)])),
    row!("iris.max-upload", "BYTES", "largest upload", |o, v| o.iris.max_upload => number(v)),
    row!("iris.rename-refs", "on|off", "the acknowledgement names another ref", |o, v| o.iris.renames_refs => switch(v)),
    row!("iris.echo", "all|all-without-id|others|nobody", "who gets the own message back",
        |o, v| o.iris.echo => word(v, &[
            ("all", iris::Echo::AllAndIdForSender), ("all-without-id", iris::Echo::AllWithoutId),
            ("others", iris::Echo::OthersOnly), ("nobody", iris::Echo::Nobody)])),
    row!("iris.receipt", "after|after-without-id|before", "how the receipt comes",
        |o, v| o.iris.receipt => word(v, &[
            ("after", iris::Receipt::AfterEchoWithId), ("after-without-id", iris::Receipt::AfterEchoWithoutId),
            ("before", iris::Receipt::BeforeEchoWithId)])),
    row!("iris.sync-cursor", "head|delivered|zero", "the cursor in hello.ack",
        |o, v| o.iris.sync_cursor => word(v, &[
            ("head", iris::SyncCursor::Head), ("delivered", iris::SyncCursor::Delivered), ("zero", iris::SyncCursor::Zero)])),
    row!("iris.replay", "all|undelivered", "what sync replays",
        |o, v| o.iris.replays_only_undelivered => word(v, &[("all", false), ("undelivered", true)])),
    row!("iris.park-offers", "on|off", "offers wait in the outbox", |o, v| o.iris.drops_offers => switch(v).map(|on| !on)),
    row!("iris.outbox", "NUMBER", "frames the outbox keeps", |o, v| o.iris.outbox => number(v)),
    row!("iris.thread-is-chat", "on|off", "frames of a thread carry only the thread's id",
        |o, v| o.iris.thread_is_chat => switch(v)),
    row!("iris.channel-answers", "asker|twice|all", "who gets the id of an answer about channels",
        |o, v| o.iris.channel_answers => word(v, &[
            ("asker", iris::ChannelAnswers::IdForAsker), ("twice", iris::ChannelAnswers::TwoForAsker),
            ("all", iris::ChannelAnswers::IdForAll)])),
    row!("iris.former-default", "on|off", "the former default channel is told as well",
        |o, v| o.iris.tells_former_default => switch(v)),
    row!("iris.delete-threads", "with|each", "threads of a deleted channel go with it, or one by one",
        |o, v| o.iris.deletes_threads_one_by_one => word(v, &[("with", false), ("each", true)])),
    row!("iris.history", "oldest-first|newest-first", "order within a page of history",
        |o, v| o.iris.history_newest_first => word(v, &[("oldest-first", false), ("newest-first", true)])),
    row!("iris.history-roles", "two|four", "roles in the history",
        |o, v| o.iris.history_has_all_roles => word(v, &[("two", false), ("four", true)])),
    row!("iris.empty-todos", "on|off", "the snapshot names empty lists as well", |o, v| o.iris.sends_empty_todos => switch(v)),
    row!("iris.stay-after-auth", "on|off", "the socket stays open after a wrong token",
        |o, v| o.iris.stays_after_auth_error => switch(v)),
    row!("iris.rate", "NUMBER", "sends in ten seconds", |o, v| o.iris.sends_in_ten_seconds => number(v)),
    row!("iris.lose-open", "on|off", "a restart leaves open messages without their end", |o, v| o.iris.loses_open_messages => switch(v)),
    row!("iris.pushes", "on|off", "what was parked counts as pushed to the device", |o, v| o.iris.pushes => switch(v)),
    row!("iris.planned-pickers", "on|off", "pickers come under the names of planned frames",
        |o, v| o.iris.uses_planned_pickers => switch(v)),
    row!("omi.flavour", "typescript|rust", "which of the two runtimes it is",
        |o, v| o.omi.flavour => word(v, &[("typescript", omi::Flavour::TypeScript), ("rust", omi::Flavour::Rust)])),
    row!("omi.repeat-text", "on|off", "deltas carry the whole text so far", |o, v| o.omi.repeats_text => switch(v)),
    row!("omi.result", "same|empty|different", "the text of the result",
        |o, v| o.omi.result_text => word(v, &[
            ("same", omi::ResultText::Same), ("empty", omi::ResultText::Empty), ("different", omi::ResultText::Different)])),
    row!("omi.sync", "on|off", "turns of main chats are sent for storing", |o, v| o.omi.syncs => switch(v)),
    row!("omi.reconcile", "on|off", "main chats are reconciled", |o, v| o.omi.reconciles => switch(v)),
    row!("omi.cancel", "ack-first|result-first|refuse-first|no-ack|partial", "how a cancellation goes",
        |o, v| o.omi.cancel => word(v, &[
            ("ack-first", omi::Cancel::AckFirst), ("result-first", omi::Cancel::ResultFirst),
            ("refuse-first", omi::Cancel::RefusesFirst), ("no-ack", omi::Cancel::NoAck), ("partial", omi::Cancel::PartialText)])),
    row!("omi.two-attempts", "on|off", "a first attempt breaks off", |o, v| o.omi.two_attempts => switch(v)),
    row!("omi.oddity", "none|error-then-result|two-results|unknown-lines|without-ids", "oddities around the end of a query",
        |o, v| o.omi.oddity => word(v, &[
            ("none", omi::Oddity::None), ("error-then-result", omi::Oddity::ErrorThenResult),
            ("two-results", omi::Oddity::TwoResults), ("unknown-lines", omi::Oddity::UnknownLines),
            ("without-ids", omi::Oddity::WithoutIds)])),
    row!("omi.start", "normal|never|SECONDS|other-version|no-version|error|exit|noise|flood|few-capabilities", "how the process starts",
        |o, v| o.omi.start => word(v, &[
            ("normal", omi::Start::Normal), ("never", omi::Start::Never), ("other-version", omi::Start::OtherVersion),
            ("no-version", omi::Start::NoVersion), ("error", omi::Start::Error), ("exit", omi::Start::Exit),
            ("noise", omi::Start::Noise), ("flood", omi::Start::Flood), ("few-capabilities", omi::Start::FewCapabilities)])
            .or_else(|| number::<u64>(v).map(|s| omi::Start::Late(s * 1000)))),
    row!("omi.surface-kind", "on|off", "query.surfaceKind is known", |o, v| o.omi.refuses_surface_kind => switch(v).map(|on| !on)),
    row!("omi.ask", "on|off", "questions reach the person, as in newer runtimes", |o, v| o.omi.asks_the_host => switch(v)),
    row!("omi.activity", "on|off", "running queries say that they live", |o, v| o.omi.without_activity => switch(v).map(|on| !on)),
    row!("omi.greet", "on|off", "the first conversation starts with a word of welcome", |o, v| o.omi.greets => switch(v)),
];

impl DemoOptions {
    /// Sets one thing by name; the error says what would have been right.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some(row) = OPTIONS.iter().find(|row| row.name == name) else {
            let near: Vec<&str> = OPTIONS
                .iter()
                .map(|row| row.name)
                .filter(|known| {
                    let last = name.rsplit('.').next().unwrap_or(name);
                    !last.is_empty() && known.contains(last)
                })
                .collect();
            return Err(if near.is_empty() {
                format!("there is no option {name}; `trialogue demo --set help` lists them")
            } else {
                format!(
                    "there is no option {name}; did you mean {}?",
                    near.join(" or ")
                )
            });
        };
        (row.set)(self, value).ok_or_else(|| format!("{name} takes {}, not {value}", row.takes))
    }

    /// The list of options, one a line.
    pub fn help() -> String {
        OPTIONS
            .iter()
            .map(|row| format!("{}={}\n    {}\n", row.name, row.takes, row.about))
            .collect()
    }

    /// Adds a scenario of the person's own; `file` is only for words.
    pub fn add_scenario(
        &mut self,
        file: &str,
        text: &str,
    ) -> Result<(), super::scenario::ScenarioError> {
        std::sync::Arc::make_mut(&mut self.setup.library).add_scenario(file, text)
    }

    /// Adds a conversation of the person's own; `file` is only for words.
    pub fn add_conversation(
        &mut self,
        file: &str,
        text: &str,
    ) -> Result<(), super::scenario::ScenarioError> {
        std::sync::Arc::make_mut(&mut self.setup.library).add_conversation(file, text)
    }

    /// The options of the runtime as a process, with its folders from the environment.
    pub fn runtime(&self) -> omi::RuntimeOptions {
        let mut options =
            omi::RuntimeOptions::from_environment(self.setup.clone(), self.omi.clone());
        if let Some(state) = &self.state {
            options.artifacts = state.join("artifacts");
            options.state = Some(state.clone());
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_takes_what_it_says() {
        let samples = ["on", "3", "text"];
        for row in OPTIONS {
            let mut options = DemoOptions::default();
            let words = row.takes.split('|').filter(|word| !word.is_empty());
            for word in words {
                let is_kind = word.chars().all(|c| c.is_ascii_uppercase());
                let value = match word {
                    "TEXT" => samples[2],
                    _ if is_kind => samples[1],
                    word => word,
                };
                assert_eq!(options.set(row.name, value), Ok(()), "{}={value}", row.name);
            }
            if row.takes != "TEXT" {
                assert!(options.set(row.name, "sideways").is_err(), "{}", row.name);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_near_ones() {
        let mut options = DemoOptions::default();
        assert_eq!(
            options.set("lockout", "429"),
            Err("there is no option lockout; did you mean pheby.lockout?".into())
        );
        assert!(
            options
                .set("zzz", "1")
                .is_err_and(|text| text.contains("--set help"))
        );
        assert!(DemoOptions::help().contains("iris.echo=all|"));
    }

    #[test]
    fn own_scenarios_join_the_library() {
        let mut options = DemoOptions::default();
        let text = "word = \"mine\"\ntitle = \"Mine\"\nabout = \"mine\"\n[[step]]\ndo = \"say\"\ntext = \"x\"\n";
        assert_eq!(options.add_scenario("mine.toml", text), Ok(()));
        assert!(options.setup.library.by_word("mine").is_some());
        assert!(
            DemoOptions::default()
                .setup
                .library
                .by_word("mine")
                .is_none()
        );
    }
}
