//! A driver, the state and a store on one side, a demo gateway on the other, in virtual time. The
//! line is cut at every frame in turn, once so that the frame is lost and once so that it just
//! arrived; after the reconnect the conversation must read as if nothing had happened.
//!
//! Gateway and drivers were written from the specifications and share no code, so a misread field
//! shows here.

#![allow(clippy::unwrap_used)]

#[path = "update/desk.rs"]
#[allow(dead_code)]
mod desk;

use desk::{Desk, START, account_id};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use trialogue::app::decisions;
use trialogue::app::outbox;
use trialogue::config::account::{AccountConfig, Endpoint, NetworkEndpoint};
use trialogue::demo::{ConnectionId, Gateway, GatewayOutput, Library, Setup, iris, pheby};
use trialogue::domain::*;
use trialogue::link::{CloseReason, Frame, LinkFailure};
use trialogue::protocol::{self, Driver, Input, Output, Resume};

const SCENARIO: &str = r#"
word = "pairwise"
title = "A pair"
about = "said, done, asked, said"

[[step]]
do = "say"
text = "I look at it first."

[[step]]
do = "tool"
name = "terminal"
args = { command = "ls -1" }
seconds = 0.3
output = "one\ntwo"

[[step]]
do = "approval"
command = "rm -rf one"
description = "recursive delete"
output = "gone"
seconds = 0.2

[[step]]
when = "approved"
do = "say"
text = "Both are gone, as you **wished**."

[[step]]
when = "denied"
do = "say"
text = "I leave them."
"#;

/// Where the line is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cut {
    /// The number of the frame, counted in both directions.
    at: usize,
    /// The frame itself does not arrive.
    loses: bool,
}

struct World {
    desk: Desk,
    driver: Box<dyn Driver>,
    gateway: Box<dyn Gateway>,
    connection: Option<ConnectionId>,
    /// What the gateway wants done and the line has not carried yet.
    line: VecDeque<GatewayOutput>,
    crossed: usize,
    cut: Option<Cut>,
    dial_at: Option<Moment>,
    /// Messages of ours that reached the gateway.
    arrived: usize,
    /// The gateway replays the ends of calls.
    brings_calls: bool,
}

fn library() -> Arc<Library> {
    let mut library = Library::embedded();
    library.add_scenario("pairwise.toml", SCENARIO).unwrap();
    Arc::new(library)
}

impl World {
    fn new(gateway: Box<dyn Gateway>, is_iris: bool, cut: Option<Cut>) -> Self {
        let network = NetworkEndpoint {
            url: "ws://127.0.0.1:1/ws".to_owned(),
            ..NetworkEndpoint::default()
        };
        let account = AccountConfig {
            name: "work".to_owned(),
            endpoint: if is_iris {
                Endpoint::Iris(network)
            } else {
                Endpoint::Pheby(network)
            },
            secret_command: None,
            is_disabled: false,
            color: None,
        };
        let setup = protocol::Setup {
            secret: Some(Secret::new("demo-secret".to_owned())),
            resume: Resume::default(),
            seed: [7; 16],
            working_directory: "/".into(),
            client_version: "0",
        };
        let (store, _) = trialogue::store::memory().unwrap();
        let mut world = Self {
            desk: Desk::on(store, 1),
            driver: protocol::driver(&account, setup),
            gateway,
            connection: None,
            line: VecDeque::new(),
            crossed: 0,
            cut,
            dial_at: Some(START),
            arrived: 0,
            brings_calls: is_iris,
        };
        world.pass(Duration::from_secs(3));
        world
    }

    /// Milliseconds of the gateway's clock.
    fn clock(&self) -> u64 {
        self.desk.now.mono_ms - START.mono_ms
    }

    fn dial(&mut self) {
        self.dial_at = None;
        let (connection, outputs) = self.gateway.connect("127.0.0.1");
        self.connection = Some(connection);
        self.line.extend(outputs);
        self.driver.handle(
            self.desk.now,
            Input::LinkUp {
                generation: connection.0,
            },
        );
    }

