//! Writing: editing the draft of the conversation on screen, its history, what hangs on it, and
//! sending it.

use super::{leave, moving, places, quit};
use crate::app::outbox::{self, SendMode};
use crate::app::screen::composer::{Composer, HistoryStep, Motion};
use crate::app::screen::overlay::{Overlay, Prompt, Prompted};
use crate::app::screen::{Pane, choose, drawer, popups, search};
use crate::app::slash::{self, Local, LocalCommand, Typed};
use crate::app::state::State;
use crate::app::{Action, Effect, decisions, runs};
use crate::domain::{
    AccountId, Answer, AnswerWay, Decision, Lookup, Moment, RunPhase, Severity, Write,
};
use crate::text::SafeText;
use std::time::Duration;

/// How long a second press counts as one.
const AGAIN: Duration = Duration::from_secs(3);
/// How long a key may be meant for a popup that closed by itself.
const AFTER_POPUP: Duration = Duration::from_secs(1);
/// Pieces in the kill ring.
const KILLS: usize = 60;
/// Inputs that Up walks through.
const INPUTS: usize = 500;
/// Above this share of the limit the length is shown.
const NEAR: usize = 90;

fn composer(state: &mut State) -> Option<&mut Composer> {
    let (account, id) = state.focus.clone()?;
    state
        .conversation_mut(&account, &id)
        .map(|of| &mut of.composer)
}

