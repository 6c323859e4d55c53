//! The queue of what waits for the person: requests of agents that nobody has answered yet.

use super::Omi;
use serde_json::{Value, json};

/// What may stand in a request to answer one, and in what it grants.
const FIELDS: [&str; 6] = [
    "dispatchId",
    "ownerId",
    "status",
    "resolvedBy",
    "resolution",
    "grant",
];
const GRANT_FIELDS: [&str; 9] = [
    "sessionId",
    "runId",
    "capability",
    "operation",
    "resourcePattern",
    "effect",
    "source",
    "constraintsJson",
    "expiresAtMs",
];
/// How long a grant may hold, in milliseconds.
const GRANT: u64 = 24 * 60 * 60 * 1_000;

type Refused = (&'static str, String);

fn refused(message: impl Into<String>) -> Refused {
    ("control_tool_failed", message.into())
}

fn is_within(value: &Value, fields: &[&str]) -> bool {
    value
        .as_object()
        .is_none_or(|given| given.keys().all(|key| fields.contains(&key.as_str())))
}

impl Omi {
    /// All of them, answered or not.
    fn dispatches(&self) -> Vec<Value> {
        let session = self.sessions.first().map(|session| session.id.clone());
        let row = |id: &str, kind: &str, ago: u64, rest: Value| {
            let mut row = json!({
                "dispatchId": id,
                "ownerId": self.owner,
                "kind": kind,
                "priority": 1,
                "status": self.answered.get(id).cloned().unwrap_or(json!("pending")),
                "recommendedDefault": null,
                "sourceSessionId": session,
                "sourceRunId": null,
                "capability": null,
                "operation": null,
                "resourceRef": null,
                "payloadJson": "{}",
                "createdAtMs": self.desk.epoch.saturating_sub(ago),
                "expiresAtMs": null,
            });
            if let (Some(row), Some(rest)) = (row.as_object_mut(), rest.as_object()) {
                row.extend(rest.clone());
            }
            row
        };
        vec![
            row(
                "dsp_publish",
                "approval",
                20 * 60_000,
                json!({
                    "title": "Publish harbor 2.8 to the mirror",
                    "decisionPrompt": "The nightly check is green. May the agent publish harbor 2.8 \
                        to the mirror of the team? Whoever updates from there gets it at once.",
                    "capability": "external.write_send",
                    "operation": "publish",
                    "resourceRef": "mirror:harbor@2.8.0",
                }),
            ),
            row(
                "dsp_branch",
                "routing_choice",
                3 * 60_000,
                json!({
                    "title": "Where does the fix for #1729 go?",
                    "decisionPrompt": "The fix for #1729 is ready. On which branch shall it go?",
                    "recommendedDefault": "main",
                    "payloadJson": json!({
                        "mode": "question",
                        "options": [
                            {"optionId": "main", "label": "main, with the next release"},
                            {"optionId": "2.8", "label": "2.8, as a fix of its own"},
                        ],
                        "allowsFreeText": true,
                    }).to_string(),
                }),
            ),
        ]
    }

    /// What wants attention, the most urgent first.
    pub(super) fn action_queue(&self) -> Vec<Value> {
        let item = |kind: &str, subject: &str, id: &str, rest: Value| {
            let mut item = json!({
                "itemId": format!("{kind}:{subject}:{id}"),
                "kind": kind,
                "subjectKind": subject,
                "subjectId": id,
                "ownerId": self.owner,
            });
            if let (Some(item), Some(rest)) = (item.as_object_mut(), rest.as_object()) {
                item.extend(rest.clone());
            }
            item
        };
        let waiting = self
            .dispatches()
            .into_iter()
            .filter(|row| row["status"] == "pending")
            .map(|row| {
                let rest = json!({
                    "title": row["title"],
                    "priority": 101,
                    "rank": 1,
                    "createdAtMs": row["createdAtMs"],
                    "sourceSessionId": row["sourceSessionId"],
                    "sourceRunId": null,
                    "dispatchKind": row["kind"],
                    "reason": "Pending dispatch blocks local coordinator progress.",
                });
                let id = row["dispatchId"].as_str().unwrap_or_default();
                item("dispatch", "dispatch", id, rest)
            });
        let mut queue: Vec<Value> = waiting.collect();
        queue.push(item(
            "candidate_review",
            "task_candidate",
            "cand_links",
            json!({
                "title": "Review task candidate",
                "priority": 60,
                "rank": 5,
                "createdAtMs": self.desk.epoch.saturating_sub(26 * 60 * 60_000),
                "sourceSessionId": null,
                "sourceRunId": null,
                "reason": "Candidate mutation requires explicit review before canonical state changes.",
            }),
        ));
        queue
    }

    /// The same without what only sorts it.
    pub(super) fn open_loops(&self) -> Value {
        let loops: Vec<Value> = self
            .action_queue()
            .iter()
            .map(|item| {
                json!({
                    "itemKind": item["kind"],
                    "subjectKind": item["subjectKind"],
                    "subjectId": item["subjectId"],
                    "title": item["title"],
                    "reason": item["reason"],
                    "sourceSessionId": item["sourceSessionId"],
                    "sourceRunId": item["sourceRunId"],
                })
            })
            .collect();
        let wall = self.desk.wall();
        json!({
            "ownerId": self.owner,
            "deviceScoped": true,
            "generatedAtMs": wall,
            "expiresAtMs": wall + 60_000,
            "loops": loops,
        })
    }

    pub(super) fn awareness(&self) -> Value {
        json!({
            "ownerId": self.owner,
            "generatedAtMs": self.desk.wall(),
            "sessions": self.session_rows(),
            "runs": self.active_runs(),
            "dispatches": self.dispatches(),
            "actionQueue": self.action_queue(),
            "runtime": {
                "activeExecutionCount": self.active_runs().len(),
                "registeredAdapters": self.adapters(),
            },
        })
    }

    /// Answers one, or calls it off.
    pub(super) fn resolve_dispatch(&mut self, input: &Value) -> Result<Value, Refused> {
        let grant = input.get("grant").filter(|grant| !grant.is_null());
        let is_known =
            is_within(input, &FIELDS) && grant.is_none_or(|grant| is_within(grant, &GRANT_FIELDS));
        let status = input["status"].as_str().unwrap_or_default();
        if !is_known || !matches!(status, "resolved" | "cancelled") {
            return Err(("invalid_input", "Unrecognized key or status".to_owned()));
        }
        let id = input["dispatchId"].as_str().unwrap_or_default();
        let waiting = self
            .dispatches()
            .into_iter()
            .find(|row| row["dispatchId"] == id && row["status"] == "pending");
        let Some(mut row) = waiting else {
            return Err(refused(format!(
                "Desktop dispatch {id} is not pending for owner or has expired"
            )));
        };
        let granted = match grant.filter(|_| status == "resolved") {
            None => Value::Null,
            Some(_) if row["kind"] != "approval" => {
                return Err(refused("Only approval dispatches can mint grants"));
            }
            Some(_) if input["resolution"]["decision"] != "allow" => {
                return Err(refused(
                    "Resolved dispatch grants require an allow resolution",
                ));
            }
            Some(grant) => {
                let fits = grant["capability"] == row["capability"]
                    && grant["operation"] == row["operation"]
                    && grant["resourcePattern"] == row["resourceRef"];
                if !fits {
                    return Err(refused(
                        "Resolved dispatch grant must match the approval request",
                    ));
                }
                let wall = self.desk.wall();
                let until = grant["expiresAtMs"].as_u64();
                if until.is_none_or(|until| until <= wall || until - wall > GRANT) {
                    return Err(refused("Resolved dispatch grants require a finite expiry"));
                }
                let mut granted = grant.clone();
                granted["grantId"] = json!(format!("grant_{id}"));
                granted["sessionId"] = row["sourceSessionId"].clone();
                granted
            }
        };
        row["status"] = json!(status);
        row["resolvedAtMs"] = json!(self.desk.wall());
        row["resolvedBy"] = json!("user");
        row["resolutionJson"] = json!(input["resolution"].to_string());
        self.answered.insert(id.to_owned(), json!(status));
        self.is_dirty = true;
        Ok(json!({"dispatch": row, "grant": granted, "event": null}))
    }
}
