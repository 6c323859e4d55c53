//! Files that travel: the samples an agent offers, and what clients upload. Large ones are a
//! pattern and never stand in memory as a whole.

use bytes::Bytes;

/// The bytes of a file, or how to make them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    Bytes(Bytes),
    /// So many bytes of a repeating pattern.
    Pattern(u64),
}

impl Content {
    /// Nothing at all.
    pub fn empty() -> Self {
        Self::Bytes(Bytes::new())
    }

    /// Size in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Pattern(size) => *size,
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `max` bytes from `offset` on; empty at the end.
    pub fn read(&self, offset: u64, max: usize) -> Bytes {
        let left = self.len().saturating_sub(offset);
        let take = left.min(max as u64) as usize;
        match self {
            Self::Bytes(bytes) => {
                let from = offset.min(bytes.len() as u64) as usize;
                bytes.slice(from..from + take)
            }
            Self::Pattern(_) => (0..take as u64)
                .map(|i| pattern(offset + i))
                .collect::<Vec<u8>>()
                .into(),
        }
    }
}

/// The byte of the pattern at that place: no short period, so a shifted or repeated piece differs.
fn pattern(at: u64) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16) ^ (at >> 24)) as u8
}

/// A file with its name and type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    pub name: String,
    pub mime: String,
    pub content: Content,
}

impl File {
    /// A sample file by name; `pattern:SIZE:NAME` makes one of any size.
    pub fn sample(name: &str) -> Option<Self> {
        if let Some(rest) = name.strip_prefix("pattern:") {
            let (size, name) = rest.split_once(':')?;
            return Some(Self {
                name: name.to_owned(),
                mime: mime_of(name).to_owned(),
                content: Content::Pattern(size.parse().ok()?),
            });
        }
        let (_, bytes) = super::assets::MEDIA
            .iter()
            .find(|(known, _)| *known == name)?;
        Some(Self {
            name: name.to_owned(),
            mime: mime_of(name).to_owned(),
            content: Content::Bytes(Bytes::from_static(bytes)),
        })
    }

    /// The kind both network protocols name.
    pub fn kind(&self) -> &'static str {
        kind_of(&self.mime)
    }
}

/// The kind of a media type, in the words of the protocols.
pub(crate) fn kind_of(mime: &str) -> &'static str {
    match mime.split('/').next().unwrap_or_default() {
        "image" => "image",
        "video" => "video",
        "audio" if mime == "audio/ogg" => "voice",
        "audio" => "audio",
        _ => "document",
    }
}

/// The media type of a name, as far as the samples need it.
pub(crate) fn mime_of(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        "mp4" => "video/mp4",
        "pdf" => "application/pdf",
        "csv" => "text/csv",
        "md" => "text/markdown",
        "json" => "application/json",
        "txt" | "log" | "rs" | "toml" | "patch" | "diff" => "text/plain",
        _ => "application/octet-stream",
    }
}

/// The hexadecimal SHA-256 of bytes.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_any_size_reads_the_same_in_any_pieces() {
        let content = File::sample("pattern:1073741824:disk.img").unwrap().content;
        assert_eq!(content.len(), 1 << 30);
        let whole = content.read((1 << 30) - 10, 100);
        assert_eq!(whole.len(), 10);
        assert_eq!(content.read((1 << 30) - 7, 3), whole.slice(3..6));
        assert!(content.read(1 << 30, 10).is_empty());
    }

    #[test]
    fn every_sample_has_a_type() {
        for (name, bytes) in super::super::assets::MEDIA {
            let file = File::sample(name).unwrap();
            assert_eq!(file.content.len(), bytes.len() as u64);
            assert_ne!(file.mime, "application/octet-stream", "{name}");
        }
    }
}
