//! The real drivers on real sockets against the demo gateways: what a person does on the first day.

use super::rig::{DEADLINE, Server, link_state};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use trialogue::app::effect::TransferFile;
use trialogue::app::event::TransferProgress;
use trialogue::config::account::{AccountConfig, Endpoint, NetworkEndpoint};
use trialogue::demo::{DemoOptions, Served, serve};
use trialogue::domain::{
    AccountId, AttachmentKind, ChatCommand, Command, CommandId, CommandOutcome,
    ConversationCommand, ConversationId, DirectoryEvent, LinkState, OutgoingFile, Part, Secret,
    TextPatch, TimelineEvent, Topic, TransferId,
};
use trialogue::protocol::{self, Resume, Setup};
use trialogue::runtime::clock::Clock;
use trialogue::runtime::recording::{Head, Recorder};
use trialogue::runtime::session::{
    Place, SessionEvent, SessionHandle, SessionInput, SessionSetup, spawn,
};

struct Person {
    session: SessionHandle,
    events: mpsc::Receiver<(AccountId, SessionEvent)>,
    folder: tempfile::TempDir,
    conversations: Vec<ConversationId>,
    /// The whole text of the agent, as patches and ends leave it.
    text: String,
    outcomes: BTreeMap<u64, CommandOutcome>,
    files: Vec<TransferProgress>,
    state: LinkState,
    waits: usize,
}

impl Person {
    fn new(served: &Served, protocol: &str) -> Self {
        let url = served.gateway(protocol).unwrap().url.clone();
        Self::at(url, served, protocol)
    }

    fn at(url: String, served: &Served, protocol: &str) -> Self {
        let gateway = served.gateway(protocol).unwrap();
        let endpoint = NetworkEndpoint {
            url,
            ..NetworkEndpoint::default()
        };
        let account = AccountConfig {
            name: "demo".into(),
            endpoint: match protocol {
                "iris" => Endpoint::Iris(endpoint),
                _ => Endpoint::Pheby(endpoint),
            },
            secret_command: None,
            is_disabled: false,
            color: None,
        };
        let secret = Secret::new(gateway.secret.clone());
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup {
            secret: Some(secret.clone()),
            resume: Resume::default(),
            seed: [7; 16],
            working_directory: folder.path().to_owned(),
            client_version: "test",
        };
        let (sender, events) = mpsc::channel(256);
        let session = spawn(
            SessionSetup {
                account: "demo".into(),
                place: Place::of(&account, None),
                driver: protocol::driver(&account, setup),
                secret: Some(secret),
                secrets: Arc::new(|| Ok(None)),
                tools: BTreeMap::new(),
                cache: folder.path().join("cache"),
                clock: Clock::start(),
                seed: 7,
                recording: Some(
                    Recorder::create(&folder.path().join("recording.jsonl"), &Head::default())
                        .unwrap(),
                ),
                origin: Default::default(),
            },
            sender,
        );
        session.try_send(SessionInput::Connect).unwrap();
        Self {
            session,
            events,
            folder,
            conversations: Vec::new(),
            text: String::new(),
            outcomes: BTreeMap::new(),
            files: Vec::new(),
            state: LinkState::Off,
            waits: 0,
        }
    }

    fn command(&self, id: u64, command: Command) {
        let id = CommandId(id);
        self.session
            .try_send(SessionInput::Command { id, command })
            .unwrap();
    }

    fn send(&self, id: u64, text: &str, files: Vec<OutgoingFile>) {
        self.command(
            id,
            Command::Chat(ChatCommand::Send {
                conversation: self.conversations[0].clone(),
                text: text.into(),
                files,
                reply_to: None,
                auto_thread: false,
                effort: None,
            }),
        );
    }

    /// Takes events until the person sees what they wait for.
    async fn until(&mut self, what: &str, sees: impl Fn(&Self) -> bool) {
        let watch = async {
            while !sees(self) {
                let (_, event) = self.events.recv().await.expect("the session lives");
                self.see(event);
            }
        };
        if timeout(DEADLINE, watch).await.is_err() {
            panic!(
                "no {what}: {:?}, {:?}, {:?}",
                self.state, self.text, self.outcomes
            );
        }
    }

    fn see(&mut self, event: SessionEvent) {
        if let Some(state) = link_state(&event) {
            self.state = state;
            return;
        }
        match event {
            SessionEvent::Account(event) => match event.topic {
                Topic::Directory(DirectoryEvent::Replaced(list)) => {
                    self.conversations = list.into_iter().map(|(id, _)| id).collect();
                }
                Topic::Timeline(TimelineEvent::Patched {
                    part: Part::Body,
                    patch,
                    ..
                }) => match patch {
                    TextPatch::Replace(text) => self.text = text,
                    TextPatch::Append(text) => self.text.push_str(&text),
                },
                Topic::Timeline(TimelineEvent::Ended {
                    text: Some(text), ..
                }) => self.text = text,
                Topic::Outcome { command, outcome } => {
                    self.outcomes.insert(command.0, outcome);
                }
                _ => {}
            },
            SessionEvent::Transfer { progress, .. } => self.files.push(progress),
            // Nobody wants to wait in a test.
            SessionEvent::Waits { .. } => {
                self.waits += 1;
                self.state = LinkState::Off;
                self.session.try_send(SessionInput::RetryNow).unwrap();
            }
            _ => {}
        }
    }
}

