//! Popups that are lists, questions and forms.

use super::desk::*;

#[test]
fn a_model_is_chosen_for_this_conversation() {
    let mut desk = Desk::new();
    desk.home().models.providers = vec![Provider {
        slug: "p".to_owned(),
        name: "Provider".into(),
        is_current: true,
        models: vec!["small".to_owned(), "large".to_owned()],
        total_models: 2,
    }];
    desk.press("ctrl-x m");
    assert!(has(&desk.said(), "load models"));
    desk.text("lar").press("enter");
    assert!(has(&desk.said(), "set model large"));
    assert_eq!(desk.popup(), "");
}

#[test]
fn a_theme_is_shown_before_it_is_kept() {
    let mut desk = Desk::new();
    desk.state.themes = vec!["dark".to_owned(), "light".to_owned()];
    desk.press("ctrl-x o down");
    assert_eq!(desk.state.settings.theme, "light");
    desk.press("esc");
    assert_eq!(desk.state.settings.theme, "dark");
    desk.press("ctrl-x o down enter");
    assert_eq!(desk.state.settings.theme, "light");
    assert_eq!(desk.popup(), "");
}

#[test]
fn what_a_function_is_about_is_chosen_and_not_typed() {
    let mut desk = Desk::new();
    desk.home().account.capabilities.functions = vec![ServerFunction {
        name: "follow".to_owned(),
        title: "Follow-up to an agent",
        argument_hint: "",
    }];
    let given = |desk: &mut Desk| {
        desk.press("ctrl-p").text("Follow-up").press("enter");
        let command = desk
            .effects
            .iter()
            .find_map(|effect| match effect {
                Effect::Command { id, .. } => Some(*id),
                _ => None,
            })
            .unwrap();
        assert!(has(&desk.said(), "invoke follow None \"\""));
        let row = |label: &str, function: &str, hint| ServerChoice {
            label: SafeText::label(label),
            function: function.to_owned(),
            subject: Some(format!("id of {label}")),
            argument_hint: hint,
            ..ServerChoice::default()
        };
        let rows = vec![
            row("Nightly check", "follow", "the message"),
            row("Old plans", "show", ""),
            row("Nothing to see", "", ""),
        ];
        desk.event(Event::Account {
            account: "home".into(),
            event: Box::new(AccountEvent::live(Topic::Outcome {
                command,
                outcome: CommandOutcome::Done(Reply::Choices {
                    title: "Which one?".into(),
                    rows,
                }),
            })),
        });
        assert_eq!(desk.popup(), "choices");
    };
    given(&mut desk);
    desk.text("night");
    assert_eq!(desk.labels(), ["Nightly check"]);
    desk.press("enter");
    assert_eq!(desk.popup(), "prompt");
    desk.press("enter");
    assert_eq!(desk.popup(), "prompt", "it has to be typed");
    desk.text("and the images?").press("enter");
    let said = desk.said();
    assert!(
        has(
            &said,
            "invoke follow Some(\"id of Nightly check\") \"and the images?\""
        ),
        "{said:?}"
    );
    assert_eq!(desk.popup(), "");
    given(&mut desk);
    desk.press("down enter");
    assert!(has(
        &desk.said(),
        "invoke show Some(\"id of Old plans\") \"\""
    ));
    given(&mut desk);
    desk.text("nothing").press("enter");
    assert_eq!(desk.popup(), "choices", "nothing can be asked about it");
    assert!(desk.said().iter().all(|word| !word.starts_with("invoke")));
}

