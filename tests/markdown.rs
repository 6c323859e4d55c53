//! The reading pane: Markdown, tool output and diffs to rows.
#![allow(clippy::unwrap_used)]

use trialogue::render::{self, Colours, Emphasis, Layout, Options, Role, Row, Tint};
use trialogue::text::SafeText;

#[path = "markdown/corpus.rs"]
mod corpus;

fn shown(rows: &[Row]) -> String {
    rows.iter()
        .map(|row| row.text().trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn every_prefix_laid_out_step_by_step_equals_a_layout_from_scratch() {
    for (name, source) in corpus::ALL {
        let options = Options::new(60);
        let colours = Colours::default();
        let mut grown = Layout::default();
        // Of the long ones not every step is laid out from scratch as well, but those around the
        // ends of lines are, where blocks begin and end.
        let is_long = source.len() > 700;
        for (number, (end, _)) in source
            .char_indices()
            .chain([(source.len(), ' ')])
            .enumerate()
        {
            let prefix = &source[..end];
            grown.update(prefix, &options, &colours);
            let is_at_line_end = source[end..].starts_with('\n') || prefix.ends_with('\n');
            if is_long && number % 7 != 0 && !is_at_line_end && end < source.len() {
                continue;
            }
            let scratch = render::markdown(prefix, &options);
            assert_eq!(
                shown(grown.rows()),
                shown(&scratch),
                "{name} at {end}: {prefix:?}"
            );
            assert_eq!(grown.rows(), &scratch[..], "{name} at {end}");
        }
    }
}

#[test]
fn no_row_is_wider_than_asked() {
    for (name, source) in corpus::ALL {
        for width in [8, 12, 20, 40, 80, 120, 200] {
            for (ascii, wrap_code) in [(false, false), (false, true), (true, true)] {
                let options = Options {
                    wrap_code,
                    ascii,
                    ..Options::new(width)
                };
                for row in render::markdown(source, &options) {
                    assert!(
                        row.width() <= usize::from(width),
                        "{name} at {width}: {:?}",
                        row.text()
                    );
                }
            }
        }
    }
}

#[test]
fn the_corpus_looks_as_a_person_has_seen_it() {
    for (name, source) in corpus::ALL {
        let mut pages = String::new();
        for width in [40, 80, 120, 200] {
            let rows = render::markdown(source, &Options::new(width));
            pages.push_str(&format!("{width:-<width$}\n", width = usize::from(width)));
            pages.push_str(&shown(&rows));
        }
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        insta::assert_snapshot!(format!("corpus_{name}"), pages);
    }
}

fn spans(rows: &[Row]) -> Vec<(String, Role)> {
    rows.iter()
        .flat_map(|row| &row.spans)
        .map(|span| (span.text.clone(), span.role))
        .collect()
}

fn span(text: &str, role: Role) -> (String, Role) {
    (text.to_owned(), role)
}

#[test]
fn styles_nest() {
    let rows = render::markdown("a **b *c* ~~d~~** `e`", &Options::new(40));
    let found: Vec<_> = rows[0]
        .spans
        .iter()
        .map(|s| (s.text.as_str(), s.role, s.emphasis))
        .collect();
    let bold = Emphasis::BOLD;
    let plain = Emphasis::NONE;
    assert_eq!(
        found,
        [
            ("a ", Role::Text, plain),
            ("b ", Role::Text, bold),
            ("c", Role::Text, bold.with(Emphasis::ITALIC)),
            (" ", Role::Text, bold),
            ("d", Role::Text, bold.with(Emphasis::STRIKE)),
            (" ", Role::Text, plain),
            ("e", Role::Code, plain),
        ]
    );
}

#[test]
fn a_wrapped_link_leads_there_from_every_row() {
    let target = "https://a.example/a/very/long/path/that/does/not/fit/in/one/row";
    let rows = render::markdown(
        &format!("[some text that wraps]({target})"),
        &Options::new(20),
    );
    assert!(rows.len() > 3);
    for row in &rows {
        for span in row.spans.iter().filter(|s| !s.text.trim().is_empty()) {
            assert_eq!(span.link.as_deref(), Some(target), "{:?}", span.text);
        }
    }
    let joined: String = rows
        .iter()
        .map(|r| r.text().trim_end().to_owned())
        .collect();
    assert!(joined.ends_with(&format!("({target})")), "{joined}");
}

#[test]
fn a_copy_knows_which_rows_are_one_line() {
    let rows = render::markdown("one two three four five\nsix", &Options::new(10));
    let joins: Vec<(String, bool)> = rows.iter().map(|r| (r.text(), r.joins)).collect();
    let row = |text: &str, joins| (text.to_owned(), joins);
    assert_eq!(
        joins,
        [
            row("one two", false),
            row("three four", true),
            row("five", true),
            row("six", false)
        ]
    );
}

#[test]
fn blocks_of_code_can_be_copied_whole() {
    let source = "text\n\n```rust\nfn a() {\n    b();\n}\n```\n\n- item\n  ```\n  x\n  ```\n";
    let mut layout = Layout::default();
    layout.update(source, &Options::new(12), &Colours::default());
    let blocks = layout.code_blocks();
    let found: Vec<_> = blocks
        .iter()
        .map(|b| (b.language.as_str(), b.text.as_str()))
        .collect();
    assert_eq!(found, [("rust", "fn a() {\n    b();\n}"), ("", "x")]);
    for block in &blocks {
        let first = layout.rows()[block.rows.start].text();
        assert!(first.contains('┌'), "{first}");
        assert!(layout.rows()[block.rows.end - 1].text().contains('└'));
    }
}

#[test]
fn long_lines_of_code_are_wrapped_or_cut_as_asked() {
    let source = "```\nabcdefghijklmnopqrstuvwxyz\n```";
    let wrapped = render::markdown(source, &Options::new(14));
    assert_eq!(wrapped[1].text(), "│ abcdefghijkl");
    assert_eq!(wrapped[2].text(), "│ ↳ mnopqrstuv");
    assert!(wrapped[2].joins);
    // What is put before a row that goes on is no part of the code.
    let whole: String = wrapped
        .iter()
        .flat_map(|row| &row.spans)
        .filter(|span| !span.role.is_frame())
        .map(|span| span.text.as_str())
        .collect();
    assert_eq!(whole, "abcdefghijklmnopqrstuvwxyz");
    let options = Options {
        wrap_code: false,
        ..Options::new(14)
    };
    let cut = render::markdown(source, &options);
    assert_eq!(cut[1].text(), "│ abcdefghijk…");
    let shifted = render::markdown(
        source,
        &Options {
            code_shift: 8,
            ..options
        },
    );
    assert_eq!(shifted[1].text(), "│ …jklmnopqrs…");
    let to_the_end = render::markdown(
        source,
        &Options {
            code_shift: 20,
            ..options
        },
    );
    assert_eq!(to_the_end[1].text(), "│ …vwxyz");
}

#[test]
fn a_line_of_code_that_goes_on_stands_under_its_own_indent() {
    let shown = |source: &str| shown(&render::markdown(source, &Options::new(30)));
    assert_eq!(
        shown("```x\n    let out = vec.with(self.len(), other);\n```"),
        "┌ x ──────────────────────────\n│     let out = vec.with(\n│     ↳ self.len(), other);\n└─────────────────────────────\n"
    );
    assert_eq!(
        shown("```diff\n+  let out = vec.with(self.len(), other);\n```"),
        "┌ diff ───────────────────────\n│ +  let out = vec.with(\n│    ↳ self.len(), other);\n└─────────────────────────────\n"
    );
}

#[test]
fn a_wide_character_fits_into_the_smaller_room_of_a_row_that_goes_on() {
    let source = "```diff\n+    if self.漢字\n```";
    for width in 16..30 {
        for row in render::markdown(source, &Options::new(width)) {
            assert!(row.width() <= usize::from(width), "{width}: {row:?}");
        }
    }
}

#[test]
fn an_address_stays_whole_or_parts_at_a_slash() {
    let shown = |source: &str| shown(&render::markdown(source, &Options::new(30)));
    assert_eq!(
        shown("so is https://a-b.example.org/c-d too"),
        "so is\nhttps://a-b.example.org/c-d\ntoo\n"
    );
    assert_eq!(
        shown("and this https://a-b.example.org/some-page/that-is-long"),
        "and this\nhttps://a-b.example.org/\nsome-page/that-is-long\n"
    );
}

#[test]
fn code_stands_plain_until_its_colours_are_there() {
    let source =
        "A:\n\n```rust\n// note\nlet x = \"s\";\n```\n\nafter\n\n```nosuchlanguage\nx\n```\n";
    let options = Options::new(40);
    let mut colours = Colours::default();
    let mut layout = Layout::default();
    layout.update(source, &options, &colours);
    let plain = layout.rows().to_vec();
    let wants = layout.wants();
    assert_eq!(wants.len(), 2);
    for job in &wants {
        colours.insert(render::highlight::colour(job));
    }
    layout.update(source, &options, &colours);
    assert_eq!(layout.wants(), []);
    assert_eq!(shown(layout.rows()), shown(&plain));
    let found = spans(layout.rows());
    for wanted in [
        span("// note", Role::Comment),
        span("let", Role::Type),
        span("\"s\"", Role::String),
        span("x", Role::CodeBlock),
    ] {
        assert!(found.contains(&wanted), "{wanted:?} in {found:?}");
    }
    // Text that comes behind leaves them alone, and a cold layout shows the same.
    layout.update(&format!("{source}\nmore"), &options, &colours);
    let mut cold = Layout::default();
    cold.update(&format!("{source}\nmore"), &options, &colours);
    assert_eq!(layout.rows(), cold.rows());
    assert_eq!(layout.wants(), []);
}

#[test]
fn a_block_of_code_without_a_whole_line_or_language_and_a_huge_one_want_no_colours() {
    for source in [
        "```rust\nlet x",
        "```\nlet x = 1;\n",
        "```\nlet x = 1;\n```\n",
    ] {
        let mut layout = Layout::default();
        layout.update(source, &Options::new(40), &Colours::default());
        assert_eq!(layout.wants(), [], "{source:?}");
    }
    assert_eq!(render::Job::new("rust", &"x\n".repeat(40_000)), None);
}

#[test]
fn a_block_of_code_that_grows_is_coloured_line_by_line_and_keeps_its_colours() {
    let source = "Text.\n\n```rust\nfn a() {\n    /* over\n    two lines */\n    let x = \"s\";\n}\n```\n\nMore.\n";
    let options = Options::new(40);
    for every in [1, 7, 30] {
        let mut colours = Colours::default();
        let mut highlighter = render::highlight::Highlighter::default();
        let mut grown = Layout::default();
        for end in 1..=source.len() {
            grown.update(&source[..end], &options, &colours);
            let mut cold = Layout::default();
            cold.update(&source[..end], &options, &colours);
            assert_eq!(grown.rows(), cold.rows(), "{:?}", &source[..end]);
            assert_eq!(grown.wants(), cold.wants(), "{:?}", &source[..end]);
            if end % every == 0 {
                for job in grown.wants() {
                    colours.insert(highlighter.colour(&job));
                }
            }
            if end == source.find("    let x").unwrap() + 17 && every == 1 {
                let found = spans(grown.rows());
                for wanted in [span("fn", Role::Keyword), span("/* over", Role::Comment)] {
                    assert!(found.contains(&wanted), "{wanted:?} in {found:?}");
                }
            }
        }
        // Going on gives what one look at the whole gives.
        for job in grown.wants() {
            colours.insert(highlighter.colour(&job));
        }
        grown.update(source, &options, &colours);
        let mut whole = Colours::default();
        let code = "fn a() {\n    /* over\n    two lines */\n    let x = \"s\";\n}";
        whole.insert(render::highlight::colour(
            &render::Job::new("rust", code).unwrap(),
        ));
        let mut cold = Layout::default();
        cold.update(source, &options, &whole);
        assert_eq!(grown.rows(), cold.rows());
    }
}

#[test]
fn colours_of_tools_become_styles_and_all_else_stays_to_be_read() {
    let text = "\x1b[31;1mred\x1b[0m plain \x1b[38;5;208mo\x1b[48;2;1;2;3mb\x1b[39;49m\x1b[2K x \x1b[92mok\nstill\x1b[m.";
    let tint = |foreground, background| Role::Tinted {
        foreground,
        background,
    };
    let none = Tint::Default;
    let wanted = [
        span("red", tint(Tint::Palette(1), none)),
        span(" plain ", Role::Text),
        span("o", tint(Tint::Palette(208), none)),
        span("b", tint(Tint::Palette(208), Tint::Rgb(1, 2, 3))),
        span("␛[2K x ", Role::Text),
        span("ok", tint(Tint::Palette(10), none)),
        span("still", tint(Tint::Palette(10), none)),
        span(".", Role::Text),
    ];
    let rows = render::ansi(text, &Options::new(60));
    assert_eq!(spans(&rows), wanted);
    assert_eq!(rows[0].spans[0].emphasis, Emphasis::BOLD);
    // The same from text that was cleaned on its way in.
    let cleaned = SafeText::prose(text);
    assert_eq!(render::ansi(cleaned.as_str(), &Options::new(60)), rows);
    // Hidden text is no way to hide.
    let hidden = render::ansi("\x1b[8msecret\x1b[38;5", &Options::new(60));
    assert_eq!(spans(&hidden), [span("secret␛[38;5", Role::Text)]);
}

const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -9,4 +9,4 @@ fn main\n same\n-let old = 1;\n+let new = 1;\n--- not a head\n+++ neither\n";

#[test]
fn a_diff_tells_its_lines_apart() {
    assert!(render::looks_like_diff(DIFF));
    assert!(!render::looks_like_diff("- a list\n- of things\n+ more\n"));
    let rows = render::diff(DIFF, &Options::new(60));
    assert_eq!(
        spans(&rows),
        [
            span("diff --git a/x b/x", Role::DiffFile),
            span("--- a/x", Role::DiffFile),
            span("+++ b/x", Role::DiffFile),
            span("@@ -9,4 +9,4 @@ fn main", Role::DiffHunk),
            span(" ", Role::DiffContext),
            span("same", Role::DiffContext),
            span("-", Role::DiffRemoved),
            span("let ", Role::DiffRemoved),
            span("old", Role::DiffRemovedPart),
            span(" = 1;", Role::DiffRemoved),
            span("+", Role::DiffAdded),
            span("let ", Role::DiffAdded),
            span("new", Role::DiffAddedPart),
            span(" = 1;", Role::DiffAdded),
            span("-", Role::DiffRemoved),
            span("-- not a head", Role::DiffRemoved),
            span("+", Role::DiffAdded),
            span("++ neither", Role::DiffAdded),
        ]
    );
}

#[test]
fn a_wide_diff_stands_side_by_side() {
    let options = Options {
        side_by_side_from: 60,
        ..Options::new(61)
    };
    let rows = render::diff(DIFF, &options);
    let halves = |left: &str, right: &str| format!("{left:<29} │ {right}\n");
    let heads = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -9,4 +9,4 @@ fn main\n".to_owned();
    assert_eq!(
        shown(&rows),
        heads
            + &halves(" 9  same", " 9  same")
            + &halves("10 -let old = 1;", "10 +let new = 1;")
            + &halves("11 --- not a head", "11 +++ neither")
    );
}

/// Pieces from which texts are put together that a parser may read another way with each piece.
const PIECES: &[&str] = &[
    "word ",
    "two words\n",
    "\n",
    "\n\n",
    "- item\n",
    "- ",
    "  ",
    "    ",
    "1. one\n",
    "2) two\n",
    "# head\n",
    "---\n",
    "===\n",
    "***",
    "```\n",
    "```rust\n",
    "~~~~\n",
    "~~~\n",
    "> ",
    ">\n",
    "| a | b |\n",
    "|---|:-:|\n",
    "| 1 | 2 |\n",
    "a | b\n",
    "--|--\n",
    "[a]",
    "[a]: https://one.example\n",
    "[b]: <x> 'title'\n",
    "[b][a]",
    "[^n]",
    "[^n]: note\n",
    "    indented\n",
    "<div>\n",
    "</div>\n",
    "<b>",
    "<!-- ",
    "-->\n",
    "*em* ",
    "**strong",
    "** ",
    "`code` ",
    "`",
    "\\\n",
    "  \n",
    "$x$ ",
    "$$\n",
    "- [ ] task\n",
    "> [!NOTE]\n",
    "&#27;",
    "配置",
    "👨‍👩‍👧 ",
    "e\u{301}",
    "https://a.example/x ",
    "+ plus\n",
    "[A]: https://two.example\n",
    "title: x\n",
    "...\n",
    "fn main() {}\n",
    "```",
    "\u{202e}",
    "~~s~~ ",
    "![i](u) ",
];

mod random {
    use super::*;
    use proptest::prelude::*;

    fn text(pieces: &[usize]) -> String {
        pieces.iter().map(|p| PIECES[*p]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn steps_of_any_kind_equal_a_layout_from_scratch(
            pieces in prop::collection::vec(0..PIECES.len(), 1..30),
            cuts in prop::collection::vec((0usize..1000, prop::option::of(0..PIECES.len())), 0..6),
            width in prop_oneof![Just(8u16), Just(24), Just(80)],
        ) {
            let options = Options::new(width);
            let colours = Colours::default();
            let mut grown = Layout::default();
            let mut steps: Vec<String> = (1..=pieces.len()).map(|n| text(&pieces[..n])).collect();
            for (at, piece) in cuts {
                // Somewhere in the middle the text becomes another one.
                let mut whole = steps.last().cloned().unwrap_or_default();
                let mut at = at % (whole.len() + 1);
                while !whole.is_char_boundary(at) {
                    at -= 1;
                }
                match piece {
                    Some(piece) => whole.insert_str(at, PIECES[piece]),
                    None => whole.truncate(at),
                }
                steps.push(whole);
            }
            for step in &steps {
                let mut scratch = Layout::default();
                scratch.update(step, &options, &colours);
                grown.update(step, &options, &colours);
                prop_assert_eq!(shown(grown.rows()), shown(scratch.rows()), "{:?}", step);
                prop_assert_eq!(grown.rows(), scratch.rows(), "{:?}", step);
                prop_assert_eq!(grown.code_blocks(), scratch.code_blocks(), "{:?}", step);
                prop_assert_eq!(grown.wants(), scratch.wants(), "{:?}", step);
                for row in grown.rows() {
                    prop_assert!(row.width() <= usize::from(width), "{:?} in {:?}", row.text(), step);
                    prop_assert!(!row.text().contains(char::is_control), "{:?}", row.text());
                }
            }
        }

        #[test]
        fn any_text_is_laid_out_in_its_width_and_harmless(source in "\\PC{0,200}|[\\x00-\\x7f]{0,200}", width in 1u16..60) {
            let options = Options::new(width);
            for rows in [
                render::markdown(&source, &options),
                render::plain(&source, &options),
                render::ansi(&source, &options),
                render::diff(&source, &options),
            ] {
                for row in rows {
                    prop_assert!(row.width() <= usize::from(width.max(8)), "{:?}", row.text());
                    prop_assert!(!row.text().contains(char::is_control), "{:?}", row.text());
                }
            }
        }
    }
}
