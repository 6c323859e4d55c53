//! Carrying out actions. `perform` only routes: to the popup on top, else to the part an action
//! belongs to.

mod compose;
mod entries;
mod moving;
mod opening;
pub(crate) mod places;

use super::screen::{Pane, overlay::Overlay, palette, popups};
use super::state::{self, State};
use super::{Action, Effect, drafts, runs, slash};
use crate::domain::{Moment, Severity};

pub use compose::{limit, on_edited, paste};
pub use entries::is_loading;
pub use moving::{decision_is_armed, sidebar_is_beside};
pub(crate) use opening::{on_diagnosed, set_width};
pub use places::{go_to, on_account};

/// Carries out one action.
pub fn perform(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    if let Some(effects) = popups::perform(state, now, action) {
        return effects;
    }
    state.redraw(state::Redraw::Now);
    if let Some(reason) = palette::refusal(state, action) {
        state.say(Severity::Warning, format!("{}: {reason}.", action.title()));
        return Vec::new();
    }
    use Action::*;
    match action {
        Send | NewLine | HoldSend | SendNow | ClearOrStopOrQuit | QuitIfEmpty | MoveLeft
        | MoveRight | MoveWordLeft | MoveWordRight | MoveWordStart | MoveWordLast
        | MoveLineStart | MoveLineEnd | MoveUp | MoveDown | MoveTextStart | MoveTextEnd
        | ExtendLeft | ExtendRight | ExtendWordLeft | ExtendWordRight | SelectDraft
        | DeleteBackward | DeleteForward | DeleteWordBackward | DeleteWordForward
        | DeleteToWordStart | PutAfter | PutBefore | KillToLineStart | KillToLineEnd | KillLine
        | Yank | YankPrevious | Undo | Redo | HistoryPrevious | HistoryNext | HistorySearch
        | EditExternally | Complete | AttachFile | AttachClipboard | RemoveAttachment
        | CancelReply | OpenPaste | NormalMode | InsertMode | InsertAfter | InsertLineStart
        | InsertLineEnd | OpenBelow | OpenAbove | ChangeWord | ChangeLineEnd | ChangeLine
        | CopyLine | VisualMode | VisualLines | CopySelected | DeleteSelected | ChangeSelected => {
            compose::perform(state, now, action)
        }
        Escape | FocusNext | FocusPrevious | ScrollUp | ScrollDown | PageUp | PageDown
        | GoOldest | GoNewest | GoUnread | SelectNext | SelectPrevious | SelectFirst
        | SelectLast | SearchNext | SearchPrevious | Accept | AcceptOther | Next | Previous
        | First | Last => moving::perform(state, now, action),
        ToggleFold | FoldAll | WrapCode | ShiftCodeLeft | ShiftCodeRight | CopyEntry | CopyCode
        | ReplyTo | DeleteEntry | OpenEntry | SaveEntry | CancelTransfer | EntryMenu
        | ResendEntry => entries::perform(state, now, action),
        GoBack | NextConversation | PreviousConversation | NextUnread | NextAccount
        | FocusAccount1 | FocusAccount2 | FocusAccount3 | FocusAccount4 | FocusAccount5
        | FocusAccount6 | FocusAccount7 | FocusAccount8 | FocusAccount9 | NewConversation
        | NewThread | RenameConversation | DeleteConversation | ClearConversation
        | ToggleFavorite | ToggleMute | ToggleAutomation | SetDefault | SetColor | SetIcon
        | MarkRead | RefreshDirectory | RetryNow | Disconnect | RemoveAccount | SignIn
        | StopRun | ToggleAutoApprove | ToggleAutoThread => places::perform(state, now, action),
        GoToDate | AddAccount | AccountDetails | OpenDecision | Attention | Palette | Switcher
        | SearchHere | SearchEverywhere | Models | Effort | Profile | MediaList | Inspector
        | Help | Doctor | ShowTodos | ShowQueue | ServerFunctions | ToggleSidebar | Zen
        | BareView | Theme | ToggleFooter | ToggleMouse | ToggleMotion | WiderSidebar
        | NarrowerSidebar => opening::perform(state, now, action),
        Redraw => vec![Effect::RedrawAll],
        SaveFrames => vec![Effect::SaveFrames],
        Suspend => {
            drafts::save_all(state, now);
            vec![state.commit(vec![]), Effect::Suspend]
        }
        Quit => leave(state, now),
        // The leader is the common start of sequences; as an action it says what can follow.
        Leader => Vec::new(),
        // Rows are only in popups.
        RemoveRow | MoveRowUp | MoveRowDown | EditRow => Vec::new(),
    }
}

