//! Pictures and a film of the program for the README, drawn by the program itself on the demo gateway:
//!
//! ```sh
//! TRIALOGUE_PICTURES=assets cargo test --test pictures
//! ```
//!
//! Without the variable nothing is written and only one scene is played, to see that it can be.
#![allow(clippy::unwrap_used)]

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::path::Path;
use std::time::Duration;
use trialogue::app::event::Event;
use trialogue::app::state::{Ids, Settings};
use trialogue::app::{Action, State, actions};
use trialogue::config::account::{AccountConfig, Endpoint, NetworkEndpoint};
use trialogue::config::paths::Paths;
use trialogue::demo::{self, DemoOptions};
use trialogue::domain::{AccountId, LinkState, Secret};
use trialogue::input::TerminalEvent;
use trialogue::runtime::clock::Clock;
use trialogue::runtime::desktop::Place;
use trialogue::runtime::engine::{Engine, Surroundings};
use trialogue::view::theme::{Depth, Theme};
use trialogue::view::{self, Memo};

const COLUMNS: u16 = 112;
const ROWS: u16 = 34;

/// A whole program without a terminal.
struct Stage {
    engine: Engine,
    memo: Memo,
    _served: demo::Served,
    _home: tempfile::TempDir,
    size: (u16, u16),
    /// Frames of the film with the milliseconds each is shown.
    frames: Vec<(Buffer, u32)>,
}

impl Stage {
    async fn new(speed: u32, size: (u16, u16)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut options = DemoOptions::default();
        options.setup.speed = speed;
        let served = demo::serve(([127, 0, 0, 1], 0).into(), options)
            .await
            .unwrap();
        let clock = Clock::start();
        let (store, facts) = trialogue::store::memory().unwrap();
        let state = State::new(
            Ids {
                instance: 1,
                next: 1 << 32,
            },
            Settings::default(),
            clock.now(),
        );
        let around = Surroundings {
            paths: Paths::inside(home.path()),
            place: Place::default(),
            clock,
            working_directory: home.path().to_owned(),
            no_keyring: true,
            recorder: None,
            stage: None,
            is_throwaway: true,
        };
        let mut engine = Engine::new(state, store, around, None);
        for gateway in &served.gateways {
            let endpoint = NetworkEndpoint {
                url: gateway.url.clone(),
                ..NetworkEndpoint::default()
            };
            let (name, endpoint) = match gateway.protocol {
                "pheby" => ("pheby@vps", Endpoint::Pheby(endpoint)),
                "iris" => ("iris@home", Endpoint::Iris(endpoint)),
                _ => continue,
            };
            engine.know_secret(&AccountId::new(name), Secret::new(gateway.secret.clone()));
            engine.add_account(AccountConfig::new(name, endpoint));
        }
        engine.restore(facts);
        engine.apply(Event::Terminal(TerminalEvent::Resize {
            columns: size.0,
            rows: size.1,
        }));
        engine.connect_all();
        let mut stage = Self {
            engine,
            memo: Memo::default(),
            _served: served,
            _home: home,
            size,
            frames: Vec::new(),
        };
        stage
            .until("every account to be online", |state| {
                state
                    .accounts
                    .iter()
                    .all(|account| account.account.link == LinkState::Ready)
                    && state
                        .focused()
                        .is_some_and(|(_, _, here)| !here.timeline.entries.is_empty())
            })
            .await;
        stage
    }

