//! What waits for the person in the queue of a runtime. The functions that list it give rows that
//! say little; one that is chosen is shown as a decision, with the whole of what is asked where the
//! runtime tells it, and answered with `resolve_desktop_dispatch`. It waits over restarts of the
//! runtime, for it is kept on its disk, so that it can be chosen again at any time.

mod request;

pub(super) use request::Dispatch;

use super::documents::{first, human, objects};
use super::{Asked, Omi, agents, control, word};
use crate::domain::{
    Answer, AnswerWay, CommandId, ConversationId, Decision, DecisionEvent, DecisionId,
    DecisionLife, Expiry, Moment, RefusalCode, RunId, ServerChoice, Severity, Topic,
};
use crate::protocol::decode::notice;
use crate::protocol::tools;
use crate::text::SafeText;
use request::CUT;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The control tool that answers.
pub(super) const RESOLVE: &str = "resolve_desktop_dispatch";
/// The one that tells the whole of what is asked.
const SNAPSHOT: &str = "build_desktop_awareness_snapshot";
/// Rows of one queue; runtimes give no more.
const ROWS: usize = 200;
/// Under which names the rows come, and what they may be wrapped in.
const LISTS: [&str; 7] = [
    "dispatches",
    "actionQueue",
    "queue",
    "items",
    "openLoops",
    "loops",
    "pendingDispatches",
];
const AROUND: [&str; 4] = ["openLoops", "snapshot", "result", "data"];

/// One that the person is asked.
#[derive(Debug)]
pub(super) struct Posed {
    of: Dispatch,
    /// The run that waits for it, where it came out of one.
    pub(super) run: Option<RunId>,
    pub(super) until: Option<Moment>,
}

/// The rows of an answer that lists what waits.
fn rows(value: &Value) -> Vec<&Map<String, Value>> {
    let inner = AROUND.iter().filter_map(|name| value.get(name));
    let mut rows = objects(Some(value));
    for body in std::iter::once(value).chain(inner) {
        for name in LISTS {
            rows.extend(objects(body.get(name)));
        }
    }
    rows.truncate(ROWS);
    rows
}

impl Omi {
    fn offers(&self, name: &str) -> bool {
        self.session.control_tools.iter().any(|tool| tool == name)
    }

    /// Shows a queue as rows to choose from; false when nothing of it can be answered here.
    pub(super) fn offer_queue(
        &mut self,
        now: Moment,
        command: CommandId,
        title: &str,
        value: &Value,
    ) -> bool {
        if !self.offers(RESOLVE) {
            return false;
        }
        let rows = rows(value);
        let waiting: Vec<Dispatch> = rows
            .iter()
            .filter_map(|row| Dispatch::of(row, now))
            .collect();
        if waiting.is_empty() {
            return false;
        }
        let shown = rows
            .iter()
            .map(|row| match Dispatch::of(row, now) {
                Some(of) => ServerChoice {
                    label: SafeText::label(named(&of.title)),
                    detail: what_it_wants(&of.kind).into(),
                    at_ms: of.at_ms,
                    function: RESOLVE.to_owned(),
                    subject: Some(of.id),
                    argument_hint: "",
                },
                None => self.other_row(row),
            })
            .collect();
        self.host.queue = waiting;
        self.show_choices(command, title, "", shown);
        true
    }

    /// Something in the queue that cannot be answered; its run can be looked at.
    fn other_row(&self, row: &Map<String, Value>) -> ServerChoice {
        let run = match word(row, "subjectKind") {
            "run" => word(row, "subjectId"),
            _ => first(row, &["sourceRunId", "runId"]),
        };
        let shows = "get_agent_run";
        let can_show = !run.is_empty() && self.offers(shows);
        let detail = match first(row, &["reason", "status"]) {
            "" => human(first(row, &["itemKind", "kind"])).to_lowercase(),
            detail => detail.to_owned(),
        };
        ServerChoice {
            label: SafeText::label(named(first(row, &["title", "displayName", "name"]))),
            detail: SafeText::label(&detail),
            at_ms: agents::time(row, &["createdAtMs", "lastActivityAtMs", "updatedAtMs"]),
            function: if can_show { shows } else { "" }.to_owned(),
            subject: can_show.then(|| run.to_owned()),
            argument_hint: "",
        }
    }

