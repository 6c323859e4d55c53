//! trialogue: the terminal client for your agents. One window, three protocols.
//!
//! This page is the map of the house; `tests/architecture.rs` holds its arrows.
//!
//! # Three rings
//! - **Centre, pure:** [`domain`] (nouns), [`protocol`] (drivers), [`app`] (state and `update`),
//!   [`render`] (text to styled rows), [`view`] (state to cells), [`paint`] (cells to bytes),
//!   [`text`], [`input`], [`link`]. No clock, no file, no socket, no randomness.
//! - **Edge:** [`transport`] (sockets, child processes, HTTP), [`store`] (SQLite), [`config`].
//! - **Shell:** [`runtime`] owns tasks, clock and terminal and connects the rest; [`cli`] is what
//!   can be typed; [`demo`] holds gateways to try it on, written from the specs and sharing nothing
//!   with the drivers.
//!
//! # How things travel
//! A key becomes an `app::Event`, `app::update` changes the state and returns effects as data, the
//! shell carries them out. A command effect goes to the account's task, which pairs one driver with
//! one transport; the driver turns it into frames. Frames that come in become account events with
//! their provenance; reducers take them idempotently; one batch is one transaction, so messages and
//! the cursor behind them are on disk together. The view draws the state into cells, the painter
//! turns the difference to what the terminal shows into bytes, paced by what the line takes.
//!
//! # Concept by protocol
//! | concept | Iris | Pheby | Omi |
//! |---|---|---|---|
//! | link ready | `hello` → `hello.ack`, `sync` → `sync.done` | `hello` → `ready` | `init`, owner, surface resolved |
//! | conversation | channel, with a thread as a lane of its own | conversation | surface session |
//! | accepted | echo or `read.receipt` | `run.accepted` with our request id | first line with our request id |
//! | text | `message.update` replaces | `message.delta` replaces | `text_delta` appends |
//! | final | `message.stop`, `message` | `message.complete` | `result` decides |
//! | reasoning | field of the final message | – (effort only) | `thinking_delta` appends |
//! | tool | by index in a turn | by call id | by use id |
//! | todos | `todo.update`, whole list | arguments of the tool `todo` | input of the tool `TodoWrite` |
//! | run | inferred from typing, messages, tools | stated | stated by query and result |
//! | cancel | `/stop` where the catalogue has it | `run.cancel` | `interrupt` |
//! | approval | notification and message, answered by replying | request with choices | local tools under the person's policy; `elicitation_pending`; the queue of the runtime |
//! | clarification | notification and message | choices and free text | `elicitation_pending` |
//! | picker | `picker.choice` | – | – |
//! | models, effort | slash pickers | catalogue, scopes | profile; effort per query |
//! | auto-approve | – | `yolo.set` | act mode |
//! | history | pages older than a message | pages older than a message, with a snapshot | the whole journal from a mark |
//! | catch-up | replay from the cursor | snapshot on reopening | journal from the mark |
//! | attachments | binary frames | HTTP | local files |
//!
//! A driver that lacks a row says so in its `Capabilities`, with the words for the person.
//!
//! # Adding a protocol
//! [`protocol::adding`] goes through it step by step; `tests/echo` is what it leads to.

pub mod app;
pub mod cli;
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
