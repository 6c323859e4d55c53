//! What happens in a conversation: messages, pages, snapshots, typing, todos. Merging itself is in
//! `timeline` and `pages`; this file decides what is written, shown and proven.
//!
//! An event may be reported twice, late, or for a conversation that nobody has open; each is
//! applied in a way that makes that harmless.

use super::effect::Effect;
use super::state::{Conversation, Redraw, State, Waiting};
use super::timeline::{Changes, Merger, Own};
use super::{attention, decisions, media, outbox, pages, runs, windows};
use crate::domain::{
    AccountId, Author, CommandId, ConversationId, Delivery, Entry, HistoryPage, IncomingMessage,
    Lookup, MessageKey, MessageSort, Moment, Part, Place, Provenance, RemoteId, Snapshot,
    TextPatch, TimelineEvent, Write,
};
use std::time::Duration;

pub use super::windows::{focus, jump, load_older, mark_read};

/// How often a growing text is written to the store.
pub(super) const SAVE_EVERY: Duration = Duration::from_secs(1);
/// A typing mark without a word goes out by itself.
const TYPING: Duration = Duration::from_secs(5);

/// The conversation, made when the directory has not named it yet.
pub fn ensure(state: &mut State, account: &AccountId, id: &ConversationId) {
    let is_loading = state.is_loading;
    let Some(of) = state.account_mut(account) else {
        return;
    };
    if of.conversations.contains_key(id) {
        return;
    }
    let mut conversation = Conversation::default();
    // All stored conversations are known after the start, so a new one has nothing in the store.
    conversation.timeline.is_loaded = !is_loading;
    let info = Box::new(conversation.info.clone());
    of.conversations.insert(id.clone(), conversation);
    state.write(Write::Conversation {
        account: account.clone(),
        conversation: id.clone(),
        info,
    });
}

