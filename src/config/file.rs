//! `config.toml`: settings at the top, one `[[account]]` table for each account. Without a file
//! everything has its default.

use super::account::AccountConfig;
use super::account_table;
use super::error::{ConfigError, ConfigErrors};
use super::reader::{Reader, Section};
use super::settings::{Kind, SETTINGS, Setting, Settings};
use crate::domain::nearest;
use std::fmt::Write;
use std::path::Path;
use toml_edit::Table;

pub use super::edit::{add_account, remove_account, save_setting};

/// Bytes of a configuration file that are read.
const LIMIT: u64 = 4 << 20;

/// Everything in the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// In the order of the file, which is the order of the sidebar.
    pub accounts: Vec<AccountConfig>,
    pub settings: Settings,
    /// Lines that were passed over, in the order of the file.
    pub complaints: Vec<ConfigError>,
    /// What works but should be known: a file that others may write.
    pub warnings: Vec<String>,
}

/// Reads the file; a missing one is an empty one. What is wrong in it is among the complaints of the
/// result; only a file that cannot be read at all is an error.
pub fn load(path: &Path) -> Result<Config, ConfigErrors> {
    match read_text(path)? {
        Some(text) => {
            let mut config = parse(path, &text)?;
            config.warnings.extend(warn_of_mode(path));
            Ok(config)
        }
        None => Ok(Config::default()),
    }
}

/// Reads the text of a configuration; `path` is for complaints only.
pub fn parse(path: &Path, text: &str) -> Result<Config, ConfigErrors> {
    let mut reader = Reader::new(path, text);
    let Some(document) = reader.parse() else {
        return reader.finish(None);
    };
    let mut root = Section::new(document.as_table(), "");
    let mut settings = Settings::read(&mut reader, &mut root);
    if settings.hide_content.is_none() && root.get("hide_content").is_some() {
        // Somebody who wrote the key wants something hidden.
        settings.hide_content = Some(true);
    }
    let accounts = accounts(&mut reader, &mut root);
    reader.close(root);
    Ok(Config {
        accounts,
        settings,
        complaints: reader.finish_with_complaints(),
        warnings: Vec::new(),
    })
}

/// What is wrong with the theme the file names, when none of these has its name. Whatever else is
/// wrong in the file does not hide it.
pub fn unknown_theme(path: &Path, names: &[String]) -> Option<ConfigError> {
    let text = read_text(path).ok()??;
    let mut reader = Reader::new(path, &text);
    let document = reader.parse()?;
    let mut root = Section::new(document.as_table(), "");
    let theme = root.take("theme")?.as_str()?;
    if names.iter().any(|name| name == theme) {
        return None;
    }
    Some(ConfigError {
        file: path.to_owned(),
        line: root.line(&reader, "theme"),
        key: "theme".to_owned(),
        expected: format!("there is no theme `{theme}`; `trialogue themes` lists them"),
        suggestion: nearest(theme, names.iter().map(String::as_str)).map(str::to_owned),
        effect: None,
    })
}

/// An account from the fields of the wizard: the keys of its table, every value as text.
pub fn account_from_fields(fields: &[(String, String)]) -> Result<AccountConfig, ConfigErrors> {
    let mut table = Table::new();
    for (key, value) in fields {
        table[key] = toml_edit::value(value);
    }
    let mut reader = Reader::new(Path::new(""), "");
    let account = account_table::read(&mut reader, Section::new(&table, ""));
    reader.finish(account)
}

/// The complete address for what a person wrote; `default_path` stands in for a missing path.
pub fn address(written: &str, default_path: Option<&str>) -> Result<String, String> {
    account_table::address(written, default_path)
}

/// The words of a command line, split as a shell would at spaces and quotes; none when a quote is
/// left open.
pub fn words(line: &str) -> Option<Vec<String>> {
    super::words::split(line)
}

fn accounts(reader: &mut Reader, root: &mut Section<'_>) -> Vec<AccountConfig> {
    let Some(item) = root.take("account") else {
        return Vec::new();
    };
    // `[[account]]` tables, or one list of inline tables.
    let list: Vec<(Option<Section<'_>>, _)> = match (item.as_array_of_tables(), item.as_array()) {
        (Some(tables), _) => tables
            .iter()
            .map(|table| (Some(Section::new(table, "account.")), table.span()))
            .collect(),
        (None, Some(list)) => list
            .iter()
            .map(|value| {
                let table = value.as_inline_table();
                let section = table.map(|table| Section::new(table, "account."));
                (section, value.span())
            })
            .collect(),
        (None, None) => {
            let line = reader.line(item.span());
            let expected = "expected [[account]], in two brackets";
            let count = reader.count();
            reader.complain(line, "account", expected, None);
            reader.explain(count, "This account is left out");
            return Vec::new();
        }
    };
    let mut accounts: Vec<AccountConfig> = Vec::new();
    for (section, span) in list {
        let count = reader.count();
        let line = reader.line(span);
        let Some(section) = section else {
            reader.complain(
                line,
                "account",
                "expected a table like { kind = \"iris\" }",
                None,
            );
            continue;
        };
        let name = section.get("name").and_then(|item| item.as_str());
        let effect = match name {
            Some(name) => format!("The account `{name}` is left out"),
            None => "This account is left out".to_owned(),
        };
        let line = section.line(reader, "name").or(line);
        match account_table::read(reader, section) {
            Some(account) if accounts.iter().any(|known| known.name == account.name) => {
                let expected = format!("there is another account called `{}`", account.name);
                reader.complain(line, "account.name", expected, None);
                reader.explain(count, "The second one is left out");
            }
            Some(account) => accounts.push(account),
            None => reader.explain(count, &effect),
        }
    }
    accounts
}

