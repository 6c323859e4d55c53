//! The complaints of the field that begin at the keyboard.

use super::desk::*;

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
fn a_draft_is_on_disk_within_a_quarter_of_a_second() {
    let mut desk = Desk::new();
    desk.text("dra");
    assert!(!desk.said().iter().any(|word| word.starts_with("keep")));
    desk.wait(200).text("ft").wait(50);
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
fn a_folded_paste_is_folded_after_a_restart() {
    let mut desk = Desk::new();
    let pasted: String = (0..13).map(|n| format!("line {n}\n")).collect();
    desk.text("see ").paste(&pasted).text(" ok").wait(250);
    let kept = desk
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Commit { writes, .. } => Some(writes),
            _ => None,
        })
        .flatten()
        .find_map(|write| match write {
            Write::Draft { draft, .. } => draft.clone(),
            _ => None,
        })
        .unwrap();
    let whole = format!("see {pasted} ok");
    assert_eq!(kept.text, whole);

    let mut desk = Desk::new();
    desk.conversation("a").composer.restore(&kept);
    let shown = desk.conversation("a").composer.shown(80);
    assert!(shown.text.contains("13 lines") && !shown.text.contains("line 7"));
    assert!(shown.text.starts_with("see ") && shown.text.ends_with(" ok"));
    desk.press("left left left left");
    assert_eq!(desk.conversation("a").composer.caret(), "see ".len());
    desk.press("enter");
    assert!(has(&desk.said(), &format!("send a {whole:?}")));
}

#[test]
fn a_fold_that_does_not_fit_its_draft_loses_no_text() {
    let mut desk = Desk::new();
    let kept = DraftRecord {
        text: "häßlich".to_owned(),
        caret: 2,
        // Inside a letter, backwards, over another, empty, past the end.
        folded: [(0, 2), (3, 1), (0, 3), (1, 4), (5, 5), (5, 99)]
            .map(|(from, to)| from..to)
            .to_vec(),
        ..DraftRecord::default()
    };
    desk.conversation("a").composer.restore(&kept);
    assert_eq!(
        desk.conversation("a").composer.chips(),
        std::slice::from_ref(&(0..3))
    );
    desk.press("enter");
    assert!(has(&desk.said(), "send a \"häßlich\""));
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

#[test]
fn undo_is_one_key_with_and_without_the_kitty_protocol() {
    for bytes in [
        &b"\x1f"[..],
        b"\x1b[45;6u",
        b"\x1b[45:95;6u",
        b"\x1b[47;5u",
        b"\x1b[27;6;95~",
    ] {
        let mut desk = Desk::new();
        desk.text("draft").press("ctrl-u").bytes(&[bytes], 0);
        assert_eq!(desk.draft(), "draft", "{bytes:?}");
    }
}
