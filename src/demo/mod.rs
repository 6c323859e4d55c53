//! The demo gateways: a scripted agent behind the server side of each protocol, so that everything
//! can be tried without a server, and so that drivers can be tested against something that was not
//! written from them. Frames are literal JSON after the specs; no type of `protocol` is used here,
//! so that a misspelt field cannot agree with itself.
//!
//! - [`scenario`]: what the agent can play, as TOML files; a word in a message picks one.
//! - [`agent`]: plays a scenario in virtual time.
//! - [`engine`]: the shape of a gateway without sockets or clock.
//! - [`pheby`], [`iris`]: the gateways. Where a spec can be read in several ways, the other
//!   readings are fields of `Readings`.
//! - [`omi`]: the runtime side of Omi on lines.
//! - [`options`]: everything of it that can be set by name.
//! - [`serve`]: the same engines behind real sockets and the real clock.

pub mod agent;
mod assets;
mod disk;
pub mod engine;
pub mod files;
pub mod iris;
pub mod omi;
pub mod options;
pub mod pheby;
pub mod scenario;
pub mod serve;

pub use engine::{ConnectionId, Gateway, GatewayOutput, HttpAnswer, HttpCall, Setup};
pub use omi::{RuntimeOptions, runtime};
pub use options::DemoOptions;
pub use scenario::Library;
pub use serve::{Served, serve};
