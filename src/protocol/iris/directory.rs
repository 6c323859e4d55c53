//! Channels and threads, their flags and looks, search, and the slash catalogue (readings I21 to
//! I27, I46). Must not know messages.

use super::calls::{BEGUN, CALLS};
use super::frames::{CatalogEntry, Channel, Request, SearchResults};
use super::lanes::Address;
use super::{Asked, Iris};
use crate::domain::{
    Appearance, Author, CommandId, CommandOutcome, ConversationId, ConversationInfo,
    ConversationKind, DirectoryEvent, LinkEvent, Moment, RefusalCode, RemoteId, Reply, SearchHit,
    SearchQuery, SearchScope, SlashCommand, SyncEvent, Topic,
};
use crate::protocol::decode::CONVERSATION_LIMIT;
use crate::text::{SafeText, size_words};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

/// The largest icon a gateway takes.
const ICON_LIMIT: usize = 512 * 1024;
/// Commands of a catalogue.
const CATALOG_LIMIT: usize = 1_000;

/// What is known of the conversations and commands.
#[derive(Debug, Default)]
pub(super) struct Directory {
    known: BTreeMap<ConversationId, ConversationInfo>,
    /// Names of commands and their hints, with their slashes.
    pub(super) commands: BTreeMap<String, String>,
}

impl Iris {
    pub(super) fn list(&mut self, now: Moment, command: CommandId) {
        let asked = Asked::List { command };
        self.ask(
            now,
            "channel.list",
            &Address::default(),
            Request::Empty {},
            asked,
        );
    }

    pub(super) fn on_channel_list(&mut self, id: Option<u64>, channels: Vec<Channel>) {
        let asked = match id {
            Some(_) => self.take(id),
            None => self
                .pending
                .take_first(|asked| matches!(asked, Asked::List { .. })),
        };
        self.replace_directory(channels);
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }

    pub(super) fn replace_directory(&mut self, channels: Vec<Channel>) {
        let total = channels.len();
        let mut known = BTreeMap::new();
        let mut order = Vec::new();
        for channel in channels
            .iter()
            .filter(|channel| !channel.chat_id.is_empty())
        {
            if known.len() >= CONVERSATION_LIMIT {
                self.odd(format!(
                    "{total} conversations, of which {CONVERSATION_LIMIT} are shown"
                ));
                break;
            }
            let id = ConversationId::from(channel.chat_id.as_str());
            self.lanes
                .set_parent(&id, channel.parent_chat_id.as_deref());
            let info = self.info(channel);
            if info.kind == ConversationKind::Default {
                self.lanes.default = Some(id.clone());
            }
            if known.insert(id.clone(), info).is_none() {
                order.push(id);
            }
        }
        let entries = order
            .into_iter()
            .filter_map(|id| known.get(&id).map(|info| (id.clone(), info.clone())))
            .collect();
        self.directory.known = known;
        self.say(Topic::Directory(DirectoryEvent::Replaced(entries)));
    }

    fn info(&mut self, channel: &Channel) -> ConversationInfo {
        let id = ConversationId::from(channel.chat_id.as_str());
        let kind = match (channel.kind.as_str(), channel.is_default) {
            (_, Some(true)) | ("default", None) => ConversationKind::Default,
            ("thread", _) => ConversationKind::Thread,
            (_, _) if channel.parent_chat_id.is_some() => ConversationKind::Thread,
            (_, _) => ConversationKind::Channel,
        };
        let icon = channel.icon.as_deref().and_then(|icon| {
            // Some clients send a data URI.
            let icon = icon.rsplit_once("base64,").map_or(icon, |(_, data)| data);
            if icon.len() > 2 * ICON_LIMIT {
                return None;
            }
            STANDARD.decode(icon.trim()).ok().map(std::sync::Arc::from)
        });
        if channel.icon.is_some() && icon.is_none() {
            self.odd("an icon that cannot be read");
        }
        let last_activity_ms = self
            .directory
            .known
            .get(&id)
            .and_then(|info| info.last_activity_ms);
        ConversationInfo {
            kind,
            parent: channel.parent_chat_id.as_deref().map(ConversationId::from),
            name: if channel.name.trim().is_empty() {
                SafeText::label(&channel.chat_id)
            } else {
                SafeText::label(&channel.name)
            },
            name_is_derived: channel.auto,
            is_favorite: channel.favorite,
            is_automation: channel.automation,
            is_archived: channel.archived,
            last_activity_ms,
            appearance: Appearance {
                color: channel.color.as_deref().and_then(color),
                icon,
            },
        }
    }

