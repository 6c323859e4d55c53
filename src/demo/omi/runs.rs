//! Queries of the Omi runtime: runs with their lines. The agent's beats become lines here; `asking`
//! holds what the host is asked, `ends` how a run ends.

mod asking;
mod ends;

use super::super::agent::{Beat, Context, Play};
use super::super::scenario::TodoItem;
use super::{ACTIVITY, Oddity, Omi};
use asking::approval_label;
use serde_json::{Value, json};

/// Fields a query may have; the list is closed.
const QUERY_FIELDS: [&str; 20] = [
    "type",
    "protocolVersion",
    "requestId",
    "clientId",
    "ownerId",
    "sessionId",
    "surfaceKind",
    "producingTurnId",
    "prompt",
    "mode",
    "imageBase64",
    "attachments",
    "expectedContextSnapshotVersion",
    "expectedContextSnapshotGeneration",
    "expectedContextRendererFingerprint",
    "expectedCapabilityVersion",
    "reasoningEffort",
    "jitKnowledgeToolsEnabled",
    "jitCostEvidenceProjection",
    "jitBudget",
];

/// A query that runs or waits for its session.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: String,
    attempt: String,
    session: String,
    conversation: String,
    request: Value,
    play: Play,
    started: u64,
    next_activity: u64,
    is_running: bool,
    /// Text of the parts that ended, with what stands between them.
    before: String,
    part: String,
    sent: usize,
    thought: usize,
    attempts: u32,
    tool_in_todo: Vec<String>,
    host_tool: Option<Value>,
    dispatch: Option<(String, Vec<(String, String)>)>,
    artifacts: Vec<Value>,
    refusals: u32,
    steps: u64,
}

/// Something a scenario started that reports later, in the journal alone.
#[derive(Debug)]
pub(super) struct Background {
    pub(super) at: u64,
    conversation: String,
    word: String,
}

/// Names of the tools as an adapter of this runtime shows them.
fn title(tool: &str) -> String {
    match tool {
        "terminal" => "Bash".into(),
        "read_file" => "Read".into(),
        "write_file" => "Write".into(),
        "patch" => "Edit".into(),
        "search_files" => "Grep".into(),
        "execute_code" => "Python".into(),
        "clarify" => "AskUserQuestion".into(),
        other => other.to_owned(),
    }
}

