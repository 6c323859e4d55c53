//! Popups that are lists.

use super::{frame, hints, input, most_rows, paragraph, top};
use crate::app::screen::Target;
use crate::app::screen::overlay::{Line, List, Overlay};
use crate::app::screen::rows::{self, ListRow};
use crate::app::state::State;
use crate::text::{graphemes, width};
use crate::view::canvas::Canvas;
use crate::view::theme::Role;
use crate::view::words;
use ratatui::layout::Rect;

/// What a list popup looks like around its rows.
struct Shape<'a> {
    title: String,
    filter: Option<(&'a Line, &'static str)>,
    list: List,
    /// Over the rows.
    note: String,
    /// In place of the rows, when there are none.
    nothing: &'static str,
    columns: u16,
}

pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    overlay: &Overlay,
    area: Rect,
) -> Option<(u16, u16)> {
    let shape = shape(state, overlay)?;
    let rows = rows::rows(state, overlay);
    let note_rows = if shape.note.is_empty() {
        0
    } else {
        u16::try_from(width(&shape.note)).unwrap_or(0) / shape.columns.max(1) + 2
    };
    let most = most_rows(area).min(22);
    let listed = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    // A filtered list keeps its size while one types.
    let wanted = match shape.filter {
        Some(_) => most,
        None => listed.max(1).saturating_add(note_rows).min(most),
    };
    let inner = frame(canvas, area, &shape.title, shape.columns, wanted);
    let mut y = inner.y;
    let mut cursor = None;
    if let Some((line, placeholder)) = shape.filter {
        cursor = input(canvas, inner, y, line, placeholder);
        if !rows.is_empty() {
            let count = rows.len().to_string();
            let x = inner
                .right()
                .saturating_sub(u16::try_from(count.len()).unwrap_or(0));
            canvas.put(x, y, &count, 6, Role::PopupMuted);
        }
        y += 2;
    }
    if !shape.note.is_empty() {
        y = paragraph(canvas, inner, y, &shape.note, Role::PopupMuted) + 1;
    }
    let body = Rect {
        y,
        height: inner.bottom().saturating_sub(y),
        ..inner
    };
    if rows.is_empty() {
        paragraph(canvas, body, y, shape.nothing, Role::PopupMuted);
    }
    draw_rows(canvas, state, &rows, shape.list, body);
    hints(canvas, state, inner);
    cursor
}