    /// Made or changed: the frame carries the whole entry, so it may come as often as it likes.
    pub(super) fn on_channel(&mut self, id: Option<u64>, channel: Channel) {
        // A thread that a message opened may come with the id of that message, which ends with its
        // receipt or echo.
        let id =
            id.filter(|id| !matches!(self.pending.get(&id.to_string()), Some(Asked::Send { .. })));
        let asked = self.take(id);
        if channel.chat_id.is_empty() {
            self.odd("a channel without an id");
            for command in asked.iter().flat_map(Asked::commands) {
                self.done(command);
            }
            return;
        }
        let conversation = ConversationId::from(channel.chat_id.as_str());
        if channel.parent_chat_id.is_some() {
            self.lanes
                .set_parent(&conversation, channel.parent_chat_id.as_deref());
        }
        let mut info = self.info(&channel);
        if let Some(known) = self.directory.known.get(&conversation) {
            info.parent = info.parent.or_else(|| known.parent.clone());
            // The mark of a name that was derived goes with the next name.
            if info.name == known.name {
                info.name_is_derived |= known.name_is_derived;
            }
        }
        if info.kind == ConversationKind::Default {
            self.clear_default(&conversation);
        }
        if self.directory.known.get(&conversation) != Some(&info) {
            self.directory
                .known
                .insert(conversation.clone(), info.clone());
            self.say(Topic::Directory(DirectoryEvent::Upserted {
                conversation: conversation.clone(),
                info,
            }));
        }
        match asked {
            Some(Asked::Create { command }) => {
                self.finish(command, CommandOutcome::Done(Reply::Created(conversation)));
            }
            Some(asked) => {
                for command in asked.commands() {
                    self.done(command);
                }
            }
            None => {}
        }
    }

    /// The former default channel gets no frame of its own (reading I24).
    fn clear_default(&mut self, default: &ConversationId) {
        self.lanes.default = Some(default.clone());
        let former: Vec<ConversationId> = self
            .directory
            .known
            .iter()
            .filter(|(id, info)| info.kind == ConversationKind::Default && *id != default)
            .map(|(id, _)| id.clone())
            .collect();
        for conversation in former {
            if let Some(info) = self.directory.known.get_mut(&conversation) {
                info.kind = ConversationKind::Channel;
                let info = info.clone();
                self.say(Topic::Directory(DirectoryEvent::Upserted {
                    conversation,
                    info,
                }));
            }
        }
    }

    pub(super) fn on_channel_deleted(&mut self, id: Option<u64>, gone: &ConversationId) {
        let asked = self.take(id);
        self.directory.known.remove(gone);
        self.directory
            .known
            .retain(|_, info| info.parent.as_ref() != Some(gone));
        for id in self.lanes.with_threads(gone) {
            let lane = self.lanes.lane(&id);
            let kept = [
                (CALLS, lane.kept_calls().is_some()),
                (BEGUN, lane.kept_begun().is_some()),
            ];
            for (what, _) in kept.into_iter().filter(|(_, is_kept)| *is_kept) {
                self.say(Topic::Sync(SyncEvent::Kept {
                    name: format!("{what}{}", id.as_str()),
                    value: None,
                }));
            }
        }
        self.lanes.forget(gone);
        self.decisions.forget(gone);
        self.say(Topic::Directory(DirectoryEvent::Removed {
            conversation: gone.clone(),
        }));
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }

