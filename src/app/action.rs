//! Every intent of the person by name: the language of the keymap file, the help page, the command
//! palette and the hints. Adding one means: a line here, a default chord in `keymap`, one arm in
//! `actions`.

macro_rules! actions {
    ($($(#[$doc:meta])* $variant:ident $name:literal $title:literal,)*) => {
        /// One intent. Names in the configuration are in kebab case.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Action {
            $($(#[$doc])* $variant,)*
        }

        impl Action {
            /// Every action, in the order of the help page.
            pub fn all() -> &'static [Action] {
                &[$(Action::$variant,)*]
            }

            /// The name in the configuration.
            pub fn name(self) -> &'static str {
                match self {
                    $(Action::$variant => $name,)*
                }
            }

            /// What the help page and the palette say.
            pub fn title(self) -> &'static str {
                match self {
                    $(Action::$variant => $title,)*
                }
            }

            /// The action of this name.
            pub fn from_name(name: &str) -> Option<Action> {
                match name {
                    $($name => Some(Action::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

actions! {
    // Composer
    Send "send" "Send the message",
    NewLine "new-line" "Start a new line",
    /// Held back until the active run is over, even where the server queues by itself.
    HoldSend "hold-send" "Send when the run is over",
    ClearOrStopOrQuit "clear-or-stop-or-quit" "Clear the draft, else stop the run, else quit",
    QuitIfEmpty "quit-if-empty" "Quit when nothing is written, else delete forward",
    MoveLeft "move-left" "Move left",
    MoveRight "move-right" "Move right",
    MoveWordLeft "move-word-left" "Move a word left",
    MoveWordRight "move-word-right" "Move a word right",
    MoveWordStart "move-word-start" "Move to the start of the next word",
    MoveWordLast "move-word-last" "Move to the last letter of the word",
    MoveLineStart "move-line-start" "Move to the start of the line",
    MoveLineEnd "move-line-end" "Move to the end of the line",
    MoveUp "move-up" "Move up, else to earlier input",
    MoveDown "move-down" "Move down, else to later input",
    MoveTextStart "move-text-start" "Move to the start of the draft",
    MoveTextEnd "move-text-end" "Move to the end of the draft",
    ExtendLeft "extend-left" "Select to the left",
    ExtendRight "extend-right" "Select to the right",
    ExtendWordLeft "extend-word-left" "Select a word to the left",
    ExtendWordRight "extend-word-right" "Select a word to the right",
    SelectDraft "select-draft" "Select the whole draft",
    DeleteBackward "delete-backward" "Delete backward",
    DeleteForward "delete-forward" "Delete forward",
    DeleteWordBackward "delete-word-backward" "Delete the word before",
    DeleteWordForward "delete-word-forward" "Delete the word after",
    DeleteToWordStart "delete-to-word-start" "Delete to the start of the next word",
    KillToLineStart "kill-to-line-start" "Delete to the start of the line",
    KillToLineEnd "kill-to-line-end" "Delete to the end of the line",
    KillLine "kill-line" "Delete the line",
    Yank "yank" "Put back what was deleted",
    YankPrevious "yank-previous" "Put back what was deleted before that",
    Undo "undo" "Undo",
    Redo "redo" "Redo",
    HistoryPrevious "history-previous" "Earlier input",
    HistoryNext "history-next" "Later input",
    HistorySearch "history-search" "Search earlier inputs",
    EditExternally "edit-externally" "Write the draft in your editor",
    Complete "complete" "Complete",
    AttachFile "attach-file" "Attach a file",
    AttachClipboard "attach-clipboard" "Attach the picture in the clipboard",
    RemoveAttachment "remove-attachment" "Remove the last attachment",
    CancelReply "cancel-reply" "Do not reply to a message",
    OpenPaste "open-paste" "Unfold the pasted text",
    SendNow "send-now" "Send now, without waiting for the run",
    // The vim scheme
    NormalMode "normal-mode" "Leave insert mode",
    InsertMode "insert-mode" "Insert before the caret",
    InsertAfter "insert-after" "Insert after the caret",
    InsertLineStart "insert-line-start" "Insert at the start of the line",
    InsertLineEnd "insert-line-end" "Insert at the end of the line",
    OpenBelow "open-below" "Insert on a new line below",
    OpenAbove "open-above" "Insert on a new line above",
    ChangeWord "change-word" "Replace the word after",
    ChangeLineEnd "change-line-end" "Replace to the end of the line",
    ChangeLine "change-line" "Replace the line",
    CopyLine "copy-line" "Remember the line",
    PutAfter "put-after" "Put back after the caret or below the line",
    PutBefore "put-before" "Put back before the caret or above the line",
    VisualMode "visual-mode" "Select by letters",
    VisualLines "visual-lines" "Select by lines",
    CopySelected "copy-selected" "Remember the selection",
    DeleteSelected "delete-selected" "Delete the selection",
    ChangeSelected "change-selected" "Replace the selection",
    // Moving around
    Escape "escape" "Close, leave, or stop",
    FocusNext "focus-next" "Next pane",
    FocusPrevious "focus-previous" "Previous pane",
    ScrollUp "scroll-up" "Scroll up",
    ScrollDown "scroll-down" "Scroll down",
    PageUp "page-up" "A page up",
    PageDown "page-down" "A page down",
    GoOldest "go-oldest" "Go to the beginning",
    GoNewest "go-newest" "Go to the newest",
    GoUnread "go-unread" "Go to the first unread message",
    GoToDate "go-to-date" "Go to a date",
    GoBack "go-back" "Go back to the conversation before",
    NextConversation "next-conversation" "Next conversation",
    PreviousConversation "previous-conversation" "Previous conversation",
    NextUnread "next-unread" "Next unread conversation",
    NextAccount "next-account" "Next account",
    FocusAccount1 "focus-account-1" "Account 1",
    FocusAccount2 "focus-account-2" "Account 2",
    FocusAccount3 "focus-account-3" "Account 3",
    FocusAccount4 "focus-account-4" "Account 4",
    FocusAccount5 "focus-account-5" "Account 5",
    FocusAccount6 "focus-account-6" "Account 6",
    FocusAccount7 "focus-account-7" "Account 7",
    FocusAccount8 "focus-account-8" "Account 8",
    FocusAccount9 "focus-account-9" "Account 9",
    // In the timeline
    SelectNext "select-next" "Next entry",
    SelectPrevious "select-previous" "Previous entry",
    SelectFirst "select-first" "First entry",
    SelectLast "select-last" "Last entry",
    ToggleFold "toggle-fold" "Fold or unfold the entry",
    FoldAll "fold-all" "Fold or unfold all tools and reasoning",
    WrapCode "wrap-code" "Wrap or cut long lines of code",
    ShiftCodeLeft "shift-code-left" "Back to the start of cut lines of code",
    ShiftCodeRight "shift-code-right" "On along cut lines of code",
    CopyEntry "copy-entry" "Copy the entry",
    CopyCode "copy-code" "Copy a code block of the entry",
    ReplyTo "reply-to" "Reply to the message",
    DeleteEntry "delete-entry" "Delete the message",
    OpenEntry "open-entry" "Open the attachment or link",
    SaveEntry "save-entry" "Save the attachment",
    CancelTransfer "cancel-transfer" "Stop loading the attachment",
    EntryMenu "entry-menu" "What can be done with the entry",
    ResendEntry "resend-entry" "Send the message again",
    SearchNext "search-next" "Next match",
    SearchPrevious "search-previous" "Previous match",
    // Conversations and accounts
    NewConversation "new-conversation" "New conversation",
    NewThread "new-thread" "New thread",
    RenameConversation "rename-conversation" "Rename the conversation",
    DeleteConversation "delete-conversation" "Delete the conversation",
    ClearConversation "clear-conversation" "Empty the conversation",
    ToggleFavorite "toggle-favorite" "Favourite on or off",
    ToggleMute "toggle-mute" "Mute on or off",
    ToggleAutomation "toggle-automation" "Automation channel on or off",
    SetDefault "set-default" "Make it the default conversation",
    SetColor "set-color" "Colour of the conversation",
    SetIcon "set-icon" "Icon of the conversation",
    MarkRead "mark-read" "Mark as read",
    RefreshDirectory "refresh-directory" "Load the conversations again",
    RetryNow "retry-now" "Connect now",
    Disconnect "disconnect" "Switch the account off or on",
    AddAccount "add-account" "Add an account",
    RemoveAccount "remove-account" "Remove the account",
    AccountDetails "account-details" "The account: link, software, abilities",
    SignIn "sign-in" "Sign in",
    // Runs and decisions
    StopRun "stop-run" "Stop the run",
    OpenDecision "open-decision" "Open what waits here, else all that waits",
    Attention "attention" "All that waits for you",
    // Overlays
    Palette "palette" "Everything by name",
    Switcher "switcher" "Go to a conversation",
    SearchHere "search-here" "Search in this conversation",
    SearchEverywhere "search-everywhere" "Search everywhere",
    Models "models" "Model",
    Effort "effort" "Reasoning effort",
    ToggleAutoApprove "toggle-auto-approve" "Auto-approve or act mode on or off",
    ToggleAutoThread "toggle-auto-thread" "A thread for each message on or off",
    Profile "profile" "Adapter, model and folder of the conversation",
    MediaList "media-list" "Files of the conversation",
    Inspector "inspector" "Frames on the wire",
    SaveFrames "save-frames" "Save the last minutes on the wire to a file",
    Help "help" "Keys and what they do",
    Doctor "doctor" "What works here, with hints",
    ShowTodos "show-todos" "Todos",
    ShowQueue "show-queue" "Messages that wait",
    ServerFunctions "server-functions" "What the account offers besides",
    ToggleSidebar "toggle-sidebar" "Sidebar on or off",
    Zen "zen" "Only the conversation",
    BareView "bare-view" "Plain text for copying with the terminal",
    Theme "theme" "Theme",
    ToggleFooter "toggle-footer" "What stands under an answer",
    ToggleMouse "toggle-mouse" "Mouse on or off",
    ToggleMotion "toggle-reduced-motion" "Less motion on or off",
    WiderSidebar "wider-sidebar" "Wider sidebar",
    NarrowerSidebar "narrower-sidebar" "Narrower sidebar",
    // In overlays
    Accept "accept" "Accept",
    AcceptOther "accept-other" "The other way to accept",
    Next "next" "Next",
    Previous "previous" "Previous",
    First "first" "First",
    Last "last" "Last",
    RemoveRow "remove-row" "Remove the row",
    MoveRowUp "move-row-up" "Move the row up",
    MoveRowDown "move-row-down" "Move the row down",
    EditRow "edit-row" "Take the row back to be edited",
    // Program
    Redraw "redraw" "Draw everything again",
    Suspend "suspend" "Suspend",
    Leader "leader" "Show what can follow",
    Quit "quit" "Quit",
}

impl Action {
    /// The title where there is little room: at most twenty cells.
    pub fn short(self) -> &'static str {
        use Action::*;
        match self {
            OpenDecision => "decide",
            Attention => "all that waits",
            SearchHere => "search here",
            SearchEverywhere => "search everywhere",
            Models => "model",
            Effort => "reasoning effort",
            ToggleAutoApprove => "auto-approve, act",
            ToggleSidebar => "sidebar",
            ShowTodos => "todos",
            ShowQueue => "queue",
            NewConversation => "new conversation",
            EditExternally => "draft in the editor",
            Inspector => "frames on the wire",
            GoToDate => "jump to a date",
            Zen => "zen",
            Help => "keys",
            AttachFile => "attach a file",
            AttachClipboard => "paste a picture",
            RemoveAttachment => "drop an attachment",
            MediaList => "files here",
            OpenPaste => "unfold the paste",
            BareView => "bare text",
            Theme => "theme",
            HoldSend => "send after the run",
            SendNow => "send now",
            Undo => "undo",
            Redo => "redo",
            GoUnread => "first unread",
            GoBack => "back",
            StopRun => "stop the run",
            Palette => "everything",
            Switcher => "go to",
            FocusNext => "next pane",
            SelectDraft => "select the draft",
            Quit => "quit",
            action => action.title(),
        }
    }

    /// Whether it ends or removes something; where two fit alike, such a one is never the first.
    pub fn takes_away(self) -> bool {
        use Action::*;
        matches!(
            self,
            Disconnect
                | RemoveAccount
                | DeleteConversation
                | ClearConversation
                | DeleteEntry
                | RemoveAttachment
                | CancelTransfer
                | StopRun
                | KillLine
                | KillToLineStart
                | KillToLineEnd
                | Quit
        )
    }

    /// Whether it makes sense to start it by its title: motions and typing do not.
    pub fn is_in_palette(self) -> bool {
        use Action::*;
        !matches!(
            self,
            NewLine
                | ClearOrStopOrQuit
                | QuitIfEmpty
                | MoveLeft
                | MoveRight
                | MoveWordLeft
                | MoveWordRight
                | MoveWordStart
                | MoveWordLast
                | MoveLineStart
                | MoveLineEnd
                | MoveUp
                | MoveDown
                | MoveTextStart
                | MoveTextEnd
                | ExtendLeft
                | ExtendRight
                | ExtendWordLeft
                | ExtendWordRight
                | DeleteBackward
                | DeleteForward
                | DeleteWordBackward
                | DeleteWordForward
                | DeleteToWordStart
                | PutAfter
                | PutBefore
                | Complete
                | NormalMode
                | InsertMode
                | InsertAfter
                | InsertLineStart
                | InsertLineEnd
                | OpenBelow
                | OpenAbove
                | ChangeWord
                | ChangeLineEnd
                | ChangeLine
                | CopyLine
                | VisualMode
                | VisualLines
                | CopySelected
                | DeleteSelected
                | ChangeSelected
                | Escape
                | Accept
                | AcceptOther
                | Next
                | Previous
                | First
                | Last
                | RemoveRow
                | MoveRowUp
                | MoveRowDown
                | EditRow
                | Palette
                | Leader
        )
    }
}

impl Action {
    /// Other words by which people look for it: the names that protocols and other clients give it.
    pub fn also_called(self) -> &'static str {
        use Action::*;
        match self {
            NewConversation => "channel chat session create add",
            NewThread => "channel create add",
            RenameConversation => "channel thread chat name title",
            DeleteConversation => "channel thread chat remove",
            ClearConversation => "channel chat clear delete messages",
            ToggleFavorite => "channel favorite star pin",
            ToggleMute => "channel silence notifications",
            ToggleAutomation => "read-only cron webhook",
            SetDefault => "channel home main",
            SetColor => "channel color",
            SetIcon => "channel picture image avatar",
            MarkRead | NextConversation | PreviousConversation | NextUnread => "channel chat",
            RefreshDirectory => "channel list reload sync",
            Switcher => "channel chat jump switch",
            SearchHere => "channel chat find",
            SearchEverywhere => "find",
            ToggleAutoThread => "channel auto-thread automatic",
            MediaList => "channel attachments media pictures",
            AttachFile => "upload image picture",
            AttachClipboard => "paste image screenshot upload",
            CancelTransfer => "cancel abort download file transfer",
            StopRun => "cancel abort interrupt",
            DeleteEntry => "remove",
            RetryNow => "reconnect online",
            Disconnect => "connect disconnect offline online",
            Quit => "exit leave",
            Theme => "colours colors dark light",
            Help => "shortcuts bindings",
            Doctor => "doctor diagnose diagnosis check problems trouble terminal",
            Models => "provider",
            Profile => "profile working directory cwd provider",
            Effort => "thinking",
            ToggleAutoApprove => "yolo permissions",
            _ => "",
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Action;

    #[test]
    fn every_name_leads_back_to_its_action() {
        for action in Action::all() {
            assert_eq!(Action::from_name(action.name()), Some(*action));
            assert!(!action.title().is_empty());
        }
    }
}
