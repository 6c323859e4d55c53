//! What can be done with the selected entry of the timeline, and folding.

use crate::app::media;
use crate::app::outbox;
use crate::app::screen::overlay::{Confirmed, List, Overlay};
use crate::app::screen::viewport::tool_group;
use crate::app::screen::{Pane, SidebarRow, choose, popups, rows, sidebar, source};
use crate::app::state::{MediaThen, State};
use crate::app::{Action, Effect, conversation};
use crate::domain::{
    AccountId, AttachmentId, AttachmentState, Delivery, Entry, EntryBody, MessageKey, Moment,
    RunOutcome, Severity, Write,
};
use crate::text::{SafeText, unmarked};

/// Cells by which cut lines of code are shifted at once.
const SHIFT: u16 = 20;
/// Farther they are not shifted.
const FARTHEST: u16 = 4_000;

/// Carries out an action.
pub(super) fn perform(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    use Action::*;
    match action {
        FoldAll => return fold_all(state),
        WrapCode => return wrap_code(state, !state.settings.wrap_code),
        ShiftCodeLeft => return shift_code(state, |shift| shift.saturating_sub(SHIFT)),
        ShiftCodeRight => {
            return shift_code(state, |shift| shift.saturating_add(SHIFT).min(FARTHEST));
        }
        ToggleFold if state.screen.pane == Pane::Sidebar => return fold_row(state),
        CopyEntry if state.screen.pane == Pane::Composer => {
            if let Some(text) = super::compose::selected(state) {
                return vec![Effect::Copy(text)];
            }
        }
        _ => {}
    }
    if action == CopyEntry && state.screen.selection.is_some() {
        return vec![Effect::CopySelection];
    }
    let Some((account, key)) = selected(state) else {
        return Vec::new();
    };
    match action {
        ToggleFold => toggle(state, now, key),
        CopyEntry => rows::entry(state, key)
            .map(text_of)
            .filter(|text| !text.is_empty())
            .map(|text| vec![Effect::Copy(text)])
            .unwrap_or_default(),
        CopyCode => copy_code(state, key),
        ReplyTo => reply(state, key),
        DeleteEntry => delete(state, now, &account, key),
        OpenEntry => open(state, now, &account, key),
        SaveEntry => save(state, now, &account, key),
        CancelTransfer => cancel_transfer(state, now, &account, key),
        EntryMenu => {
            popups::open(
                state,
                Overlay::EntryMenu {
                    key,
                    list: List::default(),
                },
            );
            Vec::new()
        }
        ResendEntry => outbox::resend(state, now, &account, key),
        _ => Vec::new(),
    }
}

/// The selected entry; without a selection the newest message.
fn selected(state: &State) -> Option<(AccountId, MessageKey)> {
    let (account, _, conversation) = state.focused()?;
    let key = conversation.viewport.selected.or_else(|| {
        conversation
            .timeline
            .entries
            .iter()
            .rev()
            .find(|entry| entry.message().is_some())
            .map(|entry| entry.key)
    })?;
    Some((account.account.id.clone(), key))
}

/// The text of an entry as it was written.
fn text_of(entry: &Entry) -> SafeText {
    match &entry.body {
        EntryBody::Message(message) => {
            if message.body.is_empty() {
                message.reasoning.text().clone()
            } else {
                message.body.text().clone()
            }
        }
        EntryBody::Tool(tool) => [&tool.output, &tool.error, &tool.arguments, &tool.preview]
            .into_iter()
            .find(|text| !text.is_empty())
            .cloned()
            .unwrap_or_default(),
        EntryBody::RunEnded { outcome, .. } => match outcome {
            RunOutcome::Failed { error, details, .. } if details.is_empty() => error.clone(),
            RunOutcome::Failed { error, details, .. } => {
                SafeText::prose(&format!("{error}\n\n{details}"))
            }
            _ => SafeText::default(),
        },
        EntryBody::Gap { .. } | EntryBody::Deleted { .. } => SafeText::default(),
    }
}

