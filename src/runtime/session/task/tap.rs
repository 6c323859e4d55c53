//! What passes a link, kept for the inspector, a recording and the report of the last minutes; only as
//! the driver redacts it.

use super::super::SessionEvent;
use super::super::recent::Passed;
use super::super::words::shown;
use super::Task;
use crate::domain::Moment;
use crate::link::Frame;

/// Frames of inspector output that may wait; older ones are left out.
const TAPPED_AT_MOST: usize = 256;

impl Task {
    pub(super) fn tap(&mut self, outgoing: bool, frame: &Frame) {
        let at = self.clock.now();
        let passed = Passed::Frame {
            outgoing,
            frame: frame.clone(),
        };
        self.recent.add(at, passed);
        if !self.is_inspected && self.recording.is_none() {
            return;
        }
        let redacted = self.driver.redact(frame);
        if let Some(recorder) = &self.recording {
            recorder.frame(at, self.account.as_str(), outgoing, &redacted);
        }
        if self.is_inspected {
            self.show(at, outgoing, &redacted);
        }
    }

    fn show(&mut self, at: Moment, outgoing: bool, redacted: &Frame) {
        if self.tapped.len() >= TAPPED_AT_MOST {
            self.tapped.pop_front();
        }
        self.tapped.push_back(SessionEvent::Tapped {
            outgoing,
            at,
            frame: shown(redacted),
        });
    }

    /// What passed before the inspector was opened.
    pub(super) fn show_recent(&mut self) {
        let frames: Vec<(Moment, bool, Frame)> = self
            .recent
            .frames()
            .map(|(at, outgoing, frame)| (at, outgoing, frame.clone()))
            .collect();
        let skip = frames.len().saturating_sub(TAPPED_AT_MOST);
        for (at, outgoing, frame) in frames.into_iter().skip(skip) {
            let redacted = self.driver.redact(&frame);
            self.show(at, outgoing, &redacted);
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
