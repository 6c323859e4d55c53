//! The lines of a query as they come: text, reasoning, signs of life; calls of tools go on to
//! `tools`.

use super::super::{Omi, word};
use super::{Life, PART_LIMIT};
use crate::domain::{
    ConversationId, Footer, Moment, Part, RemoteId, RunEvent, RunPhase, TextPatch, TimelineEvent,
    Topic,
};
use crate::protocol::decode::{TEXT_LIMIT, bounded};
use serde_json::{Map, Value};

impl Omi {
    pub(in super::super) fn on_streamed(
        &mut self,
        now: Moment,
        kind: &str,
        line: &Map<String, Value>,
    ) {
        let Some(id) = self.queries.of_line(line) else {
            // The tail of something that ended here.
            return;
        };
        let Some(query) = self.queries.all.get_mut(&id) else {
            return;
        };
        query.heard = now;
        if query.run_id.is_empty() {
            query.run_id = word(line, "runId").to_owned();
        }
        let conversation = query.conversation.clone();
        let is_stopped = matches!(query.life, Life::Stopped { .. });
        if is_stopped {
            self.stop_again(now, &id);
        }
        let Some(query) = self.queries.all.get_mut(&id) else {
            return;
        };
        let attempt = word(line, "attemptId");
        let is_new_attempt =
            !attempt.is_empty() && !query.attempt.is_empty() && query.attempt != attempt;
        if !attempt.is_empty() {
            query.attempt = attempt.to_owned();
        }
        if kind == "turn_activity" {
            self.session.is_leased = true;
            if !is_stopped {
                self.say(Topic::Run(RunEvent::Active { conversation }));
            }
            return;
        }
        // Stopped here at once, whatever still comes.
        if is_stopped {
            return;
        }
        // Text of an attempt that broke off may come again.
        if is_new_attempt {
            self.drop_parts(&id);
        }
        let Some(query) = self.queries.all.get_mut(&id) else {
            return;
        };
        if kind == "model_used" {
            query.model = Some(word(line, "model").to_owned());
            return;
        }
        self.wake(&id);
        match kind {
            "text_delta" => self.on_text(&id, line),
            "thinking_delta" => self.on_thinking(&id, line),
            _ => self.on_tool_line(now, &id, kind, line),
        }
    }

    /// Something of the run was seen: it works, or works again.
    fn wake(&mut self, id: &str) {
        let Some(query) = self.queries.all.get_mut(id) else {
            return;
        };
        let (conversation, run, command) =
            (query.conversation.clone(), query.run.clone(), query.command);
        if query.life != Life::Running {
            query.life = Life::Running;
            query.has_worked = false;
            self.say(Topic::Run(RunEvent::Started {
                conversation: conversation.clone(),
                run: run.clone(),
                command: Some(command),
                is_stated: true,
            }));
        }
        if let Some(query) = self.queries.all.get_mut(id)
            && !std::mem::replace(&mut query.has_worked, true)
        {
            self.say(Topic::Run(RunEvent::PhaseChanged {
                conversation,
                run,
                phase: RunPhase::Working,
            }));
        }
    }

    /// Takes what an attempt wrote off the screen.
    fn drop_parts(&mut self, id: &str) {
        let Some(query) = self.queries.all.get_mut(id) else {
            return;
        };
        let remotes: Vec<RemoteId> = (0..query.parts.len()).map(|at| query.part_id(at)).collect();
        query.parts.clear();
        query.is_split = false;
        let (conversation, turn) = (query.conversation.clone(), query.answer_turn.clone());
        self.forget_parts(&conversation, &turn);
        if !remotes.is_empty() {
            self.say(Topic::Timeline(TimelineEvent::Deleted {
                conversation,
                remotes,
            }));
        }
    }

    /// The part that grows now: after a tool a new one. None when there are too many.
    fn growing_part(&mut self, id: &str) -> Option<usize> {
        let query = self.queries.all.get_mut(id)?;
        // A tool before all text splits nothing.
        let is_split = std::mem::take(&mut query.is_split);
        let begins = query.parts.is_empty() || (is_split && query.parts.len() < PART_LIMIT);
        if begins {
            query.parts.push(String::new());
        }
        let last = query.parts.len() - 1;
        if begins && last > 0 {
            // Known over the end of this program too, however it comes.
            let (conversation, turn) = (query.conversation.clone(), query.answer_turn.clone());
            let parts = query.parts.clone();
            self.note_parts(&conversation, &turn, &parts);
            self.keep(&conversation);
        }
        Some(last)
    }

    /// A part that a tool ended grows no more.
    pub(in super::super) fn rest_part(&mut self, conversation: ConversationId, remote: RemoteId) {
        self.say(Topic::Timeline(TimelineEvent::Ended {
            conversation,
            remote,
            text: None,
            reasoning: None,
            footer: Footer::default(),
            sent_at_ms: None,
            is_interrupted: false,
        }));
    }

    fn on_text(&mut self, id: &str, line: &Map<String, Value>) {
        let text = word(line, "text");
        let length: usize = self
            .queries
            .all
            .get(id)
            .map_or(0, |query| query.parts.iter().map(String::len).sum());
        if text.is_empty() || length + text.len() > TEXT_LIMIT {
            return;
        }
        let Some(at) = self.growing_part(id) else {
            return;
        };
        let Some(query) = self.queries.all.get_mut(id) else {
            return;
        };
        let is_full = query.parts.len() >= PART_LIMIT;
        let (remote, run) = (query.part_id(at), query.run.clone());
        let conversation = query.conversation.clone();
        let Some(part) = query.parts.get_mut(at) else {
            return;
        };
        let begins = part.is_empty();
        // Adapters put line breaks between what stands before a tool and what comes after it.
        let text = match at > 0 && begins {
            true => text.trim_start_matches(['\n', '\r']),
            false => text,
        };
        if text.is_empty() {
            return;
        }
        part.push_str(text);
        // The last possible part may have been ended by a tool before; all of it wakes it.
        let patch = if begins || is_full {
            TextPatch::Replace(part.clone())
        } else {
            TextPatch::Append(text.to_owned())
        };
        self.say(Topic::Timeline(TimelineEvent::Patched {
            conversation,
            remote,
            run: Some(run),
            part: Part::Body,
            patch,
        }));
        // An answer that comes shows that the sign-in works.
        self.signed_in();
    }

    fn on_thinking(&mut self, id: &str, line: &Map<String, Value>) {
        let Some(at) = self.growing_part(id) else {
            return;
        };
        let Some(query) = self.queries.all.get(id) else {
            return;
        };
        let event = TimelineEvent::Patched {
            conversation: query.conversation.clone(),
            remote: query.part_id(at),
            run: Some(query.run.clone()),
            part: Part::Reasoning,
            patch: TextPatch::Append(bounded(word(line, "text"), TEXT_LIMIT)),
        };
        self.say(Topic::Timeline(event));
    }
}
