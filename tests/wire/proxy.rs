//! Proxies: CONNECT and SOCKS5, with and without a password, and what is said when they refuse.

use super::links::read_head;
use super::rig::{DEADLINE, Rig, Server, Told, receive, send, target};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use trialogue::link::{CloseReason, Frame, LinkFailure};
use trialogue::protocol::Output;
use trialogue::transport::dial::{ProxyRule, Target};

/// A server that only the proxy can find.
fn behind(proxy: String) -> Target {
    Target {
        url: "ws://gateway.invalid:4711/ws".into(),
        allow_plain: true,
        proxy: ProxyRule::At(proxy),
        ..target(1)
    }
}

async fn carry(mut stream: TcpStream, port: u16) {
    let mut on = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let _ = copy_bidirectional(&mut stream, &mut on).await;
}

async fn talks(mut rig: Rig, server: &Server) {
    let mut socket = server.socket().await;
    assert_eq!(rig.told().await, Told::Up(1));
    rig.order([Output::Frame(Frame::text("there"))]);
    assert_eq!(receive(&mut socket).await, "there");
    send(&mut socket, "and back").await;
    assert_eq!(rig.told().await, Told::Frame("and back".into()));
}

fn refused(reason: CloseReason) -> String {
    match reason {
        CloseReason::Failed {
            kind: LinkFailure::Proxy,
            detail,
        } => detail,
        other => panic!("instead of a refusing proxy: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_goes_through_an_http_proxy_with_a_password() {
    let (proxy, server) = (Server::start().await, Server::start().await);
    let rig = Rig::connected(behind(format!(
        "http://ada:p%40ss@127.0.0.1:{}",
        proxy.port
    )));
    let mut stream = proxy.raw().await;
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("CONNECT gateway.invalid:4711 "), "{head}");
    // ada:p@ss
    assert!(head.contains("Basic YWRhOnBAc3M="), "{head}");
    stream
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await
        .unwrap();
    tokio::spawn(carry(stream, server.port));
    talks(rig, &server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_refuses_is_named_with_where_it_was_set() {
    for (answer, word) in [
        ("407 Proxy Authentication Required", "name and a password"),
        ("403 Forbidden", "it refused"),
    ] {
        let proxy = Server::start().await;
        let mut rig = Rig::connected(behind(format!("http://ada:pw@127.0.0.1:{}", proxy.port)));
        let mut stream = proxy.raw().await;
        read_head(&mut stream).await;
        let answer = format!("HTTP/1.1 {answer}\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        let words = refused(rig.down().await);
        assert!(words.contains(word), "{words}");
        assert!(words.contains("setting `proxy`"), "{words}");
        assert!(!words.contains("pw"), "no password in {words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_is_not_there_is_told_from_a_server_that_is_not() {
    let port = Server::start().await.port;
    let mut rig = Rig::connected(behind(format!("http://127.0.0.1:{port}")));
    let words = refused(rig.down().await);
    assert!(words.contains("nothing listens there"), "{words}");
    assert!(!words.contains("gateway runs"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_goes_through_socks_and_the_proxy_finds_the_name() {
    let (proxy, server) = (Server::start().await, Server::start().await);
    let rig = Rig::connected(behind(format!("socks5h://ada:pw@127.0.0.1:{}", proxy.port)));
    let mut stream = proxy.raw().await;
    let serve = async {
        let mut head = [0; 2];
        stream.read_exact(&mut head).await.unwrap();
        let mut methods = vec![0; usize::from(head[1])];
        stream.read_exact(&mut methods).await.unwrap();
        assert!(methods.contains(&2), "name and password are offered");
        stream.write_all(&[5, 2]).await.unwrap();
        let mut login = [0; 2 + 3 + 1 + 2];
        stream.read_exact(&mut login).await.unwrap();
        assert_eq!(&login, b"\x01\x03ada\x02pw");
        stream.write_all(&[1, 0]).await.unwrap();
        let mut head = [0; 5];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(head[..4], [5, 1, 0, 3], "a name and not a number");
        let mut name = vec![0; usize::from(head[4]) + 2];
        stream.read_exact(&mut name).await.unwrap();
        assert!(name.starts_with(b"gateway.invalid"));
        let answer = [5, 0, 0, 1, 127, 0, 0, 1, 0, 80];
        stream.write_all(&answer).await.unwrap();
    };
    tokio::time::timeout(DEADLINE, serve).await.unwrap();
    tokio::spawn(carry(stream, server.port));
    talks(rig, &server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_text_does_not_go_to_a_proxy_elsewhere() {
    let mut rig = Rig::connected(Target {
        allow_plain: false,
        url: "ws://127.0.0.1:1/ws".into(),
        ..behind("http://proxy.invalid:3128".into())
    });
    let reason = rig.down().await;
    assert!(
        reason.words().contains("proxy on another machine"),
        "{reason:?}"
    );
}
