//! The beats of a play as they come: what the scripted agent says and does, in frames.

use super::super::{Pheby, Timer};
use super::{Run, redacted};
use crate::demo::agent::Beat;
use crate::demo::engine::{ConnectionId, GatewayOutput};
use crate::demo::files::File;
use serde_json::json;

impl Pheby {
    /// Plays the next beat of a conversation's run.
    pub(in crate::demo::pheby) fn play(&mut self, index: usize) {
        let now = self.desk.now;
        let beat = self.conversations[index]
            .run
            .as_mut()
            .and_then(|run| run.play.next(now));
        if let Some(beat) = beat {
            self.perform(index, beat);
        }
    }

    /// Whether a finished part of the text is a message of its own from here on.
    pub(in crate::demo::pheby) fn close_part(&mut self, index: usize) {
        let has_ended = self.conversations[index]
            .run
            .as_ref()
            .is_some_and(|run| run.has_ended);
        if has_ended && self.readings.several_messages {
            self.complete_message(index);
        }
    }

    fn perform(&mut self, index: usize, beat: Beat) {
        match beat {
            Beat::TextStarted => self.begin_part(index),
            Beat::Text(text) => self.grow_part(index, text),
            Beat::TextEnded(text) => {
                if let Some(run) = &mut self.conversations[index].run {
                    run.text = text;
                    run.has_ended = true;
                }
            }
            Beat::Commentary(text) => {
                self.begin_part(index);
                self.grow_part(index, text);
                if let Some(run) = &mut self.conversations[index].run {
                    run.has_ended = true;
                }
            }
            // The protocol has no frame for reasoning, progress or notifications.
            Beat::Thinking(_)
            | Beat::ToolProgress { .. }
            | Beat::Todo(_)
            | Beat::SignInNeeded(_)
            | Beat::SignedIn
            | Beat::Health(_)
            | Beat::Notification { .. } => self.keep_todo(index, &beat),
            Beat::ToolStarted {
                call, name, args, ..
            } => {
                if name == "todo" && !self.readings.shows_todos {
                    if let Some(run) = &mut self.conversations[index].run {
                        run.todo_calls.push(call);
                    }
                    return;
                }
                let rest = json!({"status": "running", "args_redacted": redacted(&args)});
                self.tool_event(index, &call, &name, rest);
                self.close_part(index);
            }
            Beat::ToolEnded {
                call,
                name,
                milliseconds,
                error,
                ..
            } => {
                let is_hidden = self.conversations[index]
                    .run
                    .as_ref()
                    .is_some_and(|run| run.todo_calls.contains(&call));
                if is_hidden {
                    return;
                }
                let mut rest = json!({"status": "completed", "duration_ms": milliseconds});
                if let Some(error) = error {
                    rest["status"] = json!("failed");
                    rest["error"] = json!(error.chars().take(500).collect::<String>());
                }
                self.tool_event(index, &call, &name, rest);
            }
            Beat::Approval {
                command,
                description,
                choices,
            } => {
                let id = self.desk.hex(12);
                let frame = json!({
                    "type": "approval.request",
                    "approval_id": id,
                    "command": command,
                    "description": description,
                    "choices": choices,
                });
                self.ask(index, id, true, frame, Vec::new());
            }
            Beat::Clarify { question, choices } => {
                let id = self.desk.hex(10);
                let frame = json!({
                    "type": "clarify.request",
                    "clarify_id": id,
                    "question": question,
                    "choices": choices,
                    "allow_free_text": true,
                });
                self.ask(index, id, false, frame, Vec::new());
            }
            Beat::Picker { title, choices } => {
                let id = self.desk.hex(10);
                let labels: Vec<&str> = choices.iter().map(|c| c.label.as_str()).collect();
                let frame = json!({
                    "type": "clarify.request",
                    "clarify_id": id,
                    "question": title,
                    "choices": labels,
                    "allow_free_text": true,
                });
                self.ask(index, id, false, frame, choices);
            }
            Beat::HostTool { .. } => {
                let now = self.desk.now;
                if let Some(run) = &mut self.conversations[index].run {
                    run.play.refuse_host_tool(now);
                }
            }
            Beat::Expired => {
                // No event exists for this; a late answer finds nothing.
                if let Some(run) = &mut self.conversations[index].run {
                    run.pending = None;
                }
            }
            Beat::Offer(name) => {
                if let Some(file) = File::sample(&name) {
                    self.offer(index, file);
                }
            }
            Beat::Notice(text) => self.notice(index, &text),
            Beat::Rename(name) => self.retitle(index, &name),
            Beat::Silence(length) => self.desk.fall_silent(length),
            Beat::Cut => {
                for connection in std::mem::take(&mut self.clients).into_keys() {
                    self.desk.out.push(GatewayOutput::Cut { connection });
                }
            }
            Beat::Restart { milliseconds, lost } => self.restart(milliseconds, lost),
            Beat::Garbage(frames) => {
                let ready: Vec<ConnectionId> = self
                    .clients
                    .iter()
                    .filter(|(_, client)| client.is_ready)
                    .map(|(id, _)| *id)
                    .collect();
                for text in frames {
                    for connection in &ready {
                        self.desk.send_text(*connection, text.clone());
                    }
                }
            }
            Beat::Unknown(name) => {
                let frame = json!({
                    "type": name,
                    "conversation_id": self.conversations[index].id,
                    "payload": {"note": "a frame from a later version"},
                });
                self.broadcast(&frame);
            }
            Beat::Later {
                word, milliseconds, ..
            } => {
                let conversation = self.conversations[index].id.clone();
                let at = self.desk.now + milliseconds;
                self.timers
                    .push((at, Timer::Unsolicited { conversation, word }));
            }
            Beat::Failed(text) => {
                let wall = self.desk.wall();
                let id = self.message_id();
                let conversation = &mut self.conversations[index];
                let partial = conversation
                    .run
                    .as_ref()
                    .filter(|run| run.is_open)
                    .map(Run::whole)
                    .filter(|text| !text.is_empty());
                if let Some(partial) = partial {
                    conversation.store(id, "assistant", &partial, wall);
                }
                self.finish(index, "failed", Some(&text));
            }
            Beat::Finished => {
                self.complete_message(index);
                self.finish(index, "completed", None);
            }
        }
    }

    fn keep_todo(&mut self, index: usize, beat: &Beat) {
        if let Beat::Todo(items) = beat {
            self.conversations[index].todo = items.clone();
        }
    }

    fn begin_part(&mut self, index: usize) {
        self.close_part(index);
        let Some(run) = &mut self.conversations[index].run else {
            return;
        };
        if run.is_open {
            run.before = run.whole();
            run.text.clear();
            run.has_ended = false;
        } else {
            self.start_message(index);
        }
    }

    fn grow_part(&mut self, index: usize, text: String) {
        let ts = self.desk.timestamp();
        let Some(run) = &mut self.conversations[index].run else {
            return;
        };
        run.text = text;
        if self.readings.without_deltas {
            return;
        }
        let frame = json!({
            "type": "message.delta",
            "message_id": run.draft(),
            "text": run.whole(),
            "conversation_id": self.conversations[index].id,
            "ts": ts,
        });
        self.broadcast(&frame);
    }
}