    /// Something happened in a conversation. One that nobody named is made known.
    pub(super) fn touch(&mut self, now: Moment, conversation: &ConversationId, ts: Option<i64>) {
        let at_ms = ts.unwrap_or(now.wall_ms);
        match self.directory.known.get_mut(conversation) {
            Some(info) => {
                if info.last_activity_ms.is_some_and(|known| known >= at_ms) {
                    return;
                }
                info.last_activity_ms = Some(at_ms);
            }
            None => {
                let parent = self.lanes.address(conversation);
                let info = ConversationInfo {
                    kind: if parent.thread_id.is_some() {
                        ConversationKind::Thread
                    } else {
                        ConversationKind::Channel
                    },
                    parent: parent
                        .thread_id
                        .is_some()
                        .then(|| parent.chat_id.map(ConversationId::from))
                        .flatten(),
                    name: SafeText::label(conversation.as_str()),
                    last_activity_ms: Some(at_ms),
                    ..ConversationInfo::default()
                };
                self.directory
                    .known
                    .insert(conversation.clone(), info.clone());
                return self.say(Topic::Directory(DirectoryEvent::Upserted {
                    conversation: conversation.clone(),
                    info,
                }));
            }
        }
        self.say(Topic::Directory(DirectoryEvent::Touched {
            conversation: conversation.clone(),
            at_ms,
        }));
    }

    pub(super) fn create(
        &mut self,
        now: Moment,
        command: CommandId,
        name: Option<&str>,
        parent: Option<ConversationId>,
    ) {
        let name = name.map(str::trim).filter(|name| !name.is_empty());
        let request = Request::ChannelCreate {
            name: name.unwrap_or("New channel"),
            kind: if parent.is_some() {
                "thread"
            } else {
                "channel"
            },
            parent_chat_id: parent.as_ref().map(ConversationId::as_str),
        };
        let asked = Asked::Create { command };
        self.ask(now, "channel.create", &Address::default(), request, asked);
    }

    pub(super) fn rename(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        name: &str,
    ) {
        let name = name.trim();
        if name.is_empty() {
            return self.refuse(
                command,
                RefusalCode::LocalLimit,
                "A conversation needs a name. Type one, or leave the old one.",
            );
        }
        self.change(
            now,
            command,
            conversation,
            "channel.rename",
            Request::ChannelRename { name },
        );
    }

    /// Asks for a change that is answered by the whole entry.
    pub(super) fn change(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        name: &'static str,
        request: Request<'_>,
    ) {
        let address = self.lanes.address(&conversation);
        let asked = Asked::Change { command };
        self.ask(now, name, &address, request, asked);
    }

    pub(super) fn set_appearance(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        appearance: &Appearance,
    ) {
        let icon = match appearance.icon.as_deref() {
            Some(icon) if icon.len() > ICON_LIMIT => {
                return self.refuse(
                    command,
                    RefusalCode::LocalLimit,
                    format!(
                        "The picture has {}; an icon may have {}. Make it smaller.",
                        size_words(icon.len() as u64),
                        size_words(ICON_LIMIT as u64)
                    ),
                );
            }
            Some(icon)
                if !icon.starts_with(b"\x89PNG\r\n\x1a\n")
                    && !icon.starts_with(b"\xff\xd8\xff") =>
            {
                return self.refuse(
                    command,
                    RefusalCode::LocalLimit,
                    "An icon must be a PNG or JPEG picture.",
                );
            }
            icon => icon.map(|icon| STANDARD.encode(icon)),
        };
        let color = appearance
            .color
            .map(|(red, green, blue)| format!("#{red:02X}{green:02X}{blue:02X}"));
        let request = Request::ChannelIcon {
            icon: icon.as_deref(),
            color: color.as_deref(),
        };
        self.change(now, command, conversation, "channel.icon", request);
    }

    pub(super) fn delete(&mut self, now: Moment, command: CommandId, conversation: ConversationId) {
        let address = self.lanes.address(&conversation);
        let asked = Asked::Delete { command };
        self.ask(now, "channel.delete", &address, Request::Empty {}, asked);
    }