/// The rows of a list with the cursor among them.
pub(crate) fn draw_rows(
    canvas: &mut Canvas<'_>,
    state: &State,
    rows: &[ListRow],
    list: List,
    area: Rect,
) {
    let height = usize::from(area.height);
    let selected = list.selected.min(rows.len().saturating_sub(1));
    let first = top(selected, list.scroll, rows.len(), height);
    // Times stand in a column of their own, so that what is before them does too.
    let times = rows.iter().map(|row| width(&age(state, row))).max();
    let times = u16::try_from(times.unwrap_or(0)).unwrap_or(0);
    for (line, row) in rows.iter().enumerate().skip(first).take(height) {
        let y = area.y + u16::try_from(line - first).unwrap_or(0);
        draw_row(canvas, state, row, area, y, (line == selected, times));
        let hit = Rect {
            y,
            height: 1,
            ..area
        };
        canvas.hits.add(hit, Target::OverlayRow(line));
    }
    canvas.scrollbar(area.right() + 1, area, rows.len(), first, Role::PopupMuted);
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    state: &State,
    row: &ListRow,
    area: Rect,
    y: u16,
    (is_selected, times): (bool, u16),
) {
    let g = canvas.glyphs;
    let whole = Rect {
        x: area.x.saturating_sub(1),
        y,
        width: area.width + 2,
        height: 1,
    };
    if is_selected {
        canvas.fill(whole, Role::Selected);
        canvas.put(whole.x, y, g.selection, 1, Role::SelectionMark);
    }
    let mut right = area.right();
    let mut put_right = |canvas: &mut Canvas<'_>, text: &str, role: Role| {
        let wide = u16::try_from(width(text)).unwrap_or(u16::MAX);
        // The label keeps at least half of the row.
        if text.is_empty() || wide + 2 > (right - area.x).saturating_sub(area.width / 2) {
            return;
        }
        canvas.put(right - wide, y, text, wide, role);
        right -= wide + 2;
    };
    put_right(canvas, row.keys.as_str(), Role::Key);
    let age = age(state, row);
    let blank = usize::from(times).saturating_sub(width(&age));
    let age = format!("{}{age}", " ".repeat(blank));
    put_right(canvas, &age, Role::PopupMuted);
    // A short label leaves its half to what stands beside it.
    let taken = u16::try_from(width(row.label.as_str())).unwrap_or(u16::MAX);
    let free = right.saturating_sub(area.x + 4).saturating_sub(taken);
    let detail = canvas.cut(
        row.detail.as_str(),
        usize::from(free.max((area.width / 2).saturating_sub(2))),
    );
    let label_role = if row.is_refused {
        Role::Muted
    } else {
        Role::Text
    };
    let mark = if row.is_current { g.check } else { " " };
    let mut x = canvas.put(area.x, y, mark, 1, Role::Good) + 1;
    // A detail that would leave the label too little goes behind it, in what is left.
    let label_width = u16::try_from(width(row.label.as_str())).unwrap_or(u16::MAX);
    let detail_width = u16::try_from(width(&detail)).unwrap_or(u16::MAX);
    let both = label_width.saturating_add(detail_width).saturating_add(2);
    let room = if detail.is_empty() {
        right.saturating_sub(x)
    } else if both <= right.saturating_sub(x) {
        let at = right - detail_width;
        canvas.put(at, y, &detail, detail_width, Role::PopupMuted);
        at.saturating_sub(x + 2)
    } else {
        let share = (right.saturating_sub(x)) / 3;
        let cut = canvas.cut(&detail, usize::from(share));
        let wide = u16::try_from(width(&cut)).unwrap_or(0);
        let at = right.saturating_sub(wide);
        canvas.put(at, y, &cut, wide, Role::PopupMuted);
        at.saturating_sub(x + 2)
    };
    let shown = canvas.cut(row.label.as_str(), usize::from(room));
    let end = x + room;
    let mut at = 0;
    for cluster in graphemes(&shown) {
        let role = if row.matched.contains(&at) {
            Role::Match
        } else {
            label_role
        };
        x = canvas.put(x, y, cluster, end.saturating_sub(x), role);
        at += cluster.len();
    }
}

/// When the thing of a row was, in words.
fn age(state: &State, row: &ListRow) -> String {
    match (row.since, row.at_ms) {
        (Some(since), _) => {
            let ms = state.now.ago(since).as_millis();
            words::age(u64::try_from(ms).unwrap_or(0))
        }
        (None, Some(at)) => words::when(at, state.now, state.settings.utc_offset_minutes),
        (None, None) => String::new(),
    }
}