#[test]
fn what_waits_in_a_queue_is_chosen_and_answered_with_the_keys_of_a_question() {
    let mut desk = Desk::new();
    desk.home().account.capabilities.functions = vec![ServerFunction {
        name: "queue".to_owned(),
        title: "What waits for you",
        argument_hint: "",
    }];
    desk.press("ctrl-p")
        .text("What waits for you")
        .press("enter");
    let command = desk
        .effects
        .iter()
        .find_map(|effect| match effect {
            Effect::Command { id, .. } => Some(*id),
            _ => None,
        })
        .unwrap();
    let rows = vec![ServerChoice {
        label: "Publish harbor".into(),
        function: "resolve".to_owned(),
        subject: Some("dsp_1".to_owned()),
        ..ServerChoice::default()
    }];
    desk.event(Event::Account {
        account: "home".into(),
        event: Box::new(AccountEvent::live(Topic::Outcome {
            command,
            outcome: CommandOutcome::Done(Reply::Choices {
                title: "What waits for you".into(),
                rows,
            }),
        })),
    });
    desk.press("enter");
    assert!(has(&desk.said(), "invoke resolve Some(\"dsp_1\") \"\""));
    assert_eq!(desk.popup(), "");
    desk.decides(Decision {
        was_asked_for: true,
        ..usual("dsp_1")
    });
    assert_eq!(desk.popup(), "decision");
    // It came at once, and is armed late all the same.
    desk.press("up up up enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("answer")));
    desk.painted(true).press("enter");
    assert!(has(&desk.said(), "answer dsp_1 once None"));
}

#[test]
fn auto_approve_is_asked_about_and_goes_off_at_once() {
    let mut desk = Desk::new();
    desk.press("ctrl-x y enter");
    assert!(!has(&desk.said(), "auto-approve true"));
    desk.press("ctrl-x y tab enter");
    assert!(has(&desk.said(), "auto-approve true"));
    desk.conversation("a").auto_approve = true;
    desk.press("ctrl-x y");
    assert!(has(&desk.said(), "auto-approve false"));
}

#[test]
fn a_prompt_keeps_what_was_wrong() {
    let mut desk = Desk::new();
    desk.press("ctrl-x g").text("soon").press("enter");
    assert_eq!(desk.popup(), "prompt");
    desk.press("ctrl-u").text("yesterday").press("enter");
    assert_eq!(desk.popup(), "");
    desk.text("/new Plans").press("enter");
    assert!(has(&desk.said(), "create Some(\"Plans\") under None"));
}

#[test]
fn the_wizard_checks_before_it_saves() {
    use trialogue::app::effect::AccountEffect;
    use trialogue::app::state::{AccountField, AccountKind};
    let mut desk = Desk::new();
    let field = |name: &str, is_secret| AccountField {
        name: name.to_owned(),
        title: SafeText::label(name),
        hint: SafeText::default(),
        is_secret,
        is_required: true,
    };
    desk.state.kinds = vec![AccountKind {
        name: "k".to_owned(),
        title: "Kind".into(),
        hint: SafeText::default(),
        fields: vec![field("url", false), field("token", true)],
    }];
    desk.press("ctrl-p")
        .text("Add an account")
        .press("enter enter");
    desk.text("host").press("enter enter enter");
    assert!(
        desk.effects
            .iter()
            .all(|effect| !matches!(effect, Effect::Account(_)))
    );
    desk.press("up down").text("s3cret").press("enter enter");
    let check = desk.effects.iter().any(|effect| matches!(effect, Effect::Account(AccountEffect::Check { fields, secret: Some(_) }) if fields.contains(&("url".to_owned(), "host".to_owned())) && fields.iter().all(|(_, value)| value != "s3cret")));
    assert!(check);
    desk.event(Event::Shell(ShellReply::AccountChecked {
        account: "host".into(),
        result: Ok("three conversations".into()),
    }));
    assert_eq!(desk.popup(), "wizard");
    desk.press("enter");
    assert!(
        desk.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Account(AccountEffect::Add { .. })))
    );
}

#[test]
fn channel_acts_are_found_by_the_word_channel() {
    let mut desk = Desk::new();
    desk.press("ctrl-p").text("channel");
    let labels = desk.labels();
    for title in [
        "New conversation",
        "Rename the conversation",
        "Delete the conversation",
        "Favourite on or off",
        "Colour of the conversation",
        "Icon of the conversation",
        "Automation channel on or off",
        "Make it the default conversation",
    ] {
        assert!(has(&labels, title), "{title} is not in {labels:#?}");
    }
    desk.press("ctrl-u").text("rename ch");
    assert_eq!(desk.labels()[0], "Rename the conversation");
}

#[test]
fn of_two_conversations_with_a_name_the_near_one_comes_first() {
    let mut desk = Desk::new();
    // `b` of the account on screen is older than the one of the other account.
    let far = desk
        .state
        .accounts
        .iter_mut()
        .find(|of| of.account.id.as_str() == "work")
        .unwrap();
    let mut twin = Conversation::default();
    twin.info.name = "b".into();
    twin.info.last_activity_ms = Some(i64::MAX);
    far.conversations.insert("b".into(), twin);
    desk.press("ctrl-n").text("b").press("enter");
    let (account, id) = desk.state.focus.clone().unwrap();
    assert_eq!((account.as_str(), id.as_str()), ("home", "b"));
}

#[test]
fn the_question_before_a_deletion_shows_words_not_marks() {
    let mut desk = Desk::new();
    desk.messages(&["**Done**, see `log`"]);
    for entry in &mut desk.conversation("a").timeline.entries {
        if let Some(message) = entry.message_mut() {
            message.remote = Some("m1".into());
        }
    }
    desk.press("tab d");
    match desk.state.screen.overlays.last() {
        Some(Overlay::Confirm(confirm)) => {
            assert_eq!(confirm.text.as_str(), "Done, see log");
        }
        other => panic!("{other:?}"),
    }
    desk.press("tab enter");
    let home = desk.state.account(&AccountId::new("home")).unwrap();
    let key = home.conversations[&ConversationId::new("a")]
        .timeline
        .entries[0]
        .key;
    assert!(home.is_deleting(key));
}

