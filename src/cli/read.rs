//! Commands that only read: `list`, `search`, `decisions`, `themes`, `keys`, `completions`.

use super::args::{Cli, Global, List, Search};
use super::export::Files;
use super::words::{Lines, time};
use super::{Exit, Failure, chat, json};
use crate::app::keymap::Keymap;
use crate::config::paths::Paths;
use crate::domain::{
    AccountId, ConversationId, Found, Lookup, SearchHit, StartFacts, StoredConversation, Unread,
    io_words,
};
use crate::store::{self, Handle, StoreError, StoreOptions, audit, pages};
use crate::view::theme::{Depth, SHIPPED, Theme};
use clap::CommandFactory;
use std::io::{self, Write};

/// What is said where nothing was ever kept.
const NO_HISTORY: &str = "nothing is kept here yet; conversations come when the chat, `send`, `tail`, `export` or \
     `listen` has connected once. Until then -c NAME finds one on its server";

pub(super) fn open(global: &Global) -> Result<(Handle, StartFacts, Paths), Failure> {
    open_begun(global)?.ok_or_else(|| Failure::usage(NO_HISTORY))
}

/// The same; none when there is no history yet.
fn open_begun(global: &Global) -> Result<Option<(Handle, StartFacts, Paths)>, Failure> {
    let profile = chat::open_profile(global)?;
    let options = StoreOptions {
        read_only: true,
        ..StoreOptions::default()
    };
    let path = profile.paths.store_file();
    if !path.exists() {
        return Ok(None);
    }
    let (store, facts) = store::open(path, options).map_err(failed)?;
    Ok(Some((store, facts, profile.paths)))
}

pub(super) fn failed(error: StoreError) -> Failure {
    Failure::usage(error.to_string())
}

/// One conversation as the store knows it now.
pub(super) fn conversation(
    store: &Handle,
    account: &AccountId,
    id: &ConversationId,
) -> Result<StoredConversation, Failure> {
    let facts = match store.look_now(Lookup::Start).map_err(failed)? {
        Found::Start(facts) => *facts,
        _ => StartFacts::default(),
    };
    facts
        .conversations
        .into_iter()
        .find(|known| known.account == *account && known.conversation == *id)
        .ok_or_else(|| Failure::usage("the conversation is not kept here"))
}

/// The files of a conversation by id.
pub(super) fn files(
    store: &Handle,
    account: &AccountId,
    id: &ConversationId,
) -> Result<Files, Failure> {
    let found = store
        .look_now(Lookup::Attachments {
            account: account.clone(),
            conversation: id.clone(),
        })
        .map_err(failed)?;
    Ok(match found {
        Found::Attachments { attachments, .. } => attachments
            .into_iter()
            .map(|attachment| (attachment.id.clone(), attachment))
            .collect(),
        _ => Files::new(),
    })
}

/// `trialogue list`
pub fn list(global: &Global, list: &List) -> Result<Exit, Failure> {
    let Some((_store, facts, _)) = open_begun(global)? else {
        complain!("{NO_HISTORY}");
        return Ok(Exit::Done);
    };
    let mut out = Lines::default();
    let is_wanted = |known: &StoredConversation| {
        list.account
            .as_deref()
            .is_none_or(|wanted| wanted == known.account.as_str())
    };
    if !facts.conversations.iter().any(is_wanted) {
        complain!("{NO_HISTORY}");
    }
    for known in &facts.conversations {
        if list
            .account
            .as_deref()
            .is_some_and(|wanted| wanted != known.account.as_str())
        {
            continue;
        }
        let unread = match known.unread {
            Unread::None => 0,
            Unread::Some => 1,
            Unread::Count(count) => count,
        };
        if list.json {
            let value = serde_json::json!({
                "v": json::VERSION,
                "event": "conversation",
                "account": known.account.as_str(),
                "id": known.conversation.as_str(),
                "name": known.info.name.as_str(),
                "unread": unread,
                "archived": known.info.is_archived,
                "last_activity_ms": known.info.last_activity_ms,
            });
            out.put(&value.to_string());
        } else {
            let mark = if unread > 0 { "*" } else { " " };
            out.put(&format!(
                "{mark} {}\t{}\t{}",
                known.account.as_str(),
                known.info.name,
                known.conversation.as_str()
            ));
        }
    }
    Ok(Exit::Done)
}

