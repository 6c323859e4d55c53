//! What the engine does about each effect: a word to a session, a write, a thread for what may
//! block. What only a front can do is laid down for it.
//!
//! Nothing here decides; the state did.

use super::{Engine, Inner};
use crate::app::effect::{AccountEffect, LinkChange, OpenTarget};
use crate::app::event::ShellReply;
use crate::app::{Effect, Event};
use crate::domain::{
    AccountEvent, AccountId, CommandOutcome, Refusal, RefusalCode, Topic, io_words,
};
use crate::runtime::files::{inspect_file, list_directory, load_icon};
use crate::runtime::recording::{self, Head};
use crate::runtime::session::SessionInput;
use crate::runtime::{desktop, setup};
use crate::text::SafeText;
use std::sync::Arc;

/// So long an account may take to say what passed lately.
const SAVE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

impl Engine {
    pub(super) fn execute_one(&mut self, effect: Effect) {
        if self.around.stage.is_some() && leaves_the_stage(&effect) {
            return;
        }
        match effect {
            Effect::Command {
                account,
                id,
                command,
            } => {
                let sent = self
                    .sessions
                    .get(&account)
                    .map(|session| session.try_send(SessionInput::Command { id, command }));
                let outcome = match sent {
                    Some(Ok(())) => return,
                    Some(Err(_)) => CommandOutcome::Refused(Refusal::new(
                        RefusalCode::Busy,
                        "too much is waiting for this account; try again in a moment",
                    )),
                    None => CommandOutcome::NotSent,
                };
                let event = AccountEvent::live(Topic::Outcome {
                    command: id,
                    outcome,
                });
                self.apply(Event::Account {
                    account,
                    event: Box::new(event),
                });
            }
            Effect::Commit {
                writes,
                durability,
                then,
            } => {
                self.next_commit += 1;
                let commit = self.next_commit;
                self.commits.insert(commit, then);
                let out = self.inner_out.clone();
                self.store.commit(
                    writes,
                    durability,
                    Box::new(move |result| {
                        let _ = out.blocking_send(Inner::Committed { commit, result });
                    }),
                );
            }
            Effect::Look(lookup) => {
                let out = self.inner_out.clone();
                let asked = lookup.clone();
                self.store.look(
                    lookup,
                    Box::new(move |result| {
                        let result = result.map_err(|error| (asked, error));
                        let _ = out.blocking_send(Inner::Found(Box::new(result)));
                    }),
                );
            }
            Effect::Link { account, change } => self.change_link(&account, change),
            Effect::OpenTransfer {
                transfer,
                account,
                file,
            } => {
                if let Some(session) = self.sessions.get(&account) {
                    let _ = session.try_send(SessionInput::OpenTransfer { transfer, file });
                }
            }
            Effect::CancelTransfer { transfer } => {
                for session in self.sessions.values() {
                    let _ = session.try_send(SessionInput::CancelTransfer { transfer });
                }
            }
            Effect::OpenExternal(target) => self.open_external(target),
            Effect::SaveFile { from, name } => {
                let dir = self.around.paths.downloads.clone();
                self.work(
                    move || match desktop::save_file(&from, &dir, name.as_str()) {
                        Ok(path) => ShellReply::Saved { path, error: None },
                        Err(error) => ShellReply::Saved {
                            path: dir,
                            error: Some(SafeText::label(&io_words(&error))),
                        },
                    },
                );
            }
            Effect::ListDirectory { directory } => {
                let base = self.around.working_directory.clone();
                self.work(move || list_directory(&base, directory));
            }
            Effect::InspectFile { path } => {
                let base = self.around.working_directory.clone();
                self.work(move || ShellReply::FileInspected {
                    facts: inspect_file(&base, &path),
                    path,
                });
            }
            Effect::TakePicture {
                account,
                conversation,
            } => {
                let place = self.around.place;
                let dir = self.around.paths.data.join("pasted");
                let name = format!("clipboard-{}.png", self.around.clock.now().wall_ms);
                self.work(move || ShellReply::PictureTaken {
                    account,
                    conversation,
                    file: desktop::take_picture(place, &dir, &name)
                        .map_err(|why| SafeText::label(&why)),
                });
            }
            Effect::LoadIcon {
                account,
                conversation,
                path,
            } => {
                let base = self.around.working_directory.clone();
                self.work(move || ShellReply::IconLoaded {
                    account,
                    conversation,
                    icon: load_icon(&base, &path),
                });
            }
            Effect::SaveFrames => self.save_frames(),
            Effect::Wake(moment) => {
                self.wake = Some(self.wake.map_or(moment, |known| known.min(moment)));
            }
            Effect::Log(text) => tracing::info!("{text}"),
            Effect::Account(effect) => self.account_effect(effect),
            Effect::SaveSetting { key, value } => {
                if !self.around.is_throwaway {
                    let file = self.around.paths.config_file();
                    if let Err(error) = crate::config::file::save_setting(&file, key, &value) {
                        tracing::warn!(%error, "a setting could not be saved");
                    }
                }
            }
            front @ (Effect::Copy(_)
            | Effect::CopySelection
            | Effect::Demo
            | Effect::Doctor
            | Effect::Notify { .. }
            | Effect::Bell
            | Effect::Title(_)
            | Effect::Edit { .. }
            | Effect::Redraw { .. }
            | Effect::RedrawAll
            | Effect::Suspend
            | Effect::Quit { .. }) => self.front.push(front),
        }
    }

