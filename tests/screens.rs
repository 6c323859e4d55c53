//! Frames of representative states at four sizes. Every frame is drawn with a warm and with an
//! emptied memo, and both have to be the same. With `TRIALOGUE_PICTURES` set to a folder, each frame
//! is written there as a picture too.
#![allow(clippy::unwrap_used)]

#[path = "support/scene.rs"]
mod scene;
#[path = "screens/strips.rs"]
mod strips;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use scene::*;
use trialogue::app::State;
use trialogue::app::event::FileFacts;
use trialogue::app::screen::composer::DraftFile;
use trialogue::app::screen::overlay::{
    Confirm, Confirmed, DecisionPopup, Line, List, Overlay, Prompt, Prompted, SearchPopup, Wizard,
};
use trialogue::app::screen::{Selection, Spot, Toast};
use trialogue::app::state::{AccountField, AccountKind};
use trialogue::domain::*;
use trialogue::text::SafeText;
use trialogue::view::picture::{Picture, Sharp};
use trialogue::view::{Depth, Drawn, Memo, Theme, draw, selected_text};

const SIZES: [(u16, u16); 4] = [(60, 18), (80, 24), (120, 40), (200, 60)];

fn frame(state: &State, columns: u16, rows: u16, theme: &Theme) -> (Buffer, Drawn) {
    let area = Rect::new(0, 0, columns, rows);
    let mut memo = Memo::default();
    let mut cold = Buffer::empty(area);
    let facts = draw(state, &mut memo, theme, &mut cold);
    let mut warm = Buffer::empty(area);
    let again = draw(state, &mut memo, theme, &mut warm);
    assert_eq!(cold, warm, "a warm memo changed the frame");
    assert_eq!(facts, again, "a warm memo changed the facts");
    memo.clear();
    let mut emptied = Buffer::empty(area);
    draw(state, &mut memo, theme, &mut emptied);
    assert_eq!(cold, emptied, "an emptied memo changed the frame");
    (cold, facts)
}

/// The text of a frame; the cell of the cursor is named below.
fn text(buffer: &Buffer, drawn: &Drawn) -> String {
    let area = buffer.area;
    let mut out = String::new();
    for y in 0..area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += trialogue::text::width(symbol).max(1) as u16;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if let Some((column, row)) = drawn.cursor {
        out.push_str(&format!("cursor at {column},{row}\n"));
    }
    out
}

fn check(name: &str, state: &State) {
    for (columns, rows) in SIZES {
        check_at(name, state, columns, rows);
    }
}

fn check_at(name: &str, state: &State, columns: u16, rows: u16) {
    let theme = Theme::named(&state.settings.theme, Depth::TrueColor).unwrap();
    let mut state = state.clone();
    state.screen.columns = columns;
    state.screen.rows = rows;
    let (buffer, drawn) = frame(&state, columns, rows, &theme);
    let name = format!("{name}_{columns}x{rows}");
    if let Ok(folder) = std::env::var("TRIALOGUE_PICTURES") {
        let picture = trialogue::view::svg(&buffer, &theme);
        std::fs::write(format!("{folder}/{name}.svg"), picture).unwrap();
    }
    insta::assert_snapshot!(name, text(&buffer, &drawn));
}

#[test]
fn a_chat_with_everything() {
    check("everything", &busy());
}

#[test]
fn a_chat_in_the_light_and_in_plain_ascii() {
    let mut state = busy();
    state.settings.theme = "light".to_owned();
    check_at("light", &state, 120, 40);
    state.settings.ascii = true;
    check_at("ascii", &state, 120, 40);
}

