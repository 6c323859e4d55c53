//! One script for each row of the key table.

use super::desk::*;

#[test]
fn enter_sends_and_the_other_ways_break_the_line() {
    let mut desk = Desk::new();
    desk.text("one")
        .press("ctrl-j")
        .text("two")
        .press("alt-enter");
    desk.text("three")
        .press("shift-enter")
        .text("four\\")
        .press("enter");
    desk.text("five");
    assert_eq!(desk.draft(), "one\ntwo\nthree\nfour\nfive");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    desk.press("enter");
    assert!(has(
        &desk.said(),
        "send a \"one\\ntwo\\nthree\\nfour\\nfive\""
    ));
    assert_eq!(desk.draft(), "");
}

#[test]
fn escape_closes_then_leaves_then_asks_then_stops() {
    let mut desk = Desk::new();
    desk.messages(&["x"]).runs();
    desk.press("tab ctrl-p esc");
    assert_eq!(desk.popup(), "");
    assert_eq!(desk.state.screen.pane, Pane::Timeline);
    desk.press("esc");
    assert_eq!(desk.state.screen.pane, Pane::Composer);
    desk.press("esc");
    assert!(desk.state.screen.stop_asked.is_some());
    assert!(!has(&desk.said(), "stop the run"));
    desk.press("esc");
    assert!(has(&desk.said(), "stop the run"));
}

#[test]
fn a_second_escape_that_comes_late_only_asks_again() {
    let mut desk = Desk::new();
    desk.runs();
    desk.press("esc").wait(5000).press("esc");
    assert!(!has(&desk.said(), "stop the run"));
    desk.press("x esc");
    assert!(!has(&desk.said(), "stop the run"));
}

#[test]
fn control_c_clears_then_stops_then_quits() {
    let mut desk = Desk::new();
    desk.runs().text("draft").press("ctrl-c");
    assert_eq!(desk.draft(), "");
    assert!(has(&desk.said(), "remember \"draft\""));
    desk.press("ctrl-c");
    let said = desk.said();
    assert!(has(&said, "stop the run") && !has(&said, "quit 0"));
    desk.press("ctrl-c");
    assert!(has(&desk.said(), "quit 0"));
}

#[test]
fn control_c_alone_asks_before_it_quits() {
    let mut desk = Desk::new();
    desk.press("ctrl-c");
    assert!(!has(&desk.said(), "quit 0"));
    desk.wait(4000).press("ctrl-c");
    assert!(!has(&desk.said(), "quit 0"));
    desk.press("ctrl-c");
    assert!(has(&desk.said(), "quit 0"));
}

#[test]
fn control_d_quits_only_an_empty_composer() {
    let mut desk = Desk::new();
    desk.text("ab").press("ctrl-a ctrl-d");
    assert_eq!(desk.draft(), "b");
    desk.press("ctrl-d ctrl-d");
    assert!(has(&desk.said(), "quit 0"));
    let mut desk = Desk::new();
    desk.text("/quit").press("enter");
    assert!(has(&desk.said(), "quit 0"));
}

#[test]
fn the_palette_reaches_everything_by_name() {
    let mut desk = Desk::new();
    desk.press("ctrl-p").text("reasoning effort");
    assert_eq!(desk.popup(), "palette");
    desk.press("enter");
    assert_eq!(desk.popup(), "effort");
    desk.press("esc");
    for action in trialogue::app::Action::all() {
        if action.is_in_palette()
            && trialogue::app::screen::palette::account_number(*action).is_none()
        {
            desk.press("ctrl-p").text(action.title());
            let labels = desk.labels();
            assert!(
                labels.iter().take(3).any(|label| label == action.title()),
                "{action:?}: {labels:?}"
            );
            desk.press("esc");
        }
    }
}

#[test]
fn in_the_palette_the_start_of_a_title_wins_and_what_takes_away_never_comes_first() {
    let mut desk = Desk::new();
    for (typed, first) in [
        ("the account", "The account: link, software, abilities"),
        ("account", "Account 1: home"),
        ("connect", "Connect now"),
        ("conversation", "Go to a conversation"),
        ("message", "Messages that wait"),
    ] {
        desk.press("ctrl-p").text(typed);
        assert_eq!(
            desk.labels().first().map(String::as_str),
            Some(first),
            "{typed}"
        );
        desk.press("esc");
    }
}

