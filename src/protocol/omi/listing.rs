//! Lists of agents from the runtime, asked page by page: an answer is kept short by the runtime, so
//! that one of them rarely holds all. What they are for: something to choose from, or finding
//! conversations that this program no longer knows.

use super::agents::{Agent, Run, listed, merge};
use super::documents::{first, objects, state};
use super::{Asked, Omi, control};
use crate::domain::{
    CommandId, CommandOutcome, ConversationId, Moment, RefusalCode, Reply, ServerChoice,
};
use crate::protocol::decode::short;
use crate::text::SafeText;
use serde_json::{Value, json};

const LIST: &str = "list_agent_sessions";
/// Sessions asked for at once; runtimes give no more.
const AT_ONCE: usize = 200;
/// Pages that are asked for one list.
const PAGES: usize = 25;
/// Rows of one list to choose from.
const ROWS: usize = 500;
/// Agents started here that are remembered.
const STARTED: usize = 50;

/// What a list of agents is for.
#[derive(Clone, Debug)]
pub(super) enum Aim {
    /// Conversations that this program no longer knows: its store may be a new one.
    Lost,
    /// Something to choose from for a function.
    Choose {
        command: CommandId,
        function: String,
    },
}

/// A list that is being asked for.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) aim: Aim,
    found: Vec<Agent>,
    pages: usize,
    before: Option<i64>,
}

impl Omi {
    /// Looks for conversations that this program no longer knows.
    pub(super) fn look_for_lost(&mut self, now: Moment) {
        self.ask_agents(now, Aim::Lost);
    }

    /// Asks for a list to choose from; where the runtime has none, for what was started here.
    pub(super) fn ask_agents(&mut self, now: Moment, aim: Aim) {
        let listing = Listing {
            aim,
            found: Vec::new(),
            pages: 0,
            before: None,
        };
        if self.session.control_tools.iter().any(|tool| tool == LIST) {
            self.ask_page(now, listing);
        } else {
            self.listed(listing);
        }
    }

    fn ask_page(&mut self, now: Moment, listing: Listing) {
        let mut input = json!({"limit": AT_ONCE});
        if matches!(listing.aim, Aim::Lost) {
            input["surfaceKind"] = json!("task_chat");
        }
        if let Some(before) = listing.before {
            input["beforeUpdatedAtMs"] = json!(before);
        }
        let line = json!({"type": "direct_control_tool", "name": LIST, "input": input});
        self.ask(now, line, Asked::Agents(Box::new(listing)));
    }

    pub(super) fn on_agents(&mut self, now: Moment, mut listing: Listing, value: &Value) {
        if value.get("ok").and_then(Value::as_bool) == Some(false) {
            return self.no_agents(listing, RefusalCode::ServerFailed, control::reason(value));
        }
        let page = listed(value, AT_ONCE);
        for agent in page.agents {
            merge(&mut listing.found, agent);
        }
        listing.pages += 1;
        let goes_on = page.is_cut
            && listing.pages < PAGES
            && page.oldest.is_some()
            && listing.before.is_none_or(|known| page.oldest < Some(known));
        if goes_on {
            listing.before = page.oldest;
            return self.ask_page(now, listing);
        }
        self.listed(listing);
    }

    /// A page was refused, or did not come: what came before it is a list too.
    pub(super) fn no_agents(&mut self, listing: Listing, code: RefusalCode, words: &str) {
        match listing.aim {
            Aim::Choose { command, .. } if listing.pages == 0 => self.refuse(command, code, words),
            _ => self.listed(listing),
        }
    }

    fn listed(&mut self, listing: Listing) {
        let mut found = listing.found;
        match listing.aim {
            Aim::Lost => self.adopt_found(&found),
            Aim::Choose { command, function } => {
                for started in self.session.started.clone() {
                    merge(&mut found, started);
                }
                self.offer(command, &function, &found);
            }
        }
    }

    fn adopt_found(&mut self, found: &[Agent]) {
        let unknown: Vec<(ConversationId, String)> = found
            .iter()
            .filter(|agent| agent.surface_kind == "task_chat")
            .filter(|agent| agent.ref_kind == "task" && !agent.ref_id.is_empty())
            .map(|agent| {
                let name = match agent.title.trim() {
                    "" => "Conversation",
                    name => name,
                };
                (ConversationId::from(agent.ref_id.as_str()), short(name))
            })
            .collect();
        for (id, name) in unknown {
            if self.chats.is_unknown(&id) {
                self.adopt(id, &name);
            }
        }
    }

    /// An agent that was started in the background is in the lists from now on.
    pub(super) fn note_started(&mut self, value: &Value, objective: &str) {
        let agents = match value.get("agents") {
            Some(_) => listed(value, AT_ONCE).agents,
            None => listed(&json!([value]), AT_ONCE).agents,
        };
        for mut agent in agents {
            if agent.title.trim().is_empty() {
                agent.title = objective.to_owned();
            }
            merge(&mut self.session.started, agent);
        }
        let surplus = self.session.started.len().saturating_sub(STARTED);
        self.session.started.drain(..surplus);
    }

