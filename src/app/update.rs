//! Routing only: one match, one call per arm. What an event does is in the file of its topic.
//!
//! The shell drains what is there, calls `update` for each event, and `flush` once at the end: what
//! the events want written is one transaction, and one repaint.

use super::effect::Effect;
use super::event::{Event, Signal};
use super::state::{Redraw, State};
use super::{
    accounts, attention, commands, conversation, deadlines, decisions, drafts, keys, media, replay,
    runs, shell_replies, store_replies, windows,
};
use crate::domain::{AccountEvent, AccountId, Moment, Topic};
use crate::input::TerminalEvent;

/// Changes the state for one event and says what has to be done.
pub fn update(state: &mut State, now: Moment, event: Event) -> Vec<Effect> {
    state.now = now;
    match event {
        Event::Terminal(event) => {
            let acts = matches!(event, TerminalEvent::Key(_) | TerminalEvent::Paste(_));
            let mut effects = terminal(state, now, event);
            if acts {
                effects.extend(accounts::attend(state, now));
            }
            after_keys(state, now, effects)
        }
        Event::Pointer { mouse, target } => {
            let effects = keys::on_pointer(state, now, mouse, target);
            after_keys(state, now, effects)
        }
        Event::Account { account, event } => on_account(state, now, &account, *event),
        Event::LinkWaits {
            account,
            until,
            reason,
        } => accounts::waits(state, now, &account, until, reason),
        Event::Store(reply) => store_replies::on_reply(state, now, reply),
        Event::Shell(reply) => {
            let effects = shell_replies::on_reply(state, now, reply);
            drafts::notice(state, now);
            effects
        }
        Event::Transfer { transfer, progress } => media::on_progress(state, transfer, progress),
        Event::Layout(facts) => windows::on_layout(state, now, *facts),
        Event::Deadline => deadlines::due(state, now),
        Event::Signal(signal) => on_signal(state, now, signal),
        Event::PlayEnded => {
            replay::ended(state);
            Vec::new()
        }
        Event::PlayTyped => {
            replay::went_nowhere(state);
            Vec::new()
        }
    }
}

/// Ends a batch of events: one commit for all they want written, then one repaint, the title, and
/// the next moment to wake up.
pub fn flush(state: &mut State) -> Vec<Effect> {
    let mut effects = Vec::new();
    if !state.batch.writes.is_empty() {
        effects.push(state.commit(Vec::new()));
    }
    let redraw = std::mem::take(&mut state.batch.redraw);
    if redraw != Redraw::Nothing {
        let title = attention::title(state);
        if title != state.title {
            state.title = title.clone();
            effects.push(Effect::Title(title));
        }
    }
    match redraw {
        Redraw::Nothing => {}
        Redraw::Paced => effects.push(Effect::Redraw { now: false }),
        Redraw::Now => effects.push(Effect::Redraw { now: true }),
    }
    if let Some(next) = deadlines::next(state) {
        let is_asked = state
            .wake
            .is_some_and(|wake| wake.mono_ms <= next.mono_ms && wake.mono_ms > state.now.mono_ms);
        if !is_asked {
            state.wake = Some(next);
            effects.push(Effect::Wake(next));
        }
    }
    effects
}

fn terminal(state: &mut State, now: Moment, event: TerminalEvent) -> Vec<Effect> {
    match event {
        TerminalEvent::Key(chord) => keys::on_key(state, now, chord),
        TerminalEvent::Paste(text) => keys::on_paste(state, now, &text),
        // Mouse reports come as `Event::Pointer`, with what lies under them.
        TerminalEvent::Mouse(_) => Vec::new(),
        TerminalEvent::Focus(is_focused) => {
            state.screen.is_focused = Some(is_focused);
            Vec::new()
        }
        TerminalEvent::Resize { columns, rows } => {
            state.screen.columns = columns;
            state.screen.rows = rows;
            Vec::new()
        }
        // The shell asked, and the shell reads the answer.
        TerminalEvent::Reply(_) => Vec::new(),
    }
}

/// What follows everything the person does: the draft is watched, the screen drawn at once, and
/// nothing is lost on the way out.
fn after_keys(state: &mut State, now: Moment, mut effects: Vec<Effect>) -> Vec<Effect> {
    drafts::notice(state, now);
    state.redraw(Redraw::Now);
    let leaves = effects
        .iter()
        .position(|effect| matches!(effect, Effect::Quit { .. }));
    if let Some(place) = leaves {
        save_everything(state, now);
        let commit = state.commit(Vec::new());
        effects.insert(place, commit);
    }
    effects
}

fn save_everything(state: &mut State, now: Moment) {
    runs::end_with_us(state, now);
    drafts::save_all(state, now);
    conversation::save_grown(state, now, true);
}

fn on_account(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    event: AccountEvent,
) -> Vec<Effect> {
    let AccountEvent { provenance, topic } = event;
    match topic {
        Topic::Link(event) => accounts::on_link(state, now, account, event),
        Topic::Directory(event) => accounts::on_directory(state, now, account, event),
        Topic::Timeline(event) => conversation::on_event(state, now, account, &provenance, event),
        Topic::Run(event) => runs::on_event(state, now, account, &provenance, event),
        Topic::Decision(event) => decisions::on_event(state, now, account, &provenance, event),
        Topic::Attachment(event) => media::on_event(state, now, account, event),
        Topic::Models(event) => accounts::on_models(state, account, event),
        Topic::Notice(notice) => accounts::on_notice(state, account, &provenance, notice),
        Topic::Sync(event) => accounts::on_sync(state, now, account, event),
        Topic::Outcome { command, outcome } => {
            commands::on_outcome(state, now, account, command, outcome)
        }
    }
}

fn on_signal(state: &mut State, now: Moment, signal: Signal) -> Vec<Effect> {
    match signal {
        Signal::Terminate => {
            save_everything(state, now);
            vec![state.commit(Vec::new()), Effect::Quit { code: 143 }]
        }
        Signal::Resumed => {
            state.redraw(Redraw::Now);
            vec![Effect::RedrawAll]
        }
        Signal::Woke => {
            state.redraw(Redraw::Now);
            // Deadlines are over after a sleep, links may be dead: both are looked at at once.
            deadlines::due(state, now)
        }
    }
}