#[test]
fn an_account_that_was_switched_off_says_how_it_comes_back() {
    let mut desk = Desk::new();
    desk.press("ctrl-p")
        .text("switch the account off")
        .press("enter");
    assert!(has(&desk.said(), "disconnect"));
    let toast = desk.state.screen.toasts.last().unwrap().text.to_string();
    assert_eq!(
        toast,
        "home is off: nothing comes or goes. Ctrl+P “Switch the account off or on” connects it again."
    );
}

#[test]
fn the_switcher_goes_to_a_conversation() {
    let mut desk = Desk::new();
    desk.press("ctrl-n").text("c").press("enter");
    assert_eq!(desk.focus(), "home/c");
    desk.press("ctrl-n enter");
    assert_eq!(desk.focus(), "home/a", "the last place comes first");
}

#[test]
fn the_leader_opens_what_the_table_says() {
    for (keys, popup) in [
        ("ctrl-x s", "search here"),
        ("ctrl-x S", "search everywhere"),
        ("ctrl-x m", "models"),
        ("ctrl-x r", "effort"),
        ("ctrl-x y", "confirm"),
        ("ctrl-x n", "prompt"),
        ("ctrl-x i", "inspector"),
        ("ctrl-x g", "prompt"),
        ("ctrl-x ?", "help"),
    ] {
        let mut desk = Desk::new();
        desk.press(keys);
        assert_eq!(desk.popup(), popup, "{keys}");
    }
    let mut desk = Desk::new();
    desk.decides(usual("d")).press("ctrl-x a");
    assert_eq!(desk.popup(), "decision");
    let mut desk = Desk::new();
    desk.text("x").press("ctrl-x e");
    assert!(has(&desk.said(), "edit \"x\""));
    desk.press("ctrl-x b");
    assert_eq!(desk.state.screen.sidebar.is_shown, Some(false));
    desk.press("ctrl-x t");
    assert!(desk.state.screen.todos_open);
    desk.press("ctrl-x z");
    assert!(desk.state.screen.is_zen);
}

#[test]
fn the_leader_says_what_can_follow_and_lets_go() {
    let mut desk = Desk::new();
    desk.press("ctrl-x");
    assert!(desk.state.screen.leader);
    desk.press("esc").text("a");
    assert_eq!(desk.draft(), "a");
    desk.press("ctrl-x").text("%");
    assert!(
        desk.state
            .screen
            .toasts
            .iter()
            .any(|t| t.text.as_str().contains("not bound"))
    );
    assert_eq!(desk.draft(), "a");
}

