//! Slash commands: our own, and those of the server's catalog, in one list. Where both have a name,
//! the server's counts, but for `/quit`.

use super::Action;
use super::screen::fuzzy;
use super::state::{AccountState, State};
use crate::domain::SlashCommand;
use crate::text::SafeText;

/// One of our own commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalCommand {
    pub name: &'static str,
    /// What may follow; empty when nothing.
    pub hint: &'static str,
    pub title: &'static str,
    pub then: Local,
}

/// What a command of our own does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Local {
    Perform(Action),
    New,
    Thread,
    Rename,
    Search,
    Attach,
    Date,
}

const fn perform(name: &'static str, title: &'static str, action: Action) -> LocalCommand {
    LocalCommand {
        name,
        hint: "",
        title,
        then: Local::Perform(action),
    }
}

const fn with(
    name: &'static str,
    hint: &'static str,
    title: &'static str,
    then: Local,
) -> LocalCommand {
    LocalCommand {
        name,
        hint,
        title,
        then,
    }
}

/// All of our own commands.
pub const LOCAL: &[LocalCommand] = &[
    perform("/quit", "Quit", Action::Quit),
    perform("/keys", "Keys and what they do", Action::Help),
    with("/new", "[name]", "New conversation", Local::New),
    with("/thread", "[name]", "New thread", Local::Thread),
    with(
        "/rename",
        "[name]",
        "Rename the conversation",
        Local::Rename,
    ),
    with("/search", "[words]", "Search everywhere", Local::Search),
    with("/attach", "[path]", "Attach a file", Local::Attach),
    with("/date", "[date]", "Go to a date", Local::Date),
    perform("/model", "Model", Action::Models),
    perform("/effort", "Reasoning effort", Action::Effort),
    perform("/stop", "Stop the run", Action::StopRun),
    perform("/files", "Files of the conversation", Action::MediaList),
    perform("/queue", "Messages that wait", Action::ShowQueue),
    perform("/mute", "Mute on or off", Action::ToggleMute),
    perform("/favorite", "Favourite on or off", Action::ToggleFavorite),
    perform("/theme", "Theme", Action::Theme),
    perform("/account", "The account", Action::AccountDetails),
    perform("/connect", "Connect now", Action::RetryNow),
    perform("/doctor", "What works here, with hints", Action::Doctor),
    perform("/wire", "Frames on the wire", Action::Inspector),
];

/// The command that does this in the conversation on screen, where there is one to type it in and
/// its server has none of this name.
pub fn command_for(state: &State, action: Action) -> Option<&'static str> {
    if !state.screen.overlays.is_empty() {
        return None;
    }
    let (account, _, here) = state.focused()?;
    let command = LOCAL
        .iter()
        .find(|command| command.then == Local::Perform(action))?;
    let is_theirs = account
        .catalog
        .iter()
        .any(|theirs| is_called(theirs, command.name));
    (!is_theirs && !here.info.is_automation).then_some(command.name)
}

/// One row of the command drawer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandRow {
    /// With its slash.
    pub name: SafeText,
    /// Byte offsets in the name that matched.
    pub matched: Vec<usize>,
    pub hint: SafeText,
    pub description: SafeText,
    /// None for our own.
    pub category: Option<SafeText>,
}

/// What a draft that begins with a slash is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Typed {
    /// No command.
    Text,
    /// The server's, or one that only the server can judge: it goes out as typed.
    Server,
    Local(LocalCommand, String),
}

/// Reads a draft. A doubled slash is a literal one, and a path is no command.
pub fn read(account: &AccountState, text: &str) -> Typed {
    let Some(word) = command_word(text) else {
        return Typed::Text;
    };
    let argument = text[word.len()..].trim().to_owned();
    let local = LOCAL.iter().find(|command| command.name == word);
    let is_theirs = account
        .catalog
        .iter()
        .any(|command| is_called(command, word));
    match local {
        Some(command) if !is_theirs || command.name == "/quit" => Typed::Local(*command, argument),
        _ => Typed::Server,
    }
}

/// What a draft says whose first word has a doubled slash: it goes out with one, past our own
/// commands. What the server makes of it is the server's; no protocol has a way to say more. With
/// a blank behind it, it is a comment of code, and goes out as it is.
pub fn literal(text: &str) -> Option<&str> {
    let said = text.strip_prefix('/')?;
    let next = said.strip_prefix('/')?.chars().next()?;
    (!next.is_whitespace()).then_some(said)
}

/// The command at the start of a draft, with its slash.
pub fn command_word(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let word = &rest[..end];
    (!word.is_empty() && !word.contains('/')).then(|| &text[..=end])
}

