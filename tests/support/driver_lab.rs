//! A laboratory for drivers: a driver in virtual time, its inputs as lines of text, its outputs as
//! lines of text. Knows no protocol besides the kind of the account.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use trialogue::config::account::{
    AccountConfig, Endpoint, EndpointKind, NetworkEndpoint, ProcessEndpoint, ToolConfig,
};
use trialogue::domain::*;
use trialogue::link::{CloseReason, Frame, HttpBody, HttpMethod, HttpReply, HttpSink, LinkFailure};
use trialogue::protocol::{self, Driver, Input, Output, Resume, Setup, TransferFailure};

/// Prefix of the ids that a driver with a seed of zeros makes.
const PREFIX: &str = "000000000000-";
/// 2026-01-01T00:00:00Z.
pub const EPOCH_MS: i64 = 1_767_225_600_000;

/// What a driver is built with.
#[derive(Clone, Debug)]
pub struct LabSetup {
    pub kind: String,
    pub secret: Option<String>,
    pub facts: BTreeMap<String, String>,
    /// Further settings of the account, by name.
    pub settings: BTreeMap<String, String>,
}

impl LabSetup {
    pub fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            secret: Some("open sesame".to_owned()),
            facts: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }
}

/// A driver and its clock.
pub struct Lab {
    pub driver: Box<dyn Driver>,
    pub now: Moment,
    commands: u64,
    generation: u64,
    /// The newest request of each type, so that a transcript can answer `@query`.
    asked: BTreeMap<String, String>,
}

/// The configuration of an account of a kind.
fn account(setup: &LabSetup) -> AccountConfig {
    let network = || NetworkEndpoint {
        url: "wss://agents.example/ws".to_owned(),
        ..NetworkEndpoint::default()
    };
    let setting = |name: &str| setup.settings.get(name).cloned();
    let endpoint = match setup.kind.as_str() {
        "iris" => Endpoint::Iris(network()),
        "pheby" => Endpoint::Pheby(network()),
        "omi" => Endpoint::Omi(ProcessEndpoint {
            command: vec!["runtime".to_owned()],
            owner: match setting("owner") {
                Some(owner) => Some(owner).filter(|owner| owner != "none"),
                None => Some("owner-1".to_owned()),
            },
            adapter: setting("adapter"),
            model: setting("model"),
            directory: setting("directory").map(PathBuf::from),
            main_chat: setting("main_chat").is_some(),
            tools: setting("tool")
                .into_iter()
                .map(|name| {
                    let command = vec!["my-tool".to_owned()];
                    (name, ToolConfig { command })
                })
                .collect(),
            ..ProcessEndpoint::default()
        }),
        // A kind that needs no settings for its transcripts.
        other => match EndpointKind::named(other) {
            Some(kind) => kind.nowhere(),
            None => panic!("no such kind of account: {other}"),
        },
    };
    AccountConfig {
        name: "test".to_owned(),
        endpoint,
        secret_command: setting("secret_command").map(|command| vec![command]),
        is_disabled: false,
        color: None,
    }
}

impl Lab {
    pub fn new(setup: &LabSetup) -> Self {
        let made = Setup {
            secret: setup.secret.clone().map(Secret::new),
            resume: Resume {
                facts: setup.facts.clone(),
            },
            seed: [0; 16],
            working_directory: PathBuf::from("/home/ada/project"),
            client_version: "0.0.0-test",
        };
        Self {
            driver: protocol::driver(&account(setup), made),
            now: Moment {
                mono_ms: 1_000,
                wall_ms: EPOCH_MS,
            },
            commands: 0,
            generation: 0,
            asked: BTreeMap::new(),
        }
    }

    /// Takes everything out of the driver.
    pub fn drain(&mut self) -> Vec<Output> {
        let mut outputs = Vec::new();
        while let Some(output) = self.driver.poll() {
            self.note_request(&output);
            outputs.push(output);
            assert!(outputs.len() < 100_000, "the driver never ends talking");
        }
        outputs
    }

    fn note_request(&mut self, output: &Output) {
        let Output::Frame(frame) = output else { return };
        let line = frame
            .as_text()
            .and_then(|text| serde_json::from_str(text).ok());
        let line: serde_json::Value = line.unwrap_or_default();
        if let (Some(kind), Some(id)) = (line["type"].as_str(), line["requestId"].as_str()) {
            self.asked.insert(kind.to_owned(), id.to_owned());
        }
    }

    /// Puts the ids of requests where a transcript names them by their type.
    fn named(&self, text: &str) -> String {
        let mut text = lengthen(text);
        for (kind, id) in &self.asked {
            text = text.replace(&format!("\"@{kind}\""), &format!("\"{id}\""));
        }
        text
    }

    pub fn input(&mut self, input: Input) -> Vec<Output> {
        self.driver.handle(self.now, input);
        self.drain()
    }

    pub fn link_up(&mut self) -> Vec<Output> {
        self.generation += 1;
        self.input(Input::LinkUp {
            generation: self.generation,
        })
    }

    pub fn frame(&mut self, text: &str) -> Vec<Output> {
        self.input(Input::Frame(Frame::text(text)))
    }

    pub fn command(&mut self, command: Command) -> (CommandId, Vec<Output>) {
        self.commands += 1;
        let id = CommandId(self.commands);
        (id, self.input(Input::Command { id, command }))
    }

    /// Lets time pass; deadlines fire at their moments.
    pub fn advance(&mut self, by: Duration) -> Vec<Output> {
        let until = self.now.after(by);
        let mut outputs = Vec::new();
        let mut fired = 0;
        while let Some(deadline) = self.driver.deadline() {
            if deadline.mono_ms > until.mono_ms {
                break;
            }
            if deadline.mono_ms > self.now.mono_ms {
                self.now = self
                    .now
                    .after(Duration::from_millis(deadline.mono_ms - self.now.mono_ms));
            }
            outputs.extend(self.input(Input::Deadline));
            fired += 1;
            assert!(fired < 10_000, "a deadline that does not go away");
        }
        self.now = until;
        outputs
    }
}

