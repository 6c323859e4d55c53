//! Everything of the Omi runtime around runs and journal: sessions and their profiles, context,
//! control tools, and the requests that only the desktop app may make.

use super::super::files::sha256_hex;
use super::journal::Surface;
use super::{Omi, Session};
use serde_json::{Value, json};

/// The control tools a host may call.
pub(super) const TOOLS: [&str; 10] = [
    "list_agent_sessions",
    "get_agent_run",
    "cancel_agent_run",
    "spawn_agent",
    "send_agent_message",
    "inspect_agent_artifacts",
    "list_desktop_action_queue",
    "get_desktop_open_loops",
    "build_desktop_awareness_snapshot",
    "resolve_desktop_dispatch",
];

/// Bytes of the rows in one list of sessions.
const ANSWER: usize = 6 * 1024;
/// How long before its first use a new conversation was greeted, in milliseconds.
const GREETED_BEFORE: u64 = 2_000;
/// How long an agent in the background works, in milliseconds.
const CHILD: u64 = 20_000;

/// Requests the runtime knows; anything else is a line on standard error.
pub(super) const KNOWN: [&str; 32] = [
    "query",
    "interrupt",
    "control_tool",
    "direct_control_tool",
    "external_surface_run_begin",
    "external_surface_tool_invoke",
    "external_surface_run_complete",
    "invalidate_session",
    "revoke_owner_runtime",
    "import_legacy_main_chat_sessions",
    "warmup",
    "configure_default_execution_profile",
    "resolve_surface_session",
    "migrate_session_execution_profile",
    "context_source_update",
    "get_context_snapshot",
    "journal_record_turn",
    "journal_record_exchange",
    "journal_import_remote_turn",
    "journal_update_turn",
    "journal_terminalize_turn",
    "journal_repair_turns",
    "journal_list_turns",
    "journal_clear_turns",
    "append_chat_first_blocks",
    "append_chat_first_evidence",
    "record_question_interaction_reply",
    "materialize_chat_first_intents",
    "list_chat_first_materialization_receipts",
    "acknowledge_chat_first_materialization_receipts",
    "ensure_agent_spawn_journal",
    "chat_first_harness_executor_begin",
];

fn text(request: &Value, key: &str) -> String {
    request
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or("")
        .trim()
        .to_owned()
}

impl Omi {
    pub(super) fn control_request(&mut self, kind: &str, request: &Value) {
        let is_rust = self.is_rust();
        match kind {
            "resolve_surface_session" => self.resolve(request),
            "configure_default_execution_profile" => self.configure(request),
            "migrate_session_execution_profile" => self.migrate(request),
            "context_source_update" => self.update_source(request),
            "get_context_snapshot" => self.snapshot(request),
            "invalidate_session" => self.invalidate(request),
            "revoke_owner_runtime" => self.revoke(request),
            // The Rust flavour answers none of these.
            "warmup" | "control_tool" | "direct_control_tool" if is_rust => {}
            _ if is_rust && kind.starts_with("external_surface") => {}
            "warmup" => self.warmup(request),
            "control_tool" => {
                let error = json!({"ok": false, "error": {"code": "legacy_control_tool_removed", "message": "use direct_control_tool"}});
                let line = json!({"type": "control_tool_result", "name": request["name"], "result": error.to_string()});
                self.reply(request, line);
            }
            "direct_control_tool" => self.control_tool(request),
            "import_legacy_main_chat_sessions" => {
                let line = json!({"type": "legacy_main_chat_sessions_imported", "ownerId": self.owner,
                    "acceptedEntries": [], "acceptedCount": 0, "importedCount": 0});
                self.reply(request, line);
            }
            _ if kind.starts_with("external_surface") => self.external(kind, request),
            _ => self.refuse_policy(request),
        }
    }

    fn refuse_policy(&mut self, request: &Value) {
        let message = "not available for this host";
        let line = json!({"type": "error", "message": message,
            "failure": {"code": "policy_denied", "failureCode": "policy_denied", "userMessage": message}});
        self.reply(request, line);
    }

    fn external(&mut self, kind: &str, request: &Value) {
        let kind = match kind {
            "external_surface_run_begin" => "external_surface_run_begin_result",
            "external_surface_tool_invoke" => "external_surface_tool_result",
            _ => "external_surface_run_complete_result",
        };
        let mut line = json!({"type": kind, "ok": false,
            "error": {"code": "external_surface_unavailable", "message": "this runtime has no voice"}});
        for key in [
            "ownerId",
            "sessionId",
            "turnId",
            "runId",
            "attemptId",
            "invocationId",
        ] {
            if let Some(value) = request.get(key) {
                line[key] = value.clone();
            }
        }
        self.reply(request, line);
    }

