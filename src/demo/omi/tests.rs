//! The Omi runtime against its protocol file: lines as literals.
#![allow(clippy::unwrap_used)]

mod control;
mod journal;
mod runs;

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
