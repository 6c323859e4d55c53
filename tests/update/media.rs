//! Attachments.

use crate::desk::*;
use trialogue::app::Effect;
use trialogue::app::effect::OpenTarget;
use trialogue::app::event::{ShellReply, TransferProgress};
use trialogue::app::media::{self, MediaThen};
use trialogue::domain::*;

fn offer(name: &str) -> Attachment {
    Attachment {
        id: name.into(),
        message: Some("m1".into()),
        direction: Direction::In,
        name: trialogue::text::SafeText::label(name),
        media_type: "application/pdf".into(),
        kind: AttachmentKind::Document,
        size: Some(10),
        may_preview: false,
        expires_at_ms: None,
        source: AttachmentSource::HttpPath("/attachments/f".to_owned()),
        state: AttachmentState::Offered,
    }
}

fn added(attachment: Attachment) -> Topic {
    Topic::Attachment(AttachmentEvent::Added {
        conversation: id("main"),
        attachment: Box::new(attachment),
    })
}

fn offered() -> Desk {
    let mut desk = Desk::new();
    desk.live(upserted(said("m1", Author::Assistant, "here")));
    desk.live(added(offer("f")));
    desk.effects.clear();
    desk
}

fn fetch(desk: &mut Desk, then: MediaThen) {
    let effects = media::fetch(&mut desk.state, desk.now, &account_id(), &"f".into(), then);
    desk.finish(effects);
}