#[test]
fn an_answer_that_streams() {
    let mut state = busy();
    let conversation = here(&mut state);
    conversation.run = Some(Run {
        id: RunId::new("r1"),
        phase: RunPhase::Working,
        is_stated: true,
        command: None,
        started: before(7),
        last_activity: before(0),
        stopping_since: None,
    });
    let mut chat = everything();
    let answer = chat.agent("The tests need a running database, so I start one and");
    answer.is_streaming = true;
    conversation.timeline.entries = chat.entries;
    let mut call = ToolCall::new(ToolCallId::new("t"), safe("terminal"));
    call.preview = safe("docker compose up -d db");
    call.started = Some(before(4));
    conversation.running_tools.push(call);
    let todo = |content: &str, status| Todo {
        id: content.to_owned(),
        content: safe(content),
        status,
    };
    conversation.todos = vec![
        todo("read log", TodoStatus::Completed),
        todo("find crate", TodoStatus::Completed),
        todo("patch manifest", TodoStatus::InProgress),
        todo("run the tests", TodoStatus::Pending),
    ];
    conversation
        .composer
        .insert("and then commit it, with a message that says what changed");
    check("streaming", &state);
}

#[test]
fn a_run_from_which_nothing_comes_says_so_and_offers_a_way_out() {
    for (seconds, said) in [
        (5, None),
        (40, Some("quiet for 40 s")),
        (150, Some("it may be stuck")),
    ] {
        let mut state = busy();
        here(&mut state).run = Some(Run {
            id: RunId::new("r1"),
            phase: RunPhase::Working,
            is_stated: true,
            command: None,
            started: before(seconds + 1),
            last_activity: before(seconds),
            stopping_since: None,
        });
        let theme = Theme::named("dark", Depth::TrueColor).unwrap();
        let (buffer, drawn) = frame(&state, 120, 40, &theme);
        let shown = text(&buffer, &drawn);
        for words in ["quiet for 40 s", "it may be stuck"] {
            assert_eq!(shown.contains(words), said == Some(words), "{shown}");
        }
        assert_eq!(shown.contains("stops it"), seconds >= 120, "{shown}");
    }
}

#[test]
fn an_approval_waits_in_its_bar() {
    let mut state = busy();
    let decision = approval("d1", "c-research", "rm -rf build\ncargo build --release");
    state.accounts[0].decisions.push(decision);
    check("approval_bar", &state);
}

#[test]
fn deliveries_that_went_wrong() {
    let mut state = busy();
    let mut chat = Chat::new(20);
    chat.you("one that was read", Delivery::Read);
    chat.you("one that was taken", Delivery::Accepted);
    chat.you("one on its way", Delivery::InFlight);
    chat.you("one of which nobody knows", Delivery::Uncertain);
    let refusal = Refusal::new(
        RefusalCode::TooLarge,
        "The server takes 64,000 characters at most",
    );
    chat.you("one that was refused", Delivery::Failed(refusal));
    chat.ended(RunOutcome::Failed {
        error: safe("the provider answered 529: overloaded"),
        hint: safe("Try again in a minute, or choose another model."),
        details: safe(""),
    });
    chat.gap();
    here(&mut state).timeline.entries = chat.entries;
    check("deliveries", &state);
}

#[test]
fn what_a_failure_says_in_detail_is_one_fold_away() {
    let mut state = busy();
    let mut chat = Chat::new(20);
    chat.you("what is new?", Delivery::Read);
    chat.ended(RunOutcome::Failed {
        error: safe("The agent could not be reached."),
        hint: safe("Send it again."),
        details: safe("acp: session/prompt failed: ECONNRESET\n  at connect (adapter.js:41)"),
    });
    let key = chat.entries.last().unwrap().key;
    here(&mut state).timeline.entries = chat.entries;
    check_at("failure_folded", &state, 80, 24);
    here(&mut state).toggled.push(key);
    check_at("failure_unfolded", &state, 80, 24);
}

#[test]
fn a_screen_without_accounts() {
    check("empty", &empty());
}

/// The words of a frame, without what the state is checked for elsewhere.
fn words(state: &State, columns: u16, rows: u16) -> String {
    let theme = Theme::named(&state.settings.theme, Depth::TrueColor).unwrap();
    let mut state = state.clone();
    state.screen.columns = columns;
    state.screen.rows = rows;
    let (buffer, drawn) = frame(&state, columns, rows, &theme);
    text(&buffer, &drawn)
}

#[test]
fn a_screen_without_conversations_says_what_helps() {
    let mut state = busy();
    state.focus = None;
    for account in &mut state.accounts {
        account.conversations.clear();
        account.decisions.clear();
        account.account.capabilities.create_conversation = Support::Yes;
    }
    assert!(words(&state, 120, 40).contains("No conversation yet. Ctrl+X n begins one."));
    for account in &mut state.accounts {
        account.account.capabilities.create_conversation = Support::Unknown;
    }
    let shown = words(&state, 120, 40);
    assert!(shown.contains("No conversation yet. They come once an account is connected."));
}

