//! Fuzzy matching for every filter: which items fit, how well, and which clusters matched.

use crate::text::graphemes;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::cmp::Reverse;

/// Where in an item stands what was typed, from the worst to the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FitPlace {
    /// Its letters in their order, wherever.
    Letters,
    /// Every word at the start of some word.
    Words,
    /// Just so, from the start of a word on.
    Inside,
    /// Just so, from the start on.
    Start,
    /// It is all there is.
    All,
}

/// An item that fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fit {
    /// Index of the item.
    pub index: usize,
    /// Where in the item it stands.
    pub place: FitPlace,
    /// Byte offsets of the clusters that matched, ascending.
    pub matched: Vec<usize>,
}

/// The items that fit a filter, best first: by the place where it stands, then by how well the
/// letters stand together; equal ones stay in their order. An empty filter keeps everything as it
/// is.
pub fn rank<'a>(filter: &str, items: impl Iterator<Item = &'a str>) -> Vec<Fit> {
    if filter.trim().is_empty() {
        return items
            .enumerate()
            .map(|(index, _)| Fit {
                index,
                place: FitPlace::Letters,
                matched: Vec::new(),
            })
            .collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(filter, CaseMatching::Smart, Normalization::Smart);
    let mut characters = Vec::new();
    let mut places = Vec::new();
    let typed = filter.trim().to_lowercase();
    let mut found: Vec<(u32, Fit)> = Vec::new();
    for (index, item) in items.enumerate() {
        places.clear();
        let hay = Utf32Str::new(item, &mut characters);
        let is_ascii = hay.is_ascii();
        let Some(score) = pattern.indices(hay, &mut matcher, &mut places) else {
            continue;
        };
        places.sort_unstable();
        places.dedup();
        found.push((
            score,
            Fit {
                index,
                place: place_of(&typed, &item.trim().to_lowercase()),
                matched: offsets(item, &places, is_ascii),
            },
        ));
    }
    found.sort_by_key(|(score, fit)| (Reverse((fit.place, *score)), fit.index));
    found.into_iter().map(|(_, fit)| fit).collect()
}

/// Where the typed text stands in an item; both in small letters.
fn place_of(typed: &str, item: &str) -> FitPlace {
    if item == typed {
        return FitPlace::All;
    }
    if item.starts_with(typed) {
        return FitPlace::Start;
    }
    let is_word_start = |at: usize| {
        item.get(..at)
            .and_then(|before| before.chars().next_back())
            .is_none_or(|c| !c.is_alphanumeric())
    };
    let begins = |part: &str| item.match_indices(part).any(|(at, _)| is_word_start(at));
    if begins(typed) {
        FitPlace::Inside
    } else if typed.split_whitespace().all(begins) {
        FitPlace::Words
    } else {
        FitPlace::Letters
    }
}

/// The matcher counts clusters, or bytes where all is ASCII.
fn offsets(item: &str, places: &[u32], is_ascii: bool) -> Vec<usize> {
    if is_ascii {
        return places.iter().map(|place| *place as usize).collect();
    }
    let mut offsets = Vec::new();
    let mut at = 0;
    for (n, cluster) in graphemes(item).enumerate() {
        if u32::try_from(n).is_ok_and(|n| places.binary_search(&n).is_ok()) {
            offsets.push(at);
        }
        at += cluster.len();
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_fit_comes_first_and_says_what_matched() {
        let items = ["rebuild the log", "build log", "nothing"];
        let found = rank("blog", items.into_iter());
        let order: Vec<usize> = found.iter().map(|fit| fit.index).collect();
        assert_eq!(order, [1, 0]);
        let letters: String = found[0]
            .matched
            .iter()
            .filter_map(|at| items[1][*at..].chars().next())
            .collect();
        assert_eq!(letters, "blog");
    }

    #[test]
    fn what_was_typed_in_full_comes_before_what_goes_on() {
        let items = ["research / build log", "research", "Research"];
        let order: Vec<usize> = rank("research", items.into_iter())
            .iter()
            .map(|fit| fit.index)
            .collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn the_start_wins_then_the_start_of_a_word() {
        let items = [
            "Reach no log",
            "Switch the account off or on",
            "The account: link",
            "the-account",
            "Go to an account there",
        ];
        let order: Vec<usize> = rank("the account", items.into_iter())
            .iter()
            .map(|fit| fit.index)
            .collect();
        assert_eq!(order[..2], [2, 1]);
        let places: Vec<FitPlace> = rank("log", items.into_iter())
            .iter()
            .map(|fit| fit.place)
            .collect();
        assert_eq!(places, [FitPlace::Inside]);
        let words = rank("acc the", ["the new account", "tac the oc"].into_iter());
        assert_eq!(words[0].place, FitPlace::Words);
    }

    #[test]
    fn offsets_are_those_of_clusters() {
        let found = rank("ß", ["漢字 straße"].into_iter());
        assert_eq!(found[0].matched, ["漢字 stra".len()]);
    }

    #[test]
    fn an_empty_filter_keeps_the_order() {
        let found = rank(" ", ["b", "a"].into_iter());
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].index, 0);
    }
}
