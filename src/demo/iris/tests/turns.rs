//! Turns, decisions, pickers, to-dos.

use super::*;

#[test]
fn a_turn_is_told_from_the_echo_to_the_last_typing_off() {
    let (mut iris, mut one) = start();
    let got = one.say(&mut iris, "tools");
    assert_eq!(kinds(&got), ["message", "read.receipt"]);
    let user = got[0]["payload"]["message_id"].clone();
    assert_eq!(
        (&got[0]["id"], &got[0]["payload"]["role"]),
        (&json!(2), &json!("user"))
    );
    assert_eq!(
        got[1],
        json!({"v": 1, "id": 2, "type": "read.receipt", "chat_id": "default", "payload": {"message_id": user}})
    );
    let got = one.wait(&mut iris, 60_000);
    assert_eq!(
        got[0],
        json!({"v": 1, "type": "typing", "chat_id": "default", "payload": {"on": true}})
    );
    assert_eq!(got.last().unwrap()["payload"]["on"], false);
    let starts = of(&got, "tool.start");
    let indexes: Vec<u64> = starts
        .iter()
        .map(|f| f["payload"]["index"].as_u64().unwrap())
        .collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
    assert_eq!(starts[0]["payload"]["emoji"], "💻");
    assert_eq!(of(&got, "tool.end").len(), 6);
    assert_eq!(of(&got, "commentary").len(), 1);
    let stops = of(&got, "message.stop");
    assert_eq!(stops.len(), 2);
    let first = &stops[0]["payload"];
    assert!(first["reasoning"].as_str().unwrap().contains("lock file"));
    assert_eq!(first["runtime"]["cwd"], "~/src/harbor");
    assert!(
        first["final_text"]
            .as_str()
            .unwrap()
            .starts_with("I look at")
    );
    let updates = of(&got, "message.update");
    assert!(updates.windows(2).all(|pair| {
        let text = |f: &Value| f["payload"]["text"].as_str().unwrap().to_owned();
        pair[0]["payload"]["message_id"] != pair[1]["payload"]["message_id"]
            || text(pair[1]).starts_with(&text(pair[0]))
    }));
}

#[test]
fn type_and_message_id_stand_before_the_text() {
    let (mut iris, mut one) = start();
    one.say(&mut iris, "plain");
    let out = iris.advance(1_500);
    let update = out
        .iter()
        .find_map(|o| match o {
            GatewayOutput::Send { frame, .. } => {
                frame.as_text().filter(|t| t.contains("message.update"))
            }
            _ => None,
        })
        .unwrap();
    assert!(
        update.starts_with(
            r#"{"v":1,"type":"message.update","chat_id":"default","payload":{"message_id":"#
        ),
        "{update}"
    );
}

#[test]
fn the_own_message_comes_back_as_the_reading_says() {
    for (echo, own, with_id, other) in [
        (Echo::AllAndIdForSender, 1, true, 1),
        (Echo::AllWithoutId, 1, false, 1),
        (Echo::OthersOnly, 0, false, 1),
        (Echo::Nobody, 0, false, 0),
    ] {
        let (mut iris, mut one) = start_with(Readings {
            echo,
            ..Readings::default()
        });
        let (two, _) = enter(&mut iris, "two");
        let out = one.ask_all(
            &mut iris,
            "message.send",
            Some("default"),
            json!({"text": "hi"}),
        );
        let mine = frames(out.clone(), one.id);
        let theirs = frames(out, two.id);
        assert_eq!(of(&mine, "message").len(), own);
        assert_eq!(
            of(&mine, "message").iter().any(|f| f.get("id").is_some()),
            with_id
        );
        assert_eq!(of(&theirs, "message").len(), other);
        assert!(theirs.iter().all(|f| f.get("id").is_none()));
        assert_eq!(of(&theirs, "read.receipt").len(), 0);
    }
}

