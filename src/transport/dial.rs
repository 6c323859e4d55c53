//! From an address to a byte stream: checks the address, finds the proxy, resolves, connects, and does
//! TLS, each step with its own time limit and its own words when it fails.

mod address;

use super::{failed, tls};
use crate::domain::io_words;
use crate::link::{CloseReason, LinkFailure};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower_service::Service;

pub use address::{Address, Proxy};

/// A server on the network, and how to get there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Target {
    /// `ws://` or `wss://` with host and path.
    pub url: String,
    /// A file with further certificate authorities (PEM).
    pub ca_file: Option<PathBuf>,
    /// Plain `ws://` to another machine is allowed.
    pub allow_plain: bool,
    pub proxy: ProxyRule,
    pub limits: Limits,
}

/// Which proxy is used.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ProxyRule {
    /// What the environment or the system says (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, ...).
    #[default]
    Environment,
    /// None, whatever the environment says.
    Off,
    /// This one: `http://`, `https://`, `socks5://` or `socks5h://`, with name and password if
    /// it wants them.
    At(String),
}

impl ProxyRule {
    /// The rule of an account: none follows the environment, empty switches proxies off.
    pub fn of_setting(setting: Option<&str>) -> Self {
        match setting.map(str::trim) {
            None => Self::Environment,
            Some("") => Self::Off,
            Some(address) => Self::At(address.to_owned()),
        }
    }
}

/// How long each step may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Name, connection and proxy.
    pub connect: Duration,
    pub tls: Duration,
    pub upgrade: Duration,
    /// One frame to be taken by the network.
    pub send: Duration,
    /// Silence after which a ping is sent.
    pub ping_after: Duration,
    /// Further silence after which the link counts as dead.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            tls: Duration::from_secs(10),
            upgrade: Duration::from_secs(15),
            send: Duration::from_secs(30),
            ping_after: Duration::from_secs(25),
            answer: Duration::from_secs(40),
        }
    }
}

/// Any byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A stream to the server, with TLS where the address asks for it.
pub async fn dial(
    target: &Target,
    address: &Address,
    config: &Arc<ClientConfig>,
) -> Result<Box<dyn Stream>, CloseReason> {
    let limits = target.limits;
    let proxy = Proxy::of(&target.proxy, address)?;
    let stream = match &proxy {
        None => {
            let stream = connect(address.bare_host(), address.port, limits.connect)
                .await
                .map_err(|error| error.reason())?;
            let is_here = stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
            if !address.is_secure && !target.allow_plain && !is_here {
                return Err(failed(
                    LinkFailure::BadAddress,
                    format!(
                        "{} does not lead to this machine, and the address is plain ws://. Use \
                         wss://.",
                        address.host
                    ),
                ));
            }
            Box::new(stream) as Box<dyn Stream>
        }
        Some(proxy) => {
            if !address.is_secure && !target.allow_plain && !proxy.is_loopback() {
                return Err(failed(
                    LinkFailure::BadAddress,
                    "The address is plain ws:// and a proxy on another machine would carry it. Use \
                     wss://, or set `allow_plain = true` for the account (--allow-plain when \
                     adding it).",
                ));
            }
            match timeout(limits.connect, through(proxy, address, config, limits)).await {
                Ok(stream) => stream?,
                Err(_) => {
                    return Err(failed(
                        LinkFailure::Proxy,
                        format!(
                            "{} did not open the way to {}:{} in time.",
                            sentence(&proxy.name()),
                            address.host,
                            address.port
                        ),
                    ));
                }
            }
        }
    };
    if !address.is_secure {
        return Ok(stream);
    }
    Ok(Box::new(
        secure(stream, address.bare_host(), config, limits.tls)
            .await
            .map_err(|error| error.reason())?,
    ))
}

