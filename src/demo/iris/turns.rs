//! Turns of the Iris gateway: from `message.send` to the last `typing off`. The agent's beats
//! become frames here; messages that come while a turn runs wait in line.

use super::super::agent::{Beat, Context, Play, Reply, emoji_of, todo_json};
use super::super::engine::GatewayOutput;
use super::super::files::File;
use super::super::scenario::TodoItem;
use super::commands::Picker;
use super::lookups::Logged;
use super::{Address, Iris, Timer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// How often `typing on` is repeated.
const TYPING: u64 = 2_000;

/// What the gateway knows about one channel or thread beside its entry.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) turn: Option<Turn>,
    pub(super) waiting: VecDeque<(String, Vec<(String, u64)>)>,
    pub(super) todo: Vec<TodoItem>,
    approved: Vec<String>,
    pub(super) is_yolo: bool,
    pub(super) effort: Option<String>,
    pub(super) model: Option<String>,
    /// Text so far in the lane, for the context share of the footer.
    spoken: u64,
}

impl Lane {
    /// A restart takes the turn and the line away.
    pub(super) fn forget_turn(&mut self) {
        self.turn = None;
        self.waiting.clear();
    }

    pub(super) fn is_busy(&self) -> bool {
        self.turn.is_some()
    }
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) play: Play,
    started: u64,
    pub(super) next_typing: u64,
    /// The open message: id and text so far.
    message: Option<(String, String)>,
    last_message: Option<String>,
    has_ended: bool,
    reasoning: Option<String>,
    tools: BTreeMap<String, (u64, String)>,
    next_index: u64,
    pub(super) asked: Asked,
}

/// What the turn waits for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Asked {
    Nothing,
    Approval,
    Clarify(Vec<String>),
    Picker(String),
}

impl Iris {
    pub(super) fn lane(&mut self, address: &Address) -> &mut Lane {
        self.lanes.entry(address.clone()).or_default()
    }

    pub(super) fn send_todos(&mut self, connection: super::ConnectionId) {
        let empty = self.readings.sends_empty_todos;
        let lists: Vec<(Address, Value)> = self
            .lanes
            .iter()
            .filter(|(_, lane)| empty || !lane.todo.is_empty())
            .map(|(address, lane)| (address.clone(), todos(&lane.todo)))
            .collect();
        for (address, payload) in lists {
            let frame = self.envelope(Some(&address), "todo.update", payload);
            self.send(connection, &frame);
        }
    }

    pub(super) fn start_turn(&mut self, address: &Address, text: &str, files: Vec<(String, u64)>) {
        if let Some(scenario) = self.setup.library.pick(text) {
            self.begin(address, &scenario.word.clone(), text, files);
        }
    }

    /// A scenario that nobody asked for.
    pub(super) fn start_unsolicited(&mut self, address: &Address, word: &str) {
        if !self.lanes.contains_key(address) {
            return;
        }
        if self.lane(address).is_busy() {
            let again = Timer::Unsolicited {
                address: address.clone(),
                word: word.to_owned(),
            };
            return self.timers.push((self.desk.now + 1_000, again));
        }
        self.begin(address, word, "", Vec::new());
    }

    fn begin(&mut self, address: &Address, word: &str, text: &str, files: Vec<(String, u64)>) {
        let Some(scenario) = self.setup.library.by_word(word) else {
            return;
        };
        let now = self.desk.now;
        let call_prefix = self.desk.hex(16);
        let words = self.setup.library.words();
        let speed = self.setup.speed;
        let lane = self.lane(address);
        let context = Context {
            text: text.to_owned(),
            files,
            words,
            speed,
            call_prefix,
            auto_approve: lane.is_yolo,
            approved: lane.approved.clone(),
            todo: lane.todo.clone(),
        };
        lane.turn = Some(Turn {
            play: Play::new(scenario, context, now),
            started: now,
            next_typing: now,
            message: None,
            last_message: None,
            has_ended: false,
            reasoning: None,
            tools: BTreeMap::new(),
            next_index: 0,
            asked: Asked::Nothing,
        });
    }

    /// When any lane next wants to go on, and which.
    pub(super) fn next_lane(&self) -> Option<(u64, Address)> {
        self.lanes
            .iter()
            .filter_map(|(address, lane)| {
                let turn = lane.turn.as_ref()?;
                let typing = (turn.asked == Asked::Nothing).then_some(turn.next_typing);
                let at = turn.play.due().into_iter().chain(typing).min()?;
                Some((at, address.clone()))
            })
            .min()
    }

