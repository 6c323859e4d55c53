//! Slash commands, paths, files and limits.

use super::desk::*;

#[test]
fn a_slash_command_goes_at_once_and_a_doubled_slash_is_text() {
    let mut desk = Desk::new();
    desk.runs();
    desk.home().catalog = vec![SlashCommand {
        name: "/compress".into(),
        ..SlashCommand::default()
    }];
    desk.text("/compress").press("enter");
    assert!(
        has(&desk.said(), "send a \"/compress\""),
        "it does not wait"
    );
    desk.text("/unheard-of thing").press("enter");
    assert!(has(&desk.said(), "send a \"/unheard-of thing\""));
    let mut desk = Desk::new();
    desk.text("//etc").press("enter");
    assert!(has(&desk.said(), "send a \"/etc\""));
}

#[test]
fn a_command_half_typed_is_completed_before_it_is_sent() {
    let mut desk = Desk::new();
    desk.home().catalog = vec![SlashCommand {
        name: "/compress".into(),
        ..SlashCommand::default()
    }];
    desk.text("/comp").press("enter");
    assert_eq!(desk.draft(), "/compress ");
    desk.press("enter");
    assert!(
        desk.said()
            .iter()
            .any(|word| word.starts_with("send a \"/compress"))
    );
}

#[test]
fn a_path_that_leads_nowhere_keeps_the_popup_open_and_is_said_in_it() {
    let mut desk = Desk::new();
    desk.press("ctrl-x f").text("nope.txt").press("enter");
    assert_eq!(desk.popup(), "prompt");
    let inspected = |path: &str, facts| {
        Event::Shell(ShellReply::FileInspected {
            path: path.into(),
            facts,
        })
    };
    let wrong = "nope.txt: there is no such file or folder";
    desk.event(inspected("nope.txt", Err(wrong.into())));
    let error = |desk: &Desk| match desk.state.screen.overlays.last() {
        Some(Overlay::Prompt(prompt)) => prompt.error.as_ref().map(ToString::to_string),
        _ => None,
    };
    assert_eq!(error(&desk), Some(format!("Not attached: {wrong}")));
    for _ in 0..8 {
        desk.press("backspace");
    }
    desk.text("notes.md").press("enter");
    let facts = FileFacts {
        path: "/home/ada/notes.md".into(),
        name: "notes.md".to_owned(),
        size: 3,
        media_type: "text/plain".to_owned(),
        kind: AttachmentKind::Document,
    };
    desk.event(inspected("notes.md", Ok(facts)));
    assert_eq!(desk.popup(), "");
}

#[test]
fn an_at_sign_completes_a_path_and_attaches_it() {
    let mut desk = Desk::new();
    desk.text("see @");
    assert!(has(&desk.said(), "list \"\""));
    let file = |name: &str, is_directory| ListedFile {
        name: name.to_owned(),
        is_directory,
        size: 3,
    };
    desk.event(Event::Shell(ShellReply::Listing {
        directory: String::new(),
        entries: vec![
            file("src", true),
            file("notes.md", false),
            file(".git", true),
        ],
    }));
    let names = |desk: &Desk| -> Vec<String> {
        drawer::rows(&desk.state)
            .iter()
            .map(|row| row.label.to_string())
            .collect()
    };
    assert_eq!(names(&desk), ["src/", "notes.md"]);
    desk.text("sr").press("tab");
    assert_eq!(desk.draft(), "see @src/");
    assert!(has(&desk.said(), "list \"src/\""));
    desk.event(Event::Shell(ShellReply::Listing {
        directory: "src/".to_owned(),
        entries: vec![file("main.rs", false)],
    }));
    desk.press("tab");
    assert_eq!(desk.draft(), "see ");
    assert!(has(&desk.said(), "look at src/main.rs"));
    assert_eq!(desk.conversation("a").composer.files.len(), 1);
}

#[test]
fn an_address_or_an_at_sign_alone_does_not_catch_enter() {
    let mut desk = Desk::new();
    desk.text("meet @ noon").press("enter");
    assert!(has(&desk.said(), "send a \"meet @ noon\""));
    let mut desk = Desk::new();
    desk.text("@");
    desk.event(Event::Shell(ShellReply::Listing {
        directory: String::new(),
        entries: vec![ListedFile {
            name: "x".to_owned(),
            is_directory: false,
            size: 1,
        }],
    }));
    desk.press("enter");
    assert!(has(&desk.said(), "send a \"@\""));
}