/// Ids of ours as they stand in transcripts.
pub fn shorten(text: &str) -> String {
    text.replace(PREFIX, "#")
}

/// Puts real ids where a transcript has short ones.
pub fn lengthen(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"#") {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let digits = after[1..].bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            out.push_str(PREFIX);
            rest = &after[1..];
        } else {
            rest = after;
        }
        if digits == 0 {
            out.push('#');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

// ---------------------------------------------------------------------------------------------
// Lines in

/// Words of a line; a word in double quotes is a JSON string.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        if rest.starts_with('"') {
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let word = stream
                .next()
                .and_then(Result::ok)
                .unwrap_or_else(|| panic!("bad string in: {line}"));
            rest = rest[stream.byte_offset()..].trim_start();
            words.push(word);
        } else {
            let end = rest.find(' ').unwrap_or(rest.len());
            words.push(rest[..end].to_owned());
            rest = rest[end..].trim_start();
        }
    }
    words
}

fn millis(text: &str) -> u64 {
    if let Some(ms) = text.strip_suffix("ms") {
        return ms.parse().unwrap();
    }
    if let Some(hours) = text.strip_suffix('h') {
        return hours.parse::<u64>().unwrap() * 3_600_000;
    }
    let seconds: f64 = text.trim_end_matches('s').parse().unwrap();
    (seconds * 1000.0) as u64
}

fn scope(word: &str) -> Scope {
    if word == "all" {
        Scope::Account
    } else {
        Scope::Conversation(word.into())
    }
}

/// `7:notes.md:12:text/markdown` or the same with `=id` of an earlier upload.
fn outgoing(word: &str) -> OutgoingFile {
    let (word, uploaded) = match word.split_once('=') {
        Some((word, id)) => (word, Some(AttachmentId::from(id))),
        None => (word, None),
    };
    let parts: Vec<&str> = word.splitn(4, ':').collect();
    OutgoingFile {
        transfer: TransferId(parts[0].parse().unwrap()),
        path: PathBuf::from(format!("/home/ada/{}", parts[1])),
        name: parts[1].to_owned(),
        media_type: parts.get(3).unwrap_or(&"").to_string(),
        kind: if parts.get(3).is_some_and(|kind| kind.starts_with("image/")) {
            AttachmentKind::Image
        } else {
            AttachmentKind::Document
        },
        size: parts[2].parse().unwrap(),
        uploaded,
    }
}