async fn through(
    proxy: &Proxy,
    address: &Address,
    config: &Arc<ClientConfig>,
    limits: Limits,
) -> Result<Box<dyn Stream>, CloseReason> {
    let uri = proxy.intercept.uri().clone();
    let failed_with = |error: &(dyn Error + 'static)| {
        failed(
            LinkFailure::Proxy,
            format!(
                "{} did not open the way to {}:{}: {}.",
                sentence(&proxy.name()),
                address.host,
                address.port,
                innermost(error)
            ),
        )
    };
    let to_proxy = ToProxy {
        config: config.clone(),
        limits,
    };
    let port = address.port;
    let destination = |host: &str| -> Result<http::Uri, CloseReason> {
        format!("http://{host}:{port}/").parse().map_err(|_| {
            failed(
                LinkFailure::BadAddress,
                format!("{host} cannot be reached through a proxy."),
            )
        })
    };
    match uri.scheme_str() {
        Some("socks5" | "socks5h") => {
            // The plain form resolves here, the h form over there, as curl has it.
            let host = if uri.scheme_str() == Some("socks5") {
                let found = resolve(address.bare_host(), port)
                    .await
                    .map_err(|error| error.reason())?;
                found
                    .first()
                    .map_or_else(|| address.host.clone(), |found| bracketed(found.ip()))
            } else {
                address.host.clone()
            };
            let mut socks = SocksV5::new(uri.clone(), to_proxy);
            if let Some((name, password)) = proxy.intercept.raw_auth() {
                socks = socks.with_auth(name.to_owned(), password.to_owned());
            }
            let stream = socks
                .call(destination(&host)?)
                .await
                .map_err(|error| failed_with(&error))?;
            Ok(stream.into_inner())
        }
        Some("http" | "https") => {
            let mut tunnel = Tunnel::new(uri.clone(), to_proxy);
            if let Some(auth) = proxy.intercept.basic_auth() {
                tunnel = tunnel.with_auth(auth.clone());
            }
            let stream = tunnel
                .call(destination(&address.host)?)
                .await
                .map_err(|error| failed_with(&error))?;
            Ok(stream.into_inner())
        }
        other => Err(failed(
            LinkFailure::Proxy,
            format!(
                "{} uses {}, which is not supported; http, https, socks5 and socks5h are.",
                sentence(&proxy.name()),
                other.unwrap_or("no scheme")
            ),
        )),
    }
}

fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// The error that says most: the last in the chain.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    let text = current.to_string();
    let text = text.strip_prefix("tunnel error: ").unwrap_or(&text);
    match text {
        "unsuccessful" => "it refused".into(),
        "proxy authorization required" => "it wants a name and a password (407)".into(),
        text => text.trim_end_matches('.').to_owned(),
    }
}

/// Dials the proxy itself.
#[derive(Clone)]
struct ToProxy {
    config: Arc<ClientConfig>,
    limits: Limits,
}

impl Service<http::Uri> for ToProxy {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: http::Uri) -> Self::Future {
        let Self { config, limits } = self.clone();
        Box::pin(async move {
            let is_secure = uri.scheme_str() == Some("https");
            let port = uri.port_u16().unwrap_or(match uri.scheme_str() {
                Some("https") => 443,
                Some("http") => 80,
                _ => 1080,
            });
            let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
            let stream =
                connect(host, port, limits.connect)
                    .await
                    .map_err(|error| match error.kind {
                        // Whoever reads of it knows already that it is the proxy.
                        LinkFailure::ConnectionRefused => DialError::new(
                            error.kind,
                            "nothing listens there. Start it, or correct what names it",
                        ),
                        _ => error,
                    })?;
            let stream: Box<dyn Stream> = if is_secure {
                Box::new(secure(stream, host, &config, limits.tls).await?)
            } else {
                Box::new(stream)
            };
            Ok(TokioIo::new(stream))
        })
    }
}

/// A step that failed.
#[derive(Debug)]
struct DialError {
    kind: LinkFailure,
    words: String,
}