#[test]
fn a_key_for_another_way_is_named_only_where_there_is_one() {
    let with = |state: &State, overlay: Overlay| {
        let mut state = state.clone();
        state.screen.overlays.push(overlay);
        let shown = words(&state, 120, 40);
        shown.contains(" Tab ")
    };
    let mut state = busy();
    let switcher = Overlay::Switcher {
        filter: Line::default(),
        list: List::default(),
    };
    let palette = Overlay::Palette {
        filter: Line::default(),
        list: List::default(),
    };
    assert!(!with(&state, switcher));
    assert!(!with(&state, palette));
    let search = || Overlay::Search(SearchPopup::default());
    for account in &mut state.accounts {
        account.account.link = LinkState::Ready;
        account.account.capabilities.server_search = Support::Yes;
    }
    assert!(with(&state, search()));
    for account in &mut state.accounts {
        account.account.capabilities.server_search = Support::No("it cannot");
    }
    assert!(!with(&state, search()));
}

#[test]
fn a_short_text_takes_no_more_room_than_it_needs() {
    let mut state = busy();
    state.screen.overlays.push(Overlay::Document {
        title: safe("A run"),
        body: safe("It is over."),
        scroll: 0,
    });
    let shown = words(&state, 120, 40);
    let edge = |mark: char| {
        let rows = shown.lines().enumerate();
        let at = |(at, row): (usize, &str)| row.contains(mark).then_some(at);
        rows.map(at).find(Option::is_some).flatten().unwrap()
    };
    assert_eq!(edge('╯') - edge('╮'), 4, "{shown}");
}

#[test]
fn no_size_breaks_the_frame() {
    let state = busy();
    let theme = Theme::named("dark", Depth::TrueColor).unwrap();
    for (columns, rows) in [
        (0, 0),
        (1, 1),
        (5, 2),
        (20, 5),
        (30, 8),
        (39, 9),
        (40, 10),
        (40, 60),
        (89, 11),
        (90, 10),
        (300, 100),
    ] {
        frame(&state, columns, rows, &theme);
    }
    check_at("too_small", &state, 38, 9);
    check_at("least", &state, 40, 10);
}

fn popup(name: &str, state: &State, overlay: Overlay) {
    let mut state = state.clone();
    state.screen.overlays.push(overlay);
    for (columns, rows) in [(60, 18), (80, 24), (120, 40)] {
        check_at(name, &state, columns, rows);
    }
}

fn decision_popup(id: &str) -> DecisionPopup {
    DecisionPopup {
        account: "iris".into(),
        decision: DecisionId::new(id),
        painted: Some(before(3)),
        selected: 3,
        scroll: 0,
        end_seen: false,
        always_asked: false,
        typing: None,
    }
}

#[test]
fn the_popup_of_an_approval() {
    let mut state = busy();
    let decision = approval("d1", "c-research", "rm -rf build\ncargo build --release");
    state.accounts[0].decisions.push(decision);
    popup("approval", &state, Overlay::Decision(decision_popup("d1")));
}

#[test]
fn a_long_command_scrolls_and_its_choices_stay() {
    let mut state = busy();
    let mut command: String = (1..200).map(|n| format!("echo step {n}\n")).collect();
    command.push_str("rm -rf x");
    state.accounts[0]
        .decisions
        .push(approval("d1", "c-research", &command));
    let mut shown = decision_popup("d1");
    popup("approval_long", &state, Overlay::Decision(shown.clone()));
    shown.scroll = u16::MAX;
    shown.typing = Some(Line {
        text: "not now".to_owned(),
        caret: 7,
    });
    state.screen.overlays.push(Overlay::Decision(shown));
    let theme = Theme::named("dark", Depth::TrueColor).unwrap();
    let (buffer, drawn) = frame(&state, 72, 12, &theme);
    assert!(text(&buffer, &drawn).contains("rm -rf x"));
    assert!(drawn.facts.unwrap().decision_end_seen);
}

