//! Errors of the system in words, for everything a person reads: no numbers, no names of calls.

use std::io::{Error, ErrorKind};

/// What an error of a file or a connection means, as a sentence without its end. What is not from
/// the system keeps its own words.
pub fn io_words(error: &Error) -> String {
    if error.raw_os_error().is_none() && error.get_ref().is_some() {
        return error.to_string();
    }
    let words = match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder",
        ErrorKind::PermissionDenied => "permission is missing",
        ErrorKind::AlreadyExists => "it is there already",
        ErrorKind::IsADirectory => "it is a folder",
        ErrorKind::NotADirectory => "a part of the path is no folder",
        ErrorKind::DirectoryNotEmpty => "the folder is not empty",
        ErrorKind::StorageFull => "the disk is full",
        ErrorKind::QuotaExceeded => "the quota of the disk is used up",
        ErrorKind::ReadOnlyFilesystem => "the disk is read-only",
        ErrorKind::FileTooLarge => "it is too large for this disk",
        ErrorKind::InvalidFilename => "no file can have such a name",
        ErrorKind::CrossesDevices => "it is on another disk",
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => "it is in use",
        ErrorKind::ConnectionRefused => "nothing listens there",
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => "the other side broke it off",
        ErrorKind::BrokenPipe => "nobody reads it any more",
        ErrorKind::NotConnected => "there is no connection",
        ErrorKind::AddrInUse => "the address is in use already",
        ErrorKind::AddrNotAvailable => "the address is not one of this machine",
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            "there is no way there from here"
        }
        ErrorKind::TimedOut => "it took too long",
        ErrorKind::OutOfMemory => "there is no memory left",
        ErrorKind::InvalidData => "it is no text (UTF-8)",
        ErrorKind::UnexpectedEof => "it ended too early",
        _ => return without_number(&error.to_string()),
    };
    words.to_owned()
}

/// The words of the system without the number behind them.
fn without_number(text: &str) -> String {
    let text = text
        .split_once(" (os error")
        .map_or(text, |(words, _)| words);
    let mut letters = text.chars();
    match (letters.next(), letters.as_str()) {
        // A sentence of the system is a part of one of ours.
        (Some(first), rest) if !rest.starts_with(char::is_uppercase) => {
            first.to_lowercase().chain(rest.chars()).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_of_the_system_shows_its_number() {
        for code in 1..134 {
            let words = io_words(&Error::from_raw_os_error(code));
            assert!(!words.contains("os error"), "{code}: {words}");
        }
        let check = |code, wanted: &str| {
            assert_eq!(io_words(&Error::from_raw_os_error(code)), wanted, "{code}");
        };
        check(2, "there is no such file or folder");
        check(13, "permission is missing");
        check(28, "the disk is full");
        check(24, "too many open files");
        assert_eq!(io_words(&Error::other("Its own words")), "Its own words");
    }
}
