//! The desk that key scripts work on: a state, keys in, words out.

pub use std::sync::Arc;
pub use std::time::Duration;
pub use trialogue::app::effect::{LinkChange, OpenTarget};
pub use trialogue::app::event::{FileFacts, ListedFile, ShellReply, StoreReply};
pub use trialogue::app::screen::overlay::Overlay;
pub use trialogue::app::screen::viewport::Anchor;
pub use trialogue::app::screen::{Pane, SidebarRow, Target, drawer, rows};
pub use trialogue::app::state::{AccountState, Conversation, Ids, Settings};
pub use trialogue::app::update::{flush, update};
pub use trialogue::app::{Effect, Event, State};
pub use trialogue::domain::*;
pub use trialogue::input::{
    Chord, Modifiers, MouseButton, MouseEvent, MouseKind, Parser, ParserOptions, TerminalEvent,
};
pub use trialogue::text::SafeText;

/// A screen with two accounts: `home` can do everything and has three conversations, `work` has
/// one.
pub struct Desk {
    pub state: State,
    pub now: Moment,
    pub effects: Vec<Effect>,
}

pub fn everything() -> Capabilities {
    Capabilities {
        create_conversation: Support::Yes,
        create_thread: Support::Yes,
        rename_conversation: Support::Yes,
        delete_conversation: Support::Yes,
        delete_note: "",
        clear_conversation: Support::Yes,
        set_default: Support::Yes,
        favorite: Support::Yes,
        appearance: Support::Yes,
        automation: Support::Yes,
        auto_thread: Support::Yes,
        delete_message: Support::Yes,
        reply_to: Support::Yes,
        read_receipts: Support::Yes,
        cancel_run: Support::Yes,
        queues_messages: Support::No("it does not"),
        server_search: Support::Yes,
        slash_catalog: Support::Yes,
        models: Support::Yes,
        models_per_conversation: Support::Yes,
        models_free_text: Support::Yes,
        effort: Support::Yes,
        auto_approve: Support::Yes,
        auto_approve_label: "auto-approve",
        profile: Support::Yes,
        upload: Support::Yes,
        download: Support::Yes,
        reasoning: Support::Yes,
        todos: Support::Yes,
        history: HistoryPaging::OlderThanToken,
        attachment_limits: AttachmentLimits {
            count: 2,
            bytes: Some(1000),
            pictures: None,
        },
        text_limit: Some(200),
        functions: Vec::new(),
    }
}

pub fn account(name: &str, conversations: &[&str]) -> AccountState {
    let mut account = AccountState::new(AccountId::new(name), SafeText::label(name));
    account.account.link = LinkState::Ready;
    account.account.capabilities = everything();
    for (n, id) in conversations.iter().enumerate() {
        let mut conversation = Conversation::default();
        conversation.info.name = SafeText::label(id);
        conversation.info.kind = ConversationKind::Channel;
        conversation.info.last_activity_ms = Some(1000 - n as i64);
        conversation.timeline.is_loaded = true;
        conversation.is_open = true;
        account
            .conversations
            .insert(ConversationId::new(id), conversation);
    }
    account
}

impl Desk {
    pub fn new() -> Self {
        let ids = Ids {
            instance: 7,
            next: 1000,
        };
        let now = Moment {
            mono_ms: 10_000,
            wall_ms: 1_800_000_000_000,
        };
        let mut state = State::new(ids, Settings::default(), now);
        state.is_loading = false;
        state.accounts.push(account("home", &["a", "b", "c"]));
        state.accounts.push(account("work", &["w"]));
        state.focus = Some(("home".into(), "a".into()));
        state.screen.columns = 120;
        state.screen.rows = 40;
        state.screen.composer_columns = 80;
        state.screen.timeline_rows = 22;
        Self {
            state,
            now,
            effects: Vec::new(),
        }
    }

    pub fn scheme(name: &str) -> Self {
        let mut desk = Self::new();
        desk.state.keymap = trialogue::app::keymap::Keymap::scheme(name).unwrap();
        desk
    }

    pub fn event(&mut self, event: Event) -> &mut Self {
        let effects = update(&mut self.state, self.now, event);
        self.effects.extend(effects);
        self.effects.extend(flush(&mut self.state));
        self
    }

    /// Presses chords, written with blanks between them.
    pub fn press(&mut self, keys: &str) -> &mut Self {
        for chord in Chord::parse_sequence(keys).unwrap() {
            self.event(Event::Terminal(TerminalEvent::Key(chord)));
        }
        self
    }

