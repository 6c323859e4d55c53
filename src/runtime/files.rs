//! Files the person names: what is in a folder, what a file is, and what an icon holds. Blocks, so
//! it is done on threads; the words of an error are meant for the person.
//!
//! Knows nothing of accounts and transfers.

use crate::app::event::{FileFacts, ListedFile, ShellReply};
use crate::domain::{AttachmentKind, io_words};
use crate::text::{SafeText, size_words};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest icon a server takes.
const LARGEST_ICON: u64 = 512 * 1024;

/// `~` at the start means the home folder.
pub fn expand_home(path: &str) -> PathBuf {
    if let Some(rest) = path.strip_prefix("~/")
        && let Some(home) = std::env::var_os("HOME")
    {
        return PathBuf::from(home).join(rest);
    }
    PathBuf::from(path)
}

/// Looks at a file that is to be attached.
pub fn inspect_file(base: &Path, path: &Path) -> Result<FileFacts, SafeText> {
    let full = base.join(expand_home(&path.to_string_lossy()));
    let say = |what: &str| SafeText::label(&format!("{}: {what}", path.display()));
    let metadata = std::fs::metadata(&full).map_err(|error| say(&io_words(&error)))?;
    if !metadata.is_file() {
        return Err(say("only files can be attached"));
    }
    if metadata.len() == 0 {
        return Err(say("the file is empty"));
    }
    let mut start = vec![0_u8; 512];
    let read = std::fs::File::open(&full)
        .and_then(|mut file| std::io::Read::read(&mut file, &mut start))
        .map_err(|error| say(&io_words(&error)))?;
    let media_type = infer::get(&start[..read]).map_or_else(
        || {
            mime_guess::from_path(&full)
                .first_or_octet_stream()
                .essence_str()
                .to_owned()
        },
        |kind| kind.mime_type().to_owned(),
    );
    let kind = match media_type.split('/').next() {
        Some("image") => AttachmentKind::Image,
        Some("audio") => AttachmentKind::Audio,
        Some("video") => AttachmentKind::Video,
        _ => AttachmentKind::Document,
    };
    let name = full
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    Ok(FileFacts {
        path: full,
        name,
        size: metadata.len(),
        media_type,
        kind,
    })
}

/// The entries of a directory for path completion, at most 2,000.
pub(super) fn list_directory(base: &Path, directory: String) -> ShellReply {
    let path = base.join(expand_home(&directory));
    let mut entries: Vec<ListedFile> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .take(2_000)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let metadata = std::fs::metadata(entry.path()).ok()?;
            Some(ListedFile {
                name,
                is_directory: metadata.is_dir(),
                size: metadata.len(),
            })
        })
        .collect();
    entries.sort_by(|a, b| {
        b.is_directory
            .cmp(&a.is_directory)
            .then_with(|| a.name.cmp(&b.name))
    });
    ShellReply::Listing { directory, entries }
}

/// Reads an icon that is to be given to a conversation.
pub(super) fn load_icon(base: &Path, path: &Path) -> Result<Arc<[u8]>, SafeText> {
    let full = base.join(expand_home(&path.to_string_lossy()));
    let say = |what: &str| SafeText::label(&format!("{}: {what}", path.display()));
    let metadata = std::fs::metadata(&full).map_err(|error| say(&io_words(&error)))?;
    if metadata.len() > LARGEST_ICON {
        let most = size_words(LARGEST_ICON);
        return Err(say(&format!("an icon may have {most} at most")));
    }
    let bytes = std::fs::read(&full).map_err(|error| say(&io_words(&error)))?;
    let is_picture = infer::get(&bytes)
        .is_some_and(|kind| matches!(kind.mime_type(), "image/png" | "image/jpeg"));
    if !is_picture {
        return Err(say("an icon must be a PNG or JPEG picture"));
    }
    Ok(bytes.into())
}
