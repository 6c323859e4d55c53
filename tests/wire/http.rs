//! Files over HTTP on the account's own origin, and over the link itself.

use super::links::read_head;
use super::rig::{DEADLINE, Rig, Server, Socket, Told, receive, receive_bytes, target};
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use trialogue::app::effect::TransferFile;
use trialogue::app::event::TransferProgress;
use trialogue::domain::TransferId;
use trialogue::link::{Frame, HttpBody, HttpMethod, HttpRequest, HttpSink};
use trialogue::protocol::Output;
use trialogue::runtime::session::{SessionEvent, SessionInput};
use trialogue::text::SafeText;

const ONE: TransferId = TransferId(1);

async fn connected() -> (Server, Rig, Socket) {
    let server = Server::start().await;
    let mut rig = Rig::connected(target(server.port));
    let socket = server.socket().await;
    assert_eq!(rig.told().await, Told::Up(1));
    (server, rig, socket)
}

fn get(path: &str, max: u64) -> HttpRequest {
    HttpRequest {
        transfer: ONE,
        method: HttpMethod::Get,
        path: path.into(),
        query: Vec::new(),
        content_type: None,
        body: HttpBody::None,
        sink: HttpSink::File { max },
    }
}

fn post() -> HttpRequest {
    HttpRequest {
        transfer: ONE,
        method: HttpMethod::Post,
        path: "/attachments".into(),
        query: vec![("filename".into(), "a b&c.txt".into())],
        content_type: Some("text/plain".into()),
        body: HttpBody::File(ONE),
        sink: HttpSink::Memory { max: 1_000 },
    }
}

fn download(limit: u64) -> TransferFile {
    TransferFile::Download {
        name: SafeText::label("picture.png"),
        limit,
        announced: None,
    }
}