    pub(super) fn search(&mut self, now: Moment, command: CommandId, query: SearchQuery) {
        let address = match &query.scope {
            SearchScope::All => Address::default(),
            SearchScope::Conversation(id) => self.lanes.address(id),
        };
        let request = Request::Search {
            query: &query.text,
            scope: match query.scope {
                SearchScope::All => "all",
                SearchScope::Conversation(_) => "chat",
            },
            chat_id: address.chat_id.as_deref(),
            thread_id: address.thread_id.as_deref(),
            limit: query.limit.clamp(1, 100),
        };
        let asked = Asked::Search {
            command,
            query: query.text.clone(),
        };
        self.ask(now, "search", &Address::default(), request, asked);
    }

    pub(super) fn on_search_results(&mut self, id: Option<u64>, results: SearchResults) {
        // Hits of a replay were asked for by somebody who has gone.
        if self.is_replay() {
            return;
        }
        let asked = match id {
            Some(_) => self.take(id),
            None => self.pending.take_first(
                |asked| matches!(asked, Asked::Search { query, .. } if *query == results.query),
            ),
        };
        let Some(Asked::Search { command, .. }) = asked else {
            return;
        };
        let hits = results
            .hits
            .into_iter()
            .map(|hit| SearchHit {
                conversation: self.lane(hit.chat_id.as_deref(), hit.thread_id.as_deref()),
                remote: (!hit.message_id.is_empty()).then(|| RemoteId::from(hit.message_id)),
                order: None,
                author: author(&hit.role),
                snippet: SafeText::prose(&hit.snippet),
                sent_at_ms: hit.ts,
            })
            .collect();
        self.finish(command, CommandOutcome::Done(Reply::Hits(hits)));
    }

    pub(super) fn load_catalog(&mut self, now: Moment, command: Option<CommandId>) {
        if let Some(Asked::Catalog { commands }) = self
            .pending
            .find_mut(|asked| matches!(asked, Asked::Catalog { .. }))
        {
            commands.extend(command);
            return;
        }
        let asked = Asked::Catalog {
            commands: command.into_iter().collect(),
        };
        self.ask(
            now,
            "commands.catalog",
            &Address::default(),
            Request::Empty {},
            asked,
        );
    }

    pub(super) fn on_catalog(&mut self, id: Option<u64>, entries: Vec<CatalogEntry>) {
        let asked = match id {
            Some(_) => self.take(id),
            None => self
                .pending
                .take_first(|asked| matches!(asked, Asked::Catalog { .. })),
        };
        let slashed = |name: &str| {
            if name.starts_with('/') {
                name.to_owned()
            } else {
                format!("/{name}")
            }
        };
        self.directory.commands = entries
            .iter()
            .map(|entry| (slashed(&entry.name), entry.args_hint.clone()))
            .collect();
        let catalog = entries
            .into_iter()
            .filter(|entry| !entry.name.is_empty())
            .take(CATALOG_LIMIT)
            .map(|entry| SlashCommand {
                name: SafeText::label(&slashed(&entry.name)),
                aliases: entry
                    .aliases
                    .iter()
                    .map(|alias| SafeText::label(&slashed(alias)))
                    .collect(),
                description: SafeText::label(&entry.description),
                arguments_hint: SafeText::label(&entry.args_hint),
                category: SafeText::label(&entry.category),
            })
            .collect();
        self.say(Topic::Link(LinkEvent::CatalogLoaded(catalog)));
        let stops = self.directory.commands.contains_key("/stop");
        if stops != self.session.stops {
            self.session.stops = stops;
            self.tell_capabilities();
        }
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }
}

/// Who wrote, by the protocol's roles.
pub(super) fn author(role: &str) -> Author {
    match role {
        "user" => Author::User,
        "system" => Author::System,
        "cron" => Author::Automation,
        _ => Author::Assistant,
    }
}

/// `#RRGGBB`.
fn color(text: &str) -> Option<(u8, u8, u8)> {
    let digits = text.trim().strip_prefix('#')?;
    if digits.len() != 6 || !digits.is_ascii() {
        return None;
    }
    let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some((part(0)?, part(2)?, part(4)?))
}
