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
