//! A file on a message: always a line with name, kind and size; where its bytes are.

use super::Scene;
use crate::app::Action;
use crate::app::keymap::Context;
use crate::app::media::is_local;
use crate::app::screen::Target;
use crate::domain::{Attachment, AttachmentId, AttachmentKind, AttachmentState};
use crate::text::mixes_scripts;
use crate::view::canvas::Row;
use crate::view::theme::Role;
use crate::view::words;
use std::path::Path;

/// A larger picture is opened outside.
const MOST_BYTES: u64 = 20_000_000;

/// The rows of one attachment.
pub(crate) fn rows(scene: &Scene<'_>, id: &AttachmentId) -> Vec<Row> {
    let Some(attachment) = scene.account.attachments.get(id) else {
        return vec![
            Row::of(format!("{} ", scene.glyphs.attachment), Role::Muted)
                .and("a file that is not known yet", Role::Muted),
        ];
    };
    vec![row(scene, attachment)]
}

/// The file of a picture that may be shown in the timeline.
pub(crate) fn shown<'a>(scene: &Scene<'a>, id: &AttachmentId) -> Option<&'a Path> {
    let attachment = scene.account.attachments.get(id)?;
    let is_small = attachment.size.is_none_or(|size| size <= MOST_BYTES);
    match &attachment.state {
        AttachmentState::Present { path }
            if attachment.kind == AttachmentKind::Image && is_small =>
        {
            Some(path)
        }
        _ => None,
    }
}

/// One attachment as a line; also used by the media list.
pub(crate) fn row(scene: &Scene<'_>, attachment: &Attachment) -> Row {
    let g = scene.glyphs;
    let mut facts = vec![kind(attachment.kind).to_owned()];
    if let Some(size) = attachment.size {
        facts.push(words::size(size));
    }
    let between = format!(" {} ", g.dot);
    let name = if attachment.name.is_empty() {
        "unnamed"
    } else {
        attachment.name.as_str()
    };
    let row = Row::of(format!("{} ", g.attachment), Role::Accent)
        .and(lookalike(scene, name), Role::Warning)
        .and(name, Role::Strong)
        .and("  ", Role::Muted)
        .and(facts.join(&between), Role::Muted)
        .and("  ", Role::Muted)
        .hits(Target::Attachment(attachment.id.clone()));
    match &attachment.state {
        AttachmentState::Offered if is_local(&attachment.id) => row,
        AttachmentState::Offered => match attachment.expires_at_ms {
            Some(at) if at <= scene.state.now.wall_ms => row.and("expired", Role::Warning),
            Some(at) => {
                let left = u64::try_from(at - scene.state.now.wall_ms).unwrap_or(0);
                // Minutes would make the row change all the time.
                if left < 86_400_000 {
                    row.and("on the server, expires today", Role::Muted)
                } else {
                    row.and("on the server", Role::Muted)
                }
            }
            None => row.and("on the server", Role::Muted),
        },
        AttachmentState::Queued { .. } => {
            row.and(format!("{} waits for its turn", g.queued), Role::Muted)
        }
        AttachmentState::Transferring { done, .. } => {
            let row = progress(row, scene, *done, attachment.size);
            let keymap = &scene.state.keymap;
            match keymap.hint(Action::CancelTransfer, Context::Timeline) {
                Some(keys) if !is_local(&attachment.id) => row
                    .and(format!("  {keys}"), Role::Key)
                    .and(" stops", Role::Muted),
                _ => row,
            }
        }
        AttachmentState::Present { .. } => row.and(format!("{} here", g.check), Role::Good),
        AttachmentState::Gone => row.and("no longer on the server", Role::Warning),
        AttachmentState::Failed { reason } => row.and(
            format!("{} {}", g.cross, reason.as_str().replace('\n', " ")),
            Role::Danger,
        ),
    }
}

fn progress(row: Row, scene: &Scene<'_>, done: u64, total: Option<u64>) -> Row {
    let Some(total) = total.filter(|total| *total > 0) else {
        return row.and(words::size(done), Role::Info);
    };
    let share = done.min(total) as f64 / total as f64;
    let full = (share * 10.0) as usize;
    row.and(scene.glyphs.bar_full.repeat(full), Role::Accent)
        .and(scene.glyphs.bar_empty.repeat(10 - full), Role::Border)
        .and(format!(" {}%", (share * 100.0) as u32), Role::Info)
}

/// The word for a kind of file.
pub(crate) fn kind(kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::Image => "picture",
        AttachmentKind::Audio => "audio",
        AttachmentKind::Voice => "voice message",
        AttachmentKind::Video => "video",
        AttachmentKind::Document => "file",
    }
}

/// A mark before a name that may pass for another one; behind a long one it would be cut.
fn lookalike(scene: &Scene<'_>, name: &str) -> String {
    if mixes_scripts(name) {
        format!("{} ", scene.glyphs.lookalike)
    } else {
        String::new()
    }
}
