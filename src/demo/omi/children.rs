//! Agents that control tools start in the background, and how sessions and runs are listed. Such an
//! agent plays nothing: it works for a while, then it is done.

use super::{Omi, Session};
use serde_json::{Value, json};

/// A run in the background.
#[derive(Clone, Debug)]
pub(super) struct Child {
    run: String,
    session: String,
    title: String,
    objective: String,
    directory: String,
    began: u64,
    /// Wall milliseconds at which it is done.
    until: u64,
    is_cancelled: bool,
}

impl Child {
    fn status(&self, wall: u64) -> &'static str {
        if self.is_cancelled {
            "cancelled"
        } else if wall < self.until {
            "running"
        } else {
            "succeeded"
        }
    }

    pub(super) fn is_over(&self, wall: u64) -> bool {
        self.status(wall) != "running"
    }

    fn summary(&self, wall: u64) -> Value {
        let status = self.status(wall);
        let is_over = status != "running";
        json!({
            "runId": self.run,
            "sessionId": self.session,
            "parentRunId": null,
            "status": status,
            "mode": "act",
            "input": {"prompt": self.objective},
            "requestedModelId": null,
            "finalText": (status == "succeeded").then(|| format!("Done: {}", self.objective)),
            "createdAtMs": self.began,
            "startedAtMs": self.began,
            "completedAtMs": is_over.then_some(self.until),
            "updatedAtMs": if is_over { self.until } else { self.began },
        })
    }
}

impl Omi {
    /// Starts an agent in the background, for so long. Its run.
    pub(super) fn begin_child(
        &mut self,
        session: &str,
        title: &str,
        objective: &str,
        directory: &str,
        lasts: u64,
    ) -> String {
        let (run, began) = (self.id("run"), self.desk.wall());
        self.children.push(Child {
            run: run.clone(),
            session: session.to_owned(),
            title: title.to_owned(),
            objective: objective.to_owned(),
            directory: directory.to_owned(),
            began,
            until: began + lasts,
            is_cancelled: false,
        });
        run
    }

    /// Stops one. False when it is not running.
    pub(super) fn cancel_child(&mut self, run: &str) -> bool {
        let wall = self.desk.wall();
        let Some(child) = self
            .children
            .iter_mut()
            .find(|child| child.run == run && child.status(wall) == "running")
        else {
            return false;
        };
        child.is_cancelled = true;
        child.until = wall;
        true
    }

    /// The rows of the list of sessions: each with its newest run and the one that goes on.
    pub(super) fn session_rows(&self) -> Vec<Value> {
        let wall = self.desk.wall();
        let mut rows: Vec<Value> = self
            .sessions
            .iter()
            .filter_map(|session| self.session_row(session))
            .collect();
        for child in &self.children {
            let run = child.summary(wall);
            let is_going = run["status"] == "running";
            let known = rows
                .iter_mut()
                .find(|row| row["session"]["sessionId"] == child.session);
            let row = match known {
                Some(row) => row,
                None => {
                    rows.push(json!({"session": {
                        "sessionId": child.session,
                        "ownerId": self.owner,
                        "title": child.title,
                        "status": "open",
                        "surfaceKind": "delegated_agent",
                        "executionRole": "leaf",
                        "externalRefKind": null,
                        "externalRefId": null,
                        "defaultAdapterId": "acp",
                        "modelProfile": null,
                        "defaultCwd": child.directory,
                        "createdAtMs": child.began,
                    }, "latestRun": null, "activeRun": null, "adapterBindings": []}));
                    let last = rows.len() - 1;
                    &mut rows[last]
                }
            };
            row["session"]["updatedAtMs"] = run["updatedAtMs"].clone();
            row["session"]["lastActivityAtMs"] = run["updatedAtMs"].clone();
            if is_going {
                row["activeRun"] = run.clone();
            }
            row["latestRun"] = run;
        }
        rows
    }

    fn session_row(&self, session: &Session) -> Option<Value> {
        let conversation = self
            .conversations
            .iter()
            .find(|known| known.id == session.conversation)?;
        let latest = self
            .ended
            .values()
            .filter(|run| run["sessionId"] == session.id)
            .max_by_key(|run| run["completedAtMs"].as_u64());
        let active = self
            .active_runs()
            .into_iter()
            .find(|run| run["sessionId"] == session.id);
        Some(json!({
            "session": {
                "sessionId": session.id,
                "ownerId": self.owner,
                "title": session.title,
                "status": "open",
                "surfaceKind": conversation.surface.kind,
                "executionRole": "coordinator",
                "externalRefKind": conversation.surface.ref_kind,
                "externalRefId": conversation.surface.ref_id,
                "defaultAdapterId": session.adapter,
                "modelProfile": session.model,
                "createdAtMs": session.updated,
                "updatedAtMs": session.updated,
                "lastActivityAtMs": session.updated,
            },
            "latestRun": active.as_ref().or(latest),
            "activeRun": active,
            "adapterBindings": [],
        }))
    }

    /// All that is known of a run.
    pub(super) fn run_details(&self, id: &str) -> Option<Value> {
        let wall = self.desk.wall();
        let child = self.children.iter().find(|child| child.run == id);
        let active = self
            .active_runs()
            .into_iter()
            .find(|run| run["runId"] == id);
        let run = child
            .map(|child| child.summary(wall))
            .or(active)
            .or_else(|| self.ended.get(id).cloned())?;
        let session = self
            .session_rows()
            .into_iter()
            .find(|row| row["session"]["sessionId"] == run["sessionId"])
            .map_or(Value::Null, |row| row["session"].clone());
        Some(
            json!({"session": session, "run": run, "attempts": [], "artifacts": [],
            "events": [], "toolInvocations": []}),
        )
    }
}
