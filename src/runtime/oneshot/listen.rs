//! What arrives, as it arrives, on some accounts or one conversation, until a signal comes. Links
//! that break are made anew by themselves; what was missed meanwhile is told when the server tells
//! it. History that is loaded is not told, and nothing is marked as read.

use super::Report;
use super::report::Tracker;
use super::signals::Signals;
use crate::domain::{
    AccountEvent, AccountId, AttachmentEvent, ConversationId, DecisionEvent, DecisionId, LinkEvent,
    LinkState, Notice, NoticeKind, Provenance, RunEvent, TimelineEvent, Topic,
};
use crate::runtime::engine::{Engine, Happening};
use crate::runtime::session::SessionEvent;
use crate::text::SafeText;
use std::collections::BTreeMap;

/// Conversations whose growing texts are followed at once.
const FOLLOWED: usize = 1_024;

/// What is listened to.
#[derive(Clone, Debug)]
pub struct Listening {
    pub accounts: Vec<AccountId>,
    /// Only this conversation.
    pub conversation: Option<ConversationId>,
}

/// One thing that arrived.
#[derive(Debug)]
pub struct Listened<'a> {
    pub account: &'a AccountId,
    /// None for what concerns the account as a whole.
    pub conversation: Option<&'a ConversationId>,
    /// Its name; empty when it is not known yet.
    pub name: SafeText,
    /// It happened while the link was down.
    pub is_replayed: bool,
    pub report: Report<'a>,
}

/// Why listening ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deaf {
    /// It was enough.
    Enough,
    /// By a signal: the exit code.
    Signal(i32),
    /// No account can be heard: each was refused, and none is tried again by itself.
    Refused,
}

/// Listens until `heard` says that it is enough (false), a signal comes, or nobody can be heard.
pub async fn listen(
    engine: &mut Engine,
    listening: &Listening,
    heard: &mut dyn FnMut(Listened<'_>) -> bool,
) -> Deaf {
    engine.state.takes_over = false;
    let Ok(mut signals) = Signals::new() else {
        return Deaf::Signal(1);
    };
    for account in &listening.accounts {
        engine.start_session(account);
    }
    let mut ears = Ears {
        listening,
        trackers: BTreeMap::new(),
        links: BTreeMap::new(),
        heard,
        is_enough: false,
    };
    while !ears.is_enough {
        let happening = tokio::select! {
            happening = engine.wait() => happening,
            code = signals.recv() => return Deaf::Signal(code),
        };
        let mut next = Some(happening);
        while let Some(happening) = next {
            ears.take(engine, happening);
            next = engine.try_next();
        }
        engine.flush();
        drop(engine.take_front_effects());
        let is_refused = |account| {
            matches!(
                ears.links.get(account),
                Some(LinkState::Refused { .. } | LinkState::NeedsLogin(_))
            )
        };
        if listening.accounts.iter().all(is_refused) {
            return Deaf::Refused;
        }
    }
    Deaf::Enough
}

struct Ears<'r> {
    listening: &'r Listening,
    trackers: BTreeMap<(AccountId, ConversationId), Tracker>,
    /// The last word on each link; the same again is no news.
    links: BTreeMap<AccountId, LinkState>,
    heard: &'r mut dyn FnMut(Listened<'_>) -> bool,
    is_enough: bool,
}

