//! What stands over the composer, in the status line, and over everything for a while.

use super::*;

/// The row with these words.
fn row<'a>(shown: &'a str, words: &str) -> &'a str {
    let found = shown.lines().find(|row| row.contains(words));
    found.unwrap_or_else(|| panic!("{words:?} is missing:\n{shown}"))
}

fn unsent(at: u64, conversation: &str, delivery: Delivery) -> OutboxRecord {
    OutboxRecord {
        key: MessageKey(900 + at),
        account: "iris".into(),
        conversation: conversation.into(),
        text: "and write the notes".to_owned(),
        files: Vec::new(),
        reply_to: None,
        auto_thread: false,
        delivery,
        created_ms: NOW.wall_ms,
        instance: 1,
        position: at as i64,
    }
}

#[test]
fn a_server_that_gives_no_answer_is_named_with_the_seconds_and_a_way_out() {
    let mut state = busy();
    state.accounts[0].account.silent_since = Some(before(12));
    let shown = words(&state, 120, 40);
    assert!(
        row(&shown, "#research  iris@home").contains("no answer for 12 s"),
        "{shown}"
    );
    let strip = row(&shown, "no answer from the server for 12 s");
    assert!(strip.ends_with("/connect dials anew"), "{strip}");
    // On a narrow screen there is room for both.
    let shown = words(&state, 60, 18);
    let strip = row(&shown, "no answer from the server for 12 s");
    assert!(strip.ends_with("/connect dials anew"), "{strip}");
}

#[test]
fn a_message_that_waits_is_counted_in_one_place() {
    let mut state = busy();
    state.accounts[0].outbox = vec![unsent(0, "c-research", Delivery::Queued)];
    let shown = words(&state, 120, 40);
    assert!(
        shown.contains("1 queued") && !shown.contains("unsent"),
        "{shown}"
    );
    // What waits elsewhere has no strip here.
    state.accounts[0]
        .outbox
        .push(unsent(1, "c-thread", Delivery::Queued));
    state.accounts[0]
        .outbox
        .push(unsent(2, "c-research", Delivery::Uncertain));
    let shown = words(&state, 120, 40);
    assert!(
        shown.contains("1 queued") && shown.contains("2 unsent"),
        "{shown}"
    );
}

#[test]
fn a_message_that_a_server_slowed_down_says_when_it_goes() {
    let mut state = busy();
    let waits = unsent(0, "c-research", Delivery::Queued);
    let until = NOW.after(std::time::Duration::from_millis(7_300));
    let hold = trialogue::app::state::Hold::Until(until);
    state.accounts[0].held.insert(waits.key, hold);
    state.accounts[0].outbox = vec![waits];
    let shown = words(&state, 60, 18);
    let strip = row(&shown, "1 queued");
    assert!(strip.contains("goes in 8 s  and write"), "{strip}");
}

#[test]
fn a_bar_of_one_row_says_how_many_lines_follow_however_long_the_first_is() {
    let mut state = busy();
    let command = format!("echo {}\nsecond\nthird", "long ".repeat(60));
    state.accounts[0]
        .decisions
        .push(approval("d1", "c-research", &command));
    let shown = words(&state, 80, 24);
    let bar = row(&shown, "! approval  echo long");
    assert!(bar.contains("… +2 lines  1 min"), "{bar}");
    // So does the list of all that waits.
    state.screen.overlays.push(Overlay::Attention {
        list: List::default(),
    });
    let shown = words(&state, 80, 24);
    assert!(
        row(&shown, "▌  echo long").contains("+2 lines · research"),
        "{shown}"
    );
}

/// What the frame of a popup holds, with the frame.
fn framed(shown: &str) -> Vec<String> {
    let rows: Vec<Vec<char>> = shown.lines().map(|row| row.chars().collect()).collect();
    let corner = |mark: char| {
        let places = rows.iter().enumerate();
        places
            .filter_map(|(y, row)| Some((row.iter().position(|c| *c == mark)?, y)))
            .next()
            .unwrap_or_else(|| panic!("{mark} is missing:\n{shown}"))
    };
    let ((left, top), (right, bottom)) = (corner('╭'), corner('╯'));
    let inside = |row: &Vec<char>| row[left..=right.min(row.len() - 1)].iter().collect();
    rows[top..=bottom].iter().map(inside).collect()
}

fn toast(text: &str) -> Toast {
    Toast {
        text: safe(text),
        severity: Severity::Done,
        until: NOW.after(std::time::Duration::from_secs(3)),
    }
}

#[test]
fn words_that_go_by_themselves_cover_no_popup() {
    let said = "Copied to the clipboard of the terminal, not confirmed.";
    for (columns, rows) in [(40, 10), (60, 18), (80, 24), (120, 40), (200, 60)] {
        let mut state = busy();
        state.screen.overlays.push(Overlay::Palette {
            filter: Line::default(),
            list: List::default(),
        });
        let without = words(&state, columns, rows);
        state.screen.toasts = vec![toast("An earlier word."), toast(said)];
        let with = words(&state, columns, rows);
        assert!(with.contains("Copied to the"), "{columns}x{rows}\n{with}");
        assert_eq!(framed(&without), framed(&with), "{columns}x{rows}\n{with}");
    }
}

#[test]
fn the_first_popup_stands_before_nothing_else() {
    let mut state = empty();
    assert!(words(&state, 120, 40).contains("No account yet"));
    state.screen.overlays.push(Overlay::Welcome {
        list: List::default(),
    });
    let shown = words(&state, 120, 40);
    assert!(!shown.contains("one."), "{shown}");
}

#[test]
fn the_menu_of_an_entry_names_the_keys_of_the_timeline() {
    let mut state = busy();
    let key = here(&mut state).timeline.entries.last().unwrap().key;
    state.screen.overlays.push(Overlay::EntryMenu {
        key,
        list: List::default(),
    });
    let shown = words(&state, 120, 40);
    for (does, keys) in [("Copy the entry", "y"), ("Reply to the message", "r")] {
        let row = row(&shown, does);
        assert!(row.contains(&format!(" {keys}  │")), "{row}");
    }
}

#[test]
fn with_ascii_only_no_screen_of_ours_holds_anything_else() {
    let mut state = busy();
    state.settings.ascii = true;
    let decision = approval("d1", "c-research", "rm -rf build\ncargo build --release");
    state.accounts[0].decisions.push(decision);
    state.accounts[0].account.silent_since = Some(before(12));
    state.accounts[0].outbox = vec![unsent(0, "c-research", Delivery::Queued)];
    here(&mut state).viewport.delta = -5;
    let key = here(&mut state).timeline.entries.last().unwrap().key;
    let (filter, list) = (Line::default, List::default);
    for overlay in [
        None,
        Some(Overlay::Palette {
            filter: filter(),
            list: list(),
        }),
        Some(Overlay::Switcher {
            filter: filter(),
            list: list(),
        }),
        Some(Overlay::Help {
            scroll: 0,
            filter: filter(),
        }),
        Some(Overlay::Attention { list: list() }),
        Some(Overlay::EntryMenu { key, list: list() }),
        Some(Overlay::Decision(decision_popup("d1"))),
        Some(Overlay::Account {
            account: "iris".into(),
            scroll: 0,
        }),
        Some(Overlay::Welcome { list: list() }),
    ] {
        state.screen.overlays.clear();
        state.screen.overlays.extend(overlay);
        for (columns, rows) in SIZES {
            let shown = words(&state, columns, rows);
            for row in shown.lines() {
                assert!(row.is_ascii(), "{columns}x{rows}: {row}\n{shown}");
            }
        }
    }
}