impl DialError {
    fn new(kind: LinkFailure, words: impl Into<String>) -> Self {
        Self {
            kind,
            words: words.into(),
        }
    }

    fn reason(self) -> CloseReason {
        failed(self.kind, self.words)
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Error for DialError {}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, DialError> {
    let found: Vec<_> = tokio::net::lookup_host((host, port))
        .await
        .map_err(|error| {
            DialError::new(
                LinkFailure::NameNotFound,
                format!("No address was found for {host}: {}", io_words(&error)),
            )
        })?
        .collect();
    if found.is_empty() {
        return Err(DialError::new(
            LinkFailure::NameNotFound,
            format!("No address was found for {host}."),
        ));
    }
    Ok(found)
}

/// How long one address may be tried alone before the next one joins in.
const HEAD_START: Duration = Duration::from_millis(250);

/// Resolves and connects; addresses are tried in turn, both families mixed, each with a head start,
/// so that a broken family costs a quarter of a second only.
async fn connect(host: &str, port: u16, limit: Duration) -> Result<TcpStream, DialError> {
    let race = async {
        let mut waiting = interleaved(resolve(host, port).await?).into_iter();
        let mut attempts = FuturesUnordered::new();
        let mut first_error = None;
        loop {
            match waiting.next() {
                Some(address) => attempts.push(TcpStream::connect(address)),
                None if attempts.is_empty() => {
                    let error = first_error
                        .unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable));
                    return Err(DialError::new(
                        kind_of(&error),
                        connect_words(&error, host, port),
                    ));
                }
                None => {}
            }
            let has_more = waiting.len() > 0;
            tokio::select! {
                Some(result) = attempts.next() => match result {
                    Ok(stream) => return Ok(stream),
                    Err(error) => { first_error.get_or_insert(error); }
                },
                () = tokio::time::sleep(HEAD_START), if has_more => {}
            }
        }
    };
    let stream = timeout(limit, race).await.unwrap_or_else(|_| {
        Err(DialError::new(
            LinkFailure::TimedOut,
            format!(
                "{host}:{port} did not answer within {} seconds.",
                limit.as_secs()
            ),
        ))
    })?;
    // Frames are small and wait for each other; a failure only costs speed.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

fn interleaved(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let is_first_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (mut first, mut second): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == is_first_v6);
    first.reverse();
    second.reverse();
    let mut mixed = Vec::with_capacity(first.len() + second.len());
    while !first.is_empty() || !second.is_empty() {
        mixed.extend(first.pop());
        mixed.extend(second.pop());
    }
    mixed
}

/// The class of an error of the network.
pub(super) fn kind_of(error: &io::Error) -> LinkFailure {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => LinkFailure::ConnectionRefused,
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::AddrNotAvailable => LinkFailure::Unreachable,
        io::ErrorKind::TimedOut => LinkFailure::TimedOut,
        _ => LinkFailure::Broken,
    }
}

fn connect_words(error: &io::Error, host: &str, port: u16) -> String {
    match kind_of(error) {
        LinkFailure::ConnectionRefused => {
            format!("Nothing listens at {host}:{port}. Check that the gateway runs, and the port.")
        }
        LinkFailure::Unreachable => {
            format!("There is no way to {host}:{port} from here. Check the network.")
        }
        LinkFailure::TimedOut => format!("{host}:{port} did not answer."),
        _ => format!(
            "The connection to {host}:{port} failed: {}.",
            io_words(error)
        ),
    }
}

