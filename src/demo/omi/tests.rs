//! The Omi runtime against its protocol file: lines as literals.
#![allow(clippy::unwrap_used)]

use super::super::scenario::Library;
use super::*;

fn start(readings: Readings) -> (Omi, ConnectionId, Vec<Value>) {
    let mut omi = Omi::new(Setup::default(), readings, "/artifacts/");
    let (id, out) = omi.connect("");
    let lines = lines(out);
    (omi, id, lines)
}

fn ready(readings: Readings) -> (Omi, ConnectionId) {
    let (mut omi, id, _) = start(readings);
    say(
        &mut omi,
        id,
        json!({"type": "refresh_token", "token": "t", "ownerId": "ada"}),
    );
    (omi, id)
}

fn lines(out: Vec<GatewayOutput>) -> Vec<Value> {
    out.into_iter()
        .filter_map(|output| match output {
            GatewayOutput::Send { frame, .. } => {
                serde_json::from_str(frame.as_text().unwrap()).ok()
            }
            _ => None,
        })
        .collect()
}

fn say(omi: &mut Omi, id: ConnectionId, line: Value) -> Vec<Value> {
    lines(omi.frame(id, &Frame::text(line.to_string())))
}

/// A request with its envelope.
fn ask(omi: &mut Omi, id: ConnectionId, request: &str, mut line: Value) -> Vec<Value> {
    line["protocolVersion"] = json!(2);
    line["requestId"] = json!(request);
    line["clientId"] = json!("tui-1");
    line["ownerId"] = json!("ada");
    say(omi, id, line)
}

fn on_task(mut line: Value) -> Value {
    line["surfaceKind"] = json!("task_chat");
    line["externalRefKind"] = json!("task");
    line["externalRefId"] = json!("chat-1");
    line
}

fn resolve(omi: &mut Omi, id: ConnectionId) -> Value {
    let adapter = omi.adapters()[0];
    let profile = json!({"adapterId": adapter, "modelProfile": null, "workingDirectory": "/work"});
    let line = on_task(
        json!({"type": "resolve_surface_session", "title": "t", "creationProfile": profile}),
    );
    ask(omi, id, "r-1", line).remove(0)
}

fn exchange(omi: &mut Omi, id: ConnectionId, n: u32, text: &str) -> Vec<Value> {
    let turn = |who: &str, role: &str, status: &str, content: &str| {
        json!({"turnId": format!("t-{who}{n}"), "role": role, "origin": "task_chat", "status": status,
            "content": content, "contentBlocks": [], "resources": [], "metadataJson": "{}", "createdAtMs": 1_790_000_000_000_u64 + u64::from(n)})
    };
    let turns = json!([
        turn("u", "user", "completed", text),
        turn("a", "assistant", "streaming", "")
    ]);
    ask(
        omi,
        id,
        &format!("x-{n}"),
        on_task(json!({"type": "journal_record_exchange", "turns": turns})),
    )
}

fn query(omi: &mut Omi, id: ConnectionId, n: u32, text: &str) -> Vec<Value> {
    let session = resolve(omi, id)["sessionId"].clone();
    exchange(omi, id, n, text);
    let line = json!({"type": "query", "sessionId": session, "surfaceKind": "task_chat",
        "producingTurnId": format!("t-a{n}"), "prompt": text, "mode": "act"});
    ask(omi, id, &format!("q-{n}"), line)
}

fn wait(omi: &mut Omi, until: u64) -> Vec<Value> {
    let mut got = Vec::new();
    while let Some(due) = omi.due().filter(|due| *due <= until) {
        got.extend(lines(omi.advance(due)));
    }
    got.extend(lines(omi.advance(until)));
    got
}

fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

fn text_of(lines: &[Value]) -> String {
    of(lines, "text_delta")
        .iter()
        .map(|l| l["text"].as_str().unwrap())
        .collect()
}

#[test]
fn the_first_line_is_init() {
    let (_, _, got) = start(Readings::default());
    assert_eq!(got.len(), 1);
    assert_eq!(
        (
            &got[0]["type"],
            &got[0]["sessionId"],
            &got[0]["protocolVersion"]
        ),
        (&json!("init"), &json!(""), &json!(2))
    );
    assert!(
        got[0]["runtimeAdapterIds"]
            .as_array()
            .unwrap()
            .contains(&json!("acp"))
    );
    let (_, _, got) = start(Readings {
        flavour: Flavour::Rust,
        ..Readings::default()
    });
    assert_eq!(
        (&got[0]["runtimeAdapterIds"], &got[0]["agentControlTools"]),
        (&json!(["rx4"]), &json!([]))
    );
}

