//! Where everything stands: the rectangles of the screen, the rows of the timeline that are in
//! sight, and what lies under a point. Pure sums; nothing is drawn here.
//!
//! The timeline is never laid out as a whole. From the anchor the solver asks for the rows of one
//! entry after the other until the screen is full, and upwards or downwards as far as the delta.

use crate::app::screen::{Screen, Target};
use ratatui::layout::Rect;

/// The least screen on which anything is drawn.
pub const LEAST_COLUMNS: u16 = 40;
/// See `LEAST_COLUMNS`.
pub const LEAST_ROWS: u16 = 10;
/// Below this the sidebar lies over the timeline.
pub const SIDEBAR_COLUMNS: u16 = 90;
/// Lines longer than this are hard to read.
const MEASURE: u16 = 120;

/// What lies under each cell of the frame that was drawn.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HitMap {
    /// Later ones lie over earlier ones.
    areas: Vec<(Rect, Target)>,
}

impl HitMap {
    /// Everything in this area means `target`.
    pub(crate) fn add(&mut self, area: Rect, target: Target) {
        if area.width > 0 && area.height > 0 {
            self.areas.push((area, target));
        }
    }

    /// What a drag means at a point: the text there, whatever of it could be clicked.
    pub fn dragged(&self, column: u16, row: u16) -> Target {
        let point = ratatui::layout::Position::new(column, row);
        let text = self.areas.iter().rev().find_map(|(area, target)| {
            let is_here = matches!(target, Target::Entry { .. }) && area.contains(point);
            is_here.then(|| text_at(*area, target, column, row))
        });
        text.unwrap_or_else(|| self.at(column, row))
    }

    /// What lies at a point; row and column count from zero.
    pub fn at(&self, column: u16, row: u16) -> Target {
        let hit = self.areas.iter().rev().find(|(area, _)| {
            (area.left()..area.right()).contains(&column)
                && (area.top()..area.bottom()).contains(&row)
        });
        match hit {
            Some((area, target)) => text_at(*area, target, column, row),
            None => Target::Nothing,
        }
    }
}

/// A target whose text begins at the corner of an area, as it is at a point of it.
fn text_at(area: Rect, target: &Target, column: u16, row: u16) -> Target {
    let mut target = target.clone();
    match &mut target {
        Target::Entry {
            row: first,
            column: left,
            ..
        }
        | Target::Composer {
            row: first,
            column: left,
        } => {
            *first = first.saturating_add(row - area.y);
            *left = left.saturating_add(column - area.x);
        }
        _ => {}
    }
    target
}

/// The big parts of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Areas {
    pub sidebar: Option<Rect>,
    /// The sidebar lies over the rest.
    pub is_over: bool,
    pub header: Option<Rect>,
    /// Timeline, strips and composer.
    pub main: Rect,
    pub status: Option<Rect>,
}

/// Whether the screen is too small for anything but saying so.
pub(crate) fn is_too_small(area: Rect) -> bool {
    area.width < LEAST_COLUMNS || area.height < LEAST_ROWS
}

/// Cuts the screen into its big parts.
pub(crate) fn areas(screen: &Screen, area: Rect) -> Areas {
    if screen.is_zen {
        let width = area.width.min(MEASURE + 6);
        return Areas {
            sidebar: None,
            is_over: false,
            header: None,
            main: Rect {
                x: area.x + (area.width - width) / 2,
                width,
                ..area
            },
            status: None,
        };
    }
    let is_wide = area.width >= SIDEBAR_COLUMNS;
    let is_beside = is_wide && screen.sidebar.is_shown.unwrap_or(true);
    let is_over = !is_wide && screen.sidebar.is_over;
    let usual = (area.width / 5).clamp(26, 36);
    let most = if is_wide {
        area.width / 2
    } else {
        area.width - 6
    };
    let columns = screen.sidebar.columns.unwrap_or(usual).clamp(16, most);
    let sidebar = (is_beside || is_over).then_some(Rect {
        width: columns,
        ..area
    });
    let left = if is_beside { columns } else { 0 };
    let right = Rect {
        x: area.x + left,
        width: area.width - left,
        ..area
    };
    Areas {
        sidebar,
        is_over,
        header: Some(Rect { height: 1, ..right }),
        main: Rect {
            y: right.y + 1,
            height: right.height - 2,
            ..right
        },
        status: Some(Rect {
            y: right.bottom() - 1,
            height: 1,
            ..right
        }),
    }
}

/// The columns of text in a timeline: two for the rail before it, one after.
pub(crate) fn text_columns(area: Rect) -> u16 {
    area.width.saturating_sub(3).clamp(1, MEASURE)
}

