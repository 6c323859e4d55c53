//! Carries out one batch of writes: routing only, the work is in the files by topic.

use super::{attachments, calls, directory, history, late, own, small, unsent};
use crate::domain::{AccountId, AuditRecord, Committed, ConversationId, RemoteId, Write};
use rusqlite::Connection;

/// What a batch did to one conversation so far.
#[derive(Default)]
pub(super) struct Touched {
    pub new_messages: Vec<RemoteId>,
    activity_ms: Option<i64>,
}

impl Touched {
    /// A message of this time was written.
    pub fn active(&mut self, at_ms: i64) {
        self.activity_ms = self.activity_ms.max(Some(at_ms));
    }
}

/// What came of a batch.
#[derive(Default)]
pub(super) struct Applied {
    touched: Vec<((AccountId, ConversationId), Touched)>,
    /// For the log of decisions, once the transaction is on disk.
    pub audit: Vec<AuditRecord>,
    /// Outbox or drafts changed.
    pub changed_unsent: bool,
}

impl Applied {
    fn touch(&mut self, account: &AccountId, conversation: &ConversationId) -> &mut Touched {
        // A batch names few conversations, nearly always the last one again.
        let found = self
            .touched
            .iter()
            .rposition(|((known, name), _)| known == account && name == conversation);
        let index = found.unwrap_or_else(|| {
            self.touched
                .push(((account.clone(), conversation.clone()), Touched::default()));
            self.touched.len() - 1
        });
        &mut self.touched[index].1
    }

    /// Writes what follows from the batch and says what it changed.
    pub fn finish(&mut self, connection: &Connection) -> rusqlite::Result<Vec<Committed>> {
        std::mem::take(&mut self.touched)
            .into_iter()
            .map(|((account, conversation), touched)| {
                if let Some(at_ms) = touched.activity_ms
                    && let Some(row) = directory::row_of(connection, &account, &conversation)?
                {
                    directory::put_activity(connection, row, at_ms)?;
                }
                directory::committed(connection, account, conversation, touched.new_messages)
            })
            .collect()
    }
}

/// Carries out one write.
pub(super) fn apply(
    connection: &Connection,
    write: Write,
    applied: &mut Applied,
) -> rusqlite::Result<()> {
    match write {
        Write::Conversation {
            account,
            conversation,
            info,
        } => {
            applied.touch(&account, &conversation);
            directory::put(connection, &account, &conversation, &info)
        }
        Write::DirectoryIs {
            account,
            conversations,
        } => directory::keep_only(connection, &account, &conversations),
        Write::ConversationGone {
            account,
            conversation,
        } => {
            applied.touch(&account, &conversation).new_messages.clear();
            directory::remove(connection, &account, &conversation)
        }
        Write::AccountGone { account } => {
            applied.changed_unsent = true;
            directory::remove_account(connection, &account)
        }
        Write::LocalSettings {
            account,
            conversation,
            settings,
        } => {
            let row = directory::row_for(connection, &account, &conversation)?;
            directory::put_settings(connection, row, &settings)
        }
        Write::OlderToken {
            account,
            conversation,
            token,
        } => {
            let row = directory::row_for(connection, &account, &conversation)?;
            directory::put_older_token(connection, row, token.as_ref())
        }
        Write::Read {
            account,
            conversation,
            mark,
        } => {
            applied.touch(&account, &conversation);
            let row = directory::row_for(connection, &account, &conversation)?;
            directory::put_read(connection, row, &mark)
        }
        Write::Entry { .. }
        | Write::Missed { .. }
        | Write::Orders { .. }
        | Write::EntriesGone { .. }
        | Write::MessagesDeleted { .. }
        | Write::Rekeyed { .. }
        | Write::CallRekeyed { .. }
        | Write::CallLost { .. }
        | Write::Cleared { .. } => apply_to_timeline(connection, write, applied),
        Write::Outbox(_)
        | Write::OutboxGone { .. }
        | Write::Draft { .. }
        | Write::Answering { .. }
        | Write::AnswerGone { .. } => apply_unsent(connection, write, applied),
        Write::Attachment {
            account,
            conversation,
            attachment,
        } => attachments::put(connection, &account, &conversation, &attachment),
        Write::AttachmentGone {
            account,
            attachment,
        } => attachments::drop(connection, &account, &attachment),
        Write::Audit(record) => {
            applied.audit.push(*record);
            Ok(())
        }
        Write::Fact {
            account,
            name,
            value,
        } => small::put_fact(connection, &account, &name, value.as_deref()),
        Write::Input {
            account,
            conversation,
            text,
            at_ms,
        } => small::put_input(connection, &account, &conversation, &text, at_ms),
        Write::Ui { name, value } => small::put_ui(connection, &name, &value),
    }
}