#[test]
fn a_start_may_go_wrong_in_every_way_of_the_list() {
    let with = |start: Start| Readings {
        start,
        ..Readings::default()
    };
    let init = |got: &[Value]| of(got, "init").first().map(|l| (*l).clone());
    let (mut omi, _, got) = start(with(Start::Never));
    assert!(got.is_empty() && omi.due().is_none());
    omi.advance(100_000);
    let (mut omi, _, got) = start(with(Start::Late(20_000)));
    assert!(got.is_empty());
    assert!(init(&wait(&mut omi, 20_000)).is_some());
    assert_eq!(
        init(&start(with(Start::OtherVersion)).2).unwrap()["protocolVersion"],
        3
    );
    assert!(
        init(&start(with(Start::NoVersion)).2)
            .unwrap()
            .get("protocolVersion")
            .is_none()
    );
    assert!(init(&start(with(Start::Noise)).2).is_some());
    for (how, code) in [(Start::Error, 1), (Start::Exit, 3)] {
        let mut omi = Omi::new(Setup::default(), with(how), "/a");
        let (_, out) = omi.connect("");
        assert!(matches!(out.last(), Some(GatewayOutput::Close { code: c, .. }) if *c == code));
    }
    let mut omi = Omi::new(Setup::default(), with(Start::Flood), "/a");
    let (_, out) = omi.connect("");
    assert!(
        out.iter()
            .filter(|o| matches!(o, GatewayOutput::Log { .. }))
            .count()
            >= 5_000
    );
}

#[test]
fn nothing_is_served_before_an_owner_and_nothing_to_another_one() {
    for (flavour, first, other) in [
        (Flavour::TypeScript, "owner_uninitialized", "owner_mismatch"),
        (Flavour::Rust, "does not match", "does not match"),
    ] {
        let (mut omi, id, _) = start(Readings {
            flavour,
            ..Readings::default()
        });
        let list = || on_task(json!({"type": "journal_list_turns", "limit": 1}));
        let got = ask(&mut omi, id, "r", list());
        assert!(got[0]["message"].as_str().unwrap().contains(first));
        assert!(
            say(
                &mut omi,
                id,
                json!({"type": "refresh_owner", "ownerId": "bob"})
            )
            .is_empty()
        );
        let got = ask(&mut omi, id, "r", list());
        assert!(got[0]["message"].as_str().unwrap().contains(other));
    }
}

#[test]
fn a_session_is_made_once_with_its_profile() {
    let (mut omi, id) = ready(Readings::default());
    let first = resolve(&mut omi, id);
    assert_eq!(
        (&first["type"], &first["created"]),
        (&json!("surface_session_resolved"), &json!(true))
    );
    assert_eq!(
        first["profile"],
        json!({"profileGeneration": 1, "adapterId": "acp", "credentialScope": "local_user",
        "modelProfile": null, "workingDirectory": "/work", "executionRole": "coordinator"})
    );
    let second = resolve(&mut omi, id);
    assert_eq!(
        (&second["created"], &second["sessionId"]),
        (&json!(false), &first["sessionId"])
    );
    let bad = on_task(
        json!({"type": "resolve_surface_session", "creationProfile": {"adapterId": "no", "workingDirectory": "/"}}),
    );
    let mut bad = bad;
    bad["externalRefId"] = json!("other");
    assert!(
        ask(&mut omi, id, "r", bad)[0]["message"]
            .as_str()
            .unwrap()
            .starts_with("Adapter not registered")
    );
    let migrate = |generation: u64| {
        json!({"type": "migrate_session_execution_profile", "sessionId": first["sessionId"],
        "expectedProfileGeneration": generation, "adapterId": "hermes", "modelProfile": "m", "workingDirectory": "/w2", "reason": "user_requested"})
    };
    let got = ask(&mut omi, id, "m", migrate(1));
    assert_eq!(
        (&got[0]["type"], &got[0]["profile"]["profileGeneration"]),
        (&json!("session_execution_profile_migrated"), &json!(2))
    );
    assert_eq!(ask(&mut omi, id, "m", migrate(1))[0]["type"], "error");
}

