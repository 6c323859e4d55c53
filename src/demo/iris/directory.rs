//! Channels and threads of the Iris gateway: the directory and the requests that change it.

use super::super::engine::Desk;
use super::super::files::File;
use super::super::scenario::Side;
use super::lookups::Logged;
use super::turns::Lane;
use super::{Address, Asker, ChannelAnswers, Iris};
use serde_json::{Value, json};

/// Largest icon, as base64 text.
const MAX_ICON: usize = 512 * 1024 * 4 / 3;

/// One entry of the directory.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub(super) chat_id: String,
    /// The key of the preset it was made from.
    pub(super) key: Option<String>,
    pub(super) name: String,
    pub(super) parent: Option<String>,
    pub(super) is_default: bool,
    pub(super) is_archived: bool,
    pub(super) is_auto: bool,
    pub(super) is_favorite: bool,
    pub(super) is_automation: bool,
    icon: Option<String>,
    color: Option<String>,
}

impl Channel {
    fn new(chat_id: String, name: &str, parent: Option<String>) -> Self {
        Self {
            chat_id,
            key: None,
            name: name.to_owned(),
            parent,
            is_default: false,
            is_archived: false,
            is_auto: false,
            is_favorite: false,
            is_automation: false,
            icon: None,
            color: None,
        }
    }

    pub(super) fn address(&self) -> Address {
        match &self.parent {
            Some(parent) => Address {
                chat: parent.clone(),
                thread: Some(self.chat_id.clone()),
            },
            None => Address {
                chat: self.chat_id.clone(),
                thread: None,
            },
        }
    }

    fn entry(&self) -> Value {
        let kind = match (&self.parent, self.is_default) {
            (Some(_), _) => "thread",
            (None, true) => "default",
            (None, false) => "channel",
        };
        let mut entry = json!({
            "chat_id": self.chat_id,
            "name": self.name,
            "kind": kind,
            "parent_chat_id": self.parent,
            "is_default": self.is_default,
            "archived": self.is_archived,
        });
        if self.is_auto {
            entry["auto"] = json!(true);
        }
        if self.is_favorite {
            entry["favorite"] = json!(true);
        }
        if self.is_automation {
            entry["automation"] = json!(true);
        }
        if let Some(icon) = &self.icon {
            entry["icon"] = json!(icon);
        }
        if let Some(color) = &self.color {
            entry["color"] = json!(color);
        }
        entry
    }
}

impl Iris {
    /// The channels and messages the gateway starts with.
    pub(super) fn load_presets(&mut self) {
        let presets: Vec<_> = self.setup.library.presets(Side::Iris).cloned().collect();
        let words = self.setup.library.words();
        let id_of = |key: &str, kind: &str| match kind {
            "default" => "default".to_owned(),
            "thread" => format!("thr_{}", Desk::stable(key, 8)),
            _ => format!("chan_{}", Desk::stable(key, 8)),
        };
        for preset in &presets {
            let parent = preset.parent.as_ref().and_then(|key| {
                presets
                    .iter()
                    .find(|known| known.key == *key)
                    .map(|known| id_of(&known.key, &known.kind))
            });
            let mut channel = Channel::new(id_of(&preset.key, &preset.kind), &preset.name, parent);
            channel.key = Some(preset.key.clone());
            channel.is_default = preset.kind == "default";
            channel.is_archived = preset.archived;
            channel.is_favorite = preset.favorite;
            channel.is_automation = preset.kind == "automation";
            channel.color.clone_from(&preset.color);
            channel.icon = preset
                .icon
                .as_ref()
                .and_then(|name| File::sample(name))
                .map(|file| base64(&file.content.read(0, MAX_ICON)));
            let address = channel.address();
            self.lanes.insert(address.clone(), Lane::default());
            for (index, laid_out) in preset.laid_out(&words).into_iter().enumerate() {
                let id = format!("p_{}{index:04}", Desk::stable(&preset.key, 6));
                let mut logged = Logged::new(
                    address.clone(),
                    id.clone(),
                    &laid_out.past.role,
                    &laid_out.text,
                    self.desk.wall().saturating_sub(laid_out.ago),
                );
                logged.reasoning = laid_out
                    .past
                    .reasoning
                    .as_ref()
                    .map(|text| text.trim_end().to_owned());
                for name in &laid_out.past.files {
                    if let Some(file) = File::sample(name) {
                        let known = Desk::stable(&format!("{id}/{name}"), 16);
                        logged.media.push(self.keep(format!("m_{known}"), file));
                    }
                }
                self.log.push(logged);
            }
            self.channels.push(channel);
        }
        self.log.sort_by_key(|logged| logged.ts);
    }