/// The text of a file; none when there is no file.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, ConfigErrors> {
    use std::io::Read;
    let read = std::fs::File::open(path).and_then(|file| {
        let mut text = String::new();
        file.take(LIMIT).read_to_string(&mut text)?;
        Ok(text)
    });
    match read {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let mut reader = Reader::new(path, "");
            reader.complain(
                None,
                "",
                format!("cannot be read: {}", crate::domain::io_words(&error)),
                None,
            );
            reader.finish(None)
        }
    }
}

/// Who may write the file decides which commands run.
fn warn_of_mode(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    (mode & 0o022 != 0).then(|| {
        format!(
            "{} can be written by others, and it names commands that are run; chmod go-w it",
            path.display()
        )
    })
}

/// The commented example: every setting with its meaning and default, and an account of each kind.
/// As it stands, nothing in it is switched on.
pub fn example() -> String {
    let mut text = String::from(
        "# Settings of trialogue. Everything is optional; what stands here are the defaults.\n",
    );
    for Setting {
        name,
        default,
        meaning,
        kind,
    } in SETTINGS
    {
        let choices = match kind {
            Kind::Choice(choices) => format!(" ({})", choices.join(", ")),
            Kind::Flag | Kind::Text | Kind::Path => String::new(),
        };
        // Writing into a string cannot fail.
        let _ = write!(text, "\n# {meaning}{choices}.\n# {name} = {default}\n");
    }
    text.push_str(ACCOUNTS);
    text
}

/// The part of the example on accounts.
const ACCOUNTS: &str = r##"
# Accounts, in the order of the sidebar. `trialogue account add` writes them for you. Secrets never
# stand here: they come from the keyring, a command, TRIALOGUE_SECRET_<NAME> or a private file.
#
# [[account]]
# name = "home"
# kind = "iris"                 # iris, pheby or omi
# url = "gateway.example"       # a host, or an http(s) or ws(s) address
# secret_command = ["pass", "show", "gateway"]
# color = "#7cb7ff"             # of its mark in the sidebar
# disabled = true               # not connected at start
# ca_file = "~/ca.pem"          # further certificate authorities
# allow_plain = true            # ws:// to another machine
# proxy = ""                    # empty: none; without this line the environment decides
#
# [[account]]
# name = "vps"
# kind = "pheby"
# url = "https://agent.example" # without a path /ws is meant
#
# [[account]]
# name = "laptop"
# kind = "omi"
# command = ["omi-runtime"]     # program and arguments, no shell
# environment = { OMI_LOG = "info" }
# directory = "~/proj"          # of new conversations; else where trialogue was started
# owner = "me"
# adapter = "local"
# model = "default"
# main_chat = true              # the desktop app's own conversation
# tools = { lookup = ["my-lookup", "--json"] }
"##;

/// The JSON schema of the file.
pub fn schema() -> String {
    let quoted = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| format!("\"{text}\""))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut properties = String::new();
    for setting in SETTINGS {
        let kind = match setting.kind {
            Kind::Flag => "\"type\": \"boolean\"".to_owned(),
            Kind::Text | Kind::Path => "\"type\": \"string\"".to_owned(),
            Kind::Choice(choices) => format!("\"enum\": [{}]", quoted(choices)),
        };
        let _ = writeln!(
            properties,
            "    \"{}\": {{ {kind}, \"default\": {}, \"description\": \"{}\" }},",
            setting.name, setting.default, setting.meaning
        );
    }
    let kinds = quoted(&account_table::kinds()[..]);
    format!(
        r##"{{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "trialogue {version}: config.toml",
  "type": "object",
  "additionalProperties": false,
  "properties": {{
{properties}    "account": {{ "type": "array", "items": {{ "$ref": "#/$defs/account" }} }}
  }},
  "$defs": {{
    "command": {{
      "oneOf": [
        {{ "type": "string", "minLength": 1 }},
        {{ "type": "array", "items": {{ "type": "string" }}, "minItems": 1 }}
      ]
    }},
    "account": {{
      "type": "object",
      "required": ["kind"],
      "additionalProperties": false,
      "properties": {{
        "name": {{ "type": "string", "minLength": 1, "maxLength": 64 }},
        "kind": {{ "enum": [{kinds}] }},
        "url": {{ "type": "string" }},
        "ca_file": {{ "type": "string" }},
        "allow_plain": {{ "type": "boolean" }},
        "proxy": {{ "type": "string" }},
        "command": {{ "$ref": "#/$defs/command" }},
        "environment": {{ "type": "object", "additionalProperties": {{ "type": "string" }} }},
        "directory": {{ "type": "string" }},
        "owner": {{ "type": "string" }},
        "adapter": {{ "type": "string" }},
        "model": {{ "type": "string" }},
        "main_chat": {{ "type": "boolean" }},
        "tools": {{ "type": "object" }},
        "secret_command": {{ "$ref": "#/$defs/command" }},
        "disabled": {{ "type": "boolean" }},
        "color": {{ "type": "string", "pattern": "^#([0-9a-fA-F]{{3}}|[0-9a-fA-F]{{6}})$" }}
      }}
    }}
  }}
}}
"##,
        version = env!("CARGO_PKG_VERSION")
    )
}

impl Config {
    /// Whether the mouse is ours.
    pub fn mouse(&self) -> bool {
        self.settings.mouse.unwrap_or(true)
    }

    /// Whether the person named a theme.
    pub fn has_theme(&self) -> bool {
        self.settings.theme.is_some()
    }
}