/// Carries out an action of the composer.
pub(super) fn perform(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    use Action::*;
    let times = state.screen.counts[0].max(1);
    if let Some(effects) = visual(state, action, times) {
        return effects;
    }
    match action {
        Send | SendNow | HoldSend if was_for_a_popup(state, now) => {
            state.say(
                Severity::Warning,
                "Not sent: the popup had just closed by itself. The same key sends now.",
            );
            return Vec::new();
        }
        Send => return send(state, now, SendMode::Ordinary),
        SendNow => return send(state, now, SendMode::Now),
        HoldSend => return send(state, now, SendMode::Hold),
        ClearOrStopOrQuit => return clear_or_stop_or_quit(state, now),
        QuitIfEmpty => {
            let is_empty = composer(state).is_none_or(|c| c.is_empty());
            if is_empty {
                return leave(state, now);
            }
            return edit(state, |c| c.delete(Motion::Right));
        }
        Complete => {
            if drawer::is_open(state) {
                return drawer::accept(state);
            }
            return moving::perform(state, now, FocusNext);
        }
        MoveUp | MoveDown if drawer::is_open(state) => {
            drawer::step(state, action == MoveDown);
            return Vec::new();
        }
        MoveUp | MoveDown if times > 1 => {
            // A count stops at the first and last row; the history begins behind them.
            let row = if action == MoveUp { -1 } else { 1 };
            let columns = composer_columns(state);
            if let Some(composer) = composer(state) {
                for _ in 0..times {
                    if !composer.go_rows(row, columns) {
                        break;
                    }
                }
            }
            return Vec::new();
        }
        MoveUp => return rows(state, -1),
        MoveDown => return rows(state, 1),
        HistoryPrevious => return older(state),
        HistoryNext => {
            if let Some(composer) = composer(state) {
                composer.newer();
            }
            return drawer::refresh(state);
        }
        HistorySearch => return choose::open_inputs(state),
        EditExternally => return edit_externally(state),
        AttachClipboard => {
            return match state.focus.clone() {
                Some((account, conversation)) => vec![Effect::TakePicture {
                    account,
                    conversation,
                }],
                None => Vec::new(),
            };
        }
        AttachFile => {
            if let Some((account, id)) = state.focus.clone() {
                popups::push(
                    state,
                    Overlay::Prompt(Prompt {
                        title: "Attach a file".into(),
                        line: Default::default(),
                        hint: "its path; @ in the draft completes one".into(),
                        error: None,
                        is_secret: false,
                        then: Prompted::AttachPath(account, id),
                    }),
                );
            }
            return Vec::new();
        }
        _ => {}
    }
    let kills = state.screen.kills.clone();
    let line_kill = state.screen.kills_lines;
    let is_normal = state.screen.is_normal;
    let Some(composer) = composer(state) else {
        return Vec::new();
    };
    let mut killed = None;
    let mut lines = None;
    let mut is_insert = false;
    match action {
        NewLine => composer.insert("\n"),
        MoveLeft => (0..times).for_each(|_| composer.go(Motion::Left, false)),
        MoveRight => (0..times).for_each(|_| composer.go(Motion::Right, false)),
        MoveWordLeft => (0..times).for_each(|_| composer.go(Motion::WordLeft, false)),
        MoveWordRight => (0..times).for_each(|_| composer.go(Motion::WordRight, false)),
        MoveWordStart => (0..times).for_each(|_| composer.go(Motion::WordStart, false)),
        MoveWordLast => (0..times).for_each(|_| composer.go(Motion::WordLast, false)),
        MoveLineStart => composer.go(Motion::LineStart, false),
        MoveLineEnd => composer.go(Motion::LineEnd, false),
        MoveTextStart => composer.go(Motion::TextStart, false),
        MoveTextEnd => composer.go(Motion::TextEnd, false),
        ExtendLeft => composer.go(Motion::Left, true),
        ExtendRight => composer.go(Motion::Right, true),
        ExtendWordLeft => composer.go(Motion::WordLeft, true),
        ExtendWordRight => composer.go(Motion::WordRight, true),
        SelectDraft => composer.select_all(),
        DeleteBackward => {
            if composer.text().is_empty() && composer.reply_to.take().is_none() {
                composer.files.pop();
            } else {
                composer.delete_times(Motion::Left, times);
            }
        }
        DeleteForward => {
            let gone = composer.delete_times(Motion::Right, times);
            // In vim a letter taken out can be put back like anything else.
            killed = gone.filter(|_| is_normal);
        }
        DeleteWordBackward => killed = composer.delete_times(Motion::WordLeft, times),
        DeleteWordForward => killed = composer.delete_times(Motion::WordRight, times),
        DeleteToWordStart => killed = composer.delete_times(Motion::WordStartInLine, times),
        KillToLineStart => killed = composer.delete(Motion::KillStart),
        KillToLineEnd => killed = composer.delete(Motion::KillEnd),
        KillLine => lines = composer.delete_lines(times),
        PutAfter | PutBefore => put(composer, &kills, line_kill, action == PutAfter, times),
        Yank => (0..times).for_each(|_| composer.yank(&kills, false)),
        YankPrevious => composer.yank(&kills, true),
        Undo => {
            let _ = (0..times).all(|_| composer.undo());
        }
        Redo => {
            let _ = (0..times).all(|_| composer.redo());
        }
        RemoveAttachment => {
            composer.files.pop();
        }
        CancelReply => composer.reply_to = None,
        OpenPaste => {
            composer.unfold();
        }
        CopyLine => lines = Some(composer.lines_text(times).to_owned()),
        NormalMode => {
            composer.unselect();
            state.screen.is_normal = true;
            return Vec::new();
        }
        VisualMode => composer.begin_visual(false),
        VisualLines => composer.begin_visual(true),
        InsertMode => is_insert = true,
        InsertAfter => {
            composer.go(Motion::Right, false);
            is_insert = true;
        }
        InsertLineStart => {
            composer.go(Motion::LineStart, false);
            is_insert = true;
        }
        InsertLineEnd => {
            composer.go(Motion::LineEnd, false);
            is_insert = true;
        }
        OpenBelow => {
            composer.go(Motion::LineEnd, false);
            composer.insert("\n");
            is_insert = true;
        }
        OpenAbove => {
            composer.go(Motion::LineStart, false);
            composer.insert("\n");
            composer.go(Motion::Left, false);
            is_insert = true;
        }
        ChangeWord => {
            killed = composer.delete_times(Motion::WordRight, times);
            is_insert = true;
        }
        ChangeLineEnd => {
            killed = composer.delete(Motion::LineEnd);
            is_insert = true;
        }
        ChangeLine => {
            lines = composer.empty_lines(times);
            is_insert = true;
        }
        _ => {}
    }
    if is_insert {
        state.screen.is_normal = false;
    }
    match lines {
        Some(lines) => remember_lines(state, lines),
        None => remember_kill(state, killed),
    }
    drawer::refresh(state)
}

/// Puts the newest of what was deleted or copied back: lines as lines, anything else at the caret.
fn put(composer: &mut Composer, kills: &[String], is_lines: bool, after: bool, times: usize) {
    let lines = kills.last().and_then(|text| text.strip_suffix('\n'));
    match lines.filter(|_| is_lines) {
        Some(lines) if after => composer.put_lines_below(lines, times),
        Some(lines) => composer.put_lines_above(lines, times),
        None => {
            if after {
                composer.go_behind();
            }
            (0..times).for_each(|_| composer.yank(kills, false));
        }
    }
}

