//! Secrets in private files, for machines without a keyring.

use super::SecretError;
use crate::config::paths::make_private;
use crate::domain::Secret;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use zeroize::Zeroize;

/// Bytes of a secret that are read.
const LIMIT: u64 = 64 << 10;
/// Bytes of a file's name, well below what every file system allows.
const NAME: usize = 180;

/// The name of the file of an account: no two accounts have the same, none leads out of its folder.
pub fn file_name(name: &str) -> String {
    let mut file = String::new();
    for (index, byte) in name.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'@' => file.push(byte.into()),
            b'.' if index > 0 => file.push('.'),
            // Writing into a string cannot fail.
            _ => {
                let _ = write!(file, "%{byte:02x}");
            }
        }
    }
    if file.is_empty() {
        // No account has an empty name; a `%` alone is the name of no other.
        file.push('%');
    }
    if file.len() > NAME {
        let hash = Sha256::digest(name.as_bytes());
        file.truncate(NAME - 20);
        file.push('%');
        for byte in hash.iter().take(8) {
            let _ = write!(file, "{byte:02x}");
        }
    }
    file
}

/// Reads a secret; none when there is no file.
pub(super) fn read(path: &Path) -> Result<Option<Secret>, SecretError> {
    let failed = |error: std::io::Error| SecretError::File {
        path: path.to_owned(),
        reason: crate::domain::io_words(&error),
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // Of the opened file, not of its name: that may point elsewhere by now.
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(SecretError::TooOpen {
            path: path.to_owned(),
        });
    }
    let mut text = String::new();
    file.take(LIMIT).read_to_string(&mut text).map_err(failed)?;
    let line = text.lines().next().unwrap_or_default().trim();
    let secret = (!line.is_empty()).then(|| Secret::new(line.to_owned()));
    text.zeroize();
    Ok(secret)
}

/// Writes a secret: private from its first byte, in its place at once.
pub(super) fn write(path: &Path, secret: &Secret) -> Result<(), SecretError> {
    let failed = |error: std::io::Error| SecretError::File {
        path: path.to_owned(),
        reason: crate::domain::io_words(&error),
    };
    if let Some(folder) = path.parent() {
        make_private(folder).map_err(failed)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("%new{}", std::process::id()));
    let unfinished = path.with_file_name(name);
    remove(&unfinished)?;
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)
        .and_then(|mut file| {
            file.write_all(secret.expose().as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written.map_err(failed)
}

/// Removes the file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), SecretError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(SecretError::File {
            path: path.to_owned(),
            reason: crate::domain::io_words(&error),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_files_are_safe_and_different() {
        assert_eq!(file_name("iris@home.example"), "iris@home.example");
        assert_eq!(file_name("../../etc"), "%2e.%2f..%2fetc");
        assert_eq!(file_name("a/b c%"), "a%2fb%20c%25");
        let long = "ä".repeat(64);
        let other = format!("{}ö", "ä".repeat(63));
        assert!(file_name(&long).len() <= 180);
        assert_ne!(file_name(&long), file_name(&other));
    }
}
