//! A state with a store behind it and nobody else: effects are carried out at once, what would go
//! to a driver is kept for the test to answer.

use trialogue::app::event::{StoreReply, TransferProgress};
use trialogue::app::screen::viewport::{Anchor, LayoutFacts};
use trialogue::app::state::{AccountState, Conversation, Ids, Pending, Settings};
use trialogue::app::update::{flush, update};
use trialogue::app::{Effect, Event, State, outbox};
use trialogue::domain::*;
use trialogue::store::Handle;
use trialogue::text::SafeText;

pub const START: Moment = Moment {
    mono_ms: 1_000_000,
    wall_ms: 1_795_788_300_000,
};

pub fn account_id() -> AccountId {
    "work".into()
}

pub fn id(name: &str) -> ConversationId {
    name.into()
}

pub struct Desk {
    pub state: State,
    pub store: Handle,
    pub now: Moment,
    /// Commands that reached the driver, oldest first.
    pub commands: Vec<(CommandId, Command)>,
    /// Everything else that left, but for repaints and wakes.
    pub effects: Vec<Effect>,
    /// The store refuses everything.
    pub store_is_full: bool,
}

impl Desk {
    /// A connected account with the conversations "main" (on screen) and "side".
    pub fn new() -> Self {
        let mut desk = Self::offline();
        desk.connect();
        for (command, _) in std::mem::take(&mut desk.commands) {
            desk.outcome(command, CommandOutcome::Done(Reply::Nothing));
        }
        desk.effects.clear();
        desk
    }

    /// The same before it was ever connected.
    pub fn offline() -> Self {
        let (store, _) = trialogue::store::memory().unwrap();
        let mut desk = Self::on(store, 1);
        let info = |name: &str| ConversationInfo {
            name: SafeText::label(name),
            ..ConversationInfo::default()
        };
        desk.live(Topic::Directory(DirectoryEvent::Replaced(vec![
            (id("main"), info("main")),
            (id("side"), info("side")),
        ])));
        desk.focus("main");
        desk
    }

    /// A program start on what a store holds; `instance` names this run of the program.
    pub fn on(store: Handle, instance: u64) -> Self {
        let mut state = State::new(
            Ids {
                instance,
                next: instance * 1_000_000,
            },
            Settings::default(),
            START,
        );
        let mut account = AccountState::new(account_id(), SafeText::label("work"));
        account.account.capabilities = Capabilities {
            cancel_run: Support::Yes,
            upload: Support::Yes,
            download: Support::Yes,
            reply_to: Support::Yes,
            text_limit: Some(100),
            history: HistoryPaging::OlderThanToken,
            attachment_limits: AttachmentLimits {
                count: 2,
                bytes: Some(1000),
                pictures: None,
            },
            ..Capabilities::default()
        };
        state.accounts.push(account);
        let mut desk = Self {
            state,
            store,
            now: START,
            commands: Vec::new(),
            effects: Vec::new(),
            store_is_full: false,
        };
        let found = desk.store.look_now(Lookup::Start).unwrap();
        desk.event(Event::Store(StoreReply::Found(found)));
        desk
    }

    pub fn connect(&mut self) {
        self.live(Topic::Link(LinkEvent::Changed(LinkState::Ready)));
    }

    pub fn disconnect(&mut self) {
        self.live(Topic::Link(LinkEvent::Changed(LinkState::Connecting)));
        // A driver ends every command with its link; sends and answers are the tests' business.
        let asked: Vec<CommandId> = self
            .work()
            .pending
            .iter()
            .filter(|(_, pending)| {
                !matches!(pending, Pending::Send { .. } | Pending::Answer { .. })
            })
            .map(|(id, _)| *id)
            .collect();
        for command in asked {
            self.outcome(command, CommandOutcome::LinkLost);
        }
    }

    pub fn focus(&mut self, conversation: &str) {
        let effects = trialogue::app::conversation::focus(
            &mut self.state,
            self.now,
            &account_id(),
            &id(conversation),
        );
        self.finish(effects);
    }

    pub fn event(&mut self, event: Event) {
        let effects = update(&mut self.state, self.now, event);
        self.finish(effects);
    }

