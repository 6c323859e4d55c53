//! Finds the region that, moved by the terminal, saves most writing.

use super::cell::Grid;
use std::collections::HashMap;

/// A region to be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shift {
    /// First row of the region.
    pub top: usize,
    /// Last row of the region.
    pub bottom: usize,
    /// Rows upwards, or downwards.
    pub up: Result<usize, usize>,
}

/// Pieces that must be saved for a move to be worth its own bytes.
const WORTH: i64 = 5;
/// Distances that are looked at closely, besides the shortest.
const CANDIDATES: usize = 3;
/// Text that repeats itself casts no clear votes, but mostly moves by a row or two.
const SHORTEST: [i64; 6] = [1, 2, 3, -1, -2, -3];

/// The best move from what is shown to what is wanted, if any saves enough. `blank` are the pieces
/// of a row that comes in.
pub(super) fn find(shown: &Grid, wanted: &Grid, blank: &[u64]) -> Option<Shift> {
    let rows = shown.rows();
    let first = (0..rows).find(|r| shown.hash(*r) != wanted.hash(*r))?;
    let last = (0..rows).rfind(|r| shown.hash(*r) != wanted.hash(*r))?;
    if last - first < 2 {
        return None;
    }
    let mut best: Option<(i64, Shift)> = None;
    for distance in distances(shown, wanted, first, last, blank) {
        if let Some((saved, shift)) = region(shown, wanted, distance, first, last, blank)
            && saved >= WORTH
            && best.as_ref().is_none_or(|(most, _)| saved > *most)
        {
            best = Some((saved, shift));
        }
    }
    best.map(|(_, shift)| shift)
}

/// The distances by which most pieces seem to have moved, upwards positive.
fn distances(shown: &Grid, wanted: &Grid, first: usize, last: usize, blank: &[u64]) -> Vec<i64> {
    // Where each piece was shown; one that stands in many rows, as rules and blanks do, tells
    // nothing.
    const MOST_PLACES: usize = 4;
    let mut places: HashMap<(usize, u64), Vec<usize>> = HashMap::new();
    for row in first..=last {
        for (column, piece) in shown.pieces(row).iter().enumerate() {
            if *piece != blank[column] {
                places.entry((column, *piece)).or_default().push(row);
            }
        }
    }
    let height = last - first;
    let mut votes = vec![0u32; 2 * height + 1];
    for row in first..=last {
        for (column, piece) in wanted.pieces(row).iter().enumerate() {
            let Some(found) = places.get(&(column, *piece)) else {
                continue;
            };
            if found.len() > MOST_PLACES {
                continue;
            }
            for old in found {
                votes[old + height - row] += 1;
            }
        }
    }
    let mut ranked: Vec<usize> = (0..votes.len())
        .filter(|v| *v != height && votes[*v] > 1)
        .collect();
    ranked.sort_by_key(|v| (std::cmp::Reverse(votes[*v]), v.abs_diff(height)));
    ranked
        .into_iter()
        .take(CANDIDATES)
        .map(|v| v as i64 - height as i64)
        .chain(SHORTEST)
        .collect()
}

/// The region in which moving by this distance saves most, and how many pieces.
fn region(
    shown: &Grid,
    wanted: &Grid,
    distance: i64,
    first: usize,
    last: usize,
    blank: &[u64],
) -> Option<(i64, Shift)> {
    let cost = |row: usize, pieces: &[u64]| -> i64 {
        let differ = wanted
            .pieces(row)
            .iter()
            .zip(pieces)
            .filter(|(a, b)| a != b);
        differ.count() as i64
    };
    let stays = |row: usize| cost(row, shown.pieces(row));
    let source = |row: usize| {
        usize::try_from(row as i64 + distance)
            .ok()
            .filter(|s| (first..=last).contains(s))
    };
    // The run of rows that gains most from having come from elsewhere.
    let mut best: Option<(i64, usize, usize)> = None;
    let mut sum = 0;
    let mut start = first;
    for row in first..=last {
        let Some(source) = source(row) else {
            sum = 0;
            start = row + 1;
            continue;
        };
        if sum <= 0 {
            sum = 0;
            start = row;
        }
        sum += stays(row) - cost(row, shown.pieces(source));
        if best.is_none_or(|(most, _, _)| sum > most) {
            best = Some((sum, start, row));
        }
    }
    let (mut saved, start, end) = best?;
    let count = usize::try_from(distance.unsigned_abs()).ok()?;
    // The rows that come in blank have to be written, whatever they showed.
    let (incoming, shift) = if distance > 0 {
        let shift = Shift {
            top: start,
            bottom: end + count,
            up: Ok(count),
        };
        (end + 1..end + count + 1, shift)
    } else {
        let shift = Shift {
            top: start - count,
            bottom: end,
            up: Err(count),
        };
        (start - count..start, shift)
    };
    for row in incoming {
        saved += stays(row) - cost(row, blank);
    }
    Some((saved, shift))
}
