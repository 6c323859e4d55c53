//! How runs go and end, in both flavours and in every reading.

use super::*;

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
