//! TLS: whom we believe, and the words when we do not.

use super::rig::{Rig, Server, Told, target};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;
use tokio_tungstenite::WebSocketStream;
use trialogue::app::effect::TransferFile;
use trialogue::link::{CloseReason, HttpBody, HttpMethod, HttpRequest, HttpSink, LinkFailure};
use trialogue::text::SafeText;
use trialogue::transport::dial::Target;

/// An authority of this test, and its file.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> Self {
        Self::named("one")
    }

    /// Two authorities of the same name would be told apart by their keys only.
    fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, folder }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("ca.pem")
    }

    fn acceptor(&self, name: &str, is_expired: bool) -> TlsAcceptor {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        if is_expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 3, 4);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

fn secure(port: u16, authority: Option<&Authority>) -> Target {
    Target {
        url: format!("wss://localhost:{port}/ws"),
        ca_file: authority.map(Authority::file),
        ..target(port)
    }
}

async fn accept(server: &Server, acceptor: &TlsAcceptor) -> WebSocketStream<TlsStream<TcpStream>> {
    let stream = acceptor.accept(server.raw().await).await.unwrap();
    tokio_tungstenite::accept_async(stream).await.unwrap()
}

/// Why a client does not trust this server.
async fn distrust(acceptor: TlsAcceptor, authority: Option<&Authority>) -> String {
    let server = Server::start().await;
    let mut rig = Rig::connected(secure(server.port, authority));
    tokio::spawn(async move {
        let _ = acceptor.accept(server.raw().await).await;
        server
    });
    match rig.down().await {
        CloseReason::Failed {
            kind: LinkFailure::Tls,
            detail,
        } => detail,
        other => panic!("instead of a TLS failure: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_of_ones_own_is_believed_when_its_file_is_named() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("localhost", false);
    let server = Server::start().await;
    let mut rig = Rig::connected(secure(server.port, Some(&authority)));
    let _socket = accept(&server, &acceptor).await;
    assert_eq!(rig.told().await, Told::Up(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_over_the_same_tls_as_the_link() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("localhost", false);
    let server = Server::start().await;
    let mut rig = Rig::connected(secure(server.port, Some(&authority)));
    let _socket = accept(&server, &acceptor).await;
    assert_eq!(rig.told().await, Told::Up(1));
    let transfer = rig.open(TransferFile::Download {
        name: SafeText::label("a.txt"),
        limit: 100,
        announced: None,
    });
    rig.request(HttpRequest {
        transfer,
        method: HttpMethod::Get,
        path: "/attachments/1".into(),
        query: Vec::new(),
        content_type: None,
        body: HttpBody::None,
        sink: HttpSink::File { max: 100 },
    });
    let mut stream = acceptor.accept(server.raw().await).await.unwrap();
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        .await
        .unwrap();
    assert_eq!(rig.told().await, Told::Http(200, String::new()));
    assert_eq!(rig.told().await, Told::Done(5, 0x2c));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_authority_is_not_believed_and_the_way_out_is_named() {
    let words = distrust(Authority::new().acceptor("localhost", false), None).await;
    assert!(words.contains("ca_file"), "{words}");
    let other = Authority::named("other");
    let words = distrust(Authority::new().acceptor("localhost", false), Some(&other)).await;
    assert!(words.contains("authority"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_was_made_anew_under_its_name_is_told() {
    let old = Authority::new();
    let words = distrust(Authority::new().acceptor("localhost", false), Some(&old)).await;
    assert!(words.contains("made anew"), "{words}");
    assert!(
        words.contains("ca_file") && !words.contains("BadSignature"),
        "{words}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_is_named_with_its_day() {
    let authority = Authority::new();
    let words = distrust(authority.acceptor("localhost", true), Some(&authority)).await;
    assert!(words.contains("expired on 2021-03-04"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_for_another_host_is_not_believed() {
    let authority = Authority::new();
    let words = distrust(authority.acceptor("other.test", false), Some(&authority)).await;
    assert!(words.contains("not for localhost"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_told_from_a_wrong_certificate() {
    let server = Server::start().await;
    let mut rig = Rig::connected(secure(server.port, None));
    tokio::spawn(async move {
        let mut stream = server.raw().await;
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        (server, stream)
    });
    let words = rig.down().await.words();
    assert!(words.contains("does not speak TLS"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_authority_file_is_said_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    for content in [None, Some("not a certificate")] {
        if let Some(content) = content {
            std::fs::write(&file, content).unwrap();
        }
        let mut rig = Rig::connected(Target {
            ca_file: Some(file.clone()),
            ..secure(1, None)
        });
        let words = rig.down().await.words();
        assert!(words.contains("ca_file"), "{words}");
    }
}
