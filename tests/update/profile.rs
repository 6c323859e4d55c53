//! Where a conversation has adapter, model and folder of its own, and where one signs in.

use crate::desk::*;
use trialogue::app::Action;
use trialogue::app::actions::perform;
use trialogue::app::screen::overlay::{Overlay, Prompted};
use trialogue::app::screen::palette;
use trialogue::app::screen::prompt::entered;
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
        "Or with Terminal: agent login",
    ] {
        assert!(confirm.text.as_str().contains(part), "{part}");
    }
    assert!(!confirm.is_yes_selected);
}