impl Omi {
    pub(super) fn query(&mut self, request: &Value) {
        let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or("");
        if text("requestId").is_empty() || text("clientId").is_empty() {
            return self.refuse(
                request,
                "invalid_request",
                "query requires requestId and clientId",
            );
        }
        let is_rust = self.is_rust();
        if !is_rust {
            let foreign = request
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, _)| key.clone())
                .find(|key| {
                    !QUERY_FIELDS.contains(&key.as_str())
                        || (key == "surfaceKind" && self.readings.refuses_surface_kind)
                });
            if let Some(field) = foreign {
                let message = format!("query_wire_field_not_allowed:{field}");
                return self.refuse(request, "invalid_request", &message);
            }
        }
        let is_same = |run: &Run| {
            run.request["requestId"] == request["requestId"]
                && run.request["clientId"] == request["clientId"]
        };
        if self.runs.iter().any(is_same) {
            return self.refuse(
                request,
                "invalid_request",
                "query requestId is already running",
            );
        }
        let Some(session) = self
            .sessions
            .iter()
            .find(|s| s.id == text("sessionId"))
            .cloned()
        else {
            return self.refuse(request, "invalid_request", "agent session is unavailable");
        };
        if is_rust && !self.has_token {
            return self.refuse(
                request,
                "provider_setup_needed",
                "Omi managed credentials are required",
            );
        }
        let stale = ["Version", "Generation"].iter().any(|part| {
            request
                .get(format!("expectedContextSnapshot{part}"))
                .is_some()
        });
        if stale && !is_rust {
            let message = "context_snapshot_projection_mismatch";
            return self.refuse(request, "invalid_request", message);
        }
        let id = self.id("run");
        let attempt = self.id("att");
        if let Some(turn) = request.get("producingTurnId") {
            if let Err(message) = self.may_produce(&session.conversation, turn) {
                return self.refuse(request, "invalid_request", &message);
            }
            let turn = turn.as_str().unwrap_or_default().to_owned();
            self.bind(&session.conversation, &turn, &id, &attempt);
        }
        let prompt = text("prompt").to_owned();
        let Some(scenario) = self.setup.library.pick(&prompt) else {
            return self.refuse(request, "unknown", "No scenario to play");
        };
        let files = request
            .get("attachments")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|file| {
                let name = file["displayName"].as_str().unwrap_or("file").to_owned();
                (name, file["sizeBytes"].as_u64().unwrap_or(0))
            })
            .chain(request.get("imageBase64").map(|image| {
                let digits = image.as_str().unwrap_or_default().trim_end_matches('=');
                ("image".to_owned(), digits.len() as u64 * 3 / 4)
            }))
            .collect();
        let context = Context {
            text: prompt,
            files,
            words: self.setup.library.words(),
            speed: self.setup.speed,
            call_prefix: self.desk.hex(16),
            // Nobody is asked by a runtime of the spec's time; in ask mode it only reads.
            auto_approve: !self.readings.asks_the_host,
            approved: Vec::new(),
            todo: Vec::<TodoItem>::new(),
        };
        let now = self.desk.now;
        self.runs.push(Run {
            id,
            attempt,
            session: session.id,
            conversation: session.conversation,
            request: request.clone(),
            play: Play::new(scenario, context, now),
            started: now,
            next_activity: now,
            is_running: false,
            before: String::new(),
            part: String::new(),
            sent: 0,
            thought: 0,
            attempts: 1,
            tool_in_todo: Vec::new(),
            host_tool: None,
            dispatch: None,
            artifacts: Vec::new(),
            refusals: 0,
            steps: 0,
        });
        self.start_waiting();
    }

    fn may_produce(&self, conversation: &str, turn: &Value) -> Result<(), String> {
        let id = turn.as_str().unwrap_or("");
        if id.trim().is_empty() {
            return Err("producingTurnId must not be blank".into());
        }
        let known = self
            .conversations
            .iter()
            .find(|c| c.id == conversation)
            .and_then(|c| c.turn(id));
        match known {
            Some(turn)
                if turn["role"] == "assistant"
                    && turn["producingRunId"].is_null()
                    && matches!(turn["status"].as_str(), Some("pending" | "streaming")) =>
            {
                Ok(())
            }
            Some(_) => Err("producingTurnId is not an open assistant turn".into()),
            None => Err("producingTurnId is unknown in this conversation".into()),
        }
    }

    /// Runs of one session go one after the other; the Rust flavour runs all at once.
    fn start_waiting(&mut self) {
        let now = self.desk.now;
        let is_rust = self.is_rust();
        let mut busy: Vec<String> = self
            .runs
            .iter()
            .filter(|run| run.is_running)
            .map(|run| run.session.clone())
            .collect();
        for run in &mut self.runs {
            if !run.is_running && (is_rust || !busy.contains(&run.session)) {
                run.is_running = true;
                run.started = now;
                run.play.start_now(now);
                busy.push(run.session.clone());
            }
        }
    }

    pub(super) fn next_run(&self) -> Option<(u64, usize)> {
        let says_activity = !self.readings.without_activity && !self.is_rust();
        self.runs
            .iter()
            .enumerate()
            .filter_map(|(index, run)| {
                let play = if run.is_running { run.play.due() } else { None };
                let activity = says_activity.then_some(run.next_activity);
                Some((play.into_iter().chain(activity).min()?, index))
            })
            .min()
    }

    pub(super) fn step_run(&mut self, index: usize) {
        let now = self.desk.now;
        let says_activity = !self.readings.without_activity && !self.is_rust();
        let Some(run) = self.runs.get_mut(index) else {
            return;
        };
        if says_activity && run.next_activity <= now {
            run.next_activity = now + ACTIVITY;
            return self.say(index, json!({"type": "turn_activity", "phase": "running"}));
        }
        if let Some(beat) = run.play.next(now) {
            self.perform(index, beat);
        }
    }

    /// A line of a query, with all its ids. The Rust flavour only has those of the request.
    fn say(&mut self, index: usize, mut line: Value) {
        let is_rust = self.is_rust();
        let bare = self.readings.oddity == Oddity::WithoutIds && line["type"] != "result";
        let Some(run) = self.runs.get_mut(index) else {
            return;
        };
        run.steps += 1;
        let is_end = line["type"] == "result";
        if !is_rust || is_end {
            if !bare {
                line["sessionId"] = json!(run.session);
                line["runId"] = json!(run.id);
                line["attemptId"] = json!(run.attempt);
            }
            if !is_rust && !bare {
                line["adapterSessionId"] = json!(format!("native-{}", run.session));
                if !is_end {
                    line["eventId"] = json!(format!("evt_{}", run.steps));
                }
            }
        }
        let request = run.request.clone();
        self.reply(&request, line);
    }

    fn perform(&mut self, index: usize, beat: Beat) {
        let is_rust = self.is_rust();
        match beat {
            Beat::TextStarted => self.start_part(index),
            Beat::Text(text) => self.grow_part(index, &text),
            Beat::TextEnded(text) => {
                self.grow_part(index, &text);
                if let Some(run) = self.runs.get_mut(index) {
                    run.thought = 0;
                }
            }
            Beat::Thinking(text) => {
                let Some(run) = self.runs.get_mut(index) else {
                    return;
                };
                let added = text[run.thought.min(text.len())..].to_owned();
                run.thought = text.len();
                if !is_rust {
                    self.say(index, json!({"type": "thinking_delta", "text": added}));
                }
            }
            Beat::Commentary(text) | Beat::Notice(text) if !is_rust => {
                self.say(index, json!({"type": "thinking_delta", "text": format!("\n{text}\n")}));
            }
            Beat::ToolStarted {
                call, name, args, ..
            } => {
                if name == "todo" {
                    if let Some(run) = self.runs.get_mut(index) {
                        run.tool_in_todo.push(call);
                    }
                    return;
                }
                let args = if args.is_object() { args } else { json!({}) };
                self.tool(index, &call, &title(&name), "started", Some(args));
                if self.readings.oddity == Oddity::ErrorThenResult {
                    self.say(index, json!({"type": "error", "message": "tool arguments arrived in pieces", "failure": {
                        "code": "invalid_request", "failureCode": "invalid_request", "userMessage": "tool arguments arrived in pieces"}}));
                }
                if self.readings.oddity == Oddity::UnknownLines {
                    self.say(index, json!({"type": "plan_revised", "steps": 3}));
                    self.put(json!({"type": "weather", "degrees": 21}));
                }
            }
            Beat::ToolProgress { call, name, .. } => {
                self.tool(index, &call, &title(&name), "progress", None);
            }
            Beat::ToolEnded {
                call,
                name,
                output,
                error,
                ..
            } => self.end_tool(index, &call, &title(&name), output, error),
            Beat::Todo(items) => self.write_todos(index, &items),
            Beat::HostTool {
                name,
                args,
                effect,
                call,
            } => self.ask_host(index, &call, &name, args, &effect),
            Beat::Approval {
                command,
                description,
                choices,
            } => {
                let options = choices
                    .iter()
                    .map(|choice| (choice.clone(), approval_label(choice).to_owned()))
                    .collect();
                self.elicit(index, "Permission needed", &description, &command, options, false);
            }
            Beat::Clarify { question, choices } => {
                let options = choices
                    .unwrap_or_default()
                    .into_iter()
                    .map(|choice| (choice.clone(), choice))
                    .collect();
                self.elicit(index, "Question", &question, "", options, true);
            }
            Beat::Picker { title, choices } => {
                let options = choices
                    .into_iter()
                    .map(|choice| (choice.value, choice.label))
                    .collect();
                self.elicit(index, "Choice", &title, "", options, false);
            }
            Beat::Expired => {
                if let Some(run) = self.runs.get_mut(index) {
                    if run.host_tool.take().is_some() {
                        self.log("authorized tool timed out: swift_tool_timeout");
                    } else {
                        run.dispatch = None;
                    }
                }
            }
            Beat::Offer(name) => self.offer(index, &name),
            Beat::Silence(length) => self.desk.fall_silent(length),
            Beat::Cut => {
                self.log("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory");
                self.exit(134, "crash");
            }
            Beat::Restart { lost, .. } => {
                self.log("agent runtime is going down");
                self.exit(1, "exit");
                if lost {
                    self.conversations.clear();
                    self.sessions.clear();
                    self.ended.clear();
                    self.load_presets();
                    self.is_dirty = true;
                }
            }
            Beat::Garbage(frames) => {
                if let Some(process) = self.process {
                    for text in frames {
                        self.desk.send_text(process, text);
                    }
                }
            }
            Beat::Unknown(name) => self.say(index, json!({"type": name, "note": "from a later version"})),
            Beat::SignInNeeded(url) if !is_rust => self.put(json!({
                "type": "auth_required",
                "methods": [
                    {"id": "claude-login", "type": "agent_auth", "displayName": "Sign in with Claude"},
                    {"id": "cli-login", "type": "terminal", "displayName": "Sign in with the agent's own command", "args": ["claude", "/login"]},
                    {"id": "api-key", "type": "env_var", "displayName": "Use an API key", "env": {"ANTHROPIC_API_KEY": ""}},
                ],
                "authUrl": format!("{url}&redirect_uri=http%3A%2F%2Flocalhost%3A54545%2Fcallback"),
            })),
            Beat::SignedIn if !is_rust => self.put(json!({"type": "auth_success"})),
            Beat::Later {
                word, milliseconds, ..
            } => {
                if let Some(run) = self.runs.get(index) {
                    self.background.push(Background {
                        at: self.desk.now + milliseconds,
                        conversation: run.conversation.clone(),
                        word,
                    });
                }
            }
            Beat::Commentary(_)
            | Beat::Notice(_)
            | Beat::Notification { .. }
            | Beat::Rename(_)
            | Beat::Health(_)
            | Beat::SignInNeeded(_)
            | Beat::SignedIn => {}
            Beat::Failed(text) => self.fail(index, &text),
            Beat::Finished => self.succeed(index),
        }
    }

    fn start_part(&mut self, index: usize) {
        let Some(run) = self.runs.get_mut(index) else {
            return;
        };
        run.before = whole(run);
        run.part.clear();
        run.sent = 0;
    }

    fn grow_part(&mut self, index: usize, text: &str) {
        let repeats = self.readings.repeats_text;
        let wants_second = self.readings.two_attempts;
        let second = self.id("att");
        let Some(run) = self.runs.get_mut(index) else {
            return;
        };
        if text.len() <= run.sent {
            return;
        }
        let is_first_of_part = run.sent == 0;
        let mut added = text[run.sent..].to_owned();
        if is_first_of_part && !run.before.is_empty() {
            added.insert_str(0, "\n\n");
        }
        run.part = text.to_owned();
        run.sent = text.len();
        if wants_second && run.attempts == 1 && text.len() > 60 {
            // The provider broke off; the same text comes again under another attempt.
            run.attempts = 2;
            run.attempt = second;
            added.clone_from(&whole(run));
        }
        if repeats {
            added = whole(run);
        }
        self.say(index, json!({"type": "text_delta", "text": added}));
    }

    fn tool(&mut self, index: usize, call: &str, name: &str, status: &str, input: Option<Value>) {
        if self.is_rust() {
            return;
        }
        let mut line =
            json!({"type": "tool_activity", "name": name, "status": status, "toolUseId": call});
        if let Some(input) = input {
            line["input"] = input;
        }
        self.say(index, line);
    }

    fn end_tool(
        &mut self,
        index: usize,
        call: &str,
        name: &str,
        output: String,
        error: Option<String>,
    ) {
        let is_todo = self
            .runs
            .get(index)
            .is_some_and(|run| run.tool_in_todo.iter().any(|known| known == call));
        if is_todo || self.is_rust() {
            return;
        }
        let shown = error.as_ref().unwrap_or(&output);
        let mut cut: String = shown.chars().take(2_000).collect();
        if shown.chars().count() > 2_000 {
            cut.push_str("\n… [truncated]");
        }
        if !cut.is_empty() {
            self.say(index, json!({"type": "tool_result_display", "toolUseId": call, "name": name, "output": cut}));
        }
        let status = if error.is_some() {
            "failed"
        } else {
            "completed"
        };
        self.tool(index, call, name, status, None);
    }

    fn write_todos(&mut self, index: usize, items: &[TodoItem]) {
        let call = self
            .runs
            .get(index)
            .and_then(|run| run.tool_in_todo.last().cloned())
            .unwrap_or_default();
        let todos: Vec<Value> = items
            .iter()
            .map(|item| {
                let content = item.content.clone().unwrap_or_default();
                // This tool knows three states; what fell away is done.
                let status = match item.status.as_str() {
                    "cancelled" => "completed",
                    other => other,
                };
                json!({"content": content, "status": status, "activeForm": content})
            })
            .collect();
        self.tool(
            index,
            &call,
            "TodoWrite",
            "started",
            Some(json!({"todos": todos})),
        );
        self.tool(index, &call, "TodoWrite", "completed", None);
    }
}

/// The whole text of a run so far.
fn whole(run: &Run) -> String {
    if run.before.is_empty() || run.part.is_empty() {
        format!("{}{}", run.before, run.part)
    } else {
        format!("{}\n\n{}", run.before, run.part)
    }
}