/// What an action means while a visual selection is being made; none when it means the same as ever.
fn visual(state: &mut State, action: Action, times: usize) -> Option<Vec<Effect>> {
    use Action::*;
    let composer = composer(state).filter(|composer| composer.is_visual())?;
    let motion = match action {
        MoveLeft => Some(Motion::Left),
        MoveRight => Some(Motion::Right),
        MoveWordLeft => Some(Motion::WordLeft),
        // The end of a selection lies behind the letter that the motion leads onto.
        MoveWordRight | MoveWordLast => Some(Motion::WordRight),
        MoveWordStart => Some(Motion::WordStart),
        MoveLineStart => Some(Motion::LineStart),
        MoveLineEnd => Some(Motion::LineEnd),
        MoveTextStart => Some(Motion::TextStart),
        MoveTextEnd => Some(Motion::TextEnd),
        _ => None,
    };
    if let Some(motion) = motion {
        composer.extend_visual(motion, times);
        return Some(Vec::new());
    }
    let lines = times.cast_signed();
    let by_lines = composer.is_visual_by_lines();
    let killed = match action {
        MoveUp => {
            composer.extend_visual_lines(-lines);
            return Some(Vec::new());
        }
        MoveDown => {
            composer.extend_visual_lines(lines);
            return Some(Vec::new());
        }
        NormalMode => {
            composer.end_visual();
            return Some(Vec::new());
        }
        CopySelected => composer.copy_visual(),
        DeleteSelected => composer.delete_visual(false),
        ChangeSelected => {
            let gone = composer.delete_visual(true);
            state.screen.is_normal = false;
            gone
        }
        _ => return None,
    };
    match killed {
        Some(killed) if by_lines => remember_lines(state, killed),
        killed => remember_kill(state, killed),
    }
    Some(drawer::refresh(state))
}

fn edit(state: &mut State, change: impl Fn(&mut Composer) -> Option<String>) -> Vec<Effect> {
    if let Some(composer) = composer(state) {
        change(composer);
    }
    drawer::refresh(state)
}

fn remember_kill(state: &mut State, killed: Option<String>) {
    let Some(killed) = killed.filter(|text| !text.is_empty()) else {
        return;
    };
    state.screen.kills_lines = false;
    let kills = &mut state.screen.kills;
    kills.push(killed);
    let extra = kills.len().saturating_sub(KILLS);
    kills.drain(..extra);
}

/// Lines are remembered with a break behind the last.
fn remember_lines(state: &mut State, lines: String) {
    remember_kill(state, Some(lines + "\n"));
    state.screen.kills_lines = true;
}

/// Types or pastes text into the draft on screen; a paste never sends.
pub fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    let Some(composer) = composer(state) else {
        return Vec::new();
    };
    composer.paste(text);
    let effects = drawer::refresh(state);
    drawer::offer(state, text);
    effects
}

fn composer_columns(state: &State) -> usize {
    match state.screen.composer_columns {
        0 => 80,
        columns => usize::from(columns),
    }
}

/// Moves by rows as they are drawn; past the first and last lies the history.
fn rows(state: &mut State, rows: isize) -> Vec<Effect> {
    let columns = composer_columns(state);
    let Some(composer) = composer(state) else {
        return Vec::new();
    };
    if composer.go_rows(rows, columns) {
        return Vec::new();
    }
    if rows < 0 {
        older(state)
    } else {
        composer.newer();
        Vec::new()
    }
}

fn older(state: &mut State) -> Vec<Effect> {
    let Some((account, id)) = state.focus.clone() else {
        return Vec::new();
    };
    let Some(composer) = composer(state) else {
        return Vec::new();
    };
    match composer.older() {
        HistoryStep::Moved => {
            composer.drawer = None;
            Vec::new()
        }
        HistoryStep::End => Vec::new(),
        HistoryStep::NeedsStore => {
            composer.awaits_inputs = true;
            vec![Effect::Look(Lookup::Inputs {
                account: Some(account),
                conversation: Some(id),
                containing: String::new(),
                limit: INPUTS,
            })]
        }
    }
}

fn edit_externally(state: &mut State) -> Vec<Effect> {
    let Some((account, conversation)) = state.focus.clone() else {
        return Vec::new();
    };
    let text = composer(state).map_or_else(String::new, |c| c.text().to_owned());
    vec![Effect::Edit {
        account,
        conversation,
        text,
    }]
}

