//! Where a message goes, and its way out: the conversation is found or made, and the message is put
//! into the outbox there.
//!
//! What comes of it afterwards is no matter of this room.

use super::report::Report;
use super::{Ended, LATELY_MS, NOT_SENT, OneShot, Place, Stage, WATCH};
use crate::app;
use crate::app::outbox::{self, SendMode};
use crate::app::state::{AccountState, Pending};
use crate::domain::{
    Command, CommandId, ConversationCommand, ConversationId, ConversationKind, MessageKey,
    Question, Unread, Write,
};
use crate::runtime::files::inspect_file;
use crate::store::pages;
use crate::text::SafeText;

impl OneShot<'_> {
    /// Finds the conversation, or asks for a new one.
    pub(super) fn choose(&mut self) {
        let Some(account) = self.engine.state.account(&self.request.account) else {
            return;
        };
        let mut title = None;
        let found = match &self.request.place {
            Place::Known(wanted) => match named(account, wanted) {
                Ok(id) => Some(id),
                Err(why) => {
                    self.ended = Some(Ended::Unusable(why));
                    return;
                }
            },
            Place::New(wanted) => {
                let can = &account.account.capabilities.create_conversation;
                if let Some(reason) = can.refusal() {
                    self.ended = Some(Ended::Unusable(SafeText::label(&format!(
                        "no conversation can be begun here: {reason}"
                    ))));
                    return;
                }
                title = Some(wanted.trim().to_owned()).filter(|title| !title.is_empty());
                None
            }
            Place::Usual => account
                .conversations
                .iter()
                .find(|(_, c)| c.info.kind == ConversationKind::Default)
                .map(|(id, _)| id.clone())
                .or_else(|| {
                    let name = self.last_used_name();
                    let last = self.engine.stored_ui(&name)?;
                    let id = ConversationId::from(last);
                    account.conversations.contains_key(&id).then_some(id)
                }),
        };
        match found {
            Some(id) if self.may_run(&id) => {
                self.conversation = Some(id);
                self.stage = Stage::Watching {
                    until: std::time::Instant::now() + WATCH,
                };
            }
            Some(id) => self.send_in(id),
            None => {
                let command = Command::Conversation(ConversationCommand::Create {
                    name: title,
                    parent: None,
                });
                let account = self.request.account.clone();
                let before = self.engine.state.ids.next;
                self.engine
                    .perform(|state, _| app::issue(state, &account, command, Pending::Create));
                self.stage = Stage::Creating {
                    command: CommandId(before + 1),
                };
            }
        }
    }

    /// Whether a run may be active in a conversation of which nothing was heard yet. Only a server
    /// that queues messages takes ours beside it, and only there it has to be told apart.
    fn may_run(&self, id: &ConversationId) -> bool {
        let now = self.engine.surroundings().clock.now();
        let Some(of) = self.engine.state.account(&self.request.account) else {
            return false;
        };
        let Some(here) = of.conversations.get(id) else {
            return false;
        };
        let is_late = here
            .info
            .last_activity_ms
            .is_some_and(|at| now.wall_ms - at < LATELY_MS);
        let was_ours = self.quiet_value(id);
        of.account.capabilities.queues_messages.is_yes()
            && is_late
            && here.run.is_none()
            && self.engine.stored_ui(&self.quiet_name()) != was_ours.as_deref()
    }

    /// Whether a run waits for somebody's decision in a conversation. A text would be taken for the
    /// answer there, or wait until one is given; a command may be the answer. A picker that belongs
    /// to no run holds nothing up.
    fn is_waited_for(&self, id: &ConversationId) -> bool {
        let of = self.engine.state.account(&self.request.account);
        let mut decisions = of.into_iter().flat_map(|of| &of.decisions);
        !self.request.text.starts_with('/')
            && decisions.any(|decision| {
                let is_picker = matches!(decision.question, Question::Picker { .. });
                decision.conversation == *id
                    && decision.life.is_open()
                    && !(is_picker && decision.run.is_none())
            })
    }

    pub(super) fn send_in(&mut self, id: ConversationId) {
        if self.is_waited_for(&id) {
            self.ended = Some(Ended::NeedsDecision(NOT_SENT.into()));
            return;
        }
        let account = self.request.account.clone();
        let name = self
            .engine
            .state
            .account(&account)
            .and_then(|account| account.conversations.get(&id))
            .map(|conversation| conversation.info.name.clone())
            .unwrap_or_default();
        (self.report)(Report::Conversation {
            id: &id,
            name: &name,
        });
        self.conversation = Some(id.clone());
        let here = self.engine.state.conversation(&account, &id);
        self.was_read = here.is_some_and(|here| here.unread == Unread::None);
        let active = self
            .engine
            .state
            .conversation(&account, &id)
            .and_then(|here| here.run.as_ref())
            .map(|run| run.id.clone());
        if let Some(run) = active {
            self.beside.begin(&run);
        }
        self.engine
            .perform(|state, now| app::conversation::focus(state, now, &account, &id));
        let base = self.engine.surroundings().working_directory.clone();
        let mut files = Vec::new();
        for path in &self.request.files {
            match inspect_file(&base, path) {
                Ok(facts) => files.push(app::screen::composer::DraftFile {
                    path: facts.path.clone(),
                    facts: Some(facts),
                }),
                Err(error) => {
                    self.ended = Some(Ended::Unusable(error));
                    return;
                }
            }
        }
        let text = self.request.text.clone();
        let before: Vec<MessageKey> = self.outbox_keys();
        self.engine.perform(|state, now| {
            if let Some(conversation) = state
                .account_mut(&account)
                .and_then(|a| a.conversations.get_mut(&id))
            {
                conversation.composer.put(&text, text.len());
                conversation.composer.files = files;
            }
            outbox::send(state, now, &account, &id, SendMode::Now)
        });
        self.key = self
            .outbox_keys()
            .into_iter()
            .find(|key| !before.contains(key));
        if self.key.is_none() {
            let why = self
                .engine
                .state
                .screen
                .toasts
                .last()
                .map(|toast| toast.text.clone());
            self.ended = Some(Ended::Unusable(
                why.unwrap_or_else(|| "the message cannot be sent".into()),
            ));
            return;
        }
        let write = Write::Ui {
            name: self.last_used_name(),
            value: id.as_str().to_owned(),
        };
        self.engine.keep(write);
        self.stage = Stage::Sending;
        self.note_command();
    }

    fn outbox_keys(&self) -> Vec<MessageKey> {
        self.engine
            .state
            .account(&self.request.account)
            .map(|account| account.outbox.iter().map(|record| record.key).collect())
            .unwrap_or_default()
    }

    fn last_used_name(&self) -> String {
        format!("send.last.{}", self.request.account.as_str())
    }

    /// Our run was the last thing that happened here.
    pub(super) fn remember_quiet(&mut self, ended: &Ended) {
        if *ended != Ended::Answered {
            return;
        }
        if let Some(value) = self
            .conversation
            .clone()
            .and_then(|id| self.quiet_value(&id))
        {
            let name = self.quiet_name();
            self.engine.keep(Write::Ui { name, value });
        }
    }

    /// What was printed was read, where nothing before it waits to be.
    pub(super) fn mark_read(&mut self, ended: &Ended) {
        let is_printed = matches!(ended, Ended::Answered | Ended::RunFailed(_));
        let Some(id) = self
            .conversation
            .clone()
            .filter(|_| is_printed && self.was_read)
        else {
            return;
        };
        let account = self.request.account.clone();
        self.engine
            .perform(|state, now| app::conversation::mark_read(state, now, &account, &id));
    }

    fn quiet_name(&self) -> String {
        format!("send.quiet.{}", self.request.account.as_str())
    }

    /// What says that nothing happened in a conversation since our run ended there.
    fn quiet_value(&self, id: &ConversationId) -> Option<String> {
        let of = self.engine.state.account(&self.request.account)?;
        let at_ms = of.conversations.get(id)?.info.last_activity_ms?;
        Some(format!("{} {at_ms}", id.as_str()))
    }
}

/// The conversation of an account that a person means: by id, else by name, else by the beginning
/// of a name when it is the only one.
pub(super) fn named(account: &AccountState, wanted: &str) -> Result<ConversationId, SafeText> {
    let known: Vec<_> = account.conversations.iter().collect();
    let found = pages::meant(&known, wanted, |(id, of)| {
        (id.as_str(), of.info.name.as_str())
    });
    if let [(id, _)] = found.as_slice() {
        return Ok((*id).clone());
    }
    let found: Vec<_> = found
        .iter()
        .map(|(id, of)| (id.as_str(), of.info.name.as_str()))
        .collect();
    Err(SafeText::label(&pages::not_one(wanted, &found)))
}
