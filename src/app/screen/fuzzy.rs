//! Fuzzy matching for every filter: which items fit, how well, and which clusters matched.

use crate::text::graphemes;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// An item that fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fit {
    /// Index of the item.
    pub index: usize,
    /// Byte offsets of the clusters that matched, ascending.
    pub matched: Vec<usize>,
}

/// The items that fit a filter, best first: one that is just what was typed before those in which
/// it stands; equal ones stay in their order. An empty filter keeps everything as it is.
pub fn rank<'a>(filter: &str, items: impl Iterator<Item = &'a str>) -> Vec<Fit> {
    if filter.trim().is_empty() {
        return items
            .enumerate()
            .map(|(index, _)| Fit {
                index,
                matched: Vec::new(),
            })
            .collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(filter, CaseMatching::Smart, Normalization::Smart);
    let mut characters = Vec::new();
    let mut places = Vec::new();
    let typed = filter.trim().to_lowercase();
    let mut found: Vec<((bool, u32), Fit)> = Vec::new();
    for (index, item) in items.enumerate() {
        places.clear();
        let hay = Utf32Str::new(item, &mut characters);
        let is_ascii = hay.is_ascii();
        let Some(score) = pattern.indices(hay, &mut matcher, &mut places) else {
            continue;
        };
        places.sort_unstable();
        places.dedup();
        let is_all = item.trim().to_lowercase() == typed;
        found.push((
            (is_all, score),
            Fit {
                index,
                matched: offsets(item, &places, is_ascii),
            },
        ));
    }
    found.sort_by_key(|(score, fit)| (std::cmp::Reverse(*score), fit.index));
    found.into_iter().map(|(_, fit)| fit).collect()
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