/// A box of this size in the middle of an area, smaller where the area is.
pub(crate) fn centered(area: Rect, columns: u16, rows: u16) -> Rect {
    let width = columns.min(area.width.saturating_sub(2)).max(1);
    let height = rows.min(area.height.saturating_sub(2)).max(1);
    Rect {
        x: area.x + (area.width.saturating_sub(width)) / 2,
        y: area.y + (area.height.saturating_sub(height)) / 2,
        width,
        height,
    }
}

/// Entries as the solver sees them: how many, and how many rows each takes.
pub(crate) trait Rows {
    fn len(&self) -> usize;
    /// Lays the entry out if it was not yet.
    fn rows(&mut self, index: usize) -> u32;
}

/// From where the solver begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    Bottom,
    Top { index: usize, row: u32 },
    Show { index: usize },
}

/// What is in sight.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sight {
    /// The entry and its row at the top of the screen.
    pub index: usize,
    pub row: u32,
    /// Entry, first row of it in sight, number of its rows in sight; top down.
    pub shown: Vec<(usize, u32, u16)>,
    /// Rows left empty above, when all entries do not fill the screen.
    pub blank: u16,
    /// The last row of the last entry is in sight.
    pub is_at_end: bool,
}

/// Finds what is in sight: from `start`, moved by `delta` rows, clamped at both ends, and then
/// moved as little as needed to have `reveal` in sight.
pub(crate) fn solve(
    entries: &mut dyn Rows,
    height: u16,
    start: Start,
    delta: i32,
    reveal: Option<usize>,
) -> Sight {
    let mut solver = Solver { entries, height };
    let mut top = match start {
        Start::Bottom => solver.bottom(),
        Start::Top { index, row } => {
            let row = row.min(solver.entries.rows(index));
            (index, row)
        }
        Start::Show { index } => {
            let rows = solver.entries.rows(index);
            let margin = (u32::from(height) / 3).min(u32::from(height).saturating_sub(rows));
            solver.up((index, 0), margin)
        }
    };
    top = if delta < 0 {
        solver.up(top, delta.unsigned_abs())
    } else {
        solver.down(top, delta.unsigned_abs())
    };
    if let Some(index) = reveal {
        top = solver.reveal(top, index);
    }
    solver.sight(top)
}

struct Solver<'a> {
    entries: &'a mut dyn Rows,
    height: u16,
}

type Place = (usize, u32);