/// `name=value` words.
fn options(words: &[String]) -> BTreeMap<String, String> {
    words
        .iter()
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// A command as a transcript writes it.
pub fn command(line: &str) -> Command {
    let words = words(line);
    let arg = |at: usize| words.get(at).cloned().unwrap_or_default();
    let conversation = || ConversationId::from(arg(1));
    match arg(0).as_str() {
        "send" => {
            let options = options(&words[3..]);
            Command::Chat(ChatCommand::Send {
                conversation: conversation(),
                text: arg(2),
                files: words[3..]
                    .iter()
                    .filter_map(|word| word.strip_prefix("file:"))
                    .map(outgoing)
                    .collect(),
                reply_to: options
                    .get("reply_to")
                    .map(|id| RemoteId::from(id.as_str())),
                auto_thread: words.iter().any(|word| word == "auto_thread"),
                effort: options.get("effort").cloned(),
            })
        }
        "delete-messages" => Command::Chat(ChatCommand::DeleteMessages {
            conversation: conversation(),
            remotes: words[2..]
                .iter()
                .map(|id| RemoteId::from(id.as_str()))
                .collect(),
        }),
        "cancel" => Command::Chat(ChatCommand::CancelRun {
            conversation: conversation(),
            run: words.get(2).map(|run| RunId::from(run.as_str())),
        }),
        "refresh" => Command::Conversation(ConversationCommand::Refresh),
        "create" => {
            let options = options(&words[1..]);
            Command::Conversation(ConversationCommand::Create {
                name: words.get(1).filter(|word| !word.contains('=')).cloned(),
                parent: options
                    .get("parent")
                    .map(|id| ConversationId::from(id.as_str())),
            })
        }
        "rename" => Command::Conversation(ConversationCommand::Rename {
            conversation: conversation(),
            name: arg(2),
        }),
        "delete" => Command::Conversation(ConversationCommand::Delete {
            conversation: conversation(),
        }),
        "clear" => Command::Conversation(ConversationCommand::Clear {
            conversation: conversation(),
        }),
        "open" => Command::Conversation(ConversationCommand::Open {
            conversation: conversation(),
        }),
        "older" => Command::Conversation(ConversationCommand::LoadOlder {
            conversation: conversation(),
            before: PageToken::from(arg(2)),
        }),
        "default" => Command::Conversation(ConversationCommand::SetDefault {
            conversation: conversation(),
        }),
        "favorite" => Command::Conversation(ConversationCommand::SetFavorite {
            conversation: conversation(),
            on: arg(2) == "on",
        }),
        "automation" => Command::Conversation(ConversationCommand::SetAutomation {
            conversation: conversation(),
            on: arg(2) == "on",
        }),
        "appearance" => {
            let options = options(&words[2..]);
            let color = options.get("color").map(|hex| {
                let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
                (part(0), part(2), part(4))
            });
            let icon = options.get("icon").map(|size| {
                let mut bytes = vec![0u8; size.parse().unwrap()];
                let magic = b"\x89PNG\r\n\x1a\n";
                let n = magic.len().min(bytes.len());
                bytes[..n].copy_from_slice(&magic[..n]);
                std::sync::Arc::from(bytes)
            });
            Command::Conversation(ConversationCommand::SetAppearance {
                conversation: conversation(),
                appearance: Appearance { color, icon },
            })
        }
        "answer" => Command::Answer {
            conversation: conversation(),
            decision: DecisionId::from(arg(2)),
            answer: match arg(3).as_str() {
                "choice" => Answer::Choice {
                    value: arg(4),
                    reason: words.get(5).cloned(),
                },
                "text" => Answer::Text(arg(4)),
                other => panic!("answer by choice or text, not {other}"),
            },
        },
        "fetch" => {
            let options = options(&words[2..]);
            let number = |name: &str| options.get(name).map(|n| n.parse().unwrap());
            Command::Transfer(TransferCommand::Fetch {
                transfer: TransferId(number("transfer").unwrap_or(1)),
                attachment: Box::new(Attachment {
                    id: AttachmentId::from(arg(1)),
                    message: None,
                    direction: Direction::In,
                    name: "file".into(),
                    media_type: "text/plain".into(),
                    kind: AttachmentKind::Document,
                    size: number("size"),
                    may_preview: false,
                    expires_at_ms: number("expires").map(|s| EPOCH_MS + (s * 1000) as i64),
                    source: match options.get("path") {
                        Some(path) => AttachmentSource::HttpPath(path.clone()),
                        None => match options.get("file") {
                            Some(path) => AttachmentSource::LocalFile(PathBuf::from(path)),
                            None => AttachmentSource::Pull,
                        },
                    },
                    state: AttachmentState::Offered,
                }),
            })
        }
        "cancel-transfer" => Command::Transfer(TransferCommand::Cancel {
            transfer: TransferId(arg(1).parse().unwrap()),
        }),
        "models" => Command::Model(ModelCommand::LoadCatalog {
            conversation: words.get(1).map(|id| ConversationId::from(id.as_str())),
        }),
        "model" => Command::Model(ModelCommand::SetModel {
            scope: scope(&arg(1)),
            choice: ModelChoice {
                model: arg(2),
                provider: words.get(3).cloned(),
            },
        }),
        "effort" => Command::Model(ModelCommand::SetEffort {
            scope: scope(&arg(1)),
            level: arg(2),
        }),
        "auto-approve" => Command::Model(ModelCommand::SetAutoApprove {
            conversation: conversation(),
            on: arg(2) == "on",
        }),
        "profile" => {
            let options = options(&words[2..]);
            Command::Model(ModelCommand::SetProfile {
                conversation: conversation(),
                adapter: options.get("adapter").cloned(),
                model: options.get("model").cloned(),
                directory: options.get("directory").cloned(),
            })
        }
        "search" => Command::Search(SearchQuery {
            text: arg(1),
            scope: match words.get(2) {
                Some(id) => SearchScope::Conversation(id.as_str().into()),
                None => SearchScope::All,
            },
            limit: 20,
        }),
        "catalog" => Command::LoadCatalog,
        "invoke" => Command::Invoke {
            function: arg(1),
            conversation: words
                .get(2)
                .filter(|id| *id != "-")
                .map(|id| id.as_str().into()),
            argument: arg(3),
            subject: words.get(4).cloned(),
        },
        other => panic!("no such command: {other}"),
    }
}

fn close_reason(line: &str) -> CloseReason {
    let words = words(line);
    match words.first().map(String::as_str) {
        None | Some("ours") => CloseReason::Ours,
        Some("silent") => CloseReason::Silent,
        Some("peer") => CloseReason::Peer {
            code: words.get(1).map(|code| code.parse().unwrap()),
            reason: words.get(2).cloned().unwrap_or_default(),
        },
        Some("http") => CloseReason::HttpStatus {
            status: words[1].parse().unwrap(),
        },
        Some("exited") => CloseReason::Exited {
            code: words.get(1).and_then(|code| code.parse().ok()),
            signal: None,
            stderr_tail: words.get(2).cloned().unwrap_or_default(),
        },
        Some(kind) => CloseReason::Failed {
            kind: match kind {
                "address" => LinkFailure::BadAddress,
                "name" => LinkFailure::NameNotFound,
                "refused" => LinkFailure::ConnectionRefused,
                "broken" => LinkFailure::Broken,
                "tls" => LinkFailure::Tls,
                "too-large" => LinkFailure::TooLarge,
                "start" => LinkFailure::CannotStart,
                "locked" => LinkFailure::Locked,
                other => panic!("no such end of a link: {other}"),
            },
            detail: words.get(1).cloned().unwrap_or_default(),
        },
    }
}

/// Carries out one input line of a transcript; the lines that come of it.
pub fn perform(lab: &mut Lab, line: &str) -> Vec<String> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    match verb {
        "down" => {
            let reason = close_reason(rest);
            // In the order of the shell: the driver is asked before it forgets the link.
            let retry = lab.driver.retry(&reason);
            let last = match reason {
                CloseReason::Ours => lab.driver.farewell(lab.now),
                _ => Vec::new(),
            };
            let mut outputs: Vec<Output> = last.into_iter().map(Output::Frame).collect();
            outputs.extend(lab.input(Input::LinkDown { reason }));
            let mut lines: Vec<String> = outputs.iter().flat_map(output_lines).collect();
            lines.push(format!("= dial: {retry:?}"));
            lines
        }

        "glance" => {
            let key = lab.driver.glance(&Frame::text(lengthen(rest)));
            vec![match key {
                Some(key) => format!("= key {:?}", key.0),
                None => "= no key".to_owned(),
            }]
        }
        "redact" => {
            let frame = lab.driver.redact(&Frame::text(lengthen(rest)));
            vec![format!("= {}", shorten(frame.as_text().unwrap_or("bytes")))]
        }

        _ => outputs(lab, line).iter().flat_map(output_lines).collect(),
    }
}

