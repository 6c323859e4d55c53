//! Brings history of one conversation here: one attempt to connect, the conversation opened, then
//! older pages as far as they are wanted. Everything goes through the state into the store, as if
//! a reader had scrolled. What was unread stays so; a conversation of which nothing was here begins as
//! read, because what comes is history.

use super::outgoing::named;
use super::signals::Signals;
use crate::app::{self, State, Step};
use crate::domain::{
    AccountId, CommandOutcome, ConversationId, DirectoryEvent, EntryBody, LinkEvent, LinkState,
    MessageKey, PageToken, Topic,
};
use crate::runtime::engine::{Engine, Happening};
use crate::runtime::session::SessionEvent;
use crate::text::SafeText;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How much is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// So many messages, if there are as many.
    Messages(usize),
    /// Everything the server has.
    Whole,
}

/// How it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fetched {
    /// What is wanted is in the store.
    Here(ConversationId),
    NoConnection(SafeText),
    Refused(SafeText),
    /// There is no such conversation, or several.
    Unusable(SafeText),
    /// By a signal: the exit code.
    Signal(i32),
}

struct Fetch<'r> {
    account: AccountId,
    wanted: &'r str,
    amount: Amount,
    has_directory: bool,
    conversation: Option<ConversationId>,
    asked: BTreeSet<PageToken>,
    seen: BTreeSet<MessageKey>,
    /// Nothing of it was here before, so what comes is history and no news.
    is_first: bool,
    is_complete: bool,
    ended: Option<Fetched>,
}

/// Fetches. `progress` is told how many messages have come together. The engine stays usable and
/// connected.
pub async fn fetch(
    engine: &mut Engine,
    account: &AccountId,
    conversation: &str,
    amount: Amount,
    patience: Duration,
    progress: &mut dyn FnMut(usize),
) -> Fetched {
    engine.state.takes_over = false;
    let Ok(mut signals) = Signals::new() else {
        return Fetched::Unusable("signals cannot be received here".into());
    };
    engine.start_session(account);
    let mut fetch = Fetch {
        account: account.clone(),
        wanted: conversation,
        amount,
        has_directory: false,
        conversation: None,
        asked: BTreeSet::new(),
        seen: BTreeSet::new(),
        is_first: false,
        is_complete: false,
        ended: None,
    };
    let mut last_sign = Instant::now();
    loop {
        let happening = tokio::select! {
            happening = engine.wait() => happening,
            code = signals.recv() => return Fetched::Signal(code),
            () = tokio::time::sleep(patience.saturating_sub(last_sign.elapsed())) => {
                return Fetched::NoConnection("nothing came from the server for too long".into());
            }
        };
        let mut next = Some(happening);
        while let Some(happening) = next {
            if matches!(&happening, Happening::Session(from, _) if from == account) {
                last_sign = Instant::now();
            }
            fetch.look_at(engine, &happening);
            engine.take(happening);
            next = engine.try_next();
        }
        engine.flush();
        drop(engine.take_front_effects());
        if fetch.ended.is_none() && !fetch.is_complete {
            fetch.advance(engine);
            engine.flush();
        }
        if let Some(ended) = fetch.ended.take() {
            return ended;
        }
        progress(fetch.seen.len());
        if fetch.is_complete
            && engine.is_settled()
            && let Some(id) = fetch.conversation.clone()
        {
            if std::mem::take(&mut fetch.is_first) {
                let mark =
                    |state: &mut State, now| app::conversation::mark_read(state, now, account, &id);
                engine.perform(mark);
                engine.flush();
                if !engine.is_settled() {
                    continue;
                }
            }
            return Fetched::Here(id);
        }
    }
}

impl Fetch<'_> {
    fn look_at(&mut self, engine: &Engine, happening: &Happening) {
        let Happening::Session(account, event) = happening else {
            return;
        };
        if *account != self.account {
            return;
        }
        let ended = match event {
            SessionEvent::Waits { reason, .. } => Fetched::NoConnection(reason.clone()),
            SessionEvent::Ended { reason } => {
                Fetched::NoConnection(reason.clone().unwrap_or_default())
            }
            SessionEvent::Account(event) => match &event.topic {
                Topic::Link(LinkEvent::Changed(LinkState::Refused { reason })) => {
                    Fetched::Refused(reason.clone())
                }
                Topic::Link(LinkEvent::Changed(LinkState::NeedsLogin(need))) => {
                    Fetched::Refused(SafeText::label(&format!("sign in first: {}", need.hint)))
                }
                Topic::Directory(DirectoryEvent::Replaced(_)) => {
                    self.has_directory = true;
                    return;
                }
                Topic::Outcome {
                    command,
                    outcome: CommandOutcome::Refused(refusal),
                } if self.asked_for(engine, *command) => Fetched::Refused(refusal.text.clone()),
                _ => return,
            },
            _ => return,
        };
        self.ended.get_or_insert(ended);
    }

    /// Whether a command is one of ours: it opens the conversation or asks for a page of it.
    fn asked_for(&self, engine: &Engine, command: crate::domain::CommandId) -> bool {
        use crate::app::state::Pending;
        let pending = engine
            .state
            .account(&self.account)
            .and_then(|account| account.pending.get(&command));
        match pending {
            Some(Pending::Open { conversation } | Pending::Older { conversation }) => {
                Some(conversation) == self.conversation.as_ref()
            }
            _ => false,
        }
    }

    fn advance(&mut self, engine: &mut Engine) {
        let Some(account) = engine.state.account(&self.account) else {
            return;
        };
        if account.account.link != LinkState::Ready || !self.has_directory {
            return;
        }
        let id = match &self.conversation {
            Some(id) => id.clone(),
            None => match named(account, self.wanted) {
                Ok(id) => {
                    let here = account.conversations.get(&id);
                    self.is_first = here.is_none_or(|here| here.timeline.newest_order == 0);
                    self.conversation.insert(id).clone()
                }
                Err(why) => {
                    self.ended = Some(Fetched::Unusable(why));
                    return;
                }
            },
        };
        loop {
            self.count(engine, &id);
            let is_enough = match self.amount {
                Amount::Messages(count) => self.seen.len() >= count,
                Amount::Whole => false,
            };
            let mut step = Step::Wait;
            engine.perform(|state, _| {
                step = if is_enough {
                    app::newest(state, &self.account, &id)
                } else {
                    app::whole(state, &self.account, &id, &mut self.asked)
                };
                match &mut step {
                    Step::Go(effects) => std::mem::take(effects),
                    Step::Wait | Step::Done | Step::Unknown => Vec::new(),
                }
            });
            match step {
                Step::Go(_) => {}
                Step::Wait => return,
                Step::Done => {
                    self.is_complete = true;
                    return;
                }
                Step::Unknown => {
                    self.ended = Some(Fetched::Unusable("the conversation is gone".into()));
                    return;
                }
            }
        }
    }

    fn count(&mut self, engine: &Engine, id: &ConversationId) {
        let entries = engine
            .state
            .account(&self.account)
            .and_then(|account| account.conversations.get(id))
            .map(|here| here.timeline.entries.as_slice());
        let messages = entries
            .unwrap_or_default()
            .iter()
            .filter(|entry| matches!(entry.body, EntryBody::Message(_)));
        self.seen.extend(messages.map(|entry| entry.key));
    }
}