    /// One of them was chosen: its question is shown, after the whole of it was read where that can
    /// be had.
    pub(super) fn choose_dispatch(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: Option<&ConversationId>,
        id: &str,
    ) {
        if id.is_empty() {
            let words = "Choose it from the list of what waits for you.";
            return self.refuse(command, RefusalCode::BadRequest, words);
        }
        let asked = self.host.questions.get(&DecisionId::from(id)).cloned();
        if let Some(asked) = asked {
            return self.ask_again(command, conversation, asked);
        }
        let (id, conversation) = (id.to_owned(), conversation.cloned());
        if !self.offers(SNAPSHOT) {
            return self.ask_person(now, command, conversation, &id, &Value::Null);
        }
        let line = json!({
            "type": "direct_control_tool",
            "name": SNAPSHOT,
            "input": {"limit": ROWS},
        });
        let asked = Asked::Dispatch {
            command,
            conversation,
            id,
        };
        self.ask(now, line, asked);
    }

    /// A question that stands on the screen already is shown there.
    fn ask_again(
        &mut self,
        command: CommandId,
        conversation: Option<&ConversationId>,
        asked: Decision,
    ) {
        if conversation != Some(&asked.conversation) {
            let chat = self.chats.all.get(&asked.conversation);
            let name = chat.map_or("", |chat| chat.name());
            let words = format!("It is asked in **{}**; answer it there.", named(name));
            return self.show_document(command, "Asked already", &words);
        }
        self.say(Topic::Decision(DecisionEvent::Opened(Box::new(Decision {
            was_asked_for: true,
            ..asked
        }))));
        self.done(command);
    }

    /// Shows the question of a dispatch. What the snapshot does not tell is as the queue told it.
    pub(super) fn ask_person(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: Option<ConversationId>,
        id: &str,
        snapshot: &Value,
    ) {
        let queued = self.host.queue.iter().find(|of| of.id == id).cloned();
        let told: Vec<_> = rows(snapshot)
            .into_iter()
            .filter(|row| word(row, "dispatchId") == id)
            .collect();
        let whole = told.iter().find_map(|row| Dispatch::of(row, now));
        let is_over = !told.is_empty() && whole.is_none();
        let Some(mut of) = whole.or(queued.clone()).filter(|_| !is_over) else {
            return self.refuse(command, RefusalCode::NotFound, GONE);
        };
        if let Some(queued) = queued {
            of.at_ms = of.at_ms.or(queued.at_ms);
            for (mine, theirs) in [
                (&mut of.title, queued.title),
                (&mut of.kind, queued.kind),
                (&mut of.session, queued.session),
            ] {
                if mine.is_empty() {
                    *mine = theirs;
                }
            }
        }
        // It is asked where the person is.
        let place = conversation
            .or_else(|| self.of_session(&of.session))
            .or_else(|| self.newest_chat());
        let Some(conversation) = place else {
            let words = "Open a conversation first; it is asked there.";
            return self.refuse(command, RefusalCode::NotFound, words);
        };
        self.pose(now, of, conversation, None);
        self.done(command);
    }

    /// Puts a dispatch before the person: by itself out of a run, else because it was asked for.
    fn pose(
        &mut self,
        now: Moment,
        of: Dispatch,
        conversation: ConversationId,
        run: Option<RunId>,
    ) {
        let id = DecisionId::from(of.id.as_str());
        let left = of.expires_ms.map(|at| at.saturating_sub(now.wall_ms));
        let until = left
            .and_then(|ms| u64::try_from(ms).ok())
            .map(|ms| now.after(Duration::from_millis(ms)));
        self.say(Topic::Decision(DecisionEvent::Opened(Box::new(Decision {
            id: id.clone(),
            conversation,
            run: run.clone(),
            tool: None,
            question: of.question(),
            choices: of.choices(),
            way: AnswerWay::Direct,
            life: DecisionLife::Open,
            asked_at: now,
            deadline: until,
            was_asked_for: run.is_none(),
        }))));
        self.host.dispatches.insert(id, Posed { of, run, until });
    }

    /// A run of the newest runtimes waits for an approval: a dispatch that is told at once.
    pub(super) fn on_approval_requested(&mut self, now: Moment, line: &Map<String, Value>) {
        let mut row = line.clone();
        for (name, from) in [
            ("dispatchId", "approvalId"),
            ("sourceSessionId", "sessionId"),
        ] {
            let value = row.get(from).cloned().unwrap_or_default();
            row.insert(name.to_owned(), value);
        }
        let empty = Map::new();
        let preview = line.get("preview").and_then(Value::as_object);
        let preview = tools::readable(preview.unwrap_or(&empty));
        let subject = format!("{}\n{preview}", word(line, "toolName"));
        let payload = json!({
            "options": line.get("options"),
            "subject": subject.trim(),
            CUT: line.get(CUT),
        });
        row.insert("payload".to_owned(), payload);
        row.insert("kind".to_owned(), json!("approval"));
        let place = self.queries.place(line);
        let (Some(of), Some((conversation, run)), true) =
            (Dispatch::of(&row, now), place, self.offers(RESOLVE))
        else {
            // It stays in the queue, from where it can be answered if this runtime takes answers.
            return self.odd("an approval that cannot be asked here");
        };
        self.pose(now, of, conversation, Some(run));
    }