    /// Types text, letter by letter.
    pub fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            let chord = Chord::of_char(c, Modifiers::default());
            self.event(Event::Terminal(TerminalEvent::Key(chord)));
        }
        self
    }

    pub fn paste(&mut self, text: &str) -> &mut Self {
        self.event(Event::Terminal(TerminalEvent::Paste(text.to_owned())))
    }

    /// Sends bytes as a terminal does, `gap` milliseconds apart, through the parser.
    pub fn bytes(&mut self, reads: &[&[u8]], gap: u64) -> &mut Self {
        let mut parser = Parser::new(ParserOptions::local());
        let mut events = Vec::new();
        let mut at = 0;
        for read in reads {
            events.extend(parser.feed(at, read));
            at += gap;
        }
        events.extend(parser.expire(at + 100_000));
        for event in events {
            self.event(Event::Terminal(event));
        }
        self
    }

    pub fn click(&mut self, kind: MouseKind, target: Target) -> &mut Self {
        self.event(Event::Pointer {
            mouse: MouseEvent {
                kind,
                column: 40,
                row: 5,
                modifiers: Modifiers::default(),
            },
            target,
        })
    }

    pub fn wait(&mut self, ms: u64) -> &mut Self {
        self.now = self.now.after(Duration::from_millis(ms));
        self.event(Event::Deadline)
    }

    pub fn conversation(&mut self, id: &str) -> &mut Conversation {
        let account = if id == "w" { "work" } else { "home" };
        self.state
            .account_mut(&account.into())
            .unwrap()
            .conversations
            .get_mut(&ConversationId::new(id))
            .unwrap()
    }

    pub fn home(&mut self) -> &mut AccountState {
        self.state.account_mut(&"home".into()).unwrap()
    }

    pub fn draft(&mut self) -> String {
        let (_, id) = self.state.focus.clone().unwrap();
        self.conversation(id.as_str()).composer.text().to_owned()
    }

    pub fn focus(&self) -> String {
        let (account, id) = self.state.focus.as_ref().unwrap();
        format!("{}/{}", account.as_str(), id.as_str())
    }

    pub fn runs(&mut self) -> &mut Self {
        let now = self.now;
        self.conversation("a").run = Some(Run {
            id: "r".into(),
            phase: RunPhase::Working,
            is_stated: true,
            command: None,
            started: now,
            last_activity: now,
            stopping_since: None,
        });
        self
    }

    pub fn messages(&mut self, texts: &[&str]) -> &mut Self {
        let entries: Vec<Entry> = texts
            .iter()
            .enumerate()
            .map(|(n, text)| message(n as u64 + 1, text))
            .collect();
        let timeline = &mut self.conversation("a").timeline;
        timeline.newest_order = entries.len() as i64 * ORDER_STEP;
        timeline.oldest_order = ORDER_STEP;
        timeline.entries = entries;
        self
    }

    pub fn decides(&mut self, decision: Decision) -> &mut Self {
        self.event(Event::Account {
            account: "home".into(),
            event: Box::new(AccountEvent::live(Topic::Decision(DecisionEvent::Opened(
                Box::new(decision),
            )))),
        })
    }

    /// The popup is painted and 400 ms pass.
    pub fn painted(&mut self, end_seen: bool) -> &mut Self {
        if let Some(Overlay::Decision(popup)) = self.state.screen.overlays.last_mut() {
            popup.painted.get_or_insert(self.now);
            popup.end_seen |= end_seen;
        }
        self.wait(400)
    }

    /// What the effects so far were, in words; they are forgotten then.
    pub fn said(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        for effect in std::mem::take(&mut self.effects) {
            say(&effect, &mut words);
        }
        words
    }

    pub fn popup(&self) -> &'static str {
        match self.state.screen.overlays.last() {
            None => "",
            Some(Overlay::Decision(_)) => "decision",
            Some(Overlay::Attention { .. }) => "attention",
            Some(Overlay::Switcher { .. }) => "switcher",
            Some(Overlay::Palette { .. }) => "palette",
            Some(Overlay::Models { .. }) => "models",
            Some(Overlay::Effort { .. }) => "effort",
            Some(Overlay::Search(popup)) if popup.here.is_some() => "search here",
            Some(Overlay::Search(_)) => "search everywhere",
            Some(Overlay::Help { .. }) => "help",
            Some(Overlay::Confirm(_)) => "confirm",
            Some(Overlay::Prompt(_)) => "prompt",
            Some(Overlay::Queue { .. }) => "queue",
            Some(Overlay::Inspector { .. }) => "inspector",
            Some(Overlay::Inputs { .. }) => "inputs",
            Some(Overlay::CodeBlocks { .. }) => "code",
            Some(Overlay::EntryMenu { .. }) => "menu",
            Some(Overlay::Media { .. }) => "media",
            Some(Overlay::Theme { .. }) => "theme",
            Some(Overlay::Wizard(_)) => "wizard",
            Some(Overlay::Choices { .. }) => "choices",
            Some(_) => "other",
        }
    }

    pub fn labels(&self) -> Vec<String> {
        let top = self.state.screen.overlays.last().unwrap();
        rows::rows(&self.state, top)
            .iter()
            .map(|row| row.label.to_string())
            .collect()
    }
}

pub fn message(key: u64, text: &str) -> Entry {
    Entry {
        key: MessageKey(key),
        order: key as i64 * ORDER_STEP,
        seen_at_ms: 0,
        body: EntryBody::Message(Box::new(Message {
            key: MessageKey(key),
            order: key as i64 * ORDER_STEP,
            remote: Some(RemoteId::new(format!("m{key}"))),
            author: Author::Assistant,
            sort: MessageSort::Ordinary,
            body: Body::new(text),
            reasoning: Body::default(),
            reasoned_ms: None,
            attachments: Vec::new(),
            reply_to: None,
            sent_at_ms: None,
            seen_at_ms: 0,
            run: None,
            delivery: None,
            command: None,
            footer: Footer::default(),
            is_streaming: false,
            is_interrupted: false,
            is_seen_live_only: false,
        })),
    }
}

