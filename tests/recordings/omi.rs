//! The recording of a real Omi runtime before the whole program. The recorder was a probe: much of
//! what it wrote (requests before an owner, two queries at once, broken lines) no client of ours
//! writes; the runtime's words on that come in all the same, and each is accounted for here.

use super::program::{Ids, Program};
use super::{compare, path};
use crate::driver_lab::LabSetup;
use serde_json::{Value, json};
use trialogue::app::Action;
use trialogue::app::state::Pending;
use trialogue::domain::*;
use trialogue::link::CloseReason;
use trialogue::protocol::Input;

/// The conversation of the surface that was recorded.
const MAIN: &str = "default";

/// Requests that the driver writes by itself: the session behind the conversation on screen, its
/// journal, the query behind an exchange, the end of an answer.
const BY_ITSELF: [&str; 4] = ["r4", "r8", "q1", "r10"];
/// Looks at the journal for which ours needs a reason.
const AGAIN: [&str; 2] = ["r11", "r21"];

/// Oddities, and how often each comes: the runtime's words to the recorder alone.
const EXPLAINED: [(&str, usize); 5] = [
    // A query before any owner (1), and journals of another owner or of none (7, 8, 24).
    ("request owner does not match the active runtime owner", 4),
    // Sessions without a directory, and with an adapter that is not there (4, 5).
    ("session creation profile requires rx4", 2),
    // The session was asked for twice (6), and again after the recorder gave it back (24).
    ("a session that nobody asked for", 2),
    // A query to a session of nobody (17).
    ("agent session is unavailable", 1),
    // The recorder looked at the context (19).
    ("a context that nobody asked for", 1),
];

/// One line of the recording.
struct Line {
    ms: u64,
    what: What,
}

enum What {
    /// A step begins.
    Note(String),
    /// From the host.
    In(Value),
    /// From the runtime.
    Out(Value),
    /// Bytes that were no frame, or the end.
    Other,
}

fn recording() -> Vec<Line> {
    std::fs::read_to_string(path("omi.jsonl"))
        .unwrap()
        .lines()
        .map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap();
            let what = match entry["dir"].as_str().unwrap() {
                "note" => What::Note(entry["text"].as_str().unwrap().to_owned()),
                "in" => What::In(entry["line"].clone()),
                "out" => What::Out(entry["line"].clone()),
                _ => What::Other,
            };
            Line {
                ms: entry["ms"].as_u64().unwrap_or_default(),
                what,
            }
        })
        .collect()
}

/// The line with which the runtime answered a request.
fn answer_to(request: &str) -> Value {
    recording()
        .into_iter()
        .find_map(|line| match line.what {
            What::Out(frame) if frame["requestId"] == request => Some(frame),
            _ => None,
        })
        .unwrap()
}

