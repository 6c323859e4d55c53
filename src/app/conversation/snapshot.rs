//! Pages and snapshots: merged when the window is there, else kept until it is.

use super::super::effect::Effect;
use super::super::state::{State, Waiting};
use super::super::timeline::Merger;
use super::super::{decisions, media, outbox, pages, runs, windows};
use super::{ensure, learn_files, merging};
use crate::domain::{
    AccountId, Author, ConversationId, Entry, HistoryPage, IncomingMessage, Lookup, MessageKey,
    Moment, Place, Snapshot, Unread, Write,
};

/// Merges a page of history, or lets it wait for the window.
pub(in crate::app) fn merge_page(
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
    let is_first_look = page.before.is_none()
        && of.read.order == 0
        && of.read.at_ms == 0
        && of.unread == Unread::None;
    let fit = merging(state, now, account, &id, |merger| {
        windows::fit(merger, &page)
    });
    if is_first_look && fit.is_some() && fit != Some(pages::PageFit::WantsOlder) {
        // What was said before the first visit is not news, also when the person has left already.
        windows::mark_read(state, now, account, &id);
    }
    if fit == Some(pages::PageFit::WantsOlder) {
        return wait(state, account, &id, Waiting::Page(Box::new(page)));
    }
    let mut effects = after_page(state, account, &id, token_before);
    // It may prove the message that the next one waits for.
    effects.extend(outbox::release(state, now, account, &id));
    effects
}

/// Lets a report wait until the window reaches as far as it has to.
pub(in crate::app) fn wait(
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
        return windows::grow_to_newest(state, account, id);
    }
    windows::grow_for_page(state, account, id)
}

pub(in crate::app) fn after_page(
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
pub(in crate::app) fn snapshot_came(
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
pub(in crate::app) fn merge_snapshot_page(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    snapshot: Snapshot,
) -> Vec<Effect> {
    let id = snapshot.page.conversation.clone();
    let Some(of) = state.conversation_mut(account, &id) else {
        return Vec::new();
    };
    let token_before = of.timeline.older_token.clone();
    let waits = windows::must_wait(&of.timeline, &snapshot.page)
        || merging(state, now, account, &id, |merger| {
            windows::fit(merger, &snapshot.page)
        }) == Some(pages::PageFit::WantsOlder);
    if waits {
        // Which run is active does not wait for the page.
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
pub(in crate::app) fn merge_active(merger: &mut Merger<'_>, snapshot: &Snapshot) {
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
    // An active run without a text names no draft: what it was writing here may still grow.
    let writing = snapshot.run.as_ref().filter(|_| draft.is_none());
    let is_draft = |message: &crate::domain::Message| {
        Some(message.key) == draft_key
            || writing.is_some_and(|(run, _)| message.run.as_ref() == Some(run))
    };
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
        if super::super::timeline::is_hollow(message) {
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
pub(in crate::app) fn name_draft(merger: &mut Merger<'_>, draft: &IncomingMessage) {
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