fn shape<'a>(state: &State, overlay: &'a Overlay) -> Option<Shape<'a>> {
    let plain = |title: &str, list: List, nothing: &'static str| Shape {
        title: title.to_owned(),
        filter: None,
        list,
        note: String::new(),
        nothing,
        columns: 64,
    };
    Some(match overlay {
        Overlay::Attention { list } => Shape {
            columns: 84,
            ..plain("Waiting for you", *list, "Nothing waits for you.")
        },
        Overlay::Switcher { filter, list } => Shape {
            filter: Some((filter, "name of a conversation")),
            ..plain("Go to a conversation", *list, "No conversation fits.")
        },
        Overlay::Palette { filter, list } => Shape {
            filter: Some((filter, "what do you want to do?")),
            columns: 72,
            ..plain("Everything", *list, "Nothing fits.")
        },
        Overlay::Models {
            filter,
            list,
            for_all,
            catalog,
            ..
        } => Shape {
            title: if *for_all {
                "Model for every conversation".to_owned()
            } else {
                "Model for this conversation".to_owned()
            },
            filter: Some((filter, "name of a model")),
            nothing: if catalog.is_none() {
                "Asking the server for its models. What you type is kept."
            } else {
                "No model fits."
            },
            ..plain("", *list, "")
        },
        Overlay::Effort { list, for_all, .. } => Shape {
            columns: 60,
            ..plain(
                if *for_all {
                    "Reasoning effort for every conversation"
                } else {
                    "Reasoning effort for this conversation"
                },
                *list,
                "The server names no levels.",
            )
        },
        Overlay::Search(popup) => Shape {
            filter: Some((&popup.query, "words to look for")),
            columns: 92,
            title: match &popup.here {
                Some((account, id)) => {
                    let name = state
                        .account(account)
                        .map(|account| rows::conversation_name(account, id));
                    format!("Search in {}", name.unwrap_or_default())
                }
                None => "Search everywhere".to_owned(),
            },
            nothing: if popup.is_running {
                "Searching"
            } else if popup.query.text.trim().is_empty() {
                "Type what you look for; Enter goes there."
            } else {
                "Nothing was found."
            },
            note: String::new(),
            list: popup.list,
        },
        Overlay::Media { list, .. } => plain("Files of this conversation", *list, "There are no files here."),
        Overlay::Queue { list, .. } => Shape {
            columns: 84,
            ..plain("Waiting to be sent", *list, "Nothing waits.")
        },
        Overlay::EntryMenu { list, .. } => Shape {
            columns: 60,
            ..plain("What to do with it", *list, "Nothing can be done with it.")
        },
        Overlay::Inspector { filter, list } => Shape {
            filter: Some((filter, "part of a frame or an account")),
            columns: 110,
            ..plain("Frames, newest first; secrets are masked", *list, "No frame was seen yet.")
        },
        Overlay::Theme { list, .. } => Shape {
            columns: 44,
            ..plain("Theme", *list, "No theme was found.")
        },
        Overlay::Wizard(wizard) => Shape {
            note: "Which kind of server or runtime is it?".to_owned(),
            columns: 78,
            ..plain("Add an account", wizard.list, "This build knows no kind of account.")
        },
        Overlay::Welcome { list } => Shape {
            note: "trialogue is the terminal client for your agents: those behind a gateway, those on a server, and the one on this machine, side by side.".to_owned(),
            columns: 58,
            ..plain("Welcome", *list, "")
        },
        Overlay::Inputs {
            filter,
            list,
            everywhere,
            ..
        } => Shape {
            filter: Some((filter, "part of an earlier input")),
            columns: 84,
            ..plain(
                if *everywhere {
                    "Earlier inputs, everywhere"
                } else {
                    "Earlier inputs"
                },
                *list,
                "No earlier input fits.",
            )
        },
        Overlay::Functions { list, .. } => plain("What it offers besides", *list, "It offers nothing besides."),
        Overlay::Choices { title, filter, list, .. } => Shape {
            filter: Some((filter, "part of a name")),
            columns: 84,
            ..plain(title.as_str(), *list, "Nothing fits.")
        },
        Overlay::Links { list, .. } => Shape {
            columns: 84,
            ..plain("Open a link", *list, "There is no link in it.")
        },
        Overlay::CodeBlocks { list, .. } => plain("Copy a code block", *list, "There is no code in it."),
        Overlay::Profile { list, .. } => plain("How this conversation is carried out", *list, "It has no profile."),
        Overlay::Decision(_)
        | Overlay::Help { .. }
        | Overlay::Confirm(_)
        | Overlay::Prompt(_)
        | Overlay::Document { .. }
        | Overlay::Account { .. } => return None,
    })
}
