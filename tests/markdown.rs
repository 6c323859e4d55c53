//! The reading pane: Markdown, tool output and diffs to rows.
#![allow(clippy::unwrap_used)]

use trialogue::render::{self, Colours, Layout, Options, Row};

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
        for (end, _) in source.char_indices().chain([(source.len(), ' ')]) {
            let prefix = &source[..end];
            grown.update(prefix, &options, &colours);
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
fn print() {
    for (name, source) in corpus::ALL {
        println!(
            "=== {name}\n{}",
            shown(&render::markdown(source, &Options::new(60)))
        );
    }
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
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
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
