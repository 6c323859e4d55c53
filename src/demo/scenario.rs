//! Scenario and conversation files: what the scripted agent can play, as data. A scenario is a
//! word and a list of steps; a conversation is a past that a gateway starts with. Files of the
//! person's own are read by the shell and handed in as text; nothing here touches a disk.

use serde::Deserialize;
use std::sync::{Arc, OnceLock};

/// Which gateway a scenario or conversation belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Iris,
    Pheby,
    Omi,
}

/// One scenario file.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// The word that picks it when it stands in a message.
    pub word: String,
    /// Further words that pick it.
    pub also: Vec<String>,
    /// The name a conversation gets from it.
    pub title: String,
    /// One line for the welcome text.
    pub about: String,
    /// Not listed in the welcome text.
    pub is_hidden: bool,
    /// What the agent does not stream: shown where a protocol carries reasoning.
    pub steps: Vec<Step>,
}

/// One step: what happens, and after which answers.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Words one of which must fit the last answer; empty means always.
    pub when: Vec<String>,
    pub action: Action,
}

/// What a step does. Times are in seconds of virtual time.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Says a text as one message, streamed cumulatively.
    Say {
        text: String,
        /// Characters in each twentieth of a second.
        pace: Option<usize>,
        /// The whole text arrives at once.
        #[serde(default)]
        at_once: bool,
    },
    /// Reasons before the next text.
    Think { text: String, pace: Option<usize> },
    /// An aside between tools.
    Commentary { text: String },
    /// Nothing happens, as in a model that computes.
    Wait { seconds: f64 },
    /// One tool call.
    Tool(ToolSpec),
    /// Several tool calls that start together and end in the order of their durations.
    Together { tools: Vec<ToolSpec> },
    /// The to-do list: the whole one, or with `merge` only what changed.
    Todo {
        items: Vec<TodoItem>,
        #[serde(default)]
        merge: bool,
    },
    /// A guarded command: its tool starts, a person is asked, the tool ends by the answer.
    Approval {
        command: String,
        description: String,
        choices: Option<Vec<String>>,
        output: Option<String>,
        /// How long the approved command takes.
        seconds: Option<f64>,
        /// How long the person may take.
        timeout: Option<f64>,
    },
    /// A question to the person.
    Clarify {
        question: String,
        choices: Option<Vec<String>>,
        timeout: Option<f64>,
    },
    /// A choice as a list with values and labels.
    Picker {
        title: String,
        choices: Vec<Choice>,
        timeout: Option<f64>,
    },
    /// A file for the person.
    Offer { file: String },
    /// A status line of the gateway itself.
    Notice { text: String },
    /// A note for the person's notification area.
    Notification {
        kind: String,
        title: String,
        body: String,
    },
    /// The conversation gets a new name.
    Rename { name: String },
    /// The gateway sends nothing at all, not even answers to pings.
    Silence { seconds: f64 },
    /// The link breaks without a goodbye; the work goes on.
    Cut {},
    /// The gateway says it is degraded, or well again.
    Health { state: String },
    /// The gateway restarts: the work is lost, with `lost` its memory as well.
    Restart {
        seconds: f64,
        #[serde(default)]
        lost: bool,
    },
    /// Frames that are no protocol: sent as they stand.
    Garbage { frames: Vec<String> },
    /// A frame of a type nobody knows.
    Unknown { name: String },
    /// A tool that only the host of a runtime has; elsewhere the call fails at once.
    HostTool {
        name: String,
        #[serde(default)]
        args: serde_json::Value,
        /// `read_only`, `idempotent_write` or `non_idempotent_write`.
        effect: String,
    },
    /// A sign-in is needed, then done.
    SignIn { url: String, seconds: f64 },
    /// The run ends as failed.
    Fail { text: String },
    /// Another scenario starts by itself later on, here or in the channel with that key.
    Later {
        word: String,
        seconds: f64,
        channel: Option<String>,
    },
}