    fn profile(&self, session: &Session) -> Value {
        json!({
            "profileGeneration": session.generation,
            "adapterId": session.adapter,
            "credentialScope": if self.is_rust() { "managed_cloud" } else { "local_user" },
            "modelProfile": session.model,
            "workingDirectory": session.directory,
            "executionRole": "coordinator",
        })
    }

    /// Adapter, model and directory of a request, or why they cannot be had.
    fn wanted(&self, profile: &Value) -> Result<(String, Option<String>, String), String> {
        let adapter = text(profile, "adapterId");
        let directory = text(profile, "workingDirectory");
        if !self.adapters().contains(&adapter.as_str()) {
            return Err(if self.is_rust() {
                "session creation profile requires rx4 and a working directory".into()
            } else {
                format!("Adapter not registered: {adapter}")
            });
        }
        if directory.is_empty() {
            return Err("workingDirectory must not be blank".into());
        }
        let model = profile
            .get("modelProfile")
            .and_then(Value::as_str)
            .map(str::to_owned);
        Ok((adapter, model, directory))
    }

    fn resolve(&mut self, request: &Value) {
        let Some(surface) = Surface::of(request) else {
            return self.refuse(request, "invalid_request", "A surface is required");
        };
        let known = self
            .conversations
            .iter()
            .find(|c| c.surface == surface && (c.owner.is_none() || c.owner == self.owner))
            .map(|c| c.id.clone());
        let session = known
            .as_ref()
            .and_then(|id| self.sessions.iter().position(|s| s.conversation == *id));
        let (index, created) = match session {
            Some(index) => (index, false),
            None => {
                let wanted = match (request.get("creationProfile"), &self.default_profile) {
                    (Some(profile), _) if !profile.is_null() => self.wanted(profile),
                    (_, Some((adapter, model, directory, _))) => {
                        Ok((adapter.clone(), model.clone(), directory.clone()))
                    }
                    _ if self.is_rust() => {
                        Err("session creation profile requires rx4 and a working directory".into())
                    }
                    _ => Ok((
                        "acp".into(),
                        Some("claude-sonnet-4-6".into()),
                        self.artifacts.clone(),
                    )),
                };
                let (adapter, model, directory) = match wanted {
                    Ok(wanted) => wanted,
                    Err(message) => return self.refuse(request, "invalid_request", &message),
                };
                let place = self.conversation(&surface);
                let id = if self.is_rust() {
                    format!("rx4-session-{}", self.sessions.len() + 1)
                } else {
                    self.id("ses")
                };
                self.sessions.push(Session {
                    id,
                    conversation: self.conversations[place].id.clone(),
                    title: text(request, "title"),
                    generation: 1,
                    adapter,
                    model,
                    directory,
                    updated: self.desk.wall(),
                });
                self.is_dirty = true;
                (self.sessions.len() - 1, true)
            }
        };
        // What was there before any owner belongs to the first one who opens it.
        let place = self.conversation(&surface);
        let session = self.sessions[index].clone();
        let line = json!({
            "type": "surface_session_resolved",
            "created": created,
            "conversationId": session.conversation,
            "sessionId": session.id,
            "profile": self.profile(&session),
        });
        self.reply(request, line);
        let greeted = self
            .conversations
            .iter()
            .any(|c| c.owner.is_some() && !c.is_empty());
        let welcome = self.setup.library.welcome();
        if let Some(welcome) = welcome.filter(|_| created && self.readings.greets && !greeted) {
            // Whoever opens a conversation with a question asked it just now: the greeting was first.
            let at = self.desk.wall().saturating_sub(GREETED_BEFORE);
            self.append_at(place, &welcome, "notification", at);
        }
        self.reconcile(place);
    }

