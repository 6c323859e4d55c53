//! One `[[account]]` table: reading it, writing it, and what an address may look like.

use super::account::{
    AccountConfig, Endpoint, EndpointKind, EndpointPlace, KINDS, Make, NetworkEndpoint,
    ProcessEndpoint, ToolConfig,
};
use super::reader::{COMMAND, Reader, Section, command_of};
use super::settings::SETTINGS;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use toml_edit::{Array, InlineTable, Table, Value};
use url::{Host, Url};

/// The kinds of account, as they stand in the file.
pub(super) fn kinds() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

/// Characters of a name; it stands in the sidebar and in names of files.
const NAME: usize = 64;

/// Keys that only some kinds have.
const ONLY: [(&str, &str); 12] = {
    const NETWORK: &str = "this key is for accounts on the network";
    const PROCESS: &str = "this key is for accounts that run a program here";
    [
        ("url", NETWORK),
        ("ca_file", NETWORK),
        ("allow_plain", NETWORK),
        ("proxy", NETWORK),
        ("command", PROCESS),
        ("environment", PROCESS),
        ("directory", PROCESS),
        ("owner", PROCESS),
        ("adapter", PROCESS),
        ("model", PROCESS),
        ("main_chat", PROCESS),
        ("tools", PROCESS),
    ]
};

/// What is said of a setting that was written behind an account.
const SETTING: &str = "this is a setting, and settings stand above the first [[account]]; here it belongs to the account. Move the line up";

/// Reads one account; none when something is wrong that it cannot do without: what a proxy, an
/// authority or a command was meant to be is not guessed. Complaints go to the reader.
pub(super) fn read(reader: &mut Reader, mut section: Section<'_>) -> Option<AccountConfig> {
    let count = reader.count();
    let kinds = kinds();
    let kind = reader.choice(&mut section, "kind", &kinds);
    let kind = kind.as_deref().and_then(EndpointKind::named);
    let named = reader.text(&mut section, "name");
    let color = reader.color(&mut section, "color");
    let is_disabled = reader.flag(&mut section, "disabled").unwrap_or_default();
    let secret_command = reader.command(&mut section, "secret_command");
    let has_kind = section.take("kind").is_some();
    let endpoint = match kind.map(|kind| kind.make) {
        Some(Make::Network { default_path, make }) => {
            network(reader, &mut section, default_path).map(make)
        }
        Some(Make::Process { make }) => process(reader, &mut section).map(make),
        None => {
            if !has_kind {
                let expected = format!("missing; one of {}", kinds.join(", "));
                complain_of(reader, &section, "kind", &expected);
            }
            return None;
        }
    };
    let name = match named {
        Some(name) => check_name(reader, &section, name),
        None if section.take("name").is_some() => None,
        None => endpoint.as_ref().map(default_name),
    };
    let settings = SETTINGS.iter().map(|setting| (setting.name, SETTING));
    let elsewhere: Vec<_> = ONLY.into_iter().chain(settings).collect();
    reader.close_but(section, &elsewhere);
    if !reader.is_whole_since(count) {
        return None;
    }
    Some(AccountConfig {
        name: name?,
        endpoint: endpoint?,
        secret_command,
        is_disabled,
        color,
    })
}

/// Complains at the line of a key, or of the table when the key is missing.
fn complain_of(reader: &mut Reader, section: &Section<'_>, key: &str, expected: &str) {
    let line = section.line(reader, key).or_else(|| {
        section
            .iter()
            .find_map(|(key, _)| section.line(reader, key))
    });
    reader.complain(line, section.path(key), expected, None);
}

fn check_name(reader: &mut Reader, section: &Section<'_>, name: String) -> Option<String> {
    let is_good = !name.trim().is_empty()
        && name.trim() == name
        && name.chars().count() <= NAME
        && !name.chars().any(char::is_control);
    if !is_good {
        let expected = format!("expected a name of 1 to {NAME} characters on one line");
        complain_of(reader, section, "name", &expected);
    }
    is_good.then_some(name)
}

/// What an account is called that was given no name: kind and host.
fn default_name(endpoint: &Endpoint) -> String {
    let host = match endpoint.place() {
        EndpointPlace::Network(network) => Url::parse(&network.url)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned)),
        EndpointPlace::Process(process) => process
            .command
            .first()
            .and_then(|program| Path::new(program).file_stem())
            .map(|stem| stem.to_string_lossy().into_owned()),
    };
    match host {
        Some(host) => format!("{}@{host}", endpoint.kind()),
        None => endpoint.kind().to_owned(),
    }
}

