//! Key scripts: a start, keys, and what a person notices: effects in words, the draft, the popup.
//! One test for each row of the key table, then the complaints of the field that begin at the
//! keyboard.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;
use trialogue::app::effect::{LinkChange, OpenTarget};
use trialogue::app::event::{FileFacts, ListedFile, ShellReply, StoreReply};
use trialogue::app::screen::overlay::Overlay;
use trialogue::app::screen::viewport::Anchor;
use trialogue::app::screen::{Pane, SidebarRow, Target, drawer, rows};
use trialogue::app::state::{AccountState, Conversation, Ids, Settings};
use trialogue::app::update::{flush, update};
use trialogue::app::{Effect, Event, State};
use trialogue::domain::*;
use trialogue::input::{
    Chord, Modifiers, MouseButton, MouseEvent, MouseKind, Parser, ParserOptions, TerminalEvent,
};
use trialogue::text::SafeText;

/// A screen with two accounts: `home` can do everything and has three conversations, `work` has
/// one.
struct Desk {
    state: State,
    now: Moment,
    effects: Vec<Effect>,
}

fn everything() -> Capabilities {
    Capabilities {
        create_conversation: Support::Yes,
        create_thread: Support::Yes,
        rename_conversation: Support::Yes,
        delete_conversation: Support::Yes,
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

fn account(name: &str, conversations: &[&str]) -> AccountState {
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
    fn new() -> Self {
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

    fn scheme(name: &str) -> Self {
        let mut desk = Self::new();
        desk.state.keymap = trialogue::app::keymap::Keymap::scheme(name).unwrap();
        desk
    }

    fn event(&mut self, event: Event) -> &mut Self {
        let effects = update(&mut self.state, self.now, event);
        self.effects.extend(effects);
        self.effects.extend(flush(&mut self.state));
        self
    }

    /// Presses chords, written with blanks between them.
    fn press(&mut self, keys: &str) -> &mut Self {
        for chord in Chord::parse_sequence(keys).unwrap() {
            self.event(Event::Terminal(TerminalEvent::Key(chord)));
        }
        self
    }

    /// Types text, letter by letter.
    fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            let chord = Chord::of_char(c, Modifiers::default());
            self.event(Event::Terminal(TerminalEvent::Key(chord)));
        }
        self
    }

    fn paste(&mut self, text: &str) -> &mut Self {
        self.event(Event::Terminal(TerminalEvent::Paste(text.to_owned())))
    }

    /// Sends bytes as a terminal does, `gap` milliseconds apart, through the parser.
    fn bytes(&mut self, reads: &[&[u8]], gap: u64) -> &mut Self {
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

    fn click(&mut self, kind: MouseKind, target: Target) -> &mut Self {
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

    fn wait(&mut self, ms: u64) -> &mut Self {
        self.now = self.now.after(Duration::from_millis(ms));
        self.event(Event::Deadline)
    }

    fn conversation(&mut self, id: &str) -> &mut Conversation {
        let account = if id == "w" { "work" } else { "home" };
        self.state
            .account_mut(&account.into())
            .unwrap()
            .conversations
            .get_mut(&ConversationId::new(id))
            .unwrap()
    }

    fn home(&mut self) -> &mut AccountState {
        self.state.account_mut(&"home".into()).unwrap()
    }

    fn draft(&mut self) -> String {
        let (_, id) = self.state.focus.clone().unwrap();
        self.conversation(id.as_str()).composer.text().to_owned()
    }

    fn focus(&self) -> String {
        let (account, id) = self.state.focus.as_ref().unwrap();
        format!("{}/{}", account.as_str(), id.as_str())
    }

    fn runs(&mut self) -> &mut Self {
        let now = self.now;
        self.conversation("a").run = Some(Run {
            id: "r".into(),
            phase: RunPhase::Working,
            is_stated: true,
            command: None,
            started: now,
            last_activity: now,
        });
        self
    }

    fn messages(&mut self, texts: &[&str]) -> &mut Self {
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

    fn decides(&mut self, decision: Decision) -> &mut Self {
        self.event(Event::Account {
            account: "home".into(),
            event: Box::new(AccountEvent::live(Topic::Decision(DecisionEvent::Opened(
                Box::new(decision),
            )))),
        })
    }

    /// The popup is painted and 400 ms pass.
    fn painted(&mut self, end_seen: bool) -> &mut Self {
        if let Some(Overlay::Decision(popup)) = self.state.screen.overlays.last_mut() {
            popup.painted.get_or_insert(self.now);
            popup.end_seen |= end_seen;
        }
        self.wait(400)
    }

    /// What the effects so far were, in words; they are forgotten then.
    fn said(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        for effect in std::mem::take(&mut self.effects) {
            say(&effect, &mut words);
        }
        words
    }

    fn popup(&self) -> &'static str {
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
            Some(_) => "other",
        }
    }

    fn labels(&self) -> Vec<String> {
        let top = self.state.screen.overlays.last().unwrap();
        rows::rows(&self.state, top)
            .iter()
            .map(|row| row.label.to_string())
            .collect()
    }
}

fn message(key: u64, text: &str) -> Entry {
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

fn approval(id: &str, command: &str, choices: &[(&str, Grant)]) -> Decision {
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

fn usual(id: &str) -> Decision {
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

fn say(effect: &Effect, words: &mut Vec<String>) {
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
        Effect::InspectFile { path } => words.push(format!("look at {}", path.display())),
        Effect::OpenExternal(OpenTarget::Link(link)) => words.push(format!("open {link}")),
        Effect::Link { change, .. } => words.push(match change {
            LinkChange::Connect => "connect".to_owned(),
            LinkChange::Disconnect => "disconnect".to_owned(),
            LinkChange::RetryNow => "retry".to_owned(),
        }),
        Effect::RedrawAll => words.push("draw everything".to_owned()),
        Effect::Suspend => words.push("suspend".to_owned()),
        Effect::Quit { code } => words.push(format!("quit {code}")),
        _ => {}
    }
}

fn has(words: &[String], wanted: &str) -> bool {
    words.iter().any(|word| word == wanted)
}

// The key table

#[test]
fn enter_sends_and_the_other_ways_break_the_line() {
    let mut desk = Desk::new();
    desk.text("one")
        .press("ctrl-j")
        .text("two")
        .press("alt-enter");
    desk.text("three")
        .press("shift-enter")
        .text("four\\")
        .press("enter");
    desk.text("five");
    assert_eq!(desk.draft(), "one\ntwo\nthree\nfour\nfive");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    desk.press("enter");
    assert!(has(
        &desk.said(),
        "send a \"one\\ntwo\\nthree\\nfour\\nfive\""
    ));
    assert_eq!(desk.draft(), "");
}

#[test]
fn escape_closes_then_leaves_then_asks_then_stops() {
    let mut desk = Desk::new();
    desk.messages(&["x"]).runs();
    desk.press("tab ctrl-p esc");
    assert_eq!(desk.popup(), "");
    assert_eq!(desk.state.screen.pane, Pane::Timeline);
    desk.press("esc");
    assert_eq!(desk.state.screen.pane, Pane::Composer);
    desk.press("esc");
    assert!(desk.state.screen.stop_asked.is_some());
    assert!(!has(&desk.said(), "stop the run"));
    desk.press("esc");
    assert!(has(&desk.said(), "stop the run"));
}

#[test]
fn a_second_escape_that_comes_late_only_asks_again() {
    let mut desk = Desk::new();
    desk.runs();
    desk.press("esc").wait(5000).press("esc");
    assert!(!has(&desk.said(), "stop the run"));
    desk.press("x esc");
    assert!(!has(&desk.said(), "stop the run"));
}

#[test]
fn control_c_clears_then_stops_then_quits() {
    let mut desk = Desk::new();
    desk.runs().text("draft").press("ctrl-c");
    assert_eq!(desk.draft(), "");
    assert!(has(&desk.said(), "remember \"draft\""));
    desk.press("ctrl-c");
    let said = desk.said();
    assert!(has(&said, "stop the run") && !has(&said, "quit 0"));
    desk.press("ctrl-c");
    assert!(has(&desk.said(), "quit 0"));
}

#[test]
fn control_c_alone_asks_before_it_quits() {
    let mut desk = Desk::new();
    desk.press("ctrl-c");
    assert!(!has(&desk.said(), "quit 0"));
    desk.wait(4000).press("ctrl-c");
    assert!(!has(&desk.said(), "quit 0"));
    desk.press("ctrl-c");
    assert!(has(&desk.said(), "quit 0"));
}

#[test]
fn control_d_quits_only_an_empty_composer() {
    let mut desk = Desk::new();
    desk.text("ab").press("ctrl-a ctrl-d");
    assert_eq!(desk.draft(), "b");
    desk.press("ctrl-d ctrl-d");
    assert!(has(&desk.said(), "quit 0"));
    let mut desk = Desk::new();
    desk.text("/quit").press("enter");
    assert!(has(&desk.said(), "quit 0"));
}

#[test]
fn the_palette_reaches_everything_by_name() {
    let mut desk = Desk::new();
    desk.press("ctrl-p").text("reasoning effort");
    assert_eq!(desk.popup(), "palette");
    desk.press("enter");
    assert_eq!(desk.popup(), "effort");
    desk.press("esc");
    for action in trialogue::app::Action::all() {
        if action.is_in_palette()
            && trialogue::app::screen::palette::account_number(*action).is_none()
        {
            desk.press("ctrl-p").text(action.title());
            let labels = desk.labels();
            assert!(
                labels.iter().take(3).any(|label| label == action.title()),
                "{action:?}: {labels:?}"
            );
            desk.press("esc");
        }
    }
}

#[test]
fn the_switcher_goes_to_a_conversation() {
    let mut desk = Desk::new();
    desk.press("ctrl-n").text("c").press("enter");
    assert_eq!(desk.focus(), "home/c");
    desk.press("ctrl-n enter");
    assert_eq!(desk.focus(), "home/a", "the last place comes first");
}

#[test]
fn the_leader_opens_what_the_table_says() {
    for (keys, popup) in [
        ("ctrl-x s", "search here"),
        ("ctrl-x S", "search everywhere"),
        ("ctrl-x m", "models"),
        ("ctrl-x r", "effort"),
        ("ctrl-x y", "confirm"),
        ("ctrl-x n", "prompt"),
        ("ctrl-x i", "inspector"),
        ("ctrl-x g", "prompt"),
        ("ctrl-x ?", "help"),
    ] {
        let mut desk = Desk::new();
        desk.press(keys);
        assert_eq!(desk.popup(), popup, "{keys}");
    }
    let mut desk = Desk::new();
    desk.decides(usual("d")).press("ctrl-x a");
    assert_eq!(desk.popup(), "decision");
    let mut desk = Desk::new();
    desk.text("x").press("ctrl-x e");
    assert!(has(&desk.said(), "edit \"x\""));
    desk.press("ctrl-x b");
    assert_eq!(desk.state.screen.sidebar.is_shown, Some(false));
    desk.press("ctrl-x t");
    assert!(desk.state.screen.todos_open);
    desk.press("ctrl-x z");
    assert!(desk.state.screen.is_zen);
}

#[test]
fn the_leader_says_what_can_follow_and_lets_go() {
    let mut desk = Desk::new();
    desk.press("ctrl-x");
    assert!(desk.state.screen.leader);
    desk.press("esc").text("a");
    assert_eq!(desk.draft(), "a");
    desk.press("ctrl-x").text("%");
    assert!(
        desk.state
            .screen
            .toasts
            .iter()
            .any(|t| t.text.as_str().contains("not bound"))
    );
    assert_eq!(desk.draft(), "a");
}

#[test]
fn the_queue_is_seen_edited_reordered_and_sent() {
    let mut desk = Desk::new();
    desk.runs();
    desk.text("one").press("enter").text("two").press("enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    desk.press("ctrl-x q");
    assert_eq!(desk.labels(), ["one", "two"]);
    desk.press("J");
    assert_eq!(desk.labels(), ["two", "one"]);
    desk.press("e");
    assert_eq!(desk.popup(), "");
    assert_eq!(desk.draft(), "one");
    desk.press("ctrl-x q enter");
    assert!(has(&desk.said(), "send a \"two\""));
}

#[test]
fn alt_moves_between_conversations_and_accounts() {
    let mut desk = Desk::new();
    desk.press("alt-down");
    assert_eq!(desk.focus(), "home/b");
    desk.press("alt-up alt-up");
    assert_eq!(desk.focus(), "work/w");
    desk.press("alt-1");
    assert_eq!(desk.focus(), "home/a");
    desk.press("alt-2");
    assert_eq!(desk.focus(), "work/w");
    desk.conversation("c").unread = Unread::Count(2);
    desk.press("alt-u");
    assert_eq!(desk.focus(), "home/c");
}

#[test]
fn scrolling_moves_rows_and_control_end_comes_back() {
    let mut desk = Desk::new();
    desk.messages(&["x", "y"]);
    desk.press("pageup shift-up");
    assert_eq!(desk.conversation("a").viewport.delta, -21);
    desk.press("shift-down");
    assert_eq!(desk.conversation("a").viewport.delta, -20);
    desk.conversation("a").viewport.anchor = Anchor::Top {
        key: MessageKey(1),
        row: 0,
    };
    desk.click(MouseKind::WheelUp, Target::Nothing);
    assert_eq!(desk.conversation("a").viewport.delta, -23);
    desk.press("ctrl-end");
    assert_eq!(desk.conversation("a").viewport.anchor, Anchor::Newest);
    assert_eq!(desk.conversation("a").viewport.delta, 0);
}

#[test]
fn tab_goes_round_the_panes() {
    let mut desk = Desk::new();
    desk.messages(&["x"]);
    let mut panes = Vec::new();
    for _ in 0..3 {
        desk.press("tab");
        panes.push(desk.state.screen.pane);
    }
    assert_eq!(panes, [Pane::Timeline, Pane::Sidebar, Pane::Composer]);
    desk.press("shift-tab");
    assert_eq!(desk.state.screen.pane, Pane::Sidebar);
}

#[test]
fn tab_accepts_while_a_drawer_is_open() {
    let mut desk = Desk::new();
    desk.text("/fil").press("tab");
    assert_eq!(desk.draft(), "/files ");
    assert_eq!(desk.state.screen.pane, Pane::Composer);
}

#[test]
fn the_timeline_has_its_own_keys() {
    let mut desk = Desk::new();
    desk.messages(&["one", "two `x`\n```sh\nls\n```", "three https://a.example"]);
    let selected = |desk: &mut Desk| desk.conversation("a").viewport.selected.unwrap().0;
    desk.press("tab");
    assert_eq!(selected(&mut desk), 3);
    desk.press("k");
    assert_eq!(selected(&mut desk), 2);
    desk.press("y c");
    let said = desk.said();
    assert!(
        has(&said, "copy \"two `x`\\n```sh\\nls\\n```\""),
        "{said:?}"
    );
    assert!(has(&said, "copy \"ls\""));
    desk.press("g");
    assert_eq!(selected(&mut desk), 1);
    desk.press("j j");
    assert_eq!(selected(&mut desk), 3);
    desk.press("enter");
    assert_eq!(desk.conversation("a").toggled, [MessageKey(3)]);
    desk.press("o");
    assert_eq!(desk.popup(), "confirm");
    desk.press("tab enter");
    assert!(has(&desk.said(), "open https://a.example"));
    desk.press("d");
    assert_eq!(desk.popup(), "confirm");
    desk.press("enter");
    assert!(
        !desk.said().iter().any(|word| word.starts_with("delete")),
        "no has the focus"
    );
    desk.press("d right enter");
    assert!(has(&desk.said(), "delete [\"m3\"]"));
    desk.press("/");
    assert_eq!(desk.popup(), "search here");
    desk.press("esc r");
    assert_eq!(desk.state.screen.pane, Pane::Composer);
    assert_eq!(desk.conversation("a").composer.reply_to, Some("m3".into()));
    desk.press("tab G");
    assert_eq!(selected(&mut desk), 3);
}

#[test]
fn a_reply_is_a_quote_where_the_server_knows_none() {
    let mut desk = Desk::new();
    desk.messages(&["first\nsecond"]);
    desk.home().account.capabilities.reply_to = Support::No("it has none");
    desk.press("tab r");
    assert_eq!(desk.draft(), "> first\n> second\n\n");
}

#[test]
fn search_walks_from_hit_to_hit() {
    let mut desk = Desk::new();
    desk.messages(&["apple", "pear", "apple pie"]);
    desk.press("tab /").text("apple");
    assert!(has(&desk.said(), "look for \"apple\""));
    let hit = |n: u64, text: &str| {
        (
            AccountId::new("home"),
            SearchHit {
                conversation: "a".into(),
                remote: Some(RemoteId::new(format!("m{n}"))),
                order: Some(n as i64 * ORDER_STEP),
                author: Author::Assistant,
                snippet: SafeText::prose(text),
                sent_at_ms: None,
            },
        )
    };
    desk.event(Event::Store(StoreReply::Found(Found::Search {
        query: "apple".to_owned(),
        hits: vec![hit(3, "apple pie"), hit(1, "apple")],
        has_more: false,
    })));
    assert_eq!(desk.labels(), ["apple pie", "apple"]);
    desk.press("enter");
    assert_eq!(
        desk.conversation("a").viewport.selected,
        Some(MessageKey(3))
    );
    assert_eq!(desk.state.screen.marked, Some("apple".into()));
    desk.press("n");
    assert_eq!(
        desk.conversation("a").viewport.selected,
        Some(MessageKey(1))
    );
    desk.press("N");
    assert_eq!(
        desk.conversation("a").viewport.selected,
        Some(MessageKey(3))
    );
}

#[test]
fn an_answer_for_an_earlier_query_is_not_shown() {
    let mut desk = Desk::new();
    desk.press("ctrl-x S").text("ab");
    desk.event(Event::Store(StoreReply::Found(Found::Search {
        query: "a".to_owned(),
        hits: vec![(
            "home".into(),
            SearchHit {
                conversation: "a".into(),
                remote: None,
                order: Some(1),
                author: Author::User,
                snippet: "a".into(),
                sent_at_ms: None,
            },
        )],
        has_more: false,
    })));
    assert!(desk.labels().is_empty());
    desk.press("enter");
    assert!(has(&desk.said(), "ask the server for \"ab\""));
}

#[test]
fn control_o_unfolds_everything() {
    let mut desk = Desk::new();
    desk.press("ctrl-o");
    assert!(desk.state.settings.unfold_all);
    desk.press("ctrl-o");
    assert!(!desk.state.settings.unfold_all);
}

#[test]
fn control_r_finds_earlier_inputs() {
    let mut desk = Desk::new();
    desk.press("ctrl-r");
    assert!(has(&desk.said(), "look for inputs"));
    desk.event(Event::Store(StoreReply::Found(Found::Inputs {
        containing: String::new(),
        texts: vec!["cargo test".to_owned(), "deploy it".to_owned()],
    })));
    desk.text("dep").press("enter");
    assert_eq!(desk.draft(), "deploy it");
    assert_eq!(desk.popup(), "");
}

#[test]
fn control_g_writes_the_draft_in_the_editor() {
    let mut desk = Desk::new();
    desk.text("draft").press("ctrl-g");
    assert!(has(&desk.said(), "edit \"draft\""));
    desk.event(Event::Shell(ShellReply::Edited {
        account: "home".into(),
        conversation: "a".into(),
        text: Some("better\r\ndraft\n".to_owned()),
    }));
    assert_eq!(desk.draft(), "better\ndraft");
    desk.press("ctrl-_");
    assert_eq!(desk.draft(), "draft");
}

#[test]
fn redraw_suspend_and_help() {
    let mut desk = Desk::new();
    desk.text("x").press("ctrl-l ctrl-z");
    let said = desk.said();
    assert!(has(&said, "draw everything"));
    let kept = said.iter().position(|word| word == "keep draft \"x\"");
    let stopped = said.iter().position(|word| word == "suspend");
    assert!(kept.is_some() && kept < stopped, "{said:?}");
    desk.press("f1");
    assert_eq!(desk.popup(), "help");
    desk.press("esc");
    assert_eq!(desk.popup(), "");
}

#[test]
fn the_composer_has_the_keys_of_a_shell() {
    let mut desk = Desk::new();
    desk.text("alpha beta gamma").press("ctrl-w");
    assert_eq!(desk.draft(), "alpha beta ");
    desk.press("ctrl-a alt-d");
    assert_eq!(desk.draft(), " beta ");
    desk.press("ctrl-y");
    assert_eq!(desk.draft(), "alpha beta ");
    desk.press("alt-y");
    assert_eq!(desk.draft(), "gamma beta ");
    desk.press("ctrl-_ ctrl-_ ctrl-_");
    assert_eq!(desk.draft(), "alpha beta ");
    desk.press("ctrl-e alt-b ctrl-k");
    assert_eq!(desk.draft(), "alpha ");
    desk.press("ctrl-u");
    assert_eq!(desk.draft(), "");
    desk.text("xy")
        .press("ctrl-b")
        .text("-")
        .press("ctrl-f")
        .text("+");
    assert_eq!(desk.draft(), "x-y+");
    desk.press("shift-left shift-left backspace");
    assert_eq!(desk.draft(), "x-");
}

#[test]
fn the_mouse_focuses_folds_and_selects() {
    let mut desk = Desk::new();
    desk.messages(&["one", "two"]);
    desk.click(
        MouseKind::Down(MouseButton::Left),
        Target::SidebarRow(SidebarRow::Conversation("home".into(), "b".into())),
    );
    assert_eq!(desk.focus(), "home/b");
    desk.press("alt-up");
    desk.click(
        MouseKind::Down(MouseButton::Left),
        Target::Fold(MessageKey(2)),
    );
    assert_eq!(desk.conversation("a").toggled, [MessageKey(2)]);
    let spot = |column| Target::Entry {
        key: MessageKey(1),
        row: 0,
        column,
    };
    desk.click(MouseKind::Down(MouseButton::Left), spot(0));
    desk.click(MouseKind::Up(MouseButton::Left), spot(0));
    assert!(
        !has(&desk.said(), "copy the selection"),
        "a click copies nothing"
    );
    desk.click(MouseKind::Down(MouseButton::Left), spot(0));
    desk.click(MouseKind::Drag(MouseButton::Left), spot(2));
    desk.click(MouseKind::Up(MouseButton::Left), spot(2));
    assert!(has(&desk.said(), "copy the selection"));
    desk.state.settings.mouse = false;
    desk.click(MouseKind::Down(MouseButton::Left), Target::NewBelow);
    assert!(desk.state.screen.selection.is_some());
}

#[test]
fn other_layouts_reach_the_letters_of_commands() {
    let mut desk = Desk::new();
    desk.messages(&["one", "two"]);
    desk.press("tab л");
    assert_eq!(
        desk.conversation("a").viewport.selected,
        Some(MessageKey(1))
    );
    desk.press("esc").text("л");
    assert_eq!(desk.draft(), "л");
}

#[test]
fn the_vim_scheme_has_a_normal_mode() {
    let mut desk = Desk::scheme("vim");
    desk.text("one two").press("esc b d w");
    assert_eq!(desk.draft(), "one ");
    desk.press("p u 0 i").text("x");
    assert_eq!(desk.draft(), "xone ");
    desk.press("esc d d");
    assert_eq!(desk.draft(), "");
}

#[test]
fn the_emacs_scheme_moves_with_control_n_and_p() {
    let mut desk = Desk::scheme("emacs");
    desk.text("one")
        .press("ctrl-j")
        .text("two")
        .press("ctrl-p")
        .text("!");
    assert_eq!(desk.draft(), "one!\ntwo");
    desk.press("alt-x");
    assert_eq!(desk.popup(), "palette");
    desk.press("ctrl-g");
    assert_eq!(desk.popup(), "");
}

// Slash commands, paths, limits

#[test]
fn a_slash_command_goes_at_once_and_a_doubled_slash_is_text() {
    let mut desk = Desk::new();
    desk.runs();
    desk.home().catalog = vec![SlashCommand {
        name: "/compress".into(),
        ..SlashCommand::default()
    }];
    desk.text("/compress").press("enter");
    assert!(
        has(&desk.said(), "send a \"/compress\""),
        "it does not wait"
    );
    desk.text("/unheard-of thing").press("enter");
    assert!(has(&desk.said(), "send a \"/unheard-of thing\""));
    let mut desk = Desk::new();
    desk.text("//etc").press("enter");
    assert!(has(&desk.said(), "send a \"/etc\""));
}

#[test]
fn a_command_half_typed_is_completed_before_it_is_sent() {
    let mut desk = Desk::new();
    desk.home().catalog = vec![SlashCommand {
        name: "/compress".into(),
        ..SlashCommand::default()
    }];
    desk.text("/comp").press("enter");
    assert_eq!(desk.draft(), "/compress ");
    desk.press("enter");
    assert!(
        desk.said()
            .iter()
            .any(|word| word.starts_with("send a \"/compress"))
    );
}

#[test]
fn an_at_sign_completes_a_path_and_attaches_it() {
    let mut desk = Desk::new();
    desk.text("see @");
    assert!(has(&desk.said(), "list \"\""));
    let file = |name: &str, is_directory| ListedFile {
        name: name.to_owned(),
        is_directory,
        size: 3,
    };
    desk.event(Event::Shell(ShellReply::Listing {
        directory: String::new(),
        entries: vec![
            file("src", true),
            file("notes.md", false),
            file(".git", true),
        ],
    }));
    let names = |desk: &Desk| -> Vec<String> {
        drawer::rows(&desk.state)
            .iter()
            .map(|row| row.label.to_string())
            .collect()
    };
    assert_eq!(names(&desk), ["src/", "notes.md"]);
    desk.text("sr").press("tab");
    assert_eq!(desk.draft(), "see @src/");
    assert!(has(&desk.said(), "list \"src/\""));
    desk.event(Event::Shell(ShellReply::Listing {
        directory: "src/".to_owned(),
        entries: vec![file("main.rs", false)],
    }));
    desk.press("tab");
    assert_eq!(desk.draft(), "see ");
    assert!(has(&desk.said(), "look at src/main.rs"));
    assert_eq!(desk.conversation("a").composer.files.len(), 1);
}

#[test]
fn an_address_or_an_at_sign_alone_does_not_catch_enter() {
    let mut desk = Desk::new();
    desk.text("meet @ noon").press("enter");
    assert!(has(&desk.said(), "send a \"meet @ noon\""));
    let mut desk = Desk::new();
    desk.text("@");
    desk.event(Event::Shell(ShellReply::Listing {
        directory: String::new(),
        entries: vec![ListedFile {
            name: "x".to_owned(),
            is_directory: false,
            size: 1,
        }],
    }));
    desk.press("enter");
    assert!(has(&desk.said(), "send a \"@\""));
}

#[test]
fn a_dropped_path_is_offered_and_not_taken() {
    let mut desk = Desk::new();
    desk.paste("/tmp/my\\ report.pdf");
    assert_eq!(desk.draft(), "/tmp/my\\ report.pdf");
    assert_eq!(drawer::rows(&desk.state).len(), 1);
    desk.press("tab");
    assert_eq!(desk.draft(), "");
    assert!(has(&desk.said(), "look at /tmp/my report.pdf"));
    let facts = |size| FileFacts {
        name: "my report.pdf".to_owned(),
        size,
        media_type: "application/pdf".to_owned(),
        kind: AttachmentKind::Document,
    };
    desk.event(Event::Shell(ShellReply::FileInspected {
        path: "/tmp/my report.pdf".into(),
        facts: Ok(facts(2000)),
    }));
    assert!(
        desk.conversation("a").composer.files.is_empty(),
        "too large"
    );
    desk.paste("/tmp/x")
        .press("esc")
        .text(" is a path")
        .press("enter");
    assert!(has(&desk.said(), "send a \"/tmp/x is a path\""));
}

#[test]
fn a_text_over_the_limit_stays_in_the_draft() {
    let mut desk = Desk::new();
    desk.paste(&"x".repeat(190));
    assert_eq!(
        trialogue::app::actions::limit(&desk.state),
        Some((190, 200))
    );
    desk.paste(&"x".repeat(20)).press("enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    assert_eq!(desk.draft().len(), 210);
}

#[test]
fn an_automation_channel_takes_no_text() {
    let mut desk = Desk::new();
    desk.conversation("a").info.is_automation = true;
    desk.text("hello").paste("more");
    assert_eq!(desk.draft(), "");
}

#[test]
fn what_the_server_cannot_do_is_said() {
    let mut desk = Desk::new();
    desk.home().account.capabilities.models = Support::No("this server has one model");
    desk.press("ctrl-x m");
    assert_eq!(desk.popup(), "");
    assert!(
        desk.state.screen.toasts[0]
            .text
            .as_str()
            .contains("one model")
    );
}

// Popups

#[test]
fn a_model_is_chosen_for_this_conversation() {
    let mut desk = Desk::new();
    desk.home().models.providers = vec![Provider {
        slug: "p".to_owned(),
        name: "Provider".into(),
        is_current: true,
        models: vec!["small".to_owned(), "large".to_owned()],
        total_models: 2,
    }];
    desk.press("ctrl-x m");
    assert!(has(&desk.said(), "load models"));
    desk.text("lar").press("enter");
    assert!(has(&desk.said(), "set model large"));
    assert_eq!(desk.popup(), "");
}

#[test]
fn a_theme_is_shown_before_it_is_kept() {
    let mut desk = Desk::new();
    desk.state.themes = vec!["dark".to_owned(), "light".to_owned()];
    desk.press("ctrl-x o down");
    assert_eq!(desk.state.settings.theme, "light");
    desk.press("esc");
    assert_eq!(desk.state.settings.theme, "dark");
    desk.press("ctrl-x o down enter");
    assert_eq!(desk.state.settings.theme, "light");
    assert_eq!(desk.popup(), "");
}

#[test]
fn auto_approve_is_asked_about_and_goes_off_at_once() {
    let mut desk = Desk::new();
    desk.press("ctrl-x y enter");
    assert!(!has(&desk.said(), "auto-approve true"));
    desk.press("ctrl-x y tab enter");
    assert!(has(&desk.said(), "auto-approve true"));
    desk.conversation("a").auto_approve = true;
    desk.press("ctrl-x y");
    assert!(has(&desk.said(), "auto-approve false"));
}

#[test]
fn a_prompt_keeps_what_was_wrong() {
    let mut desk = Desk::new();
    desk.press("ctrl-x g").text("soon").press("enter");
    assert_eq!(desk.popup(), "prompt");
    desk.press("ctrl-u").text("yesterday").press("enter");
    assert_eq!(desk.popup(), "");
    desk.text("/new Plans").press("enter");
    assert!(has(&desk.said(), "create Some(\"Plans\") under None"));
}

#[test]
fn the_wizard_checks_before_it_saves() {
    use trialogue::app::effect::AccountEffect;
    use trialogue::app::state::{AccountField, AccountKind};
    let mut desk = Desk::new();
    let field = |name: &str, is_secret| AccountField {
        name: name.to_owned(),
        title: SafeText::label(name),
        hint: SafeText::default(),
        is_secret,
        is_required: true,
    };
    desk.state.kinds = vec![AccountKind {
        name: "k".to_owned(),
        title: "Kind".into(),
        hint: SafeText::default(),
        fields: vec![field("url", false), field("token", true)],
    }];
    desk.press("ctrl-p")
        .text("Add an account")
        .press("enter enter");
    desk.text("host").press("enter enter enter");
    assert!(
        desk.effects
            .iter()
            .all(|effect| !matches!(effect, Effect::Account(_)))
    );
    desk.press("up down").text("s3cret").press("enter enter");
    let check = desk.effects.iter().any(|effect| matches!(effect, Effect::Account(AccountEffect::Check { fields, secret: Some(_) }) if fields.contains(&("url".to_owned(), "host".to_owned())) && fields.iter().all(|(_, value)| value != "s3cret")));
    assert!(check);
    desk.event(Event::Shell(ShellReply::AccountChecked {
        account: "host".into(),
        result: Ok("three conversations".into()),
    }));
    assert_eq!(desk.popup(), "wizard");
    desk.press("enter");
    assert!(
        desk.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Account(AccountEffect::Add { .. })))
    );
}

// Decisions

#[test]
fn row_1_words_being_typed_answer_nothing() {
    let mut desk = Desk::new();
    desk.text("cat ");
    desk.decides(usual("d"));
    desk.text("yes a 1 ");
    assert_eq!(desk.popup(), "", "it arrives unfocused");
    assert_eq!(desk.draft(), "cat yes a 1 ");
    assert!(!desk.said().iter().any(|word| word.starts_with("answer")));
}

#[test]
fn answer_keys_are_dead_before_the_popup_was_seen() {
    let mut desk = Desk::new();
    desk.decides(usual("d")).press("alt-a enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("answer")));
    desk.text("y");
    assert_eq!(desk.draft(), "y", "typed for the composer");
    if let Some(Overlay::Decision(popup)) = desk.state.screen.overlays.last_mut() {
        popup.painted = Some(desk.now);
    }
    desk.wait(399).press("up up up enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("answer")));
    desk.wait(1).press("enter");
    assert!(has(&desk.said(), "answer d once None"));
}

#[test]
fn the_first_focus_is_on_deny_and_it_takes_a_reason() {
    let mut desk = Desk::new();
    desk.decides(usual("d")).press("alt-a").painted(false);
    desk.press("enter")
        .text("not on this machine")
        .press("enter");
    assert!(has(
        &desk.said(),
        "answer d deny Some(\"not on this machine\")"
    ));
    desk.decides(usual("e")).press("alt-a").painted(false);
    desk.press("enter up enter");
    assert!(has(
        &desk.said(),
        "answer e deny Some(\"not on this machine\")"
    ));
}

#[test]
fn row_2_always_needs_the_end_and_a_second_press() {
    let mut desk = Desk::new();
    let command = format!("{}rm -rf x", "echo\n".repeat(200));
    desk.decides(approval(
        "d",
        &command,
        &[
            ("once", Grant::Once),
            ("always", Grant::Always),
            ("deny", Grant::Deny),
        ],
    ));
    desk.press("alt-a").painted(false).press("up enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("answer")));
    desk.press("end").painted(true).press("enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("answer")));
    desk.press("enter");
    assert!(has(&desk.said(), "answer d always None"));
}

#[test]
fn moving_away_forgets_that_always_was_asked() {
    let mut desk = Desk::new();
    desk.decides(usual("d")).press("alt-a").painted(true);
    desk.press("up enter down up enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("answer")));
}

#[test]
fn deny_is_there_whatever_the_server_sent() {
    for choices in [
        &[][..],
        &[("ok", Grant::Unknown), ("ok", Grant::Unknown)][..],
    ] {
        let mut desk = Desk::new();
        desk.decides(approval("d", "x", choices))
            .press("alt-a")
            .painted(false);
        desk.press("enter enter");
        assert!(has(&desk.said(), "answer d deny None"), "{choices:?}");
    }
}

#[test]
fn what_a_choice_grants_unknown_is_treated_as_the_widest() {
    let mut desk = Desk::new();
    desk.decides(approval("d", "x", &[("sure", Grant::Unknown)]));
    desk.press("alt-a").painted(true).press("up enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("answer")));
    desk.press("enter");
    assert!(has(&desk.said(), "answer d sure None"));
}

#[test]
fn a_clarification_takes_a_choice_or_words() {
    let ask = |id: &str| Decision {
        question: Question::Clarification {
            question: "where?".into(),
            takes_free_text: true,
        },
        ..approval(id, "", &[("staging", Grant::Answer)])
    };
    let mut desk = Desk::new();
    desk.decides(ask("d"))
        .press("alt-a")
        .painted(false)
        .press("enter");
    assert!(has(&desk.said(), "answer d staging None"));
    desk.decides(ask("e"))
        .press("alt-a")
        .painted(false)
        .press("down enter");
    desk.text("neither").press("enter");
    assert!(has(&desk.said(), "answer e in words \"neither\""));
}

#[test]
fn with_nothing_here_the_list_of_all_opens() {
    let mut desk = Desk::new();
    desk.decides(usual("d")).press("alt-2 alt-a");
    assert_eq!(desk.popup(), "attention");
    assert_eq!(desk.labels(), ["rm -rf build"]);
    desk.press("enter");
    assert_eq!(desk.popup(), "decision");
}

#[test]
fn one_answered_elsewhere_closes() {
    let mut desk = Desk::new();
    desk.decides(usual("d")).press("alt-a").painted(false);
    desk.event(Event::Account {
        account: "home".into(),
        event: Box::new(AccountEvent::live(Topic::Decision(
            DecisionEvent::Resolved {
                decision: "d".into(),
                choice: Some("once".into()),
                command: None,
            },
        ))),
    });
    assert_eq!(desk.popup(), "");
    assert!(!desk.state.screen.toasts.is_empty());
}

// The complaints of the field

#[test]
fn row_5_a_cleared_draft_comes_back_every_way() {
    let mut desk = Desk::new();
    desk.text("long draft").bytes(&[b"\x03", b"\x1b[A"], 100);
    assert_eq!(desk.draft(), "long draft");
    assert!(
        has(&desk.said(), "remember \"long draft\""),
        "it survives a restart"
    );
    for key in ["ctrl-_", "ctrl-y", "up"] {
        let mut desk = Desk::new();
        desk.text("long draft").press("ctrl-c").press(key);
        assert_eq!(desk.draft(), "long draft", "{key}");
    }
    // After a restart the store has it.
    let mut desk = Desk::new();
    desk.press("up");
    assert!(has(&desk.said(), "look for inputs"));
    desk.event(Event::Store(StoreReply::Found(Found::Inputs {
        containing: String::new(),
        texts: vec!["long draft".to_owned()],
    })));
    assert_eq!(desk.draft(), "long draft");
}

#[test]
fn a_draft_is_on_disk_within_a_second() {
    let mut desk = Desk::new();
    desk.text("dra");
    assert!(!desk.said().iter().any(|word| word.starts_with("keep")));
    desk.wait(900).text("ft").wait(100);
    assert!(has(&desk.said(), "keep draft \"draft\""));
    desk.text("!").press("alt-down");
    assert!(
        has(&desk.said(), "keep draft \"draft!\""),
        "leaving writes it"
    );
}

#[test]
fn row_9_a_draft_goes_where_it_was_begun() {
    let mut desk = Desk::new();
    desk.text("for a").press("alt-down enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    desk.text("for b").press("enter");
    assert!(has(&desk.said(), "send b \"for b\""));
    desk.press("alt-up enter");
    assert!(has(&desk.said(), "send a \"for a\""));
}

#[test]
fn row_11_a_folded_paste_is_sent_whole() {
    let mut desk = Desk::new();
    let text: String = (0..13).map(|n| format!("line {n}\n")).collect();
    desk.runs().paste(&text);
    let shown = desk.conversation("a").composer.shown(80);
    assert!(shown.text.contains("13 lines") && !shown.text.contains("line 7"));
    desk.press("enter");
    desk.conversation("a").run = None;
    desk.press("ctrl-x q enter");
    assert!(has(&desk.said(), &format!("send a {text:?}")));
}

#[test]
fn row_33_every_terminal_has_a_way_to_a_new_line() {
    for bytes in [
        &b"\x1b[13;2u"[..],
        b"\x1b[27;2;13~",
        b"\x1b\r",
        b"\n",
        b"\\\r",
    ] {
        let mut desk = Desk::new();
        desk.text("a").bytes(&[bytes], 0).text("b");
        assert_eq!(desk.draft(), "a\nb", "{bytes:?}");
        assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    }
}

#[test]
fn row_34_control_c_works_on_other_layouts() {
    let mut desk = Desk::new();
    desk.text("x").bytes(&[b"\x1b[1089::99;5u"], 0);
    assert_eq!(desk.draft(), "");
}

#[test]
fn row_35_no_paste_freezes_leaks_or_sends() {
    let mut desk = Desk::new();
    desk.bytes(&[b"\x1b[200~", b"x", b"\x03", b"y"], 3000);
    assert_eq!(desk.draft(), "y");
    let mut desk = Desk::new();
    desk.bytes(&[b"\x1b[200~a\x1b[I\x1b[<35;3;3Mb\x1b[201~"], 0);
    assert_eq!(desk.draft(), "ab");
    let mut desk = Desk::new();
    desk.bytes(&[b"a\rb\rc"], 0);
    assert_eq!(desk.draft(), "a\nb\nc");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
}

#[test]
fn late_answers_of_the_terminal_are_not_typed() {
    let mut desk = Desk::new();
    desk.bytes(
        &[
            b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
            b"\x1b[?62;4c",
            b"\x1b]52;c;aGk=\x07",
        ],
        50,
    );
    assert_eq!(desk.draft(), "");
}

#[test]
fn the_wheel_never_walks_the_history() {
    let mut desk = Desk::new();
    desk.messages(&["x"]).text("draft");
    desk.conversation("a").viewport.anchor = Anchor::Top {
        key: MessageKey(1),
        row: 0,
    };
    for _ in 0..10 {
        desk.click(MouseKind::WheelUp, Target::Composer { row: 0, column: 0 });
    }
    assert_eq!(desk.draft(), "draft");
    assert_eq!(desk.conversation("a").viewport.delta, -30);
}

#[test]
fn an_icon_keeps_the_colour() {
    let mut desk = Desk::new();
    desk.conversation("a").info.appearance = Appearance {
        color: None,
        icon: Some(Arc::from([1u8, 2].as_slice())),
    };
    desk.press("ctrl-p")
        .text("Colour of the conversation")
        .press("enter");
    desk.text("#ff8800").press("enter");
    let kept = desk.effects.iter().any(|effect| {
        matches!(effect, Effect::Command {
            command: Command::Conversation(ConversationCommand::SetAppearance { appearance, .. }),
            ..
        } if appearance.icon.is_some() && appearance.color == Some((255, 136, 0)))
    });
    assert!(kept);
}

mod any_keys {
    use super::*;
    use proptest::prelude::*;
    use trialogue::app::keymap::Keymap;

    #[derive(Clone, Debug)]
    enum Step {
        /// A binding of the scheme by its place.
        Binding(usize),
        Text(String),
        Paste(String),
        Wait(u64),
        Decide,
        Painted,
        Runs,
        Row(usize),
        Button(usize),
        Wheel(bool),
        Resize(u16),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => (0usize..600).prop_map(Step::Binding),
            2 => "[ -~]{0,5}".prop_map(Step::Text),
            1 => prop::sample::select(vec!["a\nb", "/tmp/x", "@", "/", "//", "漢\u{202e}\t"])
                .prop_map(|text| Step::Paste(text.to_owned())),
            1 => (0u64..3000).prop_map(Step::Wait),
            1 => Just(Step::Decide),
            1 => Just(Step::Painted),
            1 => Just(Step::Runs),
            1 => (0usize..30).prop_map(Step::Row),
            1 => (0usize..3).prop_map(Step::Button),
            1 => any::<bool>().prop_map(Step::Wheel),
            1 => (1u16..200).prop_map(Step::Resize),
        ];
        prop::collection::vec(step, 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        /// No keys, in whatever order, end the program or leave the screen in a state it cannot
        /// draw: one popup at most takes the keys, and the caret stands on a character.
        #[test]
        fn no_keys_break_anything(scheme in 0usize..3, steps in steps()) {
            let mut desk = Desk::scheme(Keymap::SCHEMES[scheme]);
            desk.messages(&["one", "two\n```\nx\n```\n```\ny\n```", "https://a.example https://b.example"]);
            desk.state.themes = vec!["dark".to_owned(), "light".to_owned()];
            let bindings = desk.state.keymap.bindings().to_vec();
            let mut n = 0;
            for step in steps {
                match step {
                    Step::Binding(at) => {
                        for chord in &bindings[at % bindings.len()].chords {
                            desk.event(Event::Terminal(TerminalEvent::Key(*chord)));
                        }
                    }
                    Step::Text(text) => { desk.text(&text); }
                    Step::Paste(text) => { desk.paste(&text); }
                    Step::Wait(ms) => { desk.wait(ms); }
                    Step::Decide => { n += 1; desk.decides(usual(&format!("d{n}"))); }
                    Step::Painted => { desk.painted(n % 2 == 0); }
                    Step::Runs => { desk.runs(); }
                    Step::Row(row) => { desk.click(MouseKind::Down(MouseButton::Left), Target::OverlayRow(row)); }
                    Step::Button(at) => { desk.click(MouseKind::Down(MouseButton::Left), Target::OverlayButton(at)); }
                    Step::Wheel(up) => {
                        let kind = if up { MouseKind::WheelUp } else { MouseKind::WheelDown };
                        desk.click(kind, Target::Nothing);
                    }
                    Step::Resize(columns) => {
                        desk.event(Event::Terminal(TerminalEvent::Resize { columns, rows: columns / 3 }));
                    }
                }
                for of in &desk.state.accounts {
                    for conversation in of.conversations.values() {
                        let composer = &conversation.composer;
                        prop_assert!(composer.text().is_char_boundary(composer.caret()));
                    }
                }
                if let Some(top) = desk.state.screen.overlays.last() {
                    let _ = rows::rows(&desk.state, top);
                }
                let _ = drawer::rows(&desk.state);
                desk.said();
            }
        }
    }
}
