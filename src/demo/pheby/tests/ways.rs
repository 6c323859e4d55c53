//! Files over HTTP, cut links and silences, what comes unasked, and settings.

use super::*;

fn call(method: &str, path: &str, query: &[(&str, &str)], body: &'static [u8]) -> HttpCall {
    HttpCall {
        method: method.into(),
        path: path.into(),
        query: query
            .iter()
            .map(|(k, v)| ((*k).into(), (*v).into()))
            .collect(),
        authorization: Some("Bearer demo-secret".into()),
        secret_header: None,
        content_type: Some("text/markdown".into()),
        body: bytes::Bytes::from_static(body),
    }
}

#[test]
fn files_go_up_are_claimed_once_and_come_down_until_they_expire() {
    let (mut server, id) = start();
    let chat = create(&mut server, id);
    let post = call(
        "POST",
        "/attachments",
        &[("conversation_id", &chat), ("filename", "../notes.md")],
        b"# Notes",
    );
    let mut stranger = post.clone();
    stranger.authorization = None;
    assert_eq!(server.http(&stranger).status, 401);
    stranger.secret_header = Some("demo-secret".into());
    stranger.body = bytes::Bytes::new();
    assert_eq!(server.http(&stranger).status, 400);
    let answer = server.http(&post);
    assert_eq!(answer.status, 201);
    let body: Value = serde_json::from_slice(&answer.body.read(0, 10_000)).unwrap();
    let file = &body["attachment"];
    assert_eq!(
        (
            file["filename"].as_str(),
            file["direction"].as_str(),
            file["size"].as_u64()
        ),
        (Some("notes.md"), Some("inbound"), Some(7))
    );
    assert_eq!(file["message_id"], Value::Null);
    assert_eq!(open(&mut server, id, &chat)["attachments"], json!([]));
    let frame = json!({"type": "chat.send", "conversation_id": chat, "text": "upload", "attachment_ids": [file["attachment_id"]]});
    let got = ask(&mut server, id, frame.clone());
    let added = of(&got, "attachment.added")[0].clone();
    let snapshot = open(&mut server, id, &chat);
    assert_eq!(
        snapshot["messages"][0]["message_id"],
        added["attachment"]["message_id"]
    );
    wait(&mut server, id, 30_000);
    let again = ask(&mut server, id, frame);
    assert_eq!(again[0]["error"]["code"], "bad_request");
    let path = file["download_path"].as_str().unwrap();
    let down = server.http(&call("GET", path, &[], b""));
    assert_eq!(
        (down.status, down.body.read(0, 100)),
        (200, bytes::Bytes::from_static(b"# Notes"))
    );
    server.advance(8 * 24 * 3_600_000);
    assert_eq!(server.http(&call("GET", path, &[], b"")).status, 404);
    assert_eq!(open(&mut server, id, &chat)["attachments"], json!([]));
}

#[test]
fn a_cut_link_loses_nothing_and_a_restart_only_the_run() {
    let (mut server, id) = start();
    let chat = create(&mut server, id);
    send(&mut server, id, &chat, "cut");
    let out = server.advance(10_000);
    assert!(out.contains(&GatewayOutput::Cut { connection: id }));
    let id = enter(&mut server);
    let history = open(&mut server, id, &chat);
    assert!(
        history["messages"][1]["text"]
            .as_str()
            .unwrap()
            .contains("all of it, once")
    );

    send(&mut server, id, &chat, "restart");
    let out = server.advance(12_500);
    assert!(
        out.iter()
            .any(|o| matches!(o, GatewayOutput::Close { code: 1001, .. }))
    );
    assert!(matches!(
        server.connect("x").1[0],
        GatewayOutput::Refuse { status: 503, .. }
    ));
    server.advance(30_000);
    let id = enter(&mut server);
    let history = open(&mut server, id, &chat);
    assert_eq!(history["run"], Value::Null);
    let last = history["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert!(
        last["text"]
            .as_str()
            .unwrap()
            .ends_with("the rest of the work")
    );
}

#[test]
fn a_silence_holds_everything_back_and_then_lets_it_go_in_order() {
    let (mut server, id) = start();
    let chat = create(&mut server, id);
    send(&mut server, id, &chat, "silence");
    wait(&mut server, id, 5_000);
    assert!(ask(&mut server, id, json!({"type": "ping"})).is_empty());
    assert!(wait(&mut server, id, 20_000).is_empty());
    let got = wait(&mut server, id, 60_000);
    assert_eq!(got[0]["type"], "pong");
    assert_eq!(got.last().unwrap()["type"], "run.finished");
}

#[test]
fn what_nobody_asked_for_comes_as_a_run_or_without_one() {
    for speaks_without_run in [false, true] {
        let (mut server, id) = start_with(Readings {
            speaks_without_run,
            ..Readings::default()
        });
        let chat = create(&mut server, id);
        send(&mut server, id, &chat, "later");
        let got = wait(&mut server, id, 60_000);
        let start = *of(&got, "message.start").last().unwrap();
        assert_eq!(start["run_id"].is_null(), speaks_without_run);
        assert_eq!(
            of(&got, "run.accepted").len(),
            usize::from(!speaks_without_run)
        );
        assert_eq!(of(&got, "message.complete").len(), 2);
    }
}

#[test]
fn models_and_efforts_hold_for_one_conversation_or_for_all() {
    let (mut server, id) = start();
    let chat = create(&mut server, id);
    let got = ask(
        &mut server,
        id,
        json!({"type": "model.set", "model": "claude-opus-4.5", "conversation_id": chat, "request_id": "m"}),
    );
    assert_eq!(
        got[0],
        json!({"type": "model.changed", "model": "claude-opus-4.5", "provider": "anthropic", "scope": "conversation", "conversation_id": chat, "request_id": "m"})
    );
    let current = |server: &mut Pheby, frame: Value| ask(server, id, frame).remove(0);
    let global = current(&mut server, json!({"type": "models.current"}));
    assert_eq!(
        (&global["model"], &global["scope"]),
        (&json!("z-ai/glm-5.3-flash"), &json!("global"))
    );
    let own = current(
        &mut server,
        json!({"type": "models.list", "conversation_id": chat}),
    );
    assert_eq!(own["current_model"], "claude-opus-4.5");
    assert_eq!(own["providers"][1]["is_current"], true);
    let effort = current(&mut server, json!({"type": "reasoning.current"}));
    assert_eq!(
        (&effort["effort"], &effort["enabled"]),
        (&Value::Null, &json!(true))
    );
    ask(
        &mut server,
        id,
        json!({"type": "reasoning.set", "effort": "none", "conversation_id": chat}),
    );
    let effort = current(
        &mut server,
        json!({"type": "reasoning.current", "conversation_id": chat}),
    );
    assert_eq!(
        (&effort["effort"], &effort["enabled"]),
        (&json!("none"), &json!(false))
    );
}