impl Solver<'_> {
    /// The top when the end is at the bottom.
    fn bottom(&mut self) -> Place {
        let height = u32::from(self.height);
        let mut sum = 0;
        for index in (0..self.entries.len()).rev() {
            sum += self.entries.rows(index);
            if sum >= height {
                return (index, sum - height);
            }
        }
        (0, 0)
    }

    fn up(&mut self, (mut index, mut row): Place, mut by: u32) -> Place {
        while by > row {
            if index == 0 {
                return (0, 0);
            }
            by -= row;
            index -= 1;
            row = self.entries.rows(index);
        }
        (index, row - by)
    }

    fn down(&mut self, (mut index, mut row): Place, mut by: u32) -> Place {
        while by > 0 && index < self.entries.len() {
            let left = self.entries.rows(index).saturating_sub(row);
            if by < left {
                return (index, row + by);
            }
            by -= left;
            if index + 1 == self.entries.len() {
                return (index, row + left);
            }
            index += 1;
            row = 0;
        }
        (index, row)
    }

    fn reveal(&mut self, top: Place, wanted: usize) -> Place {
        if wanted < top.0 || (wanted == top.0 && top.1 > 0) {
            return (wanted, 0);
        }
        let height = u32::from(self.height);
        let mut end = 0_u32;
        for index in top.0..=wanted.min(self.entries.len().saturating_sub(1)) {
            let rows = self.entries.rows(index);
            end += if index == top.0 {
                rows.saturating_sub(top.1)
            } else {
                rows
            };
            if end > height && index < wanted {
                // It begins below the screen, however much of it there is.
                end = end.max(height + 1);
            }
        }
        if end <= height {
            return top;
        }
        let rows = self.entries.rows(wanted);
        if rows >= height {
            return (wanted, 0);
        }
        self.up((wanted, rows), height)
    }

    fn sight(&mut self, mut top: Place) -> Sight {
        let count = self.entries.len();
        if count == 0 {
            return Sight {
                blank: self.height,
                is_at_end: true,
                ..Sight::default()
            };
        }
        let height = u32::from(self.height);
        let mut below = 0;
        let mut index = top.0;
        while index < count && below < height {
            let rows = self.entries.rows(index);
            below += if index == top.0 {
                rows.saturating_sub(top.1)
            } else {
                rows
            };
            index += 1;
        }
        if below < height {
            top = self.bottom();
        }
        let mut sight = Sight {
            index: top.0,
            row: top.1,
            ..Sight::default()
        };
        let mut left = height;
        for index in top.0..count {
            let rows = self.entries.rows(index);
            let first = if index == top.0 { top.1.min(rows) } else { 0 };
            let shown = (rows - first).min(left);
            if shown > 0 {
                sight
                    .shown
                    .push((index, first, u16::try_from(shown).unwrap_or(u16::MAX)));
            }
            left -= shown;
            if index + 1 == count && first + shown == rows {
                sight.is_at_end = true;
            }
            if left == 0 {
                // Entries without rows after the last one in sight do not hide the end.
                sight.is_at_end = sight.is_at_end
                    || (first + shown == rows
                        && (index + 1..count)
                            .all(|rest| rest < index + 64 && self.entries.rows(rest) == 0));
                break;
            }
        }
        sight.blank = u16::try_from(left).unwrap_or(0);
        sight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Heights(Vec<u32>, Vec<usize>);

    impl Rows for Heights {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn rows(&mut self, index: usize) -> u32 {
            self.1.push(index);
            self.0[index]
        }
    }

    fn top(heights: &[u32], height: u16, start: Start, delta: i32) -> (usize, u32, bool) {
        let sight = solve(
            &mut Heights(heights.to_vec(), Vec::new()),
            height,
            start,
            delta,
            None,
        );
        (sight.index, sight.row, sight.is_at_end)
    }

    #[test]
    fn the_newest_row_is_at_the_bottom() {
        assert_eq!(top(&[3, 3, 3], 5, Start::Bottom, 0), (1, 1, true));
    }

    #[test]
    fn scrolling_stops_at_both_ends() {
        assert_eq!(top(&[3, 3, 3], 5, Start::Bottom, -100), (0, 0, false));
        let from = Start::Top { index: 0, row: 0 };
        assert_eq!(top(&[3, 3, 3], 5, from, 100), (1, 1, true));
        assert_eq!(top(&[3, 3, 3], 5, from, 2), (0, 2, false));
    }

    #[test]
    fn rows_that_do_not_fill_the_screen_stand_at_the_bottom() {
        let sight = solve(
            &mut Heights(vec![2, 1], Vec::new()),
            10,
            Start::Bottom,
            -3,
            None,
        );
        assert_eq!((sight.blank, sight.is_at_end), (7, true));
    }

    #[test]
    fn an_anchor_holds_while_rows_grow_below() {
        let from = Start::Top { index: 1, row: 2 };
        assert_eq!(top(&[3, 9, 9], 5, from, 0), (1, 2, false));
        assert_eq!(top(&[3, 9, 90], 5, from, 0), (1, 2, false));
    }

    #[test]
    fn a_long_history_costs_only_what_is_in_sight() {
        let mut entries = Heights(vec![4; 1_000_000], Vec::new());
        solve(&mut entries, 40, Start::Bottom, -10, None);
        assert!(
            entries.1.len() < 60,
            "{} entries asked for",
            entries.1.len()
        );
    }

    #[test]
    fn an_entry_is_revealed_with_the_least_move() {
        let reveal = |start, wanted| {
            let mut entries = Heights(vec![4; 10], Vec::new());
            let sight = solve(&mut entries, 8, start, 0, Some(wanted));
            (sight.index, sight.row)
        };
        let from = Start::Top { index: 4, row: 0 };
        assert_eq!(reveal(from, 5), (4, 0));
        assert_eq!(reveal(from, 6), (5, 0));
        assert_eq!(reveal(from, 3), (3, 0));
    }

    #[test]
    fn a_point_in_an_entry_is_told_by_row_and_column() {
        let mut map = HitMap::default();
        let target = Target::Entry {
            key: crate::domain::MessageKey(7),
            row: 4,
            column: 0,
        };
        map.add(Rect::new(10, 2, 20, 3), target);
        assert_eq!(
            map.at(12, 4),
            Target::Entry {
                key: crate::domain::MessageKey(7),
                row: 6,
                column: 2
            }
        );
        assert_eq!(map.at(5, 4), Target::Nothing);
    }

    #[test]
    fn a_drag_goes_on_over_what_could_be_clicked() {
        let mut map = HitMap::default();
        let target = Target::Entry {
            key: crate::domain::MessageKey(7),
            row: 4,
            column: 0,
        };
        map.add(Rect::new(10, 2, 20, 3), target.clone());
        map.add(
            Rect::new(12, 2, 5, 1),
            Target::Link("https://a.example".to_owned()),
        );
        assert!(matches!(map.at(12, 2), Target::Link(_)));
        assert_eq!(
            map.dragged(12, 2),
            Target::Entry {
                key: crate::domain::MessageKey(7),
                row: 4,
                column: 2
            }
        );
        assert_eq!(map.dragged(5, 4), Target::Nothing);
    }
}