#[test]
fn the_queue_is_seen_edited_reordered_and_sent() {
    let mut desk = Desk::new();
    desk.runs();
    desk.text("one").press("enter").text("two").press("enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    desk.press("ctrl-x q");
    assert_eq!(desk.labels(), ["one", "two"]);
    desk.press("J");
    assert_eq!(desk.labels(), ["two", "one"]);
    desk.press("e");
    assert_eq!(desk.popup(), "");
    assert_eq!(desk.draft(), "one");
    desk.press("ctrl-x q enter");
    assert!(has(&desk.said(), "send a \"two\""));
}

#[test]
fn alt_moves_between_conversations_and_accounts() {
    let mut desk = Desk::new();
    desk.press("alt-down");
    assert_eq!(desk.focus(), "home/b");
    desk.press("alt-up alt-up");
    assert_eq!(desk.focus(), "work/w");
    desk.press("alt-1");
    assert_eq!(desk.focus(), "home/a");
    desk.press("alt-2");
    assert_eq!(desk.focus(), "work/w");
    desk.conversation("c").unread = Unread::Count(2);
    desk.press("alt-u");
    assert_eq!(desk.focus(), "home/c");
}

#[test]
fn scrolling_moves_rows_and_control_end_comes_back() {
    let mut desk = Desk::new();
    desk.messages(&["x", "y"]);
    desk.press("pageup shift-up");
    assert_eq!(desk.conversation("a").viewport.delta, -21);
    desk.press("shift-down");
    assert_eq!(desk.conversation("a").viewport.delta, -20);
    desk.conversation("a").viewport.anchor = Anchor::Top {
        key: MessageKey(1),
        row: 0,
    };
    desk.click(MouseKind::WheelUp, Target::Nothing);
    assert_eq!(desk.conversation("a").viewport.delta, -23);
    desk.press("ctrl-end");
    assert_eq!(desk.conversation("a").viewport.anchor, Anchor::Newest);
    assert_eq!(desk.conversation("a").viewport.delta, 0);
}

#[test]
fn tab_goes_round_the_panes() {
    let mut desk = Desk::new();
    desk.messages(&["x"]);
    let mut panes = Vec::new();
    for _ in 0..3 {
        desk.press("tab");
        panes.push(desk.state.screen.pane);
    }
    assert_eq!(panes, [Pane::Timeline, Pane::Sidebar, Pane::Composer]);
    desk.press("shift-tab");
    assert_eq!(desk.state.screen.pane, Pane::Sidebar);
}

#[test]
fn tab_accepts_while_a_drawer_is_open() {
    let mut desk = Desk::new();
    desk.text("/fil").press("tab");
    assert_eq!(desk.draft(), "/files ");
    assert_eq!(desk.state.screen.pane, Pane::Composer);
}

#[test]
fn the_timeline_has_its_own_keys() {
    let mut desk = Desk::new();
    desk.messages(&["one", "two `x`\n```sh\nls\n```", "three https://a.example"]);
    let selected = |desk: &mut Desk| desk.conversation("a").viewport.selected.unwrap().0;
    desk.press("tab");
    assert_eq!(selected(&mut desk), 3);
    desk.press("k");
    assert_eq!(selected(&mut desk), 2);
    desk.press("y c");
    let said = desk.said();
    assert!(
        has(&said, "copy \"two `x`\\n```sh\\nls\\n```\""),
        "{said:?}"
    );
    assert!(has(&said, "copy \"ls\""));
    desk.press("g");
    assert_eq!(selected(&mut desk), 1);
    desk.press("j j");
    assert_eq!(selected(&mut desk), 3);
    desk.press("enter");
    assert_eq!(desk.conversation("a").toggled, [MessageKey(3)]);
    desk.press("o");
    assert_eq!(desk.popup(), "confirm");
    desk.press("tab enter");
    assert!(has(&desk.said(), "open https://a.example"));
    desk.press("d");
    assert_eq!(desk.popup(), "confirm");
    desk.press("enter");
    assert!(
        !desk.said().iter().any(|word| word.starts_with("delete")),
        "no has the focus"
    );
    desk.press("d right enter");
    assert!(has(&desk.said(), "delete [\"m3\"]"));
    desk.press("/");
    assert_eq!(desk.popup(), "search here");
    desk.press("esc r");
    assert_eq!(desk.state.screen.pane, Pane::Composer);
    assert_eq!(desk.conversation("a").composer.reply_to, Some("m3".into()));
    desk.press("tab G");
    assert_eq!(selected(&mut desk), 3);
}

#[test]
fn a_reply_is_a_quote_where_the_server_knows_none() {
    let mut desk = Desk::new();
    desk.messages(&["first\nsecond"]);
    desk.home().account.capabilities.reply_to = Support::No("it has none");
    desk.press("tab r");
    assert_eq!(desk.draft(), "> first\n> second\n\n");
}

#[test]
fn search_walks_from_hit_to_hit() {
    let mut desk = Desk::new();
    desk.messages(&["apple", "pear", "apple pie"]);
    desk.press("tab /").text("apple");
    assert!(has(&desk.said(), "look for \"apple\""));
    let hit = |n: u64, text: &str| {
        (
            AccountId::new("home"),
            SearchHit {
                conversation: "a".into(),
                remote: Some(RemoteId::new(format!("m{n}"))),
                order: Some(n as i64 * ORDER_STEP),
                author: Author::Assistant,
                snippet: SafeText::prose(text),
                sent_at_ms: None,
            },
        )
    };
    desk.event(Event::Store(StoreReply::Found(Found::Search {
        query: "apple".to_owned(),
        hits: vec![hit(3, "apple pie"), hit(1, "apple")],
        has_more: false,
    })));
    assert_eq!(desk.labels(), ["apple pie", "apple"]);
    desk.press("enter");
    assert_eq!(
        desk.conversation("a").viewport.selected,
        Some(MessageKey(3))
    );
    assert_eq!(desk.state.screen.marked, Some("apple".into()));
    desk.press("n");
    assert_eq!(
        desk.conversation("a").viewport.selected,
        Some(MessageKey(1))
    );
    desk.press("N");
    assert_eq!(
        desk.conversation("a").viewport.selected,
        Some(MessageKey(3))
    );
}

#[test]
fn an_answer_for_an_earlier_query_is_not_shown() {
    let mut desk = Desk::new();
    desk.press("ctrl-x S").text("ab");
    desk.event(Event::Store(StoreReply::Found(Found::Search {
        query: "a".to_owned(),
        hits: vec![(
            "home".into(),
            SearchHit {
                conversation: "a".into(),
                remote: None,
                order: Some(1),
                author: Author::User,
                snippet: "a".into(),
                sent_at_ms: None,
            },
        )],
        has_more: false,
    })));
    assert!(desk.labels().is_empty());
    desk.press("enter");
    assert!(has(&desk.said(), "ask the server for \"ab\""));
}

#[test]
fn control_o_unfolds_everything() {
    let mut desk = Desk::new();
    desk.press("ctrl-o");
    assert!(desk.state.settings.unfold_all);
    desk.press("ctrl-o");
    assert!(!desk.state.settings.unfold_all);
}

#[test]
fn long_lines_of_code_are_cut_and_shifted_by_keys() {
    let mut desk = Desk::new();
    let shift = |desk: &Desk| desk.state.focused().unwrap().2.viewport.code_shift;
    desk.press("tab");
    assert!(desk.state.settings.wrap_code);
    // The first press cuts them, so that there is something to shift.
    desk.press("right");
    assert!(!desk.state.settings.wrap_code);
    assert_eq!(shift(&desk), 0);
    desk.press("right right");
    assert_eq!(shift(&desk), 40);
    desk.press("left");
    assert_eq!(shift(&desk), 20);
    desk.press("w");
    assert!(desk.state.settings.wrap_code);
}

#[test]
fn control_r_finds_earlier_inputs() {
    let mut desk = Desk::new();
    desk.press("ctrl-r");
    assert!(has(&desk.said(), "look for inputs"));
    desk.event(Event::Store(StoreReply::Found(Found::Inputs {
        containing: String::new(),
        texts: vec!["cargo test".to_owned(), "deploy it".to_owned()],
    })));
    desk.text("dep").press("enter");
    assert_eq!(desk.draft(), "deploy it");
    assert_eq!(desk.popup(), "");
}

#[test]
fn control_g_writes_the_draft_in_the_editor() {
    let mut desk = Desk::new();
    desk.text("draft").press("ctrl-g");
    assert!(has(&desk.said(), "edit \"draft\""));
    desk.event(Event::Shell(ShellReply::Edited {
        account: "home".into(),
        conversation: "a".into(),
        text: Some("better\r\ndraft\n".to_owned()),
    }));
    assert_eq!(desk.draft(), "better\ndraft");
    desk.press("ctrl-_");
    assert_eq!(desk.draft(), "draft");
}

#[test]
fn redraw_suspend_and_help() {
    let mut desk = Desk::new();
    desk.text("x").press("ctrl-l ctrl-z");
    let said = desk.said();
    assert!(has(&said, "draw everything"));
    let kept = said.iter().position(|word| word == "keep draft \"x\"");
    let stopped = said.iter().position(|word| word == "suspend");
    assert!(kept.is_some() && kept < stopped, "{said:?}");
    desk.press("f1");
    assert_eq!(desk.popup(), "help");
    desk.press("esc");
    assert_eq!(desk.popup(), "");
}

#[test]
fn the_composer_has_the_keys_of_a_shell() {
    let mut desk = Desk::new();
    desk.text("alpha beta gamma").press("ctrl-w");
    assert_eq!(desk.draft(), "alpha beta ");
    desk.press("ctrl-a alt-d");
    assert_eq!(desk.draft(), " beta ");
    desk.press("ctrl-y");
    assert_eq!(desk.draft(), "alpha beta ");
    desk.press("alt-y");
    assert_eq!(desk.draft(), "gamma beta ");
    desk.press("ctrl-_ ctrl-_ ctrl-_");
    assert_eq!(desk.draft(), "alpha beta ");
    desk.press("ctrl-e alt-b ctrl-k");
    assert_eq!(desk.draft(), "alpha ");
    desk.press("ctrl-u");
    assert_eq!(desk.draft(), "");
    desk.text("xy")
        .press("ctrl-b")
        .text("-")
        .press("ctrl-f")
        .text("+");
    assert_eq!(desk.draft(), "x-y+");
    desk.press("shift-left shift-left backspace");
    assert_eq!(desk.draft(), "x-");
}

#[test]
fn the_mouse_focuses_folds_and_selects() {
    let mut desk = Desk::new();
    desk.messages(&["one", "two"]);
    desk.click(
        MouseKind::Down(MouseButton::Left),
        Target::SidebarRow(SidebarRow::Conversation("home".into(), "b".into())),
    );
    assert_eq!(desk.focus(), "home/b");
    desk.press("alt-up");
    desk.click(
        MouseKind::Down(MouseButton::Left),
        Target::Fold(MessageKey(2)),
    );
    assert_eq!(desk.conversation("a").toggled, [MessageKey(2)]);
    let spot = |column| Target::Entry {
        key: MessageKey(1),
        row: 0,
        column,
    };
    desk.click(MouseKind::Down(MouseButton::Left), spot(0));
    desk.click(MouseKind::Up(MouseButton::Left), spot(0));
    assert!(
        !has(&desk.said(), "copy the selection"),
        "a click copies nothing"
    );
    desk.click(MouseKind::Down(MouseButton::Left), spot(0));
    desk.click(MouseKind::Drag(MouseButton::Left), spot(2));
    desk.click(MouseKind::Up(MouseButton::Left), spot(2));
    assert!(has(&desk.said(), "copy the selection"));
    desk.state.settings.mouse = false;
    desk.click(MouseKind::Down(MouseButton::Left), Target::NewBelow);
    assert!(desk.state.screen.selection.is_some());
}

#[test]
fn other_layouts_reach_the_letters_of_commands() {
    let mut desk = Desk::new();
    desk.messages(&["one", "two"]);
    desk.press("tab л");
    assert_eq!(
        desk.conversation("a").viewport.selected,
        Some(MessageKey(1))
    );
    desk.press("esc").text("л");
    assert_eq!(desk.draft(), "л");
}

#[test]
fn the_vim_scheme_has_a_normal_mode() {
    let mut desk = Desk::scheme("vim");
    desk.text("one two").press("esc b d w");
    assert_eq!(desk.draft(), "one ");
    desk.press("p u 0 i").text("x");
    assert_eq!(desk.draft(), "xone ");
    desk.press("esc d d");
    assert_eq!(desk.draft(), "");
}

#[test]
fn the_emacs_scheme_moves_with_control_n_and_p() {
    let mut desk = Desk::scheme("emacs");
    desk.text("one")
        .press("ctrl-j")
        .text("two")
        .press("ctrl-p")
        .text("!");
    assert_eq!(desk.draft(), "one!\ntwo");
    desk.press("alt-x");
    assert_eq!(desk.popup(), "palette");
    desk.press("ctrl-g");
    assert_eq!(desk.popup(), "");
}

#[test]
fn a_slash_alone_is_never_sent() {
    let mut desk = Desk::new();
    desk.text("/").press("enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    // The first command of the drawer was taken.
    assert!(desk.draft().starts_with('/') && desk.draft().len() > 1);
    desk.press("ctrl-u").text("/").press("esc enter");
    assert_eq!(desk.draft(), "/");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
}
