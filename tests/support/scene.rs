//! States for the screen tests, built in code.

use trialogue::app::State;
use trialogue::app::state::{AccountState, Conversation, Ids, Settings};
use trialogue::domain::*;
use trialogue::text::SafeText;

/// 2026-11-27, a Friday, 14:05 UTC.
pub const NOW: Moment = Moment {
    mono_ms: 1_000_000_000,
    wall_ms: 1_795_788_300_000,
};

pub fn safe(text: &str) -> SafeText {
    SafeText::prose(text)
}

pub fn before(seconds: u64) -> Moment {
    Moment {
        mono_ms: NOW.mono_ms - seconds * 1000,
        wall_ms: NOW.wall_ms - seconds as i64 * 1000,
    }
}

/// A program without accounts.
pub fn empty() -> State {
    let ids = Ids {
        instance: 1,
        next: 1000,
    };
    let mut state = State::new(ids, Settings::default(), NOW);
    state.is_loading = false;
    state
}

/// A timeline in the making.
pub struct Chat {
    pub entries: Vec<Entry>,
    at: Moment,
}

impl Chat {
    pub fn new(minutes_ago: u64) -> Self {
        Self {
            entries: Vec::new(),
            at: before(minutes_ago * 60),
        }
    }

    fn push(&mut self, body: impl FnOnce(MessageKey, i64, i64) -> EntryBody) -> &mut Entry {
        let n = self.entries.len() as u64 + 1;
        let (key, order) = (MessageKey(n), n as i64 * ORDER_STEP);
        self.at.wall_ms += 20_000;
        let seen_at_ms = self.at.wall_ms;
        let body = body(key, order, seen_at_ms);
        self.entries.push(Entry {
            key,
            order,
            seen_at_ms,
            body,
        });
        self.entries.last_mut().expect("it was just pushed")
    }

    pub fn message(&mut self, author: Author, text: &str) -> &mut Message {
        let entry = self.push(|key, order, at| {
            EntryBody::Message(Box::new(message(key, order, at, author, text)))
        });
        entry.message_mut().expect("it is a message")
    }

    pub fn you(&mut self, text: &str, delivery: Delivery) -> &mut Message {
        let message = self.message(Author::User, text);
        message.delivery = Some(delivery);
        message
    }

    pub fn agent(&mut self, text: &str) -> &mut Message {
        self.message(Author::Assistant, text)
    }

    pub fn tool(
        &mut self,
        name: &str,
        preview: &str,
        status: ToolStatus,
        ms: u64,
    ) -> &mut ToolCall {
        let n = self.entries.len();
        let entry = self.push(|_, _, _| {
            let mut call = ToolCall::new(ToolCallId::new(format!("t{n}")), safe(name));
            call.preview = safe(preview);
            call.status = status;
            call.duration_ms = (ms > 0).then_some(ms);
            EntryBody::Tool(Box::new(call))
        });
        match &mut entry.body {
            EntryBody::Tool(call) => call,
            _ => unreachable!("it is a tool"),
        }
    }

    pub fn ended(&mut self, outcome: RunOutcome) {
        self.push(|_, _, _| EntryBody::RunEnded {
            run: RunId::new("r"),
            outcome,
        });
    }

    pub fn gap(&mut self) {
        self.push(|_, _, _| EntryBody::Gap {
            token: PageToken::new("p"),
        });
    }

    pub fn next_day(&mut self) {
        self.at.wall_ms += 86_400_000;
    }
}

fn message(key: MessageKey, order: i64, at: i64, author: Author, text: &str) -> Message {
    Message {
        key,
        order,
        remote: Some(RemoteId::new(format!("m{}", key.0))),
        author,
        sort: MessageSort::Ordinary,
        body: Body::new(text),
        reasoning: Body::default(),
        reasoned_ms: None,
        attachments: Vec::new(),
        reply_to: None,
        sent_at_ms: Some(at),
        seen_at_ms: at,
        run: None,
        delivery: None,
        command: None,
        footer: Footer::default(),
        is_streaming: false,
        is_interrupted: false,
        is_seen_live_only: false,
    }
}

pub fn account(name: &str, label: &str, link: LinkState) -> AccountState {
    let mut state = AccountState::new(AccountId::new(name), SafeText::label(label));
    state.account = Account {
        id: AccountId::new(name),
        label: SafeText::label(label),
        link,
        identity: Some(Identity {
            server: safe("hermes-gateway"),
            version: safe("1.4.2"),
        }),
        capabilities: Capabilities {
            cancel_run: Support::Yes,
            models: Support::Yes,
            text_limit: Some(64_000),
            auto_approve_label: "auto-approve",
            ..Capabilities::default()
        },
        health: None,
        last_frame: Some(before(2)),
        silent_since: None,
        latency_ms: Some(38),
    };
    state
}

pub fn conversation(kind: ConversationKind, name: &str, active_minutes_ago: u64) -> Conversation {
    let mut conversation = Conversation::default();
    conversation.info.kind = kind;
    conversation.info.name = SafeText::label(name);
    conversation.info.last_activity_ms = Some(before(active_minutes_ago * 60).wall_ms);
    conversation.timeline.is_loaded = true;
    conversation
}

