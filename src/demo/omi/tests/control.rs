//! Sessions, control tools, and the first word of a conversation.

use super::*;

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
    let rows = sessions["sessions"].as_array().unwrap();
    assert!(
        rows.iter()
            .any(|row| row["session"]["title"] == "repo review" && row.get("latestRun").is_some())
    );
    assert_eq!(sessions["truncated"], false);
    let objective = json!({"objective": "count the tests"});
    let spawned = call(&mut omi, "spawn_agent", objective.clone());
    let id_of_run = json!({"runId": spawned["run"]["runId"]});
    let run = call(&mut omi, "get_agent_run", id_of_run.clone());
    assert_eq!(run["run"]["status"], "running");
    assert_eq!(run["session"]["title"], "Background: count the tests");
    // What is stopped stays stopped.
    let stopped = call(&mut omi, "cancel_agent_run", id_of_run.clone());
    assert_eq!(stopped["cancellation"]["accepted"], true);
    assert_eq!(stopped["run"]["status"], "cancelled");
    let again = call(&mut omi, "cancel_agent_run", id_of_run);
    assert_eq!(again["cancellation"]["accepted"], false);
    // Another one is left to itself, and asked a second thing.
    let spawned = call(&mut omi, "spawn_agent", objective);
    wait(&mut omi, 60_000);
    let id_of_run = json!({"runId": spawned["run"]["runId"]});
    let run = call(&mut omi, "get_agent_run", id_of_run);
    assert_eq!(run["run"]["finalText"], "Done: count the tests");
    let more = json!({"sessionId": spawned["session"]["sessionId"], "prompt": "and the benches"});
    let more = call(&mut omi, "send_agent_message", more);
    assert_eq!(more["text"], "Done: and the benches");
    // What waits is answered once, and grants no more than was asked.
    let queue = call(&mut omi, "list_desktop_action_queue", json!({}));
    assert_eq!(queue["actionQueue"][0]["subjectId"], "dsp_publish");
    let answer = |grant: Value| {
        json!({"dispatchId": "dsp_publish", "status": "resolved",
            "resolution": {"decision": "allow"}, "grant": grant})
    };
    let grant = json!({"runId": null, "capability": "external.write_send", "operation": "publish",
        "resourcePattern": "mirror:*", "effect": "allow", "source": "user",
        "expiresAtMs": omi.desk.wall() + 60_000});
    let tool = "resolve_desktop_dispatch";
    assert_eq!(call(&mut omi, tool, answer(grant.clone()))["ok"], false);
    let mut fitting = grant;
    fitting["resourcePattern"] = json!("mirror:harbor@2.8.0");
    let done = call(&mut omi, tool, answer(fitting.clone()));
    assert_eq!(done["dispatch"]["status"], "resolved");
    assert_eq!(done["grant"]["grantId"], "grant_dsp_publish");
    assert_eq!(call(&mut omi, tool, answer(fitting))["ok"], false);
    let odd = json!({"dispatchId": "dsp_branch", "status": "cancelled", "why": "x"});
    assert_eq!(call(&mut omi, tool, odd)["ok"], false);
    let off = json!({"dispatchId": "dsp_branch", "status": "cancelled"});
    assert_eq!(call(&mut omi, tool, off)["ok"], true);
    let queue = call(&mut omi, "list_desktop_action_queue", json!({}));
    assert_eq!(queue["actionQueue"][0]["kind"], "candidate_review");
    let nobody = json!({"sessionId": "ses_nobody", "prompt": "hello"});
    assert_eq!(call(&mut omi, "send_agent_message", nobody)["ok"], false);
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
