//! Agents as the control tools list them: sessions with their runs. The protocol file says nothing
//! of the rows, and the runtimes differ: a row may be the session itself or hold it, and name its
//! run, its newest one, the one that goes on, or several.

use super::documents::{first, is_over, objects};
use super::{number, word};
use serde_json::{Map, Value};

/// Rows that are read of one answer.
const ROWS: usize = 500;
/// Under which names lists of agents come.
const LISTS: [&str; 9] = [
    "sessions",
    "canonicalSessions",
    "agents",
    "task_agents",
    "taskAgents",
    "floating_agent_pills",
    "floatingAgentPills",
    "runs",
    "items",
];
/// What a list may be wrapped in.
const AROUND: [&str; 3] = ["snapshot", "result", "data"];

/// A session of an agent.
#[derive(Clone, Default, Debug)]
pub(super) struct Agent {
    pub(super) session: String,
    pub(super) title: String,
    pub(super) status: String,
    pub(super) adapter: String,
    pub(super) surface_kind: String,
    pub(super) ref_kind: String,
    pub(super) ref_id: String,
    /// When something happened there last, wall milliseconds.
    pub(super) at_ms: Option<i64>,
    /// The newest first.
    pub(super) runs: Vec<Run>,
}

/// One run of it.
#[derive(Clone, Default, Debug)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) status: String,
    /// What it was asked.
    pub(super) prompt: String,
    pub(super) at_ms: Option<i64>,
}

impl Run {
    pub(super) fn is_going(&self) -> bool {
        !is_over(&self.status)
    }
}

/// What one answer listed.
#[derive(Default, Debug)]
pub(super) struct Listed {
    pub(super) agents: Vec<Agent>,
    /// There are more, which the runtime left out.
    pub(super) is_cut: bool,
    /// When the oldest one was changed.
    pub(super) oldest: Option<i64>,
}

/// Reads an answer that lists agents. A list that came full may go on.
pub(super) fn listed(value: &Value, limit: usize) -> Listed {
    let mut of = Listed::default();
    let inner = AROUND.iter().filter_map(|name| value.get(name));
    for body in std::iter::once(value).chain(inner) {
        if body.is_array() {
            take(&mut of, Some(body), limit);
        }
        for name in LISTS {
            take(&mut of, body.get(name), limit);
        }
        of.is_cut |= body.get("truncated").and_then(Value::as_bool) == Some(true);
    }
    of
}

fn take(of: &mut Listed, list: Option<&Value>, limit: usize) {
    let rows = objects(list);
    of.is_cut |= rows.len() >= limit;
    for row in rows.into_iter().take(ROWS) {
        if row.contains_key("truncatedItemCount") {
            of.is_cut = true;
            continue;
        }
        let session = row.get("session").and_then(Value::as_object);
        let changed = time(session.unwrap_or(row), &["updatedAtMs", "updatedAt"]);
        of.oldest = match (of.oldest, changed) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
        merge(&mut of.agents, agent(row, session));
    }
}

/// Puts an agent to those that are known; one that is known already is completed.
pub(super) fn merge(agents: &mut Vec<Agent>, new: Agent) {
    if new.session.is_empty() && new.runs.is_empty() && new.ref_id.is_empty() {
        return;
    }
    let known = agents.iter_mut().find(|known| {
        let is_session = !new.session.is_empty() && known.session == new.session;
        let has_run = |run: &Run| known.runs.iter().any(|other| other.id == run.id);
        is_session || new.runs.iter().any(has_run)
    });
    let Some(known) = known else {
        return agents.push(new);
    };
    for (mine, theirs) in [
        (&mut known.session, new.session),
        (&mut known.title, new.title),
        (&mut known.adapter, new.adapter),
        (&mut known.surface_kind, new.surface_kind),
        (&mut known.ref_kind, new.ref_kind),
        (&mut known.ref_id, new.ref_id),
    ] {
        if mine.is_empty() {
            *mine = theirs;
        }
    }
    known.at_ms = known.at_ms.max(new.at_ms);
    for run in new.runs {
        if !known.runs.iter().any(|other| other.id == run.id) {
            known.runs.push(run);
        }
    }
}

