//! The scripted agent: plays a scenario step by step in virtual time and says what it does as
//! beats. A gateway turns beats into frames; the agent knows none of the protocols.
//!
//! Every beat happens at a moment that follows from the one before it, never from when the caller
//! looked, so that the same scenario gives the same beats however time is cut into steps. Only a
//! person's answer starts the count anew.

mod answers;
mod lay_out;

use super::scenario::{Choice, Scenario, TodoItem};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;

/// Something the agent did.
#[derive(Clone, PartialEq, Debug)]
pub enum Beat {
    TextStarted,
    /// The whole text of the open message so far.
    Text(String),
    /// The open message is complete.
    TextEnded(String),
    /// All reasoning before the next text so far.
    Thinking(String),
    Commentary(String),
    ToolStarted {
        call: String,
        name: String,
        args: Value,
        preview: String,
    },
    ToolProgress {
        call: String,
        name: String,
        note: String,
    },
    ToolEnded {
        call: String,
        name: String,
        milliseconds: u64,
        output: String,
        error: Option<String>,
    },
    /// The whole list, after the tool that wrote it.
    Todo(Vec<TodoItem>),
    Approval {
        command: String,
        description: String,
        choices: Vec<String>,
    },
    Clarify {
        question: String,
        choices: Option<Vec<String>>,
    },
    Picker {
        title: String,
        choices: Vec<Choice>,
    },
    /// The host is to run a tool; its answer is a text.
    HostTool {
        call: String,
        name: String,
        args: Value,
        effect: String,
    },
    /// What was asked is no longer open; nobody answered in time.
    Expired,
    Offer(String),
    Notice(String),
    Notification {
        kind: String,
        title: String,
        body: String,
    },
    Rename(String),
    /// Nothing may leave the gateway for so many milliseconds.
    Silence(u64),
    Cut,
    Health(String),
    Restart {
        milliseconds: u64,
        lost: bool,
    },
    /// Frames to be sent as they stand.
    Garbage(Vec<String>),
    Unknown(String),
    SignInNeeded(String),
    SignedIn,
    /// Another scenario is to start by itself so many milliseconds from now.
    Later {
        word: String,
        milliseconds: u64,
        /// Key of the channel; none means the same conversation.
        channel: Option<String>,
    },
    Failed(String),
    Finished,
}

/// A person's answer to what was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// One of the choices of an approval, with the reason of a denial.
    Choice {
        value: String,
        reason: Option<String>,
    },
    /// A choice or a text in answer to a question or a picker.
    Text(String),
}

/// What a run starts from.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// What the person wrote.
    pub text: String,
    /// Names and sizes of the files that came with it.
    pub files: Vec<(String, u64)>,
    /// The list of words for `{words}`.
    pub words: String,
    /// Percent of the pace of the file.
    pub speed: u32,
    /// Hexadecimal digits that make the tool call ids of this run its own.
    pub call_prefix: String,
    /// Guarded commands run without a question.
    pub auto_approve: bool,
    /// Kinds of guarded commands that were approved for longer than once.
    pub approved: Vec<String>,
    /// The to-do list as earlier runs left it.
    pub todo: Vec<TodoItem>,
}

#[derive(Clone, PartialEq, Debug)]
enum Cue {
    Beat(Beat),
    Text { upto: usize },
    Think { upto: usize },
    Ask { question: Question, timeout: u64 },
}

#[derive(Clone, PartialEq, Debug)]
enum Question {
    Approval {
        call: String,
        description: String,
        output: String,
        milliseconds: u64,
    },
    Clarify {
        call: String,
        choices: Vec<String>,
    },
    Picker,
    Host {
        call: String,
        name: String,
    },
}

/// One run of a scenario.
#[derive(Clone, Debug)]
pub struct Play {
    scenario: Arc<Scenario>,
    context: Context,
    at: usize,
    /// Cues of the step that is played, each with its distance from the one before.
    cues: VecDeque<(u64, Cue)>,
    /// When the last beat happened.
    clock: u64,
    text: Arc<str>,
    open: Option<(Question, u64)>,
    answer: Answer,
    tools: Vec<(String, String)>,
    calls: u32,
    /// What waits passed before the next cue.
    lead: u64,
    is_over: bool,
}

/// The last answer, as the `when` of the steps sees it.
#[derive(Clone, Debug, Default)]
struct Answer {
    words: Vec<String>,
    value: String,
    reason: String,
}

