//! The Iris gateway against its schema: frames as literals.
#![allow(clippy::unwrap_used)]

use super::super::files::{File, sha256_hex};
use super::super::scenario::Library;
use super::*;

struct Device {
    id: ConnectionId,
    next: u64,
}

fn gateway(readings: Readings) -> Iris {
    Iris::new(Setup::default(), readings)
}

fn enter(iris: &mut Iris, name: &str) -> (Device, Vec<Value>) {
    let (id, out) = iris.connect("127.0.0.1");
    assert!(out.is_empty());
    let mut device = Device { id, next: 1 };
    let hello = json!({"token": "demo-secret", "device_id": name, "device_name": name,
        "caps": {"min_protocol": 1, "media": true, "push": "none"}});
    let got = device.ask(iris, "hello", None, hello);
    (device, got)
}

fn start() -> (Iris, Device) {
    start_with(Readings::default())
}

fn start_with(readings: Readings) -> (Iris, Device) {
    let mut iris = gateway(readings);
    let (device, _) = enter(&mut iris, "one");
    (iris, device)
}

fn frames(out: Vec<GatewayOutput>, to: ConnectionId) -> Vec<Value> {
    out.into_iter()
        .filter_map(|output| match output {
            GatewayOutput::Send { connection, frame } if connection == to => Some(
                frame
                    .as_text()
                    .map_or(json!({"type": "bytes", "size": frame.len()}), |text| {
                        serde_json::from_str(text).unwrap()
                    }),
            ),
            _ => None,
        })
        .collect()
}

impl Device {
    fn ask(
        &mut self,
        iris: &mut Iris,
        kind: &str,
        chat: Option<&str>,
        payload: Value,
    ) -> Vec<Value> {
        let out = self.ask_all(iris, kind, chat, payload);
        frames(out, self.id)
    }

    fn ask_all(
        &mut self,
        iris: &mut Iris,
        kind: &str,
        chat: Option<&str>,
        payload: Value,
    ) -> Vec<GatewayOutput> {
        let mut frame = json!({"v": 1, "id": self.next, "type": kind, "payload": payload});
        if let Some(chat) = chat {
            frame["chat_id"] = json!(chat);
        }
        self.next += 1;
        iris.frame(self.id, &Frame::text(frame.to_string()))
    }

    fn say(&mut self, iris: &mut Iris, text: &str) -> Vec<Value> {
        self.ask(iris, "message.send", Some("default"), json!({"text": text}))
    }

    fn wait(&self, iris: &mut Iris, until: u64) -> Vec<Value> {
        let mut got = Vec::new();
        while let Some(due) = iris.due().filter(|due| *due <= until) {
            got.extend(frames(iris.advance(due), self.id));
        }
        got.extend(frames(iris.advance(until), self.id));
        got
    }
}

