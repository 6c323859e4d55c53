//! Bytes in, events out.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::input::key::{MouseEvent, MouseKind, TerminalReply};
use proptest::prelude::*;

const LATER: Millis = 1_000_000;

fn parse(bytes: &[u8]) -> Vec<TerminalEvent> {
    let mut parser = Parser::new(ParserOptions::local());
    let mut events = parser.feed(0, bytes);
    events.extend(parser.expire(LATER));
    events
}

fn key(text: &str) -> TerminalEvent {
    TerminalEvent::Key(Chord::parse(text).unwrap())
}

fn paste(text: &str) -> TerminalEvent {
    TerminalEvent::Paste(text.to_owned())
}

fn check(bytes: &str, keys: &[&str]) {
    let expected: Vec<_> = keys.iter().map(|k| key(k)).collect();
    assert_eq!(parse(bytes.as_bytes()), expected, "{bytes:?}");
}

#[test]
fn keys_of_old_terminals() {
    check("aA 漢", &["a", "A", "space", "漢"]);
    check("\r", &["enter"]);
    check("\n", &["ctrl-j"]);
    check("\t\x7f\x08", &["tab", "backspace", "ctrl-h"]);
    check(
        "\x00\x01\x03\x1a\x1f",
        &["ctrl-space", "ctrl-a", "ctrl-c", "ctrl-z", "ctrl-_"],
    );
    check("\x1ba\x1bA\x1b1", &["alt-a", "alt-shift-a", "alt-1"]);
    check("\x1b\r\x1b\x7f", &["alt-enter", "alt-backspace"]);
    check("\x1b[A\x1bOB\x1b[C\x1bOD", &["up", "down", "right", "left"]);
    check(
        "\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~",
        &["home", "end", "home", "end", "home", "end"],
    );
    check(
        "\x1b[2~\x1b[3~\x1b[5~\x1b[6~",
        &["insert", "delete", "pageup", "pagedown"],
    );
    check(
        "\x1bOP\x1b[11~\x1b[15~\x1b[24~\x1b[[A",
        &["f1", "f1", "f5", "f12", "f1"],
    );
    check("\x1b[Z", &["shift-tab"]);
    check(
        "\x1b[1;5A\x1b[1;3B\x1b[1;2C\x1b[5;5~",
        &["ctrl-up", "alt-down", "shift-right", "ctrl-pageup"],
    );
    check(
        "\x1b[a\x1b[3^\x1bOa",
        &["shift-up", "ctrl-delete", "ctrl-up"],
    );
    check("\x1b\x1b[A", &["alt-up"]);
    check("\x1b\x1b", &["esc", "esc"]);
}

#[test]
fn keys_of_the_kitty_protocol() {
    check(
        "\x1b[27u\x1b[13;2u\x1b[9;2u\x1b[127;5u",
        &["esc", "shift-enter", "shift-tab", "ctrl-backspace"],
    );
    check(
        "\x1b[99;5u\x1b[97;3u\x1b[120;6u",
        &["ctrl-c", "alt-a", "ctrl-shift-x"],
    );
    // Only a press and a repeat are keys; keys of the desktop are none of ours.
    check(
        "\x1b[99;5:1u\x1b[99;5:2u\x1b[99;5:3u\x1b[99;9u\x1b[57441;2u",
        &["ctrl-c", "ctrl-c"],
    );
    check("\x1b[97:65;2u\x1b[49:33;2u\x1b[97;;228u", &["A", "!", "ä"]);
    check("\x1b[1;1:3A\x1b[57399u\x1b[57414u", &["0", "enter"]);
}

#[test]
fn modify_other_keys() {
    check(
        "\x1b[27;2;13~\x1b[27;5;99~\x1b[27;3;120~",
        &["shift-enter", "ctrl-c", "alt-x"],
    );
}

#[test]
fn row_34_other_layouts_reach_the_same_keys() {
    check("\x1b[1089::99;5u", &["ctrl-c"]);
    check("\x1b[1084::118;5u", &["ctrl-v"]);
    check("\x1b[27;5;1084~", &["ctrl-v"]);
    check("\x1b[1089;5u", &["ctrl-c"]);
    check("\x1bф", &["alt-a"]);
    check("ф", &["ф"]);
}

#[test]
fn row_33_every_way_to_a_new_line_is_its_own_key() {
    check("\x1b[13;2u", &["shift-enter"]);
    check("\x1b[27;2;13~", &["shift-enter"]);
    check("\x1b\r", &["alt-enter"]);
    check("\n", &["ctrl-j"]);
    check("\\\r", &["\\", "enter"]);
}