impl Play {
    /// Starts a scenario now.
    pub fn new(scenario: Arc<Scenario>, context: Context, now: u64) -> Self {
        let answer = Answer {
            words: vec![if context.files.is_empty() {
                "no-file".into()
            } else {
                "file".into()
            }],
            ..Answer::default()
        };
        let mut play = Self {
            scenario,
            context,
            at: 0,
            cues: VecDeque::new(),
            clock: now,
            text: "".into(),
            open: None,
            answer,
            tools: Vec::new(),
            calls: 0,
            lead: 0,
            is_over: false,
        };
        play.fill();
        play
    }

    /// When the next beat happens; none while only a person can go on, or when all is over.
    pub fn due(&self) -> Option<u64> {
        match (&self.open, self.cues.front()) {
            (Some((_, until)), _) => Some(*until),
            (None, Some((distance, _))) => Some(self.clock + distance),
            (None, None) => None,
        }
    }

    /// Whether a person is asked something.
    pub fn is_waiting(&self) -> bool {
        self.open.is_some()
    }

    /// Call ids and names of the tools that have started and not ended.
    pub fn open_tools(&self) -> &[(String, String)] {
        &self.tools
    }

    /// Guarded commands run without a question from now on, or no longer.
    pub fn set_auto_approve(&mut self, on: bool) {
        self.context.auto_approve = on;
    }

    /// Kinds of guarded commands approved for longer than once, with those this run brought.
    pub fn approved(&self) -> &[String] {
        &self.context.approved
    }

    /// The next beat that has happened by now.
    pub fn next(&mut self, now: u64) -> Option<Beat> {
        loop {
            if let Some((question, until)) = &self.open {
                if *until > now {
                    return None;
                }
                let (question, until) = (question.clone(), *until);
                self.open = None;
                self.clock = until;
                self.answer = Answer {
                    words: vec!["expired".into()],
                    ..Answer::default()
                };
                self.close(&question, None);
                return Some(Beat::Expired);
            }
            let (distance, _) = self.cues.front()?;
            if self.clock + distance > now {
                return None;
            }
            let (distance, cue) = self.cues.pop_front()?;
            self.clock += distance;
            let beat = match cue {
                Cue::Beat(beat) => beat,
                Cue::Text { upto } => Beat::Text(self.text[..upto].to_owned()),
                Cue::Think { upto } => Beat::Thinking(self.text[..upto].to_owned()),
                Cue::Ask { question, timeout } => {
                    self.open = Some((question, self.clock + timeout));
                    continue;
                }
            };
            self.note(&beat);
            if self.cues.is_empty() {
                self.fill();
            }
            return Some(beat);
        }
    }

    /// What was to start earlier starts now.
    pub fn start_now(&mut self, now: u64) {
        self.clock = self.clock.max(now);
    }

    fn note(&mut self, beat: &Beat) {
        match beat {
            Beat::ToolStarted { call, name, .. } => self.tools.push((call.clone(), name.clone())),
            Beat::ToolEnded { call, .. } => self.tools.retain(|(open, _)| open != call),
            _ => {}
        }
    }

    /// Takes steps until there is something to play.
    fn fill(&mut self) {
        while self.cues.is_empty() && !self.is_over {
            let Some(step) = self.scenario.steps.get(self.at).cloned() else {
                self.is_over = true;
                self.beat(10, Beat::Finished);
                return;
            };
            self.at += 1;
            if step.when.is_empty() || step.when.iter().any(|word| self.fits(word)) {
                self.lay_out(step.action);
            }
        }
    }

    fn fits(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        self.answer.words.contains(&word)
    }

    fn milliseconds(&self, seconds: f64) -> u64 {
        let speed = f64::from(self.context.speed.max(1));
        (seconds.max(0.0) * 1000.0 * 100.0 / speed).round() as u64
    }

    fn beat(&mut self, distance: u64, beat: Beat) {
        self.cue(distance, Cue::Beat(beat));
    }

    fn cue(&mut self, distance: u64, cue: Cue) {
        let lead = std::mem::take(&mut self.lead);
        self.cues.push_back((lead + distance, cue));
    }

    fn call(&mut self) -> String {
        self.calls += 1;
        format!("call_{}{:04x}", self.context.call_prefix, self.calls)
    }

    fn fill_in(&self, text: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let files = self
            .context
            .files
            .iter()
            .map(|(name, size)| format!("- `{name}`, {size} bytes"))
            .collect::<Vec<_>>()
            .join("\n");
        let quoted = self.context.text.lines().collect::<Vec<_>>().join("\n> ");
        text.replace("{answer}", &self.answer.value)
            .replace("{reason}", &self.answer.reason)
            .replace("{text}", &quoted)
            .replace("{files}", &files)
            .replace("{words}", &self.context.words)
    }
}

