//! The account task and its transports against servers of this process, on loopback: what a person
//! sees when a server refuses, hangs, floods, cuts or lies. Nothing here sleeps: tests wait for
//! events, with a deadline that only a fault reaches.
#![allow(clippy::unwrap_used)]

#[path = "wire/gateways.rs"]
mod gateways;
#[path = "wire/http.rs"]
mod http;
#[path = "wire/links.rs"]
mod links;
#[path = "wire/proxy.rs"]
mod proxy;
#[path = "wire/rig.rs"]
mod rig;
#[path = "wire/tls.rs"]
mod tls;
