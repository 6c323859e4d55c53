//! Channels, threads, icons.

use super::*;

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