    /// The list to choose from for a function.
    fn offer(&mut self, command: CommandId, function: &str, found: &[Agent]) {
        let (title, nothing) = match function {
            "get_agent_run" => ("Which run?", "No agent has run yet."),
            "cancel_agent_run" => ("Which run should stop?", "No agent works now."),
            "send_agent_message" => ("A follow-up to which agent?", "There is no agent yet."),
            _ => ("Sessions of the agent", "There are none yet."),
        };
        let mut rows: Vec<ServerChoice> = Vec::new();
        for agent in found {
            let name = self.name_of(agent);
            match function {
                "get_agent_run" | "cancel_agent_run" => {
                    let wanted = |run: &&Run| function == "get_agent_run" || run.is_going();
                    for run in agent.runs.iter().filter(wanted) {
                        let detail = match run.prompt.trim() {
                            prompt if prompt.is_empty() || name.ends_with(prompt) => {
                                state(&run.status).to_owned()
                            }
                            prompt => format!("{} · {prompt}", state(&run.status)),
                        };
                        rows.push(ServerChoice {
                            label: SafeText::label(&name),
                            detail: SafeText::label(&detail),
                            at_ms: run.at_ms.or(agent.at_ms),
                            function: function.to_owned(),
                            subject: Some(run.id.clone()),
                            argument_hint: "",
                        });
                    }
                }
                "send_agent_message" if !agent.session.is_empty() => rows.push(ServerChoice {
                    label: SafeText::label(&name),
                    detail: SafeText::label(&what_it_does(agent)),
                    at_ms: agent.at_ms,
                    function: function.to_owned(),
                    subject: Some(agent.session.clone()),
                    argument_hint: "the message",
                }),
                "send_agent_message" => {}
                _ => rows.push(self.session_row(agent, &name)),
            }
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.at_ms));
        rows.truncate(ROWS);
        // A runtime may leave old ones out; whoever has the id of one needs no list.
        if function == "get_agent_run" && !rows.is_empty() {
            rows.push(ServerChoice {
                label: "Another one, by its id".into(),
                function: function.to_owned(),
                argument_hint: "id of the run",
                ..ServerChoice::default()
            });
        }
        self.show_choices(command, title, nothing, rows);
    }

    /// A session in the list of all of them; its newest run is shown when it is chosen.
    fn session_row(&self, agent: &Agent, name: &str) -> ServerChoice {
        let shows = "get_agent_run";
        let run = agent
            .runs
            .first()
            .filter(|_| self.session.control_tools.iter().any(|tool| tool == shows));
        ServerChoice {
            label: SafeText::label(name),
            detail: SafeText::label(&what_it_does(agent)),
            at_ms: agent.at_ms,
            function: run.map(|_| shows.to_owned()).unwrap_or_default(),
            subject: run.map(|run| run.id.clone()),
            argument_hint: "",
        }
    }

    /// What the person calls an agent.
    fn name_of(&self, agent: &Agent) -> String {
        let chat = self
            .chats
            .all
            .get(&ConversationId::from(agent.ref_id.as_str()))
            .filter(|chat| chat.surface().1 == agent.ref_kind);
        match (chat, agent.title.trim()) {
            (Some(chat), _) if !chat.name().is_empty() => chat.name().to_owned(),
            (_, "") => "without a name".to_owned(),
            (_, title) => short(title),
        }
    }

    /// Tool outputs of a conversation that were kept as files.
    pub(super) fn offer_artifacts(&mut self, command: CommandId, value: &Value) {
        if value.get("ok").and_then(Value::as_bool) == Some(false) {
            return self.refuse(command, RefusalCode::ServerFailed, control::reason(value));
        }
        let rows = objects(value.get("artifacts"))
            .into_iter()
            .filter(|row| !first(row, &["artifactId"]).is_empty())
            .take(ROWS)
            .map(|row| ServerChoice {
                label: SafeText::label(first(row, &["displayName", "uri", "artifactId"])),
                detail: SafeText::label(first(row, &["role", "kind"])),
                at_ms: super::agents::time(row, &["createdAtMs"]),
                function: "read_tool_output".to_owned(),
                subject: Some(first(row, &["artifactId"]).to_owned()),
                argument_hint: "",
            })
            .collect();
        let nothing = "Nothing of this conversation was cut.";
        self.show_choices(command, "Which output?", nothing, rows);
    }

    pub(super) fn show_choices(
        &mut self,
        command: CommandId,
        title: &str,
        nothing: &str,
        rows: Vec<ServerChoice>,
    ) {
        if rows.is_empty() {
            return self.show_document(command, title, nothing);
        }
        let reply = Reply::Choices {
            title: SafeText::label(title),
            rows,
        };
        self.finish(command, CommandOutcome::Done(reply));
    }
}

fn what_it_does(agent: &Agent) -> String {
    let status = match agent.runs.first() {
        Some(run) => state(&run.status),
        None => state(&agent.status),
    };
    match (status, agent.adapter.as_str()) {
        ("", adapter) => adapter.to_owned(),
        (status, "") => status.to_owned(),
        (status, adapter) => format!("{status} · {adapter}"),
    }
}
