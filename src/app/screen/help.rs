//! The help page, made from the live keymap.

use super::fuzzy;
use crate::app::Action;
use crate::app::keymap::{Context, Keymap};

/// One line of the help page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HelpRow {
    Heading(&'static str),
    Key {
        keys: String,
        title: &'static str,
        /// Byte offsets in the title that matched.
        matched: Vec<usize>,
    },
}

/// The page with only the lines that fit the filter, under the headings that have any.
pub fn rows(keymap: &Keymap, filter: &str) -> Vec<HelpRow> {
    let mut page = Vec::new();
    for (context, lines) in keymap.help() {
        add(&mut page, context, &lines, filter);
    }
    page
}

fn add(page: &mut Vec<HelpRow>, context: Context, lines: &[(String, Action)], filter: &str) {
    let titled: Vec<String> = lines
        .iter()
        .map(|(keys, action)| format!("{} {keys}", action.title()))
        .collect();
    let mut fits = fuzzy::rank(filter, titled.iter().map(String::as_str));
    if fits.is_empty() {
        return;
    }
    // The order of the keymap is the one people learn.
    fits.sort_by_key(|fit| fit.index);
    page.push(HelpRow::Heading(context.title()));
    for fit in fits {
        let (keys, action) = &lines[fit.index];
        let title = action.title();
        page.push(HelpRow::Key {
            keys: keys.clone(),
            title,
            matched: fit
                .matched
                .into_iter()
                .filter(|at| *at < title.len())
                .collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_follows_the_filter() {
        let all = rows(&Keymap::default(), "");
        let some = rows(&Keymap::default(), "palette everything by name");
        assert!(all.len() > 50);
        assert!(some.len() < all.len());
        assert!(rows(&Keymap::default(), "zzzzqq").is_empty());
    }
}