/// A tool call as it is played.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    pub name: String,
    #[serde(default)]
    pub args: serde_json::Value,
    /// One line about the arguments; made from them when absent.
    pub preview: Option<String>,
    #[serde(default)]
    pub seconds: f64,
    #[serde(default)]
    pub progress: Vec<String>,
    #[serde(default)]
    pub output: String,
    /// Set when the call fails.
    pub error: Option<String>,
}

/// One entry of a to-do list.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoItem {
    pub id: String,
    /// May be absent in a merge.
    pub content: Option<String>,
    pub status: String,
}

/// One row of a picker.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    pub value: String,
    pub label: String,
    #[serde(default)]
    pub is_current: bool,
}

/// A conversation that exists when a gateway starts.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Names it in other files and orders it.
    pub key: String,
    pub name: String,
    /// Only on these gateways; empty means on all.
    #[serde(default)]
    pub on: Vec<Side>,
    /// `default`, `channel`, `thread` or `automation`, where a gateway has such kinds.
    #[serde(default = "channel")]
    pub kind: String,
    /// The key of the channel a thread hangs under.
    pub parent: Option<String>,
    #[serde(default)]
    pub favorite: bool,
    #[serde(default)]
    pub archived: bool,
    pub color: Option<String>,
    /// A sample picture used as icon.
    pub icon: Option<String>,
    #[serde(default, rename = "message")]
    pub messages: Vec<PastMessage>,
}

fn channel() -> String {
    "channel".to_owned()
}

/// One message of a past.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastMessage {
    /// `user`, `assistant`, `system` or `cron`.
    pub role: String,
    pub text: String,
    /// How long ago, in minutes, when the gateway starts.
    pub ago: f64,
    pub reasoning: Option<String>,
    /// Sample files that hang on it.
    #[serde(default)]
    pub files: Vec<String>,
    /// Repeats the message so often, with `{n}` counting; for a history that pages.
    #[serde(default = "one")]
    pub times: u32,
}

fn one() -> u32 {
    1
}

/// A message of a past, ready to be stored.
#[derive(Clone, PartialEq, Debug)]
pub struct LaidOut<'a> {
    pub past: &'a PastMessage,
    pub text: String,
    /// Milliseconds before the start of the gateway.
    pub ago: u64,
}

/// A file that cannot be played, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct ScenarioError {
    pub file: String,
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    word: String,
    #[serde(default)]
    also: Vec<String>,
    title: String,
    about: String,
    #[serde(default)]
    hidden: bool,
    #[serde(rename = "step")]
    steps: Vec<toml::Table>,
}

impl Scenario {
    /// Reads one scenario file; `file` is only for words.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let problem = |problem: String| ScenarioError {
            file: file.to_owned(),
            problem,
        };
        let raw: ScenarioFile = toml::from_str(text).map_err(|e| problem(e.to_string()))?;
        let mut steps = Vec::with_capacity(raw.steps.len());
        for (index, mut table) in raw.steps.into_iter().enumerate() {
            let when = match table.remove("when") {
                None => Vec::new(),
                Some(toml::Value::String(word)) => vec![word],
                Some(toml::Value::Array(words)) => words
                    .into_iter()
                    .filter_map(|word| word.as_str().map(str::to_owned))
                    .collect(),
                Some(_) => {
                    return Err(problem(format!(
                        "step {}: `when` is a word or a list of words",
                        index + 1
                    )));
                }
            };
            let action = Action::deserialize(toml::Value::Table(table))
                .map_err(|e| problem(format!("step {}: {e}", index + 1)))?;
            steps.push(Step { when, action });
        }
        Ok(Self {
            word: raw.word.to_lowercase(),
            also: raw.also.iter().map(|word| word.to_lowercase()).collect(),
            title: raw.title,
            about: raw.about,
            is_hidden: raw.hidden,
            steps,
        })
    }
}