#[test]
fn a_command_of_one_long_line_leaves_the_choices_on_the_screen() {
    let mut state = busy();
    state.accounts[0]
        .decisions
        .push(approval("d1", "c-research", &"a".repeat(8000)));
    state
        .screen
        .overlays
        .push(Overlay::Decision(decision_popup("d1")));
    let theme = Theme::named("dark", Depth::TrueColor).unwrap();
    let (buffer, drawn) = frame(&state, 60, 15, &theme);
    let shown = text(&buffer, &drawn);
    for choice in ["Once", "This session", "Always", "Deny"] {
        assert!(shown.contains(choice), "{choice} is missing:\n{shown}");
    }
    assert!(!drawn.facts.unwrap().decision_end_seen);
}

#[test]
fn popups_that_are_lists() {
    let state = busy();
    popup(
        "palette",
        &state,
        Overlay::Palette {
            filter: Line {
                text: "mod".to_owned(),
                caret: 3,
            },
            list: List::default(),
        },
    );
    popup(
        "switcher",
        &state,
        Overlay::Switcher {
            filter: Line::default(),
            list: List {
                selected: 1,
                scroll: 0,
            },
        },
    );
    popup(
        "attention",
        &state,
        Overlay::Attention {
            list: List::default(),
        },
    );
    popup(
        "welcome",
        &empty(),
        Overlay::Welcome {
            list: List::default(),
        },
    );
}

#[test]
fn popups_to_read_and_to_answer() {
    let state = busy();
    popup(
        "help",
        &state,
        Overlay::Help {
            scroll: 0,
            filter: Line::default(),
        },
    );
    popup(
        "account",
        &state,
        Overlay::Account {
            account: "iris".into(),
            scroll: 0,
        },
    );
    popup(
        "confirm",
        &state,
        Overlay::Confirm(Confirm {
            title: safe("Delete this conversation?"),
            text: safe(
                "#research and its threads go away on the server, for every device. This can't be undone.",
            ),
            yes: safe("Delete"),
            is_yes_selected: false,
            then: Confirmed::Quit,
        }),
    );
    popup(
        "prompt",
        &state,
        Overlay::Prompt(Prompt {
            title: safe("New conversation"),
            line: Line {
                text: "Release".to_owned(),
                caret: 7,
            },
            hint: safe("Its name; you can change it later."),
            error: None,
            is_secret: false,
            then: Prompted::NewConversation("iris".into()),
        }),
    );
}

#[test]
fn leader_toasts_and_the_sidebar_over_a_narrow_screen() {
    let mut state = busy();
    state.screen.pending = vec![trialogue::input::Chord::ctrl('x')];
    state.screen.leader = true;
    state.screen.toasts.push(Toast {
        text: safe("Copied 312 characters: sent to the terminal, not confirmed."),
        severity: Severity::Done,
        until: NOW,
    });
    check_at("leader", &state, 120, 40);
    let mut state = busy();
    state.screen.sidebar.is_over = true;
    state.screen.pane = trialogue::app::screen::Pane::Sidebar;
    check_at("sidebar_over", &state, 60, 18);
}

#[test]
fn a_refused_account_says_why_and_what_to_do_at_every_size() {
    let mut state = busy();
    state.accounts[0].account.link = LinkState::Refused {
        reason: safe(
            "The server refused the secret of this account. Nothing is tried again by itself, \
             because five refused tries lock this machine out for a minute. Set the right secret \
             (`trialogue account login`), then connect again.",
        ),
    };
    let mut bare = state.clone();
    bare.focus = None;
    for (columns, rows) in SIZES {
        let theme = Theme::named(&state.settings.theme, Depth::TrueColor).unwrap();
        let seen = |state: &State| {
            let mut state = state.clone();
            state.screen.columns = columns;
            state.screen.rows = rows;
            let (buffer, drawn) = frame(&state, columns, rows, &theme);
            text(&buffer, &drawn)
        };
        let shown = seen(&state);
        for part in [
            "refused: The server refused the secret",
            "/account shows it and signs in",
            "/connect tries again",
        ] {
            assert!(shown.contains(part), "{part} at {columns}x{rows}:\n{shown}");
        }
        let mut details = state.clone();
        details.screen.overlays.push(Overlay::Account {
            account: "iris".into(),
            scroll: 0,
        });
        let shown = seen(&details);
        for part in ["s signs in with another secret", "r tries again"] {
            assert!(shown.contains(part), "{part} at {columns}x{rows}:\n{shown}");
        }
        let shown = seen(&bare);
        for part in ["The server refused the secret", "Alt+1 opens the account"] {
            assert!(shown.contains(part), "{part} at {columns}x{rows}:\n{shown}");
        }
    }
}