pub fn approval(id: &str, conversation: &str, command: &str) -> Decision {
    let choice = |value: &str, label: &str, grant| Choice {
        value: value.to_owned(),
        label: SafeText::label(label),
        grant,
        is_current: false,
    };
    Decision {
        id: DecisionId::new(id),
        conversation: ConversationId::new(conversation),
        run: Some(RunId::new("r1")),
        tool: None,
        question: Question::Approval {
            command: SafeText::command(command),
            description: safe("Removes the build folder and builds anew."),
            may_be_cut: false,
            takes_reason: true,
        },
        choices: vec![
            choice("once", "Once", Grant::Once),
            choice("session", "This session", Grant::Session),
            choice("always", "Always", Grant::Always),
            choice("deny", "Deny", Grant::Deny),
        ],
        way: AnswerWay::Direct,
        life: DecisionLife::Open,
        asked_at: before(75),
        deadline: None,
        was_asked_for: false,
    }
}

/// Three accounts with conversations, and a chat that has a bit of everything.
pub fn busy() -> State {
    let mut state = empty();
    let mut iris = account("iris", "iris@home", LinkState::Ready);
    let mut favorite = conversation(ConversationKind::Default, "default", 50);
    favorite.info.is_favorite = true;
    iris.conversations.insert("c-default".into(), favorite);
    let mut research = conversation(ConversationKind::Channel, "research", 1);
    research.timeline.entries = everything().entries;
    iris.conversations.insert("c-research".into(), research);
    let mut thread = conversation(ConversationKind::Thread, "build log", 30);
    thread.info.parent = Some("c-research".into());
    thread.unread = Unread::Count(3);
    iris.conversations.insert("c-thread".into(), thread);
    let mut cron = conversation(ConversationKind::Channel, "cron", 400);
    cron.info.is_automation = true;
    iris.conversations.insert("c-zcron".into(), cron);
    state.accounts.push(iris);

    let mut pheby = account("pheby", "pheby@vps", LinkState::Ready);
    let mut project = conversation(ConversationKind::Session, "Project X", 3);
    project.run = Some(Run {
        id: RunId::new("r9"),
        phase: RunPhase::Working,
        is_stated: true,
        command: None,
        started: before(12),
        last_activity: before(1),
        stopping_since: None,
    });
    pheby.conversations.insert("p1".into(), project);
    let mut wait = conversation(ConversationKind::Session, "Deploy", 5);
    wait.unread = Unread::Some;
    pheby.conversations.insert("p2".into(), wait);
    pheby
        .decisions
        .push(approval("d9", "p2", "kubectl apply -f prod.yaml"));
    state.accounts.push(pheby);

    let mut omi = account(
        "omi",
        "omi@laptop",
        LinkState::Waiting {
            until: Moment {
                mono_ms: NOW.mono_ms + 7_000,
                wall_ms: NOW.wall_ms + 7_000,
            },
            reason: safe("the process ended"),
        },
    );
    omi.conversations.insert(
        "o1".into(),
        conversation(ConversationKind::Session, "repo review", 600),
    );
    state.accounts.push(omi);
    state.focus = Some(("iris".into(), "c-research".into()));
    state
}

/// The conversation of `busy` on screen.
pub fn here(state: &mut State) -> &mut Conversation {
    let (account, id) = state.focus.clone().expect("something has the focus");
    state
        .account_mut(&account)
        .and_then(|account| account.conversations.get_mut(&id))
        .expect("it is there")
}

/// A chat with a bit of everything.
pub fn everything() -> Chat {
    let mut chat = Chat::new(24 * 60 + 10);
    chat.you("good evening, is the nightly build green?", Delivery::Read);
    chat.agent("Yes: 214 tests passed in 3 min 12 s.");
    chat.next_day();
    chat.you("why does the build fail?", Delivery::Read);
    chat.tool(
        "terminal",
        "cargo build --release",
        ToolStatus::Completed,
        8_400,
    );
    chat.tool("read_file", "Cargo.toml", ToolStatus::Completed, 120);
    chat.tool("read_file", "src/main.rs", ToolStatus::Failed, 90);
    let answer = chat.agent(
        "A dependency is missing. **Add** it to `Cargo.toml`:\n\n```toml\n[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\n```\n\nThen build again. Two things to watch:\n\n1. the *feature* is needed for `#[derive(Serialize)]`\n2. see [the guide](https://serde.rs) for the rest",
    );
    answer.reasoning = Body::new(
        "The error names serde::Serialize, so the derive feature is off.\nLook at the manifest.",
    );
    answer.footer = Footer {
        model: Some(safe("gpt-5.4")),
        tokens_in: Some(12_300),
        tokens_out: Some(1_240),
        context_percent: Some(41),
        directory: Some(safe("~/proj")),
        latency_ms: Some(6_200),
        cost_micro_usd: Some(12_000),
        ..Footer::default()
    };
    chat.you("thanks! and the tests?", Delivery::Accepted);
    chat
}
