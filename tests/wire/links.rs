//! Links over WebSocket and to a child process: made, refused, lost, flooded.

use super::rig::{DEADLINE, Rig, Server, Told, link_state, notice, quick, receive, send, target};
use futures_util::{SinkExt, StreamExt};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use trialogue::domain::{LinkState, Secret};
use trialogue::link::{ChildSpec, CloseReason, Frame, LinkFailure};
use trialogue::protocol::{Output, Retry};
use trialogue::runtime::session::{Place, SessionEvent, SessionInput};
use trialogue::transport::dial::{Limits, Target};

fn kind_of(reason: &CloseReason) -> LinkFailure {
    match reason {
        CloseReason::Failed { kind, .. } => *kind,
        other => panic!("instead of a failure: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_go_both_ways_and_a_lost_link_is_made_anew() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let mut socket = server.socket().await;
    assert_eq!(rig.told().await, Told::Up(1));
    let first = rig.event().await;
    assert_eq!(link_state(&first), Some(LinkState::Connecting));

    rig.order([Output::Frame(Frame::text("from here"))]);
    assert_eq!(receive(&mut socket).await, "from here");
    send(&mut socket, "from there").await;
    assert_eq!(rig.told().await, Told::Frame("from there".into()));

    let close = CloseFrame {
        code: CloseCode::Restart,
        reason: "new version".into(),
    };
    socket.close(Some(close)).await.unwrap();
    let reason = rig.down().await;
    assert_eq!(
        reason,
        CloseReason::Peer {
            code: Some(1012),
            reason: "new version".into()
        }
    );
    let words = rig.waits().await;
    assert!(words.contains("new version"), "{words}");

    // It comes back by itself, with the next generation.
    let _socket = server.socket().await;
    assert_eq!(rig.told().await, Told::Up(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_before_the_end_is_told_before_the_end() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let mut socket = server.socket().await;
    for number in 0..200 {
        send(&mut socket, format!("line {number}")).await;
    }
    socket.close(None).await.unwrap();
    assert_eq!(rig.told().await, Told::Up(1));
    for number in 0..200 {
        assert_eq!(rig.told().await, Told::Frame(format!("line {number}")));
    }
    assert!(matches!(rig.told().await, Told::Down(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listens() {
    let port = Server::start().await.port;
    let mut rig = Rig::connected(target(port));
    assert_eq!(kind_of(&rig.down().await), LinkFailure::ConnectionRefused);
    let words = rig.waits().await;
    assert!(words.contains("Nothing listens"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_does_not_exist_is_said() {
    let mut rig = Rig::connected(Target {
        url: "wss://gateway.invalid/ws".into(),
        ..target(1)
    });
    let reason = rig.down().await;
    assert_eq!(kind_of(&reason), LinkFailure::NameNotFound);
    assert!(reason.words().contains("gateway.invalid"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_instead_of_a_socket_keeps_its_status() {
    for (status, word) in [
        (401, "did not accept"),
        (403, "did not accept"),
        (404, "path"),
        (429, "too many attempts"),
        (502, "gateway"),
        (200, "no gateway"),
    ] {
        let server = Server::start().await;
        let mut rig = Rig::connected(target(server.port));
        let mut stream = server.raw().await;
        read_head(&mut stream).await;
        let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\nno");
        stream.write_all(answer.as_bytes()).await.unwrap();
        assert_eq!(rig.down().await, CloseReason::HttpStatus { status });
        // The driver wants no further attempt after 401 and 403.
        let words = if matches!(status, 401 | 403) {
            rig.refused().await
        } else {
            rig.waits().await
        };
        assert!(words.contains(word), "{status}: {words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_web_server_is_told_in_words() {
    for (answer, word) in [("", "hung up"), ("SSH-2.0-OpenSSH_9.9\r\n\r\n", "no HTTP")] {
        let server = Server::start().await;
        let mut rig = Rig::connected(target(server.port));
        let mut stream = server.raw().await;
        read_head(&mut stream).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
        drop(stream);
        let words = rig.down().await.words();
        assert!(words.contains(word), "{words}");
        assert!(
            !words.contains("Handshake") && !words.contains("httparse"),
            "{words}"
        );
    }
}

pub async fn read_head(stream: &mut tokio::net::TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_opens_the_socket_is_given_up() {
    let server = Server::start().await;
    let limits = Limits {
        upgrade: Duration::from_millis(200),
        ..quick()
    };
    let mut rig = Rig::connected(Target {
        limits,
        ..target(server.port)
    });
    let _silent = server.raw().await;
    let reason = rig.down().await;
    assert_eq!(kind_of(&reason), LinkFailure::TimedOut);
    assert!(reason.words().contains("did not open"), "{reason:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_only_looks_open_is_noticed() {
    let server = Server::start().await;
    let limits = Limits {
        ping_after: Duration::from_millis(50),
        answer: Duration::from_millis(200),
        ..quick()
    };
    let mut rig = Rig::connected(Target {
        limits,
        ..target(server.port)
    });
    // Never read again: not even a ping is answered.
    let _deaf = server.socket().await;
    assert_eq!(rig.down().await, CloseReason::Silent);
    let words = rig.waits().await;
    assert!(words.contains("too long"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_pings_may_be_silent() {
    let server = Server::start().await;
    let limits = Limits {
        ping_after: Duration::from_millis(20),
        answer: Duration::from_secs(20),
        ..quick()
    };
    let mut rig = Rig::connected(Target {
        limits,
        ..target(server.port)
    });
    let mut socket = server.socket().await;
    for _ in 0..5 {
        // Reading answers the ping.
        match timeout(DEADLINE, socket.next()).await.unwrap() {
            Some(Ok(Message::Ping(_))) => {}
            other => panic!("instead of a ping: {other:?}"),
        }
    }
    send(&mut socket, "still here").await;
    assert_eq!(rig.told().await, Told::Up(1));
    assert_eq!(rig.told().await, Told::Frame("still here".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_is_too_large_ends_the_link() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let mut socket = server.socket().await;
    let large = "x".repeat(8 * 1024 * 1024 + 1);
    let _ = socket.send(Message::Text(large.into())).await;
    assert_eq!(kind_of(&rig.down().await), LinkFailure::TooLarge);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_in_the_middle_of_a_frame_is_a_broken_link() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let mut socket = server.socket().await;
    // A text of 100 bytes is announced, ten come.
    let stream = socket.get_mut();
    stream.write_all(&[0x81, 100]).await.unwrap();
    stream.write_all(b"0123456789").await.unwrap();
    stream.shutdown().await.unwrap();
    drop(socket);
    let reason = rig.down().await;
    assert_eq!(kind_of(&reason), LinkFailure::Broken, "{reason:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_frames_are_the_servers_fault_and_said_so() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let mut socket = server.socket().await;
    // Reserved bits are set.
    socket.get_mut().write_all(&[0xf1, 1, 0]).await.unwrap();
    let reason = rig.down().await;
    assert_eq!(kind_of(&reason), LinkFailure::Protocol, "{reason:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_cumulative_updates_costs_few_decodings_and_shows_the_last() {
    const UPDATES: usize = 5_000;
    let server = Server::start().await;
    // Room for a few events only, and nobody takes them while the flood comes.
    let mut rig = Rig::with(Place::Network(target(server.port)), Retry::Backoff, 4);
    rig.connect();
    let mut socket = server.socket().await;
    let text = "word ".repeat(200);
    for number in 1..=UPDATES {
        send(&mut socket, format!("update {number} {text}")).await;
    }
    send(&mut socket, "final").await;
    let mut updates = 0;
    let mut last = String::new();
    rig.event_that(|event| {
        let text = notice(&event)?;
        if text == "final" {
            return Some(());
        }
        updates += 1;
        last = text;
        None
    })
    .await;
    assert!(last.starts_with("update 5000 "), "{last}");
    assert!(updates < UPDATES / 2, "{updates} were decoded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_that_cannot_be_shortened_makes_the_server_wait_and_loses_nothing() {
    const FRAMES: usize = 3_000;
    let server = Server::start().await;
    let mut rig = Rig::with(Place::Network(target(server.port)), Retry::Backoff, 4);
    rig.connect();
    let mut socket = server.socket().await;
    let (sent, mut all_sent) = tokio::sync::oneshot::channel();
    let text = "x".repeat(20_000);
    tokio::spawn(async move {
        for number in 0..FRAMES {
            send(&mut socket, format!("line {number} {text}")).await;
        }
        let _ = sent.send(());
        socket
    });
    // 60 MB do not fit anywhere on the way while nobody takes events.
    for number in 0..FRAMES {
        if number == 100 {
            assert!(all_sent.try_recv().is_err(), "the server had to wait");
        }
        let text = rig.event_that(|event| notice(&event)).await;
        assert!(text.starts_with(&format!("line {number} ")), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_nothing_makes_the_account_busy_and_not_the_program() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let _deaf = server.socket().await;
    assert_eq!(rig.told().await, Told::Up(1));
    let large = "x".repeat(1024 * 1024);
    let mut refused = false;
    // 64 MB are more than the system's buffers and ours together.
    for _ in 0..2_000 {
        let orders = rig.handle.try_send(SessionInput::Command {
            id: trialogue::domain::CommandId(1),
            command: trialogue::domain::Command::LoadCatalog,
        });
        if orders.is_err() {
            refused = true;
            break;
        }
        rig.order_quietly([Output::Frame(Frame::text(large.clone()))]);
        tokio::task::yield_now().await;
    }
    assert!(refused, "commands are refused as busy");
    // The person can still hang up.
    rig.handle.try_send(SessionInput::Disconnect).unwrap();
    assert_eq!(rig.down().await, CloseReason::Ours);
    rig.event_that(|event| (link_state(&event) == Some(LinkState::Off)).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_now_does_not_wait() {
    let server = Server::start().await;
    let far = Retry::NotBefore(Duration::from_secs(3_600));
    let mut rig = Rig::with(Place::Network(target(server.port)), far, 1_024);
    rig.connect();
    drop(server.socket().await);
    rig.down().await;
    rig.waits().await;
    rig.handle.try_send(SessionInput::RetryNow).unwrap();
    let _socket = server.socket().await;
    assert_eq!(rig.told().await, Told::Up(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_closes_has_its_last_word_and_its_rule() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let mut socket = server.socket().await;
    send(&mut socket, "close goodbye").await;
    assert_eq!(receive(&mut socket).await, "goodbye");
    assert_eq!(rig.down().await, CloseReason::Ours);
    rig.refused().await;
    match timeout(DEADLINE, socket.next()).await.unwrap() {
        Some(Ok(Message::Close(_))) => {}
        other => panic!("instead of a close: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_secret_is_used_at_once() {
    let server = Server::start().await;
    let mut rig = Rig::with(Place::Network(target(server.port)), Retry::Never, 1_024);
    rig.connect();
    drop(server.socket().await);
    rig.refused().await;
    let secret = Secret::new("other".into());
    rig.handle.try_send(SessionInput::Secret(secret)).unwrap();
    let _socket = server.socket().await;
    rig.told_that(|told| (told == Told::Secret("other".into())).then_some(()))
        .await;
    assert_eq!(rig.told().await, Told::Up(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_read_anew_when_the_driver_wants_it() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let _socket = server.socket().await;
    rig.order([Output::WantSecret]);
    rig.told_that(|told| (told == Told::Secret("renewed".into())).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_in_one_account_is_told_and_ends_only_that_account() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let mut other = Rig::connected(target(server.port));
    let mut socket = server.socket().await;
    let mut second = server.socket().await;
    send(&mut socket, "panic").await;
    send(&mut second, "panic").await;
    let _ = (&mut rig, &mut other);
    for rig in [&mut rig, &mut other] {
        rig.event_that(|event| (link_state(&event) == Some(LinkState::Off)).then_some(()))
            .await;
        let reason = rig
            .event_that(|event| match event {
                SessionEvent::Ended { reason } => Some(reason),
                _ => None,
            })
            .await;
        assert!(reason.is_some_and(|reason| reason.as_str().contains("fault")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inspector_sees_both_directions_without_secrets() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    rig.handle
        .try_send(SessionInput::Inspect { on: true })
        .unwrap();
    let mut socket = server.socket().await;
    assert_eq!(rig.told().await, Told::Up(1));
    rig.order([Output::Frame(Frame::text("hello s3cret"))]);
    assert_eq!(receive(&mut socket).await, "hello s3cret");
    send(&mut socket, "ready").await;
    let mut seen = Vec::new();
    rig.event_that(|event| {
        if let SessionEvent::Tapped {
            outgoing, frame, ..
        } = event
        {
            seen.push((outgoing, frame.to_string()));
        }
        (seen.len() == 2).then_some(())
    })
    .await;
    assert_eq!(
        seen,
        [(true, "hello ***".to_owned()), (false, "ready".to_owned())]
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_is_spoken_to_by_lines_and_gone_after_shutdown() {
    let script = "echo '{\"type\":\"init\"}'; while read line; do echo \"got $line\"; done";
    let spec = ChildSpec {
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        ..ChildSpec::default()
    };
    let mut rig = Rig::new(Place::Process(spec));
    rig.connect();
    assert_eq!(rig.told().await, Told::Up(1));
    assert_eq!(rig.told().await, Told::Frame("{\"type\":\"init\"}".into()));
    rig.order([Output::Frame(Frame::text("a line"))]);
    assert_eq!(rig.told().await, Told::Frame("got a line".into()));
    timeout(DEADLINE, rig.handle.shutdown())
        .await
        .expect("it goes when its input ends");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_dies_says_its_last_words_and_is_started_again() {
    let spec = ChildSpec {
        command: ["sh", "-c", "echo 'no token' >&2; exit 1"]
            .map(str::to_owned)
            .to_vec(),
        ..ChildSpec::default()
    };
    let mut rig = Rig::new(Place::Process(spec));
    rig.connect();
    let words = rig.waits().await;
    assert_eq!(words, "The runtime ended with code 1: no token");
    rig.told_that(|told| (told == Told::Up(2)).then_some(()))
        .await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_the_account_runs_and_an_unknown_one_does_not() {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let _socket = server.socket().await;
    let tool = |call, name: &str| Output::RunTool {
        call,
        name: name.into(),
        input: "\"a b\"".into(),
        deadline: DEADLINE,
    };
    assert_eq!(rig.told().await, Told::Up(1));
    rig.order([tool(1, "shout")]);
    assert_eq!(rig.told().await, Told::Tool(Ok("[\"a b\"]".into())));
    rig.order([tool(2, "rm")]);
    assert!(matches!(rig.told().await, Told::Tool(Err(_))));
}