    /// Carries out effects, then what the batch collected.
    pub fn finish(&mut self, effects: Vec<Effect>) {
        self.carry_out(effects);
        let effects = flush(&mut self.state);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Commit {
                    writes,
                    durability,
                    then,
                } => {
                    if self.store_is_full {
                        let commands = then
                            .iter()
                            .filter_map(|effect| match effect {
                                Effect::Command { id, .. } => Some(*id),
                                _ => None,
                            })
                            .collect();
                        self.event(Event::Store(StoreReply::CommitFailed {
                            reason: SafeText::from("the disk is full"),
                            commands,
                        }));
                        continue;
                    }
                    let committed = self.store.commit_now(writes, durability).unwrap();
                    self.event(Event::Store(StoreReply::Committed(committed)));
                    self.carry_out(then);
                }
                Effect::Look(lookup) => {
                    let found = self.store.look_now(lookup).unwrap();
                    self.event(Event::Store(StoreReply::Found(found)));
                }
                Effect::Command { id, command, .. } => self.commands.push((id, command)),
                Effect::Redraw { .. } | Effect::Wake(_) | Effect::Title(_) => {}
                other => self.effects.push(other),
            }
        }
    }

    pub fn topic(&mut self, provenance: Provenance, topic: Topic) {
        self.event(Event::Account {
            account: account_id(),
            event: Box::new(AccountEvent { provenance, topic }),
        });
    }

    /// Something of a replay that was not announced yet.
    pub fn missed(&mut self, topic: Topic) {
        let provenance = Provenance::Replayed {
            cursor: "1".into(),
            was_announced: false,
        };
        self.topic(provenance, topic);
    }

    pub fn live(&mut self, topic: Topic) {
        self.topic(Provenance::Live, topic);
    }

    pub fn outcome(&mut self, command: CommandId, outcome: CommandOutcome) {
        self.live(Topic::Outcome { command, outcome });
    }

    /// Lets time pass and fires the deadlines on the way, as the shell does.
    pub fn pass(&mut self, ms: u64) {
        self.now = self.now.after(std::time::Duration::from_millis(ms));
        self.event(Event::Deadline);
    }

    /// Types into the conversation on screen and sends.
    pub fn send(&mut self, text: &str) {
        self.send_as(text, outbox::SendMode::Ordinary);
    }

    pub fn send_as(&mut self, text: &str, mode: outbox::SendMode) {
        let (account, conversation) = self.state.focus.clone().unwrap();
        self.here_mut().composer.insert(text);
        let effects = outbox::send(&mut self.state, self.now, &account, &conversation, mode);
        self.finish(effects);
    }

    pub fn here(&self) -> &Conversation {
        self.state.focused().unwrap().2
    }

    pub fn here_mut(&mut self) -> &mut Conversation {
        let (account, conversation) = self.state.focus.clone().unwrap();
        self.state
            .conversation_mut(&account, &conversation)
            .unwrap()
    }

    pub fn work(&self) -> &AccountState {
        &self.state.accounts[0]
    }

    /// The texts that left for the driver as messages.
    pub fn sent(&self) -> Vec<&str> {
        self.commands
            .iter()
            .filter_map(|(_, command)| match command {
                Command::Chat(ChatCommand::Send { text, .. }) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The command that sends this text, the last one.
    pub fn sending(&self, text: &str) -> CommandId {
        self.commands
            .iter()
            .rev()
            .find_map(|(id, command)| match command {
                Command::Chat(ChatCommand::Send { text: sent, .. }) if sent == text => Some(*id),
                _ => None,
            })
            .unwrap()
    }

    /// Takes the commands that left since the last call.
    pub fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
            .into_iter()
            .map(|(_, command)| command)
            .collect()
    }

    /// The queue of the conversation on screen.
    pub fn queued(&self) -> Vec<&str> {
        let (_, conversation) = self.state.focus.as_ref().unwrap();
        outbox::queue(self.work(), conversation)
            .into_iter()
            .map(|row| row.text.as_str())
            .collect()
    }

    /// The conversation on screen, a line for each entry.
    pub fn lines(&self) -> Vec<String> {
        self.here().timeline.entries.iter().map(line).collect()
    }

    /// What the store holds of a conversation, a line for each entry.
    pub fn stored(&self, conversation: &str) -> Vec<String> {
        let found = self
            .store
            .look_now(Lookup::Window {
                account: account_id(),
                conversation: id(conversation),
                around: Place::Newest,
                before: 10_000,
                after: 0,
            })
            .unwrap();
        match found {
            Found::Window { entries, .. } => entries.iter().map(line).collect(),
            other => panic!("{other:?}"),
        }
    }

    pub fn toasts(&self) -> Vec<&str> {
        self.state
            .screen
            .toasts
            .iter()
            .map(|toast| toast.text.as_str())
            .collect()
    }

    /// What the view would report with everything in sight.
    pub fn drawn(&mut self, change: impl FnOnce(&mut LayoutFacts)) {
        let (account, conversation) = self.state.focus.clone().unwrap();
        let mut facts = LayoutFacts {
            account,
            conversation,
            anchor: self.here().viewport.anchor,
            resolved: self.here().viewport.delta,
            revealed: None,
            rows: 20,
            columns: 80,
            is_short_above: false,
            is_short_below: false,
            first_seen: None,
            last_seen: None,
            is_at_newest: self.here().viewport.anchor == Anchor::Newest,
            decision_end_seen: false,
            composer_columns: 78,
            overlay_scroll_max: None,
        };
        change(&mut facts);
        self.event(Event::Layout(Box::new(facts)));
    }

    pub fn progress(&mut self, transfer: TransferId, progress: TransferProgress) {
        self.event(Event::Transfer { transfer, progress });
    }
}

/// One entry in words.
pub fn line(entry: &Entry) -> String {
    match &entry.body {
        EntryBody::Message(message) => {
            let who = match message.author {
                Author::User => "you",
                Author::Assistant => "agent",
                Author::System => "system",
                Author::Automation => "cron",
            };
            let mut line = format!("{who}: {}", message.body.text());
            if message.is_streaming {
                line.push_str(" …");
            }
            if message.is_interrupted {
                line.push_str(" (cut)");
            }
            match &message.delivery {
                None => {}
                Some(Delivery::Queued) => line.push_str(" [queued]"),
                Some(Delivery::InFlight) => line.push_str(" [in flight]"),
                Some(Delivery::Accepted) => line.push_str(" [accepted]"),
                Some(Delivery::Read) => line.push_str(" [read]"),
                Some(Delivery::Uncertain) => line.push_str(" [uncertain]"),
                Some(Delivery::Failed(refusal)) => {
                    line.push_str(&format!(" [failed: {}]", refusal.text));
                }
            }
            line
        }
        EntryBody::Tool(tool) => format!("tool {} {:?}", tool.name, tool.status).to_lowercase(),
        EntryBody::RunEnded { outcome, .. } => match outcome {
            RunOutcome::Completed => "no reply".to_owned(),
            RunOutcome::Cancelled => "run cancelled".to_owned(),
            RunOutcome::Failed { error, .. } => format!("run failed: {error}"),
            RunOutcome::Lost => "run lost".to_owned(),
        },
        EntryBody::Gap { .. } => "gap".to_owned(),
        EntryBody::Deleted { count } => format!("{count} deleted"),
    }
}

// Events in short

pub fn said(remote: &str, author: Author, text: &str) -> IncomingMessage {
    IncomingMessage {
        remote: Some(remote.into()),
        author,
        text: text.to_owned(),
        ..IncomingMessage::default()
    }
}

pub fn upserted(message: IncomingMessage) -> Topic {
    upserted_in("main", message)
}

pub fn upserted_in(conversation: &str, message: IncomingMessage) -> Topic {
    Topic::Timeline(TimelineEvent::Upserted {
        conversation: id(conversation),
        message: Box::new(message),
    })
}

pub fn patched(remote: &str, text: &str) -> Topic {
    Topic::Timeline(TimelineEvent::Patched {
        conversation: id("main"),
        remote: remote.into(),
        run: Some("r1".into()),
        part: Part::Body,
        patch: TextPatch::Replace(text.to_owned()),
    })
}

pub fn ended(remote: &str, text: Option<&str>) -> Topic {
    Topic::Timeline(TimelineEvent::Ended {
        conversation: id("main"),
        remote: remote.into(),
        text: text.map(str::to_owned),
        reasoning: None,
        footer: Footer::default(),
        sent_at_ms: None,
        is_interrupted: false,
    })
}

pub fn started(run: &str, command: Option<CommandId>) -> Topic {
    Topic::Run(RunEvent::Started {
        conversation: id("main"),
        run: run.into(),
        command,
        is_stated: true,
    })
}

pub fn finished(run: &str, outcome: RunOutcome) -> Topic {
    Topic::Run(RunEvent::Finished {
        conversation: id("main"),
        run: run.into(),
        outcome,
    })
}

pub fn tool(call: &str, name: &str, status: ToolStatus) -> Topic {
    let mut tool = ToolCall::new(call.into(), SafeText::label(name));
    tool.run = Some("r1".into());
    tool.status = status;
    Topic::Run(RunEvent::ToolChanged {
        conversation: id("main"),
        tool: Box::new(tool),
    })
}

pub fn page(messages: Vec<IncomingMessage>, older: Option<&str>) -> HistoryPage {
    HistoryPage {
        conversation: id("main"),
        messages,
        before: None,
        older: older.map(PageToken::from),
        is_authoritative: true,
    }
}

pub fn snapshot(messages: Vec<IncomingMessage>) -> Snapshot {
    Snapshot {
        page: page(messages, None),
        run: None,
        draft: None,
        tools: Vec::new(),
        attachments: Vec::new(),
        decisions: Vec::new(),
        lost_runs: false,
    }
}

pub fn shot(snapshot: Snapshot) -> Topic {
    Topic::Timeline(TimelineEvent::Snapshot(Box::new(snapshot)))
}

pub fn approval(name: &str) -> Decision {
    let choice = |value: &str, grant| Choice {
        value: value.to_owned(),
        label: SafeText::label(value),
        grant,
        is_current: false,
    };
    Decision {
        id: name.into(),
        conversation: id("main"),
        run: Some("r1".into()),
        tool: None,
        question: Question::Approval {
            command: SafeText::command("rm -rf build"),
            description: SafeText::label("recursive delete"),
            may_be_cut: false,
            takes_reason: true,
        },
        choices: vec![choice("once", Grant::Once), choice("deny", Grant::Deny)],
        way: AnswerWay::Direct,
        life: DecisionLife::Open,
        asked_at: START,
        deadline: None,
        was_asked_for: false,
    }
}

pub fn asked(decision: Decision) -> Topic {
    Topic::Decision(DecisionEvent::Opened(Box::new(decision)))
}
