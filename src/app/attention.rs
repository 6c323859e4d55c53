//! What may ring. Only what happens now, or was not announced before, and only while the person
//! looks elsewhere. Whether a message is new is the store's word, because a window cannot know.

use super::effect::Effect;
use super::state::{Bell, Redraw, State};
use crate::domain::{
    AccountId, Author, Committed, ConversationId, Decision, MessageKey, MessageSort, Notice,
    NoticeKind, Provenance, Question, RunOutcome, Severity, TimelineEvent, Unread,
};
use crate::text::{SafeText, truncate};

/// Bells that wait for the store at most.
const BELLS: usize = 256;
/// Replayed messages that wait for the store at most, for each account.
const MISSED: usize = 4096;
/// Cells of a notification's words.
const WORDS: usize = 160;

/// Whether the person may be looking elsewhere.
fn is_away(state: &State, account: &AccountId, conversation: &ConversationId) -> bool {
    state.screen.is_focused == Some(false) || !state.shows(account, conversation)
}

fn is_muted(state: &State, account: &AccountId, conversation: &ConversationId) -> bool {
    state
        .conversation(account, conversation)
        .is_some_and(|conversation| conversation.settings.is_muted)
}

/// Rings for something in a conversation, unless the person sees it or does not want to hear it.
fn ring(
    state: &mut State,
    account: &AccountId,
    conversation: &ConversationId,
    words: &str,
) -> Vec<Effect> {
    if !is_away(state, account, conversation) || is_muted(state, account, conversation) {
        return Vec::new();
    }
    let name = state
        .conversation(account, conversation)
        .map(|of| of.info.name.as_str().to_owned())
        .unwrap_or_default();
    let label = state
        .account(account)
        .map(|of| of.account.label.as_str().to_owned())
        .unwrap_or_default();
    let title = if name.is_empty() {
        label
    } else {
        format!("{name} · {label}")
    };
    announce(state, account, &title, words)
}

fn announce(state: &State, account: &AccountId, title: &str, words: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    if state.settings.notify {
        let body = if state.settings.hide_content {
            SafeText::label("Something new")
        } else {
            SafeText::label(&truncate(&words.replace('\n', " "), WORDS))
        };
        effects.push(Effect::Notify {
            account: account.clone(),
            title: SafeText::label(title),
            body,
        });
    }
    if state.settings.bell {
        effects.push(Effect::Bell);
    }
    effects
}

/// A message is complete. It may ring when it came by itself: during a run its end rings.
pub(super) fn message_ended(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    key: MessageKey,
    provenance: &Provenance,
) {
    if *provenance != Provenance::Live {
        return;
    }
    let Some(of) = state.conversation(account, id) else {
        return;
    };
    if of.run.is_some() {
        return;
    }
    let Some(message) = of.timeline.entry(key).and_then(|entry| entry.message()) else {
        return;
    };
    let may_ring = matches!(message.author, Author::Assistant | Author::Automation)
        && message.sort == MessageSort::Ordinary
        && !message.is_streaming;
    let Some(remote) = message.remote.clone().filter(|_| may_ring) else {
        return;
    };
    let words = SafeText::label(message.body.text().as_str());
    let bell = bell(state, account, id, &remote);
    bell.words = Some(words);
}

fn bell<'a>(
    state: &'a mut State,
    account: &AccountId,
    conversation: &ConversationId,
    remote: &crate::domain::RemoteId,
) -> &'a mut Bell {
    let known = state.bells.iter().position(|bell| {
        bell.account == *account && bell.conversation == *conversation && bell.remote == *remote
    });
    let index = known.unwrap_or_else(|| {
        if state.bells.len() >= BELLS {
            state.bells.remove(0);
        }
        state.bells.push(Bell {
            account: account.clone(),
            conversation: conversation.clone(),
            remote: remote.clone(),
            words: None,
            is_new: false,
        });
        state.bells.len() - 1
    });
    &mut state.bells[index]
}