impl Preset {
    /// Reads one conversation file; `file` is only for words.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|e| ScenarioError {
            file: file.to_owned(),
            problem: e.to_string(),
        })
    }

    /// Its messages in order of time, with repeated ones laid out and words filled in.
    pub fn laid_out(&self, words: &str) -> Vec<LaidOut<'_>> {
        let mut all: Vec<LaidOut<'_>> = self
            .messages
            .iter()
            .flat_map(|past| {
                (0..past.times).map(move |n| LaidOut {
                    past,
                    text: past
                        .text
                        .trim_end()
                        .replace("{words}", words)
                        .replace("{n}", &(n + 1).to_string()),
                    ago: (past.ago * 60_000.0 - f64::from(n) * 20_000.0).max(0.0) as u64,
                })
            })
            .collect();
        all.sort_by_key(|message| std::cmp::Reverse(message.ago));
        all
    }

    /// Whether the gateway of that side starts with it.
    pub fn is_on(&self, side: Side) -> bool {
        self.on.is_empty() || self.on.contains(&side)
    }
}

/// All scenarios and conversations of a demo.
#[derive(Clone, PartialEq, Debug)]
pub struct Library {
    scenarios: Vec<Arc<Scenario>>,
    presets: Vec<Preset>,
}

impl Library {
    /// The ones that come with the program, read once.
    pub fn shared() -> Arc<Self> {
        static EMBEDDED: OnceLock<Arc<Library>> = OnceLock::new();
        EMBEDDED.get_or_init(|| Arc::new(Self::embedded())).clone()
    }

    /// The ones that come with the program.
    pub fn embedded() -> Self {
        let mut library = Self {
            scenarios: Vec::new(),
            presets: Vec::new(),
        };
        for (file, text) in super::assets::SCENARIOS {
            library
                .add_scenario(file, text)
                .expect("embedded scenarios are parsed by a test");
        }
        for (file, text) in super::assets::CONVERSATIONS {
            library
                .add_conversation(file, text)
                .expect("embedded conversations are parsed by a test");
        }
        library
    }

    /// Adds a scenario; one with the same word is replaced.
    pub fn add_scenario(&mut self, file: &str, text: &str) -> Result<(), ScenarioError> {
        let scenario = Scenario::parse(file, text)?;
        self.scenarios.retain(|known| known.word != scenario.word);
        self.scenarios.push(Arc::new(scenario));
        Ok(())
    }

    /// Adds a conversation; one with the same key is replaced.
    pub fn add_conversation(&mut self, file: &str, text: &str) -> Result<(), ScenarioError> {
        let preset = Preset::parse(file, text)?;
        self.presets.retain(|known| known.key != preset.key);
        self.presets.push(preset);
        Ok(())
    }

    /// Every scenario, in the order of the files.
    pub fn scenarios(&self) -> &[Arc<Scenario>] {
        &self.scenarios
    }

    /// The conversations a gateway of that side starts with.
    pub fn presets(&self, side: Side) -> impl Iterator<Item = &Preset> {
        self.presets.iter().filter(move |preset| preset.is_on(side))
    }

    /// The scenario of exactly that word.
    pub fn by_word(&self, word: &str) -> Option<Arc<Scenario>> {
        self.scenarios
            .iter()
            .find(|scenario| scenario.word == word || scenario.also.iter().any(|w| w == word))
            .cloned()
    }

    /// The scenario for what a person wrote: the first word that names one, else the plain one.
    pub fn pick(&self, text: &str) -> Option<Arc<Scenario>> {
        text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
            .filter(|word| !word.is_empty())
            .find_map(|word| self.by_word(&word.to_lowercase()))
            .or_else(|| self.by_word("plain"))
            .or_else(|| self.scenarios.first().cloned())
    }

    /// The first words of the conversation people start in.
    pub fn welcome(&self) -> Option<String> {
        let preset = self
            .presets
            .iter()
            .find(|preset| preset.kind == "default")?;
        Some(preset.messages.first()?.text.trim_end().to_owned())
    }