fn toggle(state: &mut State, now: Moment, key: MessageKey) -> Vec<Effect> {
    let Some((account, id)) = state.focus.clone() else {
        return Vec::new();
    };
    let Some(of) = state.conversation_mut(&account, &id) else {
        return Vec::new();
    };
    let index = of
        .timeline
        .entries
        .iter()
        .position(|entry| entry.key == key);
    if let Some(entry) = index.and_then(|at| of.timeline.entries.get(at))
        && matches!(entry.body, EntryBody::Gap { .. })
    {
        return conversation::load_older(state, now);
    }
    match of.toggled.iter().position(|other| *other == key) {
        Some(at) => {
            of.toggled.remove(at);
        }
        None => of.toggled.push(key),
    }
    // A folded group shows only its first call, so the selection goes there.
    if let Some(at) = index
        && let Some(group) = tool_group(&of.timeline.entries, at)
        && group.len() > 1
        && group.start != at
    {
        of.viewport.selected = Some(key);
    }
    of.viewport.reveal = Some(key);
    Vec::new()
}

fn wrap_code(state: &mut State, wrap: bool) -> Vec<Effect> {
    state.settings.wrap_code = wrap;
    vec![Effect::SaveSetting {
        key: "wrap_code",
        value: wrap.to_string(),
    }]
}

/// Shifts the cut lines of code in the conversation on screen. Lines that are wrapped are cut first.
fn shift_code(state: &mut State, shifted: impl Fn(u16) -> u16) -> Vec<Effect> {
    if state.settings.wrap_code {
        return wrap_code(state, false);
    }
    if let Some((account, id)) = state.focus.clone()
        && let Some(of) = state.conversation_mut(&account, &id)
    {
        of.viewport.code_shift = shifted(of.viewport.code_shift);
    }
    Vec::new()
}

fn fold_all(state: &mut State) -> Vec<Effect> {
    state.settings.unfold_all = !state.settings.unfold_all;
    for account in &mut state.accounts {
        for conversation in account.conversations.values_mut() {
            conversation.toggled.clear();
        }
    }
    vec![Effect::SaveSetting {
        key: "unfold_all",
        value: state.settings.unfold_all.to_string(),
    }]
}

/// Folds or unfolds the account or the archive under the cursor of the sidebar; on a conversation
/// its account.
pub(super) fn fold_row(state: &mut State) -> Vec<Effect> {
    let bar = &mut state.screen.sidebar;
    let (list, account) = match &bar.selected {
        Some(SidebarRow::Account(account)) => (&mut bar.folded, account.clone()),
        Some(SidebarRow::Archive(account)) => (&mut bar.archive_open, account.clone()),
        Some(SidebarRow::Conversation(account, _)) => {
            let account = account.clone();
            bar.selected = Some(SidebarRow::Account(account.clone()));
            (&mut bar.folded, account)
        }
        Some(SidebarRow::Attention) | None => return Vec::new(),
    };
    match list.iter().position(|other| *other == account) {
        Some(at) => {
            list.remove(at);
        }
        None => list.push(account),
    }
    let folded: Vec<&str> = bar.folded.iter().map(AccountId::as_str).collect();
    let value = folded.join("\n");
    state.write(Write::Ui {
        name: sidebar::FOLDED.to_owned(),
        value,
    });
    Vec::new()
}

fn copy_code(state: &mut State, key: MessageKey) -> Vec<Effect> {
    let blocks = rows::entry(state, key)
        .and_then(Entry::message)
        .map(|message| source::code_blocks(message.body.text().as_str()))
        .unwrap_or_default();
    match &blocks[..] {
        [] => {
            state.say(Severity::Warning, "There is no code block in this entry.");
            Vec::new()
        }
        [(_, body)] => vec![Effect::Copy(SafeText::prose(body))],
        _ => {
            popups::open(
                state,
                Overlay::CodeBlocks {
                    key,
                    list: List::default(),
                },
            );
            Vec::new()
        }
    }
}

