//! No keys, in whatever order, break anything.

use super::desk::*;
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