#[test]
fn row_35_a_paste_without_end_ends_by_itself() {
    let mut parser = Parser::new(ParserOptions::local());
    assert_eq!(parser.feed(0, b"\x1b[200~abc"), []);
    assert_eq!(parser.deadline(), Some(1000));
    assert_eq!(parser.expire(999), []);
    assert_eq!(parser.expire(1000), [paste("abc")]);
    assert_eq!(parser.feed(3000, b"x\x03"), [key("x"), key("ctrl-c")]);
    // The clock is heard even when nobody asked at the deadline.
    parser.feed(3000, b"\x1b[200~");
    assert_eq!(parser.feed(6000, b"x\x03"), [key("x"), key("ctrl-c")]);
}

#[test]
fn row_35_reports_inside_a_paste_are_taken_out() {
    assert_eq!(
        parse(b"\x1b[200~a \x1b[I b \x1b[<35;3;3M c\x1b[201~d"),
        [paste("a  b  c"), key("d")]
    );
}

#[test]
fn row_35_a_burst_without_brackets_is_one_text() {
    assert_eq!(parse(b"a\rb\rc"), [key("a"), paste("\nb\nc")]);
    assert_eq!(parse(b"a\r\r"), [key("a"), paste("\n\n")]);
    // An Enter that was typed quickly and came with the word before it is an Enter.
    assert_eq!(
        parse(b"yes\r"),
        [key("y"), key("e"), key("s"), key("enter")]
    );
    let mut parser = Parser::new(ParserOptions::local());
    assert_eq!(parser.feed(0, b"a\r"), [key("a")]);
    assert_eq!(parser.feed(9, b"b"), [key("enter"), key("b")]);
}

#[test]
fn an_enter_after_a_pause_is_typed_whatever_follows() {
    // A slow link, or a machine that was busy, hands over several keys at once.
    let mut parser = Parser::new(ParserOptions::local());
    parser.feed(0, b"words");
    assert_eq!(
        parser.feed(150, b"\rnext"),
        [key("enter"), key("n"), key("e"), key("x"), key("t")]
    );
    assert_eq!(parser.feed(300, b"\r"), [key("enter")]);
    assert_eq!(parser.deadline(), None, "Enter waits for nothing");
    assert_eq!(parser.feed(303, b"a"), [key("a")]);
    // In the middle of a stream it is a line break, in one read or in several.
    parser.feed(500, b"one");
    assert_eq!(parser.feed(507, b"\r"), []);
    assert_eq!(parser.feed(514, b"two"), []);
    assert_eq!(parser.expire(LATER), [paste("\ntwo")]);
}

#[test]
fn where_pastes_come_in_brackets_every_enter_was_typed() {
    let mut parser = Parser::new(ParserOptions::local());
    parser.feed(0, b"\x1b[200~pasted\x1b[201~");
    assert_eq!(
        parser.feed(20, b"a\rb\r"),
        [key("a"), key("enter"), key("b"), key("enter")]
    );
    let mut kitty = Parser::new(ParserOptions {
        is_kitty: true,
        ..ParserOptions::local()
    });
    assert_eq!(kitty.feed(0, b"a\rb"), [key("a"), key("enter"), key("b")]);
}

#[test]
fn a_large_paste_is_cut_and_does_not_spill() {
    let mut parser = Parser::new(ParserOptions {
        paste_limit: 10,
        ..ParserOptions::local()
    });
    let mut events = parser.feed(
        0,
        b"\x1b[200~0123456789abcdefghijklmnopqrstuvwxyz\x1b[201~!",
    );
    events.extend(parser.expire(LATER));
    assert_eq!(events, [paste("0123456789"), key("!")]);
}

#[test]
fn an_arrow_cut_by_a_slow_link_stays_an_arrow() {
    let mut parser = Parser::new(ParserOptions::remote());
    assert_eq!(parser.feed(0, b"\x1b"), []);
    assert_eq!(parser.feed(200, b"[A"), [key("up")]);
    let mut parser = Parser::new(ParserOptions::local());
    assert_eq!(parser.feed(0, b"\x1b[<35;10"), []);
    assert_eq!(
        parser.feed(300, b"0;5M"),
        [TerminalEvent::Mouse(MouseEvent {
            kind: MouseKind::Moved,
            column: 99,
            row: 4,
            modifiers: Modifiers::default(),
        })]
    );
}

#[test]
fn escape_alone_waits_as_long_as_the_link_needs() {
    let mut parser = Parser::new(ParserOptions::local());
    parser.feed(0, b"\x1b");
    assert_eq!(parser.deadline(), Some(50));
    assert_eq!(parser.expire(50), [key("esc")]);
    let mut parser = Parser::new(ParserOptions::remote());
    parser.feed(0, b"\x1b");
    assert_eq!(parser.deadline(), Some(250));
}

