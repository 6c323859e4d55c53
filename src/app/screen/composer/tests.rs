//! What editing, undo, chips and history promise.

#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn composer(text: &str) -> Composer {
    let mut composer = Composer::default();
    composer.insert(text);
    composer
}

#[test]
fn typing_is_undone_by_words() {
    let mut composer = Composer::default();
    for c in "make it so".chars() {
        composer.insert(&c.to_string());
    }
    composer.undo();
    assert_eq!(composer.text(), "make it ");
    composer.undo();
    assert_eq!(composer.text(), "make ");
    composer.redo();
    assert_eq!(composer.text(), "make it ");
}

#[test]
fn a_chip_is_one_step_and_keeps_its_text() {
    let long = "line\n".repeat(13);
    let mut composer = composer("see ");
    composer.paste(&long);
    composer.insert("!");
    assert!(composer.text().contains(&long));
    assert!(composer.shown(80).text.contains("13 lines"));
    composer.go(Motion::Left, false);
    composer.go(Motion::Left, false);
    assert_eq!(composer.caret(), 4);
    composer.go(Motion::Right, false);
    composer.delete(Motion::Left);
    assert_eq!(composer.text(), "see !");
    composer.undo();
    assert!(composer.text().contains(&long));
    assert_eq!(composer.chips().len(), 1);
}

#[test]
fn what_was_taken_out_comes_back() {
    let mut composer = composer("long draft");
    let text = composer.take();
    composer.remember_input(&text);
    assert_eq!(composer.older(), HistoryStep::Moved);
    assert_eq!(composer.text(), "long draft");
    assert_eq!(composer.newer(), HistoryStep::Moved);
    assert_eq!(composer.text(), "");
    composer.undo();
    composer.undo();
    assert_eq!(composer.text(), "long draft");
}

#[test]
fn history_asks_the_store_when_its_own_inputs_end() {
    let mut composer = composer("draft");
    assert_eq!(composer.older(), HistoryStep::NeedsStore);
    composer.learn_inputs(vec!["b".to_owned(), "a".to_owned()]);
    composer.older();
    composer.older();
    assert_eq!(composer.text(), "a");
    assert_eq!(composer.older(), HistoryStep::End);
    composer.newer();
    composer.newer();
    assert_eq!(composer.text(), "draft");
}

#[test]
fn a_killed_line_comes_back_by_yank() {
    let mut composer = composer("one\ntwo");
    let gone = composer.delete(Motion::KillStart).unwrap();
    assert_eq!(composer.text(), "one\n");
    let kills = vec!["first".to_owned(), gone];
    composer.yank(&kills, false);
    assert_eq!(composer.text(), "one\ntwo");
    composer.yank(&kills, true);
    assert_eq!(composer.text(), "one\nfirst");
}

#[test]
fn rows_follow_the_width() {
    let mut composer = composer("alpha beta gamma");
    assert!(composer.go_rows(-1, 8));
    assert!(composer.go_rows(-1, 8));
    assert!(!composer.go_rows(-1, 8));
    assert!(composer.go_rows(1, 8));
}

#[test]
fn wide_clusters_are_one_step() {
    let mut composer = composer("漢字ab");
    composer.go(Motion::LineStart, false);
    composer.go(Motion::Right, false);
    assert_eq!(composer.shown(10).caret_column, 2);
    composer.delete(Motion::Left);
    assert_eq!(composer.text(), "字ab");
}

#[derive(Clone, Debug)]
enum Step {
    Insert(String),
    Paste(String),
    Go(Motion, bool),
    Delete(Motion),
    Rows(isize, usize),
    Cell(usize, usize, usize),
    Undo,
    Redo,
    Older,
    Newer,
    Yank(bool),
    Line,
    Unfold,
    Take,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = prop_oneof![
        "[a-c \n]{0,6}",
        prop::sample::select(vec![
            "漢字",
            "e\u{301}",
            "👨‍👩‍👧",
            "\t",
            "\u{202e}",
            "🇩🇪🇫🇷",
            "\u{200d}"
        ])
        .prop_map(str::to_owned),
    ];
    let motion = prop::sample::select(vec![
        Motion::Left,
        Motion::Right,
        Motion::WordLeft,
        Motion::WordRight,
        Motion::LineStart,
        Motion::LineEnd,
        Motion::KillStart,
        Motion::KillEnd,
        Motion::TextStart,
        Motion::TextEnd,
    ]);
    let step = prop_oneof![
        4 => text.prop_map(Step::Insert),
        1 => prop_oneof![Just("x".to_owned()), Just("line 漢\n".repeat(10))].prop_map(Step::Paste),
        4 => (motion.clone(), any::<bool>()).prop_map(|(m, e)| Step::Go(m, e)),
        2 => motion.prop_map(Step::Delete),
        1 => (-2isize..3, 1usize..12).prop_map(|(r, c)| Step::Rows(r, c)),
        1 => (0usize..5, 0usize..9, 1usize..9).prop_map(|(r, c, w)| Step::Cell(r, c, w)),
        1 => prop::sample::select(vec![
            Step::Undo, Step::Redo, Step::Older, Step::Newer, Step::Yank(false),
            Step::Yank(true), Step::Line, Step::Unfold, Step::Take,
        ]),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_typed_caret_chips_and_rows_stay_right(steps in steps(), columns in 1usize..20) {
        let mut composer = Composer::default();
        composer.learn_inputs(vec!["earlier 漢\n".repeat(20), "e\u{301}".to_owned()]);
        let mut kills = vec!["killed".to_owned()];
        for step in steps {
            match step {
                Step::Insert(text) => composer.insert(&text),
                Step::Paste(text) => composer.paste(&text),
                Step::Go(motion, extends) => composer.go(motion, extends),
                Step::Delete(motion) => kills.extend(composer.delete(motion)),
                Step::Rows(rows, columns) => { composer.go_rows(rows, columns); }
                Step::Cell(row, column, columns) => composer.go_to_cell(row, column, columns),
                Step::Undo => { composer.undo(); }
                Step::Redo => { composer.redo(); }
                Step::Older => { composer.older(); }
                Step::Newer => { composer.newer(); }
                Step::Yank(again) => composer.yank(&kills, again),
                Step::Line => kills.extend(composer.delete_lines(1)),
                Step::Unfold => { composer.unfold(); }
                Step::Take => { let text = composer.take(); composer.remember_input(&text); }
            }
            let text = composer.text();
            prop_assert!(text.is_char_boundary(composer.caret()));
            let mut end = 0;
            for chip in composer.chips() {
                prop_assert!(chip.start >= end && chip.start < chip.end);
                prop_assert!(text.get(chip.clone()).is_some());
                prop_assert!(!(chip.start < composer.caret() && composer.caret() < chip.end));
                end = chip.end;
            }
            let shown = composer.shown(columns);
            prop_assert!(shown.caret_row < shown.rows.len());
            prop_assert!(shown.caret_column < columns.max(2));
            prop_assert_eq!(shown.text_offset(shown.shown_offset(composer.caret())), composer.caret());
            for row in &shown.rows {
                prop_assert!(shown.text.get(row.clone()).is_some());
            }
            prop_assert!(!shown.text.chars().any(|c| c.is_control() && c != '\n'));
            if let Some(range) = composer.selection() {
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