fn agent(row: &Map<String, Value>, session: Option<&Map<String, Value>>) -> Agent {
    let own = session.unwrap_or(row);
    let mut runs: Vec<Run> = Vec::new();
    let named = ["activeRun", "latestRun", "lastRun", "run"]
        .iter()
        .filter_map(|name| row.get(*name).or_else(|| own.get(*name)))
        .filter_map(Value::as_object);
    let listed = objects(row.get("runs").or_else(|| own.get("runs")));
    let flat = row.contains_key("runId").then_some(row);
    for run in named.chain(listed).chain(flat) {
        let run = Run {
            id: word(run, "runId").to_owned(),
            status: first(run, &["status", "terminalStatus", "state"]).to_owned(),
            prompt: prompt(run).to_owned(),
            at_ms: happened(run),
        };
        if !run.id.is_empty() && !runs.iter().any(|known| known.id == run.id) {
            runs.push(run);
        }
    }
    let text = |keys: &[&str]| match first(own, keys) {
        "" => first(row, keys).to_owned(),
        text => text.to_owned(),
    };
    let title = match text(&["title", "displayName", "name", "objective"]) {
        title if title.trim().is_empty() => runs
            .iter()
            .map(|run| run.prompt.trim())
            .find(|prompt| !prompt.is_empty())
            .unwrap_or_default()
            .to_owned(),
        title => title,
    };
    let surface = own.get("surface").and_then(Value::as_object).unwrap_or(own);
    let task = text(&["taskId"]);
    let at = |key: &str, of_task: &str| match word(surface, key) {
        "" if !task.is_empty() => of_task.to_owned(),
        at => at.to_owned(),
    };
    Agent {
        session: text(&["sessionId", "agentSessionId"]),
        title,
        status: text(&["status", "state"]),
        adapter: text(&["defaultAdapterId", "adapterId", "provider"]),
        surface_kind: at("surfaceKind", "task_chat"),
        ref_kind: at("externalRefKind", "task"),
        ref_id: at("externalRefId", &task),
        at_ms: happened(own)
            .into_iter()
            .chain(runs.iter().filter_map(|run| run.at_ms))
            .max(),
        runs,
    }
}

/// What a run was asked, wherever it says so.
pub(super) fn prompt(run: &Map<String, Value>) -> &str {
    let input = run.get("input").and_then(Value::as_object);
    match input.map_or("", |input| first(input, &["prompt", "objective"])) {
        "" => first(run, &["prompt", "objective", "query", "title"]),
        prompt => prompt,
    }
}

fn happened(fields: &Map<String, Value>) -> Option<i64> {
    let last = [
        "lastActivityAtMs",
        "lastActivityAt",
        "updatedAtMs",
        "updatedAt",
        "completedAtMs",
        "completedAt",
    ];
    time(fields, &last).or_else(|| {
        time(
            fields,
            &["startedAtMs", "startedAt", "createdAtMs", "createdAt"],
        )
    })
}

/// The first of these times that is there, in wall milliseconds.
pub(super) fn time(fields: &Map<String, Value>, keys: &[&str]) -> Option<i64> {
    let ms = keys.iter().find_map(|key| number(fields, key))?;
    i64::try_from(ms).ok().filter(|ms| *ms > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_may_hold_its_session_or_be_it() {
        let nested = json!({"sessions": [{
            "session": {"sessionId": "s1", "title": "Links", "status": "open", "updatedAtMs": 50,
                "surfaceKind": "task_chat", "externalRefKind": "task", "externalRefId": "c1"},
            "latestRun": {"runId": "r1", "status": "succeeded", "completedAtMs": 60},
            "activeRun": {"runId": "r2", "status": "running"},
        }]});
        let of = listed(&nested, 200);
        assert_eq!(of.agents.len(), 1);
        assert_eq!(of.agents[0].ref_id, "c1");
        assert_eq!(of.agents[0].at_ms, Some(60));
        assert_eq!(of.oldest, Some(50));
        let runs: Vec<_> = of.agents[0]
            .runs
            .iter()
            .map(|run| (run.id.as_str(), run.is_going()))
            .collect();
        assert_eq!(runs, [("r2", true), ("r1", false)]);

        let flat =
            json!([{"sessionId": "s1", "runId": "r1", "objective": "look", "status": "failed"}]);
        let of = listed(&flat, 200);
        assert_eq!(of.agents[0].title, "look");
        assert!(!of.agents[0].runs[0].is_going());
    }

    #[test]
    fn lists_of_one_answer_are_joined_and_say_when_they_are_cut() {
        let value = json!({"snapshot": {
            "sessions": [{"session": {"sessionId": "s1"}, "latestRun": {"runId": "r1",
                "input": {"prompt": "check"}}}, {"truncatedItemCount": 3}],
            "task_agents": [{"sessionId": "s1", "runId": "r1", "title": "Check", "status": "running"}],
            "runs": [{"runId": "r9", "sessionId": "s2", "status": "queued"}],
        }});
        let of = listed(&value, 200);
        assert!(of.is_cut);
        let of: Vec<_> = of
            .agents
            .iter()
            .map(|agent| (agent.title.as_str(), agent.runs.len()))
            .collect();
        assert_eq!(of, [("check", 1), ("", 1)]);
    }
}
