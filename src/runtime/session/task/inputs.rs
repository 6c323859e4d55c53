//! What the program wants of an account: commands, transfers, and what becomes of its link.

use super::super::SessionInput;
use super::super::recent::Passed;
use super::{PROBE, Task};
use crate::app::event::TransferProgress;
use crate::domain::LinkState;
use crate::link::CloseReason;
use crate::protocol::{Input, TransferFailure};
use crate::runtime::recording::command_words;
use crate::text::SafeText;

impl Task {
    pub(super) fn on_input(&mut self, input: SessionInput) {
        match input {
            SessionInput::Command { id, command } => {
                let now = self.clock.now();
                if let Some(recorder) = &self.recording {
                    recorder.command(now, self.account.as_str(), &command);
                }
                if let Some(words) = command_words(&command) {
                    self.recent.add(now, Passed::Command(words));
                }
                self.feed(Input::Command { id, command });
            }
            SessionInput::OpenTransfer { transfer, file } => {
                if let Err(error) = self.transfers.open(transfer, file) {
                    self.report(
                        transfer,
                        TransferProgress::Failed {
                            reason: SafeText::prose(&format!("The file here: {error}.")),
                        },
                    );
                }
            }
            SessionInput::CancelTransfer { transfer } => {
                if self.drop_transfer(transfer) {
                    self.feed(Input::TransferFailed {
                        transfer,
                        reason: TransferFailure::Cancelled,
                    });
                }
            }
            // Another program may have given it a new secret meanwhile (`account login`).
            SessionInput::Connect | SessionInput::RetryNow if self.is_refused() => {
                self.dials_with_secret = true;
                self.read_secret();
            }
            SessionInput::Connect => self.dial(),
            SessionInput::RetryNow => match &self.links.standing {
                // It stands and cannot be used: only a new one sees that the person signed in.
                Some(_) if matches!(self.state, LinkState::NeedsLogin(_)) => {
                    self.hang_up();
                    self.links.forgive();
                    self.dial();
                }
                Some(standing) => standing.link.probe(PROBE),
                None => {
                    self.links.forgive();
                    self.dial();
                }
            },
            SessionInput::Attend => self.feed(Input::PersonActed),
            SessionInput::Disconnect => {
                self.hang_up();
                self.tell_link(LinkState::Off);
            }
            SessionInput::Secret(secret) => {
                self.secret = Some(secret.clone());
                self.origin.secret_place = None;
                self.feed(Input::SecretRenewed(secret));
                self.hang_up();
                self.links.forgive();
                self.dial();
            }
            SessionInput::Inspect { on } => {
                self.is_inspected = on;
                self.tapped.clear();
                if on {
                    self.show_recent();
                }
            }
            SessionInput::Recent(reply) => {
                let _ = reply.send(self.recent_lines());
            }
            SessionInput::Shutdown => self.is_over = true,
        }
    }

    /// Words for a server of which nothing comes.
    pub(super) fn silence(&self) -> String {
        let is_new = !matches!(self.state, LinkState::Ready);
        match &self.links.standing {
            Some(standing) if is_new => format!(
                "The server took the connection and did not answer for {} s.",
                standing.since.elapsed().as_secs()
            ),
            Some(_) | None => CloseReason::Silent.words(),
        }
    }

    fn is_refused(&self) -> bool {
        self.links.standing.is_none() && matches!(self.state, LinkState::Refused { .. })
    }

    /// Connects once the secret was read, when that is why it was.
    pub(in crate::runtime::session) fn dial_with_secret(&mut self) {
        if std::mem::take(&mut self.dials_with_secret) {
            self.links.forgive();
            self.dial();
        }
    }
}
