//! The Pheby server against its protocol document: frames as literals.
#![allow(clippy::unwrap_used)]

mod ways;

use super::super::scenario::Library;
use super::*;

fn start() -> (Pheby, ConnectionId) {
    start_with(Readings::default())
}

fn start_with(readings: Readings) -> (Pheby, ConnectionId) {
    let mut server = Pheby::new(Setup::default(), readings);
    let id = enter(&mut server);
    (server, id)
}

fn enter(server: &mut Pheby) -> ConnectionId {
    let (id, out) = server.connect("127.0.0.1");
    assert!(out.is_empty());
    let frames = say(
        server,
        id,
        r#"{"type":"hello","secret":"demo-secret","protocol_version":1,"request_id":"h"}"#,
    );
    assert_eq!(
        frames,
        [
            json!({"type": "ready", "protocol_version": 1, "server": "pheby",
            "ts": server.desk.timestamp(), "request_id": "h"})
        ]
    );
    id
}

fn frames(out: Vec<GatewayOutput>, to: ConnectionId) -> Vec<Value> {
    out.into_iter()
        .filter_map(|output| match output {
            GatewayOutput::Send { connection, frame } if connection == to => {
                Some(serde_json::from_str(frame.as_text().unwrap()).unwrap())
            }
            _ => None,
        })
        .collect()
}

fn say(server: &mut Pheby, id: ConnectionId, text: &str) -> Vec<Value> {
    let out = server.frame(id, &Frame::text(text));
    frames(out, id)
}

fn ask(server: &mut Pheby, id: ConnectionId, frame: Value) -> Vec<Value> {
    say(server, id, &frame.to_string())
}

fn wait(server: &mut Pheby, id: ConnectionId, until: u64) -> Vec<Value> {
    let out = server.advance(until);
    frames(out, id)
}

fn create(server: &mut Pheby, id: ConnectionId) -> String {
    let got = ask(
        server,
        id,
        json!({"type": "conversation.create", "request_id": "c"}),
    );
    got[0]["conversation_id"].as_str().unwrap().to_owned()
}

fn kinds(frames: &[Value]) -> Vec<String> {
    let mut kinds: Vec<String> = frames
        .iter()
        .map(|f| f["type"].as_str().unwrap().to_owned())
        .collect();
    kinds.dedup();
    kinds
}

#[test]
fn a_message_runs_through_its_life() {
    let (mut server, id) = start();
    let chat = create(&mut server, id);
    let got = ask(
        &mut server,
        id,
        json!({"type": "chat.send", "conversation_id": chat, "text": "plain please", "request_id": "r6"}),
    );
    assert_eq!(
        kinds(&got),
        ["conversation.updated", "run.accepted", "message.start"]
    );
    assert_eq!(got[1]["request_id"], "r6");
    let run = got[1]["run_id"].as_str().unwrap();
    assert_eq!(
        got[2],
        json!({"type": "message.start", "conversation_id": chat, "run_id": run, "message_id": format!("draft-{run}")})
    );
    let rest = wait(&mut server, id, 60_000);
    assert_eq!(
        kinds(&rest),
        ["message.delta", "message.complete", "run.finished"]
    );
    assert_eq!(
        rest.last().unwrap(),
        &json!({"type": "run.finished", "conversation_id": chat, "run_id": run, "status": "completed"})
    );
    let history = ask(
        &mut server,
        id,
        json!({"type": "conversation.open", "conversation_id": chat, "request_id": "r3"}),
    );
    assert_eq!(history[0]["messages"][0]["role"], "user");
    assert_eq!(
        history[0]["messages"][1]["text"],
        rest[rest.len() - 2]["text"]
    );
    assert_eq!(history[0]["run"], Value::Null);
}

