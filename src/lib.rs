//! trialogue: the terminal client for your agents.

pub mod app;
pub mod config;
pub mod demo;
pub mod domain;
pub mod input;
pub mod link;
pub mod paint;
pub mod protocol;
pub mod render;
pub mod runtime;
pub mod store;
pub mod text;
pub mod transport;
pub mod view;
