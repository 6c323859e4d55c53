//! What passes a link, kept for the inspector, a recording and the report of the last minutes; only as
//! the driver redacts it.

use super::super::SessionEvent;
use super::super::recent::Passed;
use super::super::words::{shown, shown_bytes};
use super::Task;
use crate::domain::Moment;
use crate::link::Frame;
use crate::text::SafeText;

/// Frames of inspector output that may wait; older ones are left out.
const TAPPED_AT_MOST: usize = 256;

impl Task {
    pub(super) fn tap(&mut self, outgoing: bool, frame: &Frame) {
        let at = self.clock.now();
        self.recent.add(at, Passed::frame(outgoing, frame));
        if !self.is_inspected && self.recording.is_none() {
            return;
        }
        let redacted = self.driver.redact(frame);
        if let Some(recorder) = &self.recording {
            recorder.frame(at, self.account.as_str(), outgoing, &redacted);
        }
        if self.is_inspected {
            self.show(at, outgoing, shown(&redacted));
        }
    }

    fn show(&mut self, at: Moment, outgoing: bool, frame: SafeText) {
        if self.tapped.len() >= TAPPED_AT_MOST {
            self.tapped.pop_front();
        }
        self.tapped.push_back(SessionEvent::Tapped {
            outgoing,
            at,
            frame,
        });
    }

    /// What passed before the inspector was opened.
    pub(super) fn show_recent(&mut self) {
        let frames: Vec<(Moment, Passed)> = self
            .recent
            .all()
            .filter(|(_, passed)| matches!(passed, Passed::Text { .. } | Passed::Bytes { .. }))
            .cloned()
            .collect();
        let skip = frames.len().saturating_sub(TAPPED_AT_MOST);
        for (at, passed) in frames.into_iter().skip(skip) {
            match passed {
                Passed::Text { outgoing, frame } => {
                    self.show(at, outgoing, shown(&self.driver.redact(&frame)));
                }
                Passed::Bytes { outgoing, count } => self.show(at, outgoing, shown_bytes(count)),
                Passed::Up | Passed::Down(_) | Passed::Command(_) => {}
            }
        }
    }

    pub(super) fn recent_lines(&self) -> Vec<(u64, String)> {
        let (account, origin) = (self.account.as_str(), &self.origin);
        let seed: String = origin
            .seed
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let first = serde_json::json!({
            "account": account, "kind": origin.kind, "seed": seed, "facts": origin.facts,
        });
        let mut lines = self.recent.lines(account, self.driver.as_ref());
        let at_ms = lines.first().map_or(0, |(at_ms, _)| *at_ms);
        lines.insert(0, (at_ms, crate::runtime::recording::timed(at_ms, first)));
        lines
    }
}