/// Carries out one input line that only makes the driver say something.
pub fn outputs(lab: &mut Lab, line: &str) -> Vec<Output> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let transfer = || TransferId(words(rest)[0].parse().unwrap());
    match verb {
        "up" => lab.link_up(),
        "<" => lab.frame(&lab.named(rest)),
        "<bytes" => {
            let bytes = Bytes::from(words(rest)[0].clone());
            lab.input(Input::Frame(Frame::Binary(bytes)))
        }
        "!" => lab.command(command(rest)).1,
        "+" => lab.advance(Duration::from_millis(millis(rest))),
        // The machine sleeps: both clocks jump, nothing fires meanwhile.
        "sleep" => {
            lab.now = lab.now.after(Duration::from_millis(millis(rest)));
            lab.input(Input::Deadline)
        }
        "secret" => lab.input(Input::SecretRenewed(Secret::new(rest.to_owned()))),
        // The person types.
        "acted" => lab.input(Input::PersonActed),
        "log" => lab.input(Input::Log(words(rest).concat())),
        "http" => {
            let (_, rest) = rest.split_once(' ').unwrap();
            let (status, body) = rest.split_once(' ').unwrap_or((rest, ""));
            lab.input(Input::HttpReply(HttpReply {
                transfer: transfer(),
                status: status.parse().unwrap(),
                body: Bytes::from(body.to_owned()),
            }))
        }
        "stored" => lab.input(Input::TransferDone {
            transfer: transfer(),
            size: words(rest)[1].parse().unwrap(),
            sha256: words(rest)
                .get(2)
                .map_or([7; 32], |word| [word.len() as u8; 32]),
        }),
        "broke" => lab.input(Input::TransferFailed {
            transfer: transfer(),
            reason: match words(rest)[1].as_str() {
                "cancelled" => TransferFailure::Cancelled,
                "too-large" => TransferFailure::TooLarge,
                "file" => TransferFailure::LocalFile(words(rest)[2].clone()),
                _ => TransferFailure::Network(words(rest)[2].clone()),
            },
        }),
        "chunk" => lab.input(Input::UploadChunk {
            transfer: transfer(),
            bytes: Bytes::from(words(rest)[1].clone()),
        }),
        "end" => lab.input(Input::UploadEnd {
            transfer: transfer(),
            size: words(rest)[1].parse().unwrap(),
            sha256: [0xab; 32],
        }),
        "tool" => {
            let words = words(rest);
            lab.input(Input::ToolFinished {
                call: words[0].parse().unwrap(),
                result: match words[1].as_str() {
                    "ok" => Ok(words[2].clone()),
                    _ => Err(words[2].clone()),
                },
            })
        }
        other => panic!("no such input: {other}"),
    }
}

// ---------------------------------------------------------------------------------------------
// Lines out

/// One output as lines: `>` for frames, `=` for everything else.
pub fn output_lines(output: &Output) -> Vec<String> {
    let line = match output {
        Output::Frame(Frame::Text(bytes)) => {
            format!("> {}", shorten(&String::from_utf8_lossy(bytes)))
        }
        Output::Frame(Frame::Binary(bytes)) => {
            format!("> bytes {:?}", String::from_utf8_lossy(bytes))
        }
        Output::Http(request) => {
            let mut line = format!(
                "= http {} {} {}",
                request.transfer.0,
                match request.method {
                    HttpMethod::Get => "GET",
                    HttpMethod::Post => "POST",
                },
                request.path
            );
            for (key, value) in &request.query {
                let _ = write!(line, " {key}={value:?}");
            }
            if let Some(kind) = &request.content_type {
                let _ = write!(line, " type={kind}");
            }
            if let HttpBody::File(transfer) = request.body {
                let _ = write!(line, " body=file:{}", transfer.0);
            }
            if let HttpSink::File { max } = request.sink {
                let _ = write!(line, " into=file:{max}");
            }
            line
        }
        Output::CancelTransfer { transfer } => format!("= cancel transfer {}", transfer.0),
        Output::DownloadChunk { transfer, bytes } => {
            format!(
                "= bytes for {}: {:?}",
                transfer.0,
                String::from_utf8_lossy(bytes)
            )
        }
        Output::DownloadEnd { transfer, ok } => {
            format!(
                "= end of {}: {}",
                transfer.0,
                if *ok { "ok" } else { "dropped" }
            )
        }
        Output::WantBytes { transfer, max } => format!("= want {max} bytes of {}", transfer.0),
        Output::RunTool {
            call,
            name,
            input,
            deadline,
        } => {
            format!("= run tool {call} {name} {input} within {deadline:?}")
        }
        Output::WantSecret => "= want secret".to_owned(),
        Output::WantLog => "= want log".to_owned(),
        Output::Close { last, grace, retry } => {
            let mut line = format!("= close, dial {retry:?}");
            if let Some(last) = last {
                let _ = write!(
                    line,
                    ", last {}, grace {grace:?}",
                    last.as_text().unwrap_or("bytes")
                );
            }
            line
        }
        Output::Event(event) => return vec![format!("= {}", event_line(event))],
    };
    vec![line]
}

fn optional<T: std::fmt::Display>(name: &str, value: Option<T>) -> String {
    value
        .map(|value| format!(" {name}={value}"))
        .unwrap_or_default()
}

fn quoted(text: impl AsRef<str>) -> String {
    format!("{:?}", text.as_ref())
}

