//! Carries out a described HTTP request on the account's own origin: files streamed up with their
//! length, bodies streamed down with a limit, progress counted, and no redirect to another origin,
//! because the secret would go along.

use super::dial::{Address, ProxyRule, Target};
use super::failed;
use crate::domain::Secret;
use crate::link::{
    CloseReason, HttpBody, HttpMethod, HttpReply, HttpRequest, HttpSink, LinkFailure,
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Body, Client, Proxy, Response, Url};
use rustls::ClientConfig;
use std::error::Error;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

/// No byte moved for so long: the server may work on what it got, but not for ever.
const STALLED: Duration = Duration::from_secs(120);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Bytes of a refusal that are read.
const REFUSAL: usize = 64 * 1024;
/// Bytes read from a file at once.
const CHUNK: usize = 64 * 1024;

/// Requests to one origin.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Client,
    origin: Url,
}

/// Why there is no reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HttpError {
    /// The body is larger than was allowed.
    TooLarge,
    /// The file here could not be read or written.
    LocalFile(String),
    Network(String),
}

/// The bytes that go up.
#[derive(Debug)]
pub struct Source {
    pub file: File,
    /// Exactly so many are sent.
    pub size: u64,
}

/// Where the bytes of a download go.
pub trait Sink: Send {
    /// Takes the next bytes; an error ends the transfer with these words.
    fn take(&mut self, bytes: &[u8]) -> Result<(), String>;
}

/// Told how many bytes moved, and how many there are if that is known.
pub type Progress = Arc<dyn Fn(u64, Option<u64>) + Send + Sync>;

impl HttpClient {
    /// A client for the origin of a target, with the TLS configuration of its socket.
    pub fn new(target: &Target, config: &Arc<ClientConfig>) -> Result<Self, CloseReason> {
        let address = Address::of(target)?;
        let bad = |what: String| failed(LinkFailure::BadAddress, what);
        let origin = Url::parse(&address.http_origin())
            .map_err(|error| bad(format!("The address is not valid: {error}.")))?;
        let policy = Policy::custom(|attempt| {
            let first = attempt.previous().first().map(Url::origin);
            if attempt.previous().len() > 3 {
                attempt.error("it points from one address to the next without end")
            } else if first == Some(attempt.url().origin()) {
                attempt.follow()
            } else {
                attempt.error("it points to another server, which is not followed")
            }
        });
        let builder = Client::builder()
            .tls_backend_preconfigured((**config).clone())
            .redirect(policy)
            .referer(false)
            .connect_timeout(target.limits.connect + target.limits.tls)
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ));
        let builder = match &target.proxy {
            ProxyRule::Off => builder.no_proxy(),
            ProxyRule::Environment if address.is_loopback => builder.no_proxy(),
            ProxyRule::Environment => builder,
            ProxyRule::At(proxy) => builder.proxy(Proxy::all(proxy).map_err(|error| {
                failed(
                    LinkFailure::Proxy,
                    format!("The proxy of this account is not valid: {error}"),
                )
            })?),
        };
        let client = builder
            .build()
            .map_err(|error| bad(format!("HTTP cannot be set up: {}", innermost(&error))))?;
        Ok(Self { client, origin })
    }

    /// Carries a request out. Dropping the future cancels it.
    pub async fn execute(
        &self,
        request: HttpRequest,
        secret: Option<Secret>,
        source: Option<Source>,
        sink: Option<&mut dyn Sink>,
        progress: Progress,
    ) -> Result<HttpReply, HttpError> {
        let moved = Arc::new(AtomicU64::new(0));
        let run = self.run(request, secret, source, sink, progress, moved.clone());
        tokio::pin!(run);
        let mut seen = 0;
        let mut still = Duration::ZERO;
        loop {
            tokio::select! {
                result = &mut run => return result,
                () = tokio::time::sleep(LOOK) => {
                    let now = moved.load(Ordering::Relaxed);
                    still = if now == seen { still + LOOK } else { Duration::ZERO };
                    seen = now;
                    if still >= STALLED {
                        return Err(HttpError::Network(
                            "nothing moved for two minutes".into(),
                        ));
                    }
                }
            }
        }
    }

    async fn run(
        &self,
        request: HttpRequest,
        secret: Option<Secret>,
        source: Option<Source>,
        sink: Option<&mut dyn Sink>,
        progress: Progress,
        moved: Arc<AtomicU64>,
    ) -> Result<HttpReply, HttpError> {
        let url = self.url(&request)?;
        let mut builder = match request.method {
            HttpMethod::Get => self.client.get(url),
            HttpMethod::Post => self.client.post(url),
        };
        if let Some(secret) = &secret {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", secret.expose()))
                .map_err(|_| HttpError::Network("the secret holds a line break".into()))?;
            value.set_sensitive(true);
            builder = builder.header(AUTHORIZATION, value);
        }
        if let Some(media_type) = &request.content_type {
            let value = HeaderValue::from_str(media_type)
                .unwrap_or(HeaderValue::from_static("application/octet-stream"));
            builder = builder.header(CONTENT_TYPE, value);
        }
        match (&request.body, source) {
            (HttpBody::None, _) => {}
            (HttpBody::File(_), Some(source)) => {
                let size = source.size;
                builder = builder.header(CONTENT_LENGTH, size).body(upload(
                    source,
                    progress.clone(),
                    moved.clone(),
                ));
            }
            (HttpBody::File(_), None) => {
                return Err(HttpError::LocalFile("it is not open".into()));
            }
        }
        let response = builder.send().await.map_err(|error| wrong(&error))?;
        let status = response.status();
        let mut reply = HttpReply {
            transfer: request.transfer,
            status: status.as_u16(),
            body: Bytes::new(),
        };
        if !status.is_success() {
            if status.is_redirection() {
                return Err(HttpError::Network(format!(
                    "the server answered {} and did not say where to go",
                    status.as_u16()
                )));
            }
            reply.body = beginning(response).await;
            return Ok(reply);
        }
        match (request.sink, sink) {
            (HttpSink::Memory { max }, _) => {
                reply.body = whole(response, max, &moved).await?;
            }
            (HttpSink::File { max }, Some(sink)) => {
                download(response, max, sink, &progress, &moved).await?;
            }
            (HttpSink::File { .. }, None) => {
                return Err(HttpError::LocalFile("it is not open".into()));
            }
        }
        Ok(reply)
    }

    fn url(&self, request: &HttpRequest) -> Result<Url, HttpError> {
        let elsewhere =
            || HttpError::Network("the address leads away from the account's own server".into());
        if !request.path.starts_with('/') {
            return Err(elsewhere());
        }
        let mut url = self.origin.join(&request.path).map_err(|_| elsewhere())?;
        // A path that begins with two slashes or a backslash names another host.
        if url.origin() != self.origin.origin() || url.has_host() != self.origin.has_host() {
            return Err(elsewhere());
        }
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        Ok(url)
    }
}

