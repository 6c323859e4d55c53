//! How the steps of a scenario become beats: when each word, tool and question comes.

use super::super::scenario::{Action, TodoItem, ToolSpec};
use super::{Answer, Beat, Cue, Play, Question, todo_json};
use serde_json::{Value, json};

/// Seconds between two states of a growing text, as a real gateway paints them.
const TICK: f64 = 0.05;
/// Characters a text grows by in a tick, unless the step says otherwise.
const PACE: usize = 24;
/// How long a person may take over an approval, unless the step says otherwise.
const APPROVAL_SECONDS: f64 = 60.0;
/// The same for questions and pickers.
const QUESTION_SECONDS: f64 = 3600.0;
/// How long a host may take over a tool of its own.
const HOST_SECONDS: f64 = 120.0;

impl Play {
    pub(super) fn lay_out(&mut self, action: Action) {
        match action {
            Action::Say {
                text,
                pace,
                at_once,
            } => {
                let text = self.fill_in(text.trim_end());
                self.beat(0, Beat::TextStarted);
                if !at_once {
                    for upto in grow(&text, pace.unwrap_or(PACE)) {
                        self.cue(self.milliseconds(TICK), Cue::Text { upto });
                    }
                }
                self.beat(self.milliseconds(0.05), Beat::TextEnded(text.clone()));
                self.text = text.into();
            }
            Action::Think { text, pace } => {
                let text = self.fill_in(text.trim_end());
                for upto in grow(&text, pace.unwrap_or(PACE)) {
                    self.cue(self.milliseconds(TICK), Cue::Think { upto });
                }
                self.text = text.into();
            }
            Action::Commentary { text } => {
                let text = self.fill_in(&text);
                self.beat(self.milliseconds(0.2), Beat::Commentary(text));
            }
            Action::Wait { seconds } => {
                self.lead += self.milliseconds(seconds);
            }
            Action::Tool(tool) => self.lay_out_tools(vec![tool]),
            Action::Together { tools } => self.lay_out_tools(tools),
            Action::Todo { items, merge } => self.lay_out_todo(items, merge),
            Action::Approval {
                command,
                description,
                choices,
                output,
                seconds,
                timeout,
            } => {
                let command = command.trim_end().to_owned();
                let call = self.call();
                self.beat(
                    self.milliseconds(0.1),
                    Beat::ToolStarted {
                        call: call.clone(),
                        name: "terminal".into(),
                        args: json!({"command": command}),
                        preview: preview_of("terminal", &json!({"command": command})),
                    },
                );
                let output = self.fill_in(&output.unwrap_or_default());
                let milliseconds = self.milliseconds(seconds.unwrap_or(0.8));
                if self.context.auto_approve || self.context.approved.contains(&description) {
                    self.answer = Answer {
                        words: vec!["once".into(), "approved".into(), "unasked".into()],
                        value: "once".into(),
                        reason: String::new(),
                    };
                    self.beat(
                        milliseconds,
                        Beat::ToolEnded {
                            call,
                            name: "terminal".into(),
                            milliseconds,
                            output,
                            error: None,
                        },
                    );
                    return;
                }
                let choices = choices.unwrap_or_else(|| {
                    ["once", "session", "always", "deny"]
                        .map(str::to_owned)
                        .to_vec()
                });
                self.beat(
                    20,
                    Beat::Approval {
                        command,
                        description: description.clone(),
                        choices,
                    },
                );
                let timeout = self.milliseconds(timeout.unwrap_or(APPROVAL_SECONDS));
                self.cue(
                    0,
                    Cue::Ask {
                        question: Question::Approval {
                            call,
                            description,
                            output,
                            milliseconds,
                        },
                        timeout,
                    },
                );
            }
            Action::Clarify {
                question,
                choices,
                timeout,
            } => {
                let call = self.call();
                let args = json!({"question": question, "choices": choices});
                self.beat(
                    self.milliseconds(0.1),
                    Beat::ToolStarted {
                        call: call.clone(),
                        name: "clarify".into(),
                        preview: preview_of("clarify", &args),
                        args,
                    },
                );
                self.beat(
                    1,
                    Beat::Clarify {
                        question,
                        choices: choices.clone(),
                    },
                );
                let timeout = self.milliseconds(timeout.unwrap_or(QUESTION_SECONDS));
                self.cue(
                    0,
                    Cue::Ask {
                        question: Question::Clarify {
                            call,
                            choices: choices.unwrap_or_default(),
                        },
                        timeout,
                    },
                );
            }
            Action::Picker {
                title,
                choices,
                timeout,
            } => {
                self.beat(self.milliseconds(0.1), Beat::Picker { title, choices });
                let timeout = self.milliseconds(timeout.unwrap_or(QUESTION_SECONDS));
                self.cue(
                    0,
                    Cue::Ask {
                        question: Question::Picker,
                        timeout,
                    },
                );
            }
            Action::Offer { file } => self.beat(60, Beat::Offer(file)),
            Action::Notice { text } => {
                let text = self.fill_in(&text);
                self.beat(10, Beat::Notice(text));
            }
            Action::Notification { kind, title, body } => {
                self.beat(10, Beat::Notification { kind, title, body });
            }
            Action::Rename { name } => self.beat(0, Beat::Rename(name)),
            Action::Silence { seconds } => {
                let length = self.milliseconds(seconds);
                self.beat(0, Beat::Silence(length));
                self.lead += length;
            }
            Action::Cut {} => self.beat(0, Beat::Cut),
            Action::Health { state } => self.beat(0, Beat::Health(state)),
            Action::Restart { seconds, lost } => self.beat(
                0,
                Beat::Restart {
                    milliseconds: self.milliseconds(seconds),
                    lost,
                },
            ),
            Action::Garbage { frames } => self.beat(10, Beat::Garbage(frames)),
            Action::Unknown { name } => self.beat(10, Beat::Unknown(name)),
            Action::HostTool { name, args, effect } => {
                let call = self.call();
                self.beat(
                    self.milliseconds(0.1),
                    Beat::ToolStarted {
                        call: call.clone(),
                        name: name.clone(),
                        preview: preview_of(&name, &args),
                        args: args.clone(),
                    },
                );
                let host = Beat::HostTool {
                    call: call.clone(),
                    name: name.clone(),
                    args,
                    effect,
                };
                self.beat(1, host);
                let timeout = self.milliseconds(HOST_SECONDS);
                let question = Question::Host { call, name };
                self.cue(0, Cue::Ask { question, timeout });
            }
            Action::SignIn { url, seconds } => {
                self.beat(0, Beat::SignInNeeded(url));
                self.beat(self.milliseconds(seconds), Beat::SignedIn);
            }
            Action::Fail { text } => {
                self.is_over = true;
                self.beat(10, Beat::Failed(text));
            }
            Action::Later {
                word,
                seconds,
                channel,
            } => {
                let milliseconds = self.milliseconds(seconds);
                let later = Beat::Later {
                    word,
                    milliseconds,
                    channel,
                };
                self.beat(0, later);
            }
        }
    }