fn of<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|f| f["type"] == kind).collect()
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = frames.iter().map(|f| f["type"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

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
fn channels_are_made_changed_and_deleted_for_everyone() {
    let (mut iris, mut one) = start();
    let (two, _) = enter(&mut iris, "two");
    let out = one.ask_all(
        &mut iris,
        "channel.create",
        None,
        json!({"name": "Research", "kind": "channel"}),
    );
    let made = frames(out.clone(), one.id).remove(0);
    let entry = made["payload"].clone();
    assert_eq!(
        (&made["type"], &made["id"]),
        (&json!("channel.created"), &json!(2))
    );
    assert_eq!(frames(out, two.id)[0]["payload"], entry);
    let chat = entry["chat_id"].as_str().unwrap().to_owned();
    let thread = one
        .ask(
            &mut iris,
            "channel.create",
            None,
            json!({"name": "Sub", "kind": "thread", "parent_chat_id": chat}),
        )
        .remove(0);
    let thread = thread["payload"]["chat_id"].as_str().unwrap().to_owned();
    let got = one.ask(
        &mut iris,
        "message.send",
        Some(&thread),
        json!({"text": "plain"}),
    );
    assert_eq!(
        (&got[0]["chat_id"], &got[0]["thread_id"]),
        (&json!(chat), &json!(thread))
    );
    for (kind, payload, field, value) in [
        (
            "channel.rename",
            json!({"name": "Deep research"}),
            "name",
            json!("Deep research"),
        ),
        (
            "channel.favorite",
            json!({"on": true}),
            "favorite",
            json!(true),
        ),
        (
            "channel.icon",
            json!({"icon": "aGk=", "color": "#112233"}),
            "color",
            json!("#112233"),
        ),
        (
            "channel.icon",
            json!({"icon": null, "color": null}),
            "icon",
            Value::Null,
        ),
        (
            "channel.set_automation",
            json!({"on": true}),
            "automation",
            json!(true),
        ),
        (
            "channel.set_automation",
            json!({"on": false}),
            "automation",
            Value::Null,
        ),
        ("channel.set_default", json!({}), "is_default", json!(true)),
    ] {
        let got = one.ask(&mut iris, kind, Some(&chat), payload);
        assert_eq!(got[0]["type"], "channel.renamed", "{kind}");
        assert_eq!(got[0]["payload"][field], value, "{kind}");
    }
    let refused = |iris: &mut Iris, one: &mut Device, kind: &str, chat: &str| {
        one.ask(iris, kind, Some(chat), json!({"on": true}))[0]["payload"]["code"].clone()
    };
    assert_eq!(
        refused(&mut iris, &mut one, "channel.delete", &chat),
        "unsupported"
    );
    assert_eq!(
        refused(&mut iris, &mut one, "channel.set_default", &thread),
        "unsupported"
    );
    assert_eq!(
        refused(&mut iris, &mut one, "channel.set_automation", &chat),
        "not_found"
    );
    one.ask(&mut iris, "channel.set_default", Some("default"), json!({}));
    let got = one.ask(&mut iris, "channel.delete", Some(&chat), json!({}));
    assert_eq!(kinds(&got), ["channel.deleted"]);
    assert_eq!(got[0]["payload"], json!({"chat_id": chat}));
    assert_eq!(
        one.ask(&mut iris, "history", Some(&thread), json!({}))[0]["payload"]["code"],
        "not_found"
    );
}

#[test]
fn a_message_to_the_default_channel_may_make_its_own_thread() {
    let (mut iris, mut one) = start();
    let payload = json!({"text": "show me the tools please now", "auto_thread": true});
    let got = one.ask(&mut iris, "message.send", Some("default"), payload);
    assert_eq!(kinds(&got), ["channel.created", "message", "read.receipt"]);
    assert_eq!(
        (
            &got[0]["payload"]["auto"],
            &got[0]["payload"]["parent_chat_id"]
        ),
        (&json!(true), &json!("default"))
    );
    assert_eq!(got[1]["thread_id"], got[0]["payload"]["chat_id"]);
    let got = one.wait(&mut iris, 2_000);
    let renamed = &of(&got, "channel.renamed")[0]["payload"];
    assert_eq!(
        (&renamed["name"], renamed.get("auto")),
        (&json!("The build that broke overnight"), None)
    );
    let got = one.ask(
        &mut iris,
        "message.send",
        Some("default"),
        json!({"text": "/status", "auto_thread": true}),
    );
    assert!(of(&got, "channel.created").is_empty());
}

#[test]
fn an_automation_channel_takes_nothing_and_reports_as_cron() {
    let (mut iris, mut one) = start();
    let nightly = iris.channel_by_key("nightly").unwrap().chat_id.clone();
    let got = one.ask(
        &mut iris,
        "message.send",
        Some(&nightly),
        json!({"text": "hi"}),
    );
    assert_eq!(got[0]["payload"]["code"], "unsupported");
    one.say(&mut iris, "cron");
    let got = one.wait(&mut iris, 60_000);
    let report = got.iter().find(|f| f["payload"]["role"] == "cron").unwrap();
    assert_eq!(report["chat_id"], nightly);
    assert_eq!(of(&got, "notification")[0]["payload"]["kind"], "cron");
    let page = one
        .ask(&mut iris, "history", Some(&nightly), json!({}))
        .remove(0);
    assert_eq!(page["payload"]["messages"][0]["role"], "assistant");
}

#[test]
fn history_pages_search_finds_and_deletion_leaves_nothing() {
    let (mut iris, mut one) = start();
    let chat = iris.channel_by_key("support").unwrap().chat_id.clone();
    let mut before = Value::Null;
    let mut all: Vec<Value> = Vec::new();
    loop {
        let mut ask = json!({"limit": 9_999});
        if before != Value::Null {
            ask["before_message_id"] = before.clone();
        }
        let page = one.ask(&mut iris, "history", Some(&chat), ask).remove(0);
        let messages = page["payload"]["messages"].as_array().unwrap().clone();
        before = page["payload"]["oldest_message_id"].clone();
        all.splice(0..0, messages);
        if page["payload"]["has_more"] == false {
            break;
        }
        assert_eq!(all.len() % 200, 0);
    }
    assert_eq!(all.len(), 1202);
    let unknown = one.ask(
        &mut iris,
        "history",
        Some(&chat),
        json!({"before_message_id": "no"}),
    );
    assert_eq!(unknown[0]["payload"]["code"], "not_found");
    let find = |iris: &mut Iris, one: &mut Device, query: &str| {
        let payload = json!({"query": query, "scope": "all"});
        one.ask(iris, "search", None, payload).remove(0)["payload"].clone()
    };
    let found = find(&mut iris, &mut one, "MAX_AGE");
    assert_eq!(
        (&found["query"], found["hits"].as_array().unwrap().len()),
        (&json!("MAX_AGE"), 20)
    );
    assert_eq!(found["hits"][0]["message_id"], all[1201]["message_id"]);
    let gone = all[1201]["message_id"].clone();
    let got = one.ask(
        &mut iris,
        "message.delete",
        Some(&chat),
        json!({"message_ids": [gone, "unknown"]}),
    );
    assert_eq!(got[0]["payload"]["message_ids"], json!([gone, "unknown"]));
    let found = find(&mut iris, &mut one, "max_age");
    assert_ne!(found["hits"][0]["message_id"], gone);
}

#[test]
fn a_file_is_offered_pulled_in_pieces_and_counted() {
    for (bytes, extra) in [
        (BytesLayout::Bare, 0),
        (BytesLayout::RequestId, 4),
        (BytesLayout::MediaId, 19),
    ] {
        let (mut iris, mut one) = start_with(Readings {
            bytes,
            ..Readings::default()
        });
        let size = 1_500_000_u64;
        let file = File::sample(&format!("pattern:{size}:core.bin")).unwrap();
        iris.keep("m_0123456789abcdef".into(), file);
        let ask = json!({"media_id": "m_0123456789abcdef"});
        assert!(one.ask(&mut iris, "media.pull", None, ask).is_empty());
        let one_call = frames(iris.advance(10), one.id);
        assert!(one_call.len() <= 8, "memory stays bounded");
        let mut got = one_call;
        got.extend(one.wait(&mut iris, 60_000));
        let sizes: Vec<u64> = of(&got, "bytes")
            .iter()
            .map(|f| f["size"].as_u64().unwrap())
            .collect();
        assert_eq!(sizes.iter().sum::<u64>(), size + sizes.len() as u64 * extra);
        assert_eq!(
            got.last().unwrap(),
            &json!({"v": 1, "id": 2, "type": "media.pull.end", "payload": {"ok": true}})
        );
    }
    let (mut iris, mut one) = start();
    one.say(&mut iris, "file");
    let got = one.wait(&mut iris, 20_000);
    let offers = of(&got, "media.offer");
    assert_eq!(offers.len(), 4);
    assert_eq!(offers[0]["payload"]["filename"], "latency.png");
    assert!(offers[0]["payload"]["message_id"].is_string());
    let (mut iris, mut one) = start();
    one.ask(&mut iris, "media.pull", None, json!({"media_id": "no"}));
    let got = one.ask(&mut iris, "media.pull", None, json!({"media_id": "no"}));
    assert_eq!(got[0]["payload"], json!({"ok": false}));
}

#[test]
fn an_upload_is_checked_and_hangs_on_the_message_that_names_it() {
    let (mut iris, mut one) = start();
    let bytes = b"# Notes\n".to_vec();
    let begin = json!({"media_ref": "up1", "kind": "document", "mime": "text/markdown", "size": 8, "filename": "a/notes.md"});
    assert!(
        one.ask(&mut iris, "media.upload.start", None, begin.clone())
            .is_empty()
    );
    iris.frame(one.id, &Frame::Binary(bytes.clone().into()));
    let end = json!({"media_ref": "up1", "sha256": sha256_hex(&bytes)});
    let got = one.ask(&mut iris, "media.upload.end", None, end);
    assert_eq!(got[0]["payload"], json!({"ok": true, "media_ref": "up1"}));
    let got = one.ask(
        &mut iris,
        "message.send",
        Some("default"),
        json!({"text": "upload", "media_refs": ["up1"]}),
    );
    assert_eq!(
        got[0]["payload"]["media"],
        json!([{"media_id": "up1", "kind": "document", "mime": "text/markdown", "size": 8, "filename": "notes.md"}])
    );
    one.ask(&mut iris, "media.upload.start", None, begin);
    iris.frame(one.id, &Frame::Binary(bytes.into()));
    let got = one.ask(
        &mut iris,
        "media.upload.end",
        None,
        json!({"media_ref": "up1", "sha256": "00"}),
    );
    assert_eq!(got[0]["payload"]["code"], "internal");
    let huge = json!({"media_ref": "up2", "size": 1_u64 << 40, "filename": "x"});
    let got = one.ask(&mut iris, "media.upload.start", None, huge);
    assert_eq!(got[0]["payload"]["code"], "media_too_large");
    let got = one.ask(
        &mut iris,
        "media.upload.end",
        None,
        json!({"media_ref": "up2", "sha256": ""}),
    );
    assert_eq!(got[0]["payload"]["ok"], false);
    let got = one.ask(
        &mut iris,
        "message.send",
        None,
        json!({"text": "x", "media_refs": ["no"]}),
    );
    assert_eq!(got[0]["payload"]["code"], "not_found");
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

#[test]
fn icons_of_the_presets_are_pictures() {
    let iris = gateway(Readings::default());
    let entry = iris
        .directory()
        .into_iter()
        .find(|c| c["name"] == "harbor 2.8")
        .unwrap();
    assert!(entry["icon"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    assert!(File::sample("sun.png").is_some());
}