fn is_called(command: &SlashCommand, word: &str) -> bool {
    with_slash(&command.name) == word
        || command
            .aliases
            .iter()
            .any(|alias| with_slash(alias) == word)
}

/// Servers list names with their slash; one that does not is not punished.
fn with_slash(name: &SafeText) -> String {
    if name.as_str().starts_with('/') {
        name.to_string()
    } else {
        format!("/{name}")
    }
}

/// Whether the word is exactly a command.
pub fn is_known(account: &AccountState, word: &str) -> bool {
    LOCAL.iter().any(|command| command.name == word)
        || account
            .catalog
            .iter()
            .any(|command| is_called(command, word))
}

/// What may follow a command.
pub fn hint(account: &AccountState, word: &str) -> Option<SafeText> {
    account
        .catalog
        .iter()
        .find(|command| is_called(command, word))
        .map(|command| command.arguments_hint.clone())
        .or_else(|| {
            LOCAL
                .iter()
                .find(|command| command.name == word)
                .map(|command| SafeText::from(command.hint))
        })
        .filter(|hint| !hint.is_empty())
}

/// The commands that fit a word, best first: the server's and ours.
pub fn rows(account: &AccountState, word: &str) -> Vec<CommandRow> {
    let mut rows: Vec<CommandRow> = account
        .catalog
        .iter()
        .map(|command| CommandRow {
            name: SafeText::label(&with_slash(&command.name)),
            matched: Vec::new(),
            hint: command.arguments_hint.clone(),
            description: command.description.clone(),
            category: Some(command.category.clone()),
        })
        .collect();
    for command in LOCAL {
        if !rows.iter().any(|row| row.name.as_str() == command.name) || command.name == "/quit" {
            rows.retain(|row| row.name.as_str() != command.name);
            rows.push(CommandRow {
                name: SafeText::from(command.name),
                matched: Vec::new(),
                hint: SafeText::from(command.hint),
                description: SafeText::from(command.title),
                category: None,
            });
        }
    }
    let needle = word.trim_start_matches('/');
    let mut fits = fuzzy::rank(needle, rows.iter().map(|row| row.name.as_str()));
    // An alias that is typed out leads to its command although its letters are not in the name.
    if let Some(index) = account.catalog.iter().position(|command| {
        command
            .aliases
            .iter()
            .any(|alias| with_slash(alias) == word)
    }) && !fits.iter().any(|fit| fit.index == index)
    {
        fits.insert(
            0,
            fuzzy::Fit {
                index,
                place: fuzzy::FitPlace::All,
                matched: Vec::new(),
            },
        );
    }
    // A name that begins with what was typed is what is meant most often.
    fits.sort_by_key(|fit| {
        let name = rows[fit.index].name.as_str();
        (name != word, !name.starts_with(word))
    });
    fits.into_iter()
        .map(|fit| CommandRow {
            matched: fit.matched,
            ..rows[fit.index].clone()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AccountId;

    fn account(names: &[&'static str]) -> AccountState {
        let mut account = AccountState::new(AccountId::new("a"), SafeText::label("a"));
        account.catalog = names
            .iter()
            .map(|name| SlashCommand {
                name: SafeText::from(*name),
                ..SlashCommand::default()
            })
            .collect();
        account
    }

    #[test]
    fn the_servers_command_counts_where_both_have_it() {
        assert!(matches!(read(&account(&[]), "/model"), Typed::Local(..)));
        assert_eq!(read(&account(&["/model"]), "/model x"), Typed::Server);
        assert!(matches!(
            read(&account(&["/quit"]), "/quit"),
            Typed::Local(..)
        ));
        assert_eq!(read(&account(&[]), "/whatever"), Typed::Server);
    }

    #[test]
    fn paths_and_doubled_slashes_are_text() {
        assert_eq!(read(&account(&[]), "/usr/bin is full"), Typed::Text);
        assert_eq!(read(&account(&[]), "//model"), Typed::Text);
        assert_eq!(read(&account(&[]), "/ x"), Typed::Text);
        assert_eq!(literal("//model gpt"), Some("/model gpt"));
        assert_eq!(literal("//etc/hosts"), Some("/etc/hosts"));
        for text in ["// why?", "/model", "a //b", "//"] {
            assert_eq!(literal(text), None, "{text}");
        }
    }

    #[test]
    fn the_drawer_has_each_name_once_and_the_best_first() {
        let rows = rows(&account(&["/model", "/compress"]), "/mo");
        assert_eq!(rows[0].name.as_str(), "/model");
        assert!(rows[0].category.is_some());
        assert_eq!(
            rows.iter()
                .filter(|row| row.name.as_str() == "/model")
                .count(),
            1
        );
    }
}