    fn hang_up(&mut self, reason: CloseReason) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        self.line.clear();
        let outputs = self.gateway.disconnect(connection);
        self.line.extend(outputs);
        self.driver
            .handle(self.desk.now, Input::LinkDown { reason });
        self.dial_at = Some(self.desk.now.after(Duration::from_secs(2)));
    }

    /// Counts a frame on the line; true when the line is cut with it.
    fn is_cut_here(&mut self) -> Option<Cut> {
        self.crossed += 1;
        self.cut.take_if(|cut| cut.at == self.crossed)
    }

    fn out(&mut self, frame: &Frame) {
        let Some(connection) = self.connection else {
            return;
        };
        let cut = self.is_cut_here();
        if cut.is_none_or(|cut| !cut.loses) {
            if frame.as_text().is_some_and(|text| {
                text.contains("\"chat.send\"") || text.contains("\"message.send\"")
            }) {
                self.arrived += 1;
            }
            let outputs = self.gateway.frame(connection, frame);
            self.line.extend(outputs);
        }
        if cut.is_some() {
            self.hang_up(broken());
        }
    }

    fn carry(&mut self, output: GatewayOutput) {
        let is_ours = |connection| self.connection == Some(connection);
        match output {
            GatewayOutput::Send { connection, frame } if is_ours(connection) => {
                let cut = self.is_cut_here();
                if cut.is_none_or(|cut| !cut.loses) {
                    self.driver.handle(self.desk.now, Input::Frame(frame));
                }
                if cut.is_some() {
                    self.hang_up(broken());
                }
            }
            GatewayOutput::Close {
                connection,
                code,
                reason,
            } if is_ours(connection) => self.hang_up(CloseReason::Peer {
                code: Some(code),
                reason,
            }),
            GatewayOutput::Cut { connection } if is_ours(connection) => self.hang_up(broken()),
            GatewayOutput::Refuse { connection, status } if is_ours(connection) => {
                self.hang_up(CloseReason::HttpStatus { status });
            }
            _ => {}
        }
    }

    /// Everything that happens at this moment.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            if let Some(output) = self.driver.poll() {
                match output {
                    Output::Frame(frame) => self.out(&frame),
                    Output::Event(event) => {
                        if let Topic::Notice(notice) = &event.topic {
                            assert_ne!(notice.kind, NoticeKind::Oddity, "{:?}", notice.body);
                        }
                        self.desk.event(trialogue::app::Event::Account {
                            account: account_id(),
                            event,
                        });
                    }
                    Output::Close { .. } => self.hang_up(CloseReason::Ours),
                    _ => {}
                }
            } else if !self.desk.commands.is_empty() {
                let (id, command) = self.desk.commands.remove(0);
                self.driver
                    .handle(self.desk.now, Input::Command { id, command });
            } else if let Some(output) = self.line.pop_front() {
                self.carry(output);
            } else {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    fn pass(&mut self, by: Duration) {
        let until = self.desk.now.after(by);
        loop {
            self.settle();
            let gateway = self.gateway.due().map(|due| due + START.mono_ms);
            let next = [
                gateway,
                self.driver.deadline().map(|moment| moment.mono_ms),
                self.dial_at.map(|moment| moment.mono_ms),
                self.desk.state.wake.map(|moment| moment.mono_ms),
                Some(until.mono_ms),
            ]
            .into_iter()
            .flatten()
            .min()
            .unwrap();
            let now = self.desk.now.mono_ms;
            let step = next.saturating_sub(now);
            self.desk.now = self.desk.now.after(Duration::from_millis(step));
            let now = self.desk.now;
            let outputs = self.gateway.advance(self.clock());
            self.line.extend(outputs);
            if self.dial_at.is_some_and(|at| at.mono_ms <= now.mono_ms) {
                self.dial();
            }
            if self
                .driver
                .deadline()
                .is_some_and(|at| at.mono_ms <= now.mono_ms)
            {
                self.driver.handle(now, Input::Deadline);
            }
            if self
                .desk
                .state
                .wake
                .is_some_and(|at| at.mono_ms <= now.mono_ms)
            {
                self.desk.state.wake = None;
                self.desk.event(trialogue::app::Event::Deadline);
            }
            if now.mono_ms >= until.mono_ms && step == 0 {
                self.settle();
                return;
            }
        }
    }

    /// A person who answers what is asked, and sends again what certainly did not arrive.
    fn attend(&mut self) {
        for (account, id) in decisions::waiting(&self.desk.state) {
            let of = self.desk.work();
            if of.ready_since.is_none() {
                continue;
            }
            let decision = of.decisions.iter().find(|of| of.id == id).unwrap();
            if !decision.life.is_open() {
                continue;
            }
            let value = decision.choices[0].value.clone();
            let answer = Answer::Choice {
                value,
                reason: None,
            };
            let effects =
                decisions::answer(&mut self.desk.state, self.desk.now, &account, &id, answer);
            self.desk.finish(effects);
        }
    }

    fn uncertain(&self) -> Vec<MessageKey> {
        self.desk
            .work()
            .outbox
            .iter()
            .filter(|row| row.delivery == Delivery::Uncertain)
            .map(|row| row.key)
            .collect()
    }

    /// Plays the scene to its end and returns what stands there.
    fn play(&mut self) -> Vec<String> {
        let account = account_id();
        let conversation = self.conversation();
        let effects = trialogue::app::conversation::focus(
            &mut self.desk.state,
            self.desk.now,
            &account,
            &conversation,
        );
        self.desk.finish(effects);
        self.pass(Duration::from_secs(1));
        self.desk.send("pairwise, please");
        for _ in 0..120 {
            self.pass(Duration::from_millis(500));
            self.attend();
        }
        // What nobody knows is sent again by the person, and only if it did not arrive.
        for key in self.uncertain() {
            assert_eq!(
                self.arrived,
                0,
                "arrived and still uncertain: {:#?}",
                self.lines()
            );
            let effects = outbox::resend(&mut self.desk.state, self.desk.now, &account, key);
            self.desk.finish(effects);
        }
        if self.arrived == 0 {
            for _ in 0..40 {
                self.pass(Duration::from_millis(500));
                self.attend();
            }
        }
        self.lines()
    }

    /// The default conversation, or the one that comes first.
    fn conversation(&self) -> ConversationId {
        let of = self.desk.work();
        of.conversations
            .iter()
            .find(|(_, here)| here.info.kind == ConversationKind::Default)
            .or_else(|| of.conversations.iter().next())
            .map(|(id, _)| id.clone())
            .unwrap()
    }

    /// What a person reads, from the message on, and what became of the calls of tools where the
    /// server brings them again. What only a live line carries (notices, asides, and on some servers
    /// finished tools) may be missing after a cut, so it is looked at on its own.
    fn lines(&self) -> Vec<String> {
        let here = self.desk.here();
        assert!(
            here.timeline
                .entries
                .iter()
                .filter_map(Entry::message)
                .all(|message| !message.is_streaming),
            "a message that never ends: {:#?}",
            self.desk.lines()
        );
        let mut tools: Vec<&ToolCallId> = Vec::new();
        for entry in &here.timeline.entries {
            if let EntryBody::Tool(tool) = &entry.body {
                assert_ne!(tool.status, ToolStatus::Running, "{:#?}", self.desk.lines());
                assert!(!tools.contains(&&tool.id), "a tool twice");
                tools.push(&tool.id);
            }
        }
        assert!(here.run.is_none(), "a run that never ends: {:#?}", here.run);
        let all: Vec<String> = here
            .timeline
            .entries
            .iter()
            .filter(|entry| {
                entry.message().is_some_and(|message| {
                    message.sort == MessageSort::Ordinary
                        && matches!(message.author, Author::User | Author::Assistant)
                })
            })
            .map(desk::line)
            .map(|line| {
                // How a message got there does not matter once it is there.
                line.replace(" [read]", "").replace(" [accepted]", "")
            })
            .collect();
        let from = all
            .iter()
            .position(|line| line.starts_with("you: pairwise"))
            .unwrap_or(0);
        let mut lines = all[from..].to_vec();
        if self.brings_calls {
            let mut calls: Vec<String> = here
                .timeline
                .entries
                .iter()
                .filter(|entry| matches!(entry.body, EntryBody::Tool(_)))
                .map(desk::line)
                .collect();
            calls.sort();
            lines.extend(calls);
        }
        lines
    }
}