fn network(
    reader: &mut Reader,
    section: &mut Section<'_>,
    default_path: Option<&str>,
) -> Option<NetworkEndpoint> {
    let written = reader.text(section, "url");
    let ca_file = reader.path(section, "ca_file");
    let allow_plain = reader.flag(section, "allow_plain").unwrap_or_default();
    let proxy = reader.text(section, "proxy");
    let Some(written) = written else {
        if section.take("url").is_none() {
            complain_of(
                reader,
                section,
                "url",
                "missing; a host, or an http(s) or ws(s) address",
            );
        }
        return None;
    };
    match address(&written, default_path) {
        Ok(url) => Some(NetworkEndpoint {
            url,
            ca_file,
            allow_plain,
            proxy,
        }),
        Err(expected) => {
            complain_of(reader, section, "url", &expected);
            None
        }
    }
}

fn process(reader: &mut Reader, section: &mut Section<'_>) -> Option<ProcessEndpoint> {
    let command = reader.command(section, "command");
    if command.is_none() && section.take("command").is_none() {
        complain_of(reader, section, "command", &format!("missing; {COMMAND}"));
    }
    let mut endpoint = ProcessEndpoint {
        command: Vec::new(),
        environment: environment(reader, section),
        directory: reader.path(section, "directory"),
        owner: reader.text(section, "owner"),
        adapter: reader.text(section, "adapter"),
        model: reader.text(section, "model"),
        main_chat: reader.flag(section, "main_chat").unwrap_or_default(),
        tools: tools(reader, section),
    };
    endpoint.command = command?;
    Some(endpoint)
}

fn environment(reader: &mut Reader, section: &mut Section<'_>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let Some(table) = reader.table(section, "environment") else {
        return variables;
    };
    for (name, item) in table.iter() {
        match item.as_str() {
            Some(value) => {
                variables.insert(name.to_owned(), value.to_owned());
            }
            None => complain_of(reader, &table, name, "expected text in quotes"),
        }
    }
    variables
}

/// `name = ["program", "argument"]`, or a table with `command`.
fn tools(reader: &mut Reader, section: &mut Section<'_>) -> BTreeMap<String, ToolConfig> {
    let mut tools = BTreeMap::new();
    let Some(table) = reader.table(section, "tools") else {
        return tools;
    };
    for (name, item) in table.iter() {
        let item = match item.as_table_like() {
            Some(inner) => {
                let mut inner = Section::new(inner, format!("{}.", table.path(name)));
                let command = inner.take("command");
                reader.close(inner);
                command
            }
            None => Some(item),
        };
        match item.and_then(command_of) {
            Some(command) => {
                tools.insert(name.to_owned(), ToolConfig { command });
            }
            None => complain_of(reader, &table, name, COMMAND),
        }
    }
    tools
}

/// The complete address for what a person wrote: a host, or an `http(s)` or `ws(s)` address. A host
/// alone means an encrypted connection, but for this machine itself. Without a path the default one
/// is meant.
pub(super) fn address(written: &str, default_path: Option<&str>) -> Result<String, String> {
    const EXPECTED: &str = "expected a host, or an http(s) or ws(s) address";
    let written = written.trim();
    let has_scheme = written.contains("://");
    let text = if has_scheme {
        written.to_owned()
    } else {
        // A host and a port alone would be read as a scheme and a path.
        format!("wss://{written}")
    };
    let text = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => format!("wss://{rest}"),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => format!("ws://{rest}"),
        _ => text,
    };
    let mut url = Url::parse(&text).map_err(|error| format!("{EXPECTED} ({error})"))?;
    if !matches!(url.scheme(), "ws" | "wss") {
        return Err(format!("{EXPECTED}, not {}://", url.scheme()));
    }
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => return Err(EXPECTED.to_owned()),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address must not hold a name or password; the secret is asked for".into());
    }
    let is_secret = |name: &str| {
        ["token", "secret", "password", "key"]
            .iter()
            .any(|word| name.to_ascii_lowercase().contains(word))
    };
    if url.query_pairs().any(|(name, _)| is_secret(&name)) {
        return Err("an address must not hold a secret; the secret is asked for".into());
    }
    if url.fragment().is_some() {
        return Err("an address ends before `#`".into());
    }
    let plain = is_here && !has_scheme;
    if plain && url.set_scheme("ws").is_err() {
        return Err(EXPECTED.to_owned());
    }
    if let (Some(path), "" | "/") = (default_path, url.path()) {
        url.set_path(path);
    }
    Ok(url.into())
}