/// How long the draft on screen is and may be, once that comes near.
pub fn limit(state: &State) -> Option<(usize, usize)> {
    let (account, _, conversation) = state.focused()?;
    let most = account.account.capabilities.text_limit?;
    // Counting is only worth it when the bytes allow the characters.
    if conversation.composer.text().len() * 100 < most * NEAR {
        return None;
    }
    let used = conversation.composer.characters();
    (used * 100 >= most * NEAR).then_some((used, most))
}

/// Ctrl+C: clears what is written, else stops the run, else asks whether to quit. What is cleared
/// goes to undo, to the kill ring, and to the history of inputs on disk.
fn clear_or_stop_or_quit(state: &mut State, now: Moment) -> Vec<Effect> {
    let Some((account, id)) = state.focus.clone() else {
        return ask_quit(state, now);
    };
    let Some(of) = state.conversation_mut(&account, &id) else {
        return ask_quit(state, now);
    };
    if !of.composer.is_empty() || of.composer.reply_to.is_some() {
        let text = of.composer.take();
        of.composer.remember_input(&text);
        of.composer.reply_to = None;
        of.composer.files.clear();
        state.screen.quit_asked = None;
        if !text.trim().is_empty() {
            state.write_fully(Write::Input {
                account,
                conversation: id,
                text: text.clone(),
                at_ms: now.wall_ms,
            });
            remember_kill(state, Some(text));
            state.say(Severity::Done, "Cleared; Up or undo brings it back.");
        }
        return vec![state.commit(Vec::new())];
    }
    let is_stopping = of
        .run
        .as_ref()
        .is_some_and(|run| run.phase == RunPhase::Cancelling);
    let can_stop = !is_stopping && runs::can_stop(state, &account, &id);
    if can_stop && state.screen.quit_asked.is_none() {
        // A second press is meant for the program.
        state.screen.quit_asked = Some(now);
        return places::stop_run(state, now);
    }
    ask_quit(state, now)
}

fn ask_quit(state: &mut State, now: Moment) -> Vec<Effect> {
    let is_again = state
        .screen
        .quit_asked
        .is_some_and(|asked| now.since(asked) < AGAIN);
    if is_again {
        return quit(state, now);
    }
    state.screen.quit_asked = Some(now);
    let dying = runs::dying(state);
    match dying.first() {
        Some((account, id, _)) => {
            let place = state.place_of(account, id);
            state.say(
                Severity::Warning,
                format!("Press Ctrl+C again to quit; the agent at work in {place} ends with it."),
            );
        }
        None => state.say(Severity::Info, "Press Ctrl+C again to quit."),
    }
    vec![Effect::Wake(now.after(AGAIN))]
}

/// Whether a popup vanished under the fingers a moment ago. Once: who presses again means it.
fn was_for_a_popup(state: &mut State, now: Moment) -> bool {
    let gone = state.screen.popup_gone.take();
    gone.is_some_and(|gone| now.since(gone) < AFTER_POPUP)
        && composer(state).is_some_and(|composer| !composer.is_empty())
}

fn send(state: &mut State, now: Moment, mode: SendMode) -> Vec<Effect> {
    if drawer::is_chosen(state) {
        return drawer::accept(state);
    }
    let Some((account, id)) = state.focus.clone() else {
        let words = super::nowhere(state);
        state.say(Severity::Info, words);
        return Vec::new();
    };
    let Some(of) = state.conversation_mut(&account, &id) else {
        return Vec::new();
    };
    // A backslash before Enter is a line break, on terminals that have no other way to type one.
    if mode == SendMode::Ordinary {
        let before = &of.composer.text()[..of.composer.caret()];
        let slashes = before.bytes().rev().take_while(|b| *b == b'\\').count();
        if slashes % 2 == 1 {
            of.composer.delete(Motion::Left);
            of.composer.insert("\n");
            return Vec::new();
        }
    }
    let text = of.composer.text().to_owned();
    if text.trim().is_empty() && of.composer.files.is_empty() {
        return Vec::new();
    }
    if of.composer.files.iter().any(|file| file.facts.is_none()) {
        state.say(
            Severity::Info,
            "A file is still being looked at; try again in a moment.",
        );
        return Vec::new();
    }
    let Some(of) = state.account(&account) else {
        return Vec::new();
    };
    let mut mode = mode;
    match slash::read(of, &text) {
        Typed::Local(command, argument) => return local(state, now, command, &argument),
        Typed::Server => {
            let word = slash::command_word(&text).unwrap_or("");
            // What is not complete yet is completed first; what nobody knows goes as typed.
            if mode == SendMode::Ordinary
                && !slash::is_known(of, word)
                && drawer::is_open(state)
                && text.trim() == word
            {
                return drawer::accept(state);
            }
            mode = SendMode::Now;
        }
        // A slash alone is the start of a command: the drawer's first row, else nothing.
        Typed::Text if text.trim() == "/" => {
            if drawer::is_open(state) {
                return drawer::accept(state);
            }
            state.say(
                Severity::Info,
                "A slash alone is no message; a command follows it, and // sends a slash.",
            );
            return Vec::new();
        }
        Typed::Text => {
            let answers = of.decisions.iter().any(|decision| {
                decision.conversation == id
                    && decision.life.is_open()
                    && decision.way == AnswerWay::Composer
            });
            if answers && mode == SendMode::Ordinary {
                mode = SendMode::Now;
            }
            if mode == SendMode::Ordinary
                && let Some(question) = decisions::asking(state, &account, &id).cloned()
            {
                return reply(state, now, &account, &question, text);
            }
        }
    }
    state.screen.is_normal = false;
    outbox::send(state, now, &account, &id, mode)
}

