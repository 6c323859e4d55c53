//! Adding a protocol: what to write, where, in which order, and how to see that it works. The toy
//! protocol in `tests/echo` was made by following this page; read it beside it.
//!
//! # What a driver is
//! A value that implements [`Driver`](super::Driver). It is told everything as an
//! [`Input`](super::Input) with the time, and says everything as an [`Output`](super::Output). It
//! opens no socket, starts no task, reads no clock, and keeps nothing on disk: the shell dials,
//! hands in frames, counts delays, opens files and stores what is kept. So a driver can be tested
//! line by line, in no time, with any fault.
//!
//! # What a frame is
//! The shell knows two ways to the other side, and both hand over whole [`Frame`](crate::link::Frame)s:
//!
//! | endpoint | a frame is |
//! |---|---|
//! | network: `ws://` or `wss://` | one message of the WebSocket, text or binary |
//! | process: a program started here | one line of its standard output or input, without the line break |
//!
//! A protocol on a bare TCP socket, or one over HTTP alone, needs a transport of its own first: a
//! room beside `transport/websocket.rs` that gives the same
//! [`Link`](crate::transport::Link).
//!
//! # Step by step
//! 1. **The table.** Write down every frame of the protocol and what it means in the nouns of
//!    [`domain`](crate::domain): which is the link being ready, which a conversation, a message, a
//!    run, a decision. The map in the crate documentation has a column for each protocol; add one.
//!    What the protocol does not have becomes a [`Support::No`](crate::domain::Support) with words
//!    for the person, never a missing feature on the screen.
//! 2. **`protocol/NAME/frames.rs`.** Types for the frames in the spelling of the specification,
//!    read leniently: a field that is missing or odd becomes its default and an oddity, text is
//!    bounded. Nothing here knows the domain.
//! 3. **`protocol/NAME/mod.rs`.** The driver: a queue of outputs, what is pending (a request with
//!    what it was for, and a deadline), and the parts of the protocol in files of their own once
//!    there is more than one topic. Begin with one thin path: hello, ready, the directory, send,
//!    the answer, its end.
//!    Of the inputs, what the protocol has no use for (HTTP, files, tools) is passed over.
//! 4. **Place.** Add a variant to [`Endpoint`](crate::config::account::Endpoint), around a
//!    [`NetworkEndpoint`](crate::config::account::NetworkEndpoint) or a
//!    [`ProcessEndpoint`](crate::config::account::ProcessEndpoint), and a row to
//!    [`KINDS`](crate::config::account::KINDS) below it: reading and writing `config.toml`, its
//!    schema, recordings and transcripts go by that row. `cargo check` then names every match that
//!    wants an arm: `kind` and `place` of the endpoint, [`driver`](super::driver),
//!    [`launch`](super::launch) (none, unless the program needs more than its command line),
//!    [`speaks`](super::speaks). Nothing names these, so do not forget them: what the wizard asks
//!    in `protocol/kinds.rs` (a test there counts), `account add` in `cli/args.rs` and
//!    `cli/account.rs`, and an account of the kind in the example of `config/file.rs`.
//! 5. **Transcripts.** One rule a file in `tests/transcripts/NAME`: what comes in, what is asked,
//!    what goes out. `tests/transcripts.rs` plays them once it has a test that says
//!    `check("NAME")`; with `TRANSCRIPTS=rewrite` it writes what came, and you read it. Settings
//!    that an account needs for them are given in `account` of `tests/support/driver_lab.rs`. `trialogue record` and `replay --transcript` make one of a real
//!    session.
//! 6. **A gateway to try it on.** `demo` holds one for each protocol, written from the
//!    specification with literal frames and without the driver's types, so that a
//!    misunderstanding shows.
//! 7. **The arrows.** `tests/architecture.rs` keeps drivers apart from each other; add the name to
//!    its list.
//!
//! # What the rest of the program counts on
//! - Every command ends in exactly one outcome. When the link ends, all that is pending ends:
//!   `LinkLost` when the request may have left, `NotSent` when it cannot have.
//! - `LinkEvent::Changed(Ready)` comes once commands may be sent; `CapabilitiesChanged` before it.
//!   After `Ready` the program asks for the directory if the driver has not sent one, and opens
//!   what is on screen.
//! - A message is named by a `RemoteId` that stays. Where the server gives a message another name
//!   later, say `Rekeyed`; where it gives none, make one out of something that does not change.
//! - An own message that was accepted is `Acknowledged` with its command. Where the server echoes
//!   it, the echo carries the command. Nothing is ever sent twice by itself.
//! - A run has a beginning and an end, stated or inferred; tools and growing text belong to it.
//! - Events say where they come from. What is replayed or part of history does not ring.
//! - What must be there after a restart (a cursor, an id of this device) is a `SyncEvent::Kept`,
//!   handed in again as [`Resume`](super::Resume); it is written in the same transaction as the
//!   events before it.
//! - A bad frame is one `Oddity` and nothing else. A broken handshake refuses the link with words
//!   that say what to do. Nothing from outside may panic: no `unwrap`, no index, no recursion.
//! - `redact` masks every secret, also in frames that nobody expects.
//!
//! # When it is done
//! The transcripts cover every frame and every reading; `tests/pairs.rs` and `tests/together.rs`
//! hold for the new kind; a person adds an account in the wizard, chats, restarts, loses the link
//! in the middle of an answer, and finds everything once.