async fn secure<S: Stream + 'static>(
    stream: S,
    host: &str,
    config: &Arc<ClientConfig>,
    limit: Duration,
) -> Result<tokio_rustls::client::TlsStream<S>, DialError> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        DialError::new(
            LinkFailure::BadAddress,
            format!("{host} cannot be the name on a certificate."),
        )
    })?;
    let connector = TlsConnector::from(config.clone());
    match timeout(limit, connector.connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => {
            let inner = error
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<rustls::Error>());
            Err(match inner {
                Some(inner) => DialError::new(LinkFailure::Tls, tls::words(inner, host)),
                None => DialError::new(
                    LinkFailure::Tls,
                    format!(
                        "{host} ended the connection during the TLS handshake: {}.",
                        io_words(&error)
                    ),
                ),
            })
        }
        Err(_) => Err(DialError::new(
            LinkFailure::TimedOut,
            format!("{host} accepted the connection but did not answer the TLS handshake."),
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use hyper_util::client::proxy::matcher::Matcher;

    fn address(url: &str, allow_plain: bool) -> Result<Address, CloseReason> {
        Address::of(&Target {
            url: url.into(),
            allow_plain,
            ..Target::default()
        })
    }

    #[test]
    fn plain_text_stays_on_this_machine() {
        for url in [
            "ws://127.0.0.1:8765/ws",
            "ws://localhost/ws",
            "ws://[::1]:9/ws",
            "ws://agent.localhost/ws",
        ] {
            assert!(address(url, false).is_ok(), "{url}");
        }
        for url in [
            "ws://10.0.0.7/ws",
            "ws://gateway.test/ws",
            "ws://localhost.evil.test/ws",
        ] {
            let reason = address(url, false).unwrap_err();
            assert!(reason.words().contains("wss://"), "{url}: {reason:?}");
            assert!(address(url, true).is_ok(), "{url}");
        }
    }

    #[test]
    fn an_address_holds_no_secret_and_has_a_known_scheme() {
        for url in [
            "wss://ada:pw@host/ws",
            "https://host/ws",
            "host",
            "file:///etc",
        ] {
            assert!(
                matches!(
                    address(url, true),
                    Err(CloseReason::Failed {
                        kind: LinkFailure::BadAddress,
                        ..
                    })
                ),
                "{url}"
            );
        }
    }

    #[test]
    fn http_goes_to_the_same_host_and_port() {
        let origin = |url| address(url, true).unwrap().http_origin();
        assert_eq!(origin("wss://host/ws?x=1"), "https://host:443");
        assert_eq!(origin("ws://[::1]:8080/ws"), "http://[::1]:8080");
    }

    #[test]
    fn no_proxy_names_hosts_that_are_reached_directly() {
        let matcher = Matcher::builder()
            .all("http://proxy.test:3128")
            .no("inside.test,10.0.0.0/8")
            .build();
        let proxied = |url| {
            Proxy::matched(&matcher, "HTTPS_PROXY".into(), &address(url, true).unwrap()).is_some()
        };
        assert!(proxied("wss://outside.test/ws"));
        assert!(!proxied("wss://inside.test/ws"));
        assert!(!proxied("wss://sub.inside.test/ws"));
        assert!(!proxied("wss://10.1.2.3/ws"));
    }

    #[test]
    fn a_wrong_proxy_setting_is_said_and_not_passed_over() {
        let address = address("wss://host/ws", false).unwrap();
        let wrong = Proxy::of(&ProxyRule::At("ftp://x".into()), &address);
        assert!(matches!(
            wrong,
            Err(CloseReason::Failed {
                kind: LinkFailure::Proxy,
                ..
            })
        ));
        assert!(matches!(Proxy::of(&ProxyRule::Off, &address), Ok(None)));
    }

    #[test]
    fn both_address_families_are_tried_in_turn() {
        let of = |text: &str| text.parse::<SocketAddr>().unwrap();
        let mixed = interleaved(vec![
            of("[2001:db8::1]:1"),
            of("[2001:db8::2]:1"),
            of("192.0.2.1:1"),
        ]);
        assert_eq!(
            mixed,
            [
                of("[2001:db8::1]:1"),
                of("192.0.2.1:1"),
                of("[2001:db8::2]:1")
            ]
        );
    }
}