/// `trialogue search`
pub fn search(global: &Global, search: &Search) -> Result<Exit, Failure> {
    let Some((store, facts, _)) = open_begun(global)? else {
        complain!("{NO_HISTORY}");
        return Ok(Exit::Done);
    };
    let account = search.account.as_deref().map(AccountId::from);
    let conversation = match &search.conversation {
        None => None,
        Some(text) => {
            let of = super::pick::stored(&facts.conversations, search.account.as_deref(), text)?;
            Some(of.conversation.clone())
        }
    };
    let mut out = Lines::default();
    let mut left = search.limit;
    for page in pages::search(&store, search.text.clone(), account, conversation) {
        for (account, hit) in page.map_err(failed)?.into_iter().take(left) {
            let name = facts
                .conversations
                .iter()
                .find(|of| of.account == account && of.conversation == hit.conversation)
                .map_or(hit.conversation.as_str(), |of| of.info.name.as_str());
            out.put(&hit_line(&account, name, &hit, search.json));
            left -= 1;
        }
        if out.is_closed() || left == 0 {
            break;
        }
    }
    Ok(Exit::Done)
}

fn hit_line(account: &AccountId, name: &str, hit: &SearchHit, as_json: bool) -> String {
    let author = json::author(hit.author);
    if as_json {
        serde_json::json!({
            "v": json::VERSION,
            "event": "found",
            "account": account.as_str(),
            "conversation": hit.conversation.as_str(),
            "name": name,
            "message": hit.remote.as_ref().map(|id| id.as_str()),
            "author": author,
            "at_ms": hit.sent_at_ms,
            "text": hit.snippet.as_str(),
        })
        .to_string()
    } else {
        let at = hit.sent_at_ms.map(time).unwrap_or_default();
        let text = hit.snippet.as_str().replace('\n', " ");
        format!("{at}  {}/{name}  {author}: {text}", account.as_str())
    }
}

/// `trialogue decisions`
pub fn decisions(global: &Global, as_json: bool) -> Result<Exit, Failure> {
    let profile = chat::open_profile(global)?;
    let path = profile.paths.decisions_file();
    let (lines, unreadable) = audit::read(&path)
        .map_err(|error| Failure::usage(format!("{}: {}", path.display(), io_words(&error))))?;
    let mut out = Lines::default();
    for line in &audit::once(lines) {
        if as_json {
            let mut value =
                serde_json::to_value(line).map_err(|error| Failure::usage(error.to_string()))?;
            value["event"] = "audit".into();
            out.put(&value.to_string());
        } else {
            let answer = line.answer.as_deref().unwrap_or("no answer");
            let reason = line
                .reason
                .as_deref()
                .map(|reason| format!(" ({reason})"))
                .unwrap_or_default();
            let question = line.question.replace('\n', " \u{23ce} ");
            out.put(&format!(
                "{}  {} {}  {}: {answer}{reason} [{}]  {question}",
                time(line.at_ms),
                line.account,
                line.conversation_name,
                line.kind,
                line.by
            ));
        }
    }
    if unreadable > 0 {
        complain!(
            "trialogue: {unreadable} lines of {} could not be read",
            path.display()
        );
    }
    Ok(Exit::Done)
}

/// `trialogue themes`
pub fn themes(global: &Global) -> Result<Exit, Failure> {
    let profile = chat::open_profile(global)?;
    let mut out = Lines::default();
    let own = crate::config::theme::themes(&profile.paths.themes_dir());
    let names = SHIPPED.iter().map(|(name, _)| *name);
    let widest = names
        .chain(own.iter().map(|file| file.name.as_str()))
        .map(crate::text::width)
        .max()
        .unwrap_or(0);
    for (name, _) in SHIPPED {
        let title = Theme::named(name, Depth::TrueColor)
            .map(|theme| theme.title)
            .unwrap_or_default();
        out.put(&format!("{name:widest$}  {title}"));
    }
    for file in own {
        let title = match Theme::parse(&file.text, Depth::TrueColor) {
            Ok(theme) => format!("{} ({})", theme.title, file.path.display()),
            Err(_) => format!(
                "not used: `trialogue config check` says why ({})",
                file.path.display()
            ),
        };
        out.put(&format!("{:widest$}  {title}", file.name));
    }
    Ok(Exit::Done)
}

/// `trialogue keys`
pub fn keys(global: &Global) -> Result<Exit, Failure> {
    let profile = chat::open_profile(global)?;
    let scheme = profile
        .config
        .settings
        .keys
        .as_deref()
        .and_then(Keymap::scheme)
        .unwrap_or_default();
    let (keymap, complaints) = chat::overrides(&profile.paths, scheme);
    let mut out = Lines::default();
    for (context, bindings) in keymap.help() {
        out.put(&format!("[{}]", context.name()));
        for (chords, action) in bindings {
            out.put(&format!(
                "{chords:24} {:28} {}",
                action.name(),
                action.title()
            ));
        }
        out.put("");
    }
    for complaint in complaints {
        complain!("trialogue: {complaint}");
    }
    Ok(Exit::Done)
}

/// `trialogue completions SHELL`
pub fn completions(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "trialogue", &mut bytes);
    let _ = io::stdout().write_all(&bytes);
    Ok(Exit::Done)
}
