//! A fourth protocol: the toy that the chapter "adding a protocol" leads to, line by line, and then
//! inside the program, against a real child process.
#![allow(clippy::unwrap_used)]

#[path = "echo/driver.rs"]
mod driver;

use driver::Echo;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use trialogue::app::event::StoreReply;
use trialogue::app::outbox::{self, SendMode};
use trialogue::app::state::{AccountState, Ids, Settings};
use trialogue::app::{Effect, Event, State, conversation, update};
use trialogue::domain::*;
use trialogue::link::{ChildSpec, CloseReason, Frame};
use trialogue::protocol::{Driver, Input, Output, Resume, Setup};
use trialogue::runtime::clock::Clock;
use trialogue::runtime::session::{
    Place, SessionEvent, SessionHandle, SessionInput, SessionSetup, spawn,
};

fn setup() -> Setup {
    Setup {
        secret: None,
        resume: Resume::default(),
        seed: [0; 16],
        working_directory: "/".into(),
        client_version: "test",
    }
}

/// What comes of one input: frames as they are, events by their ends of commands only.
fn outputs(echo: &mut Echo, mono_ms: u64, input: Input) -> Vec<String> {
    let now = Moment {
        mono_ms,
        wall_ms: 0,
    };
    echo.handle(now, input);
    std::iter::from_fn(|| echo.poll())
        .filter_map(|output| match output {
            Output::Frame(frame) => Some(frame.as_text().unwrap().to_owned()),
            Output::Event(event) => match event.topic {
                Topic::Outcome { command, outcome } => Some(format!("{command:?} {outcome:?}")),
                Topic::Notice(notice) => Some(format!("{:?}: {}", notice.kind, notice.body)),
                Topic::Timeline(TimelineEvent::Upserted { message, .. }) => Some(message.text),
                _ => None,
            },
            other => panic!("{other:?}"),
        })
        .collect()
}

fn send(id: u64, text: &str) -> Input {
    Input::Command {
        id: CommandId(id),
        command: Command::Chat(ChatCommand::Send {
            conversation: "echo".into(),
            text: text.to_owned(),
            files: Vec::new(),
            reply_to: None,
            auto_thread: false,
            effort: None,
        }),
    }
}

