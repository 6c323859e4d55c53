//! What the agent plays: short scenes whose every text names the message it answers, so that a text
//! that stands twice can be told from two texts that are alike.

use std::sync::{Arc, OnceLock};
use trialogue::demo::Library;

/// The words, the gentle ones first.
pub const WORDS: &[&str] = &[
    "brief", "brief", "brief", "grow", "grow", "toolbox", "muse", "steps", "grant", "quest",
    "bounce", "snap", "mute", "junk", "later-on", "torrent", "failing", "gift", "sick", "forget",
];

/// Texts that are not in the list at the end of the longest scene.
const SCENES: &[(&str, &str)] = &[
    (
        "brief",
        r#"
[[step]]
do = "say"
text = "Re {text}: a short answer."
"#,
    ),
    (
        "grow",
        r#"
[[step]]
do = "say"
pace = 6
text = "Re {text}: this one grows for a while, a few characters at a time, so that there is a middle in which things can break, and then some more words follow to make it longer than a line or two."
"#,
    ),
    (
        "toolbox",
        r#"
[[step]]
do = "say"
text = "Re {text}: I look first."

[[step]]
do = "tool"
name = "terminal"
args = { command = "ls" }
seconds = 0.6
progress = ["one", "two"]
output = "a\nb"

[[step]]
do = "together"

[[step.tools]]
name = "read_file"
args = { path = "a" }
seconds = 0.4
output = "x"

[[step.tools]]
name = "read_file"
args = { path = "b" }
seconds = 0.2
output = "y"

[[step]]
do = "say"
text = "After {text}: both are there."
"#,
    ),
    (
        "muse",
        r#"
[[step]]
do = "think"
text = "What could be meant by that? I count to three and answer."

[[step]]
do = "say"
text = "Re {text}: thought about."
"#,
    ),
    (
        "steps",
        r#"
[[step]]
do = "todo"
items = [{ id = "1", content = "one", status = "in_progress" }, { id = "2", content = "two", status = "pending" }]

[[step]]
do = "say"
text = "Re {text}: step one."

[[step]]
do = "todo"
merge = true
items = [{ id = "1", status = "completed" }]

[[step]]
do = "say"
text = "After {text}: step two."
"#,
    ),
    (
        "grant",
        r#"
[[step]]
do = "say"
text = "Re {text}: this needs a word from you."

[[step]]
do = "approval"
command = "rm -rf build"
description = "recursive delete"
output = "gone"
seconds = 0.3
timeout = 60.0

[[step]]
when = "approved"
do = "say"
text = "After {text}: it is gone."

[[step]]
when = "denied"
do = "say"
text = "After {text}: it stays."

[[step]]
when = "expired"
do = "say"
text = "After {text}: nobody answered."
"#,
    ),
    (
        "quest",
        r#"
[[step]]
do = "say"
text = "Re {text}: a question."

[[step]]
do = "clarify"
question = "Which one?"
choices = ["left", "right"]
timeout = 60.0

[[step]]
do = "say"
text = "After {text}: good to know."
"#,
    ),
    (
        "bounce",
        r#"
[[step]]
do = "say"
text = "Re {text}: the gateway goes down in a moment."

[[step]]
do = "restart"
seconds = 2.0

[[step]]
do = "say"
text = "After {text}: up again."
"#,
    ),
    (
        "forget",
        r#"
[[step]]
do = "say"
text = "Re {text}: the gateway forgets in a moment."

[[step]]
do = "restart"
seconds = 1.0
lost = true
"#,
    ),
    (
        "snap",
        r#"
[[step]]
do = "say"
pace = 8
text = "Re {text}: the line breaks in the middle."

[[step]]
do = "cut"

[[step]]
do = "say"
pace = 8
text = "After {text}: and the work goes on all the same."
"#,
    ),
    (
        "mute",
        r#"
[[step]]
do = "silence"
seconds = 20.0

[[step]]
do = "say"
text = "Re {text}: it was quiet here."
"#,
    ),
    (
        "junk",
        r#"
[[step]]
do = "garbage"
frames = ["this is not JSON", "{\"type\":", "[]", "null", "{\"type\": 7}", "{\"v\": 1, \"type\": \"message.update\", \"payload\": {\"message_id\": 12, \"text\": [\"no\"]}}", "{\"type\": \"message.delta\", \"conversation_id\": null, \"text\": {}}", ""]

[[step]]
do = "unknown"
name = "agent.telepathy"

[[step]]
do = "say"
text = "Re {text}: in spite of the noise."
"#,
    ),
    (
        "later-on",
        r#"
[[step]]
do = "say"
text = "Re {text}: and one more thing by and by."

[[step]]
do = "later"
word = "echo-of-it"
seconds = 6.0
"#,
    ),
    (
        "echo-of-it",
        r#"
[[step]]
do = "say"
text = "By and by: here it is, unasked."
"#,
    ),
    (
        "torrent",
        r#"
[[step]]
do = "say"
pace = 1
text = "Re {text}: 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789"
"#,
    ),
    (
        "failing",
        r#"
[[step]]
do = "say"
text = "Re {text}: this goes wrong."

[[step]]
do = "fail"
text = "no more credit"
"#,
    ),
    (
        "gift",
        r#"
[[step]]
do = "say"
text = "Re {text}: a file for you."

[[step]]
do = "offer"
file = "latency.csv"
"#,
    ),
    (
        "sick",
        r#"
[[step]]
do = "health"
state = "degraded"

[[step]]
do = "say"
text = "Re {text}: not quite well."

[[step]]
do = "health"
state = "online"
"#,
    ),
];

const SUPPORT: &str = r#"
key = "support"
name = "Support log"
on = ["iris", "pheby"]

[[message]]
role = "user"
text = "Anybody there?"
ago = 3600
"#;

/// The library of the demo with these scenes besides.
pub fn library() -> Arc<Library> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    Arc::clone(LIBRARY.get_or_init(|| {
        let mut library = Library::embedded();
        for (word, steps) in SCENES {
            let head = format!("word = \"{word}\"\ntitle = \"{word}\"\nabout = \"{word}\"\n");
            library
                .add_scenario(&format!("{word}.toml"), &format!("{head}{steps}"))
                .unwrap();
        }
        // The one with a thousand messages would only cost time.
        library.add_conversation("support.toml", SUPPORT).unwrap();
        Arc::new(library)
    }))
}