#[test]
fn a_file_that_is_loading_is_stopped_by_a_key() {
    let mut desk = Desk::new();
    desk.messages(&["a file"]);
    let file = Attachment {
        id: "f1".into(),
        message: None,
        direction: Direction::In,
        name: "core.bin".into(),
        media_type: SafeText::default(),
        kind: AttachmentKind::Document,
        size: Some(10),
        may_preview: false,
        expires_at_ms: None,
        source: AttachmentSource::Pull,
        state: AttachmentState::Transferring {
            transfer: TransferId(7),
            done: 1,
        },
    };
    desk.home().attachments.insert(file.id.clone(), file);
    for entry in &mut desk.conversation("a").timeline.entries {
        if let Some(message) = entry.message_mut() {
            message.attachments = vec!["f1".into()];
        }
    }
    desk.press("tab x");
    let stops = desk.effects.iter().any(|effect| {
        matches!(effect, Effect::CancelTransfer { transfer } if *transfer == TransferId(7))
    });
    assert!(stops);
    desk.home().attachments.clear();
    desk.press("x");
    assert!(
        desk.state
            .screen
            .toasts
            .iter()
            .any(|toast| toast.text.as_str().contains("No file"))
    );
}

#[test]
fn rows_of_lists_take_clicks_and_the_wheel() {
    let press = MouseKind::Down(MouseButton::Left);
    let row = |desk: &Desk, label: &str| {
        let at = desk.labels().iter().position(|known| known == label);
        Target::OverlayRow(at.unwrap())
    };
    let mut desk = Desk::new();

    desk.press("ctrl-p").text("theme");
    let target = row(&desk, "Theme");
    desk.click(press, target);
    assert_eq!(desk.popup(), "theme");
    desk.press("esc");

    desk.press("ctrl-n");
    let target = row(&desk, "c");
    desk.click(press, target);
    assert_eq!((desk.popup(), desk.focus()), ("", "home/c".to_owned()));

    // The wheel walks over the rows and never past the ends, wherever it points.
    desk.press("ctrl-n");
    let last = desk.labels().last().unwrap().clone();
    for _ in 0..5 {
        desk.click(MouseKind::WheelDown, Target::Nothing);
    }
    desk.press("enter");
    assert!(desk.focus().ends_with(&last), "{} {last}", desk.focus());
    desk.press("ctrl-n");
    let first = desk.labels()[0].clone();
    desk.click(MouseKind::WheelDown, Target::OverlayRow(0));
    desk.click(MouseKind::WheelUp, Target::OverlayRow(2));
    desk.press("enter");
    assert!(desk.focus().ends_with(&first), "{} {first}", desk.focus());
    desk.press("ctrl-n").click(press, Target::OutsideOverlay);
    assert_eq!(desk.popup(), "");

    let mut desk = Desk::new();
    desk.decides(usual("d")).press("ctrl-x A");
    assert_eq!(desk.popup(), "attention");
    desk.click(press, Target::OverlayRow(0));
    assert_eq!(desk.popup(), "decision");
}

#[test]
fn a_file_in_the_list_is_opened_by_a_click() {
    let mut desk = Desk::new();
    desk.messages(&["a file"]);
    let file = Attachment {
        id: "f1".into(),
        message: None,
        direction: Direction::In,
        name: "core.bin".into(),
        media_type: SafeText::default(),
        kind: AttachmentKind::Document,
        size: Some(10),
        may_preview: false,
        expires_at_ms: None,
        source: AttachmentSource::Pull,
        state: AttachmentState::Present {
            path: "/cache/core.bin".into(),
        },
    };
    desk.home().attachments.insert(file.id.clone(), file);
    for entry in &mut desk.conversation("a").timeline.entries {
        if let Some(message) = entry.message_mut() {
            message.attachments = vec!["f1".into()];
        }
    }
    desk.press("ctrl-x l");
    assert_eq!((desk.popup(), desk.labels().len()), ("media", 1));
    desk.click(MouseKind::Down(MouseButton::Left), Target::OverlayRow(0));
    let opens = desk.effects.iter().any(|effect| {
        matches!(effect, Effect::OpenExternal(OpenTarget::File { path, .. }) if path.ends_with("core.bin"))
    });
    assert!(opens, "{:?}", desk.effects);
}