/// Replies: by the message's id where the server knows replies, else by a quote in the draft.
fn reply(state: &mut State, key: MessageKey) -> Vec<Effect> {
    let Some(message) = rows::entry(state, key).and_then(Entry::message) else {
        state.say(Severity::Warning, "Only messages can be replied to.");
        return Vec::new();
    };
    let (remote, text) = (message.remote.clone(), message.body.text().to_string());
    let Some((account, id)) = state.focus.clone() else {
        return Vec::new();
    };
    let takes_reply = state
        .account(&account)
        .is_some_and(|of| of.account.capabilities.reply_to.is_yes());
    if let Some(of) = state.conversation_mut(&account, &id) {
        if of.info.is_automation {
            state.say(Severity::Warning, "This conversation is read-only.");
            return Vec::new();
        }
        match remote.filter(|_| takes_reply) {
            Some(remote) => of.composer.reply_to = Some(remote),
            None => {
                let quote: String = text
                    .lines()
                    .take(12)
                    .map(|line| format!("> {line}\n"))
                    .collect();
                let old = of.composer.text().to_owned();
                let new = format!("{quote}\n{old}");
                of.composer.put(&new, new.len());
            }
        }
        of.viewport.selected = None;
    }
    state.screen.pane = Pane::Composer;
    state.screen.is_normal = false;
    Vec::new()
}

fn delete(state: &mut State, now: Moment, account: &AccountId, key: MessageKey) -> Vec<Effect> {
    let Some(message) = rows::entry(state, key).and_then(Entry::message) else {
        state.say(Severity::Warning, "Only messages can be deleted.");
        return Vec::new();
    };
    if matches!(
        message.delivery,
        Some(Delivery::Failed(_) | Delivery::Queued | Delivery::Uncertain)
    ) && message.remote.is_none()
    {
        return outbox::discard(state, now, account, key);
    }
    if message.remote.is_none() {
        state.say(
            Severity::Warning,
            "The server has no name for this message, so it cannot be deleted there.",
        );
        return Vec::new();
    }
    let first = rows::one_line(&unmarked(message.body.text().as_str()));
    let Some((account, conversation)) = state.focus.clone() else {
        return Vec::new();
    };
    popups::confirm(
        state,
        "Delete this message?",
        first.as_str(),
        "Delete",
        Confirmed::DeleteMessage(account, conversation, key),
    );
    Vec::new()
}

fn attachments(state: &State, key: MessageKey) -> Vec<AttachmentId> {
    rows::entry(state, key)
        .and_then(Entry::message)
        .map(|message| message.attachments.clone())
        .unwrap_or_default()
}

fn open(state: &mut State, now: Moment, account: &AccountId, key: MessageKey) -> Vec<Effect> {
    let attachments = attachments(state, key);
    match &attachments[..] {
        [] => {}
        [only] => return media::fetch(state, now, account, only, MediaThen::Open),
        _ => return super::perform(state, now, Action::MediaList),
    }
    let links = rows::entry(state, key)
        .and_then(Entry::message)
        .map(|message| source::links(message.body.text().as_str()))
        .unwrap_or_default();
    match &links[..] {
        [] => toggle(state, now, key),
        [only] => {
            choose::ask_link(state, only.clone());
            Vec::new()
        }
        _ => {
            popups::open(
                state,
                Overlay::Links {
                    key,
                    list: List::default(),
                },
            );
            Vec::new()
        }
    }
}

fn save(state: &mut State, now: Moment, account: &AccountId, key: MessageKey) -> Vec<Effect> {
    let attachments = attachments(state, key);
    if attachments.is_empty() {
        state.say(Severity::Warning, "There is no file on this entry.");
    }
    attachments
        .iter()
        .flat_map(|id| media::save(state, now, account, id))
        .collect()
}

/// Whether a file of an entry is on its way here.
pub fn is_loading(state: &State, account: &AccountId, key: MessageKey) -> bool {
    let Some(of) = state.account(account) else {
        return false;
    };
    attachments(state, key).iter().any(|id| {
        of.attachments.get(id).is_some_and(|attachment| {
            matches!(
                attachment.state,
                AttachmentState::Queued { .. } | AttachmentState::Transferring { .. }
            )
        })
    })
}

fn cancel_transfer(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    key: MessageKey,
) -> Vec<Effect> {
    if !is_loading(state, account, key) {
        state.say(Severity::Info, "No file of this entry is being loaded.");
        return Vec::new();
    }
    attachments(state, key)
        .iter()
        .flat_map(|id| media::cancel(state, now, account, id))
        .collect()
}
