//! The demo gateways behind real sockets and the real clock: one loopback listener, on which each
//! gateway has a path for WebSockets, and Pheby its `/attachments`.
//!
//! One task keeps each engine and alone touches it. Connections talk to it through bounded
//! queues; it waits for a slow reader a bounded time and then cuts it, so memory stays bounded.

mod body;
mod connection;

use super::disk::Disk;
use super::engine::{ConnectionId, Gateway, GatewayOutput, HttpAnswer, HttpCall, Kept};
use super::options::DemoOptions;
use super::{iris, pheby};
use crate::link::Frame;
use connection::welcome;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Calls that may wait for an engine.
const ENGINE_QUEUE: usize = 256;
/// How long an engine waits for a client that does not read.
const SLOW_CLIENT: Duration = Duration::from_secs(20);

/// Where a gateway is to be found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServedGateway {
    pub protocol: &'static str,
    pub url: String,
    pub secret: String,
}

/// Running gateways; dropping it ends them and every connection.
#[derive(Debug)]
pub struct Served {
    pub gateways: Vec<ServedGateway>,
    pub address: SocketAddr,
    tasks: Vec<JoinHandle<std::io::Result<()>>>,
}

impl Served {
    /// The gateway of that protocol.
    pub fn gateway(&self, protocol: &str) -> Option<&ServedGateway> {
        self.gateways.iter().find(|g| g.protocol == protocol)
    }

    /// Waits for ever, or until one of them cannot go on; the error says why.
    pub async fn wait(mut self) -> std::io::Result<()> {
        let tasks = std::mem::take(&mut self.tasks);
        let ends = tasks.into_iter().map(|task| {
            Box::pin(async move {
                match task.await {
                    Ok(end) => end,
                    Err(broken) => Err(std::io::Error::other(broken)),
                }
            })
        });
        futures_util::future::select_all(ends).await.0
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Starts the gateways on that address; port 0 takes a free one. Must run inside a tokio runtime.
pub async fn serve(address: SocketAddr, options: DemoOptions) -> std::io::Result<Served> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let mut setup = options.setup;
    if !options.is_fixed_in_time {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        setup.epoch = since.as_millis() as u64;
        // Ids of one start must not meet those of the next in a client's memory.
        setup.seed ^= setup.epoch;
    }
    let mut keepers = Vec::new();
    let mut tasks = Vec::new();
    let mut gateways = Vec::new();
    let engines: Vec<(&'static str, &'static str, Box<dyn Gateway>)> = vec![
        (
            "iris",
            "/iris",
            Box::new(iris::Iris::new(setup.clone(), options.iris)),
        ),
        (
            "pheby",
            "/ws",
            Box::new(pheby::Pheby::new(setup.clone(), options.pheby)),
        ),
    ];
    for (protocol, path, mut engine) in engines {
        let disk = match &options.state {
            Some(folder) => reopen(folder, protocol, engine.as_mut()).await?,
            None => None,
        };
        let (calls, inbox) = mpsc::channel(ENGINE_QUEUE);
        tasks.push(tokio::spawn(keep(engine, disk, inbox)));
        keepers.push(Door { path, calls });
        gateways.push(ServedGateway {
            protocol,
            url: format!("ws://{address}{path}"),
            secret: setup.secret.clone(),
        });
    }
    let doors: Arc<[Door]> = keepers.into();
    tasks.push(tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        connections.spawn(welcome(stream, peer, doors.clone()));
                    }
                    // Out of file handles or the like: later may be better.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }));
    Ok(Served {
        gateways,
        address,
        tasks,
    })
}

/// Lets a gateway go on with what an earlier one left in the folder.
async fn reopen(
    folder: &std::path::Path,
    protocol: &str,
    engine: &mut dyn Gateway,
) -> std::io::Result<Option<Disk>> {
    let Some(mut disk) = Disk::open(folder, protocol, engine)? else {
        return Ok(None);
    };
    if let Some(kept) = disk.read()? {
        engine.restore(&kept).map_err(|problem| {
            std::io::Error::other(format!("what is kept for {protocol} is damaged: {problem}"))
        })?;
    }
    if let Some(kept) = disk.change(engine) {
        disk.write(kept).await?;
    }
    Ok(Some(disk))
}

/// The way to one engine.
struct Door {
    path: &'static str,
    calls: mpsc::Sender<Call>,
}

/// What connections ask of an engine's keeper.
enum Call {
    Connect {
        peer: String,
        client: mpsc::Sender<ToClient>,
        answer: oneshot::Sender<Result<ConnectionId, u16>>,
    },
    Frame {
        connection: ConnectionId,
        frame: Frame,
    },
    Disconnect {
        connection: ConnectionId,
    },
    Http {
        call: HttpCall,
        answer: oneshot::Sender<HttpAnswer>,
    },
}

enum ToClient {
    Frame(Frame),
    Close { code: u16, reason: String },
    Cut,
}

/// What has to be on the disk before anybody hears of it.
fn changed<'a>(disk: &'a mut Option<Disk>, engine: &dyn Gateway) -> Option<(&'a mut Disk, Kept)> {
    let disk = disk.as_mut()?;
    let kept = disk.change(engine)?;
    Some((disk, kept))
}