fn broken() -> CloseReason {
    CloseReason::Failed {
        kind: LinkFailure::Broken,
        detail: "cut".to_owned(),
    }
}

fn setup() -> Setup {
    Setup {
        library: library(),
        ..Setup::default()
    }
}

/// Cuts everywhere and compares; `step` leaves frames out where a reading is only a variant.
fn check(
    name: &str,
    is_iris: bool,
    gateway: impl Fn() -> Box<dyn Gateway>,
    step: usize,
    losses: &[bool],
) {
    let mut whole = World::new(gateway(), is_iris, None);
    let expected = whole.play();
    assert!(expected.len() >= 2, "{name}: {expected:#?}");
    assert!(
        expected[0].contains("pairwise, please"),
        "{name}: {expected:#?}"
    );
    let frames = whole.crossed;
    let mut failures = Vec::new();
    for at in (1..=frames).step_by(step) {
        for &loses in losses {
            let cut = Cut { at, loses };
            let mut world = World::new(gateway(), is_iris, Some(cut));
            let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.play()));
            match played {
                Ok(lines) if lines == expected => {}
                Ok(lines) => failures.push(format!("{cut:?}: {lines:#?}")),
                Err(_) => failures.push(format!("{cut:?}: broke off")),
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{name}: {} of {} cuts differ from {expected:#?}\n{}",
        failures.len(),
        losses.len() * frames.div_ceil(step),
        failures
            .iter()
            .take(4)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    );
}

#[test]
fn a_pheby_line_may_be_cut_anywhere() {
    check(
        "pheby",
        false,
        || Box::new(pheby::Pheby::new(setup(), pheby::Readings::seen())),
        1,
        &[true, false],
    );
}

#[test]
fn an_iris_line_may_be_cut_anywhere() {
    check(
        "iris",
        true,
        || Box::new(iris::Iris::new(setup(), iris::Readings::default())),
        1,
        &[true, false],
    );
}

/// Other readings of the specification: a few cuts each.
#[test]
fn a_pheby_line_of_any_reading_may_be_cut() {
    use pheby::Readings;
    let base = Readings::seen;
    let readings = [
        ("one draft", Readings::default()),
        (
            "late",
            Readings {
                accepts_late: true,
                accepted_id_for_all: true,
                ..base()
            },
        ),
        (
            "no deltas",
            Readings {
                without_deltas: true,
                without_times: true,
                ..base()
            },
        ),
        (
            "same ids",
            Readings {
                keeps_draft_ids: true,
                forgets_tools: true,
                page: (3, 3),
                ..base()
            },
        ),
    ];
    for (name, readings) in readings {
        check(
            name,
            false,
            || Box::new(pheby::Pheby::new(setup(), readings.clone())),
            4,
            &[true, false],
        );
    }
}

#[test]
fn an_iris_line_of_any_reading_may_be_cut() {
    use iris::{Echo, Readings, Receipt, SyncCursor};
    let base = Readings::default;
    let readings = [
        (
            "echo without id",
            &[true, false][..],
            Readings {
                echo: Echo::AllWithoutId,
                receipt: Receipt::AfterEchoWithoutId,
                sync_cursor: SyncCursor::Zero,
                ..base()
            },
        ),
        (
            "echo to others only",
            &[true, false],
            Readings {
                echo: Echo::OthersOnly,
                receipt: Receipt::BeforeEchoWithId,
                sync_cursor: SyncCursor::Delivered,
                ..base()
            },
        ),
        (
            // What was lost on the line counts as delivered there, and nothing brings it back.
            "only undelivered",
            &[false],
            Readings {
                replays_only_undelivered: true,
                history_newest_first: true,
                history_has_all_roles: true,
                ..base()
            },
        ),
    ];
    for (name, losses, readings) in readings {
        check(
            name,
            true,
            || Box::new(iris::Iris::new(setup(), readings.clone())),
            4,
            losses,
        );
    }
}