    /// The list of words and what they show, as Markdown.
    pub fn words(&self) -> String {
        let mut list = String::from("| say | and you see |\n|---|---|\n");
        for scenario in self.scenarios.iter().filter(|s| !s.is_hidden) {
            list.push_str(&format!("| `{}` | {} |\n", scenario.word, scenario.about));
        }
        list
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::demo::files::File;

    #[test]
    fn every_file_that_comes_with_the_program_can_be_played() {
        let library = Library::embedded();
        assert_eq!(
            library.scenarios().len(),
            super::super::assets::SCENARIOS.len()
        );
        for scenario in library.scenarios() {
            assert!(!scenario.about.is_empty(), "{}", scenario.word);
            for step in &scenario.steps {
                match &step.action {
                    Action::Offer { file } => assert!(File::sample(file).is_some(), "{file}"),
                    Action::Later { word, .. } => assert!(library.by_word(word).is_some()),
                    _ => {}
                }
            }
        }
        for side in [Side::Iris, Side::Pheby, Side::Omi] {
            let keys: Vec<&str> = library.presets(side).map(|p| p.key.as_str()).collect();
            for preset in library.presets(side) {
                if let Some(parent) = &preset.parent {
                    assert!(keys.contains(&parent.as_str()), "{parent}");
                }
                for file in preset.messages.iter().flat_map(|m| &m.files) {
                    assert!(File::sample(file).is_some(), "{file}");
                }
            }
        }
    }

    #[test]
    fn a_word_in_the_message_picks_the_scenario() {
        let library = Library::embedded();
        let pick = |text: &str| library.pick(text).unwrap().word.clone();
        assert_eq!(pick("please show me the TOOLS."), "tools");
        assert_eq!(pick("`long`"), "long");
        assert_eq!(pick("how are you"), "plain");
        assert_eq!(pick(""), "plain");
        assert_eq!(pick("後で later"), "later");
    }

    #[test]
    fn the_welcome_text_names_every_word() {
        let library = Library::embedded();
        let welcome = library.welcome().unwrap();
        for scenario in library.scenarios().iter().filter(|s| !s.is_hidden) {
            assert!(
                welcome.contains(&format!("`{}`", scenario.word)),
                "{}",
                scenario.word
            );
        }
    }

    #[test]
    fn the_long_answer_is_long_and_varied() {
        let library = Library::embedded();
        let scenario = library.by_word("long").unwrap();
        let text = scenario
            .steps
            .iter()
            .find_map(|step| match &step.action {
                Action::Say { text, .. } => Some(text),
                _ => None,
            })
            .unwrap();
        assert!(text.len() > 60_000);
        assert!(text.contains("```rust") && text.contains("日本語") && text.contains('🍰'));
    }

    #[test]
    fn every_step_is_described_for_people_who_write_their_own() {
        // The error of an unknown step lists all that are known.
        let head = "word = \"x\"\ntitle = \"X\"\nabout = \"x\"\n";
        let text = format!("{head}[[step]]\ndo = \"dance\"\n");
        let problem = Scenario::parse("x", &text).unwrap_err().problem;
        let known: Vec<&str> = problem.split('`').skip(3).step_by(2).collect();
        assert!(known.len() > 20, "{problem}");
        let words = include_str!("../../assets/README.md");
        for name in known {
            assert!(words.contains(&format!("| `{name}` |")), "{name}");
        }
    }

    #[test]
    fn a_mistake_in_a_file_is_named() {
        let head = "word = \"x\"\ntitle = \"X\"\nabout = \"x\"\n";
        let problem = |steps: &str| {
            Scenario::parse("mine.toml", &format!("{head}{steps}"))
                .unwrap_err()
                .to_string()
        };
        assert!(problem("[[step]]\ndo = \"dance\"\n").contains("step 1"));
        assert!(problem("[[step]]\ndo = \"say\"\ntxet = \"x\"\n").contains("txet"));
        assert!(problem("[[step]]\ndo = \"cut\"\nwhen = 3\n").contains("when"));
    }

    #[test]
    fn repeated_messages_of_a_past_take_turns() {
        let library = Library::embedded();
        let support = library
            .presets(Side::Pheby)
            .find(|p| p.key == "support")
            .unwrap();
        let all = support.laid_out("");
        assert_eq!(all.len(), 1202);
        assert!(all.windows(2).all(|pair| pair[0].ago >= pair[1].ago));
        assert!(
            all.iter()
                .take(1200)
                .enumerate()
                .all(|(at, m)| (m.past.role == "user") == (at % 2 == 0))
        );
    }
}