    fn change_link(&mut self, account: &AccountId, change: LinkChange) {
        match change {
            LinkChange::Connect => self.start_session(account),
            LinkChange::RetryNow if !self.sessions.contains_key(account) => {
                self.start_session(account);
            }
            LinkChange::RetryNow => self.tell_session(account, SessionInput::RetryNow),
            LinkChange::Disconnect => self.tell_session(account, SessionInput::Disconnect),
            LinkChange::Attend => self.tell_session(account, SessionInput::Attend),
        }
    }

    fn tell_session(&self, account: &AccountId, input: SessionInput) {
        if let Some(session) = self.sessions.get(account) {
            let _ = session.try_send(input);
        }
    }

    fn open_external(&mut self, target: OpenTarget) {
        let (what, name) = match target {
            OpenTarget::Link(link) => {
                if let Some(why) = desktop::refuse_link(&link) {
                    self.apply(Event::Shell(ShellReply::Opened {
                        what: SafeText::label(&link),
                        error: Some(SafeText::label(why)),
                    }));
                    return;
                }
                let name = SafeText::label(&link);
                (link, name)
            }
            OpenTarget::File { path, name } => (path.to_string_lossy().into_owned(), name),
        };
        self.work(move || ShellReply::Opened {
            error: desktop::open_external(&what)
                .err()
                .map(|error| SafeText::label(&error)),
            what: name,
        });
    }

