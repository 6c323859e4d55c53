//! Frames and connections that are not what they should be.

use super::server::{Pheby, iris};
use super::support::served::command;
use super::{Inert, at, end};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;

#[test]
fn s_46_odd_json_costs_no_connection_and_no_message() {
    let home = tempfile::tempdir().unwrap();
    let server = Pheby::default().start(BTreeMap::new());
    let mut pty = at(home.path(), "pheby", &server, 60);
    pty.wait_for("Here I am.");
    let complete = |id: &str, text: &str| {
        format!(
            r#"{{"type":"message.complete","conversation_id":"c","message_id":"{id}","text":"{text}"}}"#
        )
    };
    for odd in [
        "",
        "null",
        "[]",
        "{",
        "not json",
        r#"{"type":7}"#,
        r#"{"type":"message.complete","conversation_id":null,"message_id":null,"text":null}"#,
        r#"{"type":"tool.event","conversation_id":"c","tool_call_id":"t","tool_name":null,"status":"completed","duration_ms":1e400}"#,
        r#"{"type":"tool.event","conversation_id":"c","tool_call_id":"t","duration_ms":NaN}"#,
        r#"{"type":"agent.telepathy","thought":"\u001b[2J"}"#,
        r#"{"type":"tool.event","conversation_id":"c","tool_call_id":"u","tool_name":"x","status":"completed","duration_ms":99999999999999999999999999}"#,
    ] {
        server.say_text(odd);
    }
    server.say_text(&complete("d1", r"lone \ud83d surrogate"));
    server.say_text(&format!(
        "\u{feff}{}",
        complete("d2", "after a mark of byte order")
    ));
    server.say_text(
        r#"{"type":"message.complete","conversation_id":"c","message_id":"d3","text":"first","text":"the last of two keys","new_field":{"deep":[1]}}"#,
    );
    server.say_text(&complete("d4", "The end of it."));
    let screen = pty.wait_for("The end of it.");
    for words in ["surrogate", "the last of two keys", "Here I am.", "online"] {
        assert!(screen.contains(words), "{words:?}:\n{screen}");
    }
    assert!(screen.contains("after a mark of byte order"), "{screen}");
    assert_eq!(server.all("hello").len(), 1, "it was connected once");
    pty.raw().assert_inert(120, 60);
    end(&mut pty);
}

#[test]
fn s_47_bytes_that_nobody_asked_for_are_left_out() {
    let home = tempfile::tempdir().unwrap();
    let server = iris("Home");
    let mut pty = at(home.path(), "iris", &server, 40);
    pty.wait_for("Here I am.");
    for bytes in [
        &b""[..],
        b"\x1b[2J",
        &[0xff; 100_000],
        b"{\"v\":1,\"type\":\"message\"}",
    ] {
        server.say_bytes(bytes);
    }
    server.say(&json!({"v": 1, "type": "message", "chat_id": "d", "payload":
        {"message_id": "m2", "role": "assistant", "text": "Still here.", "ts": 1_767_225_700_000_u64}}));
    let screen = pty.wait_for("Still here.");
    assert!(screen.contains("online"), "{screen}");
    assert_eq!(server.all("hello").len(), 1, "it was connected once");
    pty.raw().assert_inert(120, 40);
    end(&mut pty);
}

/// What `account add` says of an address, with a secret that must not get there.
fn added(url: &str) -> (bool, String) {
    let home = tempfile::tempdir().unwrap();
    let output = command(
        home.path(),
        &["account", "add", "pheby", "here", url, "--no-keyring"],
    )
    .env("TRIALOGUE_SECRET_HERE", "open sesame")
    .output()
    .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), text)
}

#[test]
fn s_44_no_secret_goes_where_nobody_proved_who_they_are() {
    // A name that is far away, without TLS.
    let (is_added, words) = added("ws://gateway.example/ws");
    assert!(!is_added && words.contains("wss://"), "{words}");

    // A certificate that nobody vouches for.
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = rustls::Stream::new(&mut connection, &mut socket);
        let mut heard = Vec::new();
        // Ends with an error: the other side does not go on.
        let _ = std::io::Read::read_to_end(&mut stream, &mut heard);
        heard
    });
    let (is_added, words) = added(&format!("wss://localhost:{port}/ws"));
    assert!(!is_added && words.contains("certificate"), "{words}");
    assert_eq!(server.join().unwrap(), b"", "something was said to it");
}