    pub(super) fn directory(&self) -> Vec<Value> {
        self.channels.iter().map(Channel::entry).collect()
    }

    pub(super) fn channel_of(&mut self, chat_id: &str) -> Option<&mut Channel> {
        self.channels.iter_mut().find(|c| c.chat_id == chat_id)
    }

    pub(super) fn channel_by_key(&self, key: &str) -> Option<&Channel> {
        self.channels.iter().find(|c| c.key.as_deref() == Some(key))
    }

    /// Tells everyone about an entry, with the asker's number as the reading says.
    fn tell_channel(&mut self, kind: &str, chat_id: &str, payload: Value, asker: Option<&Asker>) {
        let address = Address {
            chat: chat_id.to_owned(),
            thread: None,
        };
        match self.readings.channel_answers {
            ChannelAnswers::IdForAsker => self.publish(Some(&address), kind, payload, asker),
            ChannelAnswers::TwoForAsker => {
                self.publish(Some(&address), kind, payload.clone(), None);
                if let Some(asker) = asker {
                    let mut frame = self.envelope(Some(&address), kind, payload);
                    frame["id"] = asker.id.clone();
                    self.send(asker.connection, &frame);
                }
            }
            ChannelAnswers::IdForAll => {
                let mut frame = self.envelope(Some(&address), kind, payload);
                self.park(None, &frame);
                if let Some(asker) = asker {
                    frame["id"] = asker.id.clone();
                }
                for connection in self.ready() {
                    self.send(connection, &frame);
                }
            }
        }
    }

    fn tell_entry(&mut self, kind: &str, chat_id: &str, asker: Option<&Asker>) {
        let entry = self.channel_of(chat_id).map(|channel| channel.entry());
        if let Some(entry) = entry {
            self.tell_channel(kind, chat_id, entry, asker);
        }
    }

    pub(super) fn rename_channel(&mut self, chat_id: &str, name: &str, asker: Option<&Asker>) {
        if let Some(channel) = self.channel_of(chat_id) {
            channel.name = name.to_owned();
            self.tell_entry("channel.renamed", chat_id, asker);
        }
    }

    /// A thread made by the gateway for a message.
    pub(super) fn mint_thread(&mut self, parent: &str, name: &str) -> Address {
        let id = format!("thr_{}", self.desk.hex(8));
        let mut channel = Channel::new(id.clone(), name, Some(parent.to_owned()));
        channel.is_auto = true;
        let address = channel.address();
        self.channels.push(channel);
        self.lanes.insert(address.clone(), Lane::default());
        self.tell_entry("channel.created", &id, None);
        // Only the frame of its making says that it was made by itself.
        if let Some(channel) = self.channel_of(&id) {
            channel.is_auto = false;
        }
        address
    }

    pub(super) fn channel_request(
        &mut self,
        asker: &Asker,
        kind: &str,
        request: &Value,
        payload: &Value,
    ) {
        if kind == "channel.list" {
            let channels = json!({"channels": self.directory()});
            return self.answer(asker, None, "channel.list", channels);
        }
        if kind == "channel.create" {
            return self.create_channel(asker, payload);
        }
        let Some(address) = self.address(request) else {
            return self.error(asker, "not_found", "No such channel");
        };
        let chat_id = address.thread.clone().unwrap_or(address.chat.clone());
        let is_on = payload.get("on").and_then(Value::as_bool).unwrap_or(false);
        let Some(channel) = self.channel_of(&chat_id) else {
            return self.error(asker, "not_found", "No such channel");
        };
        match kind {
            "channel.rename" => {
                let name = payload.get("name").and_then(Value::as_str).unwrap_or("");
                if name.trim().is_empty() {
                    return self.error(asker, "unsupported", "A name is needed");
                }
                let name = name.trim().to_owned();
                return self.rename_channel(&chat_id, &name, Some(asker));
            }
            "channel.favorite" => channel.is_favorite = is_on,
            "channel.icon" => {
                let text = |key: &str| payload.get(key).and_then(Value::as_str).map(str::to_owned);
                let (icon, color) = (text("icon"), text("color"));
                if icon.as_ref().is_some_and(|icon| icon.len() > MAX_ICON) {
                    return self.error(asker, "media_too_large", "An icon has at most 512 KiB");
                }
                channel.icon = icon;
                channel.color = color;
            }
            "channel.set_automation" => {
                if channel.is_default {
                    let message = "The default channel can't be an automation channel";
                    return self.error(asker, "not_found", message);
                }
                channel.is_automation = is_on;
            }
            "channel.set_default" => return self.set_default(asker, &chat_id),
            "channel.delete" => return self.delete_channel(asker, &chat_id),
            _ => {
                let message = format!("Unknown frame type {kind}");
                return self.error(asker, "unsupported", &message);
            }
        }
        self.tell_entry("channel.renamed", &chat_id, Some(asker));
    }

