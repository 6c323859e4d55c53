//! History, search, files.

use super::*;

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
