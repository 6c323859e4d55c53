//! What the runtime keeps: turns, their ends, and what it asks its host about them.

use super::*;

#[test]
fn a_killed_process_leaves_the_turn_open_until_it_is_repaired() {
    let (mut omi, id) = ready(Readings::default());
    query(&mut omi, id, 1, "slow");
    wait(&mut omi, 3_000);
    omi.disconnect(id);
    assert!(omi.due().is_none());
    let (id, _) = omi.connect("");
    say(
        &mut omi,
        id,
        json!({"type": "refresh_owner", "ownerId": "ada"}),
    );
    assert_eq!(
        resolve(&mut omi, id)["created"],
        false,
        "sessions outlive the process"
    );
    let list = ask(
        &mut omi,
        id,
        "l",
        on_task(json!({"type": "journal_list_turns"})),
    );
    assert_eq!(
        list[0]["turns"].as_array().unwrap().last().unwrap()["status"],
        "streaming"
    );
    let got = ask(
        &mut omi,
        id,
        "p",
        on_task(json!({"type": "journal_repair_turns", "turnIds": ["t-a1", "t-u1"]})),
    );
    assert_eq!(
        (&got[0]["operation"], &got[0]["turns"][0]["status"]),
        (&json!("repair"), &json!("failed"))
    );
    assert_eq!(got[0]["turns"].as_array().unwrap().len(), 1);
}

#[test]
fn clearing_needs_the_generation_and_starts_a_new_one() {
    let (mut omi, id) = ready(Readings::default());
    exchange(&mut omi, id, 1, "hi");
    let clear = |generation: u64| {
        on_task(
            json!({"type": "journal_clear_turns", "expectedGeneration": generation, "deleteBackend": false}),
        )
    };
    assert_eq!(ask(&mut omi, id, "c", clear(7))[0]["type"], "error");
    let got = ask(&mut omi, id, "c", clear(1));
    assert_eq!(
        (
            &got[0]["clearedCount"],
            &got[0]["conversationGeneration"],
            &got[0]["generationBaseTurnSeq"]
        ),
        (&json!(2), &json!(2), &json!(2))
    );
    let list = ask(
        &mut omi,
        id,
        "l",
        on_task(json!({"type": "journal_list_turns"})),
    );
    assert_eq!(
        (&list[0]["turns"], &list[0]["highWaterTurnSeq"]),
        (&json!([]), &json!(2))
    );
}

#[test]
fn what_a_host_may_not_write_is_refused() {
    let (mut omi, id) = ready(Readings::default());
    let turn = |extra: Value| {
        let mut turn = json!({"turnId": "x", "role": "user", "content": "x"});
        for (key, value) in extra.as_object().unwrap() {
            turn[key] = value.clone();
        }
        on_task(json!({"type": "journal_record_turn", "turn": turn}))
    };
    for bad in [
        json!({"delivery": {}}),
        json!({"producingRunId": "r"}),
        json!({"origin": "moon"}),
        json!({"metadataJson": "[]"}),
        json!({"contentBlocks": [{"type": "text"}]}),
    ] {
        assert_eq!(
            ask(&mut omi, id, "r", turn(bad.clone()))[0]["type"],
            "error",
            "{bad}"
        );
    }
    assert_eq!(
        ask(&mut omi, id, "r", turn(json!({})))[0]["operation"],
        "record"
    );
    assert_eq!(
        ask(&mut omi, id, "r", turn(json!({"content": "other"})))[0]["type"],
        "error"
    );
}

#[test]
fn a_backend_surface_asks_until_it_is_answered_and_a_local_one_never() {
    let (mut omi, id) = ready(Readings::default());
    exchange(&mut omi, id, 1, "hi");
    assert!(omi.due().is_none(), "a task chat stays on this machine");
    let turn = json!({"turnId": "b1", "role": "user", "status": "completed", "content": "hello"});
    let main = |mut line: Value| {
        line["surfaceKind"] = json!("main_chat");
        line["externalRefKind"] = json!("chat");
        line["externalRefId"] = json!("default");
        line
    };
    let got = ask(
        &mut omi,
        id,
        "r",
        main(json!({"type": "journal_record_turn", "turn": turn})),
    );
    let sync = of(&got, "journal_backend_sync")[0].clone();
    assert_eq!(
        (&sync["clientId"], &sync["sender"], &sync["attemptCount"]),
        (&json!("kernel-journal"), &json!("human"), &json!(1))
    );
    let got = wait(&mut omi, 30_000);
    assert_eq!(of(&got, "journal_backend_sync")[0]["attemptCount"], 2);
    let mut answer = json!({"type": "journal_backend_sync_result", "protocolVersion": 2, "ok": false, "errorCode": "backend_sync_http_4xx"});
    for key in [
        "requestId",
        "clientId",
        "ownerId",
        "turnId",
        "conversationId",
        "conversationGeneration",
        "deliveryGeneration",
        "payloadHash",
    ] {
        answer[key] = sync[key].clone();
    }
    answer["attemptCount"] = json!(1);
    say(&mut omi, id, answer.clone());
    assert!(omi.due().is_some(), "an old attempt is no answer");
    answer["attemptCount"] = json!(2);
    say(&mut omi, id, answer);
    assert!(omi.due().is_none(), "a final code parks the row");
    let got = ask(
        &mut omi,
        id,
        "l",
        main(json!({"type": "journal_list_turns"})),
    );
    let ask_for = of(&got, "journal_backend_reconcile")[0].clone();
    assert_eq!(ask_for["pageCursor"], Value::Null);
    let again = ask(
        &mut omi,
        id,
        "l",
        main(json!({"type": "journal_list_turns"})),
    );
    assert!(
        of(&again, "journal_backend_reconcile").is_empty(),
        "one at a time"
    );
}

#[test]
fn the_state_outlives_the_engine() {
    let (mut omi, id) = ready(Readings::default());
    exchange(&mut omi, id, 1, "hi");
    let state = omi.changed_state().unwrap();
    assert!(omi.changed_state().is_none());
    let mut next = Omi::new(Setup::default(), Readings::default(), "/a");
    assert!(next.restore(&serde_json::from_str(&state.to_string()).unwrap()));
    assert!(!next.restore(&json!({"version": 9})));
    let (id, _) = next.connect("");
    say(
        &mut next,
        id,
        json!({"type": "refresh_owner", "ownerId": "ada"}),
    );
    let list = ask(
        &mut next,
        id,
        "l",
        on_task(json!({"type": "journal_list_turns"})),
    );
    assert_eq!(list[0]["turns"].as_array().unwrap().len(), 2);
}
