//! The person's theme files: their names and texts. What is in them, roles and colours, is read by
//! `view`, which knows the roles.

use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a theme that are read; one that ships has about four thousand.
const LIMIT: u64 = 256 << 10;

/// One file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThemeFile {
    /// The name of the file without its ending.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
}

/// All themes in a folder, by name. A missing folder has none; a file that cannot be read is left
/// out.
pub fn themes(folder: &Path) -> Vec<ThemeFile> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<ThemeFile> = entries
        .filter_map(|entry| read(&entry.ok()?.path()))
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The theme of a name, if the person has one.
pub fn find(folder: &Path, name: &str) -> Option<ThemeFile> {
    // A name with a slash in it would lead out of the folder.
    if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
        return None;
    }
    read(&folder.join(format!("{name}.toml")))
}

fn read(path: &Path) -> Option<ThemeFile> {
    if path.extension().is_none_or(|ending| ending != "toml") {
        return None;
    }
    let mut text = String::new();
    std::fs::File::open(path)
        .ok()?
        .take(LIMIT)
        .read_to_string(&mut text)
        .ok()?;
    Some(ThemeFile {
        name: path.file_stem()?.to_str()?.to_owned(),
        path: path.to_owned(),
        text,
    })
}