#[test]
fn a_guarded_command_is_approved_by_a_reply() {
    let (mut iris, mut one) = start();
    one.say(&mut iris, "approve");
    let got = one.wait(&mut iris, 10_000);
    let note = &of(&got, "notification")[0]["payload"];
    assert_eq!(
        (&note["kind"], &note["title"]),
        (&json!("approval"), &json!("Approval needed"))
    );
    let system = *of(&got, "message").last().unwrap();
    assert_eq!(
        (&system["payload"]["role"], &system["payload"]["text"]),
        (&json!("system"), &note["body"])
    );
    assert!(note["body"].as_str().unwrap().contains("`/approve always`"));
    // An ordinary message is no answer; it waits in line.
    one.say(&mut iris, "plain");
    let got = one.say(&mut iris, "/deny use the mirror");
    assert!(of(&got, "message").iter().any(|f| f["payload"]["text"]
        == "❌ Command denied. Reason relayed to the agent: \"use the mirror\""));
    let got = one.wait(&mut iris, 15_000);
    let end = &of(&got, "tool.end")[0]["payload"];
    assert_eq!(end["ok"], false);
    assert!(
        end["output_preview"]
            .as_str()
            .unwrap()
            .contains("use the mirror")
    );
    let got = one.say(&mut iris, "/approve session");
    assert!(got.iter().any(|f| {
        f["payload"]["text"]
            .as_str()
            .is_some_and(|t| t.starts_with('✅'))
    }));
    let got = one.wait(&mut iris, 60_000);
    let last = of(&got, "message.stop").last().unwrap()["payload"]["final_text"].clone();
    assert!(
        last.as_str().unwrap().contains("scripted agent"),
        "the waiting message had its turn"
    );
}

#[test]
fn a_question_is_answered_by_number_and_a_turn_stopped_by_a_command() {
    let (mut iris, mut one) = start();
    one.say(&mut iris, "clarify");
    let got = one.wait(&mut iris, 5_000);
    let body = of(&got, "notification")[0]["payload"]["body"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(body.contains("  1. canada.json (numbers)\n"), "{body}");
    one.say(&mut iris, "2");
    let got = one.wait(&mut iris, 10_000);
    assert!(
        of(&got, "tool.end")[0]["payload"]["output_preview"]
            .as_str()
            .unwrap()
            .contains("twitter.json")
    );
    let got = one.say(&mut iris, "/stop");
    assert!(
        got.iter()
            .any(|f| f["type"] == "typing" && f["payload"]["on"] == false)
    );
    assert!(one.wait(&mut iris, 100_000).is_empty());
}

#[test]
fn a_picker_is_parked_answered_once_and_dead_after_a_restart() {
    let (mut iris, mut one) = start();
    let got = one.say(&mut iris, "/reasoning");
    let picker = of(&got, "picker.choice")[0]["payload"].clone();
    assert_eq!(
        picker["choices"][3],
        json!({"value": "medium", "label": "medium", "is_current": true})
    );
    let select = json!({"picker_id": picker["picker_id"], "value": "high"});
    let got = one.ask(&mut iris, "picker.select", Some("default"), select.clone());
    assert!(
        got[0]["payload"]["text"]
            .as_str()
            .unwrap()
            .contains("`high`")
    );
    assert!(
        one.ask(&mut iris, "picker.select", Some("default"), select)
            .is_empty()
    );
    let got = one.say(&mut iris, "/fast");
    let dead = of(&got, "picker.choice")[0]["payload"]["picker_id"].clone();
    one.say(&mut iris, "/restart");
    iris.advance(10_000);
    let (mut one, _) = enter(&mut iris, "one");
    assert!(
        one.ask(
            &mut iris,
            "picker.select",
            None,
            json!({"picker_id": dead, "value": "fast"})
        )
        .is_empty()
    );
}

#[test]
fn todos_are_told_whole_and_again_to_who_comes_later() {
    let (mut iris, mut one) = start();
    one.say(&mut iris, "todo");
    let got = one.wait(&mut iris, 60_000);
    let last = of(&got, "todo.update").last().unwrap()["payload"].clone();
    assert_eq!(last["todos"].as_array().unwrap().len(), 6);
    assert_eq!(last["todos"][3]["status"], "cancelled");
    let (_, hello) = enter(&mut iris, "two");
    assert_eq!(of(&hello, "todo.update")[0]["payload"], last);
}

#[test]
fn every_scenario_comes_to_its_end() {
    let words: Vec<String> = Library::embedded()
        .scenarios()
        .iter()
        .map(|s| s.word.clone())
        .collect();
    for word in words {
        let (mut iris, mut one) = start();
        one.say(&mut iris, &word);
        iris.advance(20_000_000);
        assert!(iris.lanes.values().all(|lane| !lane.is_busy()), "{word}");
        assert_eq!(iris.due(), None, "{word} leaves nothing to wait for");
        let (mut one, _) = enter(&mut iris, "one");
        let got = one.ask(&mut iris, "sync", None, json!({"cursor": 0}));
        assert_eq!(got.last().unwrap()["type"], "sync.done", "{word}");
    }
}