    fn configure(&mut self, request: &Value) {
        let generation = self.default_profile.as_ref().map_or(0, |p| p.3);
        let expected = request
            .get("expectedPreferenceGeneration")
            .and_then(Value::as_u64);
        if expected.is_some_and(|expected| expected != generation) {
            return self.refuse(request, "invalid_request", "preference generation is stale");
        }
        let (adapter, model, directory) = match self.wanted(request) {
            Ok(wanted) => wanted,
            Err(message) => return self.refuse(request, "invalid_request", &message),
        };
        let line = json!({
            "type": "default_execution_profile_configured",
            "preferenceGeneration": generation + 1,
            "adapterId": adapter,
            "credentialScope": if self.is_rust() { "managed_cloud" } else { "local_user" },
            "modelProfile": model,
            "workingDirectory": directory,
            "appliesTo": "new_sessions",
        });
        self.default_profile = Some((adapter, model, directory, generation + 1));
        self.reply(request, line);
    }

    fn migrate(&mut self, request: &Value) {
        let id = text(request, "sessionId");
        let Some(index) = self.sessions.iter().position(|s| s.id == id) else {
            return self.refuse(request, "invalid_request", "agent session is unavailable");
        };
        let generation = self.sessions[index].generation;
        let expected = request
            .get("expectedProfileGeneration")
            .and_then(Value::as_u64);
        if expected != Some(generation) {
            let message = "session execution profile generation is stale";
            return self.refuse(request, "invalid_request", message);
        }
        let is_busy = self.active_runs().iter().any(|run| run["sessionId"] == id);
        if is_busy {
            let message = "session has an active run";
            return self.refuse(request, "invalid_request", message);
        }
        let (adapter, model, directory) = match self.wanted(request) {
            Ok(wanted) => wanted,
            Err(message) => return self.refuse(request, "invalid_request", &message),
        };
        let session = &mut self.sessions[index];
        session.generation += 1;
        session.adapter = adapter;
        session.model = model;
        session.directory = directory;
        let session = session.clone();
        self.is_dirty = true;
        let line = json!({
            "type": "session_execution_profile_migrated",
            "sessionId": session.id,
            "previousProfileGeneration": generation,
            "profile": self.profile(&session),
            "staleBindingIds": [],
        });
        self.reply(request, line);
    }

    fn fingerprint(&self, session: &str) -> String {
        let sources: Vec<&Value> = self
            .sources
            .iter()
            .filter(|((known, _), _)| known == session)
            .map(|(_, source)| source)
            .collect();
        format!(
            "sha256:{}",
            sha256_hex(json!(sources).to_string().as_bytes())
        )
    }

    fn update_source(&mut self, request: &Value) {
        let (session, source) = (text(request, "sessionId"), text(request, "source"));
        if !self.sessions.iter().any(|s| s.id == session) {
            return self.refuse(request, "invalid_request", "agent session is unavailable");
        }
        let payload = request.get("payload").cloned().unwrap_or(json!({}));
        let value = json!({
            "source": source,
            "sourceRevision": request["sourceRevision"],
            "outcome": request["outcome"],
            "capturedAtMs": request["capturedAtMs"],
            "expiresAtMs": request.get("expiresAtMs").cloned().unwrap_or(Value::Null),
            "payloadHash": format!("sha256:{}", sha256_hex(payload.to_string().as_bytes())),
            "payload": payload,
        });
        let known = self
            .sources
            .insert((session.clone(), source.clone()), value.clone());
        let line = json!({
            "type": "context_source_updated",
            "sessionId": session,
            "source": source,
            "sourceRevision": request["sourceRevision"],
            "changed": known.as_ref() != Some(&value),
            "snapshotVersion": self.fingerprint(&session),
            "snapshotGeneration": 1,
            "rendererFingerprint": "sha256:788048f2163ca24e",
            "capabilityVersion": "omi-demo-tools@1",
        });
        self.reply(request, line);
    }