/// A message as one line.
pub fn message_line(message: &IncomingMessage) -> String {
    let mut line = String::new();
    match &message.remote {
        Some(remote) => line.push_str(remote.as_str()),
        None => line.push('-'),
    }
    let _ = write!(line, " {:?}", message.author);
    if message.sort != MessageSort::Ordinary {
        let _ = write!(line, " {:?}", message.sort);
    }
    let _ = write!(line, " {}", quoted(&message.text));
    if let Some(reasoning) = &message.reasoning {
        let _ = write!(line, " reasoning={}", quoted(reasoning));
    }
    for attachment in &message.attachments {
        let _ = write!(line, " [{}]", attachment_line(attachment));
    }
    line.push_str(&optional(
        "reply_to",
        message.reply_to.as_ref().map(RemoteId::as_str),
    ));
    line.push_str(&optional("run", message.run.as_ref().map(RunId::as_str)));
    line.push_str(&optional(
        "of",
        message.command.map(|command| format!("c{}", command.0)),
    ));
    line.push_str(&optional("at", message.sent_at_ms.map(time)));
    line.push_str(&footer(&message.footer));
    if message.is_streaming {
        line.push_str(" streaming");
    }
    if message.is_interrupted {
        line.push_str(" interrupted");
    }
    line
}

/// Wall milliseconds against the beginning of the test, in seconds.
fn time(ms: i64) -> String {
    let difference = ms - EPOCH_MS;
    let sign = if difference < 0 { "-" } else { "+" };
    let (seconds, rest) = (difference.abs() / 1000, difference.abs() % 1000);
    if rest == 0 {
        format!("{sign}{seconds}s")
    } else {
        format!("{sign}{seconds}.{rest:03}s")
    }
}

fn footer(footer: &Footer) -> String {
    let mut line = String::new();
    line.push_str(&optional("model", footer.model.as_ref()));
    line.push_str(&optional("in", footer.tokens_in));
    line.push_str(&optional("out", footer.tokens_out));
    line.push_str(&optional("cached", footer.tokens_cached));
    line.push_str(&optional("tokens", footer.tokens));
    line.push_str(&optional("context%", footer.context_percent));
    line.push_str(&optional("cwd", footer.directory.as_ref()));
    line.push_str(&optional("latency_ms", footer.latency_ms));
    line.push_str(&optional("micro_usd", footer.cost_micro_usd));
    line
}

fn attachment_line(attachment: &Attachment) -> String {
    let source = match &attachment.source {
        AttachmentSource::Pull => "pull".to_owned(),
        AttachmentSource::HttpPath(path) => path.clone(),
        AttachmentSource::LocalFile(path) => path.display().to_string(),
    };
    let mut line = format!(
        "{} {:?} {:?} {} {} {source}",
        attachment.id.as_str(),
        attachment.direction,
        attachment.kind,
        quoted(attachment.name.as_str()),
        attachment.media_type,
    );
    line.push_str(&optional("size", attachment.size));
    line.push_str(&optional(
        "on",
        attachment.message.as_ref().map(RemoteId::as_str),
    ));
    line.push_str(&optional("expires", attachment.expires_at_ms.map(time)));
    if attachment.may_preview {
        line.push_str(" preview");
    }
    if attachment.state != AttachmentState::Offered {
        let _ = write!(line, " {:?}", attachment.state);
    }
    line
}

fn tool_line(tool: &ToolCall) -> String {
    let mut line = format!(
        "{} {} {:?}",
        tool.id.as_str(),
        quoted(tool.name.as_str()),
        tool.status
    );
    for (name, value) in [
        ("preview", &tool.preview),
        ("arguments", &tool.arguments),
        ("note", &tool.note),
        ("output", &tool.output),
        ("error", &tool.error),
        ("emoji", &tool.emoji),
    ] {
        if !value.is_empty() {
            let _ = write!(line, " {name}={}", quoted(value.as_str()));
        }
    }
    line.push_str(&optional("run", tool.run.as_ref().map(RunId::as_str)));
    line.push_str(&optional("ms", tool.duration_ms));
    line
}

fn decision_line(decision: &Decision) -> String {
    let mut line = format!(
        "{:?} {}",
        decision.id.as_str(),
        decision.conversation.as_str()
    );
    match &decision.question {
        Question::Approval {
            command,
            description,
            may_be_cut,
            takes_reason,
        } => {
            let _ = write!(line, " approval {command:?} because {description:?}");
            if *may_be_cut {
                line.push_str(" may-be-cut");
            }
            if *takes_reason {
                line.push_str(" takes-reason");
            }
        }
        Question::Clarification {
            question,
            takes_free_text,
        } => {
            let _ = write!(line, " question {question:?}");
            if *takes_free_text {
                line.push_str(" takes-text");
            }
        }
        Question::Picker { title } => {
            let _ = write!(line, " picker {title:?}");
        }
    }
    for choice in &decision.choices {
        let _ = write!(line, " [{}", choice.value);
        if choice.label.as_str() != choice.value {
            let _ = write!(line, " {:?}", choice.label);
        }
        if choice.grant != Grant::Answer {
            let _ = write!(line, " {:?}", choice.grant);
        }
        line.push_str(if choice.is_current { " current]" } else { "]" });
    }
    if decision.way != AnswerWay::Direct {
        let _ = write!(line, " by {:?}", decision.way);
    }
    line.push_str(&optional("run", decision.run.as_ref().map(RunId::as_str)));
    line.push_str(&optional(
        "tool",
        decision.tool.as_ref().map(ToolCallId::as_str),
    ));
    line.push_str(&optional(
        "until",
        decision.deadline.map(|at| time(at.wall_ms)),
    ));
    // Said only where it is older than the transcript: what is asked live is asked now.
    let asked_ms = decision.asked_at.wall_ms;
    line.push_str(&optional(
        "asked",
        (asked_ms < EPOCH_MS).then(|| time(asked_ms)),
    ));
    if decision.was_asked_for {
        line.push_str(" asked-for");
    }
    line
}

