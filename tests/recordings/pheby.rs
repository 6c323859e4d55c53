//! The recording of a real Pheby agent before the whole program.

use super::program::{Ids, Program};
use super::{compare, recorded};
use crate::driver_lab::LabSetup;
use serde_json::{Value, json};
use trialogue::app::Action;
use trialogue::app::event::FileFacts;
use trialogue::app::screen::composer::DraftFile;
use trialogue::app::state::Pending;
use trialogue::domain::*;

fn text(frame: &Value, name: &str) -> String {
    frame[name].as_str().unwrap_or_default().to_owned()
}

/// What the person did to have this frame sent; false for what is no deed of a person.
fn act(program: &mut Program, frame: &Value) -> bool {
    let conversation = text(frame, "conversation_id");
    let in_it = ConversationId::from(conversation.as_str());
    let scope = Scope::Conversation(in_it.clone());
    match frame["type"].as_str().unwrap() {
        "hello" => program.link_up(),
        "conversation.create" => {
            let name = frame["name"].as_str().map(str::to_owned);
            let words = format!("begins {}", name.as_deref().unwrap_or("a conversation"));
            let create = ConversationCommand::Create { name, parent: None };
            program.command(&words, Command::Conversation(create), Pending::Create);
        }
        "chat.send" => {
            program.go_to(&conversation);
            let files = frame["attachment_ids"].as_array().into_iter().flatten();
            let files = files
                .map(|id| {
                    // The recording leaves the upload out.
                    let body = json!({"attachment": {
                        "attachment_id": id, "filename": "notes.md",
                        "mime_type": "text/markdown", "size": 12, "kind": "document",
                    }});
                    program
                        .http
                        .insert("/attachments".to_owned(), body.to_string());
                    DraftFile {
                        path: "notes.md".into(),
                        facts: Some(FileFacts {
                            path: "notes.md".into(),
                            name: "notes.md".to_owned(),
                            size: 12,
                            media_type: "text/markdown".to_owned(),
                            kind: AttachmentKind::Document,
                        }),
                    }
                })
                .collect();
            program.say(&text(frame, "text"), files);
        }
        "run.cancel" => program.act("stops the run", Action::StopRun),
        "approval.respond" => {
            let decision = format!("approval {}", text(frame, "approval_id"));
            let answer = Answer::Choice {
                value: text(frame, "choice"),
                reason: frame["reason"].as_str().map(str::to_owned),
            };
            return answer_seen(program, &in_it, &decision, answer);
        }
        "clarify.respond" => {
            let decision = format!("clarify {}", text(frame, "clarify_id"));
            let answer = Answer::Text(text(frame, "response"));
            return answer_seen(program, &in_it, &decision, answer);
        }
        "conversation.open" if frame["before_message_id"].is_null() => {
            let open = ConversationCommand::Open {
                conversation: in_it.clone(),
            };
            program.command(
                "opens the conversation again",
                Command::Conversation(open),
                Pending::Open {
                    conversation: in_it,
                },
            );
        }
        "conversation.open" => {
            let older = ConversationCommand::LoadOlder {
                conversation: in_it.clone(),
                before: PageToken::from(text(frame, "before_message_id").as_str()),
            };
            program.command(
                "scrolls up",
                Command::Conversation(older),
                Pending::Older {
                    conversation: in_it,
                },
            );
        }
        "conversation.list" => program.command(
            "asks for the list",
            Command::Conversation(ConversationCommand::Refresh),
            Pending::Other("Not listed"),
        ),
        "models.list" => program.command(
            "looks at the models",
            Command::Model(ModelCommand::LoadCatalog {
                conversation: Some(in_it),
            }),
            Pending::Other("No models"),
        ),
        "model.set" => {
            let choice = ModelChoice {
                model: text(frame, "model"),
                provider: frame["provider"].as_str().map(str::to_owned),
            };
            program.command(
                &format!("chooses {}", choice.model),
                Command::Model(ModelCommand::SetModel { scope, choice }),
                Pending::Other("Model not set"),
            );
        }
        "reasoning.set" => {
            let level = text(frame, "effort");
            program.command(
                &format!("lets it think {level}"),
                Command::Model(ModelCommand::SetEffort { scope, level }),
                Pending::Other("Effort not set"),
            );
        }
        "yolo.set" => {
            let on = frame["enabled"] == true;
            program.command(
                &format!("turns auto-approve {}", if on { "on" } else { "off" }),
                Command::Model(ModelCommand::SetAutoApprove {
                    conversation: in_it,
                    on,
                }),
                Pending::Other("Not switched"),
            );
        }
        _ => return false,
    }
    true
}

/// An answer to what is open; for what nobody asked the driver has an answer of its own.
fn answer_seen(program: &mut Program, id: &ConversationId, name: &str, answer: Answer) -> bool {
    // The recorder answered within the millisecond; a person has to see it first.
    program.pass(100);
    let decisions = &program.desk.work().decisions;
    if decisions.iter().any(|known| known.id.as_str() == name) {
        program.answer(name, answer);
        return true;
    }
    program.command(
        &format!("answers {name}, which nobody asked"),
        Command::Answer {
            conversation: id.clone(),
            decision: name.into(),
            answer,
        },
        Pending::Other("Not answered"),
    );
    false
}

#[test]
fn a_recorded_pheby_agent_fills_the_stated_timeline() {
    let ids = Ids {
        key: "request_id",
        sign_of_life: Some(r#"{"type":"pong"}"#),
    };
    let mut program = Program::new(&LabSetup::new("pheby"), ids);
    let (mut scene, mut clock) = (String::new(), 0.0);
    for (t, name, is_ours, frame) in recorded("pheby") {
        program.pass(((t - clock) * 1000.0).max(0.0) as u64);
        clock = f64::max(t, clock);
        if name != scene {
            program.end_scene();
            program.begin_scene(&name);
            scene = name;
        }
        if !is_ours {
            program.receive(frame);
            // The text that was refused because of a run stands in the queue again; this recorder
            // never sent it a second time.
            if scene == "cancel" {
                program.take_back();
            }
            continue;
        }
        program.await_request(&frame);
        let is_deed = act(&mut program, &frame);
        if !program.stop_waiting() && is_deed {
            // The same is being asked already, as after the change of the conversation.
            assert_eq!(frame["type"], "conversation.open");
            program.pair(&frame);
        }
    }
    program.end_scene();
    program.check_store();
    compare("pheby.timeline.txt", &program.scenes);
}
