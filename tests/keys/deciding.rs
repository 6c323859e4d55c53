//! Decisions: unfocused, armed late, never by accident.

use super::desk::*;

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
        popup.end_seen = true;
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
fn a_yes_comes_only_after_the_end_was_on_screen() {
    let mut desk = Desk::new();
    let command = format!("{}rm -rf x", "echo\n".repeat(200));
    desk.decides(approval(
        "d",
        &command,
        &[("once", Grant::Once), ("deny", Grant::Deny)],
    ));
    desk.press("alt-a").painted(false).press("up enter enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("answer")));
    let Some(Overlay::Decision(popup)) = desk.state.screen.overlays.last() else {
        panic!("the popup stays");
    };
    assert_eq!(popup.scroll, u16::MAX, "it goes to the end by itself");
    desk.painted(true).press("enter");
    assert!(has(&desk.said(), "answer d once None"));
    // A refusal needs no reading.
    desk.decides(approval(
        "e",
        &command,
        &[("once", Grant::Once), ("deny", Grant::Deny)],
    ));
    desk.press("alt-a").painted(false).press("enter");
    desk.wait(400).press("enter");
    assert!(has(&desk.said(), "answer e deny None"));
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
        assert!(
            !desk.said().iter().any(|word| word.starts_with("answer")),
            "a doubled press"
        );
        desk.wait(400).press("enter");
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
fn where_words_are_the_only_answer_they_are_typed_at_once() {
    let ask = |id: &str| Decision {
        question: Question::Clarification {
            question: "since when?".into(),
            takes_free_text: true,
        },
        ..approval(id, "", &[])
    };
    let mut desk = Desk::new();
    desk.decides(ask("d")).press("alt-a").painted(false);
    desk.text("last week").press("enter");
    assert!(has(&desk.said(), "answer d in words \"last week\""));
    desk.decides(ask("e")).press("alt-a").painted(false);
    desk.text("x").press("esc");
    assert_eq!(desk.popup(), "", "Esc puts it off");
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

fn answered_elsewhere(desk: &mut Desk, id: &str) {
    desk.event(Event::Account {
        account: "home".into(),
        event: Box::new(AccountEvent::live(Topic::Decision(
            DecisionEvent::Resolved {
                decision: id.into(),
                choice: Some("once".into()),
                command: None,
            },
        ))),
    });
}

#[test]
fn a_key_for_a_popup_that_just_closed_by_itself_sends_no_draft() {
    let mut desk = Desk::new();
    desk.text("half a thought");
    desk.decides(usual("d")).press("alt-a").painted(false);
    answered_elsewhere(&mut desk, "d");
    desk.press("enter");
    assert_eq!(desk.draft(), "half a thought");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    desk.press("enter");
    assert_eq!(desk.draft(), "", "the second press is meant");
    // Later nothing is in the way.
    desk.decides(usual("e")).press("alt-a").painted(false);
    answered_elsewhere(&mut desk, "e");
    desk.wait(1_000).text("whole").press("enter");
    assert_eq!(desk.draft(), "");
}

#[test]
fn one_answered_elsewhere_closes() {
    let mut desk = Desk::new();
    desk.decides(usual("d")).press("alt-a").painted(false);
    answered_elsewhere(&mut desk, "d");
    assert_eq!(desk.popup(), "");
    assert!(!desk.state.screen.toasts.is_empty());
}