#[test]
fn a_dropped_path_is_offered_and_not_taken() {
    let mut desk = Desk::new();
    desk.paste("/tmp/my\\ report.pdf");
    assert_eq!(desk.draft(), "/tmp/my\\ report.pdf");
    assert_eq!(drawer::rows(&desk.state).len(), 1);
    desk.press("tab");
    assert_eq!(desk.draft(), "");
    assert!(has(&desk.said(), "look at /tmp/my report.pdf"));
    let facts = |size| FileFacts {
        path: "/tmp/my report.pdf".into(),
        name: "my report.pdf".to_owned(),
        size,
        media_type: "application/pdf".to_owned(),
        kind: AttachmentKind::Document,
    };
    desk.event(Event::Shell(ShellReply::FileInspected {
        path: "/tmp/my report.pdf".into(),
        facts: Ok(facts(2000)),
    }));
    assert!(
        desk.conversation("a").composer.files.is_empty(),
        "too large"
    );
    desk.paste("/tmp/x")
        .press("esc")
        .text(" is a path")
        .press("enter");
    assert!(has(&desk.said(), "send a \"/tmp/x is a path\""));
}

#[test]
fn a_file_of_the_home_folder_is_sent_from_where_it_lies() {
    let mut desk = Desk::new();
    desk.paste("~/notes.md").press("tab");
    assert!(has(&desk.said(), "look at ~/notes.md"));
    desk.event(Event::Shell(ShellReply::FileInspected {
        path: "~/notes.md".into(),
        facts: Ok(FileFacts {
            path: "/home/me/notes.md".into(),
            name: "notes.md".to_owned(),
            size: 10,
            media_type: "text/markdown".to_owned(),
            kind: AttachmentKind::Document,
        }),
    }));
    let files = &desk.conversation("a").composer.files;
    assert_eq!(files[0].path.to_str(), Some("/home/me/notes.md"));
}

#[test]
fn a_text_over_the_limit_stays_in_the_draft() {
    let mut desk = Desk::new();
    desk.paste(&"x".repeat(190));
    assert_eq!(
        trialogue::app::actions::limit(&desk.state),
        Some((190, 200))
    );
    desk.paste(&"x".repeat(20)).press("enter");
    assert!(!desk.said().iter().any(|word| word.starts_with("send")));
    assert_eq!(desk.draft().len(), 210);
}

#[test]
fn an_automation_channel_takes_no_text() {
    let mut desk = Desk::new();
    desk.conversation("a").info.is_automation = true;
    desk.text("hello").paste("more");
    assert_eq!(desk.draft(), "");
}

#[test]
fn what_the_server_cannot_do_is_said() {
    let mut desk = Desk::new();
    desk.home().account.capabilities.models = Support::No("this server has one model");
    desk.home().account.capabilities.profile = Support::No("this server has one model");
    desk.press("ctrl-x m");
    assert_eq!(desk.popup(), "");
    assert!(
        desk.state.screen.toasts[0]
            .text
            .as_str()
            .contains("one model")
    );
}

#[test]
fn the_picture_in_the_clipboard_becomes_a_chip_of_the_draft_it_was_asked_for() {
    let mut desk = Desk::new();
    desk.text("see").press("ctrl-x V");
    assert!(has(&desk.said(), "take picture for a"));
    // It comes when another conversation is on screen already.
    desk.press("alt-down");
    let taken = |file| {
        Event::Shell(ShellReply::PictureTaken {
            account: "home".into(),
            conversation: "a".into(),
            file,
        })
    };
    desk.event(taken(Ok("/data/pasted/clipboard-1.png".into())));
    assert!(has(&desk.said(), "look at /data/pasted/clipboard-1.png"));
    assert!(desk.conversation("b").composer.files.is_empty());
    assert_eq!(desk.conversation("a").composer.files.len(), 1);
    assert_eq!(desk.conversation("a").composer.text(), "see");

    desk.event(taken(Err("there is no picture in the clipboard".into())));
    let toast = desk.state.screen.toasts.last().unwrap();
    assert_eq!(
        toast.text.as_str(),
        "No picture is attached: there is no picture in the clipboard."
    );
    assert_eq!(desk.conversation("a").composer.files.len(), 1);
}
