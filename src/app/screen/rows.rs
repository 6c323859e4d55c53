//! The rows of every popup that is a list: what they say, what matched, and what choosing one does.
//! The view draws exactly these rows and the keys walk over them.

mod hits;

use super::fuzzy;
use super::overlay::Overlay;
use super::{models, palette, source, switcher};
use crate::app::Action;
use crate::app::actions::is_loading;
use crate::app::keymap::Context;
use crate::app::state::{AccountState, State};
use crate::domain::{
    AccountId, AttachmentId, AttachmentState, ConversationId, DecisionId, Delivery, Entry,
    EntryBody, Grant, MessageKey, ModelChoice, Moment, Question, RunOutcome, SearchHit,
    ServerChoice,
};
use crate::text::{SafeText, size_words};

/// One row.
#[derive(Clone, PartialEq, Debug)]
pub struct ListRow {
    pub label: SafeText,
    /// Byte offsets in `label` of the clusters that the filter matched.
    pub matched: Vec<usize>,
    /// Beside the label, less loud.
    pub detail: SafeText,
    /// The keys that do the same.
    pub keys: SafeText,
    /// How long ago; the view says it in words.
    pub since: Option<Moment>,
    /// Wall milliseconds of what the row stands for.
    pub at_ms: Option<i64>,
    pub is_current: bool,
    /// It cannot be chosen; `detail` says why.
    pub is_refused: bool,
    pub then: Then,
}

/// What choosing a row does.
#[derive(Clone, PartialEq, Debug)]
pub enum Then {
    Nothing,
    Perform(Action),
    Decision(AccountId, DecisionId),
    Focus(AccountId, ConversationId),
    Hit(AccountId, Box<SearchHit>),
    Model(ModelChoice),
    /// A model that is not listed is asked for.
    ModelFreeText,
    /// An effort by name; none is the provider's default.
    Effort(String),
    Attachment(AccountId, AttachmentId),
    Queued(AccountId, MessageKey),
    Theme(String),
    Kind(usize),
    Demo,
    Input(String),
    /// A function of the server, and what may be typed as its argument.
    Function(AccountId, String, &'static str),
    /// A row of a list that the server gave.
    Choice(AccountId, Box<ServerChoice>),
    Code(MessageKey, usize),
    /// A link; it is shown whole and asked about before it is opened.
    Link(String),
    Adapter(String),
    /// A model for the profile of the conversation.
    ProfileModel(String),
    ProfileDirectory,
    /// Shows a text.
    Text(SafeText, SafeText),
}

impl ListRow {
    /// A row that says this and does that.
    pub fn new(label: SafeText, then: Then) -> Self {
        Self {
            label,
            matched: Vec::new(),
            detail: SafeText::default(),
            keys: SafeText::default(),
            since: None,
            at_ms: None,
            is_current: false,
            is_refused: false,
            then,
        }
    }

    /// The row of a text: its first line, and beside it how many follow, so that no narrow screen
    /// cuts that off.
    pub fn of_text(text: &str, then: Then) -> Self {
        let (first, more) = first_line(text);
        let row = Self::new(SafeText::label(first), then);
        match more {
            0 => row,
            more => row.with_detail(more_lines(more)),
        }
    }