fn info_line(id: &ConversationId, info: &ConversationInfo) -> String {
    let mut line = format!(
        "{} {:?} {}",
        id.as_str(),
        info.kind,
        quoted(info.name.as_str())
    );
    line.push_str(&optional(
        "parent",
        info.parent.as_ref().map(ConversationId::as_str),
    ));
    for (on, word) in [
        (info.name_is_derived, "derived"),
        (info.is_favorite, "favorite"),
        (info.is_automation, "automation"),
        (info.is_archived, "archived"),
    ] {
        if on {
            let _ = write!(line, " {word}");
        }
    }
    line.push_str(&optional("active", info.last_activity_ms.map(time)));
    if let Some((r, g, b)) = info.appearance.color {
        let _ = write!(line, " color={r:02x}{g:02x}{b:02x}");
    }
    line.push_str(&optional(
        "icon",
        info.appearance.icon.as_ref().map(|icon| icon.len()),
    ));
    line
}

fn todos_line(todos: &[Todo]) -> String {
    let entries: Vec<String> = todos
        .iter()
        .map(|todo| format!("{:?} {:?}", todo.status, todo.content))
        .collect();
    format!("[{}]", entries.join(", "))
}

fn page_lines(page: &HistoryPage) -> String {
    let mut line = page.conversation.as_str().to_owned();
    line.push_str(&optional(
        "before",
        page.before.as_ref().map(PageToken::as_str),
    ));
    line.push_str(&optional(
        "older",
        page.older.as_ref().map(PageToken::as_str),
    ));
    if !page.is_authoritative {
        line.push_str(" partial");
    }
    for message in &page.messages {
        let _ = write!(line, "\n    {}", message_line(message));
    }
    line
}

/// One event as one line (pages and snapshots have further, indented ones).
pub fn event_line(event: &AccountEvent) -> String {
    let line = topic_line(&event.topic);
    match &event.provenance {
        Provenance::Live => line,
        Provenance::Replayed {
            cursor,
            was_announced,
        } => format!(
            "replayed {}{} {line}",
            cursor.as_str(),
            if *was_announced { " announced" } else { "" }
        ),
        Provenance::History => format!("history {line}"),
        Provenance::Snapshot => format!("snapshot {line}"),
    }
}

fn of(command: &Option<CommandId>) -> String {
    optional("of", command.map(|command| format!("c{}", command.0)))
}