    pub(super) fn step_lane(&mut self, address: &Address) {
        let now = self.desk.now;
        let is_automation = self.is_automation(address);
        let Some(turn) = &mut self.lane(address).turn else {
            return;
        };
        if turn.asked == Asked::Nothing && turn.next_typing <= now {
            turn.next_typing = now + TYPING;
            if !is_automation {
                self.publish(Some(address), "typing", json!({"on": true}), None);
            }
            return;
        }
        if let Some(beat) = turn.play.next(now) {
            self.perform(address, beat);
        }
    }

    fn is_automation(&mut self, address: &Address) -> bool {
        let chat_id = address.thread.clone().unwrap_or(address.chat.clone());
        self.channel_of(&chat_id)
            .is_some_and(|channel| channel.is_automation)
    }

    /// A message that stands by itself.
    pub(super) fn say(&mut self, address: &Address, role: &str, text: &str) {
        let prefix = match role {
            "assistant" => "a",
            "cron" => "c",
            _ => "s",
        };
        let id = format!("{prefix}_{}", self.desk.hex(12));
        let logged = Logged::new(address.clone(), id, role, text, self.desk.wall());
        let payload = logged.payload();
        self.log.push(logged);
        self.publish(Some(address), "message", payload, None);
    }

    fn runtime(&mut self, address: &Address, text: &str) -> (String, u64, Value) {
        let now = self.desk.now;
        let lane = self.lane(address);
        let tokens = (text.chars().count() as u64).div_ceil(4);
        lane.spoken += tokens;
        let share = (2 + lane.spoken / 1_200).min(97);
        let model = lane
            .model
            .clone()
            .unwrap_or_else(|| "glm-5.3-flash".to_owned());
        let started = lane.turn.as_ref().map_or(now, |turn| turn.started);
        let mut runtime = json!({
            "model": model,
            "context_pct": share,
            "cwd": "~/src/harbor",
            "latency": (now - started) as f64 / 1000.0,
        });
        // A model of one's own costs nothing and says so by saying nothing.
        if !model.starts_with("qwen") {
            let cost = (tokens + lane.spoken / 8) as f64 * 0.000_002;
            runtime["cost"] = json!((cost * 1e6).round() / 1e6);
        }
        (model, tokens, runtime)
    }

    /// The open message is whole.
    pub(super) fn stop_message(&mut self, address: &Address) {
        let open = self
            .lane(address)
            .turn
            .as_mut()
            .and_then(|turn| Some((turn.message.take()?, turn.reasoning.take())));
        let Some(((id, text), reasoning)) = open else {
            return;
        };
        let (model, tokens, runtime) = self.runtime(address, &text);
        let mut logged = Logged::new(
            address.clone(),
            id.clone(),
            "assistant",
            &text,
            self.desk.wall(),
        );
        logged.reasoning = reasoning;
        logged.model = Some(model);
        logged.tokens = Some(tokens);
        logged.runtime = Some(runtime);
        let mut payload = logged.payload();
        if let Some(fields) = payload.as_object_mut() {
            fields.remove("role");
            if let Some(text) = fields.remove("text") {
                fields.insert("final_text".to_owned(), text);
            }
        }
        self.log.push(logged);
        self.publish(Some(address), "message.stop", payload, None);
    }

    /// Before a new part of the text: what has ended becomes a message of its own.
    pub(super) fn close_part(&mut self, address: &Address) {
        let has_ended = self
            .lane(address)
            .turn
            .as_ref()
            .is_some_and(|turn| turn.has_ended);
        if has_ended {
            self.stop_message(address);
        }
    }

    fn end_turn(&mut self, address: &Address) {
        self.stop_message(address);
        let is_automation = self.is_automation(address);
        let lane = self.lane(address);
        if let Some(turn) = lane.turn.take() {
            lane.approved = turn.play.approved().to_vec();
        }
        let next = lane.waiting.pop_front();
        if !is_automation {
            for _ in 0..2 {
                self.publish(Some(address), "typing", json!({"on": false}), None);
            }
        }
        if let Some((text, files)) = next {
            self.start_turn(address, &text, files);
        }
    }

    /// Ends the turn where it stands. False when there is none.
    pub(super) fn stop_turn(&mut self, address: &Address) -> bool {
        let Some(turn) = &self.lane(address).turn else {
            return false;
        };
        let tools = turn.play.open_tools().to_vec();
        for (call, name) in tools {
            let cancelled = Beat::ToolEnded {
                call,
                name,
                milliseconds: 0,
                output: String::new(),
                error: Some("cancelled".to_owned()),
            };
            self.perform(address, cancelled);
        }
        self.end_turn(address);
        true
    }