    fn account_effect(&mut self, effect: AccountEffect) {
        match effect {
            AccountEffect::Check { fields, secret } => {
                let (out, around) = (self.inner_out.clone(), Arc::clone(&self.around));
                tokio::spawn(async move {
                    let (account, result) = setup::check_fields(&fields, secret, &around).await;
                    let reply = ShellReply::AccountChecked { account, result };
                    let _ = out.send(Inner::Shell(Box::new(reply))).await;
                });
            }
            AccountEffect::Add { fields, secret } => {
                let (out, around) = (self.inner_out.clone(), Arc::clone(&self.around));
                tokio::task::spawn_blocking(move || {
                    let inner = match setup::add_fields(&fields, secret, &around) {
                        Ok((config, place)) => Inner::AccountReady(Box::new(config), place),
                        Err(error) => Inner::Shell(Box::new(ShellReply::AccountChecked {
                            account: AccountId::new("new"),
                            result: Err(SafeText::label(&error)),
                        })),
                    };
                    let _ = out.blocking_send(inner);
                });
            }
            AccountEffect::Remove { account } => {
                if let Some(session) = self.sessions.remove(&account) {
                    let _ = session.try_send(SessionInput::Shutdown);
                }
                self.configs.remove(&account);
                self.state
                    .accounts
                    .retain(|known| known.account.id != account);
                if self
                    .state
                    .focus
                    .as_ref()
                    .is_some_and(|(focused, _)| *focused == account)
                {
                    self.state.focus = None;
                }
                let around = Arc::clone(&self.around);
                tokio::task::spawn_blocking(move || {
                    if let Err(error) = setup::remove_account(account.as_str(), &around) {
                        tracing::warn!(%error, "the account could not be removed from the configuration");
                    }
                });
            }
            AccountEffect::Login { account, secret } => {
                let around = Arc::clone(&self.around);
                let name = account.as_str().to_owned();
                match self.sessions.get(&account) {
                    Some(session) => {
                        let _ = session.try_send(SessionInput::Secret(secret.clone()));
                    }
                    None => {
                        self.know_secret(&account, secret.clone());
                        self.start_session(&account);
                    }
                }
                tokio::task::spawn_blocking(move || {
                    if let Err(error) = setup::keep_secret(&name, &secret, &around) {
                        tracing::warn!(%error, "the secret could not be kept");
                    }
                });
            }
        }
    }

    /// Runs something that may block, off the loop.
    fn work(&self, job: impl FnOnce() -> ShellReply + Send + 'static) {
        let out = self.inner_out.clone();
        tokio::task::spawn_blocking(move || {
            let _ = out.blocking_send(Inner::Shell(Box::new(job())));
        });
    }

    /// Writes the last minutes of all accounts into a file, as a recording.
    fn save_frames(&mut self) {
        let mut answers = Vec::new();
        for session in self.sessions.values() {
            let (reply, lines) = tokio::sync::oneshot::channel();
            if session.try_send(SessionInput::Recent(reply)).is_ok() {
                answers.push(lines);
            }
        }
        let now = self.around.clock.now();
        let focus = self
            .state
            .focus
            .as_ref()
            .map(|(account, id)| (account.as_str().to_owned(), id.as_str().to_owned()));
        let head = Head {
            version: env!("TRIALOGUE_VERSION").to_owned(),
            started_ms: now.wall_ms - i64::try_from(now.mono_ms).unwrap_or(0),
            columns: 80,
            rows: 24,
            focus,
        };
        let sidebar = recording::sidebar_line(&self.account_names(), &self.ui);
        let (out, folder) = (
            self.inner_out.clone(),
            self.around.paths.state.join("recordings"),
        );
        tokio::spawn(async move {
            let mut lines = vec![(0, sidebar)];
            for answer in answers {
                if let Ok(Ok(of)) = tokio::time::timeout(SAVE_PATIENCE, answer).await {
                    lines.extend(of);
                }
            }
            // Stable: lines of one account keep their order.
            lines.sort_by_key(|(at_ms, _)| *at_ms);
            let path = folder.join(format!("{}.jsonl", now.wall_ms / 1_000));
            let written = tokio::task::spawn_blocking({
                let path = path.clone();
                move || recording::save(&folder, &path, &head, &lines)
            })
            .await;
            let error = match written {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(SafeText::label(&io_words(&error))),
                Err(_) => Some("the writer failed".into()),
            };
            let reply = ShellReply::Saved { path, error };
            let _ = out.send(Inner::Shell(Box::new(reply))).await;
        });
    }
}

/// Whether an effect reaches beyond this window: none does while a recording is played, whose keys
/// somebody else pressed elsewhere.
fn leaves_the_stage(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::OpenExternal(_)
            | Effect::SaveFile { .. }
            | Effect::SaveFrames
            | Effect::TakePicture { .. }
            | Effect::Copy(_)
            | Effect::CopySelection
            | Effect::Edit { .. }
            | Effect::Account(_)
            | Effect::SaveSetting { .. }
            | Effect::Demo
            | Effect::Suspend
    )
}