    fn snapshot(&mut self, request: &Value) {
        let id = text(request, "sessionId");
        let Some(session) = self.sessions.iter().find(|s| s.id == id).cloned() else {
            return self.refuse(request, "invalid_request", "agent session is unavailable");
        };
        let turns: Vec<Value> = self
            .conversations
            .iter()
            .find(|c| c.id == session.conversation)
            .map(|c| c.newest().into_iter().cloned().collect())
            .unwrap_or_default();
        let total = turns.len();
        let recent: Vec<Value> = turns
            .iter()
            .skip(total.saturating_sub(64))
            .map(|turn| {
                let mut row = json!({});
                for key in [
                    "turnId",
                    "turnSeq",
                    "role",
                    "content",
                    "status",
                    "origin",
                    "createdAtMs",
                ] {
                    row[key] = turn[key].clone();
                }
                row
            })
            .collect();
        let sources: Vec<Value> = self
            .sources
            .iter()
            .filter(|((known, _), _)| *known == id)
            .map(|(_, source)| source.clone())
            .collect();
        let version = self.fingerprint(&id);
        let snapshot = json!({
            "snapshotId": format!("snap_{}", &version[7..19]),
            "version": version,
            "snapshotGeneration": 1,
            "rendererFingerprint": "sha256:788048f2163ca24e",
            "rendererPolicyVersion": "1",
            "capabilityVersion": "omi-demo-tools@1",
            "renderedContext": format!("Working directory: {}\nModel: {}\n", session.directory, session.model.clone().unwrap_or_else(|| "default".into())),
            "contextPlan": {
                "version": 1,
                "planId": format!("{id}:plan"),
                "semanticGuidanceVersion": "1",
                "semanticGuidance": "",
                "retainedTurnStartSeq": recent.first().map(|turn| turn["turnSeq"].clone()),
                "retainedTurnEndSeq": recent.last().map(|turn| turn["turnSeq"].clone()),
                "retainedTurnCount": recent.len(),
                "totalTurnCount": total,
                "omittedTurnCount": total - recent.len(),
                "olderHistoryStrategy": if total > recent.len() { "truncated" } else { "none" },
                "stableCacheIdentity": format!("{id}:stable"),
                "dynamicContextIdentity": version,
            },
            "ownerId": self.owner,
            "sessionId": id,
            "conversationId": session.conversation,
            "recentTurns": recent,
            "sourceOutcomes": sources,
            "activeRuns": self.active_runs(),
            "recentCompletedRuns": [],
            "capabilities": {
                "executionRole": "coordinator",
                "manifestVersion": 1,
                "manifestDigest": "sha256:2f6a1d0c5b7e4a93",
                "allowedToolNames": ["Bash", "Read", "Write", "Edit", "Grep", "TodoWrite", "search_notes", "create_reminder"],
                "chatFirstUi": false,
                "chatFirstControlGeneration": null,
            },
        });
        self.reply(
            request,
            json!({"type": "context_snapshot", "snapshot": snapshot}),
        );
    }

    fn warmup(&mut self, request: &Value) {
        let id = text(request, "sessionId");
        let generation = request.get("profileGeneration").and_then(Value::as_u64);
        match self.sessions.iter().find(|s| s.id == id) {
            None => self.refuse(request, "invalid_request", "agent session is unavailable"),
            Some(session) if Some(session.generation) != generation => {
                let message = "session execution profile generation is stale";
                self.refuse(request, "invalid_request", message);
            }
            // Success has no answer.
            Some(_) => {}
        }
    }

    fn invalidate(&mut self, request: &Value) {
        if !self.is_rust() {
            return self.log("native session invalidated");
        }
        let Some(surface) = Surface::of(request) else {
            return self.refuse(request, "invalid_request", "A surface is required");
        };
        let place = self.conversation(&surface);
        let conversation = self.conversations[place].id.clone();
        let session = self
            .sessions
            .iter()
            .find(|s| s.conversation == conversation)
            .map(|s| s.id.clone());
        self.sessions.retain(|s| s.conversation != conversation);
        self.put(json!({
            "type": "session_invalidated", "invalidated": session.is_some(), "sessionId": session,
            "ownerId": self.owner, "surfaceKind": surface.kind, "externalRefKind": surface.ref_kind,
            "externalRefId": surface.ref_id, "cancelledRuns": 0, "revokedToolClaims": 0,
        }));
    }

    fn revoke(&mut self, request: &Value) {
        let runs: Vec<Value> = self
            .active_runs()
            .iter()
            .map(|run| run["runId"].clone())
            .collect();
        for run in &runs {
            if self.is_rust() {
                self.cancel_run(run.as_str().unwrap_or_default());
            }
        }
        self.runs.clear();
        let owner = self.owner.take();
        let line = json!({"type": "owner_runtime_revoked", "ownerId": owner, "ok": true, "duplicate": false,
            "revokedRunIds": runs, "invalidatedBindingIds": []});
        self.reply(request, line);
    }