fn topic_line(topic: &Topic) -> String {
    match topic {
        Topic::Link(event) => match event {
            LinkEvent::Changed(state) => match state {
                LinkState::Refused { reason } => format!("link Refused: {reason}"),
                LinkState::NeedsLogin(need) => format!(
                    "link NeedsLogin: {} url={:?} methods={:?}",
                    need.hint,
                    need.url,
                    need.methods
                        .iter()
                        .map(|method| format!("{} {}", method.name, method.detail))
                        .collect::<Vec<_>>()
                ),
                other => format!("link {other:?}"),
            },
            LinkEvent::IdentityKnown(identity) => {
                format!("identity {:?} {:?}", identity.server, identity.version)
            }
            LinkEvent::CapabilitiesChanged(capabilities) => {
                let yes = [
                    ("create", &capabilities.create_conversation),
                    ("thread", &capabilities.create_thread),
                    ("rename", &capabilities.rename_conversation),
                    ("delete", &capabilities.delete_conversation),
                    ("clear", &capabilities.clear_conversation),
                    ("default", &capabilities.set_default),
                    ("favorite", &capabilities.favorite),
                    ("appearance", &capabilities.appearance),
                    ("automation", &capabilities.automation),
                    ("auto-thread", &capabilities.auto_thread),
                    ("delete-message", &capabilities.delete_message),
                    ("reply", &capabilities.reply_to),
                    ("receipts", &capabilities.read_receipts),
                    ("cancel", &capabilities.cancel_run),
                    ("queues", &capabilities.queues_messages),
                    ("search", &capabilities.server_search),
                    ("catalog", &capabilities.slash_catalog),
                    ("models", &capabilities.models),
                    ("effort", &capabilities.effort),
                    ("auto-approve", &capabilities.auto_approve),
                    ("profile", &capabilities.profile),
                    ("upload", &capabilities.upload),
                    ("download", &capabilities.download),
                    ("reasoning", &capabilities.reasoning),
                    ("todos", &capabilities.todos),
                ]
                .iter()
                .filter(|(_, support)| support.is_yes())
                .map(|(name, _)| *name)
                .collect::<Vec<_>>();
                format!("can {}", yes.join(" "))
            }
            LinkEvent::HealthChanged(health) => match health {
                Some(words) => format!("health {words:?}"),
                None => "healthy".to_owned(),
            },
            LinkEvent::Heard { latency_ms } => {
                format!("heard{}", optional("latency_ms", *latency_ms))
            }
            LinkEvent::Silent { since } => {
                format!("silent since={}", since.mono_ms)
            }
            LinkEvent::CatalogLoaded(catalog) => {
                let mut line = format!("catalog of {}", catalog.len());
                for entry in catalog {
                    let _ = write!(
                        line,
                        "\n    {} {:?} {:?} {:?} {:?}",
                        entry.name,
                        entry.aliases,
                        entry.description,
                        entry.arguments_hint,
                        entry.category
                    );
                }
                line
            }
        },
        Topic::Directory(event) => match event {
            DirectoryEvent::Replaced(entries) => {
                let mut line = format!("directory of {}", entries.len());
                for (id, info) in entries {
                    let _ = write!(line, "\n    {}", info_line(id, info));
                }
                line
            }
            DirectoryEvent::Upserted { conversation, info } => {
                format!("conversation {}", info_line(conversation, info))
            }
            DirectoryEvent::Renamed { conversation, name } => {
                format!("renamed {} {name:?}", conversation.as_str())
            }
            DirectoryEvent::Removed { conversation } => {
                format!("removed {}", conversation.as_str())
            }
            DirectoryEvent::Touched {
                conversation,
                at_ms,
            } => {
                format!("touched {} {}", conversation.as_str(), time(*at_ms))
            }
        },
        Topic::Timeline(event) => timeline_line(event),
        Topic::Run(event) => match event {
            RunEvent::Started {
                conversation,
                run,
                command,
                is_stated,
            } => format!(
                "run {} of {} started{}{}",
                run.as_str(),
                conversation.as_str(),
                of(command),
                if *is_stated { "" } else { " inferred" }
            ),
            RunEvent::PhaseChanged { run, phase, .. } => format!("run {} {phase:?}", run.as_str()),
            RunEvent::Active { conversation } => {
                format!("run of {} is active", conversation.as_str())
            }
            RunEvent::ToolChanged { conversation, tool } => {
                format!("tool {} {}", conversation.as_str(), tool_line(tool))
            }
            RunEvent::ToolMissed {
                conversation,
                tool,
                after,
                at_ms,
            } => format!(
                "tool {} {} after={} at={}",
                conversation.as_str(),
                tool_line(tool),
                after.as_ref().map_or("nothing", |after| after.as_str()),
                at_ms.map_or_else(|| "unknown".to_owned(), time),
            ),
            RunEvent::Owned { run, command, .. } => {
                format!("run {} is of=c{}", run.as_str(), command.0)
            }
            RunEvent::Resumed { run, tools, .. } => {
                let tools: Vec<&str> = tools.iter().map(|id| id.as_str()).collect();
                format!("run {} goes on {}", run.as_str(), tools.join(" "))
            }
            RunEvent::ToolLost { tool, .. } => format!("tool {} is lost", tool.as_str()),
            RunEvent::ToolRekeyed { from, to, .. } => {
                format!("tool {} is {}", from.as_str(), to.as_str())
            }
            RunEvent::Finished { run, outcome, .. } => match outcome {
                RunOutcome::Failed {
                    error,
                    hint,
                    details,
                } => {
                    let details = match details.as_str() {
                        "" => String::new(),
                        details => format!(" details={details:?}"),
                    };
                    format!("run {} failed: {error:?} {hint:?}{details}", run.as_str())
                }
                other => format!("run {} {other:?}", run.as_str()),
            },
        },
        Topic::Decision(event) => match event {
            DecisionEvent::Opened(decision) => format!("decision {}", decision_line(decision)),
            DecisionEvent::Resolved {
                decision,
                choice,
                command,
            } => format!(
                "decision {:?} resolved{}{}",
                decision.as_str(),
                optional(
                    "choice",
                    choice.as_ref().map(|choice| format!("{choice:?}"))
                ),
                of(command)
            ),
            DecisionEvent::Expired { decision, why } => {
                format!("decision {:?} expired {why:?}", decision.as_str())
            }
        },
        Topic::Attachment(event) => match event {
            AttachmentEvent::Added {
                conversation,
                attachment,
            } => format!(
                "attachment {} {}",
                conversation.as_str(),
                attachment_line(attachment)
            ),
            AttachmentEvent::Gone { attachment } => {
                format!("attachment {} gone", attachment.as_str())
            }
            AttachmentEvent::TransferBegan { transfer } => format!("transfer {} began", transfer.0),
        },
        Topic::Models(event) => match event {
            ModelsEvent::CatalogLoaded {
                conversation,
                catalog,
            } => {
                let mut line = "models".to_owned();
                line.push_str(&optional(
                    "of",
                    conversation.as_ref().map(ConversationId::as_str),
                ));
                if let Some(current) = &catalog.current {
                    let _ = write!(line, " current={current:?}");
                }
                let _ = write!(line, " efforts={:?}", catalog.efforts);
                for provider in &catalog.providers {
                    let _ = write!(
                        line,
                        "\n    {} {:?} {:?} of {}{}",
                        provider.slug,
                        provider.name,
                        provider.models,
                        provider.total_models,
                        if provider.is_current { " current" } else { "" }
                    );
                }
                line
            }
            ModelsEvent::ModelChanged { choice, scope } => format!(
                "model {}{} for {}",
                choice.model,
                optional("provider", choice.provider.as_ref()),
                scope_word(scope)
            ),
            ModelsEvent::EffortChanged { effort, scope } => format!(
                "effort {}{} for {} of {:?}",
                effort.level.as_deref().unwrap_or("default"),
                if effort.enabled { "" } else { " off" },
                scope_word(scope),
                effort.supported
            ),
            ModelsEvent::AutoApproveChanged { conversation, on } => {
                format!(
                    "auto-approve {} {}",
                    conversation.as_str(),
                    if *on { "on" } else { "off" }
                )
            }
            ModelsEvent::ProfileChanged {
                conversation,
                profile,
            } => format!(
                "profile {} adapter={:?} model={:?} directory={:?} adapters={:?}",
                conversation.as_str(),
                profile.adapter,
                profile.model,
                profile.directory,
                profile.adapters
            ),
        },
        Topic::Notice(notice) => {
            let mut line = match notice.kind {
                NoticeKind::Oddity => "oddity".to_owned(),
                kind => format!("notice {:?} {kind:?}", notice.severity),
            };
            line.push_str(&optional(
                "in",
                notice.conversation.as_ref().map(ConversationId::as_str),
            ));
            if notice.kind != NoticeKind::Oddity {
                let _ = write!(line, " {:?}", notice.title);
            }
            let _ = write!(line, " {:?}", notice.body);
            line
        }
        Topic::Sync(event) => match event {
            SyncEvent::Kept { name, value } => format!("keep {name}={value:?}"),
            SyncEvent::ReadingBegan => "reading began".to_owned(),
            SyncEvent::Done => "synced".to_owned(),
            SyncEvent::ServerLostState => "server lost its state".to_owned(),
        },
        Topic::Outcome { command, outcome } => {
            let words = match outcome {
                CommandOutcome::Done(reply) => match reply {
                    Reply::Nothing => "done".to_owned(),
                    Reply::Created(conversation) => {
                        format!("done, created {}", conversation.as_str())
                    }
                    Reply::Hits(hits) => {
                        let mut line = format!("done, {} hits", hits.len());
                        for hit in hits {
                            let _ = write!(
                                line,
                                "\n    {} {} {:?} {:?}{}",
                                hit.conversation.as_str(),
                                hit.remote.as_ref().map_or("-", RemoteId::as_str),
                                hit.author,
                                hit.snippet,
                                optional("at", hit.sent_at_ms.map(time))
                            );
                        }
                        line
                    }
                    Reply::Document { title, body } => format!("done, {title:?} {body:?}"),
                    Reply::Choices { title, rows } => {
                        let mut line = format!("done, {title:?} of {}", rows.len());
                        for row in rows {
                            let _ = write!(
                                line,
                                "\n    {:?} {:?}{} for {:?} {:?} {:?}",
                                row.label,
                                row.detail,
                                optional("at", row.at_ms.map(time)),
                                row.function,
                                row.subject.as_deref().unwrap_or("-"),
                                row.argument_hint,
                            );
                        }
                        line
                    }
                    Reply::Uploaded {
                        transfer,
                        attachment,
                    } => {
                        format!("uploaded {} as {}", transfer.0, attachment.as_str())
                    }
                },
                CommandOutcome::Refused(refusal) => {
                    format!("refused {:?}: {}", refusal.code, refusal.text)
                }
                CommandOutcome::LinkLost => "link lost".to_owned(),
                CommandOutcome::NotSent => "not sent".to_owned(),
            };
            format!("c{} {words}", command.0)
        }
    }
}