    /// Answers an open approval. False when there is none.
    pub(super) fn answer_approval(&mut self, address: &Address, reply: &Reply) -> bool {
        let now = self.desk.now;
        let Some(turn) = &mut self.lane(address).turn else {
            return false;
        };
        if turn.asked != Asked::Approval {
            return false;
        }
        turn.asked = Asked::Nothing;
        turn.next_typing = now;
        turn.play.answer(now, reply)
    }

    /// Answers the picker of a turn.
    pub(super) fn answer_picker(&mut self, address: &Address, picker: &str, value: &str) {
        let now = self.desk.now;
        if let Some(turn) = &mut self.lane(address).turn
            && turn.asked == Asked::Picker(picker.to_owned())
        {
            turn.asked = Asked::Nothing;
            turn.next_typing = now;
            turn.play.answer(now, &Reply::Text(value.to_owned()));
        }
    }

    pub(super) fn set_yolo(&mut self, address: &Address, on: bool) {
        let lane = self.lane(address);
        lane.is_yolo = on;
        if let Some(turn) = &mut lane.turn {
            turn.play.set_auto_approve(on);
        }
    }

    fn perform(&mut self, address: &Address, beat: Beat) {
        match beat {
            Beat::TextStarted => self.start_part(address),
            Beat::Text(text) => self.grow_part(address, text),
            Beat::TextEnded(text) => {
                if self.is_automation(address) {
                    return self.say(address, "cron", &text);
                }
                if let Some(turn) = &mut self.lane(address).turn {
                    turn.has_ended = true;
                    if let Some((_, whole)) = &mut turn.message {
                        *whole = text;
                    }
                }
            }
            Beat::Thinking(text) => {
                if let Some(turn) = &mut self.lane(address).turn {
                    turn.reasoning = Some(text);
                }
            }
            Beat::Commentary(text) => {
                self.close_part(address);
                let id = format!("a_{}", self.desk.hex(12));
                let payload = json!({"message_id": id, "text": text});
                self.publish(Some(address), "commentary", payload, None);
            }
            Beat::ToolStarted {
                call,
                name,
                args,
                preview,
            } => {
                let Some(turn) = &mut self.lane(address).turn else {
                    return;
                };
                let index = turn.next_index;
                turn.next_index += 1;
                turn.tools.insert(call, (index, name.clone()));
                let mut payload = json!({
                    "index": index,
                    "name": name,
                    "preview": preview,
                    "args": if args.is_object() { args } else { json!({}) },
                });
                if let Some(emoji) = emoji_of(&name) {
                    payload["emoji"] = json!(emoji);
                }
                self.publish(Some(address), "tool.start", payload, None);
                self.close_part(address);
            }
            Beat::ToolProgress { call, name, note } => {
                let index = self.tool_index(address, &call);
                let payload = json!({"index": index, "name": name, "note": note});
                self.publish(Some(address), "tool.progress", payload, None);
            }
            Beat::ToolEnded {
                call,
                name,
                milliseconds,
                output,
                error,
            } => {
                let index = self.tool_index(address, &call);
                let shown: String = error
                    .as_ref()
                    .unwrap_or(&output)
                    .chars()
                    .take(2_000)
                    .collect();
                let payload = json!({
                    "index": index,
                    "name": name,
                    "ok": error.is_none(),
                    "duration": milliseconds as f64 / 1000.0,
                    "output_preview": shown,
                });
                self.publish(Some(address), "tool.end", payload, None);
            }
            Beat::Todo(items) => {
                let payload = todos(&items);
                self.lane(address).todo = items;
                self.publish(Some(address), "todo.update", payload, None);
            }
            Beat::Approval {
                command,
                description,
                choices,
            } => self.ask_approval(address, &command, &description, &choices),
            Beat::Clarify { question, choices } => {
                self.close_part(address);
                let choices = choices.unwrap_or_default();
                let mut text = format!("❓ {question}\n\n");
                for (index, choice) in choices.iter().enumerate() {
                    text.push_str(&format!("  {}. {choice}\n", index + 1));
                }
                text.push_str(if choices.is_empty() {
                    "Reply with your answer."
                } else {
                    "\nReply with the number, the option text, or your own answer."
                });
                self.set_asked(address, Asked::Clarify(choices));
                self.ask(address, "clarify", "Question", &text);
            }
            Beat::Picker { title, choices } => {
                self.close_part(address);
                let rows: Vec<Value> = choices
                    .iter()
                    .map(
                        |c| json!({"value": c.value, "label": c.label, "is_current": c.is_current}),
                    )
                    .collect();
                let id = self.offer_picker(address, &title, rows, Picker::Turn);
                self.set_asked(address, Asked::Picker(id));
            }
            Beat::HostTool { .. } => {
                let now = self.desk.now;
                if let Some(turn) = &mut self.lane(address).turn {
                    turn.play.refuse_host_tool(now);
                }
            }
            Beat::Expired => self.set_asked(address, Asked::Nothing),
            Beat::Offer(name) => {
                let message = self.lane(address).turn.as_ref().and_then(|turn| {
                    let open = turn.message.as_ref().map(|(id, _)| id.clone());
                    open.or(turn.last_message.clone())
                });
                if let Some(file) = File::sample(&name) {
                    self.offer(address, file, message.as_deref());
                }
            }
            Beat::Notice(text) => self.say(address, "system", &text),
            Beat::Notification { kind, title, body } => self.notify(address, &kind, &title, &body),
            Beat::Rename(name) => {
                let chat_id = address.thread.clone().unwrap_or(address.chat.clone());
                self.rename_channel(&chat_id, &name, None);
                self.notify(address, "channel_renamed", "Renamed", &name);
            }
            Beat::Silence(length) => self.desk.fall_silent(length),
            Beat::Cut => {
                for connection in self.ready() {
                    if let Some(device) = self.clients.remove(&connection).and_then(|c| c.device) {
                        self.devices.insert(device, self.head);
                    }
                    self.desk.out.push(GatewayOutput::Cut { connection });
                }
            }
            Beat::Health(state) => {
                self.publish(None, "status", json!({"state": state}), None);
            }
            Beat::Restart { milliseconds, lost } => self.restart(milliseconds, lost),
            Beat::Garbage(frames) => {
                for connection in self.ready() {
                    for text in &frames {
                        self.desk.send_text(connection, text.clone());
                    }
                }
            }
            Beat::Unknown(name) => {
                let payload = json!({"note": "a frame from a later version"});
                self.publish(Some(address), &name, payload, None);
            }
            Beat::SignInNeeded(_) | Beat::SignedIn => {}
            Beat::Later {
                word,
                milliseconds,
                channel,
            } => {
                let elsewhere = channel
                    .and_then(|key| self.channel_by_key(&key).map(|channel| channel.address()));
                let later = Timer::Unsolicited {
                    address: elsewhere.unwrap_or_else(|| address.clone()),
                    word,
                };
                self.timers.push((self.desk.now + milliseconds, later));
            }
            Beat::Failed(text) => {
                self.stop_message(address);
                let payload = json!({"code": "internal", "message": text});
                self.publish(Some(address), "error", payload, None);
                self.end_turn(address);
            }
            Beat::Finished => self.end_turn(address),
        }
    }