    fn control_tool(&mut self, request: &Value) {
        let name = text(request, "name");
        let input = request.get("input").cloned().unwrap_or(json!({}));
        let result = if TOOLS.contains(&name.as_str()) {
            self.run_tool(&name, &input)
        } else {
            Err(("unknown_control_tool", format!("No control tool {name}")))
        };
        let result = match result {
            Ok(mut value) => {
                value["ok"] = json!(true);
                value
            }
            Err((code, message)) => {
                json!({"ok": false, "error": {"code": code, "message": message}})
            }
        };
        let line = json!({"type": "control_tool_result", "ownerId": self.owner, "name": name, "result": result.to_string()});
        self.reply(request, line);
    }

    fn run_tool(&mut self, name: &str, input: &Value) -> Result<Value, (&'static str, String)> {
        let needed = |key: &str| match text(input, key) {
            value if value.is_empty() => Err(("invalid_input", format!("{key} is required"))),
            value => Ok(value),
        };
        match name {
            "list_agent_sessions" => {
                let limit = input
                    .get("limit")
                    .and_then(Value::as_u64)
                    .unwrap_or(50)
                    .min(200);
                let before = input.get("beforeUpdatedAtMs").and_then(Value::as_u64);
                let kind = text(input, "surfaceKind");
                let mut rows: Vec<Value> = self
                    .session_rows()
                    .into_iter()
                    .filter(|row| kind.is_empty() || row["session"]["surfaceKind"] == *kind)
                    .filter(|row| {
                        before.is_none_or(|before| {
                            row["session"]["updatedAtMs"].as_u64() < Some(before)
                        })
                    })
                    .collect();
                rows.sort_by_key(|row| std::cmp::Reverse(row["session"]["updatedAtMs"].as_u64()));
                let fetched = rows.len().min(limit as usize);
                rows.truncate(fetched);
                // The answer is kept short, whatever was asked for.
                let returned = (1..=rows.len())
                    .rev()
                    .find(|n| json!(rows[..*n]).to_string().len() <= ANSWER)
                    .unwrap_or(0);
                rows.truncate(returned);
                Ok(json!({
                    "sessions": rows,
                    "truncated": returned < fetched,
                    "returned_session_count": returned,
                    "fetched_session_count": fetched,
                }))
            }
            "get_agent_run" => {
                let id = needed("runId")?;
                self.run_details(&id)
                    .ok_or(("run_not_found", format!("No run {id}")))
            }
            "cancel_agent_run" => {
                let id = needed("runId")?;
                let accepted = self.cancel_run(&id) || self.cancel_child(&id);
                let details = self
                    .run_details(&id)
                    .ok_or(("run_not_found", format!("No run {id}")))?;
                Ok(json!({
                    "cancellation": {"accepted": accepted, "dispatchAttempted": accepted,
                        "adapterAcknowledged": false},
                    "run": details["run"],
                    "attempts": [],
                }))
            }
            "spawn_agent" => {
                let objective = needed("objective")?;
                let session = self.id("ses");
                let cwd = match text(input, "cwd") {
                    cwd if cwd.is_empty() => self.artifacts.clone(),
                    cwd => cwd,
                };
                let title = match text(input, "title") {
                    title if title.is_empty() => format!("Background: {objective}"),
                    title => title,
                };
                let run = self.begin_child(&session, &title, &objective, &cwd, CHILD);
                let agent = self.run_details(&run).unwrap_or_default();
                Ok(
                    json!({"requestedAgentCount": 1, "agents": [agent], "delegation": null,
                    "session": agent["session"], "run": agent["run"], "attempt": null}),
                )
            }
            "send_agent_message" => {
                let (session, prompt) = (needed("sessionId")?, needed("prompt")?);
                let known = self
                    .session_rows()
                    .into_iter()
                    .find(|row| row["session"]["sessionId"] == *session)
                    .ok_or(("session_not_found", format!("No session {session}")))?;
                let title = known["session"]["title"].as_str().unwrap_or("").to_owned();
                let run = self.begin_child(&session, &title, &prompt, "", 0);
                let details = self.run_details(&run).unwrap_or_default();
                let said = details["run"]["finalText"].clone();
                Ok(json!({"session": known["session"], "run": details["run"],
                    "terminalStatus": "succeeded", "text": said, "artifacts": []}))
            }
            "inspect_agent_artifacts" => Ok(json!({"artifacts": []})),
            "list_desktop_action_queue" => Ok(json!({"actionQueue": self.action_queue()})),
            "build_desktop_awareness_snapshot" => Ok(json!({"snapshot": self.awareness()})),
            "resolve_desktop_dispatch" => self.resolve_dispatch(input),
            _ => Ok(json!({"openLoops": self.open_loops()})),
        }
    }
}