/// Merges into the timeline of a conversation, then writes and shows what changed.
pub(super) fn merging<R>(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    work: impl FnOnce(&mut Merger<'_>) -> R,
) -> Option<R> {
    let State { accounts, ids, .. } = state;
    let of = accounts.iter_mut().find(|of| of.account.id == *account)?;
    let own = Own::of(of.outbox.iter().filter(|row| row.conversation == *id));
    let conversation = of.conversations.get_mut(id)?;
    let mut merger = Merger {
        timeline: &mut conversation.timeline,
        ids,
        now,
        own,
        changes: Changes::default(),
    };
    let result = work(&mut merger);
    let changes = merger.changes;
    apply(state, now, account, id, changes);
    Some(result)
}

/// Writes and shows what a merge changed.
fn apply(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    changes: Changes,
) {
    let is_shown = state.shows(account, id);
    let is_growth_only = changes.written.is_empty() && changes.gone.is_empty();
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    let mut writes = Vec::new();
    if !changes.gone.is_empty() {
        if changes
            .gone
            .iter()
            .any(|key| of.viewport.selected == Some(*key))
        {
            of.viewport.selected = None;
        }
        of.toggled.retain(|key| !changes.gone.contains(key));
        writes.push(Write::EntriesGone {
            account: account.clone(),
            conversation: id.clone(),
            keys: changes.gone,
        });
    }
    let timeline = &mut of.timeline;
    let mut written = changes.written;
    for key in changes.grown {
        let since = *timeline.unsaved.entry(key).or_insert(now);
        if now.since(since) >= SAVE_EVERY {
            written.insert(key);
        }
    }
    for key in written {
        timeline.unsaved.remove(&key);
        if let Some(entry) = timeline.entry(key) {
            writes.push(Write::Entry {
                account: account.clone(),
                conversation: id.clone(),
                entry: Box::new(entry.clone()),
            });
        }
    }
    let orders: Vec<(MessageKey, i64)> = changes
        .moved
        .iter()
        .filter_map(|key| Some((*key, timeline.entry(*key)?.order)))
        .collect();
    if !orders.is_empty() {
        writes.push(Write::Orders {
            account: account.clone(),
            conversation: id.clone(),
            orders,
        });
    }
    timeline.prune_tail();
    if of.viewport.anchor != super::screen::viewport::Anchor::Newest {
        of.viewport.new_below += changes.appended;
    }
    for write in writes {
        state.write(write);
    }
    for key in changes.proven {
        outbox::proven(state, account, key);
    }
    if changes.is_visible {
        if !is_growth_only {
            state.redraw_for(account, id);
        } else if is_shown {
            state.redraw(Redraw::Paced);
        }
    }
    windows::shorten_focused(state, account, id);
}

/// Writes the growing texts whose time has come.
pub fn save_grown(state: &mut State, now: Moment, all: bool) {
    let is_due = |since: &Moment| all || now.since(*since) >= SAVE_EVERY;
    let due = super::drafts::conversations(state, |conversation| {
        conversation.timeline.unsaved.values().any(is_due)
    });
    for (account, id) in due {
        merging(state, now, &account, &id, |merger| {
            let keys: Vec<MessageKey> = merger
                .timeline
                .unsaved
                .iter()
                .filter(|(_, since)| is_due(since))
                .map(|(key, _)| *key)
                .collect();
            merger.changes.written.extend(keys);
        });
    }
}

/// Takes one event of the timeline.
pub fn on_event(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    provenance: &Provenance,
    event: TimelineEvent,
) -> Vec<Effect> {
    match event {
        TimelineEvent::Upserted {
            conversation,
            message,
        } => upserted(state, now, account, &conversation, provenance, *message),
        TimelineEvent::Patched {
            conversation,
            remote,
            run,
            part,
            patch,
        } => {
            ensure(state, account, &conversation);
            let has_text = match &patch {
                TextPatch::Replace(text) | TextPatch::Append(text) => {
                    part == Part::Body && !text.trim().is_empty()
                }
            };
            merging(state, now, account, &conversation, |merger| {
                merger.patch(&remote, run, part, patch)
            });
            runs::seen(state, now, account, &conversation, has_text);
            Vec::new()
        }
        TimelineEvent::Ended {
            conversation,
            remote,
            text,
            reasoning,
            footer,
            sent_at_ms,
            is_interrupted,
        } => {
            ensure(state, account, &conversation);
            let key = merging(state, now, account, &conversation, |merger| {
                merger.end(&remote, text, reasoning, footer, sent_at_ms, is_interrupted)
            })
            .flatten();
            if let Some(key) = key {
                attention::message_ended(state, account, &conversation, key, provenance);
            }
            runs::seen(state, now, account, &conversation, key.is_some());
            if state.shows(account, &conversation) {
                state.redraw(Redraw::Now);
            }
            Vec::new()
        }
        TimelineEvent::Rekeyed {
            conversation,
            from,
            to,
        } => {
            merging(state, now, account, &conversation, |merger| {
                merger.rekey(&from, &to);
            });
            state.write(Write::Rekeyed {
                account: account.clone(),
                conversation,
                from,
                to,
            });
            Vec::new()
        }
        TimelineEvent::Deleted {
            conversation,
            remotes,
        } => {
            deleted(state, now, account, &conversation, remotes);
            Vec::new()
        }
        TimelineEvent::Page(page) => {
            ensure(state, account, &page.conversation);
            learn_files(state, account, &page.conversation, &page.messages);
            merge_page(state, now, account, *page)
        }
        TimelineEvent::Snapshot(snapshot) => snapshot_came(state, now, account, *snapshot),
        TimelineEvent::Acknowledged {
            conversation,
            command,
            remote,
        } => {
            acknowledged(state, now, account, &conversation, command, remote);
            Vec::new()
        }
        TimelineEvent::WasRead {
            conversation,
            remote,
            command,
        } => {
            was_read(state, now, account, &conversation, remote, command);
            Vec::new()
        }
        TimelineEvent::Cleared { conversation } => {
            cleared(state, now, account, &conversation);
            Vec::new()
        }
        TimelineEvent::TodosReplaced {
            conversation,
            todos,
        } => {
            ensure(state, account, &conversation);
            if let Some(of) = state.conversation_mut(account, &conversation)
                && of.todos != todos
            {
                of.todos = todos;
                state.redraw_for(account, &conversation);
            }
            Vec::new()
        }
        TimelineEvent::Typing { conversation, on } => {
            ensure(state, account, &conversation);
            if let Some(of) = state.conversation_mut(account, &conversation) {
                let was_on = of.typing_until.is_some();
                of.typing_until = on.then(|| now.after(TYPING));
                if was_on != on {
                    state.redraw(Redraw::Paced);
                }
            }
            Vec::new()
        }
    }
}

fn upserted(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    provenance: &Provenance,
    message: IncomingMessage,
) -> Vec<Effect> {
    ensure(state, account, id);
    learn_files(state, account, id, std::slice::from_ref(&message));
    let is_replayed = matches!(provenance, Provenance::Replayed { .. });
    let is_answer = message.author == Author::Assistant && message.sort != MessageSort::Notice;
    let is_streaming = message.is_streaming;
    let has_text =
        is_answer && (!message.text.trim().is_empty() || !message.attachments.is_empty());
    let is_history =
        matches!(provenance, Provenance::History | Provenance::Snapshot) && !is_streaming;
    let key = merging(state, now, account, id, |merger| {
        if is_replayed && must_stand_aside(merger, &message) {
            stand_aside(merger, message)
        } else {
            let key = merger.upsert(message, is_replayed)?;
            if is_history
                && let Some(slot) = merger.timeline.find_key(key)
                && let Some(message) = merger.timeline.at_mut(slot).and_then(Entry::message_mut)
            {
                message.is_seen_live_only = false;
            }
            Some(key)
        }
    })
    .flatten();
    write_aside(state, account, id);
    if let Some(key) = key
        && !is_streaming
    {
        attention::message_ended(state, account, id, key, provenance);
    }
    if is_answer && *provenance == Provenance::Live {
        runs::seen(state, now, account, id, has_text);
    }
    Vec::new()
}

/// Whether only the store can tell that a missed message is new: it is not here, and the window
/// does not hold everything.
fn must_stand_aside(merger: &Merger<'_>, message: &IncomingMessage) -> bool {
    let holds_all = merger.timeline.is_at_newest() && !merger.timeline.has_older;
    let is_known = message
        .remote
        .as_ref()
        .is_none_or(|remote| merger.timeline.find_remote(remote).is_some());
    !holds_all && !is_known && message.author != Author::User
}

/// Has a message written without being shown.
fn stand_aside(merger: &mut Merger<'_>, message: IncomingMessage) -> Option<MessageKey> {
    let from = merger.timeline.newest_order;
    let mut entry = merger.make(message, false);
    let order = merger.next_order();
    super::timeline::set_order(&mut entry, order);
    merger.timeline.aside_from.get_or_insert(from);
    merger.timeline.aside.push(entry);
    None
}

fn write_aside(state: &mut State, account: &AccountId, id: &ConversationId) {
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    for entry in std::mem::take(&mut of.timeline.aside) {
        state.write(Write::Entry {
            account: account.clone(),
            conversation: id.clone(),
            entry: Box::new(entry),
        });
    }
}

fn learn_files(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    messages: &[IncomingMessage],
) {
    for attachment in messages.iter().flat_map(|message| &message.attachments) {
        media::learn(state, account, id, attachment.clone());
    }
}

fn deleted(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    remotes: Vec<RemoteId>,
) {
    merging(state, now, account, id, |merger| {
        for remote in &remotes {
            if let Some(slot) = merger.timeline.find_remote(remote) {
                merger.remove(slot);
            }
            merger.timeline.bury(remote);
        }
    });
    state.write(Write::MessagesDeleted {
        account: account.clone(),
        conversation: id.clone(),
        remotes,
    });
}

/// Merges a page of history, or lets it wait for the window.
pub(super) fn merge_page(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    page: HistoryPage,
) -> Vec<Effect> {
    let id = page.conversation.clone();
    let Some(of) = state.conversation_mut(account, &id) else {
        return Vec::new();
    };
    if windows::must_wait(&of.timeline, &page) {
        return wait(state, account, &id, Waiting::Page(Box::new(page)));
    }
    if page.before.is_some() {
        of.timeline.is_loading_older = false;
    }
    let token_before = of.timeline.older_token.clone();
    let fit = merging(state, now, account, &id, |merger| {
        windows::fit(merger, &page)
    });
    if fit == Some(pages::PageFit::WantsOlder) {
        return wait(state, account, &id, Waiting::Page(Box::new(page)));
    }
    after_page(state, account, &id, token_before)
}

/// Lets a report wait until the window reaches as far as it has to.
fn wait(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    waiting: Waiting,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    let timeline = &mut of.timeline;
    // The newest word on the newest page is enough.
    let is_newest_page = |waiting: &Waiting| match waiting {
        Waiting::Page(page) => page.before.is_none(),
        Waiting::Snapshot(_) => true,
    };
    if is_newest_page(&waiting) {
        timeline.waiting.retain(|other| !is_newest_page(other));
    }
    timeline.waiting.push(waiting);
    if !timeline.is_loaded {
        if timeline.is_loading_newer {
            return Vec::new();
        }
        timeline.is_loading_newer = true;
        return vec![Effect::Look(Lookup::Window {
            account: account.clone(),
            conversation: id.clone(),
            around: Place::Newest,
            before: 200,
            after: 0,
        })];
    }
    if timeline.has_newer {
        return Vec::new();
    }
    windows::grow_for_page(state, account, id)
}

fn after_page(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    token_before: Option<crate::domain::PageToken>,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    let token = of.timeline.older_token.clone();
    let jump = of.timeline.jump.clone();
    if token != token_before {
        state.write(Write::OlderToken {
            account: account.clone(),
            conversation: id.clone(),
            token,
        });
    }
    state.redraw_for(account, id);
    match jump {
        Some(place) => windows::go_on(state, account, id, &place),
        None => Vec::new(),
    }
}

/// Takes the server's whole word on a conversation. What does not concern messages counts at once.
fn snapshot_came(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    snapshot: Snapshot,
) -> Vec<Effect> {
    let id = snapshot.page.conversation.clone();
    ensure(state, account, &id);
    learn_files(state, account, &id, &snapshot.page.messages);
    for attachment in &snapshot.attachments {
        media::learn(state, account, &id, attachment.clone());
    }
    let mut effects = decisions::on_snapshot(
        state,
        now,
        account,
        &id,
        snapshot.decisions.clone(),
        snapshot.lost_runs,
    );
    effects.extend(merge_snapshot_page(state, now, account, snapshot));
    effects
}

/// Merges the messages, tools and files of a snapshot.
pub(super) fn merge_snapshot_page(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    snapshot: Snapshot,
) -> Vec<Effect> {
    let id = snapshot.page.conversation.clone();
    let Some(of) = state.conversation_mut(account, &id) else {
        return Vec::new();
    };
    if windows::must_wait(&of.timeline, &snapshot.page) {
        runs::on_snapshot(
            state,
            now,
            account,
            &id,
            snapshot.run.clone(),
            snapshot.lost_runs,
        );
        return wait(state, account, &id, Waiting::Snapshot(Box::new(snapshot)));
    }
    let token_before = of.timeline.older_token.clone();
    let fit = merging(state, now, account, &id, |merger| {
        windows::fit(merger, &snapshot.page)
    });
    if fit == Some(pages::PageFit::WantsOlder) {
        return wait(state, account, &id, Waiting::Snapshot(Box::new(snapshot)));
    }
    merging(state, now, account, &id, |merger| {
        merge_active(merger, &snapshot);
    });
    runs::on_snapshot(state, now, account, &id, snapshot.run, snapshot.lost_runs);
    media::on_snapshot(state, now, account, &id, &snapshot.attachments);
    let mut effects = after_page(state, account, &id, token_before);
    effects.extend(outbox::release(state, now, account, &id));
    effects
}

/// The growing answer and the tools, as the snapshot has them.
fn merge_active(merger: &mut Merger<'_>, snapshot: &Snapshot) {
    for tool in &snapshot.tools {
        merger.tool(tool.clone());
    }
    let draft = snapshot.draft.as_ref();
    let draft_remote = draft.and_then(|draft| draft.remote.clone());
    if let Some(draft) = draft {
        name_draft(merger, draft);
    }
    // What was growing and is not the draft is over: it was matched with history, or it was cut.
    let draft_key = draft_remote
        .as_ref()
        .and_then(|remote| merger.timeline.find_remote(remote))
        .and_then(|slot| merger.timeline.at(slot))
        .map(|entry| entry.key);
    let is_draft = |message: &crate::domain::Message| Some(message.key) == draft_key;
    let over: Vec<MessageKey> = merger
        .timeline
        .all()
        .filter_map(Entry::message)
        .filter(|message| message.is_streaming && !is_draft(message))
        .map(|message| message.key)
        .collect();
    for key in over {
        let Some(slot) = merger.timeline.find_key(key) else {
            continue;
        };
        let Some(message) = merger.timeline.at_mut(slot).and_then(Entry::message_mut) else {
            continue;
        };
        message.is_streaming = false;
        message.is_interrupted = true;
        // As it stands now only we saw it.
        message.is_seen_live_only = true;
        if super::timeline::is_hollow(message) {
            merger.remove(slot);
        } else {
            merger.changes.written.insert(key);
        }
    }
    if let Some(draft) = draft {
        if let Some(slot) = draft_remote
            .as_ref()
            .and_then(|remote| merger.timeline.find_remote(remote))
            && !merger
                .timeline
                .aliases
                .iter()
                .any(|(alias, _)| Some(alias) == draft_remote.as_ref())
            && let Some(message) = merger.timeline.at_mut(slot).and_then(Entry::message_mut)
        {
            // The server says that it still grows, whatever it looked like here.
            message.is_streaming = draft.is_streaming;
            message.is_interrupted = false;
        }
        merger.upsert(draft.clone(), false);
    }
    if snapshot.run.is_none() {
        merger.end_tools(None, crate::domain::ToolStatus::Cancelled);
    }
}

/// The text of the active run may be in history already: then it is that row, under another id.
fn name_draft(merger: &mut Merger<'_>, draft: &IncomingMessage) {
    let text = draft.text.trim();
    let Some(remote) = draft.remote.clone() else {
        return;
    };
    if text.is_empty() || merger.timeline.find_remote(&remote).is_some() {
        return;
    }
    let row = merger
        .timeline
        .entries
        .iter()
        .rev()
        .filter_map(Entry::message)
        .take_while(|message| message.author != Author::User)
        .find(|message| {
            message.author == Author::Assistant
                && !message.is_seen_live_only
                && message.body.raw().trim().starts_with(text)
        })
        .map(|message| message.key);
    if let Some(key) = row {
        merger.timeline.alias(remote, key);
    }
}

fn own_by_command(merger: &Merger<'_>, command: CommandId) -> Option<MessageKey> {
    merger
        .timeline
        .all()
        .rev()
        .filter_map(Entry::message)
        .find(|message| message.delivery.is_some() && message.command == Some(command))
        .map(|message| message.key)
}

fn acknowledged(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    command: CommandId,
    remote: Option<RemoteId>,
) {
    let by_pending = outbox::key_of(state, account, command);
    let key = merging(state, now, account, id, |merger| {
        let key = own_by_command(merger, command).or(by_pending)?;
        merger.timeline.find_key(key)?;
        if let Some(remote) = &remote
            && let Some(other) = merger.timeline.find_remote(remote)
            && merger
                .timeline
                .at(other)
                .is_some_and(|entry| entry.key != key)
        {
            // Its echo came before, unrecognised.
            merger.remove(other);
        }
        let slot = merger.timeline.find_key(key)?;
        let message = merger.timeline.at_mut(slot).and_then(Entry::message_mut)?;
        let before = message.clone();
        if remote.is_some() {
            message.remote = remote;
        }
        if message.delivery != Some(Delivery::Read) {
            message.delivery = Some(Delivery::Accepted);
        }
        if *message != before {
            merger.changes.written.insert(key);
            merger.changes.is_visible = true;
        }
        Some(key)
    })
    .flatten();
    if let Some(key) = key.or(by_pending) {
        outbox::proven(state, account, key);
    }
}

fn was_read(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    remote: Option<RemoteId>,
    command: Option<CommandId>,
) {
    let by_pending = command.and_then(|command| outbox::key_of(state, account, command));
    let key = merging(state, now, account, id, |merger| {
        let timeline = &*merger.timeline;
        let by_remote = remote
            .as_ref()
            .and_then(|remote| timeline.message(remote))
            .map(|message| message.key);
        // A receipt may come before the echo that names the message: then it is the oldest of ours
        // that has no id yet.
        let unnamed = || {
            timeline
                .all()
                .filter_map(Entry::message)
                .find(|message| {
                    message.remote.is_none()
                        && matches!(
                            message.delivery,
                            Some(Delivery::InFlight | Delivery::Accepted)
                        )
                })
                .map(|message| message.key)
        };
        let key = command
            .and_then(|command| own_by_command(merger, command))
            .or(by_pending)
            .or(by_remote)
            .or_else(|| remote.as_ref().and_then(|_| unnamed()))?;
        let slot = merger.timeline.find_key(key)?;
        let message = merger.timeline.at_mut(slot).and_then(Entry::message_mut)?;
        message.delivery.as_ref()?;
        if message.remote.is_none() {
            message.remote = remote;
        }
        if message.delivery != Some(Delivery::Read) {
            message.delivery = Some(Delivery::Read);
            merger.changes.written.insert(key);
            merger.changes.is_visible = true;
        }
        Some(key)
    })
    .flatten();
    if let Some(key) = key.or(by_pending) {
        outbox::proven(state, account, key);
    }
}

fn cleared(state: &mut State, now: Moment, account: &AccountId, id: &ConversationId) {
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    let timeline = &mut of.timeline;
    let kept: Vec<Entry> = timeline
        .entries
        .drain(..)
        .chain(timeline.tail.drain(..))
        .filter(|entry| {
            entry.message().is_some_and(|message| {
                matches!(
                    message.delivery,
                    Some(Delivery::InFlight | Delivery::Uncertain | Delivery::Failed(_))
                )
            })
        })
        .collect();
    timeline.has_older = false;
    timeline.has_newer = false;
    timeline.is_loaded = true;
    timeline.older_token = None;
    timeline.unsaved.clear();
    timeline.waiting.clear();
    timeline.jump = None;
    of.viewport = Default::default();
    of.todos.clear();
    of.running_tools.clear();
    of.unread_line = None;
    state.write(Write::Cleared {
        account: account.clone(),
        conversation: id.clone(),
    });
    state.write(Write::OlderToken {
        account: account.clone(),
        conversation: id.clone(),
        token: None,
    });
    merging(state, now, account, id, |merger| {
        for entry in kept {
            merger.changes.written.insert(entry.key);
            merger.timeline.entries.push(entry);
        }
        merger.changes.is_visible = true;
    });
}