    async fn until(&mut self, what: &str, holds: impl Fn(&State) -> bool) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(40);
        while !holds(&self.engine.state) {
            let happening = tokio::time::timeout_at(deadline, self.engine.wait())
                .await
                .unwrap_or_else(|_| panic!("waited for {what}"));
            self.engine.take(happening);
            self.engine.flush();
            drop(self.engine.take_front_effects());
        }
    }

    fn type_text(&mut self, text: &str) {
        self.engine
            .apply(Event::Terminal(TerminalEvent::Paste(text.to_owned())));
        self.perform(Action::Send);
    }

    fn perform(&mut self, action: Action) {
        self.engine
            .perform(|state, now| actions::perform(state, now, action));
        self.engine.flush();
        drop(self.engine.take_front_effects());
    }

    /// The screen, coloured, as a picture.
    fn picture(&mut self, theme: &str) -> String {
        let theme = Theme::named(theme, Depth::TrueColor).unwrap();
        view::svg(&self.drawn(&theme), &theme)
    }

    fn drawn(&mut self, theme: &Theme) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.0, self.size.1));
        // The second and third frame know what the ones before found: places, then colours.
        for _ in 0..3 {
            buffer.reset();
            let drawn = view::draw(&self.engine.state, &mut self.memo, theme, &mut buffer);
            for job in &drawn.wants {
                self.memo
                    .coloured(trialogue::render::highlight::colour(job));
            }
            if let Some(facts) = drawn.facts {
                self.engine.apply(Event::Layout(Box::new(facts)));
            }
        }
        buffer
    }

    /// One frame more of the film.
    fn shoot(&mut self, ms: u32) {
        let theme = Theme::named("dark", Depth::TrueColor).unwrap();
        let buffer = self.drawn(&theme);
        match self.frames.last_mut() {
            Some((last, shown)) if *last == buffer => *shown += ms,
            _ => self.frames.push((buffer, ms)),
        }
    }

    /// Shoots until something holds.
    async fn shoot_until(&mut self, what: &str, holds: impl Fn(&State) -> bool) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(40);
        let mut shot = tokio::time::Instant::now();
        while !holds(&self.engine.state) {
            let happening = tokio::time::timeout_at(deadline, self.engine.wait())
                .await
                .unwrap_or_else(|_| panic!("waited for {what}"));
            self.engine.take(happening);
            self.engine.flush();
            drop(self.engine.take_front_effects());
            let passed = shot.elapsed();
            if passed > Duration::from_millis(140) {
                shot = tokio::time::Instant::now();
                self.shoot(u32::try_from(passed.as_millis()).unwrap().min(700));
            }
        }
        self.shoot(140);
    }

    /// Types as a person does.
    fn shoot_typing(&mut self, text: &str) {
        for letter in text.chars() {
            let chord = trialogue::input::Chord::plain(trialogue::input::Key::Char(letter));
            self.engine
                .apply(Event::Terminal(TerminalEvent::Key(chord)));
            self.engine.flush();
            drop(self.engine.take_front_effects());
            self.shoot(110);
        }
    }
}

/// A question that waits here.
fn asked(state: &State) -> bool {
    state
        .accounts
        .iter()
        .any(|account| account.decisions.iter().any(|d| d.life.is_open()))
}

/// An answer to a question of the agent, from the first letter to the last.
async fn film() -> String {
    let mut stage = Stage::new(150, (84, 26)).await;
    stage.shoot(1_200);
    stage.shoot_typing("approve");
    stage.shoot(400);
    stage.perform(Action::Send);
    stage.shoot_until("an approval", asked).await;
    stage.shoot(1_600);
    stage.perform(Action::OpenDecision);
    stage.shoot(2_600);
    // Keys count only a moment after the popup was seen.
    stage
        .shoot_until("the popup to take keys", {
            let from = tokio::time::Instant::now();
            move |_| from.elapsed() > Duration::from_millis(600)
        })
        .await;
    stage.perform(Action::Accept);
    stage.shoot(600);
    stage.shoot_typing("not today");
    stage.shoot(500);
    stage.perform(Action::Accept);
    stage.shoot_until("the next question", asked).await;
    stage.shoot(3_000);
    let theme = Theme::named("dark", Depth::TrueColor).unwrap();
    view::film(&stage.frames, &theme)
}

fn idle(state: &State) -> bool {
    state
        .focused()
        .is_some_and(|(_, _, here)| here.run.is_none())
        && state
            .accounts
            .iter()
            .all(|account| account.outbox.is_empty())
}

fn running(state: &State) -> bool {
    state
        .focused()
        .is_some_and(|(_, _, here)| here.run.is_some())
}

#[test]
fn the_program_draws_its_own_pictures() {
    let folder = std::env::var_os("TRIALOGUE_PICTURES");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut stage = Stage::new(600, (COLUMNS, ROWS)).await;
        stage.type_text("review");
        stage.until("a run", running).await;
        stage.until("the review", idle).await;
        let dark = stage.picture("dark");
        assert!(dark.starts_with("<svg") && dark.contains("</svg>"));
        let Some(folder) = folder else { return };
        let folder = Path::new(&folder);
        std::fs::write(folder.join("screen-dark.svg"), dark).unwrap();
        std::fs::write(folder.join("screen-light.svg"), stage.picture("light")).unwrap();
        stage.type_text("approve");
        stage.until("an approval", asked).await;
        stage.perform(Action::OpenDecision);
        std::fs::write(folder.join("approval-dark.svg"), stage.picture("dark")).unwrap();
        std::fs::write(folder.join("film-dark.svg"), film().await).unwrap();
    });
    runtime.shutdown_timeout(Duration::from_millis(500));
}