#[test]
fn tools_unfolded_files_notices_and_text_of_the_world() {
    let mut state = busy();
    let mut chat = Chat::new(20);
    chat.you(
        "zeig mir bitte die Änderung an 配置文件 👩‍👩‍👧 café",
        Delivery::Read,
    )
    .reply_to = Some(RemoteId::new("m9"));
    let call = chat.tool("patch", "src/main.rs", ToolStatus::Completed, 340);
    call.output = safe(
        "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,3 +1,3 @@\n fn main() {\n-    old();\n+    new();\n }",
    );
    let call = chat.tool("terminal", "cargo test", ToolStatus::Failed, 61_000);
    call.arguments = safe("cargo test --workspace\n--no-fail-fast");
    call.output = safe(
        &(1..40)
            .map(|n| format!("test case_{n} ... ok\n"))
            .collect::<String>(),
    );
    call.error = safe("exit status 101");
    chat.agent("I looked at the tests first.").sort = MessageSort::Commentary;
    let message = chat.agent("| name | size |\n|---|---:|\n| 配置 | 12 |\n| café | 7 |\n\n> [!NOTE]\n> Tables keep their columns.");
    message.attachments = ["a1", "a2", "a3"].map(AttachmentId::new).to_vec();
    message.reasoning = Body::new("First the table.\n\nThen the note.");
    chat.message(Author::System, "The gateway restarts in five minutes.")
        .sort = MessageSort::Notice;
    chat.message(Author::Assistant, "compressed 14 messages")
        .sort = MessageSort::Aside;
    chat.message(Author::Automation, "Nightly report: all green.");
    chat.ended(RunOutcome::Cancelled);
    let conversation = here(&mut state);
    conversation.timeline.entries = chat.entries;
    conversation.toggled = vec![MessageKey(2), MessageKey(5)];
    conversation.viewport.selected = Some(MessageKey(5));
    conversation.unread_line = Some(6 * ORDER_STEP);
    state.screen.pane = trialogue::app::screen::Pane::Timeline;
    let file = |id: &str, name: &str, kind, state| {
        let attachment = Attachment {
            id: AttachmentId::new(id),
            message: None,
            direction: Direction::In,
            name: SafeText::label(name),
            media_type: SafeText::label("image/png"),
            kind,
            size: Some(1_234_567),
            may_preview: false,
            expires_at_ms: None,
            source: AttachmentSource::Pull,
            state,
        };
        (attachment.id.clone(), attachment)
    };
    state.accounts[0].attachments = [
        file(
            "a1",
            "chart.png",
            AttachmentKind::Image,
            AttachmentState::Offered,
        ),
        file(
            "a2",
            "log.txt",
            AttachmentKind::Document,
            AttachmentState::Transferring {
                transfer: TransferId(1),
                done: 500_000,
            },
        ),
        file(
            "a3",
            "talk.ogg",
            AttachmentKind::Voice,
            AttachmentState::Failed {
                reason: safe("the disk is full"),
            },
        ),
    ]
    .into();
    check("world", &state);
    state.settings.theme = "mono".to_owned();
    check_at("world_mono", &state, 120, 60);
}