/// Takes the store's word on what was new.
pub fn on_committed(state: &mut State, committed: Committed) -> Vec<Effect> {
    let (account, id) = (committed.account, committed.conversation);
    let is_watched = !is_away(state, &account, &id);
    let is_blurred_here = state.shows(&account, &id) && state.screen.is_focused == Some(false);
    let mut moves = false;
    let Some(of) = state.conversation_mut(&account, &id) else {
        return Vec::new();
    };
    of.timeline.newest_order = of.timeline.newest_order.max(committed.newest_order);
    if committed.last_activity_ms > of.info.last_activity_ms.unwrap_or(0) {
        of.info.last_activity_ms = Some(committed.last_activity_ms);
        moves = true;
    }
    let is_at_newest = of.viewport.anchor == super::screen::viewport::Anchor::Newest;
    let unread = if is_watched && is_at_newest {
        Unread::None
    } else if committed.unread == Unread::None && of.unread == Unread::Some {
        // The store counts messages; what the server only hinted at it does not know.
        Unread::Some
    } else {
        committed.unread
    };
    if is_blurred_here && unread != Unread::None && of.unread_line.is_none() {
        of.unread_line = Some(of.read.order);
    }
    let is_changed = of.unread != unread;
    of.unread = unread;
    // What is being read is marked as read with the next frame.
    if is_changed || (moves && is_watched) {
        state.redraw(Redraw::Paced);
    }
    if let Some(of) = state.account_mut(&account) {
        for remote in &committed.new_messages {
            let name = (id.clone(), remote.clone());
            if of.missed.waiting.remove(&name).is_some() {
                of.missed.new += 1;
            }
        }
    }
    for remote in &committed.new_messages {
        bell(state, &account, &id, remote).is_new = true;
    }
    let mut effects = super::windows::look_aside(state, &account, &id);
    let (due, rest) = std::mem::take(&mut state.bells)
        .into_iter()
        .partition(|bell| bell.is_new && bell.words.is_some());
    state.bells = rest;
    let due: Vec<Bell> = due;
    for bell in due {
        let words = bell.words.unwrap_or_default();
        effects.extend(ring(
            state,
            &bell.account,
            &bell.conversation,
            words.as_str(),
        ));
    }
    effects
}

/// A run ended while we were connected.
pub(super) fn run_ended(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    outcome: &RunOutcome,
) -> Vec<Effect> {
    let answer = state.conversation(account, id).and_then(|of| {
        of.timeline
            .all()
            .rev()
            .take(40)
            .filter_map(|entry| entry.message())
            .find(|message| {
                message.author == Author::Assistant && message.sort == MessageSort::Ordinary
            })
            .map(|message| message.body.text().as_str().to_owned())
    });
    let words = match outcome {
        RunOutcome::Completed => answer.unwrap_or_else(|| "Done, without an answer".to_owned()),
        RunOutcome::Failed { error, .. } => format!("Failed: {error}"),
        RunOutcome::Lost => "The run was lost in a restart".to_owned(),
        // The person stopped it.
        RunOutcome::Cancelled => return Vec::new(),
    };
    ring(state, account, id, &words)
}

/// Something waits for the person.
pub(super) fn decision_opened(
    state: &mut State,
    account: &AccountId,
    decision: &Decision,
) -> Vec<Effect> {
    let words = match &decision.question {
        Question::Approval {
            command,
            description,
            ..
        } => format!("Approval: {description} {command}"),
        Question::Clarification { question, .. } => format!("Question: {question}"),
        Question::Picker { title } => format!("Choice: {title}"),
    };
    ring(state, account, &decision.conversation.clone(), &words)
}

/// The server wants something announced.
pub(super) fn announced(
    state: &mut State,
    account: &AccountId,
    provenance: &Provenance,
    notice: &Notice,
) -> Vec<Effect> {
    let may_ring = matches!(
        provenance,
        Provenance::Live
            | Provenance::Replayed {
                was_announced: false,
                ..
            }
    );
    if notice.kind != NoticeKind::Announcement || !may_ring {
        return Vec::new();
    }
    // What was missed rings together, once, when all of it is there.
    if *provenance != Provenance::Live {
        return Vec::new();
    }
    let words = if notice.body.is_empty() {
        notice.title.as_str().to_owned()
    } else {
        format!("{} {}", notice.title, notice.body)
    };
    match &notice.conversation {
        Some(conversation) => ring(state, account, conversation, &words),
        None => {
            let label = state
                .account(account)
                .map(|of| of.account.label.as_str().to_owned())
                .unwrap_or_default();
            announce(state, account, &label, &words)
        }
    }
}