fn transfer(desk: &Desk) -> TransferId {
    match desk.work().attachments[&"f".into()].state {
        AttachmentState::Queued { transfer } | AttachmentState::Transferring { transfer, .. } => {
            transfer
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn it_hangs_on_its_message_once() {
    let mut desk = offered();
    desk.live(added(offer("f")));
    let message = desk.here().timeline.entries[0].message().unwrap();
    assert_eq!(message.attachments, [AttachmentId::from("f")]);
    assert_eq!(desk.lines().len(), 1);
}

#[test]
fn the_file_is_opened_before_the_command_leaves_and_then_opened_outside() {
    let mut desk = offered();
    fetch(&mut desk, MediaThen::Open);
    assert!(matches!(
        desk.effects.as_slice(),
        [Effect::OpenTransfer { .. }]
    ));
    assert!(matches!(
        desk.commands.last().unwrap().1,
        Command::Transfer(TransferCommand::Fetch { .. })
    ));
    let transfer = transfer(&desk);
    desk.progress(
        transfer,
        TransferProgress::Moved {
            done: 5,
            total: Some(10),
        },
    );
    desk.effects.clear();
    desk.progress(
        transfer,
        TransferProgress::Finished {
            path: "/cache/f".into(),
        },
    );
    assert_eq!(
        desk.effects,
        [Effect::OpenExternal(OpenTarget::File {
            path: "/cache/f".into(),
            name: "f".into(),
        })]
    );
    // The next time it is here already.
    desk.commands.clear();
    desk.effects.clear();
    fetch(&mut desk, MediaThen::Save);
    assert!(desk.commands.is_empty());
    assert!(matches!(desk.effects.as_slice(), [Effect::SaveFile { .. }]));
}

#[test]
fn an_expired_file_is_not_asked_for() {
    let mut desk = offered();
    let mut old = offer("f");
    old.expires_at_ms = Some(START.wall_ms - 1);
    desk.live(added(old));
    fetch(&mut desk, MediaThen::Open);
    assert!(desk.commands.is_empty());
    assert_eq!(
        desk.work().attachments[&"f".into()].state,
        AttachmentState::Gone
    );
}

#[test]
fn a_file_the_server_lost_is_gone_and_a_failure_can_be_tried_again() {
    let mut desk = offered();
    fetch(&mut desk, MediaThen::Open);
    let command = desk.commands.last().unwrap().0;
    desk.outcome(
        command,
        CommandOutcome::Refused(Refusal::new(RefusalCode::ServerFailed, "short")),
    );
    assert!(matches!(
        desk.work().attachments[&"f".into()].state,
        AttachmentState::Failed { .. }
    ));
    fetch(&mut desk, MediaThen::Open);
    let command = desk.commands.last().unwrap().0;
    desk.outcome(
        command,
        CommandOutcome::Refused(Refusal::new(RefusalCode::NotFound, "no longer there")),
    );
    assert_eq!(
        desk.work().attachments[&"f".into()].state,
        AttachmentState::Gone
    );
}

#[test]
fn a_cancelled_transfer_is_offered_again() {
    let mut desk = offered();
    fetch(&mut desk, MediaThen::Open);
    let moving = transfer(&desk);
    let effects = media::cancel(&mut desk.state, desk.now, &account_id(), &"f".into());
    desk.finish(effects);
    assert!(
        desk.effects
            .contains(&Effect::CancelTransfer { transfer: moving })
    );
    desk.progress(moving, TransferProgress::Cancelled);
    assert_eq!(
        desk.work().attachments[&"f".into()].state,
        AttachmentState::Offered
    );
}

#[test]
fn our_own_file_becomes_the_servers_and_need_not_be_loaded() {
    let mut desk = Desk::new();
    crate::delivery::attach(&mut desk, "notes.md", 10);
    desk.send("see file");
    let command = desk.sending("see file");
    desk.outcome(command, CommandOutcome::Done(Reply::Nothing));
    let mut theirs = offer("x1");
    theirs.name = "notes.md".into();
    theirs.message = None;
    theirs.direction = Direction::Out;
    desk.live(added(theirs));
    let message = desk.here().timeline.entries[0].message().unwrap();
    assert_eq!(message.attachments, [AttachmentId::from("x1")]);
    assert!(matches!(
        desk.work().attachments[&"x1".into()].state,
        AttachmentState::Present { .. }
    ));
}

#[test]
fn our_own_file_from_another_device_is_loaded_to_its_end() {
    for end in [
        TransferProgress::Finished {
            path: "/cache/f".into(),
        },
        TransferProgress::Failed {
            reason: "it broke".into(),
        },
    ] {
        let mut desk = Desk::new();
        desk.live(upserted(said("m1", Author::User, "see file")));
        let mut theirs = offer("f");
        theirs.direction = Direction::Out;
        desk.live(added(theirs));
        fetch(&mut desk, MediaThen::Open);
        let transfer = transfer(&desk);
        desk.progress(transfer, end.clone());
        let state = &desk.work().attachments[&"f".into()].state;
        match end {
            TransferProgress::Finished { .. } => {
                assert!(
                    matches!(state, AttachmentState::Present { .. }),
                    "{state:?}"
                );
            }
            _ => assert!(matches!(state, AttachmentState::Failed { .. }), "{state:?}"),
        }
    }
}

#[test]
fn files_saved_in_a_row_are_told_in_one_toast() {
    let mut desk = Desk::new();
    let saved = |desk: &mut Desk, path: &str| {
        desk.event(trialogue::app::Event::Shell(ShellReply::Saved {
            path: path.into(),
            error: None,
        }));
    };
    saved(&mut desk, "/home/ada/a.png");
    assert_eq!(desk.toasts(), ["Saved as /home/ada/a.png."]);
    for name in ["b.csv", "c.pdf", "d.txt", "e.txt"] {
        saved(&mut desk, &format!("/home/ada/{name}"));
    }
    assert_eq!(
        desk.toasts(),
        ["Saved 5 files in /home/ada: a.png, b.csv, c.pdf, d.txt and 1 more."]
    );
    // Once it has gone, the next file is told on its own.
    desk.pass(60_000);
    saved(&mut desk, "/home/ada/f.txt");
    assert_eq!(desk.toasts(), ["Saved as /home/ada/f.txt."]);
}