fn upload(source: Source, progress: Progress, moved: Arc<AtomicU64>) -> Body {
    let Source { file, size } = source;
    let file = tokio::fs::File::from_std(file).take(size);
    let chunks = ReaderStream::with_capacity(file, CHUNK).inspect(move |chunk| {
        if let Ok(chunk) = chunk {
            let count = chunk.len() as u64;
            let done = moved.fetch_add(count, Ordering::Relaxed) + count;
            progress(done, Some(size));
        }
    });
    Body::wrap_stream(chunks)
}

async fn beginning(mut response: Response) -> Bytes {
    let mut body = BytesMut::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = REFUSAL - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == REFUSAL {
            break;
        }
    }
    body.freeze()
}

async fn whole(mut response: Response, max: usize, moved: &AtomicU64) -> Result<Bytes, HttpError> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| wrong(&error))? {
        moved.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        if body.len() + chunk.len() > max {
            return Err(HttpError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

async fn download(
    mut response: Response,
    max: u64,
    sink: &mut dyn Sink,
    progress: &Progress,
    moved: &AtomicU64,
) -> Result<(), HttpError> {
    let total = response.content_length();
    if total.is_some_and(|total| total > max) {
        return Err(HttpError::TooLarge);
    }
    let mut done = 0;
    while let Some(chunk) = response.chunk().await.map_err(|error| wrong(&error))? {
        done += chunk.len() as u64;
        moved.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        if done > max {
            return Err(HttpError::TooLarge);
        }
        sink.take(&chunk).map_err(HttpError::LocalFile)?;
        progress(done, total);
    }
    Ok(())
}

fn wrong(error: &reqwest::Error) -> HttpError {
    let inner = innermost(error);
    HttpError::Network(if error.is_timeout() {
        "the server did not answer in time".into()
    } else if error.is_connect() {
        format!("the server could not be reached: {inner}")
    } else if error.is_body() || error.is_decode() {
        format!("the transfer broke off: {inner}")
    } else {
        inner
    })
}

fn innermost(error: &reqwest::Error) -> String {
    let mut current: &dyn Error = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