/// Owns an engine: turns calls and the passing of time into outputs for the clients. Ends early only
/// when what must be kept cannot be written.
async fn keep(
    mut engine: Box<dyn Gateway>,
    mut disk: Option<Disk>,
    mut inbox: mpsc::Receiver<Call>,
) -> std::io::Result<()> {
    let start = Instant::now();
    let now = |start: Instant| start.elapsed().as_millis() as u64;
    let mut clients: HashMap<ConnectionId, mpsc::Sender<ToClient>> = HashMap::new();
    loop {
        let pause = engine
            .due()
            .map(|due| Duration::from_millis(due.saturating_sub(now(start))));
        let call = tokio::select! {
            call = inbox.recv() => match call {
                Some(call) => Some(call),
                None => return Ok(()),
            },
            () = tokio::time::sleep(pause.unwrap_or(Duration::from_secs(3600))) => None,
        };
        let due = engine.advance(now(start));
        if let Some((disk, kept)) = changed(&mut disk, engine.as_ref()) {
            disk.write(kept).await?;
        }
        pass_on(&mut engine, &mut clients, due).await;
        let outputs = match call {
            None => Vec::new(),
            Some(Call::Connect {
                peer,
                client,
                answer,
            }) => {
                let (connection, outputs) = engine.connect(&peer);
                let refusal = outputs.iter().find_map(|output| match output {
                    GatewayOutput::Refuse { status, .. } => Some(*status),
                    _ => None,
                });
                let verdict = match refusal {
                    Some(status) => Err(status),
                    None => {
                        clients.insert(connection, client);
                        Ok(connection)
                    }
                };
                if answer.send(verdict).is_err() {
                    clients.remove(&connection);
                    engine.disconnect(connection);
                }
                outputs
            }
            Some(Call::Frame { connection, frame }) => engine.frame(connection, &frame),
            Some(Call::Disconnect { connection }) => {
                clients.remove(&connection);
                engine.disconnect(connection)
            }
            Some(Call::Http { call, answer }) => {
                // A caller that went away needs no answer.
                let reply = engine.http(&call);
                if let Some((disk, kept)) = changed(&mut disk, engine.as_ref()) {
                    disk.write(kept).await?;
                }
                let _ = answer.send(reply);
                Vec::new()
            }
        };
        if let Some((disk, kept)) = changed(&mut disk, engine.as_ref()) {
            disk.write(kept).await?;
        }
        pass_on(&mut engine, &mut clients, outputs).await;
    }
}

async fn pass_on(
    engine: &mut Box<dyn Gateway>,
    clients: &mut HashMap<ConnectionId, mpsc::Sender<ToClient>>,
    outputs: Vec<GatewayOutput>,
) {
    let mut lost = Vec::new();
    for output in outputs {
        let (connection, message) = match output {
            GatewayOutput::Send { connection, frame } => (connection, ToClient::Frame(frame)),
            GatewayOutput::Close {
                connection,
                code,
                reason,
            } => (connection, ToClient::Close { code, reason }),
            GatewayOutput::Cut { connection } => (connection, ToClient::Cut),
            GatewayOutput::Refuse { .. } | GatewayOutput::Log { .. } => continue,
        };
        let Some(client) = clients.get(&connection) else {
            continue;
        };
        let is_last = !matches!(message, ToClient::Frame(_));
        let sent = client.send_timeout(message, SLOW_CLIENT).await;
        if is_last || sent.is_err() {
            clients.remove(&connection);
            lost.push(connection);
        }
    }
    for connection in lost {
        // What a gone client leaves behind may tell the others something.
        let outputs = engine.disconnect(connection);
        Box::pin(pass_on(engine, clients, outputs)).await;
    }
}