async fn answer(stream: &mut TcpStream, head: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {head}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_lands_in_the_cache_with_its_hash_and_progress() {
    let (server, mut rig, _socket) = connected().await;
    rig.open(download(1_000_000));
    rig.request(get("/attachments/7", 1_000_000));
    let mut stream = server.raw().await;
    let head = read_head(&mut stream).await;
    assert!(
        head.starts_with("GET /attachments/7 HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.to_lowercase()
            .contains("authorization: bearer s3cret\r\n")
    );
    let body = vec![7; 300_000];
    answer(&mut stream, "200 OK\r\nContent-Length: 300000", &body).await;
    let (end, most) = rig.transfer_end().await;
    let TransferProgress::Finished { path } = end else {
        panic!("{end:?}");
    };
    assert_eq!(most, 300_000);
    assert_eq!(std::fs::read(&path).unwrap(), body);
    assert_eq!(path.parent(), Some(rig.cache.path()));
    assert_eq!(path.extension().unwrap(), "png");
    assert_eq!(rig.told().await, Told::Http(200, String::new()));
    assert!(matches!(rig.told().await, Told::Done(300_000, _)));
    assert_eq!(rig.files(), [path]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_comes_short_is_not_kept() {
    let (server, mut rig, _socket) = connected().await;
    rig.open(download(1_000_000));
    rig.request(get("/attachments/7", 1_000_000));
    let mut stream = server.raw().await;
    read_head(&mut stream).await;
    answer(&mut stream, "200 OK\r\nContent-Length: 1000", &[1; 500]).await;
    drop(stream);
    let (end, _) = rig.transfer_end().await;
    assert!(matches!(end, TransferProgress::Failed { .. }), "{end:?}");
    assert!(matches!(rig.told().await, Told::Failed(_)));
    assert!(rig.files().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_larger_than_allowed_is_not_kept() {
    // Announced, and not announced.
    for head in [
        "200 OK\r\nContent-Length: 5000",
        "200 OK\r\nConnection: close",
    ] {
        let (server, mut rig, _socket) = connected().await;
        rig.open(download(1_000));
        rig.request(get("/attachments/7", 4_000));
        let mut stream = server.raw().await;
        read_head(&mut stream).await;
        let head = format!("HTTP/1.1 {head}\r\n\r\n");
        // The client hangs up as soon as it knows.
        let _ = stream.write_all(head.as_bytes()).await;
        let _ = stream.write_all(&[1; 5_000]).await;
        assert_eq!(rig.told().await, Told::Failed("TooLarge".into()));
        assert!(rig.files().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_can_be_stopped() {
    let (server, mut rig, _socket) = connected().await;
    rig.open(download(1_000_000));
    rig.request(get("/attachments/7", 1_000_000));
    let mut stream = server.raw().await;
    read_head(&mut stream).await;
    answer(
        &mut stream,
        "200 OK\r\nContent-Length: 1000000",
        &[1; 100_000],
    )
    .await;
    rig.event_that(|event| match event {
        SessionEvent::Transfer {
            progress: TransferProgress::Moved { .. },
            ..
        } => Some(()),
        _ => None,
    })
    .await;
    rig.handle
        .try_send(SessionInput::CancelTransfer { transfer: ONE })
        .unwrap();
    assert_eq!(rig.transfer_end().await.0, TransferProgress::Cancelled);
    assert_eq!(rig.told().await, Told::Failed("Cancelled".into()));
    // The server sees the connection go.
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut rest))
        .await
        .unwrap();
    rig.files_go().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_another_server_is_refused_and_gets_no_secret() {
    let (server, mut rig, _socket) = connected().await;
    let other = Server::start().await;
    rig.open(download(1_000));
    rig.request(get("/attachments/7", 1_000));
    let mut stream = server.raw().await;
    read_head(&mut stream).await;
    let head = format!(
        "302 Found\r\nLocation: http://127.0.0.1:{}/x\r\nContent-Length: 0",
        other.port
    );
    answer(&mut stream, &head, b"").await;
    let Told::Failed(words) = rig.told().await else {
        panic!("it is refused");
    };
    assert!(words.contains("another server"), "{words}");
    assert!(
        tokio::time::timeout(std::time::Duration::ZERO, other.listener.accept())
            .await
            .is_err(),
        "nobody came to the other server"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_leads_to_another_server_is_refused_here() {
    let (_server, mut rig, _socket) = connected().await;
    for path in [
        "//evil.test/x",
        "/\\evil.test/x",
        "https://evil.test/x",
        "x",
    ] {
        rig.open(download(1_000));
        rig.request(get(path, 1_000));
        let Told::Failed(words) = rig.told().await else {
            panic!("{path} is refused");
        };
        assert!(words.contains("away from"), "{path}: {words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_brings_its_body_to_the_driver() {
    let (server, mut rig, _socket) = connected().await;
    rig.open(download(1_000));
    rig.request(get("/attachments/7", 1_000));
    let mut stream = server.raw().await;
    read_head(&mut stream).await;
    answer(&mut stream, "404 Gone\r\nContent-Length: 4", b"gone").await;
    assert_eq!(rig.told().await, Told::Http(404, "gone".into()));
    assert!(rig.files().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_carries_length_type_and_secret_and_is_counted() {
    let (server, mut rig, _socket) = connected().await;
    let path = rig.cache.path().join("note.txt");
    std::fs::write(&path, vec![b'n'; 200_000]).unwrap();
    rig.open(TransferFile::Upload {
        path,
        size: 200_000,
    });
    rig.request(post());
    let mut stream = server.raw().await;
    let head = read_head(&mut stream).await.to_lowercase();
    assert!(
        head.starts_with("post /attachments?filename=a+b%26c.txt "),
        "{head}"
    );
    for line in [
        "content-length: 200000",
        "content-type: text/plain",
        "authorization: bearer s3cret",
    ] {
        assert!(head.contains(&format!("{line}\r\n")), "{line} in {head}");
    }
    let mut body = vec![0; 200_000];
    stream.read_exact(&mut body).await.unwrap();
    assert!(body.iter().all(|byte| *byte == b'n'));
    answer(
        &mut stream,
        "201 Created\r\nContent-Length: 8",
        b"{\"a\": 1}",
    )
    .await;
    assert_eq!(rig.told().await, Told::Http(201, "{\"a\": 1}".into()));
    let done = rig
        .event_that(|event| match event {
            SessionEvent::Transfer {
                progress: TransferProgress::Moved { done, total },
                ..
            } if total == Some(done) => Some(done),
            _ => None,
        })
        .await;
    assert_eq!(done, 200_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_since_it_was_attached_is_not_sent() {
    let (_server, mut rig, _socket) = connected().await;
    let path = rig.cache.path().join("note.txt");
    std::fs::write(&path, "hello").unwrap();
    rig.open(TransferFile::Upload { path, size: 6 });
    rig.request(post());
    let Told::Failed(words) = rig.told().await else {
        panic!("it is refused");
    };
    assert!(words.contains("changed"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_goes_up_over_the_link_in_pieces() {
    let (_server, mut rig, mut socket) = connected().await;
    let path = rig.cache.path().join("note.txt");
    std::fs::write(&path, "0123456789").unwrap();
    rig.open(TransferFile::Upload { path, size: 10 });
    rig.order([Output::WantBytes {
        transfer: ONE,
        max: 4,
    }]);
    for piece in ["0123", "4567", "89"] {
        assert_eq!(rig.told().await, Told::Chunk(piece.into()));
        assert_eq!(receive_bytes(&mut socket).await, piece);
    }
    assert_eq!(rig.told().await, Told::End(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_comes_down_over_the_link_in_pieces() {
    let (_server, mut rig, mut socket) = connected().await;
    rig.open(download(10));
    let chunk = |text: &'static str| Output::DownloadChunk {
        transfer: ONE,
        bytes: Bytes::from_static(text.as_bytes()),
    };
    let end = |ok| Output::DownloadEnd { transfer: ONE, ok };
    rig.order([chunk("hel"), chunk("lo"), end(true)]);
    let (progress, _) = rig.transfer_end().await;
    let TransferProgress::Finished { path } = progress else {
        panic!("{progress:?}");
    };
    assert_eq!(std::fs::read(path).unwrap(), b"hello");
    assert_eq!(rig.told().await, Told::Done(5, 0x2c));
    // More than the limit, and a transfer that the driver gave up.
    rig.open(download(4));
    rig.order([chunk("hello"), end(true)]);
    assert_eq!(rig.told().await, Told::Failed("TooLarge".into()));
    rig.open(download(10));
    let after = Output::Frame(Frame::text("given up"));
    rig.order([chunk("hel"), end(false), after]);
    assert_eq!(receive(&mut socket).await, "given up");
    assert_eq!(rig.files().len(), 1);
}
