//! The Pheby server against its protocol document: frames as literals.
#![allow(clippy::unwrap_used)]

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