/// How long a second wish to leave counts as the answer to what was said of the first.
const LEAVES: std::time::Duration = std::time::Duration::from_secs(10);

/// Leaves; at the first wish, when something runs that ends with the program, only says so.
pub(super) fn leave(state: &mut State, now: Moment) -> Vec<Effect> {
    let asked = state.screen.leave_asked.take();
    let is_again = asked.is_some_and(|asked| now.since(asked) < LEAVES);
    let dying = runs::dying(state);
    let (false, Some((account, id, _))) = (is_again, dying.first()) else {
        return quit(state, now);
    };
    let place = state.place_of(account, id);
    state.screen.leave_asked = Some(now);
    state.say(
        Severity::Warning,
        format!(
            "The agent is at work in {place}, and its runtime ends with this program. The same \
             again leaves all the same."
        ),
    );
    Vec::new()
}

/// Leaves; drafts are written first.
pub fn quit(state: &mut State, now: Moment) -> Vec<Effect> {
    drafts::save_all(state, now);
    vec![state.commit(Vec::new()), Effect::Quit { code: 0 }]
}

/// Which keys hold now.
pub fn context(state: &State) -> super::keymap::Context {
    use super::keymap::Context;
    if let Some(overlay) = state.screen.overlays.last() {
        return popups::context(overlay);
    }
    match state.screen.pane {
        Pane::Composer if state.keymap.is_modal() && state.screen.is_normal => {
            let is_visual = state
                .focused()
                .is_some_and(|(_, _, of)| of.composer.is_visual());
            if is_visual {
                Context::Visual
            } else {
                Context::Normal
            }
        }
        Pane::Composer => Context::Composer,
        Pane::Timeline => Context::Timeline,
        Pane::Sidebar => Context::Sidebar,
    }
}

/// The keys that lead to an action from where the person is; through the palette when no shorter
/// way is bound here.
pub(crate) fn way_to(state: &State, action: Action) -> String {
    let context = context(state);
    let keymap = &state.keymap;
    let command = || slash::command_for(state, action).map(str::to_owned);
    keymap
        .hint(action, context)
        .or_else(command)
        .unwrap_or_else(|| {
            let palette = keymap.hint(Action::Palette, context).unwrap_or_default();
            format!("{palette} “{}”", action.title())
        })
}

/// What helps where no conversation is on screen.
pub(crate) fn nowhere(state: &State) -> String {
    if state.accounts.is_empty() {
        return format!(
            "No account yet. {} adds one.",
            way_to(state, Action::AddAccount)
        );
    }
    if state.accounts.iter().any(|of| !of.conversations.is_empty()) {
        let way = way_to(state, Action::Switcher);
        return format!("{way} goes to a conversation.");
    }
    match palette::refusal(state, Action::NewConversation) {
        None => {
            let way = way_to(state, Action::NewConversation);
            format!("No conversation yet. {way} begins one.")
        }
        Some(_) => "No conversation yet. They come once an account is connected.".to_owned(),
    }
}

/// Whether a popup of this sort is on top.
fn is_top(state: &State, is: impl Fn(&Overlay) -> bool) -> bool {
    state.screen.overlays.last().is_some_and(is)
}