#[test]
fn text_from_right_to_left_is_isolated_from_what_stands_beside_it() {
    let mut state = busy();
    let mut chat = Chat::new(20);
    chat.agent("**שלום** with English\n\n| שם | value |\n|---|---|\n| אחד | 1 |\n\nplain");
    here(&mut state).timeline.entries = chat.entries;
    let theme = Theme::named("dark", Depth::TrueColor).unwrap();
    let (buffer, drawn) = frame(&state, 120, 40, &theme);
    let rows: Vec<String> = text(&buffer, &drawn).lines().map(str::to_owned).collect();
    let row = |part: &str| rows.iter().find(|row| row.contains(part)).unwrap();
    // A sentence as a whole, a cell by itself, and the frames between them stay outside.
    let shows = |part: &str, whole: &str| assert!(row(part).contains(whole), "{}", row(part));
    shows("English", "\u{2068}שלום with English\u{2069}");
    shows("value", "│ \u{2068}שם\u{2069}  │ value │");
    shows("אחד", "│ \u{2068}אחד\u{2069} │ 1");
    assert!(!row("plain").contains('\u{2068}'));
}

#[test]
fn a_question_and_a_picker() {
    let mut state = busy();
    let choice = |value: &str, is_current| Choice {
        value: value.to_owned(),
        label: SafeText::label(value),
        grant: Grant::Answer,
        is_current,
    };
    let mut decision = approval("d1", "c-research", "");
    decision.question = Question::Clarification {
        question: safe(
            "Which branch should I release from?\nBoth build, but only one has the fix.",
        ),
        takes_free_text: true,
    };
    decision.choices = vec![choice("main", false), choice("release/1.4", false)];
    state.accounts[0].decisions.push(decision);
    let mut shown = decision_popup("d1");
    shown.selected = 2;
    shown.typing = Some(Line {
        text: "from the tag v1.4.2".to_owned(),
        caret: 19,
    });
    popup("clarify", &state, Overlay::Decision(shown));

    let mut decision = approval("d2", "c-research", "");
    decision.question = Question::Picker {
        title: safe("Personality"),
    };
    decision.choices = (1..30)
        .map(|n| choice(&format!("voice number {n}"), n == 4))
        .collect();
    state.accounts[0].decisions.push(decision);
    popup("picker", &state, Overlay::Decision(decision_popup("d2")));
}

#[test]
fn what_the_mouse_selected_is_marked_and_told_without_frames() {
    let mut state = busy();
    let spot = |key, row, column| Spot {
        key: MessageKey(key),
        row,
        column,
    };
    state.screen.selection = Some(Selection {
        from: spot(7, 9, 3),
        to: spot(7, 4, 0),
        is_dragging: false,
    });
    state.screen.marked = Some(safe("build"));
    let theme = Theme::named("dark", Depth::TrueColor).unwrap();
    let selected = selected_text(
        &state,
        &mut Memo::default(),
        &theme,
        Rect::new(0, 0, 120, 40),
    );
    assert_eq!(
        selected.as_deref(),
        Some("[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\n\nThen")
    );
    check_at("selection", &state, 120, 40);
}

#[test]
fn the_line_that_is_read_stays_while_text_streams_and_the_width_changes() {
    let mut state = busy();
    let theme = Theme::named("dark", Depth::TrueColor).unwrap();
    here(&mut state).viewport.delta = -6;
    let (_, drawn) = frame(&state, 80, 24, &theme);
    let facts = drawn.facts.unwrap();
    let conversation = here(&mut state);
    conversation.viewport.anchor = facts.anchor;
    conversation.viewport.delta = 0;
    let first = |state: &State, columns| {
        let (buffer, drawn) = frame(state, columns, 24, &theme);
        let row = text(&buffer, &drawn)
            .lines()
            .nth(1)
            .unwrap_or_default()
            .to_owned();
        (row, drawn.facts.unwrap().first_seen)
    };
    let before = first(&state, 80);
    let mut chat = everything();
    chat.agent(&"more and more\n\n".repeat(50)).is_streaming = true;
    here(&mut state).timeline.entries = chat.entries;
    assert_eq!(first(&state, 80), before);
    assert_eq!(first(&state, 72).1, before.1);
}

#[test]
fn the_bare_view_and_the_whole_todo_list() {
    let mut state = busy();
    here(&mut state).todos = (1..8)
        .map(|n| Todo {
            id: n.to_string(),
            content: safe(&format!("step number {n}")),
            status: if n < 3 {
                TodoStatus::Completed
            } else {
                TodoStatus::Pending
            },
        })
        .collect();
    state.screen.todos_open = true;
    check_at("todos", &state, 80, 24);
    state.screen.is_bare = true;
    check_at("bare", &state, 80, 24);
    state.screen.is_bare = false;
    state.screen.is_zen = true;
    check_at("zen", &state, 200, 60);
}