impl Ears<'_> {
    fn take(&mut self, engine: &mut Engine, happening: Happening) {
        match &happening {
            Happening::Session(account, SessionEvent::Account(event)) => {
                // A conversation is named before what happens in it, so the state goes first.
                let (account, event) = (account.clone(), event.clone());
                engine.take(happening);
                self.look_at(engine, &account, &event);
            }
            Happening::Session(
                account,
                SessionEvent::Waits { .. } | SessionEvent::Ended { .. },
            ) => {
                let account = account.clone();
                engine.take(happening);
                if let Some(link) = engine
                    .state
                    .account(&account)
                    .map(|of| of.account.link.clone())
                {
                    self.tell(engine, &account, None, false, Report::Link(&link));
                }
            }
            _ => engine.take(happening),
        }
    }

    fn tell(
        &mut self,
        engine: &Engine,
        account: &AccountId,
        conversation: Option<&ConversationId>,
        is_replayed: bool,
        report: Report<'_>,
    ) {
        let listening = self.listening;
        let is_wanted = listening.accounts.contains(account)
            && (listening.conversation.is_none()
                || conversation.is_none()
                || listening.conversation.as_ref() == conversation);
        if self.is_enough || !is_wanted {
            return;
        }
        if let Report::Link(link) = &report
            && self.links.insert(account.clone(), (*link).clone()).as_ref() == Some(*link)
        {
            return;
        }
        let goes_on = (self.heard)(Listened {
            account,
            conversation,
            name: name_of(engine, account, conversation),
            is_replayed,
            report,
        });
        self.is_enough = !goes_on;
    }

    fn look_at(&mut self, engine: &Engine, account: &AccountId, event: &AccountEvent) {
        let is_replayed = match &event.provenance {
            Provenance::Live => false,
            Provenance::Replayed { .. } => true,
            Provenance::History | Provenance::Snapshot => return,
        };
        match &event.topic {
            Topic::Link(LinkEvent::Changed(link)) => {
                self.tell(engine, account, None, is_replayed, Report::Link(link));
            }
            Topic::Timeline(timeline) => self.timeline(engine, account, timeline, is_replayed),
            Topic::Run(run) => self.run(engine, account, run, is_replayed),
            Topic::Decision(decision) => self.decision(engine, account, decision, is_replayed),
            Topic::Attachment(AttachmentEvent::Added {
                conversation,
                attachment,
            }) => {
                let report = Report::Attachment {
                    name: &attachment.name,
                    size: attachment.size,
                };
                self.tell(engine, account, Some(conversation), is_replayed, report);
            }
            Topic::Notice(notice) if notice.kind != NoticeKind::Oddity => {
                let text = words(notice);
                let report = Report::Notice {
                    text: text.as_str(),
                };
                self.tell(engine, account, None, is_replayed, report);
            }
            _ => {}
        }
    }

    fn timeline(
        &mut self,
        engine: &Engine,
        account: &AccountId,
        event: &TimelineEvent,
        is_replayed: bool,
    ) {
        let conversation = match event {
            TimelineEvent::Upserted { conversation, .. }
            | TimelineEvent::Patched { conversation, .. }
            | TimelineEvent::Ended { conversation, .. }
            | TimelineEvent::Rekeyed { conversation, .. } => conversation.clone(),
            _ => return,
        };
        let mut tracker = self.tracker(account, &conversation);
        tracker.timeline(event, &mut |report| {
            self.tell(engine, account, Some(&conversation), is_replayed, report);
        });
        self.trackers
            .insert((account.clone(), conversation), tracker);
    }

    fn tracker(&mut self, account: &AccountId, conversation: &ConversationId) -> Tracker {
        if self.trackers.len() > FOLLOWED {
            self.trackers.clear();
        }
        self.trackers
            .remove(&(account.clone(), conversation.clone()))
            .unwrap_or_default()
    }

    fn run(&mut self, engine: &Engine, account: &AccountId, event: &RunEvent, is_replayed: bool) {
        match event {
            RunEvent::Started {
                conversation, run, ..
            } => {
                let report = Report::Started { run };
                self.tell(engine, account, Some(conversation), is_replayed, report);
            }
            RunEvent::ToolChanged { conversation, tool }
            | RunEvent::ToolMissed {
                conversation, tool, ..
            } => {
                let mut tracker = self.tracker(account, conversation);
                tracker.tool(tool, &mut |report| {
                    self.tell(engine, account, Some(conversation), is_replayed, report);
                });
                let key = (account.clone(), conversation.clone());
                self.trackers.insert(key, tracker);
            }
            RunEvent::ToolRekeyed { conversation, .. } => {
                let key = (account.clone(), conversation.clone());
                self.trackers.entry(key).or_default().follow(event);
            }
            RunEvent::Finished {
                conversation,
                outcome,
                ..
            } => {
                let key = (account.clone(), conversation.clone());
                self.trackers.entry(key).or_default().follow(event);
                let report = Report::Finished(outcome);
                self.tell(engine, account, Some(conversation), is_replayed, report);
            }
            RunEvent::Resumed {
                conversation, run, ..
            } => {
                let report = Report::Started { run };
                self.tell(engine, account, Some(conversation), is_replayed, report);
            }
            RunEvent::PhaseChanged { .. }
            | RunEvent::Active { .. }
            | RunEvent::ToolLost { .. }
            | RunEvent::Owned { .. } => {}
        }
    }

    fn decision(
        &mut self,
        engine: &Engine,
        account: &AccountId,
        event: &DecisionEvent,
        is_replayed: bool,
    ) {
        let place = |id: &DecisionId| {
            let of = engine.state.account(account)?;
            let decision = of.decisions.iter().find(|decision| decision.id == *id)?;
            Some(decision.conversation.clone())
        };
        match event {
            DecisionEvent::Opened(decision) => {
                let conversation = Some(&decision.conversation);
                let report = Report::Decision(decision);
                self.tell(engine, account, conversation, is_replayed, report);
            }
            DecisionEvent::Resolved {
                decision, choice, ..
            } => {
                let conversation = place(decision);
                let report = Report::Resolved {
                    decision,
                    choice: choice.as_ref(),
                };
                self.tell(engine, account, conversation.as_ref(), is_replayed, report);
            }
            DecisionEvent::Expired { decision, why } => {
                let conversation = place(decision);
                let report = Report::Expired { decision, why };
                self.tell(engine, account, conversation.as_ref(), is_replayed, report);
            }
        }
    }
}

fn name_of(
    engine: &Engine,
    account: &AccountId,
    conversation: Option<&ConversationId>,
) -> SafeText {
    conversation
        .and_then(|id| engine.state.account(account)?.conversations.get(id))
        .map(|here| here.info.name.clone())
        .unwrap_or_default()
}

fn words(notice: &Notice) -> SafeText {
    match (notice.title.is_empty(), notice.body.is_empty()) {
        (false, false) => SafeText::prose(&format!("{}: {}", notice.title, notice.body)),
        (false, true) => notice.title.clone(),
        (true, _) => notice.body.clone(),
    }
}
