//! Counts and the visual mode of the vim scheme.

use super::desk::*;

/// A draft of these lines in the normal mode, with the caret at its start.
fn draft(text: &str) -> Desk {
    let mut desk = Desk::scheme("vim");
    for (n, line) in text.split('\n').enumerate() {
        if n > 0 {
            desk.press("ctrl-j");
        }
        desk.text(line);
    }
    desk.press("esc g g");
    assert_eq!(desk.draft(), text);
    desk
}

fn caret(desk: &mut Desk) -> usize {
    desk.conversation("a").composer.caret()
}

/// What is there after these keys.
fn after(text: &str, keys: &str) -> String {
    let mut desk = draft(text);
    desk.press(keys);
    desk.draft()
}

#[test]
fn a_count_repeats_a_motion() {
    let mut desk = draft("one two three four");
    desk.press("3 w");
    assert_eq!(caret(&mut desk), "one two three ".len());
    desk.press("2 b");
    assert_eq!(caret(&mut desk), "one ".len());
    // The end of a word is its last letter.
    desk.press("2 e");
    assert_eq!(caret(&mut desk), "one two thre".len());
    desk.press("2 b");
    assert_eq!(caret(&mut desk), "one ".len());
    // A zero goes on with a count and is a motion else.
    desk.press("0 1 0 l");
    assert_eq!(caret(&mut desk), 10);
    desk.press("0");
    assert_eq!(caret(&mut desk), 0);
    // The count is over after one command, and with Esc.
    desk.press("5 esc l l");
    assert_eq!(caret(&mut desk), 2);
    let mut desk = draft("a\nb\nc\nd");
    desk.press("2 j");
    assert_eq!(caret(&mut desk), "a\nb\n".len());
    desk.press("9 k");
    assert_eq!(
        (caret(&mut desk), desk.draft()),
        (0, "a\nb\nc\nd".to_owned())
    );
}

#[test]
fn a_count_stands_before_a_command_or_inside_it() {
    for (keys, left) in [
        ("d 2 w", "three four"),
        ("2 d w", "three four"),
        ("d 2 e", " three four"),
        ("3 x", " two three four"),
        ("2 d 2 w", ""),
        ("$ 2 d b", "one two "),
        ("1 0 x", "ree four"),
    ] {
        assert_eq!(after("one two three four", keys), left, "{keys}");
    }
    let mut desk = draft("one two three");
    desk.press("c 2 w").text("2x");
    assert_eq!(desk.draft(), "2x three", "digits are text again");
    desk.press("esc 2 u");
    assert_eq!(desk.draft(), "one two three");
}

#[test]
fn counted_lines_are_one_piece_and_one_step() {
    let mut desk = draft("a\nb\nc\nd");
    desk.press("2 d d");
    assert_eq!(desk.draft(), "c\nd");
    desk.press("p");
    assert_eq!(desk.draft(), "c\na\nb\nd");
    desk.press("u u");
    assert_eq!(desk.draft(), "a\nb\nc\nd");
    assert_eq!(after("a\nb\nc", "9 d d"), "");
    assert_eq!(after("a\nb\nc", "j 2 c c"), "a\n");
    assert_eq!(after("a\nb\nc", "2 y y G p"), "a\nb\nc\na\nb");
}

#[test]
fn what_was_taken_as_lines_is_put_back_as_lines() {
    for (keys, left) in [
        ("d d p", "b\na\nc"),
        ("d d P", "a\nb\nc"),
        ("l y y j p", "a\nb\na\nc"),
        ("y y j P", "a\na\nb\nc"),
        ("y y 2 p", "a\na\na\nb\nc"),
        ("G d d g g p", "a\nc\nb"),
        ("V y G P", "a\nb\na\nc"),
        // The caret stands on the first of them.
        ("2 d d p x", "c\n\nb"),
    ] {
        assert_eq!(after("a\nb\nc", keys), left, "{keys}");
    }
    // Anything else goes behind the letter under the caret, or before it.
    assert_eq!(after("abc", "x p"), "bac");
    assert_eq!(after("abc", "x P"), "abc");
    assert_eq!(after("one two", "d w p"), "tone wo");
}

#[test]
fn deleting_words_stays_in_the_line() {
    assert_eq!(after("one\ntwo", "d w"), "\ntwo");
    assert_eq!(after("one.two", "d w"), ".two");
    assert_eq!(after("one two", "w d w"), "one ");
}

#[test]
fn visual_selects_what_is_under_the_caret_too() {
    for (keys, left) in [
        ("v d", "ne two"),
        ("v l l d", " two"),
        ("v 2 l x", " two"),
        ("v e d", " two"),
        ("v $ d", ""),
        // Backwards, and over the beginning.
        ("4 l v h d", "onewo"),
        ("4 l v h l l d", "one o"),
        ("v e y $ p", "one twoone"),
        ("v e y 4 l v e p", "one one"),
        // Esc and a second v leave it where the caret was.
        ("v l esc x", "oe two"),
        ("v l v x", "oe two"),
    ] {
        assert_eq!(after("one two", keys), left, "{keys}");
    }
    let mut desk = draft("one two");
    desk.press("v e c").text("dd");
    assert_eq!(desk.draft(), "dd two");
    desk.press("esc v e y");
    // Nothing of it is left when it is over.
    assert_eq!(desk.conversation("a").composer.selected_text(), None);
}

#[test]
fn visual_lines_are_whole() {
    for (keys, left) in [
        ("V d", "b\n\nd"),
        ("V j d", "\nd"),
        ("V 2 j d", "d"),
        ("G V k d", "a\nb"),
        ("j V j k d", "a\n\nd"),
        ("2 j V k d", "a\nd"),
        ("V G d", ""),
        ("l V y G p", "a\nb\n\nd\na"),
        ("V v d", "\nb\n\nd"),
    ] {
        assert_eq!(after("a\nb\n\nd", keys), left, "{keys}");
    }
    let mut desk = draft("a\nb\nc");
    desk.press("V j c").text("x");
    assert_eq!(desk.draft(), "x\nc");
}

#[test]
fn a_folded_paste_is_one_step_of_a_visual_selection() {
    let mut desk = Desk::scheme("vim");
    let pasted: String = (0..13).map(|n| format!("line {n}\n")).collect();
    desk.text("a").paste(&pasted).text("b");
    desk.press("esc h v h h y");
    assert_eq!(desk.draft(), format!("a{pasted}b"));
    desk.press("v l d");
    assert_eq!(desk.draft(), "b");
}
