//! One thing that waits in the queue of a runtime: how a row is read, what is asked with it, and
//! what an answer makes of it.

use super::super::documents::{first, objects};
use super::super::{agents, questions, word};
use super::named;
use crate::domain::{Answer, Choice, Grant, Moment, Question};
use crate::protocol::decode::{CHOICE_LIMIT, TOOL_TEXT_LIMIT, bounded};
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long a grant of more than this once holds.
const GRANT: Duration = Duration::from_secs(60 * 60);
/// Says that not all of an action is told.
pub(super) const CUT: &str = "previewTruncated";

/// Choices of ours; others are options that came with the question.
const ONCE: &str = "trialogue:once";
const HOUR: &str = "trialogue:hour";
const DENY: &str = "trialogue:deny";
const SETTLE: &str = "trialogue:settle";
const CALL_OFF: &str = "trialogue:call-off";

/// One thing that waits.
#[derive(Clone, Default, Debug)]
pub(in crate::protocol::omi) struct Dispatch {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) prompt: String,
    pub(super) session: String,
    pub(super) capability: String,
    pub(super) operation: String,
    pub(super) resource: String,
    pub(super) recommended: String,
    pub(super) payload: Map<String, Value>,
    pub(super) at_ms: Option<i64>,
    pub(super) expires_ms: Option<i64>,
}

impl Dispatch {
    /// Reads a row; none when it is something else, or no longer waits.
    pub(super) fn of(row: &Map<String, Value>, now: Moment) -> Option<Self> {
        let kind = first(row, &["itemKind", "kind"]);
        let id = match word(row, "dispatchId") {
            "" if word(row, "subjectKind") == "dispatch" || kind == "dispatch" => {
                word(row, "subjectId")
            }
            id => id,
        };
        let waits = matches!(word(row, "status"), "" | "pending" | "open" | "waiting");
        let expires_ms = agents::time(row, &["expiresAtMs", "expiresAt"]);
        if id.is_empty() || !waits || expires_ms.is_some_and(|at| at <= now.wall_ms) {
            return None;
        }
        let payload = match row.get("payload").or_else(|| row.get("payloadJson")) {
            Some(Value::Object(fields)) => fields.clone(),
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
            _ => Map::new(),
        };
        let text = |key: &str| word(row, key).trim().to_owned();
        Some(Self {
            id: id.to_owned(),
            kind: match word(row, "dispatchKind") {
                "" => kind.to_owned(),
                kind => kind.to_owned(),
            },
            title: text("title"),
            prompt: text("decisionPrompt"),
            session: text("sourceSessionId"),
            capability: text("capability"),
            operation: text("operation"),
            resource: text("resourceRef"),
            recommended: text("recommendedDefault"),
            payload,
            at_ms: agents::time(row, &["createdAtMs", "createdAt"]),
            expires_ms,
        })
    }

    pub(super) fn is_approval(&self) -> bool {
        self.kind == "approval" || word(&self.payload, "mode") == "permission"
    }

    /// Options that came with the question, for whoever can only answer with one of them.
    pub(super) fn options(&self) -> Vec<Choice> {
        let is_approval = self.is_approval();
        objects(self.payload.get("options"))
            .into_iter()
            .filter(|option| !word(option, "optionId").is_empty())
            .take(CHOICE_LIMIT)
            .map(|option| questions::choice(option, is_approval, &self.recommended))
            .collect()
    }

    /// More than this once can be allowed where it is said for what, and the runtime, where it
    /// names what it takes, takes it.
    pub(super) fn may_be_granted(&self) -> bool {
        let is_named = [
            &self.capability,
            &self.operation,
            &self.resource,
            &self.session,
        ]
        .iter()
        .all(|part| !part.is_empty());
        let offered = objects(self.payload.get("options"));
        let takes = |option: &&Map<String, Value>| word(option, "id") == "allow_session";
        is_named && (offered.is_empty() || offered.iter().any(takes))
    }

