//! What happens by the passing of time: toasts go, typing marks go out, drafts and growing texts
//! are written, spinners turn. The next moment is computed from the state, so that nothing ticks
//! while nothing runs.

use super::effect::Effect;
use super::screen::overlay::Overlay;
use super::state::{Hold, Redraw, State};
use super::{conversation, drafts, outbox, runs, start};
use crate::domain::{LinkState, Lookup, Moment};
use std::time::Duration;

/// How long a first Esc or Ctrl+C waits for the second.
pub const ASKED: Duration = Duration::from_secs(3);
/// A run without a sign for so long is marked.
pub const QUIET: Duration = Duration::from_secs(30);
/// And after so long the person is offered a way out.
pub const SILENT: Duration = Duration::from_secs(120);
/// Answer keys of a decision are dead for so long after it was painted.
const ARMED: Duration = Duration::from_millis(400);

/// Steps of the spinner.
const SPINNER: Duration = Duration::from_millis(100);
const SLOW_SPINNER: Duration = Duration::from_millis(250);
const SECOND: Duration = Duration::from_secs(1);

/// A moment that was asked for has come.
pub fn due(state: &mut State, now: Moment) -> Vec<Effect> {
    // The alarm of the shell is spent, even when it was set for something else.
    state.wake = None;
    let has_come = |at: Moment| at.mono_ms <= now.mono_ms;
    let before = state.screen.toasts.len();
    state.screen.toasts.retain(|toast| !has_come(toast.until));
    if state.screen.toasts.len() != before {
        state.redraw(Redraw::Now);
    }
    if state
        .screen
        .stop_asked
        .take_if(|asked| has_come(asked.after(ASKED)))
        .is_some()
    {
        state.redraw(Redraw::Now);
    }
    if state
        .screen
        .quit_asked
        .take_if(|asked| has_come(asked.after(ASKED)))
        .is_some()
    {
        state.redraw(Redraw::Now);
    }
    let mut typing_ended = false;
    for here in state
        .accounts
        .iter_mut()
        .flat_map(|of| of.conversations.values_mut())
    {
        typing_ended |= here
            .typing_until
            .take_if(|until| has_come(*until))
            .is_some();
    }
    if typing_ended {
        state.redraw(Redraw::Paced);
    }
    drafts::save_due(state, now);
    conversation::save_grown(state, now, false);
    if let Some(step) = turning(state) {
        let step_ms = u64::try_from(step.as_millis()).unwrap_or(1000).max(1);
        state.screen.spinner_frame = (now.mono_ms / step_ms % 240) as u8;
        state.redraw(Redraw::Paced);
    }
    if popup_arms(state).is_some_and(has_come) {
        state.redraw(Redraw::Now);
    }
    let mut effects = runs::give_up_stops(state, now);
    effects.extend(outbox::release_slowed(state, now));
    if state.store_retry.take_if(|at| has_come(*at)).is_some() {
        // Even an empty batch takes along what could not be written before.
        effects.push(state.commit(Vec::new()));
    }
    if start::next_stale(state).is_some_and(has_come) {
        state.stale_asked = Some(now);
        effects.push(Effect::Look(Lookup::Start));
    }
    effects
}

/// When the keys of the open decision come alive, seen from its first painting; only while it lies
/// in the future or just passed.
fn popup_arms(state: &State) -> Option<Moment> {
    match state.screen.overlays.last() {
        Some(Overlay::Decision(popup)) => {
            let at = popup.painted?.after(ARMED);
            (state.now.since(at) < SECOND).then_some(at)
        }
        _ => None,
    }
}

/// How fast something on screen turns; none when nothing does.
fn turning(state: &State) -> Option<Duration> {
    // What a recording left running does not run any more.
    if state.play.as_ref().is_some_and(|play| play.is_over) {
        return None;
    }
    let runs = state
        .accounts
        .iter()
        .filter(|of| of.is_ready())
        .flat_map(|of| of.conversations.values())
        .any(|here| here.run.is_some() || here.typing_until.is_some());
    let connects = state
        .accounts
        .iter()
        .any(|of| matches!(of.account.link, LinkState::Connecting | LinkState::Syncing));
    let counts_down = state.accounts.iter().any(|of| {
        of.account.silent_since.is_some()
            || matches!(of.account.link, LinkState::Waiting { .. })
            || of.held.values().any(|hold| matches!(hold, Hold::Until(_)))
    });
    if runs || connects {
        Some(if state.settings.reduced_motion {
            SECOND
        } else if state.settings.over_ssh {
            SLOW_SPINNER
        } else {
            SPINNER
        })
    } else if counts_down {
        // Seconds until the next attempt, until a message goes, or since the last frame.
        Some(SECOND)
    } else {
        None
    }
}

/// The next moment at which something is due.
pub fn next(state: &State) -> Option<Moment> {
    let screen = &state.screen;
    let mut next = screen
        .toasts
        .iter()
        .map(|toast| toast.until)
        .chain(screen.stop_asked.map(|asked| asked.after(ASKED)))
        .chain(screen.quit_asked.map(|asked| asked.after(ASKED)))
        .chain(turning(state).map(|step| {
            // On the beat, so that every tick is one step.
            let step_ms = u64::try_from(step.as_millis()).unwrap_or(1000).max(1);
            state
                .now
                .after(Duration::from_millis(step_ms - state.now.mono_ms % step_ms))
        }))
        .chain(popup_arms(state).filter(|at| at.mono_ms > state.now.mono_ms))
        .chain(start::next_stale(state))
        .chain(state.store_retry)
        .chain(runs::next_unconfirmed(state))
        .chain(outbox::next_slowed(state))
        .min_by_key(|at| at.mono_ms);
    for here in state
        .accounts
        .iter()
        .flat_map(|of| of.conversations.values())
    {
        let unsaved = here
            .timeline
            .unsaved
            .values()
            .map(|since| since.after(conversation::SAVE_EVERY));
        next = unsaved
            .chain(here.typing_until)
            .chain(here.draft_due)
            .chain(next)
            .min_by_key(|at| at.mono_ms);
    }
    next
}