    /// The row with something beside it, behind what is there.
    pub fn with_detail(mut self, detail: impl AsRef<str>) -> Self {
        let (before, detail) = (self.detail.as_str(), detail.as_ref());
        self.detail = match (before, detail) {
            ("", detail) => SafeText::label(detail),
            (_, "") => self.detail,
            (before, detail) => SafeText::label(&format!("{before} · {detail}")),
        };
        self
    }
}

/// Keeps the rows whose label fits the filter, best first, and notes what matched.
pub fn filtered(filter: &str, rows: Vec<ListRow>) -> Vec<ListRow> {
    let fits = fuzzy::rank(filter, rows.iter().map(|row| row.label.as_str()));
    chosen(fits, rows)
}

/// The rows that fit, in the order of the fits, with what matched.
pub(super) fn chosen(fits: Vec<fuzzy::Fit>, rows: Vec<ListRow>) -> Vec<ListRow> {
    let mut rows: Vec<Option<ListRow>> = rows.into_iter().map(Some).collect();
    fits.into_iter()
        .filter_map(|fit| {
            let mut row = rows.get_mut(fit.index)?.take()?;
            row.matched = fit.matched;
            Some(row)
        })
        .collect()
}

/// The rows of a popup; none for one that is no list.
pub fn rows(state: &State, overlay: &Overlay) -> Vec<ListRow> {
    match overlay {
        Overlay::Attention { .. } => attention(state),
        Overlay::Switcher { filter, .. } => switcher::rows(state, &filter.text),
        Overlay::Palette { filter, .. } => palette::rows(state, &filter.text),
        Overlay::Models {
            account,
            conversation,
            filter,
            ..
        } => models::models(state, account, conversation, &filter.text),
        Overlay::Effort {
            account,
            conversation,
            ..
        } => models::efforts(state, account, conversation),
        Overlay::Search(popup) => popup
            .hits
            .iter()
            .map(|(account, hit)| {
                let is_here = popup
                    .here
                    .as_ref()
                    .is_some_and(|(of, id)| of == account && *id == hit.conversation);
                hits::row(state, account, hit, &popup.query.text, !is_here)
            })
            .collect(),
        Overlay::Media {
            account,
            conversation,
            ..
        } => media(state, account, conversation),
        Overlay::Queue {
            account,
            conversation,
            ..
        } => queue(state, account, conversation),
        Overlay::EntryMenu { key, .. } => entry_menu(state, *key),
        Overlay::Inspector { filter, .. } => inspector(state, &filter.text),
        Overlay::Theme { .. } => state
            .themes
            .iter()
            .map(|name| ListRow {
                is_current: *name == state.settings.theme,
                ..ListRow::new(SafeText::label(name), Then::Theme(name.clone()))
            })
            .collect(),
        Overlay::Wizard(wizard) if wizard.kind.is_none() => state
            .kinds
            .iter()
            .enumerate()
            .map(|(at, kind)| {
                ListRow::new(kind.title.clone(), Then::Kind(at)).with_detail(&kind.hint)
            })
            .collect(),
        Overlay::Welcome { .. } => vec![
            ListRow::new("Add an account".into(), Then::Perform(Action::AddAccount)),
            ListRow::new("Try the demo".into(), Then::Demo)
                .with_detail("three accounts, no server needed"),
            ListRow::new("Quit".into(), Then::Perform(Action::Quit)),
        ],
        Overlay::Inputs { filter, texts, .. } => filtered(
            &filter.text,
            texts
                .iter()
                .map(|text| ListRow::of_text(text, Then::Input(text.clone())))
                .collect(),
        ),
        Overlay::Functions { account, .. } => state
            .account(account)
            .into_iter()
            .flat_map(|of| &of.account.capabilities.functions)
            .map(|function| {
                ListRow::new(
                    SafeText::from(function.title),
                    Then::Function(
                        account.clone(),
                        function.name.clone(),
                        function.argument_hint,
                    ),
                )
                .with_detail(function.argument_hint)
            })
            .collect(),
        Overlay::Choices {
            account,
            rows,
            filter,
            ..
        } => {
            let rows = rows.iter().map(|row| {
                let then = Then::Choice(account.clone(), Box::new(row.clone()));
                ListRow {
                    at_ms: row.at_ms,
                    is_refused: row.function.is_empty(),
                    ..ListRow::new(row.label.clone(), then).with_detail(&row.detail)
                }
            });
            filtered(&filter.text, rows.collect())
        }
        Overlay::CodeBlocks { key, .. } => code_rows(state, *key),
        Overlay::Links { key, .. } => entry(state, *key)
            .and_then(Entry::message)
            .map(|message| source::links(message.body.text().as_str()))
            .unwrap_or_default()
            .into_iter()
            .map(|link| ListRow::new(SafeText::label(&link), Then::Link(link)))
            .collect(),
        Overlay::Profile {
            account,
            conversation,
            ..
        } => models::profile(state, account, conversation),
        Overlay::Decision(_)
        | Overlay::Help { .. }
        | Overlay::Confirm(_)
        | Overlay::Prompt(_)
        | Overlay::Document { .. }
        | Overlay::Account { .. }
        | Overlay::Wizard(_) => Vec::new(),
    }
}

/// The first line with something in it, and how many such lines follow.
fn first_line(text: &str) -> (&str, usize) {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or("").trim();
    (first, lines.count())
}

/// "+2 lines".
pub fn more_lines(more: usize) -> String {
    format!("+{more} line{}", if more == 1 { "" } else { "s" })
}

/// The first line with something in it, cleaned and short enough for a sentence.
pub fn one_line(text: &str) -> SafeText {
    match first_line(text) {
        (first, 0) => SafeText::label(first),
        (first, more) => SafeText::label(&format!(
            "{}… {}",
            crate::text::lead(first, 200),
            more_lines(more)
        )),
    }
}

/// The name of a conversation, with its channel before a thread.
pub fn conversation_name(account: &AccountState, conversation: &ConversationId) -> String {
    let Some(of) = account.conversations.get(conversation) else {
        return "a conversation".to_owned();
    };
    let name = match of.info.name.as_str() {
        "" => "unnamed",
        name => name,
    };
    match of
        .info
        .parent
        .as_ref()
        .and_then(|parent| account.conversations.get(parent))
    {
        Some(parent) => format!("{} / {name}", parent.info.name),
        None => name.to_owned(),
    }
}

/// What a decision asks, in one line.
pub fn question_line(question: &Question) -> SafeText {
    one_line(question_text(question).as_str())
}

/// What a decision asks.
pub fn question_text(question: &Question) -> &SafeText {
    match question {
        Question::Approval {
            command,
            description,
            ..
        } if command.is_empty() => description,
        Question::Approval { command, .. } => command,
        Question::Clarification { question, .. } => question,
        Question::Picker { title } => title,
    }
}

fn attention(state: &State) -> Vec<ListRow> {
    let mut rows: Vec<(Moment, ListRow)> = Vec::new();
    for account in &state.accounts {
        for decision in account.decisions.iter().filter(|d| d.life.is_pending()) {
            let mut row = ListRow::of_text(
                question_text(&decision.question).as_str(),
                Then::Decision(account.account.id.clone(), decision.id.clone()),
            )
            .with_detail(format!(
                "{} · {}",
                conversation_name(account, &decision.conversation),
                account.account.label
            ));
            row.since = Some(decision.asked_at);
            rows.push((decision.asked_at, row));
        }
    }
    rows.sort_by_key(|(asked, _)| *asked);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn media(state: &State, account: &AccountId, conversation: &ConversationId) -> Vec<ListRow> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let Some(conversation) = of.conversations.get(conversation) else {
        return Vec::new();
    };
    let mut seen = Vec::new();
    let mut rows = Vec::new();
    // Newest first.
    for message in conversation
        .timeline
        .entries
        .iter()
        .rev()
        .filter_map(Entry::message)
    {
        for id in message.attachments.iter().rev() {
            let Some(attachment) = of.attachments.get(id) else {
                continue;
            };
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let standing = match &attachment.state {
                AttachmentState::Offered => "on the server",
                AttachmentState::Queued { .. } => "waits for its turn",
                AttachmentState::Transferring { .. } => "on its way",
                AttachmentState::Present { .. } => "here",
                AttachmentState::Gone => "gone",
                AttachmentState::Failed { .. } => "failed",
            };
            let size = attachment
                .size
                .map_or_else(String::new, |size| format!("{} · ", size_words(size)));
            let mut row = ListRow::new(
                attachment.name.clone(),
                Then::Attachment(account.clone(), id.clone()),
            )
            .with_detail(format!("{size}{standing}"));
            row.at_ms = message.sent_at_ms.or(Some(message.seen_at_ms));
            row.is_refused = attachment.state == AttachmentState::Gone;
            rows.push(row);
        }
    }
    rows
}

fn queue(state: &State, account: &AccountId, conversation: &ConversationId) -> Vec<ListRow> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    of.outbox
        .iter()
        .filter(|record| record.conversation == *conversation)
        .map(|record| {
            let standing = match &record.delivery {
                Delivery::Queued if record.instance != state.ids.instance => {
                    "another trialogue may still send it; after two minutes this one does"
                        .to_owned()
                }
                Delivery::Queued => "waits".to_owned(),
                Delivery::InFlight => "on its way".to_owned(),
                Delivery::Accepted | Delivery::Read => "sent".to_owned(),
                Delivery::Uncertain => "nobody knows whether it arrived".to_owned(),
                Delivery::Failed(refusal) => refusal.text.to_string(),
            };
            let standing = match record.files.len() {
                0 => standing,
                1 => format!("1 file · {standing}"),
                count => format!("{count} files · {standing}"),
            };
            let then = Then::Queued(account.clone(), record.key);
            let mut row = ListRow::of_text(&record.text, then).with_detail(standing);
            row.at_ms = Some(record.created_ms);
            row
        })
        .collect()
}