#[test]
fn a_query_goes_from_exchange_to_terminal_turn() {
    let (mut omi, id) = ready(Readings::default());
    resolve(&mut omi, id);
    let got = exchange(&mut omi, id, 1, "tools");
    assert_eq!(
        (&got[0]["operation"], &got[0]["highWaterTurnSeq"]),
        (&json!("record_exchange"), &json!(2))
    );
    assert_eq!(of(&got, "journal_turn_changed").len(), 2);
    let again = exchange(&mut omi, id, 1, "tools");
    assert_eq!((again.len(), &again[0]["duplicate"]), (1, &json!(true)));
    assert!(query(&mut omi, id, 1, "tools").is_empty());
    let got = wait(&mut omi, 60_000);
    assert_eq!(
        (&got[0]["type"], &got[0]["phase"]),
        (&json!("turn_activity"), &json!("running"))
    );
    let result = got.last().unwrap();
    assert_eq!(
        (
            &result["type"],
            &result["terminalStatus"],
            &result["requestId"]
        ),
        (&json!("result"), &json!("succeeded"), &json!("q-1"))
    );
    assert_eq!(result["text"].as_str().unwrap(), text_of(&got));
    assert!(
        of(&got, "thinking_delta")
            .iter()
            .map(|l| l["text"].as_str().unwrap())
            .collect::<String>()
            .contains("lock file")
    );
    let tools = of(&got, "tool_activity");
    assert_eq!(tools[0]["name"], "Bash");
    assert_eq!(tools.iter().filter(|t| t["status"] == "started").count(), 6);
    assert_eq!(
        tools.iter().filter(|t| t["status"] == "completed").count(),
        6
    );
    assert!(
        of(&got, "tool_result_display")[0]["output"]
            .as_str()
            .unwrap()
            .contains("E0308")
    );
    let (run, attempt) = (result["runId"].clone(), result["attemptId"].clone());
    let end = on_task(
        json!({"type": "journal_terminalize_turn", "terminalization": {"turnId": "t-a1", "producingRunId": run,
        "producingAttemptId": attempt, "disposition": "accept", "content": "shown"}}),
    );
    let got = ask(&mut omi, id, "r-4", end);
    assert_eq!(
        (
            &got[0]["operation"],
            &got[0]["turn"]["status"],
            &got[0]["turn"]["content"]
        ),
        (&json!("update"), &json!("completed"), &json!("shown"))
    );
    let list = ask(
        &mut omi,
        id,
        "l",
        on_task(json!({"type": "journal_list_turns", "afterTurnSeq": 0})),
    );
    let turns = list[0]["turns"].as_array().unwrap();
    let ids: Vec<&str> = turns
        .iter()
        .map(|t| t["turnId"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        ["t-u1", "t-a1", "t-a1", "t-a1"],
        "revisions, with the silent one of the binding"
    );
}

#[test]
fn todos_are_the_input_of_a_tool() {
    let (mut omi, id) = ready(Readings::default());
    query(&mut omi, id, 1, "todo");
    let got = wait(&mut omi, 60_000);
    let todos: Vec<&Value> = of(&got, "tool_activity")
        .into_iter()
        .filter(|t| t["name"] == "TodoWrite" && t["status"] == "started")
        .collect();
    assert_eq!(todos.len(), 5);
    assert_eq!(todos[4]["input"]["todos"].as_array().unwrap().len(), 6);
}

#[test]
fn a_host_tool_waits_for_an_exact_echo() {
    let (mut omi, id) = ready(Readings::default());
    query(&mut omi, id, 1, "host");
    let got = wait(&mut omi, 10_000);
    let call = of(&got, "authorized_tool_execution")[0].clone();
    assert!(call.get("requestId").is_none() && call["capabilityRef"].is_string());
    assert_eq!(
        (
            &call["toolName"],
            &call["effectClass"],
            &call["retryPolicy"]
        ),
        (
            &json!("search_notes"),
            &json!("read_only"),
            &json!("safe_retry")
        )
    );
    let mut answer = json!({"type": "authorized_tool_execution_result", "protocolVersion": 2, "outcome": "succeeded", "result": "Ship on Thursdays."});
    for key in [
        "invocationId",
        "ownerId",
        "sessionId",
        "runId",
        "attemptId",
        "profileGeneration",
        "manifestVersion",
        "manifestDigest",
        "daemonBootEpoch",
        "executionGeneration",
        "inputHash",
    ] {
        answer[key] = call[key].clone();
    }
    let mut wrong = answer.clone();
    wrong["inputHash"] = json!("sha256:0");
    let out = omi.frame(id, &Frame::text(wrong.to_string()));
    assert!(matches!(out.as_slice(), [GatewayOutput::Log { .. }]));
    say(&mut omi, id, answer);
    let got = wait(&mut omi, 20_000);
    assert!(text_of(&got).contains("Found: Ship on Thursdays."));
    let second = of(&got, "authorized_tool_execution")[0];
    assert_eq!(second["retryPolicy"], "never_auto_retry");
    let got = wait(&mut omi, 200_000);
    assert!(
        of(&got, "tool_activity")
            .iter()
            .any(|t| t["status"] == "failed")
    );
    assert_eq!(got.last().unwrap()["terminalStatus"], "succeeded");
}

#[test]
fn an_interrupt_goes_as_the_reading_says() {
    for cancel in [
        Cancel::AckFirst,
        Cancel::ResultFirst,
        Cancel::RefusesFirst,
        Cancel::NoAck,
        Cancel::PartialText,
    ] {
        let (mut omi, id) = ready(Readings {
            cancel,
            ..Readings::default()
        });
        query(&mut omi, id, 1, "slow");
        wait(&mut omi, 2_000);
        let stop = || json!({"type": "interrupt"});
        let mut got = ask(&mut omi, id, "q-1", stop());
        if cancel == Cancel::RefusesFirst {
            assert_eq!((got.len(), &got[0]["accepted"]), (1, &json!(false)));
            assert!(!text_of(&wait(&mut omi, 3_000)).is_empty());
            got = ask(&mut omi, id, "q-1", stop());
        }
        let kinds: Vec<&str> = got
            .iter()
            .map(|l| l["type"].as_str().unwrap())
            .filter(|kind| *kind != "tool_activity")
            .collect();
        match cancel {
            Cancel::ResultFirst => assert_eq!(kinds, ["result", "cancel_ack"]),
            Cancel::NoAck => assert_eq!(kinds, ["result"]),
            _ => assert_eq!(kinds, ["cancel_ack", "result"]),
        }
        let result = of(&got, "result")[0];
        assert_eq!(result["terminalStatus"], "cancelled");
        assert_eq!(result["text"] == "", cancel != Cancel::PartialText);
        assert_eq!(ask(&mut omi, id, "q-1", stop())[0]["accepted"], false);
        assert!(omi.due().is_none());
    }
}

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
fn a_cut_is_a_crash_with_words_on_standard_error() {
    let (mut omi, id) = ready(Readings::default());
    query(&mut omi, id, 1, "cut");
    let out = omi.advance(60_000);
    assert!(out.iter().any(
        |o| matches!(o, GatewayOutput::Log { line, .. } if line.contains("heap out of memory"))
    ));
    assert!(matches!(
        out.last(),
        Some(GatewayOutput::Close { code: 134, .. })
    ));
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
fn newer_runtimes_ask_the_person() {
    let (mut omi, id) = ready(Readings {
        asks_the_host: true,
        ..Readings::default()
    });
    query(&mut omi, id, 1, "approve");
    let got = wait(&mut omi, 20_000);
    let asked = of(&got, "elicitation_pending")[0].clone();
    assert_eq!(
        asked["options"][3],
        json!({"optionId": "deny", "label": "Deny", "effect": "reject_once"})
    );
    assert!(asked["subject"].as_str().unwrap().contains("rm -rf"));
    let answer = json!({"type": "resolve_elicitation", "ownerId": "ada", "dispatchId": asked["dispatchId"], "decision": "answer", "optionId": "deny"});
    assert_eq!(
        ask(&mut omi, id, "e", answer.clone())[0]["type"],
        "elicitation_resolved"
    );
    assert_eq!(ask(&mut omi, id, "e", answer)[0]["type"], "error");
    let got = wait(&mut omi, 30_000);
    assert!(text_of(&got).contains("I leave the old releases alone"));
}

#[test]
fn files_are_artifacts_that_stand_where_they_are_said_to_be() {
    let (mut omi, id) = ready(Readings::default());
    query(&mut omi, id, 1, "file");
    let got = wait(&mut omi, 60_000);
    let artifacts = got.last().unwrap()["artifacts"].clone();
    assert_eq!(artifacts.as_array().unwrap().len(), 4);
    let files = omi.take_files();
    assert_eq!(artifacts[0]["uri"], format!("file://{}", files[0].0));
    assert!(files[0].0.starts_with("/artifacts/run_") && files[0].0.ends_with("/latency.png"));
    assert_eq!(artifacts[0]["sizeBytes"], files[0].1.len());
}

#[test]
fn the_rust_flavour_says_less_and_fails_twice() {
    let rust = || Readings {
        flavour: Flavour::Rust,
        ..Readings::default()
    };
    let (mut omi, id, _) = start(rust());
    say(
        &mut omi,
        id,
        json!({"type": "refresh_owner", "ownerId": "ada"}),
    );
    let got = query(&mut omi, id, 1, "plain");
    assert_eq!(got[0]["failure"]["failureCode"], "provider_setup_needed");
    say(
        &mut omi,
        id,
        json!({"type": "refresh_token", "token": "t", "ownerId": "ada"}),
    );
    query(&mut omi, id, 1, "tools");
    let got = wait(&mut omi, 60_000);
    assert!(
        got.iter()
            .all(|l| l["type"] == "text_delta" || l["type"] == "result")
    );
    let delta = of(&got, "text_delta")[0];
    assert!(delta.get("runId").is_none() && delta["requestId"] == "q-1");
    assert_eq!(got.last().unwrap()["terminalStatus"], "succeeded");
    query(&mut omi, id, 2, "fail");
    let got = wait(&mut omi, 120_000);
    assert_eq!((of(&got, "error").len(), of(&got, "result").len()), (2, 0));
    assert_eq!(
        ask(&mut omi, id, "s", json!({"type": "stop"}))[0]["type"],
        "cancel_ack"
    );
    assert!(ask(&mut omi, id, "w", json!({"type": "warmup"})).is_empty());
    let long = "x".repeat(RUST_LINE + 1);
    let got = lines(omi.frame(id, &Frame::text(long)));
    assert!(
        got[0]["message"]
            .as_str()
            .unwrap()
            .contains("exceeds maximum size")
    );
    let (mut omi, id) = ready(Readings::default());
    let out = omi.frame(id, &Frame::text(r#"{"type":"stop"}"#));
    assert!(matches!(
        out.as_slice(),
        [GatewayOutput::Close { code: 0, .. }]
    ));
}

#[test]
fn unknown_query_fields_are_named_and_queries_of_a_session_wait_for_each_other() {
    let (mut omi, id) = ready(Readings {
        refuses_surface_kind: true,
        ..Readings::default()
    });
    let got = query(&mut omi, id, 1, "plain");
    assert_eq!(
        got[0]["message"],
        "query_wire_field_not_allowed:surfaceKind"
    );
    let (mut omi, id) = ready(Readings::default());
    query(&mut omi, id, 1, "plain");
    query(&mut omi, id, 2, "plain");
    let got = wait(&mut omi, 60_000);
    let ends: Vec<&Value> = of(&got, "result")
        .into_iter()
        .map(|l| &l["requestId"])
        .collect();
    assert_eq!(ends, [&json!("q-1"), &json!("q-2")]);
    let first_of_second = got
        .iter()
        .position(|l| l["type"] == "text_delta" && l["requestId"] == "q-2")
        .unwrap();
    let end_of_first = got.iter().position(|l| l["type"] == "result").unwrap();
    assert!(end_of_first < first_of_second);
}

#[test]
fn other_readings_of_the_text_can_be_played() {
    let run = |readings: Readings| {
        let (mut omi, id) = ready(readings);
        query(&mut omi, id, 1, "plain");
        wait(&mut omi, 60_000)
    };
    let got = run(Readings {
        repeats_text: true,
        ..Readings::default()
    });
    let last = of(&got, "text_delta").last().unwrap()["text"].clone();
    assert_eq!(last, got.last().unwrap()["text"]);
    let got = run(Readings {
        two_attempts: true,
        ..Readings::default()
    });
    let mut attempts: Vec<&Value> = of(&got, "text_delta")
        .into_iter()
        .map(|l| &l["attemptId"])
        .collect();
    attempts.dedup();
    assert_eq!(attempts.len(), 2);
    let second: String = of(&got, "text_delta")
        .iter()
        .filter(|l| l["attemptId"] == *attempts[1])
        .map(|l| l["text"].as_str().unwrap())
        .collect();
    assert_eq!(json!(second), got.last().unwrap()["text"]);
    assert_eq!(
        run(Readings {
            result_text: ResultText::Empty,
            ..Readings::default()
        })
        .last()
        .unwrap()["text"],
        ""
    );
    assert_eq!(
        of(
            &run(Readings {
                oddity: Oddity::TwoResults,
                ..Readings::default()
            }),
            "result"
        )
        .len(),
        2
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

#[test]
fn control_tools_answer_in_a_string() {
    let (mut omi, id) = ready(Readings::default());
    let call = |omi: &mut Omi, name: &str, input: Value| -> Value {
        let got = ask(
            omi,
            id,
            "d",
            json!({"type": "direct_control_tool", "name": name, "input": input}),
        );
        assert_eq!(got[0]["type"], "control_tool_result");
        serde_json::from_str(got[0]["result"].as_str().unwrap()).unwrap()
    };
    let sessions = call(&mut omi, "list_agent_sessions", json!({}));
    assert!(
        sessions["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|s| s["title"] == "repo review")
    );
    let spawned = call(
        &mut omi,
        "spawn_agent",
        json!({"objective": "count the tests"}),
    );
    let run = call(
        &mut omi,
        "get_agent_run",
        json!({"runId": spawned["runId"]}),
    );
    assert_eq!(run["run"]["finalText"], "Done: count the tests");
    assert_eq!(call(&mut omi, "nonsense", json!({}))["ok"], false);
    let got = ask(
        &mut omi,
        id,
        "k",
        json!({"type": "control_tool", "name": "x", "input": {}}),
    );
    assert!(
        got[0]["result"]
            .as_str()
            .unwrap()
            .contains("legacy_control_tool_removed")
    );
    let got = ask(
        &mut omi,
        id,
        "p",
        json!({"type": "append_chat_first_blocks", "blocks": []}),
    );
    assert_eq!(got[0]["failure"]["failureCode"], "policy_denied");
}

#[test]
fn the_first_conversation_is_greeted_where_people_try_things_out() {
    let (mut omi, id) = ready(Readings::showroom());
    resolve(&mut omi, id);
    let list = ask(
        &mut omi,
        id,
        "l",
        on_task(json!({"type": "journal_list_turns"})),
    );
    assert!(
        list[0]["turns"][0]["content"]
            .as_str()
            .unwrap()
            .contains("`tools`")
    );
}

#[test]
fn every_scenario_comes_to_its_end() {
    // One runtime plays them all; a crash is followed by a new start.
    for readings in [
        Readings::default(),
        Readings::showroom(),
        Readings {
            flavour: Flavour::Rust,
            ..Readings::default()
        },
    ] {
        let (mut omi, mut id) = ready(readings);
        let words: Vec<String> = Library::shared()
            .scenarios()
            .iter()
            .map(|s| s.word.clone())
            .collect();
        for (n, word) in (1..).zip(&words) {
            query(&mut omi, id, n, word);
            wait(&mut omi, u64::from(n) * 20_000_000);
            assert_eq!(omi.due(), None, "{word} leaves nothing to wait for");
            if omi.process.is_none() {
                id = omi.connect("").0;
                let owner = json!({"type": "refresh_token", "token": "t", "ownerId": "ada"});
                say(&mut omi, id, owner);
            }
        }
    }
}

#[tokio::test]
async fn the_process_speaks_lines_and_goes_when_its_input_ends() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (mut to_child, input) = tokio::io::duplex(1 << 20);
    let (output, mut from_child) = tokio::io::duplex(1 << 20);
    let options = RuntimeOptions {
        setup: Setup::default(),
        readings: Readings::default(),
        state: None,
        artifacts: "/nowhere".into(),
    };
    let child = tokio::spawn(runtime(input, output, options));
    to_child
        .write_all(b"{\"type\":\"refresh_owner\",\"ownerId\":\"ada\"}\r\n\nnonsense\n")
        .await
        .unwrap();
    to_child.write_all(b"{\"type\":\"direct_control_tool\",\"requestId\":\"r\",\"clientId\":\"c\",\"ownerId\":\"ada\",\"name\":\"get_desktop_open_loops\",\"input\":{}}\n").await.unwrap();
    drop(to_child);
    assert_eq!(child.await.unwrap().unwrap(), 0);
    let mut text = String::new();
    from_child.read_to_string(&mut text).await.unwrap();
    let kinds: Vec<String> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(kinds[0], "init");
    assert_eq!(kinds.last().unwrap(), "control_tool_result");
}