#[test]
fn every_theme_as_a_picture() {
    let mut state = busy();
    for (name, _) in trialogue::view::theme::SHIPPED {
        state.settings.theme = (*name).to_owned();
        let theme = Theme::named(name, Depth::TrueColor).unwrap();
        let (buffer, _) = frame(&state, 120, 40, &theme);
        if let Ok(folder) = std::env::var("TRIALOGUE_PICTURES") {
            let picture = trialogue::view::svg(&buffer, &theme);
            std::fs::write(format!("{folder}/theme_{name}.svg"), picture).unwrap();
        }
    }
}

#[test]
fn the_drawer_the_wizard_and_the_chips_of_a_draft() {
    let mut state = busy();
    state.accounts[0].catalog = ["/model", "/compress", "/memory", "/mode"]
        .iter()
        .map(|name| SlashCommand {
            name: SafeText::label(name),
            description: safe("what this command of the server does"),
            arguments_hint: safe("[name]"),
            category: safe("session"),
            ..SlashCommand::default()
        })
        .collect();
    let key = |state: &mut State, c: char| {
        let chord = trialogue::input::Chord::plain(trialogue::input::Key::Char(c));
        let _ = trialogue::app::keys::on_key(state, NOW, chord);
    };
    for c in "/mo".chars() {
        key(&mut state, c);
    }
    check("drawer", &state);

    let mut state = busy();
    let composer = &mut here(&mut state).composer;
    composer.reply_to = Some(RemoteId::new("m7"));
    composer.files.push(DraftFile {
        path: "/home/me/report.pdf".into(),
        facts: Some(FileFacts {
            path: "/home/me/report.pdf".into(),
            name: "report.pdf".to_owned(),
            size: 812_000,
            media_type: "application/pdf".to_owned(),
            kind: AttachmentKind::Document,
        }),
    });
    composer.insert("Look at this: ");
    composer.paste(&"one line of a log\n".repeat(40));
    composer.insert(
        " what do you make of it? 配置文件 is what I mean, and the line goes on until it wraps",
    );
    check("chips", &state);

    let mut state = empty();
    let field = |title: &str, hint: &str, is_secret| AccountField {
        name: title.to_lowercase(),
        title: SafeText::label(title),
        hint: safe(hint),
        is_secret,
        is_required: !is_secret,
    };
    state.kinds = vec![AccountKind {
        name: "pheby".to_owned(),
        title: safe("Pheby server"),
        hint: safe("an agent behind a WebSocket"),
        fields: vec![
            field("Name", "what the sidebar calls it", false),
            field(
                "Address",
                "a host, or a URL that begins with ws or http",
                false,
            ),
            field("Secret", "it goes into the keyring", true),
        ],
    }];
    popup(
        "wizard",
        &state,
        Overlay::Wizard(Box::new(Wizard {
            kind: Some(0),
            fields: ["vps", "agent.example.org", "secret"]
                .map(|text| Line {
                    text: text.to_owned(),
                    caret: text.len(),
                })
                .to_vec(),
            focused: 3,
            result: Some(Err(safe(
                "The server refused the secret. Check it, or ask for a new one.",
            ))),
            ..Wizard::default()
        })),
    );
}

#[test]
fn a_link_that_is_down_a_queue_and_an_agent_that_asks_nobody() {
    let mut state = busy();
    state.focus = Some(("omi".into(), "o1".into()));
    check_at("offline", &state, 120, 40);
    check_at("offline", &state, 60, 18);
    let mut state = busy();
    let conversation = here(&mut state);
    conversation.auto_approve = true;
    conversation.run = Some(Run {
        id: RunId::new("r1"),
        phase: RunPhase::Working,
        is_stated: true,
        command: None,
        started: before(200),
        last_activity: before(48),
        stopping_since: None,
    });
    conversation.viewport.delta = -12;
    conversation.viewport.new_below = 3;
    for (at, text) in ["and write the notes", "then tell me"].iter().enumerate() {
        state.accounts[0].outbox.push(OutboxRecord {
            key: MessageKey(900 + at as u64),
            account: "iris".into(),
            conversation: "c-research".into(),
            text: (*text).to_owned(),
            files: Vec::new(),
            reply_to: None,
            auto_thread: false,
            delivery: Delivery::Queued,
            created_ms: NOW.wall_ms,
            instance: 1,
            position: at as i64,
        });
    }
    check_at("queue", &state, 80, 24);
    check_at("queue", &state, 120, 40);
}

