//! What can be counted without asking the server, so that it holds where a server forgot what it
//! knew, too: nothing stands more often than it was sent or called.

use super::world::World;
use std::collections::BTreeMap;
use trialogue::domain::*;

/// The name of the message that a text is about: `m17`.
pub fn name_of(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| {
            word.strip_prefix('m').is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
            })
        })
}

impl World {
    /// How often messages were sent to a conversation: by their names.
    fn times_sent(&self, id: &ConversationId) -> BTreeMap<&str, u64> {
        let mut times = BTreeMap::new();
        for ((text, home), count) in &self.person.sent {
            if home == id
                && let Some(name) = name_of(text)
            {
                *times.entry(name).or_default() += count;
            }
        }
        times
    }

    /// A text stands here at most as often as it was sent, or as the server has it.
    pub fn check_counts(
        &self,
        id: &ConversationId,
        shown: &[(Author, String)],
        rows: &[(Author, String)],
        place: &str,
    ) {
        let times = self.times_sent(id);
        let mut counts: BTreeMap<&(Author, String), u64> = BTreeMap::new();
        for row in shown {
            *counts.entry(row).or_default() += 1;
        }
        for (row, count) in counts {
            let Some(name) = name_of(&row.1) else {
                continue;
            };
            let there = rows.iter().filter(|of| *of == row).count() as u64;
            let sent = times.get(name).copied().unwrap_or(0);
            if count > sent.max(there).max(1) {
                self.fail(&format!(
                    "{place}: {row:?} stands {count} times, was sent {sent} times, is there {there} times"
                ));
            }
        }
    }

    /// What a scene says first stands before what it says last.
    pub fn check_order(&self, shown: &[(Author, String)], place: &str) {
        let first = |word: &str, name: &str| {
            shown.iter().position(|(author, text)| {
                *author == Author::Assistant
                    && text.starts_with(word)
                    && name_of(text) == Some(name)
            })
        };
        for (author, text) in shown {
            let Some(name) = name_of(text).filter(|_| *author == Author::Assistant) else {
                continue;
            };
            if let (Some(begin), Some(end)) = (first("Re ", name), first("After ", name))
                && end < begin
            {
                self.fail(&format!("{place}: out of order: {name}\n{shown:#?}"));
            }
        }
    }

    /// There are no more calls than the scenes make.
    pub fn check_calls(&self, id: &ConversationId, entries: &[Entry], place: &str) {
        // A word that was erased in part may have picked a scene of the demo's own.
        let of = self.person.sent.iter();
        let has_other = of
            .filter(|((_, home), _)| home == id)
            .any(|((text, _), _)| name_of(text).is_none());
        if has_other {
            return;
        }
        let played = |word: &str| -> u64 {
            let of = self.person.sent.iter();
            of.filter(|((text, home), _)| home == id && text.starts_with(word))
                .map(|(_, times)| *times)
                .sum()
        };
        let of = |name: &str| -> u64 {
            let tools = entries.iter().filter(
                |entry| matches!(&entry.body, EntryBody::Tool(tool) if tool.name.as_str() == name),
            );
            tools.count() as u64
        };
        let (reads, looks) = (of("read_file"), of("terminal"));
        let (toolbox, grant) = (played("toolbox"), played("grant"));
        let place_of = |words: &str| {
            entries.iter().position(|entry| {
                let message = entry.message();
                message.is_some_and(|message| message.body.raw().trim().starts_with(words))
            })
        };
        let (begin, end) = (place_of("Re toolbox"), place_of("After toolbox"));
        let is_out_of_order = self.kind == super::Kind::Iris
            && toolbox == 1
            && entries.iter().enumerate().any(|(at, entry)| {
                matches!(&entry.body, EntryBody::Tool(tool) if tool.name.as_str() == "read_file")
                    && (begin.is_some_and(|begin| at < begin) || end.is_some_and(|end| at > end))
            });
        if is_out_of_order || reads > 2 * toolbox || looks > toolbox + grant {
            let calls: Vec<String> = entries
                .iter()
                .map(|entry| match &entry.body {
                    EntryBody::Tool(tool) => format!(
                        "  call {} {} {:?} of {:?}, seen at {}",
                        tool.id.as_str(),
                        tool.name,
                        tool.status,
                        tool.run,
                        entry.seen_at_ms
                    ),
                    EntryBody::Message(message) => {
                        let text = message.body.text().as_str().chars().take(30);
                        format!("  {:?} {:?}", message.author, text.collect::<String>())
                    }
                    other => format!("  {other:?}"),
                })
                .collect();
            self.fail(&format!(
                "{place}: {reads} files read and {looks} commands, but {toolbox} scenes with tools and {grant} with a question\n{}",
                calls.join("\n")
            ));
        }
    }
}
