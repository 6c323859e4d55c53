//! Queries of the Omi runtime: runs with their lines, host tools, questions to the host, and
//! cancellation. The agent's beats become lines here.

use super::super::agent::{Beat, Context, Play, Reply};
use super::super::files::{File, sha256_hex};
use super::super::scenario::{Action, TodoItem};
use super::{ACTIVITY, Cancel, Oddity, Omi, ResultText};
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
            .chain(request.get("imageBase64").map(|_| ("image".to_owned(), 0)))
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

    /// A tool that only the host has.
    fn ask_host(&mut self, index: usize, call: &str, name: &str, args: Value, effect: &str) {
        let is_rust = self.is_rust();
        let input = if args.is_object() { args } else { json!({}) };
        let hash = format!("sha256:{}", sha256_hex(input.to_string().as_bytes()));
        let Some(run) = self.runs.get(index) else {
            return;
        };
        let session = self.sessions.iter().find(|s| s.id == run.session);
        let surface = self
            .conversations
            .iter()
            .find(|c| c.id == run.conversation)
            .map(|c| c.surface.clone());
        let line = json!({
            "type": "authorized_tool_execution",
            "invocationId": call,
            "ownerId": self.owner,
            "sessionId": run.session,
            "runId": run.id,
            "attemptId": run.attempt,
            "profileGeneration": session.map_or(1, |s| s.generation),
            "manifestVersion": 1,
            "manifestDigest": "sha256:2f6a1d0c5b7e4a93",
            "daemonBootEpoch": self.boot,
            "executionGeneration": 1,
            "toolName": name,
            "input": input,
            "inputHash": hash,
            "effectClass": effect,
            "retryPolicy": if effect == "read_only" { "safe_retry" } else { "never_auto_retry" },
            "surfaceKind": surface.as_ref().map_or("main_chat", |s| s.kind.as_str()),
            "externalRefKind": surface.as_ref().map(|s| s.ref_kind.clone()),
            "externalRefId": surface.as_ref().map(|s| s.ref_id.clone()),
            "originatingUserText": run.request["prompt"],
            "precedingAssistantText": if whole(run).is_empty() { Value::Null } else { json!(whole(run)) },
            "runMode": run.request.get("mode").cloned().unwrap_or(json!("act")),
            "chatMode": null,
        });
        let request = run.request.clone();
        if let Some(run) = self.runs.get_mut(index) {
            run.host_tool = Some(line.clone());
        }
        if is_rust {
            // This flavour does not wait: the model is told at once that it was not approved.
            self.reply(&request, line);
            let now = self.desk.now;
            if let Some(run) = self.runs.get_mut(index) {
                run.play.refuse_host_tool(now);
            }
            return;
        }
        let mut line = line;
        line["capabilityRef"] = json!(format!("cap_{}", self.desk.hex(12)));
        self.put(line);
    }

    pub(super) fn host_answered(&mut self, answer: &Value) {
        let echoed = [
            "invocationId",
            "ownerId",
            "sessionId",
            "runId",
            "attemptId",
            "profileGeneration",
            "manifestVersion",
            "manifestDigest",
            "daemonBootEpoch",
            "executionGeneration",
            "inputHash",
        ];
        let found = self.runs.iter().position(|run| {
            run.host_tool
                .as_ref()
                .is_some_and(|line| echoed.iter().all(|key| line.get(*key) == answer.get(*key)))
        });
        let is_rust = self.is_rust();
        let Some(index) = found else {
            if is_rust {
                let message = "authorized tool result identity mismatch";
                return self.refuse(&Value::Null, "invalid_request", message);
            }
            return self.log("Ignored an authorized tool result that matches no invocation");
        };
        let result = answer
            .get("result")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned();
        if is_rust {
            return self.put(json!({
                "type": "authorized_tool_result", "duplicate": false, "result": result,
                "invocationId": answer["invocationId"], "outcome": answer["outcome"],
            }));
        }
        let now = self.desk.now;
        let has_failed = answer["outcome"] != "succeeded";
        let shown = if has_failed && !result.contains("\"ok\":false") {
            json!({"ok": false, "error": {"message": result}}).to_string()
        } else {
            result
        };
        if let Some(run) = self.runs.get_mut(index) {
            run.host_tool = None;
            run.play.answer(now, &Reply::Text(shown));
        }
    }

    /// A question to the person behind the host, where the runtime has such a thing; otherwise it
    /// decides by itself, as older ones do.
    fn elicit(
        &mut self,
        index: usize,
        title: &str,
        prompt: &str,
        subject: &str,
        options: Vec<(String, String)>,
        free_text: bool,
    ) {
        let now = self.desk.now;
        let is_approval = title == "Permission needed";
        if !self.readings.asks_the_host || self.is_rust() {
            if let Some(run) = self.runs.get_mut(index) {
                let first = options.first().map_or_else(
                    || "whatever you think best".to_owned(),
                    |(value, _)| value.clone(),
                );
                run.play
                    .answer_at_once(now, &reply_for(is_approval, first, None));
            }
            return;
        }
        let dispatch = self.id("dsp");
        let Some(run) = self.runs.get_mut(index) else {
            return;
        };
        let rows: Vec<Value> = options
            .iter()
            .map(|(value, label)| json!({"optionId": value, "label": label}))
            .collect();
        let line = json!({
            "type": "elicitation_pending",
            "ownerId": self.owner,
            "dispatchId": dispatch,
            "sessionId": run.session,
            "runId": run.id,
            "channel": if is_approval { "permission" } else { "question" },
            "mode": run.request.get("mode").cloned().unwrap_or(json!("act")),
            "adapterId": "acp",
            "title": title,
            "prompt": prompt,
            "subject": subject,
            "context": null,
            "options": rows,
            "allowsFreeText": free_text,
            "recommendedDefault": null,
            "createdAtMs": self.desk.epoch + now,
        });
        run.dispatch = Some((dispatch, options));
        self.put(line);
    }

    pub(super) fn elicitation_answered(&mut self, answer: &Value) {
        let dispatch = answer["dispatchId"].as_str().unwrap_or_default().to_owned();
        let now = self.desk.now;
        let found = self
            .runs
            .iter()
            .position(|run| run.dispatch.as_ref().is_some_and(|(id, _)| *id == dispatch));
        let Some(index) = found else {
            return self.refuse(answer, "invalid_request", "elicitation is not pending");
        };
        let Some((_, options)) = self.runs[index].dispatch.take() else {
            return;
        };
        let is_approval = options.iter().any(|(value, _)| value == "deny");
        let text = answer
            .get("text")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let option = answer
            .get("optionId")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let (value, reason) = match (answer["decision"].as_str(), option, text) {
            (Some("answer"), Some(option), reason) => (option, reason),
            (Some("answer"), None, Some(text)) => (text, None),
            _ if is_approval => ("deny".to_owned(), None),
            _ => ("(no answer)".to_owned(), None),
        };
        self.runs[index]
            .play
            .answer(now, &reply_for(is_approval, value, reason));
        let line = json!({"type": "elicitation_resolved", "dispatchId": dispatch, "ownerId": self.owner, "decision": answer["decision"]});
        self.reply(answer, line);
    }

    fn offer(&mut self, index: usize, name: &str) {
        let Some(file) = File::sample(name) else {
            return;
        };
        let id = self.id("artifact");
        let Some(run) = self.runs.get_mut(index) else {
            return;
        };
        let path = format!("{}/{}/{}", self.artifacts, run.id, file.name);
        run.artifacts.push(json!({
            "artifactId": id,
            "sessionId": run.session,
            "runId": run.id,
            "attemptId": run.attempt,
            "kind": "file",
            "role": "output",
            "uri": format!("file://{path}"),
            "displayName": file.name,
            "mimeType": file.mime,
            "contentHash": null,
            "sizeBytes": file.content.len(),
            "lifecycleState": "active",
            "lifecycleUpdatedAtMs": null,
            "metadata": {},
            "createdAtMs": self.desk.epoch + self.desk.now,
        }));
        self.files.push((path, file.content));
    }

    fn succeed(&mut self, index: usize) {
        let Some(run) = self.runs.get(index) else {
            return;
        };
        let text = whole(run);
        let model = self
            .sessions
            .iter()
            .find(|s| s.id == run.session)
            .and_then(|s| s.model.clone())
            .unwrap_or_else(|| "claude-sonnet-4-6".to_owned());
        let shown = match self.readings.result_text {
            ResultText::Same => text.clone(),
            ResultText::Empty => String::new(),
            ResultText::Different => format!("{text}\n\n(revised)"),
        };
        let artifacts = run.artifacts.clone();
        if self.is_rust() {
            let line = json!({"type": "result", "text": shown, "terminalStatus": "succeeded"});
            return self.end(index, "succeeded", &text, line);
        }
        let served = format!("{model}-20260915");
        self.say(
            index,
            json!({"type": "model_used", "model": served, "requestedModel": model}),
        );
        let tokens = (text.chars().count() as u64).div_ceil(4);
        let mut line = json!({
            "type": "result",
            "text": shown,
            "terminalStatus": "succeeded",
            "costUsd": (tokens as f64 * 15.0 + 9_000.0) / 1e6,
            "inputTokens": 1_840 + tokens / 3,
            "outputTokens": tokens,
            "cacheReadTokens": 14_200,
            "cacheWriteTokens": 310,
            "modelsUsed": [served],
            "artifacts": artifacts,
        });
        if !artifacts.is_empty() {
            line["completionDeltaArtifacts"] = json!(artifacts);
        }
        self.end(index, "succeeded", &text, line);
    }

    fn fail(&mut self, index: usize, message: &str) {
        let Some(run) = self.runs.get(index) else {
            return;
        };
        let text = whole(run);
        if self.is_rust() {
            let request = run.request.clone();
            self.refuse(&request, "transport_interruption", message);
            self.refuse(
                &request,
                "transport_interruption",
                &format!("provider error: {message}"),
            );
            return self.forget(index, "failed", &text);
        }
        let line = json!({
            "type": "result",
            "text": "",
            "terminalStatus": "failed",
            "failure": {
                "code": "provider_overloaded",
                "failureCode": "transport_interruption",
                "userMessage": message,
                "technicalMessage": message,
                "source": "adapter_execution",
                "adapterId": "acp",
                "retryable": true,
                "retryDisposition": "next_send",
            },
            "artifacts": [],
        });
        self.end(index, "failed", &text, line);
    }

    /// The last line of a query.
    fn end(&mut self, index: usize, status: &str, text: &str, line: Value) {
        self.say(index, line.clone());
        if self.readings.oddity == Oddity::TwoResults {
            self.say(index, line);
        }
        self.forget(index, status, text);
    }

    fn forget(&mut self, index: usize, status: &str, text: &str) {
        if index >= self.runs.len() {
            return;
        }
        let run = self.runs.remove(index);
        self.is_dirty = true;
        self.ended.insert(
            run.id.clone(),
            json!({"runId": run.id, "sessionId": run.session, "status": status, "finalText": text,
                "startedAtMs": self.desk.epoch + run.started, "completedAtMs": self.desk.wall()}),
        );
        let wall = self.desk.wall();
        if let Some(session) = self.sessions.iter_mut().find(|s| s.id == run.session) {
            session.updated = wall;
        }
        self.start_waiting();
    }

    pub(super) fn interrupt(&mut self, request: &Value) {
        let index = self.runs.iter().position(|run| {
            let by_key = run.request["requestId"] == request["requestId"]
                && run.request["clientId"] == request["clientId"];
            by_key || request.get("runId").is_some_and(|id| *id == json!(run.id))
        });
        let refuses = self.readings.cancel == Cancel::RefusesFirst;
        let Some(index) = index.filter(|index| !(refuses && self.runs[*index].refusals == 0))
        else {
            if let Some(index) = index {
                self.runs[index].refusals += 1;
            }
            return self.reply(request, json!({"type": "cancel_ack", "accepted": false, "dispatchAttempted": false, "adapterAcknowledged": false}));
        };
        let is_rust = self.is_rust();
        let mut ack = json!({"type": "cancel_ack", "accepted": true, "dispatchAttempted": true, "adapterAcknowledged": is_rust});
        if !is_rust {
            let run = &self.runs[index];
            ack["sessionId"] = json!(run.session);
            ack["runId"] = json!(run.id);
            ack["attemptId"] = json!(run.attempt);
        }
        let before = match self.readings.cancel {
            Cancel::ResultFirst => false,
            _ => !is_rust,
        };
        let says_ack = self.readings.cancel != Cancel::NoAck;
        if says_ack && before {
            self.reply(request, ack.clone());
        }
        let open: Vec<(String, String)> = self.runs[index].play.open_tools().to_vec();
        for (call, name) in open {
            self.tool(index, &call, &title(&name), "cancelled", None);
        }
        let text = whole(&self.runs[index]);
        let mut line = json!({"type": "result", "text": "", "terminalStatus": "cancelled"});
        if self.readings.cancel == Cancel::PartialText {
            line["text"] = json!(text);
        }
        if !is_rust {
            line["failure"] = json!({"code": "run_cancelled", "failureCode": "cancelled", "userMessage": "The run was cancelled.", "source": "runtime", "retryable": false});
        }
        self.end(index, "cancelled", &text, line);
        if says_ack && !before {
            self.reply(request, ack);
        }
    }

    /// What ran in the background is written into the journal.
    pub(super) fn speak_in_background(&mut self) {
        let now = self.desk.now;
        let Some(place) = self.background.iter().position(|later| later.at <= now) else {
            return;
        };
        let later = self.background.remove(place);
        let texts: Vec<String> = self
            .setup
            .library
            .by_word(&later.word)
            .into_iter()
            .flat_map(|scenario| scenario.steps.clone())
            .filter_map(|step| match step.action {
                Action::Say { text, .. } => Some(text.trim_end().to_owned()),
                _ => None,
            })
            .collect();
        if let Some(index) = self
            .conversations
            .iter()
            .position(|c| c.id == later.conversation)
        {
            self.append(index, &texts.join("\n\n"), "agent_runtime");
        }
    }

    /// A child run of a control tool: it plays nothing and is over at once.
    pub(super) fn run_at_once(&mut self, session: &str, objective: &str) -> String {
        let id = self.id("run");
        let wall = self.desk.wall();
        self.ended.insert(
            id.clone(),
            json!({"runId": id, "sessionId": session, "status": "succeeded", "title": objective,
                "finalText": format!("Done: {objective}"), "startedAtMs": wall, "completedAtMs": wall}),
        );
        self.is_dirty = true;
        id
    }

    pub(super) fn active_runs(&self) -> Vec<Value> {
        self.runs
            .iter()
            .map(|run| {
                json!({"runId": run.id, "sessionId": run.session,
                    "status": if run.is_running { "running" } else { "queued" },
                    "startedAtMs": self.desk.epoch + run.started})
            })
            .collect()
    }

    /// Cancels a run by its id. False when it is not running.
    pub(super) fn cancel_run(&mut self, id: &str) -> bool {
        let Some(run) = self.runs.iter().find(|run| run.id == id) else {
            return false;
        };
        let request = run.request.clone();
        self.interrupt(&request);
        true
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

fn approval_label(choice: &str) -> &'static str {
    match choice {
        "once" => "Allow once",
        "session" => "Allow for this session",
        "always" => "Always allow",
        _ => "Deny",
    }
}

fn reply_for(is_approval: bool, value: String, reason: Option<String>) -> Reply {
    if is_approval {
        Reply::Choice { value, reason }
    } else {
        Reply::Text(value)
    }
}