/// The table of an account, with what differs from the defaults.
pub(super) fn table(account: &AccountConfig) -> Table {
    let mut table = Table::new();
    table["name"] = text(&account.name);
    table["kind"] = text(account.endpoint.kind());
    match account.endpoint.place() {
        EndpointPlace::Network(network) => {
            table["url"] = text(&network.url);
            if let Some(file) = &network.ca_file {
                table["ca_file"] = text(&file.to_string_lossy());
            }
            if network.allow_plain {
                table["allow_plain"] = true.into();
            }
            if let Some(proxy) = &network.proxy {
                table["proxy"] = text(proxy);
            }
        }
        EndpointPlace::Process(process) => put_process(&mut table, process),
    }
    if let Some(command) = &account.secret_command {
        table["secret_command"] = words(command).into();
    }
    if account.is_disabled {
        table["disabled"] = true.into();
    }
    if let Some((red, green, blue)) = account.color {
        table["color"] = text(&format!("#{red:02x}{green:02x}{blue:02x}"));
    }
    table
}

fn put_process(table: &mut Table, process: &ProcessEndpoint) {
    table["command"] = words(&process.command).into();
    if !process.environment.is_empty() {
        let mut variables = InlineTable::new();
        for (name, value) in &process.environment {
            variables.insert(name, Value::from(value.as_str()));
        }
        table["environment"] = variables.into();
    }
    if let Some(directory) = &process.directory {
        table["directory"] = text(&directory.to_string_lossy());
    }
    for (key, value) in [
        ("owner", &process.owner),
        ("adapter", &process.adapter),
        ("model", &process.model),
    ] {
        if let Some(value) = value {
            table[key] = text(value);
        }
    }
    if process.main_chat {
        table["main_chat"] = true.into();
    }
    if !process.tools.is_empty() {
        let mut tools = InlineTable::new();
        for (name, tool) in &process.tools {
            tools.insert(name, words(&tool.command));
        }
        table["tools"] = tools.into();
    }
}

fn text(text: &str) -> toml_edit::Item {
    toml_edit::value(text)
}

fn words(words: &[String]) -> Value {
    Value::Array(words.iter().collect::<Array>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed() {
        let check = |written, path, wanted: &str| {
            assert_eq!(address(written, path), Ok(wanted.to_owned()), "{written}");
        };
        let ws = Some("/ws");
        check("agent.example", ws, "wss://agent.example/ws");
        check("agent.example", None, "wss://agent.example/");
        check("agent.example:8443", ws, "wss://agent.example:8443/ws");
        check("agent.example/own", ws, "wss://agent.example/own");
        check("https://agent.example", ws, "wss://agent.example/ws");
        check("https://agent.example/", ws, "wss://agent.example/ws");
        check("HTTP://agent.example/x", ws, "ws://agent.example/x");
        check(
            "wss://agent.example/any/path?lane=1",
            None,
            "wss://agent.example/any/path?lane=1",
        );
        check("localhost:8765", ws, "ws://localhost:8765/ws");
        check("127.0.0.1:8765", ws, "ws://127.0.0.1:8765/ws");
        check("[::1]:8765", ws, "ws://[::1]:8765/ws");
        check("wss://localhost:8765", ws, "wss://localhost:8765/ws");
        check(" 10.0.0.2:80 ", None, "wss://10.0.0.2:80/");
    }

    #[test]
    fn addresses_with_secrets_or_of_another_kind_are_refused() {
        for wrong in [
            "",
            "ftp://agent.example",
            "wss://",
            "wss://me:pass@agent.example",
            "wss://token@agent.example",
            "wss://agent.example/?access_token=abc",
            "wss://agent.example/#part",
            "two words",
        ] {
            assert!(address(wrong, None).is_err(), "{wrong}");
        }
    }
}