#[test]
fn answers_are_reported_and_never_typed() {
    use TerminalReply::*;
    let cases: &[(&[u8], TerminalReply)] = &[
        (b"\x1b]11;rgb:ffff/8080/0000\x1b\\", Background(255, 128, 0)),
        (b"\x1b]10;rgb:ff/80/00\x07", Foreground(255, 128, 0)),
        (
            b"\x1b[?2026;2$y",
            Mode {
                mode: 2026,
                state: 2,
            },
        ),
        (b"\x1b[?62;4;22c", DeviceAttributes(vec![62, 4, 22])),
        (b"\x1b[?997;1n", ThemeIsDark(true)),
        (b"\x1b[?5u", KeyboardFlags(5)),
        (
            b"\x1bP>|kitty(0.36)\x1b\\",
            Version("kitty(0.36)".to_owned()),
        ),
        (b"\x1b_Gi=31;OK\x1b\\", KittyGraphics { ok: true }),
        (b"\x1b_Gi=31;ENOENT\x1b\\", KittyGraphics { ok: false }),
        (
            b"\x1b[4;600;800t",
            PixelSize {
                width: 800,
                height: 600,
            },
        ),
        (
            b"\x1b[6;20;10t",
            CellSize {
                width: 10,
                height: 20,
            },
        ),
        (
            b"\x1b[12;40R",
            CursorPosition {
                column: 39,
                row: 11,
            },
        ),
        (
            b"\x1bP1$r48:2::1:2:3m\x1b\\",
            Status("1$r48:2::1:2:3m".to_owned()),
        ),
    ];
    for (bytes, reply) in cases {
        assert_eq!(parse(bytes), [TerminalEvent::Reply(reply.clone())]);
    }
}

#[test]
fn what_was_not_asked_for_is_swallowed() {
    for bytes in [
        &b"\x1b]52;c;aGVsbG8=\x07"[..],
        b"\x1b]52;c;aGVsbG8=\x1b\\",
        b"\x1b[>1;10;0c",
        b"\x1b[0n",
        b"\x1bP!|00000000\x1b\\",
        b"\x1b[<0;0;0M",
        b"\x1b[<0;99999999999999;1M",
        b"\x1b[<0;70000;1M",
        b"\x1b[201~",
        b"\x1b[99999999999999999999;5~",
        b"\xff\xfe\x80",
    ] {
        assert_eq!(parse(bytes), [], "{bytes:?}");
    }
}

#[test]
fn a_position_is_told_from_a_function_key_by_what_was_asked() {
    check("\x1b[1;2R", &["shift-f3"]);
    let mut parser = Parser::new(ParserOptions::local());
    parser.expect_position();
    assert_eq!(
        parser.feed(0, b"\x1b[1;2R\x1b[1;2R"),
        [
            TerminalEvent::Reply(TerminalReply::CursorPosition { column: 1, row: 0 }),
            key("shift-f3"),
        ]
    );
}

#[test]
fn focus_and_size() {
    assert_eq!(
        parse(b"\x1b[I\x1b[O\x1b[48;40;120;800;1200t"),
        [
            TerminalEvent::Focus(true),
            TerminalEvent::Focus(false),
            TerminalEvent::Resize {
                columns: 120,
                rows: 40
            },
        ]
    );
}

#[test]
fn alt_with_an_opener_is_a_key_when_nothing_follows() {
    check("\x1b]", &["alt-]"]);
    check("\x1b[", &["alt-["]);
    check("\x1bO", &["alt-shift-o"]);
    check("\x1b]hi", &["alt-]", "h", "i"]);
    check("\x1b_x", &["alt-_", "x"]);
}

/// Pieces that terminals send, cut, doubled and mixed with noise.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => prop::collection::vec(any::<u8>(), 0..8),
        2 => prop::sample::select(vec![
            "\x1b[A", "\x1b[<35;10;5M", "\x1b[200~", "\x1b[201~", "a\rb", "\r", "\x1b", "\x1b[1;5",
            "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1bP>|x\x1b\\", "\x1b[1089::99;5u", "漢字", "é",
            "\x1b[27;2;13~", "\x1bOP", "\x1b[M !!", "\x1b_G", "\x1b]", "\x1b[[",
        ]).prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same_events(bytes in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let whole = parse(&bytes);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut parser = Parser::new(ParserOptions::local());
        let mut events = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            events.extend(parser.feed(0, &bytes[from..cut]));
            from = cut;
        }
        events.extend(parser.expire(LATER));
        prop_assert_eq!(events, whole);
        prop_assert_eq!(parser.deadline(), None);
    }

    #[test]
    fn no_text_holds_a_control_character(bytes in stream()) {
        for event in parse(&bytes) {
            match event {
                TerminalEvent::Paste(text) => {
                    prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
                }
                TerminalEvent::Key(Chord { key: Key::Char(c), .. }) => prop_assert!(!c.is_control()),
                _ => {}
            }
        }
    }
}

#[test]
fn a_string_that_never_ends_does_not_swallow_what_is_typed_behind_it_for_ever() {
    let mut parser = Parser::new(ParserOptions::local());
    parser.feed(0, b"\x1b]11;rgb:never");
    let typed: usize = (1..100)
        .map(|turn| parser.feed(turn * 100, b"x").len())
        .sum();
    assert!((60..=72).contains(&typed), "{typed} of 99 keys");
}