/// Answers the question of an agent with the draft: what is typed below it is meant for it, and would
/// wait behind it for ever.
fn reply(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    question: &Decision,
    text: String,
) -> Vec<Effect> {
    if now.since(question.asked_at) < AFTER_POPUP {
        state.say(
            Severity::Warning,
            "Not sent: the agent has just asked something. The same key answers it now.",
        );
        return Vec::new();
    }
    let answer = Answer::Text(text.trim().to_owned());
    let mut effects = decisions::answer(state, now, account, &question.id, answer);
    if effects.is_empty() {
        // It says why, and the draft stays.
        return effects;
    }
    if let Some(composer) = composer(state) {
        composer.take();
        composer.remember_input(&text);
    }
    state.screen.is_normal = false;
    state.write(Write::Input {
        account: account.clone(),
        conversation: question.conversation.clone(),
        text,
        at_ms: now.wall_ms,
    });
    effects.push(state.commit(Vec::new()));
    effects
}

/// Carries out one of our own slash commands.
fn local(state: &mut State, now: Moment, command: LocalCommand, argument: &str) -> Vec<Effect> {
    let Some((account, id)) = state.focus.clone() else {
        return Vec::new();
    };
    if let Some(composer) = composer(state) {
        let text = composer.take();
        composer.remember_input(&text);
    }
    let prompted = match command.then {
        Local::Perform(action) => return super::perform(state, now, action),
        Local::Search => {
            let effects = search::open(state, false);
            return match popups::insert(state, argument) {
                Some(more) if !argument.is_empty() => more,
                _ => effects,
            };
        }
        Local::New => (Action::NewConversation, Prompted::NewConversation(account)),
        Local::Thread => (Action::NewThread, Prompted::NewThread(account, id)),
        Local::Rename => (Action::RenameConversation, Prompted::Rename(account, id)),
        Local::Attach => (Action::AttachFile, Prompted::AttachPath(account, id)),
        Local::Date => (Action::GoToDate, Prompted::JumpToDate(account, id)),
    };
    let (action, then) = prompted;
    let reason = crate::app::screen::palette::refusal(state, action);
    if argument.is_empty() || reason.is_some() {
        return super::perform(state, now, action);
    }
    match crate::app::screen::prompt::entered(state, now, then, argument) {
        Ok(effects) => effects,
        Err(error) => {
            state.say(Severity::Warning, error);
            Vec::new()
        }
    }
}

/// Takes what the editor left.
pub fn on_edited(
    state: &mut State,
    account: &crate::domain::AccountId,
    conversation: &crate::domain::ConversationId,
    text: Option<String>,
) {
    let Some(text) = text else {
        state.say(
            Severity::Info,
            "The editor left no text; the draft is as it was.",
        );
        return;
    };
    if let Some(of) = state.conversation_mut(account, conversation) {
        // Editors end the last line; the draft need not.
        let text = crate::input::paste::clean(text.strip_suffix('\n').unwrap_or(&text));
        of.composer.put(&text, text.len());
    }
    state.screen.pane = Pane::Composer;
    state.redraw(crate::app::state::Redraw::Now);
}

/// The selected part of the draft, to be copied.
pub(super) fn selected(state: &State) -> Option<SafeText> {
    let (_, _, conversation) = state.focused()?;
    conversation.composer.selected_text().map(SafeText::prose)
}
