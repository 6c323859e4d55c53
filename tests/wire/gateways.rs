//! The real drivers on real sockets against the demo gateways: what a person does on the first day.

use super::rig::{DEADLINE, link_state};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::timeout;
use trialogue::app::effect::TransferFile;
use trialogue::app::event::TransferProgress;
use trialogue::config::account::{AccountConfig, Endpoint, NetworkEndpoint};
use trialogue::demo::DemoOptions;
use trialogue::demo::serve::{Served, serve};
use trialogue::domain::{
    AccountId, AttachmentKind, ChatCommand, Command, CommandId, CommandOutcome,
    ConversationCommand, ConversationId, DirectoryEvent, LinkState, OutgoingFile, Part, Secret,
    TextPatch, TimelineEvent, Topic, TransferId,
};
use trialogue::protocol::{self, Resume, Setup};
use trialogue::runtime::clock::Clock;
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
}

impl Person {
    fn new(served: &Served, protocol: &str) -> Self {
        let gateway = served.gateway(protocol).unwrap();
        let endpoint = NetworkEndpoint {
            url: gateway.url.clone(),
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
                recording: Some(folder.path().join("recording.txt")),
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
        let recording = person.folder.path().join("recording.txt");
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