#[test]
fn type_and_ids_stand_before_the_text() {
    let (mut server, id) = start();
    let chat = create(&mut server, id);
    ask(
        &mut server,
        id,
        json!({"type": "chat.send", "conversation_id": chat, "text": "plain"}),
    );
    let out = server.advance(1000);
    let delta = out
        .iter()
        .find_map(|o| match o {
            GatewayOutput::Send { frame, .. } => frame
                .as_text()
                .filter(|text| text.contains("message.delta")),
            _ => None,
        })
        .unwrap();
    assert!(delta.starts_with(r#"{"type":"message.delta","conversation_id":""#));
    assert!(delta.find("message_id").unwrap() < delta.find("\"text\"").unwrap());
}

#[test]
fn a_silent_client_is_closed_after_ten_seconds() {
    let mut server = Pheby::new(Setup::default(), Readings::default());
    let (id, _) = server.connect("a");
    assert_eq!(server.due(), Some(10_000));
    assert!(server.advance(9_999).is_empty());
    let out = server.advance(10_000);
    assert!(
        matches!(&out[1], GatewayOutput::Close { connection, code: 1008, .. } if *connection == id)
    );
    assert_eq!(frames(out, id)[0]["error"]["code"], "auth_timeout");
}

#[test]
fn five_wrong_secrets_lock_the_address_out_for_a_minute() {
    for lockout in [Lockout::Status(429), Lockout::Status(403), Lockout::Close] {
        let readings = Readings {
            lockout,
            ..Readings::default()
        };
        let mut server = Pheby::new(Setup::default(), readings);
        for _ in 0..5 {
            let (id, out) = server.connect("a");
            assert!(out.is_empty());
            let got = say(
                &mut server,
                id,
                r#"{"type":"hello","secret":"no","protocol_version":1}"#,
            );
            assert_eq!(got[0]["error"]["code"], "unauthorized");
        }
        let (id, out) = server.connect("a");
        match lockout {
            Lockout::Status(status) => assert_eq!(
                out,
                [GatewayOutput::Refuse {
                    connection: id,
                    status
                }]
            ),
            Lockout::Close => assert!(matches!(out[0], GatewayOutput::Close { .. })),
        }
        assert!(server.connect("b").1.is_empty());
        server.advance(60_001);
        assert!(server.connect("a").1.is_empty());
    }
}

#[test]
fn errors_carry_their_code_and_the_request_id() {
    let (mut server, id) = start();
    let chat = create(&mut server, id);
    let check = |server: &mut Pheby, text: String, code: &str| {
        let got = say(server, id, &text);
        assert_eq!(got[0]["type"], "error", "{text}");
        assert_eq!(got[0]["error"]["code"], code, "{text}");
        got[0]["request_id"].clone()
    };
    check(&mut server, "nonsense".into(), "invalid_json");
    check(&mut server, "x".repeat(2 * 1024 * 1024 + 1), "too_large");
    let cases = [
        (json!({"type": "nope"}), "unknown_type"),
        (
            json!({"type": "hello", "secret": "demo-secret"}),
            "bad_request",
        ),
        (
            json!({"type": "conversation.open", "conversation_id": "0"}),
            "conversation_not_found",
        ),
        (json!({"type": "conversation.open"}), "bad_request"),
        (
            json!({"type": "conversation.open", "conversation_id": chat, "limit": 0}),
            "bad_request",
        ),
        (
            json!({"type": "conversation.open", "conversation_id": chat, "before_message_id": "m9"}),
            "bad_request",
        ),
        (
            json!({"type": "chat.send", "conversation_id": chat, "text": "  "}),
            "bad_request",
        ),
        (
            json!({"type": "chat.send", "conversation_id": chat, "text": "é".repeat(64_001)}),
            "too_large",
        ),
        (
            json!({"type": "chat.send", "conversation_id": chat, "text": "x", "attachment_ids": ["no"]}),
            "bad_request",
        ),
        (
            json!({"type": "run.cancel", "conversation_id": chat, "run_id": "no"}),
            "not_found",
        ),
        (
            json!({"type": "approval.respond", "approval_id": "no", "choice": "once"}),
            "approval_not_found",
        ),
        (
            json!({"type": "clarify.respond", "clarify_id": "no", "response": "x"}),
            "clarify_not_found",
        ),
        (
            json!({"type": "model.set", "model": "no/such"}),
            "bad_request",
        ),
        (
            json!({"type": "reasoning.set", "effort": "huge"}),
            "bad_request",
        ),
        (
            json!({"type": "yolo.set", "conversation_id": chat, "enabled": "yes"}),
            "bad_request",
        ),
    ];
    for (mut frame, code) in cases {
        frame["request_id"] = json!("q");
        assert_eq!(check(&mut server, frame.to_string(), code), "q");
    }
    let send = json!({"type": "chat.send", "conversation_id": chat, "text": "plain"});
    ask(&mut server, id, send.clone());
    check(&mut server, send.to_string(), "run_active");
}

fn send(server: &mut Pheby, id: ConnectionId, chat: &str, text: &str) -> Vec<Value> {
    ask(
        server,
        id,
        json!({"type": "chat.send", "conversation_id": chat, "text": text, "request_id": "s"}),
    )
}

fn open(server: &mut Pheby, id: ConnectionId, chat: &str) -> Value {
    ask(
        server,
        id,
        json!({"type": "conversation.open", "conversation_id": chat, "request_id": "o"}),
    )
    .remove(0)
}

fn of<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|f| f["type"] == kind).collect()
}

