//! Commands to drivers: giving them out, and what becomes of their outcomes. Each pending command
//! says what it is for, so that its outcome finds the reducer that cares.

use super::effect::Effect;
use super::screen::overlay::Overlay;
use super::state::{Pending, State};
use super::{conversation, decisions, media, outbox, runs, windows};
use crate::domain::{
    AccountId, Command, CommandId, CommandOutcome, ConversationCommand, ConversationId,
    ModelCommand, Moment, RefusalCode, Reply, SearchHit, Severity,
};

/// Whether nothing may leave from here, because another screen writes to this profile. Everything that
/// the person wants to go out asks this first, before anything is changed for it, and what it was
/// stays as it is; the person is told why.
pub(super) fn is_held_back(state: &mut State) -> bool {
    if state.only_reads {
        let reason = state.read_only.clone().unwrap_or_default();
        state.say(
            Severity::Warning,
            format!(
                "Nothing leaves from this screen: {reason}. Answer and write there, or close that \
                 one and start this one again."
            ),
        );
    }
    state.only_reads
}

/// Whether a command only asks the server for something.
fn only_asks(command: &Command) -> bool {
    match command {
        Command::Conversation(command) => matches!(
            command,
            ConversationCommand::Refresh
                | ConversationCommand::Open { .. }
                | ConversationCommand::LoadOlder { .. }
        ),
        Command::Model(command) => matches!(command, ModelCommand::LoadCatalog { .. }),
        Command::Transfer(_) | Command::Search(_) | Command::LoadCatalog => true,
        Command::Chat(_) | Command::Answer { .. } | Command::Invoke { .. } => false,
    }
}

/// Gives a command to the driver of an account and remembers what it is for.
pub fn issue(
    state: &mut State,
    account: &AccountId,
    command: Command,
    pending: Pending,
) -> Vec<Effect> {
    if !only_asks(&command) && is_held_back(state) {
        return Vec::new();
    }
    let id = CommandId(state.ids.mint());
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    of.pending.insert(id, pending);
    vec![Effect::Command {
        account: account.clone(),
        id,
        command,
    }]
}

/// Takes the end of a command, or a stage of it.
pub fn on_outcome(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    command: CommandId,
    outcome: CommandOutcome,
) -> Vec<Effect> {
    let is_stage = matches!(outcome, CommandOutcome::Done(Reply::Uploaded { .. }));
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let pending = if is_stage {
        of.pending.get(&command).cloned()
    } else {
        of.pending.remove(&command)
    };
    // An outcome that nobody waits for was already dealt with.
    let Some(pending) = pending else {
        return Vec::new();
    };
    match pending {
        Pending::Send { conversation, key } => {
            outbox::on_outcome(state, now, account, &conversation, key, outcome)
        }
        Pending::Answer { decision } => {
            decisions::on_outcome(state, now, account, &decision, outcome)
        }
        Pending::Open { conversation } => opened(state, now, account, &conversation, outcome),
        Pending::Older { conversation } => {
            older_ended(state, account, &conversation, &outcome);
            Vec::new()
        }
        Pending::Fetch {
            attachment,
            transfer,
            ..
        } => media::on_outcome(state, account, &attachment, transfer, outcome),
        Pending::Create => created(state, now, account, outcome),
        Pending::Delete { .. } => {
            state.redraw(super::state::Redraw::Now);
            other(state, now, account, "The message was not deleted", outcome)
        }
        Pending::Stop { conversation } => stopped(state, now, account, &conversation, outcome),
        Pending::Told(start, done) => {
            if matches!(outcome, CommandOutcome::Done(Reply::Nothing)) {
                state.say(Severity::Done, done);
            }
            other(state, now, account, start, outcome)
        }
        Pending::Other(start) => other(state, now, account, start, outcome),
        Pending::Search => {
            searched(state, account, outcome);
            Vec::new()
        }
    }
}

fn opened(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    outcome: CommandOutcome,
) -> Vec<Effect> {
    let is_done = matches!(outcome, CommandOutcome::Done(_));
    if let Some(conversation) = state.conversation_mut(account, id) {
        conversation.is_open = is_done;
    }
    if let CommandOutcome::Refused(refusal) = &outcome
        && state.shows(account, id)
    {
        state.say(
            Severity::Warning,
            format!("Could not load this conversation: {}", refusal.text),
        );
    }
    if is_done {
        return outbox::release(state, now, account, id);
    }
    Vec::new()
}

fn older_ended(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    outcome: &CommandOutcome,
) {
    let is_shown = state.shows(account, id);
    let Some(conversation) = state.conversation_mut(account, id) else {
        return;
    };
    conversation.timeline.is_loading_older = false;
    if let CommandOutcome::Refused(refusal) = outcome {
        if refusal.code == RefusalCode::NotFound {
            // The server no longer knows where the page begins; asking again cannot help.
            conversation.timeline.older_token = None;
        }
        if is_shown {
            state.say(
                Severity::Warning,
                format!("Older messages could not be loaded: {}", refusal.text),
            );
        }
    }
}