/// Notes a message of a replay that was not announced yet. It is told with the others once the
/// store has said whether it is new.
pub(super) fn replayed(
    state: &mut State,
    account: &AccountId,
    provenance: &Provenance,
    event: &TimelineEvent,
) {
    let Provenance::Replayed {
        was_announced: false,
        ..
    } = provenance
    else {
        return;
    };
    let (conversation, remote) = match event {
        TimelineEvent::Upserted {
            conversation,
            message,
        } => (conversation, message.remote.as_ref()),
        TimelineEvent::Patched {
            conversation,
            remote,
            ..
        }
        | TimelineEvent::Ended {
            conversation,
            remote,
            ..
        } => (conversation, Some(remote)),
        _ => return,
    };
    let commit = state.commits.asked + 1;
    if let Some(remote) = remote
        && let Some(of) = state.account_mut(account)
        && of.missed.waiting.len() < MISSED
    {
        let name = (conversation.clone(), remote.clone());
        of.missed.waiting.insert(name, commit);
    }
}

/// The store answered the oldest commit. What it could not write comes with a later one.
pub(super) fn on_commit_answered(state: &mut State, is_written: bool) -> Vec<Effect> {
    let answered = (state.commits.answered + 1).min(state.commits.asked);
    state.commits.answered = answered;
    for of in &mut state.accounts {
        let missed = &mut of.missed;
        if is_written {
            missed.waiting.retain(|_, commit| *commit > answered);
        } else {
            let late = missed.waiting.values_mut().chain(&mut missed.told_after);
            for commit in late {
                *commit = (*commit).max(answered + 1);
            }
        }
    }
    tell_missed(state)
}

/// Everything that was missed while the link was down was replayed. It is told when it is written.
pub(super) fn caught_up(state: &mut State, account: &AccountId) -> Vec<Effect> {
    let commit = state.commits.asked + u64::from(!state.batch.writes.is_empty());
    if let Some(of) = state.account_mut(account) {
        of.missed.told_after = Some(commit);
    }
    tell_missed(state)
}

/// Tells once what a replay brought, when the store has had all of it.
fn tell_missed(state: &mut State) -> Vec<Effect> {
    let answered = state.commits.answered;
    let mut due = Vec::new();
    for of in &mut state.accounts {
        if of.missed.told_after.is_some_and(|after| after <= answered) {
            of.missed.told_after = None;
            let count = std::mem::take(&mut of.missed.new);
            if count > 0 {
                due.push((of.account.id.clone(), of.account.label.clone(), count));
            }
        }
    }
    let mut effects = Vec::new();
    for (account, label, count) in due {
        let words = format!("{count} new while away");
        state.say(Severity::Info, format!("{label}: {words}"));
        if state.screen.is_focused == Some(false) {
            effects.extend(announce(state, &account, label.as_str(), &words));
        }
    }
    effects
}

/// Unread messages and waiting decisions over all accounts, muted conversations left out.
pub fn counts(state: &State) -> (usize, usize) {
    let unread = state
        .accounts
        .iter()
        .flat_map(|of| of.conversations.values())
        .filter(|of| !of.settings.is_muted)
        .map(|of| match of.unread {
            Unread::None => 0,
            Unread::Some => 1,
            Unread::Count(count) => count as usize,
        })
        .sum();
    (super::decisions::waiting(state).len(), unread)
}

/// The title of the window.
pub fn title(state: &State) -> SafeText {
    let (waiting, unread) = counts(state);
    let mut title = String::new();
    if waiting > 0 {
        title.push_str(&format!("!{waiting} "));
    }
    if unread > 0 {
        title.push_str(&format!("({unread}) "));
    }
    if let Some((account, _, conversation)) = state.focused() {
        if !conversation.info.name.is_empty() {
            title.push_str(&format!("{} · ", conversation.info.name));
        }
        title.push_str(&format!("{} - ", account.account.label));
    }
    title.push_str("trialogue");
    SafeText::label(&title)
}