#[test]
fn every_scenario_comes_to_its_end_and_leaves_no_run() {
    let words: Vec<String> = Library::embedded()
        .scenarios()
        .iter()
        .map(|s| s.word.clone())
        .collect();
    for word in words {
        for readings in [Readings::default(), Readings::seen()] {
            let (mut server, id) = start_with(readings);
            let chat = create(&mut server, id);
            send(&mut server, id, &chat, &word);
            server.advance(20_000_000);
            let id = enter(&mut server);
            let list = ask(&mut server, id, json!({"type": "conversation.list"}));
            let is_there = list[0].to_string().contains(&chat);
            assert_eq!(is_there, word != "amnesia", "{word}");
            if is_there {
                let history = open(&mut server, id, &chat);
                assert_eq!(history["run"], Value::Null, "{word}");
                assert_eq!(history["approvals"], json!([]), "{word}");
            }
            assert_eq!(server.due(), None, "{word} leaves nothing to wait for");
        }
    }
}

#[test]
fn an_approval_waits_is_in_the_snapshot_and_is_answered_once_for_all() {
    let (mut server, id) = start();
    let other = enter(&mut server);
    let chat = create(&mut server, id);
    send(&mut server, id, &chat, "approve");
    let got = wait(&mut server, id, 10_000);
    let asked = of(&got, "approval.request")[0].clone();
    assert_eq!(
        asked["choices"],
        json!(["once", "session", "always", "deny"])
    );
    assert_eq!(asked["session_key"], format!("agent:main:pheby:dm:{chat}"));
    let snapshot = open(&mut server, other, &chat);
    let mut without_type = asked.clone();
    without_type.as_object_mut().unwrap().remove("type");
    assert_eq!(snapshot["approvals"], json!([without_type]));
    assert_eq!(snapshot["run"]["status"], "running");
    let wrong = ask(
        &mut server,
        other,
        json!({"type": "approval.respond", "approval_id": asked["approval_id"], "choice": "maybe"}),
    );
    assert_eq!(wrong[0]["error"]["code"], "bad_request");
    let answer = json!({"type": "approval.respond", "approval_id": asked["approval_id"],
        "choice": "deny", "reason": "not on a Friday", "request_id": "r8"});
    let out = server.frame(other, &Frame::text(answer.to_string()));
    let resolved = json!({"type": "approval.resolved", "approval_id": asked["approval_id"],
        "choice": "deny", "accepted": true, "request_id": "r8"});
    assert_eq!(frames(out.clone(), id), std::slice::from_ref(&resolved));
    assert_eq!(frames(out, other), std::slice::from_ref(&resolved));
    let late = ask(&mut server, id, answer);
    assert_eq!(late[0]["error"]["code"], "approval_not_found");
    let rest = wait(&mut server, id, 12_000);
    let failed = of(&rest, "tool.event")[0];
    assert_eq!(failed["status"], "failed");
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .contains("not on a Friday")
    );
}

#[test]
fn with_auto_approve_nothing_is_asked() {
    let (mut server, id) = start();
    let chat = create(&mut server, id);
    let got = ask(
        &mut server,
        id,
        json!({"type": "yolo.set", "conversation_id": chat, "enabled": true, "request_id": "y"}),
    );
    assert_eq!(
        got,
        [
            json!({"type": "yolo.changed", "enabled": true, "scope": "conversation", "conversation_id": chat, "request_id": "y"}),
            json!({"type": "yolo.changed", "enabled": true, "scope": "conversation", "conversation_id": chat})
        ]
    );
    send(&mut server, id, &chat, "approve");
    let got = wait(&mut server, id, 60_000);
    assert!(of(&got, "approval.request").is_empty());
    assert_eq!(got.last().unwrap()["status"], "completed");
}

