//! Writing the configuration back: one account or one setting changes, everything else, comments
//! and order included, stays as it is. The file is replaced at once or not at all.

use super::account::AccountConfig;
use super::account_table;
use super::error::{ConfigError, ConfigErrors};
use super::file::{Config, parse, read_text};
use super::paths;
use super::settings::{Kind, SETTINGS};
use std::io::Write;
use std::path::{Path, PathBuf};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Value};

/// Adds an account at the end.
pub fn add_account(path: &Path, account: &AccountConfig) -> Result<(), ConfigErrors> {
    let (text, known) = open(path)?;
    let mut document = document(path, &text)?;
    let is_known = known
        .accounts
        .iter()
        .any(|known| known.name == account.name);
    if is_known || names(&document).any(|name| name == account.name) {
        return Err(error(
            path,
            "account.name",
            format!("there is an account called `{}` already", account.name),
        ));
    }
    let tables = document
        .entry("account")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let mut table = account_table::table(account);
    if !text.trim().is_empty() {
        table.decor_mut().set_prefix("\n");
    }
    match tables {
        Item::ArrayOfTables(tables) => tables.push(table),
        // The person wrote `account = [{ … }]`.
        Item::Value(Value::Array(list)) => list.push(table.into_inline_table()),
        _ => {
            return Err(error(
                path,
                "account",
                "expected [[account]] tables".to_owned(),
            ));
        }
    }
    // What would not be read again must not be written.
    let mut read = parse(path, &document.to_string())?;
    if !read.accounts.iter().any(|read| read.name == account.name) {
        read.complaints
            .retain(|new| !known.complaints.contains(new));
        return Err(match read.complaints.is_empty() {
            true => error(path, "account", "this account cannot be written".to_owned()),
            false => ConfigErrors(read.complaints),
        });
    }
    write(path, document)
}

/// Removes an account.
pub fn remove_account(path: &Path, name: &str) -> Result<(), ConfigErrors> {
    let (text, _) = open(path)?;
    let mut document = document(path, &text)?;
    let is_named =
        |table: &dyn toml_edit::TableLike| table.get("name").and_then(Item::as_str) == Some(name);
    let is_removed = match document.get_mut("account") {
        Some(Item::ArrayOfTables(tables)) => {
            let before = tables.len();
            tables.retain(|table| !is_named(table));
            tables.len() < before
        }
        Some(Item::Value(Value::Array(list))) => {
            let before = list.len();
            list.retain(|value| !value.as_inline_table().is_some_and(|table| is_named(table)));
            list.len() < before
        }
        _ => false,
    };
    if !is_removed {
        let expected = format!("there is no account called `{name}`");
        return Err(error(path, "account.name", expected));
    }
    write(path, document)
}

/// Sets one setting, given as text.
pub fn save_setting(path: &Path, key: &str, value: &str) -> Result<(), ConfigErrors> {
    let Some(setting) = SETTINGS.iter().find(|setting| setting.name == key) else {
        return Err(error(path, key, "this setting is not known".to_owned()));
    };
    let mut new: Value = match setting.kind {
        Kind::Flag => match value {
            "true" => true.into(),
            "false" => false.into(),
            _ => return Err(error(path, key, "expected true or false".to_owned())),
        },
        Kind::Text | Kind::Path | Kind::Choice(_) => value.into(),
    };
    let (text, _) = open(path)?;
    let mut document = document(path, &text)?;
    match document.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            // What stands around the value, such as a comment behind it, stays.
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => document[key] = Item::Value(new),
    }
    write(path, document)
}

/// The text of the file, which must be TOML: what cannot be read must not be written over. Lines that
/// were passed over stay as they are.
fn open(path: &Path) -> Result<(String, Config), ConfigErrors> {
    let text = read_text(path)?.unwrap_or_default();
    let config = parse(path, &text)?;
    Ok((text, config))
}

/// Names in account tables, also of those that were left out.
fn names(document: &DocumentMut) -> impl Iterator<Item = &str> {
    let item = document.get("account");
    let tables = item
        .and_then(Item::as_array_of_tables)
        .into_iter()
        .flatten();
    let list = item.and_then(Item::as_array).into_iter().flatten();
    tables
        .filter_map(|table| table.get("name")?.as_str())
        .chain(list.filter_map(|value| value.as_inline_table()?.get("name")?.as_str()))
}

fn document(path: &Path, text: &str) -> Result<DocumentMut, ConfigErrors> {
    text.parse::<DocumentMut>()
        .map_err(|found| error(path, "", found.message().to_owned()))
}

fn write(path: &Path, document: DocumentMut) -> Result<(), ConfigErrors> {
    let text = document.to_string();
    parse(path, &text)?;
    replace(path, text.as_bytes()).map_err(|found| {
        error(
            path,
            "",
            format!("cannot be written: {}", crate::domain::io_words(&found)),
        )
    })
}

/// Replaces a file at once, keeping its mode; a link keeps pointing where it did, since many keep
/// their configuration elsewhere.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let target: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = target.parent().filter(|folder| !folder.exists()) {
        paths::make_private(folder)?;
    }
    let mode = std::fs::metadata(&target).map_or(0o600, |facts| facts.permissions().mode());
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let unfinished = target.with_file_name(name);
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode & 0o777)
        .open(&unfinished)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&unfinished, &target));
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

fn error(path: &Path, key: &str, expected: String) -> ConfigErrors {
    ConfigErrors::from(ConfigError {
        file: path.to_owned(),
        line: None,
        key: key.to_owned(),
        expected,
        suggestion: None,
        effect: None,
    })
}