pub fn approval(id: &str, command: &str, choices: &[(&str, Grant)]) -> Decision {
    Decision {
        id: id.into(),
        conversation: "a".into(),
        run: None,
        tool: None,
        question: Question::Approval {
            command: SafeText::command(command),
            description: SafeText::default(),
            may_be_cut: false,
            takes_reason: true,
        },
        choices: choices
            .iter()
            .map(|(value, grant)| Choice {
                value: (*value).to_owned(),
                label: SafeText::label(value),
                grant: *grant,
                is_current: false,
            })
            .collect(),
        way: AnswerWay::Direct,
        life: DecisionLife::Open,
        asked_at: Moment::default(),
        deadline: None,
        was_asked_for: false,
    }
}

pub fn usual(id: &str) -> Decision {
    approval(
        id,
        "rm -rf build",
        &[
            ("once", Grant::Once),
            ("session", Grant::Session),
            ("always", Grant::Always),
            ("deny", Grant::Deny),
        ],
    )
}

pub fn say(effect: &Effect, words: &mut Vec<String>) {
    match effect {
        Effect::Command { command, .. } => words.push(match command {
            Command::Chat(ChatCommand::Send {
                conversation, text, ..
            }) => format!("send {} {text:?}", conversation.as_str()),
            Command::Chat(ChatCommand::CancelRun { .. }) => "stop the run".to_owned(),
            Command::Chat(ChatCommand::DeleteMessages { remotes, .. }) => {
                format!("delete {remotes:?}")
            }
            Command::Answer {
                decision, answer, ..
            } => match answer {
                Answer::Choice { value, reason } => {
                    format!("answer {} {value} {reason:?}", decision.as_str())
                }
                Answer::Text(text) => format!("answer {} in words {text:?}", decision.as_str()),
            },
            Command::Conversation(ConversationCommand::Create { name, parent }) => {
                format!("create {name:?} under {parent:?}")
            }
            Command::Conversation(ConversationCommand::Rename { name, .. }) => {
                format!("rename to {name}")
            }
            Command::Model(ModelCommand::SetModel { choice, .. }) => {
                format!("set model {}", choice.model)
            }
            Command::Model(ModelCommand::SetEffort { level, .. }) => format!("set effort {level}"),
            Command::Model(ModelCommand::SetAutoApprove { on, .. }) => {
                format!("auto-approve {on}")
            }
            Command::Model(ModelCommand::LoadCatalog { .. }) => "load models".to_owned(),
            Command::Invoke {
                function,
                subject,
                argument,
                ..
            } => format!("invoke {function} {subject:?} {argument:?}"),
            Command::Search(query) => format!("ask the server for {:?}", query.text),
            other => format!("{other:?}"),
        }),
        Effect::Commit { writes, then, .. } => {
            for write in writes {
                match write {
                    Write::Input { text, .. } => words.push(format!("remember {text:?}")),
                    Write::Draft { draft, .. } => words.push(format!(
                        "keep draft {:?}",
                        draft.as_ref().map_or("", |draft| draft.text.as_str())
                    )),
                    _ => {}
                }
            }
            for effect in then {
                say(effect, words);
            }
        }
        Effect::Look(Lookup::Inputs { .. }) => words.push("look for inputs".to_owned()),
        Effect::Look(Lookup::Search { query, .. }) => words.push(format!("look for {query:?}")),
        Effect::Look(Lookup::Window { around, .. }) => words.push(format!("read {around:?}")),
        Effect::Copy(text) => words.push(format!("copy {:?}", text.as_str())),
        Effect::CopySelection => words.push("copy the selection".to_owned()),
        Effect::Edit { text, .. } => words.push(format!("edit {text:?}")),
        Effect::ListDirectory { directory } => words.push(format!("list {directory:?}")),
        Effect::TakePicture { conversation, .. } => {
            words.push(format!("take picture for {}", conversation.as_str()));
        }
        Effect::InspectFile { path } => words.push(format!("look at {}", path.display())),
        Effect::OpenExternal(OpenTarget::Link(link)) => words.push(format!("open {link}")),
        Effect::Link { change, .. } => match change {
            LinkChange::Connect => words.push("connect".to_owned()),
            LinkChange::Disconnect => words.push("disconnect".to_owned()),
            LinkChange::RetryNow => words.push("retry".to_owned()),
            // Goes along with whatever is typed.
            LinkChange::Attend => {}
        },
        Effect::RedrawAll => words.push("draw everything".to_owned()),
        Effect::Suspend => words.push("suspend".to_owned()),
        Effect::Quit { code } => words.push(format!("quit {code}")),
        _ => {}
    }
}

pub fn has(words: &[String], wanted: &str) -> bool {
    words.iter().any(|word| word == wanted)
}