fn apply_to_timeline(
    connection: &Connection,
    write: Write,
    applied: &mut Applied,
) -> rusqlite::Result<()> {
    match write {
        Write::Entry {
            account,
            conversation,
            entry,
        } => {
            let row = directory::row_for(connection, &account, &conversation)?;
            let claimed = own::claim(connection, row, &entry)?;
            if let Some((key, _)) = &claimed {
                // The server has it, so nothing waits for it any more.
                applied.changed_unsent |= unsent::drop_outbox(connection, *key)?;
            }
            let entry = claimed.as_ref().map_or(entry.as_ref(), |(_, entry)| entry);
            let touched = applied.touch(&account, &conversation);
            history::put(connection, row, entry, touched)
        }
        Write::Missed {
            account,
            conversation,
            mut entry,
            after,
        } => {
            let row = directory::row_for(connection, &account, &conversation)?;
            late::place(connection, row, &mut entry, &after)?;
            let write = Write::Entry {
                account,
                conversation,
                entry,
            };
            apply_to_timeline(connection, write, applied)
        }
        Write::Orders {
            account,
            conversation,
            orders,
        } => {
            applied.touch(&account, &conversation);
            match directory::row_of(connection, &account, &conversation)? {
                Some(row) => history::put_orders(connection, row, &orders),
                None => Ok(()),
            }
        }
        Write::EntriesGone {
            account,
            conversation,
            keys,
        } => {
            applied.touch(&account, &conversation);
            match directory::row_of(connection, &account, &conversation)? {
                Some(row) => history::drop_keys(connection, row, &keys),
                None => Ok(()),
            }
        }
        Write::MessagesDeleted {
            account,
            conversation,
            remotes,
        } => {
            applied
                .touch(&account, &conversation)
                .new_messages
                .retain(|remote| !remotes.contains(remote));
            // A tombstone also counts before the message was ever seen here.
            let row = directory::row_for(connection, &account, &conversation)?;
            history::bury(connection, row, &remotes)?;
            attachments::drop_of_messages(connection, &account, &conversation, &remotes)
        }
        Write::Rekeyed {
            account,
            conversation,
            from,
            to,
        } => {
            for remote in &mut applied.touch(&account, &conversation).new_messages {
                if *remote == from {
                    *remote = to.clone();
                }
            }
            if let Some(row) = directory::row_of(connection, &account, &conversation)? {
                history::rekey(connection, row, &from, &to)?;
            }
            applied.changed_unsent = true;
            attachments::rekey(connection, &account, &conversation, &from, &to)?;
            unsent::rekey(connection, &account, &conversation, &from, &to)
        }
        Write::CallRekeyed {
            account,
            conversation,
            from,
            to,
        } => match directory::row_of(connection, &account, &conversation)? {
            Some(row) => calls::rekey(connection, row, &from, &to),
            None => Ok(()),
        },
        Write::CallLost {
            account,
            conversation,
            call,
        } => match directory::row_of(connection, &account, &conversation)? {
            Some(row) => calls::lose(connection, row, &call),
            None => Ok(()),
        },
        Write::Cleared {
            account,
            conversation,
        } => {
            applied.touch(&account, &conversation).new_messages.clear();
            if let Some(row) = directory::row_of(connection, &account, &conversation)? {
                history::clear(connection, row)?;
            }
            attachments::drop_of_conversation(connection, &account, &conversation)
        }
        other => apply(connection, other, applied),
    }
}

fn apply_unsent(
    connection: &Connection,
    write: Write,
    applied: &mut Applied,
) -> rusqlite::Result<()> {
    match write {
        Write::Outbox(record) => {
            applied.changed_unsent = true;
            unsent::put_outbox(connection, &record)
        }
        Write::OutboxGone { key } => {
            applied.changed_unsent = true;
            unsent::drop_outbox(connection, key).map(drop)
        }
        Write::Draft {
            account,
            conversation,
            draft,
        } => {
            applied.changed_unsent = true;
            match draft {
                Some(draft) => unsent::put_draft(connection, &account, &conversation, &draft),
                None => unsent::drop_draft(connection, &account, &conversation),
            }
        }
        Write::Answering {
            account,
            decision,
            conversation,
            answer,
            command,
        } => unsent::put_answering(
            connection,
            &account,
            &decision,
            &conversation,
            &answer,
            command,
        ),
        Write::AnswerGone { account, decision } => {
            unsent::drop_answering(connection, &account, &decision)
        }
        other => apply(connection, other, applied),
    }
}