/// The entry of the conversation on screen with this key.
pub fn entry(state: &State, key: MessageKey) -> Option<&Entry> {
    let (_, _, conversation) = state.focused()?;
    conversation
        .timeline
        .entries
        .iter()
        .chain(&conversation.timeline.tail)
        .find(|entry| entry.key == key)
}

fn entry_menu(state: &State, key: MessageKey) -> Vec<ListRow> {
    use Action::*;
    let Some(entry) = entry(state, key) else {
        return Vec::new();
    };
    let mut actions = vec![CopyEntry];
    match &entry.body {
        EntryBody::Message(message) => {
            if !source::code_blocks(message.body.text().as_str()).is_empty() {
                actions.push(CopyCode);
            }
            actions.push(ReplyTo);
            if !message.attachments.is_empty() {
                actions.extend([OpenEntry, SaveEntry]);
                let account = state.focus.as_ref().map(|(account, _)| account);
                if account.is_some_and(|account| is_loading(state, account, key)) {
                    actions.push(CancelTransfer);
                }
            } else if !source::links(message.body.text().as_str()).is_empty() {
                actions.push(OpenEntry);
            }
            if matches!(
                message.delivery,
                Some(Delivery::Failed(_) | Delivery::Uncertain)
            ) {
                actions.push(ResendEntry);
            }
            actions.extend([ToggleFold, DeleteEntry]);
        }
        EntryBody::Tool(_) => actions.push(ToggleFold),
        EntryBody::RunEnded {
            outcome: RunOutcome::Failed { details, .. },
            ..
        } if !details.is_empty() => actions.push(ToggleFold),
        EntryBody::RunEnded { .. } | EntryBody::Gap { .. } | EntryBody::Deleted { .. } => {}
    }
    actions
        .into_iter()
        .map(|action| {
            let row = palette::action_row(state, action);
            // The key that is named below the timeline too.
            match state.keymap.hint(action, Context::Timeline) {
                Some(keys) => ListRow {
                    keys: SafeText::label(&keys),
                    ..row
                },
                None => row,
            }
        })
        .collect()
}