fn created(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    outcome: CommandOutcome,
) -> Vec<Effect> {
    match outcome {
        CommandOutcome::Done(Reply::Created(id)) => {
            conversation::ensure(state, account, &id);
            windows::focus(state, now, account, &id)
        }
        CommandOutcome::Done(_) => Vec::new(),
        CommandOutcome::Refused(refusal) => {
            state.say(Severity::Error, format!("Not created: {}", refusal.text));
            Vec::new()
        }
        CommandOutcome::LinkLost => {
            state.say(
                Severity::Warning,
                "The connection broke before an answer came; the list will show whether it was created.",
            );
            Vec::new()
        }
        CommandOutcome::NotSent => {
            state.say(
                Severity::Warning,
                "Not created: the account is not connected.",
            );
            Vec::new()
        }
    }
}

/// Taken by the server, a stop ends with its run. Refused, it leaves a run that works on, or one that
/// the server does not know: then it is asked what there is.
fn stopped(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    outcome: CommandOutcome,
) -> Vec<Effect> {
    if matches!(outcome, CommandOutcome::Done(_)) {
        return Vec::new();
    }
    runs::not_stopped(state, account, id);
    let is_unknown = matches!(
        &outcome,
        CommandOutcome::Refused(refusal) if refusal.code == RefusalCode::NotFound
    );
    let mut effects = other(state, now, account, "The run was not stopped", outcome);
    if is_unknown {
        effects.extend(issue(
            state,
            account,
            Command::Conversation(ConversationCommand::Open {
                conversation: id.clone(),
            }),
            Pending::Open {
                conversation: id.clone(),
            },
        ));
    }
    effects
}

fn other(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    start: &'static str,
    outcome: CommandOutcome,
) -> Vec<Effect> {
    match outcome {
        CommandOutcome::Done(Reply::Document { title, body }) => {
            state.screen.overlays.push(Overlay::Document {
                title,
                body,
                scroll: 0,
            });
            state.redraw(super::state::Redraw::Now);
            Vec::new()
        }
        CommandOutcome::Done(Reply::Choices { title, rows }) => {
            state.screen.overlays.push(Overlay::Choices {
                account: account.clone(),
                title,
                rows,
                filter: Default::default(),
                list: Default::default(),
            });
            state.redraw(super::state::Redraw::Now);
            Vec::new()
        }
        CommandOutcome::Done(Reply::Created(_)) => created(state, now, account, outcome),
        CommandOutcome::Done(Reply::Hits(hits)) => {
            add_hits(state, account, hits);
            Vec::new()
        }
        CommandOutcome::Done(Reply::Nothing | Reply::Uploaded { .. }) => Vec::new(),
        CommandOutcome::Refused(refusal) => {
            let severity = if refusal.code == RefusalCode::Cancelled {
                Severity::Info
            } else {
                Severity::Error
            };
            state.say(severity, sentence(start, refusal.text.as_str()));
            Vec::new()
        }
        CommandOutcome::LinkLost => {
            state.say(
                Severity::Warning,
                sentence(start, "the connection broke before an answer came"),
            );
            Vec::new()
        }
        CommandOutcome::NotSent => {
            state.say(
                Severity::Warning,
                sentence(start, "the account is not connected"),
            );
            Vec::new()
        }
    }
}

fn sentence(start: &str, reason: &str) -> String {
    if start.is_empty() {
        reason.to_owned()
    } else {
        format!("{start}: {reason}")
    }
}

fn searched(state: &mut State, account: &AccountId, outcome: CommandOutcome) {
    match outcome {
        CommandOutcome::Done(Reply::Hits(hits)) => add_hits(state, account, hits),
        CommandOutcome::Refused(refusal) => state.say(
            Severity::Warning,
            format!("The server could not search: {}", refusal.text),
        ),
        CommandOutcome::Done(_) | CommandOutcome::LinkLost | CommandOutcome::NotSent => {}
    }
}

/// Adds what the server found to the open search popup; hits that are there already stay single.
fn add_hits(state: &mut State, account: &AccountId, hits: Vec<SearchHit>) {
    let popup = state
        .screen
        .overlays
        .iter_mut()
        .find_map(|overlay| match overlay {
            Overlay::Search(popup) => Some(popup),
            _ => None,
        });
    let Some(popup) = popup else { return };
    for hit in hits {
        let is_known = popup.hits.iter().any(|(a, known)| {
            a == account && known.conversation == hit.conversation && known.remote == hit.remote
        });
        if !is_known {
            popup.hits.push((account.clone(), hit));
        }
    }
    popup.is_running = false;
    state.redraw(super::state::Redraw::Now);
}
