//! What happens after a line was entered or a question was answered with yes.

use super::choose;
use super::overlay::{Confirmed, Prompted};
use super::popups::close_all;
use crate::app::accounts;
use crate::app::actions;
use crate::app::commands::issue;
use crate::app::effect::{AccountEffect, OpenTarget};
use crate::app::state::{Pending, State};
use crate::app::{Effect, conversation};
use crate::domain::{
    Appearance, ChatCommand, Command, ConversationCommand, DirectoryEvent, ModelCommand, Moment,
    Place, Secret, Severity,
};
use std::path::PathBuf;

/// Carries out what was asked about.
pub fn confirmed(state: &mut State, now: Moment, then: Confirmed) -> Vec<Effect> {
    match then {
        Confirmed::DeleteConversation(account, conversation)
            if state
                .conversation(&account, &conversation)
                .is_some_and(|here| here.settings.is_left) =>
        {
            let gone = DirectoryEvent::Removed { conversation };
            accounts::on_directory(state, now, &account, gone)
        }
        Confirmed::DeleteConversation(account, conversation) => issue(
            state,
            &account,
            Command::Conversation(ConversationCommand::Delete { conversation }),
            Pending::Other("The conversation was not deleted"),
        ),
        Confirmed::ClearConversation(account, conversation) => issue(
            state,
            &account,
            Command::Conversation(ConversationCommand::Clear { conversation }),
            Pending::Other("The conversation was not emptied"),
        ),
        Confirmed::DeleteMessage(account, conversation, key) => {
            let remote = super::rows::entry(state, key)
                .and_then(|entry| entry.message())
                .and_then(|message| message.remote.clone());
            match remote {
                Some(remote) => issue(
                    state,
                    &account,
                    Command::Chat(ChatCommand::DeleteMessages {
                        conversation,
                        remotes: vec![remote],
                    }),
                    Pending::Delete { message: key },
                ),
                None => crate::app::outbox::discard(state, now, &account, key),
            }
        }
        Confirmed::AutoApproveOn(account, conversation) => issue(
            state,
            &account,
            Command::Model(ModelCommand::SetAutoApprove {
                conversation,
                on: true,
            }),
            Pending::Other("It was not switched on"),
        ),
        Confirmed::RemoveAccount(account) => {
            close_all(state);
            vec![Effect::Account(AccountEffect::Remove { account })]
        }
        Confirmed::OpenLink(link) => {
            vec![Effect::OpenExternal(OpenTarget::Link(link))]
        }
        Confirmed::Quit => actions::quit(state, now),
    }
}

/// Takes a line; an error keeps the prompt open.
pub fn entered(
    state: &mut State,
    now: Moment,
    then: Prompted,
    text: &str,
) -> Result<Vec<Effect>, String> {
    let name = || (!text.is_empty()).then(|| text.to_owned());
    let needed = |what: &str| {
        if text.is_empty() {
            Err(format!("{what} is needed."))
        } else {
            Ok(text.to_owned())
        }
    };
    Ok(match then {
        Prompted::NewConversation(account) => issue(
            state,
            &account,
            Command::Conversation(ConversationCommand::Create {
                name: name(),
                parent: None,
            }),
            Pending::Create,
        ),
        Prompted::NewThread(account, conversation) => issue(
            state,
            &account,
            Command::Conversation(ConversationCommand::Create {
                name: name(),
                parent: Some(conversation),
            }),
            Pending::Create,
        ),
        Prompted::Rename(account, conversation) => issue(
            state,
            &account,
            Command::Conversation(ConversationCommand::Rename {
                conversation,
                name: needed("A name")?,
            }),
            Pending::Other("The conversation was not renamed"),
        ),
        Prompted::AttachPath(account, conversation) => {
            let path = needed("A path")?;
            super::attach::attach(state, &account, &conversation, PathBuf::from(path))
        }
        Prompted::JumpToDate(account, conversation) => {
            let offset = i64::from(state.settings.utc_offset_minutes) * 60_000;
            let local = super::date::parse(text, now.wall_ms.saturating_add(offset))
                .ok_or("That is no date; write 2026-08-31, 31.8., today, yesterday or 3 days.")?;
            conversation::jump(
                state,
                now,
                &account,
                &conversation,
                Place::Time(local - offset),
            )
        }
        Prompted::Color(account, id) => {
            let color = match text {
                "" => None,
                text => Some(super::color(text).ok_or(
                    "That is no colour; write #88c0d0 or one of red, orange, yellow, green, \
                     cyan, blue, purple, pink, grey.",
                )?),
            };
            let old = state
                .conversation(&account, &id)
                .map(|of| of.info.appearance.clone())
                .unwrap_or_default();
            set_appearance(state, account, id, Appearance { color, ..old })
        }
        Prompted::Icon(account, id) => {
            if text.is_empty() {
                let old = state
                    .conversation(&account, &id)
                    .map(|of| of.info.appearance.clone())
                    .unwrap_or_default();
                set_appearance(state, account, id, Appearance { icon: None, ..old })
            } else {
                vec![Effect::LoadIcon {
                    account,
                    conversation: id,
                    path: PathBuf::from(text),
                }]
            }
        }
        Prompted::ModelFreeText(account, conversation) => {
            let model = needed("A model")?;
            choose::set_model_by_name(state, &account, &conversation, &model)
        }
        Prompted::ProfileDirectory(..) => {
            let directory = needed("A folder")?;
            if !is_whole_path(&directory) {
                return Err("Write the whole path, as /home/ada/project.".into());
            }
            choose::set_profile(state, None, None, Some(directory))
        }
        Prompted::FunctionArgument(account, function, subject) => {
            if text.is_empty() {
                return Err("Type it first.".into());
            }
            let argument = text.to_owned();
            close_all(state);
            choose::invoke(state, &account, function, subject, argument)
        }
        Prompted::Secret(account) => {
            let secret = Secret::new(needed("The secret")?);
            state.say(Severity::Info, "Connecting with the new secret…");
            vec![Effect::Account(AccountEffect::Login { account, secret })]
        }
    })
}

/// Whether a path starts at a root, of whichever system the agent runs on.
fn is_whole_path(path: &str) -> bool {
    let mut chars = path.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('/'), ..) | (Some('\\'), Some('\\'), _) => true,
        (Some(drive), Some(':'), Some('/' | '\\')) => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// Sets colour and icon together.
pub fn set_appearance(
    state: &mut State,
    account: crate::domain::AccountId,
    conversation: crate::domain::ConversationId,
    appearance: Appearance,
) -> Vec<Effect> {
    issue(
        state,
        &account,
        Command::Conversation(ConversationCommand::SetAppearance {
            conversation,
            appearance,
        }),
        Pending::Other("The look of the conversation was not changed"),
    )
}
