//! Where an account lives, how a link to it is made, and when the next attempt is due.

use crate::config::account::{AccountConfig, EndpointPlace, NetworkEndpoint};
use crate::link::{ChildSpec, CloseReason, Frame};
use crate::protocol::Retry;
use crate::runtime::recording::stage::Seat;
use crate::transport::backoff::Backoff;
use crate::transport::dial::{Limits, ProxyRule, Target};
use crate::transport::http::HttpClient;
use crate::transport::{Link, child, tls, websocket};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How long the other side has to go when the program must end now, before it is made to.
const LAST_GRACE: Duration = Duration::from_millis(400);

/// Where the other side of a link is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    Network(Target),
    Process(ChildSpec),
    /// A recording that is played instead.
    Recording(Seat),
}

/// A link that was just made, with what HTTP needs to reach the same server.
pub(super) struct Made {
    pub link: Link,
    pub http: Option<HttpClient>,
}

impl Place {
    /// The place of an account; `launch` says how a runtime is started, where there is one.
    pub fn of(account: &AccountConfig, launch: Option<ChildSpec>) -> Self {
        match account.endpoint.place() {
            EndpointPlace::Network(endpoint) => Self::Network(target(endpoint)),
            EndpointPlace::Process(endpoint) => {
                Self::Process(launch.unwrap_or_else(|| ChildSpec {
                    command: endpoint.command.clone(),
                    environment: endpoint.environment.clone(),
                    directory: endpoint.directory.clone(),
                    ..ChildSpec::default()
                }))
            }
        }
    }

    /// How long the other side may take to go.
    pub(super) fn grace(&self) -> Duration {
        match self {
            Self::Network(_) => Duration::from_millis(500),
            Self::Process(_) => Duration::from_secs(3),
            Self::Recording(_) => Duration::ZERO,
        }
    }

    async fn connect(self) -> Result<Made, CloseReason> {
        match self {
            Self::Network(target) => {
                let file = target.ca_file.clone();
                // Read for every attempt: a new authority file must not need a restart.
                let config =
                    tokio::task::spawn_blocking(move || tls::client_config(file.as_deref()))
                        .await
                        .map_err(|_| CloseReason::Ours)??;
                let link = websocket::connect(&target, &config).await?;
                let http = HttpClient::new(&target, &config)?;
                Ok(Made {
                    link,
                    http: Some(http),
                })
            }
            Self::Process(spec) => Ok(Made {
                link: child::start(&spec).await?,
                http: None,
            }),
            Self::Recording(seat) => Ok(Made {
                link: seat.dial().await?,
                http: None,
            }),
        }
    }
}

fn target(endpoint: &NetworkEndpoint) -> Target {
    Target {
        url: endpoint.url.clone(),
        ca_file: endpoint.ca_file.clone(),
        allow_plain: endpoint.allow_plain,
        proxy: ProxyRule::of_setting(endpoint.proxy.as_deref()),
        limits: Limits::default(),
    }
}

/// A link that stands.
pub(super) struct Standing {
    pub link: Link,
    pub since: Instant,
}

/// What is being done about the link.
pub(super) enum Attempt {
    /// Nothing: off, refused, or a link stands.
    Idle,
    Dialling(JoinHandle<Result<Made, CloseReason>>),
    Waiting {
        until: Instant,
    },
}

/// The links of one account, one after the other.
pub(super) struct Links {
    place: Place,
    backoff: Backoff,
    pub standing: Option<Standing>,
    pub attempt: Attempt,
    /// The link before, on its way out. A runtime must be gone before it is started again.
    leaving: Option<JoinHandle<()>>,
    pub generation: u64,
}

impl Links {
    pub fn new(place: Place, seed: u64) -> Self {
        Self {
            place,
            backoff: Backoff::new(seed),
            standing: None,
            attempt: Attempt::Idle,
            leaving: None,
            generation: 0,
        }
    }

    /// Whether a call of [`Links::dial`] would do anything.
    pub fn may_dial(&self) -> bool {
        self.standing.is_none() && !matches!(self.attempt, Attempt::Dialling(_))
    }

    /// Begins an attempt.
    pub fn dial(&mut self) {
        if !self.may_dial() {
            return;
        }
        let place = self.place.clone();
        let leaving = self.leaving.take();
        self.attempt = Attempt::Dialling(tokio::spawn(async move {
            if let Some(leaving) = leaving {
                let _ = leaving.await;
            }
            place.connect().await
        }));
    }

    /// A link came to stand.
    pub fn stands(&mut self, link: Link) -> u64 {
        self.attempt = Attempt::Idle;
        self.generation += 1;
        self.standing = Some(Standing {
            link,
            since: Instant::now(),
        });
        self.generation
    }

    /// The link or the attempt is over. A long link forgives the failures before it.
    pub fn ended(&mut self) {
        if let Some(standing) = self.standing.take() {
            self.backoff.link_lived(standing.since.elapsed());
        }
        self.attempt = Attempt::Idle;
    }

    /// Lets the link go in the background.
    pub fn leave(&mut self, last: Vec<Frame>, grace: Duration) {
        let grace = match self.place {
            Place::Process(_) => grace.max(self.place.grace()),
            Place::Network(_) | Place::Recording(_) => grace,
        };
        self.leave_within(last, grace);
    }

    fn leave_within(&mut self, last: Vec<Frame>, grace: Duration) {
        if let Some(standing) = self.standing.take() {
            self.backoff.link_lived(standing.since.elapsed());
            self.leaving = Some(tokio::spawn(async move {
                let _ = standing.link.close(last, grace).await;
            }));
        }
        if let Attempt::Dialling(dialling) = &self.attempt {
            dialling.abort();
        }
        self.attempt = Attempt::Idle;
    }

    /// Lets the link go with the usual grace.
    pub fn leave_quietly(&mut self, last: Vec<Frame>) {
        let grace = self.place.grace();
        self.leave(last, grace);
    }

    /// Lets the link go because the program must end now.
    pub fn leave_in_a_hurry(&mut self, last: Vec<Frame>) {
        self.leave_within(last, self.place.grace().min(LAST_GRACE));
    }

    /// Plans the next attempt; none when there is none.
    pub fn plan(&mut self, retry: Retry) -> Option<Duration> {
        let delay = match retry {
            Retry::Backoff => self.backoff.grown(),
            Retry::Soon => self.backoff.soon(),
            Retry::NotBefore(least) => self.backoff.not_before(least),
            Retry::Never => {
                self.attempt = Attempt::Idle;
                return None;
            }
        };
        self.attempt = Attempt::Waiting {
            until: Instant::now() + delay,
        };
        Some(delay)
    }

    /// The person asked; earlier failures no longer count.
    pub fn forgive(&mut self) {
        self.backoff.reset();
    }

    /// Waits until the link before is gone.
    pub async fn gone(&mut self) {
        if let Some(leaving) = self.leaving.take() {
            let _ = leaving.await;
        }
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        if let Attempt::Dialling(dialling) = &self.attempt {
            dialling.abort();
        }
    }
}
