//! Numbers and names that stand in the file for values of the domain. One that is written once
//! keeps its meaning for ever.

use crate::domain::{AttachmentKind, Author, ConversationKind, MessageSort, RefusalCode};

/// The number of an author.
pub(in crate::store) fn author_number(author: Author) -> u8 {
    match author {
        Author::User => 0,
        Author::Assistant => 1,
        Author::System => 2,
        Author::Automation => 3,
    }
}

/// The author of a number.
pub(in crate::store) fn author_of(number: u8) -> Author {
    match number {
        0 => Author::User,
        1 => Author::Assistant,
        2 => Author::System,
        _ => Author::Automation,
    }
}

/// The number of a sort.
pub(in crate::store) fn sort_number(sort: MessageSort) -> u8 {
    match sort {
        MessageSort::Ordinary => 0,
        MessageSort::Commentary => 1,
        MessageSort::Notice => 2,
        MessageSort::Aside => 3,
    }
}

/// The sort of a number.
pub(in crate::store) fn sort_of(number: u8) -> MessageSort {
    match number {
        0 => MessageSort::Ordinary,
        1 => MessageSort::Commentary,
        2 => MessageSort::Notice,
        _ => MessageSort::Aside,
    }
}

/// The number of a kind of conversation.
pub(in crate::store) fn conversation_kind_number(kind: ConversationKind) -> u8 {
    match kind {
        ConversationKind::Default => 0,
        ConversationKind::Channel => 1,
        ConversationKind::Thread => 2,
        ConversationKind::Session => 3,
    }
}

/// The kind of conversation of a number.
pub(in crate::store) fn conversation_kind_of(number: u8) -> ConversationKind {
    match number {
        0 => ConversationKind::Default,
        1 => ConversationKind::Channel,
        2 => ConversationKind::Thread,
        _ => ConversationKind::Session,
    }
}

pub(super) fn kind_number(kind: AttachmentKind) -> u8 {
    match kind {
        AttachmentKind::Document => 0,
        AttachmentKind::Image => 1,
        AttachmentKind::Audio => 2,
        AttachmentKind::Voice => 3,
        AttachmentKind::Video => 4,
    }
}

pub(super) fn kind_of(number: u8) -> AttachmentKind {
    match number {
        1 => AttachmentKind::Image,
        2 => AttachmentKind::Audio,
        3 => AttachmentKind::Voice,
        4 => AttachmentKind::Video,
        _ => AttachmentKind::Document,
    }
}

pub(super) fn refusal_name(code: RefusalCode) -> &'static str {
    match code {
        RefusalCode::Unauthorized => "unauthorized",
        RefusalCode::VersionMismatch => "version_mismatch",
        RefusalCode::BadRequest => "bad_request",
        RefusalCode::NotFound => "not_found",
        RefusalCode::TooLarge => "too_large",
        RefusalCode::RateLimited => "rate_limited",
        RefusalCode::RunActive => "run_active",
        RefusalCode::Unsupported => "unsupported",
        RefusalCode::ServerFailed => "server_failed",
        RefusalCode::LocalLimit => "local_limit",
        RefusalCode::Busy => "busy",
        RefusalCode::TimedOut => "timed_out",
        RefusalCode::Cancelled => "cancelled",
        RefusalCode::LocalFile => "local_file",
    }
}

/// The code of a name; one of a newer version counts as a failure of the server.
pub(super) fn refusal_code(name: &str) -> RefusalCode {
    match name {
        "unauthorized" => RefusalCode::Unauthorized,
        "version_mismatch" => RefusalCode::VersionMismatch,
        "bad_request" => RefusalCode::BadRequest,
        "not_found" => RefusalCode::NotFound,
        "too_large" => RefusalCode::TooLarge,
        "rate_limited" => RefusalCode::RateLimited,
        "run_active" => RefusalCode::RunActive,
        "unsupported" => RefusalCode::Unsupported,
        "local_limit" => RefusalCode::LocalLimit,
        "busy" => RefusalCode::Busy,
        "timed_out" => RefusalCode::TimedOut,
        "cancelled" => RefusalCode::Cancelled,
        "local_file" => RefusalCode::LocalFile,
        _ => RefusalCode::ServerFailed,
    }
}
