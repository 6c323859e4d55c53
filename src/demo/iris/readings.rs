//! The ways in which the schema can be read, as options of this gateway.

/// How the gateway reads what the schema leaves open. The numbers are those of the project's list
/// of readings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Readings {
    /// I2: layout of binary frames of a pull.
    pub bytes: BytesLayout,
    /// I3: a `media.offer` with the request id goes before the bytes.
    pub offers_before_bytes: bool,
    /// I6: unknown media is an error, not a failed end.
    pub unknown_media_is_error: bool,
    /// I7: what happens to a pull.
    pub pull: PullFault,
    /// I8: a wrong hash is an acknowledgement that says no, not an error.
    pub bad_hash_is_ack: bool,
    /// I9: largest upload.
    pub max_upload: u64,
    /// I10: the acknowledgement names another ref.
    pub renames_refs: bool,
    /// I11: who gets the user's own message back.
    pub echo: Echo,
    /// I12: how the receipt comes.
    pub receipt: Receipt,
    /// I13: `hello.ack.sync_cursor`.
    pub sync_cursor: SyncCursor,
    /// I14: sync replays only what a device has not seen live.
    pub replays_only_undelivered: bool,
    /// I17: offers are not parked.
    pub drops_offers: bool,
    /// I18: how many frames the outbox keeps.
    pub outbox: usize,
    /// I21: frames of a thread carry the thread's id as their chat id and no thread id.
    pub thread_is_chat: bool,
    /// I23: every copy of an answer to a channel request carries the id, or the asker gets two.
    pub channel_answers: ChannelAnswers,
    /// I24: the former default channel is told as well.
    pub tells_former_default: bool,
    /// I27: each thread of a deleted channel is deleted by a frame of its own.
    pub deletes_threads_one_by_one: bool,
    /// I29: a page of history is newest first.
    pub history_newest_first: bool,
    /// I30: all four roles appear in the history.
    pub history_has_all_roles: bool,
    /// I32: an unknown `before_message_id` gives the newest page.
    pub forgives_unknown_cursor: bool,
    /// I33: the snapshot of to-dos names empty lists as well.
    pub sends_empty_todos: bool,
    /// I42: the socket stays open after `error auth`.
    pub stays_after_auth_error: bool,
    /// I43: sends in ten seconds on one connection.
    pub sends_in_ten_seconds: usize,
    /// A restart leaves open messages without their end.
    pub loses_open_messages: bool,
    /// Frames that were parked while a device was away count as pushed to it.
    pub pushes: bool,
    /// Pickers come under the names of the planned frames.
    pub uses_planned_pickers: bool,
}

impl Default for Readings {
    fn default() -> Self {
        Self {
            bytes: BytesLayout::Bare,
            offers_before_bytes: false,
            unknown_media_is_error: false,
            pull: PullFault::None,
            bad_hash_is_ack: false,
            max_upload: 64 * 1024 * 1024,
            renames_refs: false,
            echo: Echo::AllAndIdForSender,
            receipt: Receipt::AfterEchoWithId,
            sync_cursor: SyncCursor::Head,
            replays_only_undelivered: false,
            drops_offers: false,
            outbox: usize::MAX,
            thread_is_chat: false,
            channel_answers: ChannelAnswers::IdForAsker,
            tells_former_default: false,
            deletes_threads_one_by_one: false,
            history_newest_first: false,
            history_has_all_roles: false,
            forgives_unknown_cursor: false,
            sends_empty_todos: false,
            stays_after_auth_error: false,
            sends_in_ten_seconds: 60,
            loses_open_messages: false,
            pushes: false,
            uses_planned_pickers: false,
        }
    }
}

/// I2: what stands in a binary frame of a pull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BytesLayout {
    Bare,
    /// Four bytes of the request id, big-endian, in front.
    RequestId,
    /// One byte of length and the media id in front.
    MediaId,
    /// A line of JSON in front.
    JsonLine,
}

/// I7: what goes wrong in a pull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PullFault {
    None,
    /// Ends as if well after half the bytes.
    Short,
    /// All bytes, but wrong ones.
    Corrupt,
    /// Ends as failed after half the bytes.
    Failed,
}

/// I11: who gets the user's own message back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Echo {
    AllAndIdForSender,
    AllWithoutId,
    OthersOnly,
    Nobody,
}

/// I12: how the receipt comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receipt {
    AfterEchoWithId,
    AfterEchoWithoutId,
    BeforeEchoWithId,
}

/// I13: what `sync_cursor` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncCursor {
    Head,
    Delivered,
    Zero,
}

/// I23: how answers to channel requests are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelAnswers {
    IdForAsker,
    /// The asker gets a copy without the id, and then one with it.
    TwoForAsker,
    IdForAll,
}