/// What the person did to have this line written; false for what the driver does by itself and
/// for what no client of ours would write.
fn act(program: &mut Program, line: &Value) -> bool {
    let id = line["requestId"].as_str().unwrap_or_default();
    let conversation = ConversationId::from(MAIN);
    match line["type"].as_str().unwrap() {
        "refresh_token" => {
            let token = line["token"].as_str().unwrap().to_owned();
            program.input(Input::SecretRenewed(Secret::new(token)));
        }
        "journal_record_exchange" => {
            program.say("hi", Vec::new());
            name_turns(program, line["turns"].as_array().unwrap());
        }
        // The first goes out behind its exchange; the others never leave: one before there is an
        // owner, a second one beside a running one, its double, and one to a session of nobody.
        "query" if ["q0", "q1", "q6", "q10"].contains(&id) || line["prompt"] == "dup" => {
            return false;
        }
        "query" => {
            program.say(line["prompt"].as_str().unwrap(), Vec::new());
            // The session was invalidated: the recorder asked for another one at once, ours asks
            // with the next message.
            if id == "q11" {
                let mut session = answer_to("r23");
                session["requestId"] = program.last("resolve_surface_session")["requestId"].clone();
                program.receive(session);
            }
            // The recorder asked without an exchange, which ours waits for.
            if let Some(turn) = line["producingTurnId"].as_str() {
                name_answer(program, turn);
            }
            let ours = program.last("journal_record_exchange")["requestId"].clone();
            program.receive(json!({
                "type": "journal_operation_result", "protocolVersion": 2, "requestId": ours,
                "operation": "record_exchange", "turns": [], "conversationGeneration": 1,
            }));
        }
        "journal_list_turns" if AGAIN.contains(&id) => program.command(
            "opens the conversation again",
            Command::Conversation(ConversationCommand::Open {
                conversation: conversation.clone(),
            }),
            Pending::Open { conversation },
        ),
        "interrupt" if program.desk.here().run.is_some() => {
            program.act("stops the run", Action::StopRun);
        }
        "migrate_session_execution_profile" => program.command(
            "chooses another model and folder",
            Command::Model(ModelCommand::SetProfile {
                conversation,
                adapter: line["adapterId"].as_str().map(str::to_owned),
                model: line["modelProfile"].as_str().map(str::to_owned),
                directory: line["workingDirectory"].as_str().map(str::to_owned),
            }),
            Pending::Other("Not changed"),
        ),
        "journal_clear_turns" => program.command(
            "clears the conversation",
            Command::Conversation(ConversationCommand::Clear { conversation }),
            Pending::Other("Not cleared"),
        ),
        _ => return false,
    }
    true
}

/// The turns of a recorded exchange are those of our last one.
fn name_turns(program: &mut Program, recorded: &[Value]) {
    let ours = program.last("journal_record_exchange")["turns"].clone();
    for (theirs, ours) in recorded.iter().zip(ours.as_array().unwrap()) {
        program.name(
            theirs["turnId"].as_str().unwrap(),
            ours["turnId"].as_str().unwrap(),
        );
    }
}

/// The turn that a recorded query answers in is the one of our last exchange.
fn name_answer(program: &mut Program, recorded: &str) {
    let ours = program.last("journal_record_exchange")["turns"][1]["turnId"].clone();
    program.name(recorded, ours.as_str().unwrap());
}

#[test]
fn a_recorded_omi_runtime_fills_the_stated_timeline() {
    let mut setup = LabSetup::new("omi");
    setup.secret = None;
    setup
        .settings
        .insert("owner".to_owned(), "owner-a".to_owned());
    setup
        .settings
        .insert("main_chat".to_owned(), "yes".to_owned());
    let ids = Ids {
        key: "requestId",
        sign_of_life: None,
    };
    let mut program = Program::new(&setup, ids);
    program.explained = EXPLAINED.into();
    program.link_up();
    let mut clock = 0;
    let mut scene = 0;
    for line in recording() {
        program.pass(line.ms.saturating_sub(clock));
        clock = clock.max(line.ms);
        match line.what {
            What::Note(text) => {
                if scene > 0 {
                    program.end_scene();
                }
                scene += 1;
                program.begin_scene(&text);
            }
            What::Other => {}
            What::In(frame) => {
                program.await_request(&frame);
                let is_deed = act(&mut program, &frame);
                let id = frame["requestId"].as_str().unwrap_or_default();
                if !program.stop_waiting() && (is_deed || BY_ITSELF.contains(&id)) {
                    program.pair(&frame);
                }
            }
            What::Out(frame) => program.receive(frame),
        }
    }
    program.input(Input::LinkDown {
        reason: CloseReason::Exited {
            code: Some(0),
            signal: None,
            stderr_tail: String::new(),
        },
    });
    program.end_scene();
    program.check_store();
    assert!(
        program.explained.values().all(|left| *left == 0),
        "oddities that did not come: {:?}",
        program.explained
    );
    compare("omi.timeline.txt", &program.scenes);
}
