//! Pairing, sync with cursors, limits, restarts.

use super::*;

#[test]
fn hello_is_answered_with_caps_cursors_and_the_directory() {
    let mut iris = gateway(Readings::default());
    let (_, got) = enter(&mut iris, "one");
    assert_eq!(kinds(&got), ["hello.ack", "status"]);
    let ack = &got[0];
    assert_eq!((&ack["v"], &ack["id"]), (&json!(1), &json!(1)));
    assert_eq!(ack["payload"]["sync_cursor"], 0);
    assert_eq!(ack["payload"]["server_caps"]["push"], "none");
    let channels = ack["payload"]["channels"].as_array().unwrap();
    assert_eq!(
        channels[0],
        json!({"chat_id": "default", "name": "Welcome", "kind": "default", "parent_chat_id": null, "is_default": true, "archived": false})
    );
    assert!(
        channels
            .iter()
            .any(|c| c["kind"] == "thread" && c["parent_chat_id"] != Value::Null)
    );
    assert!(channels.iter().any(|c| c["automation"] == true));
    assert_eq!(
        got[1],
        json!({"v": 1, "type": "status", "payload": {"state": "online"}})
    );
}

#[test]
fn who_does_not_belong_is_turned_away() {
    let cases = [
        (
            json!({"v": 1, "id": 1, "type": "hello", "payload": {"token": "no"}}),
            "auth",
            1008,
        ),
        (
            json!({"v": 1, "id": 1, "type": "sync", "payload": {"cursor": 0}}),
            "auth",
            1008,
        ),
        (
            json!({"v": 2, "id": 1, "type": "hello", "payload": {"token": "demo-secret"}}),
            "unsupported",
            1002,
        ),
        (
            json!({"v": 1, "id": 1, "type": "hello", "payload": {"token": "demo-secret", "caps": {"min_protocol": 2}}}),
            "unsupported",
            1002,
        ),
    ];
    for (frame, code, close) in cases {
        let mut iris = gateway(Readings::default());
        let (id, _) = iris.connect("a");
        let out = iris.frame(id, &Frame::text(frame.to_string()));
        assert!(
            out.iter()
                .any(|o| matches!(o, GatewayOutput::Close { code, .. } if *code == close))
        );
        let got = frames(out, id);
        assert_eq!(
            (&got[0]["id"], &got[0]["payload"]["code"]),
            (&json!(1), &json!(code))
        );
    }
    let mut iris = gateway(Readings::default());
    let (id, _) = iris.connect("a");
    assert_eq!(iris.due(), Some(10_000));
    assert_eq!(
        frames(iris.advance(10_000), id)[0]["payload"]["code"],
        "auth"
    );
}

#[test]
fn what_was_missed_is_replayed_with_cursors() {
    let (mut iris, mut one) = start();
    let (two, _) = enter(&mut iris, "two");
    iris.disconnect(two.id);
    one.say(&mut iris, "notice");
    one.wait(&mut iris, 60_000);
    let (mut two, hello) = enter(&mut iris, "two");
    let head = hello[0]["payload"]["sync_cursor"].as_u64().unwrap();
    let got = two.ask(&mut iris, "sync", None, json!({"cursor": 0}));
    let done = got.last().unwrap();
    assert_eq!(
        done,
        &json!({"v": 1, "id": 2, "type": "sync.done", "payload": {"cursor": head}})
    );
    let cursors: Vec<u64> = got[..got.len() - 1]
        .iter()
        .map(|f| f["cursor"].as_u64().unwrap())
        .collect();
    assert_eq!(cursors, (1..=head).collect::<Vec<_>>());
    assert!(
        got.iter()
            .all(|f| f["type"] == "sync.done" || f.get("id").is_none())
    );
    assert!(!of(&got, "notification").is_empty() && of(&got, "message.update").is_empty());
    let again = two.ask(&mut iris, "sync", None, json!({"cursor": head}));
    assert_eq!(again.len(), 1);
}

#[test]
fn with_the_other_reading_only_what_was_not_seen_live_is_replayed() {
    let (mut iris, mut one) = start_with(Readings {
        replays_only_undelivered: true,
        ..Readings::default()
    });
    one.say(&mut iris, "plain");
    one.wait(&mut iris, 60_000);
    assert_eq!(
        one.ask(&mut iris, "sync", None, json!({"cursor": 0})).len(),
        1
    );
}

#[test]
fn too_many_sends_are_refused_for_a_while_and_planned_frames_always() {
    let (mut iris, mut one) = start();
    for _ in 0..60 {
        let got = one.say(&mut iris, "/status");
        assert!(of(&got, "error").is_empty());
    }
    let got = one.say(&mut iris, "/status");
    assert_eq!(got[0]["payload"]["code"], "rate_limited");
    one.wait(&mut iris, 10_001);
    assert!(of(&one.say(&mut iris, "/status"), "error").is_empty());
    for kind in [
        "agent.stop",
        "agent.steer",
        "commands.complete",
        "read.receipt",
        "nonsense",
    ] {
        assert_eq!(
            one.ask(&mut iris, kind, None, json!({}))[0]["payload"]["code"],
            "unsupported"
        );
    }
    assert!(
        one.ask(&mut iris, "fcm.register", None, json!({"fcm_token": "x"}))
            .is_empty()
    );
    assert_eq!(
        one.ask(&mut iris, "ping", None, json!({"ts": 5}))[0]["payload"],
        json!({"ts": 5})
    );
}

#[test]
fn a_restart_ends_what_was_being_said_or_leaves_it_open() {
    for loses_open_messages in [false, true] {
        let (mut iris, mut one) = start_with(Readings {
            loses_open_messages,
            ..Readings::default()
        });
        one.say(&mut iris, "restart");
        iris.advance(30_000);
        let (mut one, _) = enter(&mut iris, "one");
        let got = one.ask(&mut iris, "sync", None, json!({"cursor": 0}));
        let stops = of(&got, "message.stop");
        assert_eq!(stops.len(), usize::from(!loses_open_messages));
        if let Some(stop) = stops.first() {
            let text = stop["payload"]["final_text"].as_str().unwrap();
            assert!(text.ends_with("the rest of the work"));
        }
    }
}

#[test]
fn a_lost_state_has_a_lower_head_and_replays_nothing() {
    let (mut iris, mut one) = start();
    one.say(&mut iris, "tools");
    one.wait(&mut iris, 60_000);
    let head = iris.head;
    one.say(&mut iris, "amnesia");
    iris.advance(100_000);
    let (mut one, hello) = enter(&mut iris, "one");
    assert_eq!(hello[0]["payload"]["sync_cursor"], 0);
    let got = one.ask(&mut iris, "sync", None, json!({"cursor": head}));
    assert_eq!(got.len(), 1);
    assert_eq!(got[0]["payload"]["cursor"], 0);
}