    /// It was answered elsewhere, or nobody waits for it any more.
    pub(super) fn on_approval_resolved(&mut self, line: &Map<String, Value>) {
        let decision = DecisionId::from(word(line, "approvalId"));
        // What became of our own answer comes on a line of its own.
        let is_ours = self
            .pending
            .any(|asked| matches!(asked, Asked::Settle { decision: of, .. } if *of == decision));
        if is_ours || self.forget_dispatch(&decision).is_none() {
            return;
        }
        let event = match word(line, "decision") {
            "allow" | "deny" => DecisionEvent::Resolved {
                choice: Some(match word(line, "decision") {
                    "allow" => "Allowed".into(),
                    _ => "Refused".into(),
                }),
                decision,
                command: None,
            },
            said => DecisionEvent::Expired {
                decision,
                why: match said {
                    "expired" => Expiry::TimedOut,
                    _ => Expiry::Gone,
                },
            },
        };
        self.say(Topic::Decision(event));
    }

    /// Answers a dispatch; false when this decision is none.
    pub(super) fn answer_dispatch(
        &mut self,
        now: Moment,
        command: CommandId,
        decision: &DecisionId,
        answer: &Answer,
    ) -> bool {
        let Some(Posed { of, .. }) = self.host.dispatches.get(decision) else {
            return false;
        };
        let line = json!({
            "type": "direct_control_tool",
            "name": RESOLVE,
            "input": of.input(now, answer),
        });
        let asked = Asked::Settle {
            command,
            decision: decision.clone(),
            answer: answer.clone(),
        };
        self.ask(now, line, asked);
        true
    }

    /// What became of an answer.
    pub(super) fn on_settled(
        &mut self,
        command: CommandId,
        decision: &DecisionId,
        answer: &Answer,
        result: &Value,
    ) {
        if result.get("ok").and_then(Value::as_bool) == Some(false) {
            let words = control::reason(result);
            let is_over = words.contains("not pending") || words.contains("has expired");
            if !is_over {
                return self.refuse(command, RefusalCode::ServerFailed, words);
            }
            self.forget_dispatch(decision);
            return self.refuse(command, RefusalCode::NotFound, GONE);
        }
        if let Some(of) = self.forget_dispatch(decision) {
            let words = of.done_words(answer, result);
            let event = notice(Severity::Done, None, &words, named(&of.title));
            self.tell(event);
        }
        self.done(command);
    }

    fn forget_dispatch(&mut self, decision: &DecisionId) -> Option<Dispatch> {
        self.host.queue.retain(|of| of.id != decision.as_str());
        self.host.dispatches.remove(decision).map(|posed| posed.of)
    }

    /// Those whose time is over are not answered any more.
    pub(super) fn expire_dispatches(&mut self, now: Moment) {
        let is_over = |until: &Option<Moment>| until.is_some_and(|at| at.mono_ms <= now.mono_ms);
        self.drop_dispatches(Expiry::TimedOut, is_over);
    }

    /// The process is gone. What waited still waits on its disk, and is in the list again.
    pub(super) fn cut_dispatches(&mut self) {
        self.host.queue.clear();
        self.drop_dispatches(Expiry::ServerRestarted, |_| true);
    }

    fn drop_dispatches(&mut self, why: Expiry, matches: impl Fn(&Option<Moment>) -> bool) {
        let gone: Vec<DecisionId> = self
            .host
            .dispatches
            .iter()
            .filter(|(_, posed)| matches(&posed.until))
            .map(|(id, _)| id.clone())
            .collect();
        for decision in gone {
            self.forget_dispatch(&decision);
            self.say(Topic::Decision(DecisionEvent::Expired { decision, why }));
        }
    }
}

const GONE: &str = "It no longer waits: it was answered elsewhere, or its time is over.";

fn named(title: &str) -> &str {
    match title.trim() {
        "" => "without a name",
        title => title,
    }
}

/// What a dispatch wants of the person.
fn what_it_wants(kind: &str) -> &'static str {
    match kind {
        "approval" => "asks for your approval",
        "routing_choice" => "asks where it belongs",
        "failure_recovery" => "asks how to go on after a failure",
        "artifact_review" => "asks you to look at a file",
        "memory_candidate" => "asks whether to remember this",
        "task_candidate" => "asks whether this is a task",
        "external_draft" => "asks you to look at a draft",
        "screen_context" => "asks to see the screen",
        _ => "waits for your answer",
    }
}