    fn tool_index(&mut self, address: &Address, call: &str) -> u64 {
        self.lane(address)
            .turn
            .as_ref()
            .and_then(|turn| turn.tools.get(call))
            .map_or(0, |(index, _)| *index)
    }

    pub(super) fn set_asked(&mut self, address: &Address, asked: Asked) {
        let now = self.desk.now;
        if let Some(turn) = &mut self.lane(address).turn {
            turn.asked = asked;
            turn.next_typing = now + TYPING;
        }
    }

    fn start_part(&mut self, address: &Address) {
        if self.is_automation(address) {
            return;
        }
        self.close_part(address);
        let id = format!("a_{}", self.desk.hex(12));
        let Some(turn) = &mut self.lane(address).turn else {
            return;
        };
        turn.message = Some((id.clone(), String::new()));
        turn.last_message = Some(id.clone());
        turn.has_ended = false;
        let payload = json!({"message_id": id, "role": "assistant"});
        self.publish(Some(address), "message.start", payload, None);
    }

    fn grow_part(&mut self, address: &Address, text: String) {
        let Some(turn) = &mut self.lane(address).turn else {
            return;
        };
        let Some((id, whole)) = &mut turn.message else {
            return;
        };
        whole.clone_from(&text);
        let payload = json!({"message_id": id, "text": text});
        self.publish(Some(address), "message.update", payload, None);
    }
}

fn todos(items: &[TodoItem]) -> Value {
    json!({"todos": items.iter().map(todo_json).collect::<Vec<_>>()})
}