fn inspector(state: &State, filter: &str) -> Vec<ListRow> {
    let needle = filter.to_lowercase();
    // The frames of one account come in its order; those of several were handed over in turn.
    let mut lines: Vec<_> = state.screen.tapped.iter().rev().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.at.mono_ms));
    lines
        .into_iter()
        .filter(|line| {
            needle.is_empty()
                || line.frame.as_str().to_lowercase().contains(&needle)
                || line.account.as_str().to_lowercase().contains(&needle)
        })
        .map(|line| {
            let arrow = if line.outgoing { "→" } else { "←" };
            let title = format!("{arrow} {}", line.account.as_str());
            let mut row = ListRow::new(
                frame_line(line.frame.as_str()),
                Then::Text(SafeText::label(&title), line.frame.clone()),
            )
            .with_detail(&title);
            row.matched = hits::occurrences(row.label.as_str(), filter);
            row.at_ms = Some(line.at.wall_ms);
            row
        })
        .collect()
}

/// A frame in one line; what it is stands first where the frame begins with it.
fn frame_line(frame: &str) -> SafeText {
    const KIND: &str = "{\"type\":\"";
    match frame
        .strip_prefix(KIND)
        .and_then(|rest| rest.split_once('"'))
    {
        Some((kind, rest)) if !kind.contains('\\') => {
            // Its last brace closes the one that is left out here.
            let rest = rest.strip_prefix(',').unwrap_or(rest);
            let rest = rest.strip_suffix('}').unwrap_or(rest);
            one_line(&format!("{kind}  {rest}"))
        }
        _ => one_line(frame),
    }
}

fn code_rows(state: &State, key: MessageKey) -> Vec<ListRow> {
    let Some(message) = entry(state, key).and_then(Entry::message) else {
        return Vec::new();
    };
    source::code_blocks(message.body.text().as_str())
        .iter()
        .enumerate()
        .map(|(at, (language, body))| {
            let label = SafeText::label(first_line(body).0);
            ListRow::new(label, Then::Code(key, at)).with_detail(format!(
                "{language}{}{} lines",
                if language.is_empty() { "" } else { " · " },
                body.lines().count()
            ))
        })
        .collect()
}

/// What a choice grants, for the words beside it.
pub fn grant_words(grant: Grant) -> &'static str {
    match grant {
        Grant::Answer => "",
        Grant::Once => "this once",
        Grant::Session => "anything like it in this conversation",
        Grant::Always => "anything like it, everywhere, for good",
        Grant::Deny => "the agent is told no",
        Grant::Unknown => "what this grants was not said",
    }
}

/// The same in few cells, for narrow screens: what it reaches is never cut away.
pub fn short_grant_words(words: &'static str) -> &'static str {
    match words {
        "anything like it in this conversation" => "all like it, here",
        "anything like it, everywhere, for good" => "all like it, for good",
        "what this grants was not said" => "not said",
        words => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_told_by_its_kind() {
        let line = |frame| frame_line(frame).to_string();
        assert_eq!(line(r#"{"type":"hello","v":1}"#), r#"hello  "v":1"#);
        assert_eq!(
            line(r#"{"v":1,"type":"hello"}"#),
            r#"{"v":1,"type":"hello"}"#
        );
    }
}
