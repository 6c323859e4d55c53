//! Rows of the search: the excerpt from shortly before what was looked for, with that marked.

use super::{ListRow, Then, conversation_name};
use crate::app::state::State;
use crate::domain::{AccountId, SearchHit};
use crate::text::{SafeText, unmarked};

/// The row of one hit.
pub(super) fn row(
    state: &State,
    account: &AccountId,
    hit: &SearchHit,
    query: &str,
    names_place: bool,
) -> ListRow {
    let mut row = ListRow::new(
        around(plain_line(&hit.snippet), query),
        Then::Hit(account.clone(), Box::new(hit.clone())),
    );
    row.matched = occurrences(row.label.as_str(), query);
    row.at_ms = hit.sent_at_ms;
    // Where only this conversation is searched, its name stands in the title.
    if let Some(of) = state.account(account).filter(|_| names_place) {
        row.detail = SafeText::label(&format!(
            "{} · {}",
            conversation_name(of, &hit.conversation),
            of.account.label
        ));
    }
    row
}

/// An excerpt as plain words in one line.
fn plain_line(text: &SafeText) -> SafeText {
    let plain = unmarked(text.as_str());
    SafeText::label(&plain.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The clusters before the first match that a hit keeps, so that it is in sight in a short row too.
const BEFORE: usize = 16;

/// A line from shortly before what was looked for.
fn around(line: SafeText, query: &str) -> SafeText {
    let text = line.as_str();
    let Some(first) = occurrences(text, query).first().copied() else {
        return line;
    };
    let starts: Vec<usize> = {
        let mut at = 0;
        crate::text::graphemes(&text[..first])
            .map(|cluster| {
                let start = at;
                at += cluster.len();
                start
            })
            .collect()
    };
    let Some(cut) = starts.len().checked_sub(BEFORE).filter(|cut| *cut > 2) else {
        return line;
    };
    // A whole word is a better beginning than the rest of one.
    let from = starts[cut];
    let from = text[from..first]
        .find(' ')
        .map_or(from, |blank| from + blank + 1);
    SafeText::label(&format!("…{}", &text[from..]))
}

/// Where the words of a query stand in a text, in any case.
pub(super) fn occurrences(text: &str, query: &str) -> Vec<usize> {
    let lower = text.to_lowercase();
    // Lower case of other lengths would put the offsets elsewhere.
    if lower.len() != text.len() {
        return Vec::new();
    }
    let mut offsets = std::collections::BTreeSet::new();
    for word in query.to_lowercase().split_whitespace() {
        for (start, _) in lower.match_indices(word) {
            let mut at = start;
            for cluster in crate::text::graphemes(&text[start..start + word.len()]) {
                offsets.insert(at);
                at += cluster.len();
            }
        }
    }
    offsets.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_begins_shortly_before_what_was_looked_for() {
        let shown = |text: &str| around(SafeText::label(text), "pool").to_string();
        assert_eq!(shown("the pool ran dry"), "the pool ran dry");
        assert_eq!(
            shown("It is ignored with a warning, so use pool_free"),
            "…so use pool_free"
        );
        assert_eq!(shown("nothing of it"), "nothing of it");
    }

    #[test]
    fn an_excerpt_of_several_lines_is_plain_words_in_one() {
        let text = SafeText::prose("## Sizes\n| **name** | size |\n|---|---|\n| core | 3 MB |");
        assert_eq!(plain_line(&text).as_str(), "Sizes name · size core · 3 MB");
    }
}
