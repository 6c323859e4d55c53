//! Which message of ours a receipt or an echo is about, and where it stands: in the default channel
//! a message may open a thread of its own (readings I11, I12, I28). Must not say what it sets off.

use super::Iris;
use super::asked::Asked;
use crate::domain::{CommandId, ConversationId, RemoteId, Reply, TimelineEvent, Topic};

impl Iris {
    /// The request of ours with this id, when it is a message.
    pub(super) fn take_send(&mut self, id: Option<u64>) -> Option<Asked> {
        let id = id?.to_string();
        match self.pending.get(&id) {
            Some(Asked::Send { .. }) => self.pending.take(&id),
            _ => None,
        }
    }

    /// A message that opened a thread of its own stands in that thread.
    pub(super) fn place_of_sent(
        &mut self,
        command: CommandId,
        from: &ConversationId,
        lane: &ConversationId,
    ) -> Reply {
        if from == lane {
            return Reply::Nothing;
        }
        let home = self.lanes.lane(from);
        home.last_command.take_if(|last| *last == command);
        Reply::Created(lane.clone())
    }

    /// A receipt that names the channel says nothing of the thread that a message opens: its echo
    /// will.
    pub(super) fn awaits_its_thread(
        &mut self,
        id: Option<u64>,
        lane: &ConversationId,
        remote: Option<&RemoteId>,
    ) -> bool {
        let (Some(id), Some(remote)) = (id, remote) else {
            return false;
        };
        let Some(Asked::Send {
            command,
            conversation,
            may_open_thread: true,
            ..
        }) = self.pending.get(&id.to_string())
        else {
            return false;
        };
        let command = *command;
        let awaits = conversation == lane;
        if awaits {
            self.lanes.remember_sent(remote.clone(), command);
            self.say(Topic::Timeline(TimelineEvent::WasRead {
                conversation: lane.clone(),
                remote: None,
                command: Some(command),
            }));
        }
        awaits
    }
}