#[test]
fn a_picture_is_wished_for_once_and_then_drawn() {
    let mut state = busy();
    let mut chat = everything();
    chat.agent("Here is the chart.").attachments = vec![AttachmentId::new("a1")];
    here(&mut state).timeline.entries = chat.entries;
    let picture = Attachment {
        id: AttachmentId::new("a1"),
        message: None,
        direction: Direction::In,
        name: safe("chart.png"),
        media_type: safe("image/png"),
        kind: AttachmentKind::Image,
        size: Some(4_000),
        may_preview: true,
        expires_at_ms: None,
        source: AttachmentSource::Pull,
        state: AttachmentState::Present {
            path: "/cache/chart.png".into(),
        },
    };
    state.accounts[0]
        .attachments
        .insert(picture.id.clone(), picture);
    let theme = Theme::named("dark", Depth::TrueColor).unwrap();
    let area = Rect::new(0, 0, 100, 30);
    let mut memo = Memo::default();
    let mut buffer = Buffer::empty(area);
    let drawn = draw(&state, &mut memo, &theme, &mut buffer);
    let [wish] = drawn.pictures.as_slice() else {
        panic!("one picture is in sight");
    };
    let pixels: Vec<u8> = (0..20 * 10).flat_map(|n| [n as u8, 80, 160]).collect();
    memo.picture(
        wish,
        Some(Picture {
            width: 20,
            height: 10,
            pixels: pixels.into(),
            sharp: None,
        }),
    );
    let drawn = draw(&state, &mut memo, &theme, &mut buffer);
    assert!(drawn.pictures.is_empty());
    let shown = text(&buffer, &drawn);
    assert_eq!(shown.matches(&"▀".repeat(20)).count(), 5, "{shown}");
    state.settings.ascii = true;
    let drawn = draw(&state, &mut memo, &theme, &mut buffer);
    assert!(!text(&buffer, &drawn).contains('▀'));
}

#[test]
fn an_icon_stands_for_the_mark_of_its_conversation() {
    let mut state = busy();
    here(&mut state).info.appearance.icon = Some(vec![1, 2, 3].into());
    let theme = Theme::named("dark", Depth::TrueColor).unwrap();
    let area = Rect::new(0, 0, 120, 30);
    let mut memo = Memo::default();
    let mut buffer = Buffer::empty(area);
    let drawn = draw(&state, &mut memo, &theme, &mut buffer);
    let [wish] = drawn.pictures.as_slice() else {
        panic!("one icon is in sight: {:?}", drawn.pictures);
    };
    assert_eq!((wish.columns, wish.rows), (2, 1));
    let made = |sharp| {
        Some(Picture {
            width: 2,
            height: 2,
            pixels: vec![200; 12].into(),
            sharp,
        })
    };
    // Half blocks are too coarse for so few cells: the mark stays.
    memo.picture(wish, made(None));
    let drawn = draw(&state, &mut memo, &theme, &mut buffer);
    assert!(drawn.pictures.is_empty());
    let shown = text(&buffer, &drawn);
    assert!(!shown.contains('▀'), "{shown}");
    // In the sidebar and before the title.
    memo.picture(wish, made(Some(Sharp::Strips(vec!["…".into()].into()))));
    let drawn = draw(&state, &mut memo, &theme, &mut buffer);
    assert_eq!(drawn.graphics.len(), 2, "{:?}", drawn.graphics);
    // Other bytes are another icon.
    here(&mut state).info.appearance.icon = Some(vec![4, 5, 6, 7].into());
    let drawn = draw(&state, &mut memo, &theme, &mut buffer);
    assert_eq!(drawn.pictures.len(), 1);
}
