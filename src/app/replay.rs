//! A recording that is played: which of the person's own keys count beside the recorded ones, and
//! what is said at its end. What only looks at something works; nothing that is typed goes anywhere.

use super::Action;
use super::actions::context;
use super::keymap::{Context, Resolution};
use super::state::{Redraw, State};
use crate::domain::Severity;
use crate::input::{Chord, TerminalEvent};

/// What becomes of something the person did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// It looks at something, as it does elsewhere.
    Reads,
    /// It ends the program, whatever the recording typed.
    Leaves,
    /// It would write.
    GoesNowhere,
}

/// What becomes of it.
pub fn own(state: &State, event: &TerminalEvent) -> Own {
    match event {
        TerminalEvent::Key(chord) => own_key(state, *chord),
        TerminalEvent::Paste(_) if writes_in(context(state)) => Own::GoesNowhere,
        TerminalEvent::Paste(_)
        | TerminalEvent::Mouse(_)
        | TerminalEvent::Focus(_)
        | TerminalEvent::Resize { .. }
        | TerminalEvent::Reply(_) => Own::Reads,
    }
}

fn own_key(state: &State, chord: Chord) -> Own {
    let context = context(state);
    let pending = &state.screen.pending;
    match state.keymap.resolve(context, pending, chord) {
        Resolution::Action(Action::QuitIfEmpty | Action::Quit) => Own::Leaves,
        Resolution::Action(Action::Accept | Action::AcceptOther)
            if context == Context::Decision =>
        {
            Own::GoesNowhere
        }
        Resolution::Action(action) if writes(action) => Own::GoesNowhere,
        Resolution::None if chord.typed().is_some() && writes_in(context) => Own::GoesNowhere,
        Resolution::Action(_) | Resolution::Pending | Resolution::None => Own::Reads,
    }
}

/// Whether a letter there is text for a message.
fn writes_in(context: Context) -> bool {
    matches!(
        context,
        Context::Composer | Context::Normal | Context::Visual
    )
}

/// Whether an action would change the draft, or ask something of the server.
fn writes(action: Action) -> bool {
    use Action::*;
    matches!(
        action,
        Send | SendNow
            | HoldSend
            | NewLine
            | Yank
            | YankPrevious
            | PutAfter
            | PutBefore
            | InsertMode
            | InsertAfter
            | InsertLineStart
            | InsertLineEnd
            | OpenBelow
            | OpenAbove
            | ChangeWord
            | ChangeLineEnd
            | ChangeLine
            | ChangeSelected
            | AttachFile
            | AttachClipboard
            | EditExternally
            | ResendEntry
            | DeleteEntry
            | StopRun
    )
}

/// Says why nothing happened.
pub(super) fn went_nowhere(state: &mut State) {
    let words = format!(
        "This is a replay: what you type goes nowhere. Keys for reading work.{}",
        way_out(state)
    );
    state.say(Severity::Info, words);
}

/// Nothing of the recording is left.
pub(super) fn ended(state: &mut State) {
    if let Some(play) = &mut state.play {
        play.is_over = true;
    }
    let words = format!(
        "The recording is over. Everything can be looked at; nothing is sent.{}",
        way_out(state)
    );
    state.say(Severity::Info, words);
    state.redraw(Redraw::Now);
}

/// The key that leaves, as the end of a sentence.
pub fn way_out(state: &State) -> String {
    match state.keymap.hint(Action::QuitIfEmpty, Context::Composer) {
        Some(keys) => format!(" {keys} leaves."),
        None => String::new(),
    }
}
