//! Where a conversation has adapter, model and folder of its own, and where one signs in.

use crate::desk::*;
use trialogue::app::actions::perform;
use trialogue::app::screen::overlay::{Overlay, Prompted};
use trialogue::app::screen::palette;
use trialogue::app::screen::prompt::entered;
use trialogue::app::state::{AccountState, Conversation};
use trialogue::app::{Action, Event};
use trialogue::domain::*;
use trialogue::text::SafeText;

fn with_profile() -> Desk {
    let mut desk = Desk::new();
    let can = &mut desk.state.accounts[0].account.capabilities;
    can.models = Support::No("it lists no models");
    can.profile = Support::Yes;
    desk
}

#[test]
fn the_key_for_models_opens_the_profile_where_the_model_is_a_part_of_it() {
    let mut desk = with_profile();
    perform(&mut desk.state, desk.now, Action::Models);
    assert!(matches!(
        desk.state.screen.overlays.as_slice(),
        [Overlay::Profile { .. }]
    ));
    assert!(!palette::action_row(&desk.state, Action::Models).is_refused);
    let found = palette::rows(&desk.state, "profile");
    assert_eq!(
        found.first().map(|row| row.label.as_str()),
        Some(Action::Profile.title())
    );
}

#[test]
fn the_palette_finds_what_works_here_by_the_name_of_its_command() {
    let desk = with_profile();
    let found = palette::rows(&desk.state, "doctor");
    assert!(
        found
            .iter()
            .any(|row| row.label.as_str() == Action::Doctor.title())
    );
}

#[test]
fn a_working_folder_is_a_whole_path() {
    let mut desk = with_profile();
    let mut enter = |text: &str| {
        let then = Prompted::ProfileDirectory(account_id(), id("main"));
        entered(&mut desk.state, desk.now, then, text).is_ok()
    };
    for part in ["", "proj", "~/proj", "./x"] {
        assert!(!enter(part), "{part}");
    }
    for whole in ["/home/ada/proj", "C:\\proj", "\\\\host\\proj"] {
        assert!(enter(whole), "{whole}");
    }
}

#[test]
fn signing_in_shows_the_page_with_what_to_know_and_the_other_ways() {
    let mut desk = Desk::new();
    desk.live(Topic::Link(LinkEvent::Changed(LinkState::NeedsLogin(
        LoginNeed {
            url: Some("http://127.0.0.1:5000/start".into()),
            methods: vec![LoginMethod {
                name: "Terminal".into(),
                detail: "agent login".into(),
            }],
            hint: SafeText::prose("Over SSH forward the port first."),
        },
    ))));
    perform(&mut desk.state, desk.now, Action::SignIn);
    let [Overlay::Confirm(confirm)] = desk.state.screen.overlays.as_slice() else {
        panic!("{:?}", desk.state.screen.overlays);
    };
    for part in [
        "http://127.0.0.1:5000/start",
        "Over SSH forward",
        "Or: Terminal: agent login",
    ] {
        assert!(confirm.text.as_str().contains(part), "{part}");
    }
    assert!(!confirm.is_yes_selected);

    // Once that is done elsewhere, nothing is asked any more.
    desk.live(Topic::Link(LinkEvent::Changed(LinkState::Ready)));
    assert!(desk.state.screen.overlays.is_empty());
}

#[test]
fn the_key_of_an_account_that_was_refused_says_why_instead_of_nothing() {
    let mut desk = Desk::new();
    let id = AccountId::from("broken");
    let account = AccountState::new(id.clone(), SafeText::label("broken"));
    desk.state.accounts.push(account);
    desk.event(Event::Account {
        account: id.clone(),
        event: Box::new(AccountEvent::live(Topic::Link(LinkEvent::Changed(
            LinkState::Refused {
                reason: "The secret is wrong.".into(),
            },
        )))),
    });
    assert_eq!(
        desk.toasts(),
        ["broken was refused. Alt+2 says why, and what to do."]
    );
    perform(&mut desk.state, desk.now, Action::FocusAccount2);
    assert!(matches!(
        desk.state.screen.overlays.as_slice(),
        [Overlay::Account { account, .. }] if *account == id
    ));
}

#[test]
fn lists_of_what_can_be_set_open_on_what_is_set() {
    let mut desk = Desk::new();
    desk.state.accounts[0].account.capabilities.effort = Support::Yes;
    desk.state.accounts[0].models.efforts = ["low", "medium", "high"].map(str::to_owned).to_vec();
    desk.here_mut().effort = Some(Effort {
        level: Some("high".to_owned()),
        enabled: true,
        supported: Vec::new(),
    });
    perform(&mut desk.state, desk.now, Action::Effort);
    let Some(Overlay::Effort { list, .. }) = desk.state.screen.overlays.last() else {
        panic!("{:?}", desk.state.screen.overlays);
    };
    assert_eq!(list.selected, 2);
}

#[test]
fn a_conversation_is_also_found_by_the_name_of_its_account() {
    let desk = Desk::new();
    let found = |filter: &str| -> Vec<String> {
        trialogue::app::screen::switcher::rows(&desk.state, filter)
            .iter()
            .map(|row| row.label.to_string())
            .collect()
    };
    assert_eq!(found("work side"), ["side"]);
    assert_eq!(found("side"), ["side"]);
    assert_eq!(found("work").len(), 2);
}

#[test]
fn the_conversation_whose_name_was_typed_comes_before_its_threads() {
    let mut desk = Desk::new();
    let account = &mut desk.state.accounts[0];
    let mut channel = Conversation::default();
    channel.info.name = SafeText::label("research");
    let mut thread = Conversation::default();
    thread.info.name = SafeText::label("build log");
    thread.info.parent = Some("research".into());
    thread.info.last_activity_ms = Some(i64::MAX);
    account.conversations.insert("research".into(), channel);
    account.conversations.insert("log".into(), thread);
    let found = trialogue::app::screen::switcher::rows(&desk.state, "research");
    let labels: Vec<&str> = found.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(labels, ["research", "research / build log"]);
}

#[test]
fn where_no_conversation_is_yet_one_can_be_begun() {
    let mut desk = Desk::new();
    desk.state.focus = None;
    desk.state.accounts[0].conversations.clear();
    desk.state.accounts[0]
        .account
        .capabilities
        .create_conversation = Support::Yes;
    perform(&mut desk.state, desk.now, Action::NewConversation);
    assert!(matches!(
        desk.state.screen.overlays.as_slice(),
        [Overlay::Prompt(_)]
    ));
    assert!(desk.toasts().is_empty());
}

#[test]
fn what_is_set_for_every_conversation_is_told() {
    let mut desk = Desk::new();
    let can = &mut desk.state.accounts[0].account.capabilities;
    can.effort = Support::Yes;
    desk.state.accounts[0].models.efforts = ["low", "high"].map(str::to_owned).to_vec();
    for action in [Action::Effort, Action::AcceptOther, Action::Accept] {
        let effects = perform(&mut desk.state, desk.now, action);
        desk.finish(effects);
    }
    let command = desk.commands.last().unwrap().0;
    desk.outcome(command, CommandOutcome::Done(Reply::Nothing));
    assert_eq!(
        desk.toasts(),
        ["It is the effort of every conversation without one of its own."]
    );
}