fn connected() -> Echo {
    let mut echo = Echo::new(&setup());
    assert_eq!(
        outputs(&mut echo, 0, Input::LinkUp { generation: 1 }),
        [r#"{"name":"trialogue","type":"hello"}"#]
    );
    let welcome = Frame::text(r#"{"type":"welcome","server":"echo 1"}"#);
    assert!(outputs(&mut echo, 0, Input::Frame(welcome)).is_empty());
    echo
}

#[test]
fn a_message_goes_out_and_its_answer_ends_it() {
    let mut echo = connected();
    assert_eq!(
        outputs(&mut echo, 0, send(1, "hi")),
        [r#"{"id":"00000000-1","text":"hi","type":"say"}"#]
    );
    let said = Frame::text(r#"{"type":"said","id":"00000000-1","text":"hi hi"}"#);
    assert_eq!(
        outputs(&mut echo, 0, Input::Frame(said)),
        ["hi hi", "CommandId(1) Done(Nothing)"]
    );
}

#[test]
fn every_command_ends_once_whatever_happens() {
    let mut echo = Echo::new(&setup());
    assert_eq!(
        outputs(&mut echo, 0, send(1, "hi")),
        ["CommandId(1) NotSent"]
    );
    let mut echo = connected();
    outputs(&mut echo, 0, send(1, "hi"));
    let reason = CloseReason::Silent;
    assert_eq!(
        outputs(&mut echo, 0, Input::LinkDown { reason }),
        ["CommandId(1) LinkLost"]
    );
    let mut echo = connected();
    outputs(&mut echo, 0, send(1, "hi"));
    assert_eq!(echo.deadline().unwrap().mono_ms, 30_000);
    let late = outputs(&mut echo, 30_000, Input::Deadline);
    assert!(late.len() == 1 && late[0].contains("TimedOut"), "{late:?}");
}

#[test]
fn a_bad_frame_is_an_oddity_and_nothing_else() {
    let mut echo = connected();
    for frame in [
        "",
        "{",
        "[]",
        "{\"type\":7}",
        "{\"type\":\"said\",\"id\":\"x\"}",
    ] {
        let odd = outputs(&mut echo, 0, Input::Frame(Frame::text(frame)));
        assert!(
            odd.len() == 1 && odd[0].starts_with("Oddity"),
            "{frame}: {odd:?}"
        );
    }
}

/// The middle of the program with this one account: state, session, and a store that forgets.
struct World {
    state: State,
    session: SessionHandle,
    events: mpsc::Receiver<(AccountId, SessionEvent)>,
    clock: Clock,
}

impl World {
    fn apply(&mut self, event: Event) {
        let effects = update::update(&mut self.state, self.clock.now(), event);
        self.carry_out(effects);
        let effects = update::flush(&mut self.state);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Command { id, command, .. } => {
                    let input = SessionInput::Command { id, command };
                    self.session.try_send(input).unwrap();
                }
                Effect::Commit { then, .. } => {
                    self.apply(Event::Store(StoreReply::Committed(Vec::new())));
                    self.carry_out(then);
                }
                _ => {}
            }
        }
    }

    /// Takes events until the state is as it should be.
    async fn until(&mut self, what: &str, is_there: impl Fn(&AccountState) -> bool) {
        let account = AccountId::from("toy");
        let wait = async {
            while !is_there(self.state.account(&account).unwrap()) {
                let (account, event) = self.events.recv().await.unwrap();
                if let SessionEvent::Account(event) = event {
                    self.apply(Event::Account { account, event });
                }
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(20), wait).await;
        assert!(in_time.is_ok(), "{what} did not come");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_the_program_needs_nothing_else() {
    // A server in a line of shell: it greets, and says everything back.
    let script = r#"read hello; echo '{"type":"welcome","server":"echo 1"}'
        while read -r line; do echo "$line" | sed 's/"type":"say"/"type":"said"/'; done"#;
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::start();
    let (sender, events) = mpsc::channel(256);
    let session = spawn(
        SessionSetup {
            account: "toy".into(),
            place: Place::Process(ChildSpec {
                command: ["sh", "-c", script].map(str::to_owned).to_vec(),
                ..ChildSpec::default()
            }),
            driver: Box::new(Echo::new(&setup())),
            secret: None,
            secrets: Arc::new(|| Ok(None)),
            tools: BTreeMap::new(),
            cache: folder.path().to_owned(),
            clock,
            seed: 7,
            recording: None,
            origin: Default::default(),
        },
        sender,
    );
    let ids = Ids {
        instance: 1,
        next: 1,
    };
    let mut state = State::new(ids, Settings::default(), clock.now());
    state
        .accounts
        .push(AccountState::new("toy".into(), "toy".into()));
    let mut world = World {
        state,
        session,
        events,
        clock,
    };
    let facts = Box::new(StartFacts::default());
    world.apply(Event::Store(StoreReply::Found(Found::Start(facts))));
    world.session.try_send(SessionInput::Connect).unwrap();
    world
        .until("the link", |of| of.account.link == LinkState::Ready)
        .await;

    let (account, place) = (AccountId::from("toy"), ConversationId::from("echo"));
    let now = clock.now();
    let effects = conversation::focus(&mut world.state, now, &account, &place);
    world.carry_out(effects);
    let here = world.state.conversation_mut(&account, &place).unwrap();
    here.composer.put("is there anybody", 16);
    let effects = outbox::send(&mut world.state, now, &account, &place, SendMode::Now);
    world.carry_out(effects);
    let effects = update::flush(&mut world.state);
    world.carry_out(effects);
    world
        .until("the answer", |of| {
            let here = &of.conversations[&ConversationId::from("echo")];
            let said: Vec<(Author, &str)> = here
                .timeline
                .entries
                .iter()
                .chain(&here.timeline.tail)
                .filter_map(Entry::message)
                .map(|message| (message.author, message.body.raw()))
                .collect();
            here.run.is_none()
                && said
                    == [
                        (Author::User, "is there anybody"),
                        (Author::Assistant, "is there anybody"),
                    ]
        })
        .await;
    world.session.shutdown().await;
}
