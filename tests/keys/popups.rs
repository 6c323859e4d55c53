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
