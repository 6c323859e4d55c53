//! A program that takes what a driver says and is looked at through a terminal model.

use super::moment;
use super::random::Random;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::num::NonZeroU16;
use trialogue::app::state::{AccountState, Ids, Settings};
use trialogue::app::update::{flush, update};
use trialogue::app::{Event, State, conversation};
use trialogue::domain::{AccountEvent, AccountId};
use trialogue::input::{Chord, Key, TerminalEvent};
use trialogue::paint::{PaintOptions, Painter};
use trialogue::text::SafeText;
use trialogue::view::{Depth, Memo, Theme, draw};

/// What a terminal was told besides showing text.
#[derive(Default)]
struct Orders(Vec<&'static str>);

impl vt100::Callbacks for Orders {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("bell");
    }
    fn set_window_title(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("title");
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.0.push("copy");
    }
    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("paste");
    }
    fn unhandled_control(&mut self, _: &mut vt100::Screen, _: u8) {
        self.0.push("control");
    }
}

pub struct Screen {
    state: State,
    now: u64,
    columns: u16,
    rows: u16,
}

fn account() -> AccountId {
    "test".into()
}

impl Screen {
    pub fn new(random: &mut Random) -> Self {
        let ids = Ids {
            instance: 1,
            next: 1,
        };
        let mut state = State::new(ids, Settings::default(), moment(1_000));
        state.is_loading = false;
        state
            .accounts
            .push(AccountState::new(account(), SafeText::label("test")));
        let (columns, rows) = *random.pick(&[(80, 24), (120, 40), (40, 12), (20, 5), (7, 3)]);
        state.screen.columns = columns;
        state.screen.rows = rows;
        Self {
            state,
            now: 1_000,
            columns,
            rows,
        }
    }

    fn tell(&mut self, event: Event) {
        self.now += 7;
        let _ = update(&mut self.state, moment(self.now), event);
        let _ = flush(&mut self.state);
    }

    pub fn take(&mut self, event: Box<AccountEvent>) {
        self.tell(Event::Account {
            account: account(),
            event,
        });
    }

    /// Goes through the conversations and popups and has each drawn.
    pub fn look(&mut self, random: &mut Random) {
        let ids: Vec<_> = self.state.accounts[0]
            .conversations
            .keys()
            .cloned()
            .collect();
        for id in ids.iter().take(4) {
            let _ = conversation::focus(&mut self.state, moment(self.now), &account(), id);
            if let Some(here) = self.state.accounts[0].conversations.get_mut(id) {
                // The store has nothing to add.
                here.timeline.is_loaded = true;
                let mut tail = std::mem::take(&mut here.timeline.tail);
                here.timeline.entries.append(&mut tail);
            }
            self.paint();
            let keys = [
                Chord::alt(Key::Char('a')),
                Chord::plain(Key::Escape),
                Chord::plain(Key::PageUp),
                Chord::plain(Key::Up),
                Chord::plain(Key::Enter),
                Chord::ctrl('k'),
                Chord::plain(Key::Tab),
            ];
            for _ in 0..3 {
                self.tell(Event::Terminal(TerminalEvent::Key(*random.pick(&keys))));
                self.paint();
            }
        }
    }

    fn paint(&mut self) {
        let theme = Theme::named("dark", Depth::TrueColor).unwrap();
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.columns, self.rows));
        let _ = draw(&self.state, &mut Memo::default(), &theme, &mut buffer);
        let bytes = Painter::new(self.columns, self.rows, PaintOptions::default()).paint(
            &buffer,
            &[],
            None,
        );
        let size = |n| NonZeroU16::new(n).unwrap();
        let mut terminal = vt100::Parser::new_with_callbacks(
            size(self.rows),
            size(self.columns),
            0,
            Orders::default(),
        );
        terminal.process(&bytes);
        assert_eq!(terminal.callbacks().0, Vec::<&str>::new());
        let screen = terminal.screen();
        assert!(!screen.bracketed_paste() && !screen.alternate_screen());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        let shown = screen.contents();
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
    }
}