async fn gateways() -> Served {
    let mut options = DemoOptions::default();
    options.setup.speed = 2_000;
    serve("127.0.0.1:0".parse().unwrap(), options)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_and_a_file_is_taken() {
    for protocol in ["pheby", "iris"] {
        let served = gateways().await;
        let mut person = Person::new(&served, protocol);
        person
            .until("link", |person| {
                person.state == LinkState::Ready && !person.conversations.is_empty()
            })
            .await;
        let open = ConversationCommand::Open {
            conversation: person.conversations[0].clone(),
        };
        person.command(1, Command::Conversation(open));
        person.send(2, "hello there", Vec::new());
        person
            .until("answer", |person| {
                !person.text.is_empty() && person.outcomes.contains_key(&2)
            })
            .await;
        assert!(
            matches!(person.outcomes[&2], CommandOutcome::Done(_)),
            "{protocol}: {:?}",
            person.outcomes
        );

        let path = person.folder.path().join("note.txt");
        std::fs::write(&path, "a note for the agent").unwrap();
        let transfer = TransferId(9);
        let file = TransferFile::Upload {
            path: path.clone(),
            size: 20,
        };
        person
            .session
            .try_send(SessionInput::OpenTransfer { transfer, file })
            .unwrap();
        let file = OutgoingFile {
            transfer,
            path,
            name: "note.txt".into(),
            media_type: "text/plain".into(),
            kind: AttachmentKind::Document,
            size: 20,
            uploaded: None,
        };
        person.send(3, "see the note", vec![file]);
        person
            .until("taken file", |person| {
                person.files.iter().any(|progress| {
                    matches!(
                        progress,
                        TransferProgress::Moved {
                            done: 20,
                            total: Some(20)
                        }
                    )
                }) && person.outcomes.contains_key(&3)
            })
            .await;
        let recording = person.folder.path().join("recording.jsonl");
        timeout(DEADLINE, person.session.shutdown()).await.unwrap();
        let secret = &served.gateway(protocol).unwrap().secret;
        let text = std::fs::read_to_string(recording).unwrap();
        assert!(!text.contains(secret.as_str()), "no secret is recorded");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_secret_is_tried_once_and_said() {
    for protocol in ["pheby", "iris"] {
        let mut served = gateways().await;
        for gateway in &mut served.gateways {
            gateway.secret = "wrong".into();
        }
        let mut person = Person::new(&served, protocol);
        person
            .until("refusal", |person| {
                matches!(person.state, LinkState::Refused { .. })
            })
            .await;
    }
}

/// A wire that breaks after so many bytes from the server, for one connection after the other; the
/// ones after the last hold.
async fn brittle(to: String, breaks: Vec<usize>) -> u16 {
    let server = Server::start().await;
    let port = server.port;
    tokio::spawn(async move {
        let mut breaks = breaks.into_iter();
        loop {
            let Ok((client, _)) = server.listener.accept().await else {
                return;
            };
            let on = TcpStream::connect(to.as_str()).await.unwrap();
            let room = breaks.next().map_or(u64::MAX, |bytes| bytes as u64);
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (from_server, mut to_server) = on.into_split();
                let mut from_server = from_server.take(room);
                // Both halves fall as soon as one way ends.
                tokio::select! {
                    _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
                    _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
                }
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wire_that_breaks_anywhere_is_mended_without_help() {
    for protocol in ["pheby", "iris"] {
        let served = gateways().await;
        let url = &served.gateway(protocol).unwrap().url;
        let mut breaks: Vec<usize> = vec![0, 1, 40, 150, 165, 200];
        breaks.extend((250..6_000).step_by(450));
        let count = breaks.len();
        let port = brittle(served.address.to_string(), breaks).await;
        let url = url.replace(&served.address.port().to_string(), &port.to_string());
        let mut person = Person::at(url, &served, protocol);
        // Every break is used up before the link holds, however far it came each time.
        let mut sent = 0;
        while sent < 2 {
            person
                .until("link", |person| {
                    person.state == LinkState::Ready && !person.conversations.is_empty()
                })
                .await;
            let open = ConversationCommand::Open {
                conversation: person.conversations[0].clone(),
            };
            let waits = person.waits;
            person.command(100 + waits as u64, Command::Conversation(open));
            if waits >= count {
                sent += 1;
                person.text.clear();
                person.send(1_000 + sent, "are you still there", Vec::new());
                person
                    .until("answer", |person| !person.text.is_empty())
                    .await;
            } else {
                // What a person does while it is up: something that brings bytes.
                person.send(10 + waits as u64, "hello", Vec::new());
                person
                    .until("next break", |person| person.waits > waits)
                    .await;
            }
        }
        // Each command had its end, in whatever way.
        person
            .until("ends", |person| {
                person.outcomes.keys().filter(|id| **id > 1_000).count() == 2
            })
            .await;
    }
}