fn scope_word(scope: &Scope) -> &str {
    match scope {
        Scope::Account => "all",
        Scope::Conversation(id) => id.as_str(),
    }
}

fn timeline_line(event: &TimelineEvent) -> String {
    match event {
        TimelineEvent::Upserted {
            conversation,
            message,
        } => {
            format!(
                "message {} {}",
                conversation.as_str(),
                message_line(message)
            )
        }
        TimelineEvent::Patched {
            conversation,
            remote,
            run,
            part,
            patch,
        } => format!(
            "patch {} {}{} {}{}",
            conversation.as_str(),
            remote.as_str(),
            if *part == Part::Reasoning {
                " reasoning"
            } else {
                ""
            },
            match patch {
                TextPatch::Replace(text) => quoted(text),
                TextPatch::Append(text) => format!("+{}", quoted(text)),
            },
            optional("run", run.as_ref().map(RunId::as_str))
        ),
        TimelineEvent::Ended {
            conversation,
            remote,
            text,
            reasoning,
            footer: foot,
            sent_at_ms,
            is_interrupted,
        } => {
            let mut line = format!("end {} {}", conversation.as_str(), remote.as_str());
            line.push_str(&optional("text", text.as_ref().map(quoted)));
            line.push_str(&optional("reasoning", reasoning.as_ref().map(quoted)));
            line.push_str(&footer(foot));
            line.push_str(&optional("at", sent_at_ms.map(time)));
            if *is_interrupted {
                line.push_str(" interrupted");
            }
            line
        }
        TimelineEvent::Rekeyed { from, to, .. } => {
            format!("rekeyed {} to {}", from.as_str(), to.as_str())
        }
        TimelineEvent::Deleted {
            conversation,
            remotes,
        } => {
            let ids: Vec<&str> = remotes.iter().map(RemoteId::as_str).collect();
            format!("deleted {} {}", conversation.as_str(), ids.join(" "))
        }
        TimelineEvent::Page(page) => format!("page {}", page_lines(page)),
        TimelineEvent::Snapshot(snapshot) => {
            let mut line = format!("of {}", page_lines(&snapshot.page));
            if let Some((run, since)) = &snapshot.run {
                let _ = write!(
                    line,
                    "\n    run {}{}",
                    run.as_str(),
                    optional("since", since.map(time))
                );
            }
            if let Some(draft) = &snapshot.draft {
                let _ = write!(line, "\n    draft {}", message_line(draft));
            }
            for tool in &snapshot.tools {
                let _ = write!(line, "\n    tool {}", tool_line(tool));
            }
            for attachment in &snapshot.attachments {
                let _ = write!(line, "\n    attachment {}", attachment_line(attachment));
            }
            for decision in &snapshot.decisions {
                let _ = write!(line, "\n    decision {}", decision_line(decision));
            }
            if snapshot.lost_runs {
                line.push_str("\n    runs were lost");
            }
            line
        }
        TimelineEvent::Acknowledged {
            conversation,
            command,
            remote,
        } => format!(
            "acknowledged {} c{}{}",
            conversation.as_str(),
            command.0,
            optional("as", remote.as_ref().map(RemoteId::as_str))
        ),
        TimelineEvent::WasRead {
            conversation,
            remote,
            command,
        } => format!(
            "read {}{}{}",
            conversation.as_str(),
            optional("message", remote.as_ref().map(RemoteId::as_str)),
            of(command)
        ),
        TimelineEvent::Cleared { conversation } => format!("cleared {}", conversation.as_str()),
        TimelineEvent::TodosReplaced {
            conversation,
            todos,
        } => {
            format!("todos {} {}", conversation.as_str(), todos_line(todos))
        }
        TimelineEvent::Typing { conversation, on } => {
            format!(
                "typing {} {}",
                conversation.as_str(),
                if *on { "on" } else { "off" }
            )
        }
    }
}
