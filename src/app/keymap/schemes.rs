//! The three schemes that ship.

use super::{Binding, Context};
use crate::app::action::Action;
use crate::input::Chord;

type Table = [(&'static str, Action)];

/// The line-editing keys of every shell, wherever something is typed.
const EDITING: &Table = {
    use Action::*;
    &[
        ("left", MoveLeft),
        ("right", MoveRight),
        ("ctrl-b", MoveLeft),
        ("ctrl-f", MoveRight),
        ("alt-b", MoveWordLeft),
        ("alt-f", MoveWordRight),
        ("ctrl-left", MoveWordLeft),
        ("ctrl-right", MoveWordRight),
        ("alt-left", MoveWordLeft),
        ("alt-right", MoveWordRight),
        ("ctrl-a", MoveLineStart),
        ("ctrl-e", MoveLineEnd),
        ("home", MoveLineStart),
        ("end", MoveLineEnd),
        ("backspace", DeleteBackward),
        ("shift-backspace", DeleteBackward),
        ("ctrl-h", DeleteBackward),
        ("delete", DeleteForward),
        ("ctrl-w", DeleteWordBackward),
        ("alt-backspace", DeleteWordBackward),
        ("ctrl-backspace", DeleteWordBackward),
        ("alt-d", DeleteWordForward),
        ("ctrl-delete", DeleteWordForward),
        ("ctrl-u", KillToLineStart),
        ("ctrl-k", KillToLineEnd),
        ("ctrl-y", Yank),
        ("alt-y", YankPrevious),
        ("ctrl-_", Undo),
        // The same key to an old terminal, another one to a new one.
        ("ctrl-/", Undo),
        ("alt-_", Redo),
    ]
};

const COMPOSER: &Table = {
    use Action::*;
    &[
        ("enter", Send),
        ("ctrl-j", NewLine),
        ("alt-enter", NewLine),
        ("shift-enter", NewLine),
        ("ctrl-enter", SendNow),
        ("up", MoveUp),
        ("down", MoveDown),
        ("shift-left", ExtendLeft),
        ("shift-right", ExtendRight),
        ("ctrl-shift-left", ExtendWordLeft),
        ("ctrl-shift-right", ExtendWordRight),
        ("ctrl-d", QuitIfEmpty),
        ("ctrl-c", ClearOrStopOrQuit),
        ("tab", Complete),
        ("ctrl-r", HistorySearch),
        ("ctrl-g", EditExternally),
        ("alt-w", CopyEntry),
    ]
};

const TIMELINE: &Table = {
    use Action::*;
    &[
        ("j", SelectNext),
        ("k", SelectPrevious),
        ("down", SelectNext),
        ("up", SelectPrevious),
        ("g", SelectFirst),
        ("home", SelectFirst),
        ("G", SelectLast),
        ("end", SelectLast),
        ("n", SearchNext),
        ("N", SearchPrevious),
        ("enter", ToggleFold),
        ("w", WrapCode),
        ("h", ShiftCodeLeft),
        ("left", ShiftCodeLeft),
        ("l", ShiftCodeRight),
        ("right", ShiftCodeRight),
        ("y", CopyEntry),
        ("c", CopyCode),
        ("r", ReplyTo),
        ("d", DeleteEntry),
        ("o", OpenEntry),
        ("s", SaveEntry),
        ("x", CancelTransfer),
        ("m", EntryMenu),
        ("R", ResendEntry),
        ("u", GoUnread),
        ("/", SearchHere),
        ("space", PageDown),
        ("b", PageUp),
        ("?", Help),
        ("i", FocusPrevious),
        ("ctrl-c", ClearOrStopOrQuit),
        ("ctrl-d", PageDown),
        ("ctrl-u", PageUp),
    ]
};

const SIDEBAR: &Table = {
    use Action::*;
    &[
        ("j", Next),
        ("k", Previous),
        ("down", Next),
        ("up", Previous),
        ("g", First),
        ("home", First),
        ("G", Last),
        ("end", Last),
        ("enter", Accept),
        ("l", Accept),
        ("right", Accept),
        ("space", ToggleFold),
        ("h", ToggleFold),
        ("left", ToggleFold),
        ("f", ToggleFavorite),
        ("m", ToggleMute),
        ("n", NewConversation),
        ("t", NewThread),
        ("r", RenameConversation),
        ("d", DeleteConversation),
        ("c", SetColor),
        ("i", AccountDetails),
        ("u", NextUnread),
        ("/", Switcher),
        ("?", Help),
        ("+", WiderSidebar),
        ("-", NarrowerSidebar),
        ("ctrl-c", ClearOrStopOrQuit),
    ]
};

const LIST: &Table = {
    use Action::*;
    &[
        ("down", Next),
        ("up", Previous),
        ("j", Next),
        ("k", Previous),
        ("tab", Next),
        ("shift-tab", Previous),
        ("ctrl-n", Next),
        ("ctrl-p", Previous),
        ("home", First),
        ("end", Last),
        ("g", First),
        ("G", Last),
        ("enter", Accept),
        ("space", Accept),
        ("a", AcceptOther),
        ("d", RemoveRow),
        ("delete", RemoveRow),
        ("K", MoveRowUp),
        ("J", MoveRowDown),
        ("e", EditRow),
        ("s", SaveEntry),
        ("q", Escape),
        ("ctrl-c", Escape),
    ]
};

const FILTER: &Table = {
    use Action::*;
    &[
        ("down", Next),
        ("up", Previous),
        ("ctrl-n", Next),
        ("ctrl-p", Previous),
        ("ctrl-j", Next),
        ("shift-tab", Previous),
        ("tab", AcceptOther),
        ("ctrl-home", First),
        ("ctrl-end", Last),
        ("enter", Accept),
        ("ctrl-d", DeleteForward),
        ("ctrl-c", Escape),
    ]
};

const LINE: &Table = {
    use Action::*;
    &[
        ("enter", Accept),
        ("tab", Next),
        ("shift-tab", Previous),
        ("down", Next),
        ("up", Previous),
        ("ctrl-n", Next),
        ("ctrl-p", Previous),
        ("ctrl-d", DeleteForward),
        ("ctrl-c", Escape),
    ]
};

const TEXT: &Table = {
    use Action::*;
    &[
        ("down", Next),
        ("up", Previous),
        ("j", Next),
        ("k", Previous),
        ("space", PageDown),
        ("b", PageUp),
        ("home", First),
        ("end", Last),
        ("g", First),
        ("G", Last),
        ("enter", Accept),
        ("y", CopyEntry),
        ("c", Disconnect),
        ("r", RetryNow),
        ("s", SignIn),
        ("d", RemoveAccount),
        ("q", Escape),
        ("ctrl-c", Escape),
    ]
};

const DECISION: &Table = {
    use Action::*;
    &[
        ("down", Next),
        ("up", Previous),
        ("right", Next),
        ("left", Previous),
        ("tab", Next),
        ("shift-tab", Previous),
        ("enter", Accept),
        ("space", PageDown),
        ("home", First),
        ("end", Last),
        ("j", ScrollDown),
        ("k", ScrollUp),
        ("g", First),
        ("G", Last),
        ("y", CopyEntry),
        ("ctrl-c", Escape),
    ]
};

const CONFIRM: &Table = {
    use Action::*;
    &[
        ("left", Previous),
        ("right", Next),
        ("up", Previous),
        ("down", Next),
        ("tab", Next),
        ("shift-tab", Previous),
        ("enter", Accept),
        ("n", Escape),
        ("q", Escape),
        ("ctrl-c", Escape),
    ]
};

const GLOBAL: &Table = {
    use Action::*;
    &[
        ("esc", Escape),
        ("ctrl-p", Palette),
        ("ctrl-n", Switcher),
        ("alt-a", OpenDecision),
        ("ctrl-x a", OpenDecision),
        ("ctrl-x A", Attention),
        ("ctrl-x s", SearchHere),
        ("ctrl-x S", SearchEverywhere),
        ("ctrl-x m", Models),
        ("ctrl-x r", Effort),
        ("ctrl-x y", ToggleAutoApprove),
        ("ctrl-x b", ToggleSidebar),
        ("ctrl-x t", ShowTodos),
        ("ctrl-x q", ShowQueue),
        ("ctrl-x n", NewConversation),
        ("ctrl-x e", EditExternally),
        ("ctrl-x i", Inspector),
        ("ctrl-x g", GoToDate),
        ("ctrl-x z", Zen),
        ("ctrl-x ?", Help),
        ("ctrl-x f", AttachFile),
        ("ctrl-x V", AttachClipboard),
        ("ctrl-x F", RemoveAttachment),
        ("ctrl-x l", MediaList),
        ("ctrl-x p", OpenPaste),
        ("ctrl-x v", BareView),
        ("ctrl-x o", Theme),
        ("ctrl-x h", HoldSend),
        ("ctrl-x enter", SendNow),
        ("ctrl-x u", Undo),
        ("ctrl-x U", Redo),
        ("ctrl-x .", GoUnread),
        ("ctrl-x ctrl-x", GoBack),
        ("ctrl-x c", StopRun),
        ("alt-up", PreviousConversation),
        ("alt-down", NextConversation),
        ("alt-u", NextUnread),
        ("alt-1", FocusAccount1),
        ("alt-2", FocusAccount2),
        ("alt-3", FocusAccount3),
        ("alt-4", FocusAccount4),
        ("alt-5", FocusAccount5),
        ("alt-6", FocusAccount6),
        ("alt-7", FocusAccount7),
        ("alt-8", FocusAccount8),
        ("alt-9", FocusAccount9),
        ("pageup", PageUp),
        ("pagedown", PageDown),
        ("shift-up", ScrollUp),
        ("shift-down", ScrollDown),
        ("ctrl-home", GoOldest),
        ("ctrl-end", GoNewest),
        ("tab", FocusNext),
        ("shift-tab", FocusPrevious),
        ("ctrl-o", FoldAll),
        ("ctrl-l", Redraw),
        ("ctrl-z", Suspend),
        ("f1", Help),
    ]
};

/// The motions of vim, in its normal and its visual mode.
const MOTIONS: &Table = {
    use Action::*;
    &[
        ("h", MoveLeft),
        ("l", MoveRight),
        ("left", MoveLeft),
        ("right", MoveRight),
        ("j", MoveDown),
        ("k", MoveUp),
        ("down", MoveDown),
        ("up", MoveUp),
        ("w", MoveWordStart),
        ("e", MoveWordLast),
        ("b", MoveWordLeft),
        ("0", MoveLineStart),
        ("^", MoveLineStart),
        ("$", MoveLineEnd),
        ("home", MoveLineStart),
        ("end", MoveLineEnd),
        ("g g", MoveTextStart),
        ("G", MoveTextEnd),
    ]
};

const NORMAL: &Table = {
    use Action::*;
    &[
        ("i", InsertMode),
        ("a", InsertAfter),
        ("I", InsertLineStart),
        ("A", InsertLineEnd),
        ("o", OpenBelow),
        ("O", OpenAbove),
        ("x", DeleteForward),
        ("delete", DeleteForward),
        ("X", DeleteBackward),
        ("backspace", MoveLeft),
        ("D", KillToLineEnd),
        ("d d", KillLine),
        ("d w", DeleteToWordStart),
        ("d e", DeleteWordForward),
        ("d b", DeleteWordBackward),
        ("d $", KillToLineEnd),
        ("d 0", KillToLineStart),
        ("C", ChangeLineEnd),
        ("c c", ChangeLine),
        ("S", ChangeLine),
        ("c w", ChangeWord),
        ("c e", ChangeWord),
        ("c $", ChangeLineEnd),
        ("y y", CopyLine),
        ("Y", CopyLine),
        ("v", VisualMode),
        ("V", VisualLines),
        ("p", PutAfter),
        ("P", PutBefore),
        ("u", Undo),
        ("ctrl-r", Redo),
        ("enter", Send),
        ("/", SearchHere),
        ("tab", FocusNext),
        ("ctrl-c", ClearOrStopOrQuit),
        ("ctrl-d", QuitIfEmpty),
        ("ctrl-g", EditExternally),
    ]
};

const VISUAL: &Table = {
    use Action::*;
    &[
        ("y", CopySelected),
        ("d", DeleteSelected),
        ("x", DeleteSelected),
        ("delete", DeleteSelected),
        ("c", ChangeSelected),
        ("s", ChangeSelected),
        ("p", Yank),
        ("v", VisualMode),
        ("V", VisualLines),
        ("esc", NormalMode),
        ("ctrl-c", NormalMode),
    ]
};

/// UX.md's table.
pub(super) fn default() -> Vec<Binding> {
    [
        table(Context::Composer, COMPOSER),
        table(Context::Composer, EDITING),
        table(Context::Timeline, TIMELINE),
        table(Context::Sidebar, SIDEBAR),
        table(Context::List, LIST),
        table(Context::Filter, FILTER),
        table(Context::Filter, EDITING),
        table(Context::Line, LINE),
        table(Context::Line, EDITING),
        table(Context::Text, TEXT),
        table(Context::Decision, DECISION),
        table(Context::Confirm, CONFIRM),
        table(Context::Global, GLOBAL),
    ]
    .concat()
}

/// The default with a normal mode of the composer.
pub(super) fn vim() -> Vec<Binding> {
    let mut bindings = default();
    change(&mut bindings, Context::Composer, "esc", Action::NormalMode);
    change(&mut bindings, Context::Timeline, "q", Action::Escape);
    bindings.extend(table(Context::Normal, MOTIONS));
    bindings.extend(table(Context::Normal, NORMAL));
    bindings.extend(table(Context::Visual, MOTIONS));
    bindings.extend(table(Context::Visual, VISUAL));
    bindings
}

/// The default with what Emacs has on its keys. Ctrl+P and Ctrl+N are motions there, so the palette
/// is Alt+X, and the switcher stands where Emacs switches buffers.
pub(super) fn emacs() -> Vec<Binding> {
    use Action::*;
    let mut bindings = default();
    for (keys, action) in [
        ("ctrl-p", MoveUp),
        ("ctrl-n", MoveDown),
        ("alt-<", MoveTextStart),
        ("alt->", MoveTextEnd),
        ("ctrl-space", SelectDraft),
        ("alt-w", CopyEntry),
        ("ctrl-g", Escape),
        ("ctrl-v", PageDown),
        ("alt-v", PageUp),
    ] {
        change(&mut bindings, Context::Composer, keys, action);
    }
    for context in [Context::Timeline, Context::Sidebar] {
        let (next, previous) = if context == Context::Timeline {
            (SelectNext, SelectPrevious)
        } else {
            (Next, Previous)
        };
        change(&mut bindings, context, "ctrl-n", next);
        change(&mut bindings, context, "ctrl-p", previous);
        change(&mut bindings, context, "ctrl-g", Escape);
        change(&mut bindings, context, "ctrl-v", PageDown);
        change(&mut bindings, context, "alt-v", PageUp);
    }
    for context in [
        Context::List,
        Context::Filter,
        Context::Line,
        Context::Text,
        Context::Decision,
        Context::Confirm,
    ] {
        change(&mut bindings, context, "ctrl-g", Escape);
    }
    bindings.retain(|binding| {
        binding.context != Context::Global
            || !matches!(
                binding.chords[..],
                [only] if only == Chord::ctrl('p') || only == Chord::ctrl('n')
            )
    });
    for (keys, action) in [
        ("alt-x", Palette),
        ("ctrl-x p", Palette),
        ("ctrl-x b", Switcher),
        ("ctrl-x B", ToggleSidebar),
        ("ctrl-x o", FocusNext),
        ("ctrl-x T", Theme),
        ("ctrl-x P", OpenPaste),
        ("ctrl-x ctrl-c", Quit),
        ("ctrl-x ctrl-e", EditExternally),
        ("ctrl-x ctrl-f", AttachFile),
        ("ctrl-x h", SelectDraft),
        ("ctrl-x H", HoldSend),
        ("ctrl-s", SearchHere),
    ] {
        change(&mut bindings, Context::Global, keys, action);
    }
    bindings
}

/// Puts a binding in the place of the one with the same keys.
fn change(bindings: &mut Vec<Binding>, context: Context, keys: &str, action: Action) {
    let new = binding(context, keys, action);
    bindings.retain(|old| old.context != context || old.chords != new.chords);
    bindings.push(new);
}

fn table(context: Context, rows: &Table) -> Vec<Binding> {
    rows.iter()
        .map(|(keys, action)| binding(context, keys, *action))
        .collect()
}

fn binding(context: Context, keys: &str, action: Action) -> Binding {
    Binding {
        context,
        chords: Chord::parse_sequence(keys).expect("the tables hold chords only; a test reads all"),
        action,
    }
}