    fn create_channel(&mut self, asker: &Asker, payload: &Value) {
        let text = |key: &str| payload.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or("").trim().to_owned();
        if name.is_empty() {
            return self.error(asker, "unsupported", "A name is needed");
        }
        let (id, parent) = if text("kind") == Some("thread") {
            let parent = text("parent_chat_id").unwrap_or("default").to_owned();
            let is_channel = self
                .channel_of(&parent)
                .is_some_and(|channel| channel.parent.is_none());
            if !is_channel {
                return self.error(asker, "not_found", "No such parent channel");
            }
            (format!("thr_{}", self.desk.hex(8)), Some(parent))
        } else {
            (format!("chan_{}", self.desk.hex(8)), None)
        };
        let channel = Channel::new(id.clone(), &name, parent);
        self.lanes.insert(channel.address(), Lane::default());
        self.channels.push(channel);
        self.tell_entry("channel.created", &id, Some(asker));
    }

    fn set_default(&mut self, asker: &Asker, chat_id: &str) {
        let is_allowed = self
            .channel_of(chat_id)
            .is_some_and(|channel| channel.parent.is_none() && !channel.is_automation);
        if !is_allowed {
            let message = "A thread or automation channel can't be the default";
            return self.error(asker, "unsupported", message);
        }
        let mut former = None;
        for channel in &mut self.channels {
            if channel.is_default && channel.chat_id != chat_id {
                former = Some(channel.chat_id.clone());
            }
            channel.is_default = channel.chat_id == chat_id;
        }
        self.tell_entry("channel.renamed", chat_id, Some(asker));
        if let Some(former) = former.filter(|_| self.readings.tells_former_default) {
            self.tell_entry("channel.renamed", &former, None);
        }
    }

    fn delete_channel(&mut self, asker: &Asker, chat_id: &str) {
        if self.channel_of(chat_id).is_some_and(|c| c.is_default) {
            let message = "The default channel can't be deleted";
            return self.error(asker, "unsupported", message);
        }
        let mut gone: Vec<String> = self
            .channels
            .iter()
            .filter(|c| c.parent.as_deref() == Some(chat_id))
            .map(|c| c.chat_id.clone())
            .collect();
        gone.push(chat_id.to_owned());
        self.channels.retain(|c| !gone.contains(&c.chat_id));
        let is_gone = |address: &Address| {
            gone.contains(&address.chat)
                || address.thread.as_ref().is_some_and(|t| gone.contains(t))
        };
        self.lanes.retain(|address, _| !is_gone(address));
        self.log.retain(|logged| !is_gone(&logged.address));
        if !self.readings.deletes_threads_one_by_one {
            gone = vec![chat_id.to_owned()];
        }
        for id in gone {
            let own = (id == chat_id).then_some(asker);
            self.tell_channel("channel.deleted", &id, json!({"chat_id": id}), own);
        }
    }
}

/// Bytes as base64, for icons.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .chain(std::iter::repeat(&0))
            .take(3)
            .fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        for place in 0..4 {
            if place <= group.len() {
                let digit = number >> (18 - 6 * place) & 63;
                text.push(char::from(DIGITS[digit as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_pads_to_groups_of_four() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