    pub(super) fn choices(&self) -> Vec<Choice> {
        let own = |value: &str, label: &'static str, grant| Choice {
            value: value.to_owned(),
            label: label.into(),
            grant,
            is_current: false,
        };
        let mut choices = self.options();
        match (self.is_approval(), choices.is_empty()) {
            (true, true) => {
                choices.push(own(ONCE, "Allow it once", Grant::Once));
                if self.may_be_granted() {
                    choices.push(own(HOUR, "Allow it for an hour", Grant::Session));
                }
                choices.push(own(DENY, "Refuse", Grant::Deny));
            }
            (false, true) => choices.push(own(SETTLE, "It is settled", Grant::Answer)),
            (true | false, false) => {}
        }
        let grant = if self.is_approval() {
            Grant::Deny
        } else {
            Grant::Answer
        };
        choices.push(own(CALL_OFF, "Call the request off", grant));
        choices
    }

    pub(super) fn question(&self) -> Question {
        let title = named(&self.title);
        let prompt = Some(self.prompt.as_str()).filter(|text| !text.is_empty() && *text != title);
        if !self.is_approval() {
            let takes = self.payload.get("allowsFreeText").and_then(Value::as_bool);
            return Question::Clarification {
                question: SafeText::prose(&text_of([Some(title), prompt])),
                takes_free_text: takes.unwrap_or(true),
            };
        }
        let subject = word(&self.payload, "subject");
        let what = [subject, &self.resource, &self.capability, &self.operation];
        let what: Vec<&str> = what.into_iter().filter(|part| !part.is_empty()).collect();
        let what = what.join("\n");
        let what = Some(what.as_str()).filter(|what| !what.is_empty());
        // All that is approved stands in the part that can be read to its end.
        let (command, description) = match text_of([what, prompt]) {
            command if command.is_empty() => (title.to_owned(), ""),
            command => (command, title),
        };
        Question::Approval {
            command: SafeText::command(&command),
            description: SafeText::prose(description),
            // A row of a queue has a title and no more.
            may_be_cut: self.prompt.is_empty() || self.payload.get(CUT) == Some(&Value::Bool(true)),
            takes_reason: false,
        }
    }

    /// The input of the tool for an answer.
    pub(super) fn input(&self, now: Moment, answer: &Answer) -> Value {
        let mut input = json!({"dispatchId": self.id, "status": "resolved"});
        let (value, reason) = match answer {
            Answer::Text(text) => {
                input["resolution"] = json!({"text": text});
                return input;
            }
            Answer::Choice { value, reason } => (value.as_str(), reason),
        };
        let mut resolution = match value {
            CALL_OFF => {
                input["status"] = json!("cancelled");
                json!({})
            }
            SETTLE => json!({}),
            ONCE => json!({"decision": "allow"}),
            DENY => json!({"decision": "deny"}),
            HOUR => {
                input["grant"] = json!({
                    "runId": null,
                    "capability": self.capability,
                    "operation": self.operation,
                    "resourcePattern": self.resource,
                    "effect": "allow",
                    "source": "user",
                    "expiresAtMs": now.after(GRANT).wall_ms,
                });
                json!({"decision": "allow"})
            }
            option => {
                let mut resolution = json!({"optionId": option, "optionIds": [option]});
                if self.is_approval() {
                    let refuses = self
                        .options()
                        .iter()
                        .any(|known| known.value == option && known.grant == Grant::Deny);
                    resolution["decision"] = json!(if refuses { "deny" } else { "allow" });
                }
                resolution
            }
        };
        if let Some(reason) = reason {
            resolution["text"] = json!(reason);
        }
        if resolution.as_object().is_some_and(|said| !said.is_empty()) {
            input["resolution"] = resolution;
        }
        input
    }

    /// What the answer did, in words.
    pub(super) fn done_words(&self, answer: &Answer, result: &Value) -> String {
        let value = match answer {
            Answer::Text(text) => return format!("Answered: {text}"),
            Answer::Choice { value, .. } => value.as_str(),
        };
        match value {
            CALL_OFF => "Called off".to_owned(),
            SETTLE => "Settled".to_owned(),
            DENY => "Refused".to_owned(),
            ONCE => "Allowed, this once".to_owned(),
            HOUR if result.get("grant").is_some_and(Value::is_object) => {
                "Allowed, and the same again for an hour".to_owned()
            }
            HOUR => "Allowed, this once; the runtime gave nothing beyond it".to_owned(),
            option => {
                let options = self.options();
                let known = options.iter().find(|known| known.value == option);
                let label = known.map_or(option, |known| known.label.as_str());
                format!("Answered: {label}")
            }
        }
    }
}

/// Paragraphs, bounded.
fn text_of(parts: [Option<&str>; 2]) -> String {
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    bounded(&parts.join("\n\n"), TOOL_TEXT_LIMIT)
}
