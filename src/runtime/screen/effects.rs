//! What only this front can do about an effect: the clipboard, a notification, the editor, the title,
//! a look at this place.
//!
//! Bytes for the terminal are laid down and go out with the next frame; what may block is done on a
//! thread.

use super::Screen;
use crate::app::event::ShellReply;
use crate::app::{Effect, Event};
use crate::domain::{AccountId, ConversationId, LinkState};
use crate::runtime::doctor::{self, Finding, Report, Section};
use crate::runtime::editor::Editing;
use crate::runtime::engine::Inner;
use crate::runtime::{desktop, setup, terminal};
use crate::text::SafeText;
use crate::view;
use std::io;
use std::time::Duration;

/// Notifications of one account are this far apart.
const NOTIFY_EVERY: Duration = Duration::from_secs(3);

impl Screen {
    pub(super) async fn front_effects(&mut self) {
        loop {
            let effects = self.engine.take_front_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.front_effect(effect).await;
            }
        }
    }

    async fn front_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Redraw { now } => self.pace.want(now),
            Effect::RedrawAll => {
                self.painter.invalidate();
                self.pace.want(true);
            }
            Effect::Copy(text) => self.copy(text),
            Effect::Notify {
                account,
                title,
                body,
            } => {
                let now = self.clock.now();
                let last = self.notified.get(account.as_str()).copied();
                if last.is_none_or(|last| now.since(last) >= NOTIFY_EVERY) {
                    self.notified.insert(account.as_str().to_owned(), now);
                    let bytes =
                        desktop::notification(&title, &body, self.engine.surroundings().place);
                    self.extra.extend_from_slice(&bytes);
                    self.pace.want(true);
                }
            }
            Effect::Bell => {
                self.extra.push(7);
                self.pace.want(true);
            }
            Effect::Title(text) if self.options.set_title => {
                self.extra.extend_from_slice(&desktop::title(&text));
                self.pace.want(false);
            }
            Effect::Edit {
                account,
                conversation,
                text,
            } => {
                self.edit(account, conversation, &text).await;
            }
            Effect::CopySelection => {
                if let Some(text) = self.selected_text() {
                    self.copy(text);
                }
            }
            Effect::Demo => {
                self.wants_demo = true;
                self.leave(0);
            }
            Effect::Doctor => self.diagnose(),
            Effect::Suspend => self.suspend(),
            Effect::Quit { code } => self.exit = Some(self.exit.unwrap_or(code)),
            _ => {}
        }
    }

    fn copy(&mut self, text: SafeText) {
        let place = self.engine.surroundings().place;
        let dir = self.engine.surroundings().paths.state.clone();
        let copied = if place.in_tmux || place.has_display {
            // Other programs may be asked; that is done on a thread, and the answer is a toast.
            let inner = self.engine.inner();
            tokio::task::spawn_blocking(move || {
                let copied = desktop::copy(&text, place, &dir);
                let reply = ShellReply::Copied {
                    how: SafeText::label(&copied.how),
                    severity: copied.severity,
                };
                let _ = inner.blocking_send(Inner::Shell(Box::new(reply)));
                if let Some(escape) = copied.escape
                    && let Ok(tty) = terminal::open_tty()
                {
                    let _ = io::Write::write_all(&mut &tty, &escape);
                }
            });
            return;
        } else {
            desktop::copy(&text, place, &dir)
        };
        if let Some(escape) = copied.escape {
            self.extra.extend_from_slice(&escape);
            self.pace.want(true);
        }
        self.engine.apply(Event::Shell(ShellReply::Copied {
            how: SafeText::label(&copied.how),
            severity: copied.severity,
        }));
    }

    /// The text between the ends of the selection.
    fn selected_text(&mut self) -> Option<SafeText> {
        view::selected_text(
            &self.engine.state,
            &mut self.memo,
            &self.theme,
            self.buffer.area,
        )
        .map(|text| SafeText::prose(&text))
    }

    /// Looks at this place on a thread, as other programs may be asked.
    fn diagnose(&self) {
        let around = self.engine.surroundings().clone();
        let abilities = self.abilities.clone();
        let accounts = self.account_findings();
        let colours = doctor::colours(self.options.depth);
        let ascii = self.engine.state.settings.ascii;
        let inner = self.engine.inner();
        tokio::task::spawn_blocking(move || {
            let mut facts = doctor::gather(around.place, &around.paths, Some(abilities), colours);
            facts.keyring = setup::keyring_status(&around).err();
            let mut report = Report {
                sections: doctor::judge(&facts),
            };
            report.sections.push(Section {
                title: "Accounts".to_owned(),
                findings: accounts,
            });
            let page = SafeText::prose(&report.markdown(ascii));
            let _ = inner.blocking_send(Inner::Shell(Box::new(ShellReply::Diagnosed(page))));
        });
    }

    /// How the accounts stand now.
    fn account_findings(&self) -> Vec<Finding> {
        let now = self.clock.now();
        self.engine
            .state
            .accounts
            .iter()
            .map(|of| {
                let name = of.account.label.as_str();
                match &of.account.link {
                    LinkState::Ready => {
                        let who = of.account.identity.as_ref().map_or_else(
                            || "online".to_owned(),
                            |known| format!("online, {} {}", known.server, known.version),
                        );
                        Finding::good(name, who)
                    }
                    LinkState::Off => Finding::good(name, "switched off"),
                    LinkState::Connecting | LinkState::Syncing => Finding::good(name, "connecting"),
                    LinkState::Waiting { until, reason } => Finding::bad(
                        name,
                        reason.as_str(),
                        format!(
                            "It is tried again in {} s; /connect tries now.",
                            until.since(now).as_secs()
                        ),
                    ),
                    LinkState::Refused { reason } => Finding::bad(
                        name,
                        reason.as_str(),
                        "When that is mended, /connect tries again; a new secret goes in on the \
                         account's page (/account), with s.",
                    ),
                    LinkState::NeedsLogin(need) => {
                        Finding::bad(name, need.hint.as_str(), "The account's page says how.")
                    }
                }
            })
            .collect()
    }

    /// Gives the terminal to the person's editor. The loop goes on meanwhile: links stay up, and a
    /// signal is heard.
    async fn edit(&mut self, account: AccountId, conversation: ConversationId, text: &str) {
        drop(self.reader.take());
        self.writer.written().await;
        terminal::restore();
        let dir = self.engine.surroundings().paths.state.join("edit");
        match Editing::start(&dir, text) {
            Ok(editing) => {
                self.edited = Some(Edited {
                    account,
                    conversation,
                    editing,
                });
            }
            Err(error) => {
                self.retake();
                self.tell_edited(account, conversation, Err(error));
            }
        }
    }

    /// The editor has ended.
    pub(super) fn take_edited(&mut self, text: io::Result<String>) {
        let Some(edited) = self.edited.take() else {
            return;
        };
        self.retake();
        self.tell_edited(edited.account, edited.conversation, text);
    }

    /// Ends the editor of a person who has gone; what they had saved is the draft.
    pub(super) async fn leave_editor(&mut self) {
        if let Some(edited) = self.edited.take() {
            let text = edited.editing.stop().await;
            self.tell_edited(edited.account, edited.conversation, text);
        }
    }

    fn tell_edited(
        &mut self,
        account: AccountId,
        conversation: ConversationId,
        text: io::Result<String>,
    ) {
        let text = text
            .inspect_err(|error| tracing::warn!(%error, "the editor failed"))
            .ok();
        self.engine.apply(Event::Shell(ShellReply::Edited {
            account,
            conversation,
            text,
        }));
    }
}

/// A draft that is with the person's editor.
pub(super) struct Edited {
    account: AccountId,
    conversation: ConversationId,
    pub(super) editing: Editing,
}
