//! One configured account. No secret is ever in here; only where to find it.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// One `[[account]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountConfig {
    /// Unique; the person's name for it and the key of its rows in the store.
    pub name: String,
    pub endpoint: Endpoint,
    /// A command whose first line of output is the secret; an argument list.
    pub secret_command: Option<Vec<String>>,
    /// Switched off: not connected at start.
    pub is_disabled: bool,
    /// Red, green, blue of its mark in the sidebar.
    pub color: Option<(u8, u8, u8)>,
}

impl AccountConfig {
    /// An account with nothing set besides where it is.
    pub fn new(name: &str, endpoint: Endpoint) -> Self {
        Self {
            name: name.to_owned(),
            endpoint,
            secret_command: None,
            is_disabled: false,
            color: None,
        }
    }
}

/// Where an account lives and which protocol is spoken there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Endpoint {
    Pheby(NetworkEndpoint),
    Iris(NetworkEndpoint),
    Omi(ProcessEndpoint),
}

/// A kind of account, as data: its name in the configuration and what makes an endpoint of it.
#[derive(Clone, Copy, Debug)]
pub struct EndpointKind {
    pub name: &'static str,
    pub make: Make,
}

/// What an endpoint is made of.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    Network {
        /// Stands in for a path that is missing in the address.
        default_path: Option<&'static str>,
        make: fn(NetworkEndpoint) -> Endpoint,
    },
    Process {
        make: fn(ProcessEndpoint) -> Endpoint,
    },
}

/// Every kind there is.
pub const KINDS: &[EndpointKind] = &[
    EndpointKind {
        name: "pheby",
        make: Make::Network {
            default_path: Some("/ws"),
            make: Endpoint::Pheby,
        },
    },
    EndpointKind {
        name: "iris",
        make: Make::Network {
            default_path: None,
            make: Endpoint::Iris,
        },
    },
    EndpointKind {
        name: "omi",
        make: Make::Process {
            make: Endpoint::Omi,
        },
    },
];

impl EndpointKind {
    /// The kind of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// An endpoint of this kind that leads nowhere.
    pub fn nowhere(&self) -> Endpoint {
        match self.make {
            Make::Network { make, .. } => make(NetworkEndpoint {
                url: "wss://nowhere.invalid/".to_owned(),
                ..NetworkEndpoint::default()
            }),
            Make::Process { make } => make(ProcessEndpoint {
                command: vec!["nothing".to_owned()],
                ..ProcessEndpoint::default()
            }),
        }
    }
}

/// Where the other side of an account is, whatever it speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndpointPlace<'a> {
    Network(&'a NetworkEndpoint),
    Process(&'a ProcessEndpoint),
}

/// The address, or the command as it was given.
impl std::fmt::Display for EndpointPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Network(endpoint) => f.write_str(&endpoint.url),
            Self::Process(endpoint) => f.write_str(&endpoint.command.join(" ")),
        }
    }
}

impl Endpoint {
    /// The kind in the configuration.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pheby(_) => "pheby",
            Self::Iris(_) => "iris",
            Self::Omi(_) => "omi",
        }
    }

    /// Where it is.
    pub fn place(&self) -> EndpointPlace<'_> {
        match self {
            Self::Pheby(endpoint) | Self::Iris(endpoint) => EndpointPlace::Network(endpoint),
            Self::Omi(endpoint) => EndpointPlace::Process(endpoint),
        }
    }
}

/// A server on the network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkEndpoint {
    /// Complete: `ws://` or `wss://` with host and path.
    pub url: String,
    /// A file with further certificate authorities (PEM).
    pub ca_file: Option<PathBuf>,
    /// Plain `ws://` to another machine is allowed.
    pub allow_plain: bool,
    /// A proxy of its own; empty switches proxies off; none follows the environment.
    pub proxy: Option<String>,
}

/// A runtime started here as a child process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessEndpoint {
    /// Program and arguments; never a shell line.
    pub command: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// Working directory of new conversations; none means where trialogue was started.
    pub directory: Option<PathBuf>,
    /// The owner's id the token belongs to; none means a random one, made once and kept.
    pub owner: Option<String>,
    pub adapter: Option<String>,
    pub model: Option<String>,
    /// Uses the desktop app's own conversation instead of local ones.
    pub main_chat: bool,
    /// Own tools by name.
    pub tools: BTreeMap<String, ToolConfig>,
}

/// A command of the person's own that answers a tool request: JSON in, JSON out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToolConfig {
    pub command: Vec<String>,
}