#[test]
fn a_question_takes_a_choice_or_free_text_and_a_picker_is_a_question() {
    let (mut server, id) = start();
    let chat = create(&mut server, id);
    send(&mut server, id, &chat, "pick");
    let got = wait(&mut server, id, 5_000);
    let asked = of(&got, "clarify.request")[0].clone();
    assert_eq!(asked["choices"][1], "low");
    assert_eq!(asked["allow_free_text"], true);
    let got = ask(
        &mut server,
        id,
        json!({"type": "clarify.respond", "clarify_id": asked["clarify_id"], "response": "extra high: for proofs and races", "request_id": "r9"}),
    );
    assert_eq!(
        got,
        [
            json!({"type": "clarify.resolved", "clarify_id": asked["clarify_id"], "accepted": true, "request_id": "r9"})
        ]
    );
    let got = wait(&mut server, id, 10_000);
    let text = of(&got, "message.complete")[0]["text"].as_str().unwrap();
    assert!(text.contains("**xhigh**"), "{text}");
}

#[test]
fn a_run_can_be_cancelled_once() {
    for completes_cancelled in [false, true] {
        let (mut server, id) = start_with(Readings {
            completes_cancelled,
            ..Readings::default()
        });
        let chat = create(&mut server, id);
        let run = of(&send(&mut server, id, &chat, "slow"), "run.accepted")[0]["run_id"].clone();
        wait(&mut server, id, 15_000);
        let cancel = json!({"type": "run.cancel", "conversation_id": chat, "run_id": run, "request_id": "r7"});
        let got = ask(&mut server, id, cancel.clone());
        assert_eq!(of(&got, "tool.event")[0]["status"], "cancelled");
        assert_eq!(
            of(&got, "message.complete").len(),
            usize::from(completes_cancelled)
        );
        assert_eq!(
            got.last().unwrap(),
            &json!({"type": "run.finished", "conversation_id": chat, "run_id": run, "status": "cancelled"})
        );
        let got = ask(&mut server, id, cancel);
        assert_eq!(got[0]["error"]["code"], "not_found");
        assert!(wait(&mut server, id, 100_000).is_empty());
        let history = open(&mut server, id, &chat);
        assert_eq!(
            history["messages"].as_array().unwrap().len(),
            1 + usize::from(completes_cancelled)
        );
    }
}

#[test]
fn texts_around_tools_are_one_draft_or_several() {
    for (several_messages, expected) in [(false, 1), (true, 3)] {
        let (mut server, id) = start_with(Readings {
            several_messages,
            ..Readings::default()
        });
        let chat = create(&mut server, id);
        let first = send(&mut server, id, &chat, "tools");
        let draft = of(&first, "message.start")[0]["message_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let got = wait(&mut server, id, 60_000);
        let done = of(&got, "message.complete");
        assert_eq!(done.len(), expected);
        assert_eq!(done[0]["message_id"], draft);
        if several_messages {
            assert_eq!(done[1]["message_id"], format!("{draft}-2"));
            let at = |kind: &str| got.iter().position(|f| f["type"] == kind).unwrap();
            assert!(at("tool.event") < at("message.complete"));
        }
    }
}

#[test]
fn history_pages_backwards_without_holes() {
    let (mut server, id) = start();
    let list = ask(&mut server, id, json!({"type": "conversation.list"}));
    let chat = list[0]["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["name"] == "Support log")
        .unwrap()["conversation_id"]
        .clone();
    let mut seen: Vec<Value> = Vec::new();
    let mut before = Value::Null;
    for expected in [(500, true), (500, true), (202, false)] {
        let page = ask(
            &mut server,
            id,
            json!({"type": "conversation.open", "conversation_id": chat, "limit": 9999, "before_message_id": before}),
        )
        .remove(0);
        let messages = page["messages"].as_array().unwrap().clone();
        assert_eq!(
            (messages.len(), page["has_more"].as_bool().unwrap()),
            expected
        );
        before = messages[0]["message_id"].clone();
        seen.splice(0..0, messages);
    }
    assert_eq!(seen.len(), 1202);
    assert_eq!(
        open(&mut server, id, chat.as_str().unwrap())["messages"]
            .as_array()
            .unwrap()
            .len(),
        200
    );
}