/// A to-do entry as it travels.
pub(crate) fn todo_json(item: &TodoItem) -> Value {
    match &item.content {
        Some(content) => json!({"id": item.id, "content": content, "status": item.status}),
        None => json!({"id": item.id, "status": item.status}),
    }
}

/// The glyph a gateway shows for a tool.
pub(crate) fn emoji_of(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "terminal" => "💻",
        "process" => "⚙️",
        "execute_code" => "🐍",
        "read_file" => "📖",
        "write_file" => "✍️",
        "patch" => "🔧",
        "search_files" => "🔎",
        "web_search" => "🔍",
        "web_extract" => "📄",
        "browser_navigate" => "🌐",
        "image_generate" => "🎨",
        "todo" => "📋",
        "clarify" => "❓",
        "memory" => "🧠",
        "delegate_task" => "🔀",
        "cronjob" => "⏰",
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::demo::scenario::Library;

    fn play(text: &str) -> Play {
        let scenario = Arc::new(Scenario::parse("test", text).unwrap());
        let context = Context {
            text: "hello".into(),
            speed: 100,
            call_prefix: "00".into(),
            ..Context::default()
        };
        Play::new(scenario, context, 1000)
    }

    fn run(play: &mut Play, until: u64) -> Vec<Beat> {
        std::iter::from_fn(|| play.next(until)).collect()
    }

    const HEAD: &str = "word = \"x\"\ntitle = \"X\"\nabout = \"x\"\n";

    #[test]
    fn a_text_grows_and_ends_whole() {
        let mut play = play(&format!(
            "{HEAD}[[step]]\ndo = \"say\"\ntext = \"one two three four\"\npace = 4\n"
        ));
        let beats = run(&mut play, u64::MAX / 2);
        assert_eq!(
            beats,
            [
                Beat::TextStarted,
                Beat::Text("one ".into()),
                Beat::Text("one two ".into()),
                Beat::Text("one two three ".into()),
                Beat::Text("one two three four".into()),
                Beat::TextEnded("one two three four".into()),
                Beat::Finished
            ]
        );
    }

    #[test]
    fn the_same_beats_come_however_time_is_cut() {
        let library = Library::embedded();
        for scenario in library.scenarios() {
            let context = || Context {
                speed: 100,
                ..Context::default()
            };
            let mut whole = Play::new(scenario.clone(), context(), 0);
            let mut stepped = Play::new(scenario.clone(), context(), 0);
            let beats = run(&mut whole, 40_000_000);
            let mut cut = Vec::new();
            for now in (0..4_000_000).step_by(7_777) {
                cut.extend(run(&mut stepped, now));
            }
            cut.extend(run(&mut stepped, 40_000_000));
            assert!(beats == cut, "{}", scenario.word);
            assert!(
                matches!(beats.last(), Some(Beat::Finished | Beat::Failed(_))),
                "{} ends",
                scenario.word
            );
        }
    }

    #[test]
    fn an_answer_chooses_the_steps_and_a_denial_fails_the_tool() {
        let file = format!(
            "{HEAD}[[step]]\ndo = \"approval\"\ncommand = \"rm -rf x\"\ndescription = \"recursive delete\"\n\
             [[step]]\nwhen = \"approved\"\ndo = \"say\"\ntext = \"done\"\nat_once = true\n\
             [[step]]\nwhen = \"denied\"\ndo = \"say\"\ntext = \"left it: {{reason}}\"\nat_once = true\n"
        );
        let mut play = play(&file);
        run(&mut play, 2000);
        assert!(play.is_waiting());
        assert!(play.answer(
            3000,
            &Reply::Choice {
                value: "deny".into(),
                reason: Some("not today".into())
            }
        ));
        let beats = run(&mut play, 10_000);
        assert!(
            matches!(&beats[0], Beat::ToolEnded { error: Some(e), .. } if e.contains("not today"))
        );
        assert!(beats.contains(&Beat::TextEnded("left it: not today".into())));
        assert!(!play.answer(11_000, &Reply::Text("late".into())));
    }

    #[test]
    fn an_approval_for_the_session_is_not_asked_twice() {
        let step = "[[step]]\ndo = \"approval\"\ncommand = \"rm -rf x\"\ndescription = \"recursive delete\"\n";
        let mut play = play(&format!("{HEAD}{step}{step}"));
        run(&mut play, 2000);
        play.answer(
            2000,
            &Reply::Choice {
                value: "session".into(),
                reason: None,
            },
        );
        let beats = run(&mut play, 60_000);
        assert!(
            !beats
                .iter()
                .any(|beat| matches!(beat, Beat::Approval { .. }))
        );
        assert_eq!(beats.last(), Some(&Beat::Finished));
    }
}