    fn lay_out_tools(&mut self, tools: Vec<ToolSpec>) {
        // Moments from the start of the step; turned into distances once they are in order.
        let mut moments: Vec<(u64, Beat)> = Vec::new();
        for tool in tools {
            let call = self.call();
            let milliseconds = self.milliseconds(tool.seconds);
            moments.push((
                100,
                Beat::ToolStarted {
                    call: call.clone(),
                    name: tool.name.clone(),
                    preview: tool
                        .preview
                        .clone()
                        .unwrap_or_else(|| preview_of(&tool.name, &tool.args)),
                    args: tool.args.clone(),
                },
            ));
            let notes = tool.progress.len() as u64;
            for (index, note) in tool.progress.iter().enumerate() {
                moments.push((
                    100 + milliseconds * (index as u64 + 1) / (notes + 1),
                    Beat::ToolProgress {
                        call: call.clone(),
                        name: tool.name.clone(),
                        note: note.clone(),
                    },
                ));
            }
            moments.push((
                100 + milliseconds.max(1),
                Beat::ToolEnded {
                    call,
                    name: tool.name,
                    milliseconds,
                    output: self.fill_in(tool.output.trim_end()),
                    error: tool.error,
                },
            ));
        }
        moments.sort_by_key(|(moment, _)| *moment);
        let mut last = 0;
        for (moment, beat) in moments {
            self.beat(moment - last, beat);
            last = moment;
        }
    }

    fn lay_out_todo(&mut self, items: Vec<TodoItem>, merge: bool) {
        let args = if merge {
            json!({"todos": items.iter().map(todo_json).collect::<Vec<_>>(), "merge": true})
        } else {
            json!({"todos": items.iter().map(todo_json).collect::<Vec<_>>()})
        };
        let preview = format!(
            "{} {} task(s)",
            if merge { "updating" } else { "planning" },
            items.len()
        );
        if merge {
            for item in items {
                match self
                    .context
                    .todo
                    .iter_mut()
                    .find(|known| known.id == item.id)
                {
                    Some(known) => {
                        known.status = item.status;
                        if item.content.is_some() {
                            known.content = item.content;
                        }
                    }
                    None => self.context.todo.push(item),
                }
            }
        } else {
            self.context.todo = items;
        }
        let whole = self.context.todo.clone();
        let call = self.call();
        self.beat(
            self.milliseconds(0.1),
            Beat::ToolStarted {
                call: call.clone(),
                name: "todo".into(),
                args,
                preview,
            },
        );
        self.beat(
            2,
            Beat::ToolEnded {
                call,
                name: "todo".into(),
                milliseconds: 2,
                output: json!({"todos": whole.iter().map(todo_json).collect::<Vec<_>>()})
                    .to_string(),
                error: None,
            },
        );
        self.beat(0, Beat::Todo(whole));
    }
}

/// One short line about a tool's arguments.
fn preview_of(name: &str, args: &Value) -> String {
    let field = [
        "command", "pattern", "query", "url", "question", "path", "code", "title",
    ]
    .iter()
    .find_map(|key| args.get(key).and_then(Value::as_str));
    let line = match field {
        Some(text) => text.lines().next().unwrap_or_default().trim(),
        None => name,
    };
    let mut short: String = line.chars().take(40).collect();
    if line.chars().count() > 40 {
        short.push('…');
    }
    short
}

/// The byte lengths a growing text has, a number of characters apart and where possible at the
/// end of a word.
fn grow(text: &str, pace: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut since = 0;
    for (at, character) in text.char_indices() {
        since += 1;
        let is_late = since >= pace.max(1) + 12;
        if since >= pace.max(1) && (character.is_whitespace() || is_late) {
            ends.push(at + character.len_utf8());
            since = 0;
        }
    }
    if ends.last() != Some(&text.len()) && !text.is_empty() {
        ends.push(text.len());
    }
    ends
}
