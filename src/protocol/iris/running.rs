//! Calls of a lane that are remembered: those that run, until their ends come, also over a restart of
//! the program; and those that ended, because a replay repeats their ends.

use super::lanes::{ENDED_LIMIT, Lane};
use crate::domain::{RemoteId, ToolCallId};
use std::collections::VecDeque;

/// A call that ended, as a replay of its end recognises it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Call {
    pub(super) id: ToolCallId,
    /// What its end said.
    pub(super) print: String,
    /// The id that it had while it ran.
    pub(super) from: Option<ToolCallId>,
    /// The link it was seen over.
    pub(super) link: u64,
    /// A replay repeated it, or came by without it: no other one will.
    pub(super) is_covered: bool,
}

/// A call that was seen to begin and not to end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Begun {
    pub(super) index: i64,
    pub(super) name: String,
    pub(super) id: ToolCallId,
    /// The link it was seen over; 0 for one of an earlier start of the program.
    pub(super) link: u64,
    /// Wall milliseconds.
    pub(super) at_ms: i64,
}

impl Lane {
    /// Remembers a finished call.
    pub(super) fn remember_call(&mut self, call: Call) {
        if self.calls.len() >= ENDED_LIMIT {
            self.calls.pop_front();
        }
        self.has_new_calls |= !call.is_covered;
        self.calls.push_back(call);
    }

    /// What is still to be recognised of the finished calls, as one text; none when there is
    /// nothing.
    pub(super) fn kept_calls(&self) -> Option<String> {
        let calls: Vec<Vec<&str>> = self
            .calls
            .iter()
            .filter(|call| !call.is_covered)
            .map(|call| {
                [call.id.as_str(), call.print.as_str()]
                    .into_iter()
                    .chain(call.from.as_ref().map(ToolCallId::as_str))
                    .collect()
            })
            .collect();
        if calls.is_empty() {
            return None;
        }
        serde_json::to_string(&calls).ok()
    }

    /// An id that no other call of this lane has, made of what a replay of the end knows too.
    pub(super) fn new_end_id(&self, index: i64, name: &str) -> ToolCallId {
        let anchor = self.anchor.as_ref().map_or("start", RemoteId::as_str);
        let first = format!("{anchor}/{index}/{name}");
        let mut id = ToolCallId::from(first.as_str());
        // An index counts anew in the next turn.
        let mut again = 1;
        while self.calls.iter().any(|call| call.id == id) {
            again += 1;
            id = ToolCallId::from(format!("{first}~{again}"));
        }
        id
    }

    /// Remembers a call that runs.
    pub(super) fn remember_begun(&mut self, call: Begun) {
        if self.begun.len() >= ENDED_LIMIT {
            self.begun.pop_front();
        }
        self.begun.push_back(call);
        self.has_new_begun = true;
    }

    /// A call gives a sign over this link: one that is known here to run, or that an earlier start of
    /// the program saw begin.
    pub(super) fn runs_on(&mut self, index: i64, name: &str, link: u64) -> Option<ToolCallId> {
        let running = self.tools.get(&index).cloned();
        let call = self.begun.iter_mut().find(|call| match &running {
            Some(id) => call.id == *id,
            None => call.index == index && call.name == name,
        });
        let Some(call) = call else {
            return running;
        };
        call.link = link;
        self.tools.insert(index, call.id.clone());
        Some(call.id.clone())
    }

    /// The call with this index that ends now: the one that was seen to begin last, else the oldest
    /// one of this name.
    pub(super) fn take_begun(&mut self, index: i64, name: &str) -> Option<Begun> {
        let running = self.tools.remove(&index);
        let place = match &running {
            Some(id) => self.begun.iter().position(|call| call.id == *id),
            None => self
                .begun
                .iter()
                .position(|call| call.index == index && call.name == name),
        };
        if let Some(place) = place {
            self.has_new_begun = true;
            return self.begun.remove(place);
        }
        // It is remembered no more.
        running.map(|id| Begun {
            index,
            name: name.to_owned(),
            id,
            link: u64::MAX,
            at_ms: 0,
        })
    }

    /// The oldest call with this index and name that was seen to begin before a link.
    pub(super) fn take_begun_before(&mut self, link: u64, index: i64, name: &str) -> Option<Begun> {
        let is_it = |call: &Begun| call.link < link && call.index == index && call.name == name;
        let place = self.begun.iter().position(is_it)?;
        self.has_new_begun = true;
        let call = self.begun.remove(place)?;
        self.tools.retain(|_, id| *id != call.id);
        Some(call)
    }

    /// Calls of earlier links that have not ended.
    pub(super) fn begun_before(&self, link: u64) -> Vec<ToolCallId> {
        self.begun
            .iter()
            .filter(|call| call.link < link)
            .map(|call| call.id.clone())
            .collect()
    }

    /// Forgets the calls of which this is true; no end is waited for.
    pub(super) fn forget_begun(&mut self, is_over: impl Fn(&Begun) -> bool) -> Vec<ToolCallId> {
        let (gone, begun): (VecDeque<Begun>, VecDeque<Begun>) = std::mem::take(&mut self.begun)
            .into_iter()
            .partition(is_over);
        self.begun = begun;
        self.has_new_begun |= !gone.is_empty();
        gone.into_iter().map(|call| call.id).collect()
    }

    /// The calls that run, as one text; none when there is none.
    pub(super) fn kept_begun(&self) -> Option<String> {
        let calls: Vec<(i64, &str, &str, i64)> = self
            .begun
            .iter()
            .map(|call| (call.index, call.name.as_str(), call.id.as_str(), call.at_ms))
            .collect();
        if calls.is_empty() {
            return None;
        }
        serde_json::to_string(&calls).ok()
    }

    /// Takes the calls of an earlier start of the program that had not ended.
    pub(super) fn restore_begun(&mut self, text: &str) {
        let kept: Vec<(i64, String, String, i64)> = serde_json::from_str(text).unwrap_or_default();
        let begun = kept.into_iter().take(ENDED_LIMIT);
        self.begun = begun
            .map(|(index, name, id, at_ms)| Begun {
                index,
                name,
                id: ToolCallId::from(id),
                link: 0,
                at_ms,
            })
            .collect();
    }

    /// Takes the calls of an earlier start of the program whose ends a replay may repeat.
    pub(super) fn restore_calls(&mut self, text: &str) {
        let kept: Vec<Vec<String>> = serde_json::from_str(text).unwrap_or_default();
        for call in kept {
            let mut parts = call.into_iter();
            let (Some(id), Some(print)) = (parts.next(), parts.next()) else {
                continue;
            };
            self.remember_call(Call {
                id: ToolCallId::from(id),
                print,
                from: parts.next().map(ToolCallId::from),
                link: 0,
                is_covered: false,
            });
        }
    }
}
