//! Runs `transcripts/<protocol>/*.txt` against the drivers. One rule a file; its head names the
//! rule, and the readings of the specification that it covers (`# reads: P5 P6`).
//!
//! A line without a sign is an input: `up`, `down peer 1001`, `< {frame of the server}`,
//! `! command`, `+ 27s` (time passes), `http 3 201 {body}` and so on (`support/driver_lab.rs`). The
//! lines that begin with `>` (frames of ours) and `=` (everything else) are what comes of it.
//! `@ secret none` and the like at the top set the driver up. `#1` stands for the id of the first
//! request. With `TRANSCRIPTS=rewrite` in the environment the expected lines are written anew.

#![allow(clippy::unwrap_used)]

#[path = "support/driver_lab.rs"]
#[allow(dead_code)]
mod driver_lab;

use driver_lab::{Lab, LabSetup, perform};
use std::path::{Path, PathBuf};

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/transcripts")
        .join(kind)
}

fn files(kind: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder(kind))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "txt"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn is_expectation(line: &str) -> bool {
    line.starts_with('>') || line.starts_with('=') || line.starts_with("    ")
}

/// The transcript as the driver plays it now.
fn play(kind: &str, text: &str) -> String {
    let mut setup = LabSetup::new(kind);
    let mut lab: Option<Lab> = None;
    let mut out = String::new();
    for line in text.lines() {
        if is_expectation(line) {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(setting) = line.strip_prefix("@ ") {
            assert!(lab.is_none(), "settings come first");
            let (name, value) = setting.split_once(' ').unwrap();
            match name {
                "secret" => setup.secret = (value != "none").then(|| value.to_owned()),
                "fact" => {
                    let (name, value) = value.split_once('=').unwrap();
                    setup.facts.insert(name.to_owned(), value.to_owned());
                }
                _ => {
                    setup.settings.insert(name.to_owned(), value.to_owned());
                }
            }
            continue;
        }
        let lab = lab.get_or_insert_with(|| Lab::new(&setup));
        for line in perform(lab, line) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// Plays every transcript of a protocol and compares it line by line.
fn check(kind: &str) {
    let rewrites = std::env::var("TRANSCRIPTS").is_ok_and(|value| value == "rewrite");
    let files = files(kind);
    assert!(!files.is_empty(), "no transcripts for {kind}");
    let mut failures = Vec::new();
    for (name, text) in files {
        let played = match std::panic::catch_unwind(|| play(kind, &text)) {
            Ok(played) => played,
            Err(_) => {
                failures.push(format!("{kind}/{name}: broke off"));
                continue;
            }
        };
        if played == text {
            continue;
        }
        if rewrites {
            std::fs::write(folder(kind).join(format!("{name}.txt")), played).unwrap();
            continue;
        }
        let at = text
            .lines()
            .zip(played.lines())
            .take_while(|(a, b)| a == b)
            .count();
        failures.push(format!(
            "{kind}/{name}, line {}:\n  expected {}\n  came     {}",
            at + 1,
            text.lines().nth(at).unwrap_or("the end"),
            played.lines().nth(at).unwrap_or("the end"),
        ));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Every frame type, by direction, and every reading has a transcript.
fn covers(kind: &str, from_server: &[&str], from_client: &[&str], readings: &[&str]) {
    let all: String = files(kind).into_iter().map(|(_, text)| text).collect();
    let types = |sign: &str| -> Vec<String> {
        all.lines()
            .filter_map(|line| line.strip_prefix(sign))
            .filter_map(|json| serde_json::from_str::<serde_json::Value>(json).ok())
            .filter_map(|value| value["type"].as_str().map(str::to_owned))
            .collect()
    };
    let (seen, said) = (types("< "), types("> "));
    let read: Vec<&str> = all
        .lines()
        .filter_map(|line| line.strip_prefix("# reads:"))
        .flat_map(str::split_whitespace)
        .collect();
    let missing: Vec<&&str> = from_server
        .iter()
        .filter(|name| !seen.iter().any(|seen| seen == **name))
        .chain(
            from_client
                .iter()
                .filter(|name| !said.iter().any(|said| said == **name)),
        )
        .chain(readings.iter().filter(|name| !read.contains(*name)))
        .collect();
    assert!(missing.is_empty(), "{kind}: no transcript for {missing:?}");
}

#[test]
fn omi_follows_its_transcripts() {
    check("omi");
}

#[test]
fn omi_transcripts_cover_every_frame_and_reading() {
    covers(
        "omi",
        &[
            "init",
            "text_delta",
            "thinking_delta",
            "tool_use",
            "tool_activity",
            "tool_result_display",
            "model_used",
            "turn_activity",
            "result",
            "error",
            "auth_required",
            "auth_success",
            "cancel_ack",
            "authorized_tool_execution",
            "external_surface_run_begin_result",
            "external_surface_tool_result",
            "external_surface_run_complete_result",
            "chat_first_harness_executor_result",
            "owner_runtime_revoked",
            "control_tool_result",
            "default_execution_profile_configured",
            "surface_session_resolved",
            "session_execution_profile_migrated",
            "context_source_updated",
            "context_snapshot",
            "legacy_main_chat_sessions_imported",
            "journal_operation_result",
            "agent_spawn_journal_ensured",
            "journal_turn_changed",
            "journal_backend_sync",
            "journal_backend_delete",
            "journal_backend_reconcile",
            "chat_first_deferral_delivery",
            // Newer than the protocol file, or of one runtime only.
            "elicitation_pending",
            "elicitation_resolved",
            "authorized_tool_result",
            "session_invalidated",
        ],
        &[
            "query",
            "authorized_tool_execution_result",
            "direct_control_tool",
            "interrupt",
            "invalidate_session",
            "configure_default_execution_profile",
            "resolve_surface_session",
            "migrate_session_execution_profile",
            "context_source_update",
            "get_context_snapshot",
            "journal_record_exchange",
            "journal_update_turn",
            "journal_terminalize_turn",
            "journal_repair_turns",
            "journal_list_turns",
            "journal_clear_turns",
            "journal_backend_sync_result",
            "journal_backend_delete_result",
            "journal_backend_reconcile_result",
            "chat_first_deferral_delivery_result",
            "refresh_token",
            "refresh_owner",
            "resolve_elicitation",
        ],
        &[
            "O2", "O4", "O5", "O6", "O7", "O8", "O9", "O10", "O11", "O12", "O13",
            // Lines of the host's own checklist.
            "H2", "H3", "H4", "H5", "H6", "H7", "H8", "H9", "H10", "H11", "H12",
        ],
    );
}

/// What a terminal must not say by accident: voice, privileged requests, machinery of the app.
#[test]
fn omi_never_sends_what_is_not_for_a_terminal() {
    let all: String = files("omi").into_iter().map(|(_, text)| text).collect();
    let said: Vec<serde_json::Value> = all
        .lines()
        .filter_map(|line| line.strip_prefix("> "))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    for never in [
        "warmup",
        "journal_record_turn",
        "control_tool",
        "revoke_owner_runtime",
        "external_surface_run_begin",
        "external_surface_tool_invoke",
        "external_surface_run_complete",
        "import_legacy_main_chat_sessions",
        "journal_import_remote_turn",
        "ensure_agent_spawn_journal",
        "chat_first_harness_executor_begin",
        "append_chat_first_blocks",
        "append_chat_first_evidence",
        "record_question_interaction_reply",
        "materialize_chat_first_intents",
        "list_chat_first_materialization_receipts",
        "acknowledge_chat_first_materialization_receipts",
    ] {
        assert!(said.iter().all(|line| line["type"] != never), "{never}");
    }
    // The lists of fields of a query are closed, and what the kernel owns is not said by a host.
    let query = [
        "type",
        "protocolVersion",
        "requestId",
        "clientId",
        "ownerId",
        "sessionId",
        "surfaceKind",
        "producingTurnId",
        "prompt",
        "mode",
        "imageBase64",
        "attachments",
        "reasoningEffort",
    ];
    for line in &said {
        let text = line.to_string();
        for field in ["delivery\"", "\"deleteBackend\":true"] {
            assert!(!text.contains(field), "{text}");
        }
        if line["type"] == "query" {
            for (field, _) in line.as_object().unwrap() {
                assert!(query.contains(&field.as_str()), "{field}");
            }
        }
        let has_envelope = ["requestId", "clientId", "ownerId"]
            .iter()
            .all(|key| line[key].as_str().is_some_and(|id| !id.is_empty()));
        let is_answer = text.contains("_result\"") || text.contains("\"refresh_");
        assert!(has_envelope || is_answer, "{text}");
    }
}

/// What cannot be seen in a transcript is held by a test elsewhere; it must not vanish.
#[test]
fn omi_duties_outside_the_driver_have_their_tests() {
    for (what, file, test) in [
        (
            "argument list, environment, state folder, lock",
            "src/protocol/omi/launch.rs",
            "each_account_has_a_folder_and_a_lock_of_its_own",
        ),
        (
            "lines both ways, last words at the end",
            "src/transport/child.rs",
            "lines_go_both_ways_and_the_exit_is_told_with_the_last_words",
        ),
        (
            "standard error is drained",
            "src/transport/child.rs",
            "a_runtime_that_only_talks_to_standard_error_is_not_blocked",
        ),
        (
            "stop line, then the end of input",
            "src/transport/child.rs",
            "the_stop_line_is_written_and_the_runtime_may_go_by_itself",
        ),
        (
            "kill with the group",
            "src/transport/child.rs",
            "a_group_that_will_not_go_is_killed_with_what_it_started",
        ),
        (
            "one program a state folder",
            "src/transport/child.rs",
            "two_programs_do_not_share_one_runtime",
        ),
        (
            "a line arrives in one piece",
            "src/transport/child.rs",
            "a_line_is_written_in_one_piece",
        ),
        (
            "cap of a line, with recovery",
            "src/transport/child/lines.rs",
            "a_line_that_is_too_long_is_left_out_and_the_next_one_is_not",
        ),
        (
            "a runtime that outlived this program",
            "src/transport/child/survivor.rs",
            "a_runtime_of_an_earlier_run_is_stopped_at_the_next_start",
        ),
        (
            "the hash of a tool's input",
            "src/protocol/omi/input_hash.rs",
            "the_hash_is_the_one_a_runtime_was_seen_to_send",
        ),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let source = std::fs::read_to_string(&path).unwrap();
        assert!(
            source.contains(&format!("fn {test}(")),
            "{what}: no test {test} in {file}"
        );
    }
}

#[test]
fn omi_reads_lines_up_to_sixteen_mebibytes() {
    let mut lab = Lab::new(&LabSetup::new("omi"));
    lab.link_up();
    let init = |size: usize| {
        let pad = "x".repeat(size);
        format!(r#"{{"type":"init","protocolVersion":2,"runtimeVersion":"1","pad":"{pad}"}}"#)
    };
    let mib = 1024 * 1024;
    let said = |outputs: Vec<trialogue::protocol::Output>| -> Vec<String> {
        outputs.iter().flat_map(driver_lab::output_lines).collect()
    };
    let too_long = said(lab.frame(&init(17 * mib)));
    assert!(
        too_long.iter().any(|line| line.contains("was left out")),
        "{too_long:?}"
    );
    let long = said(lab.frame(&init(15 * mib)));
    assert!(long.iter().any(|line| line == "= link Ready"), "{long:?}");
}

#[test]
fn pheby_follows_its_transcripts() {
    check("pheby");
}

#[test]
fn pheby_transcripts_cover_every_frame_and_reading() {
    covers(
        "pheby",
        &[
            "ready",
            "pong",
            "error",
            "conversation.snapshot",
            "conversation.created",
            "conversation.updated",
            "conversation.history",
            "conversation.renamed",
            "conversation.deleted",
            "run.accepted",
            "message.start",
            "message.delta",
            "message.complete",
            "run.finished",
            "tool.event",
            "approval.request",
            "approval.resolved",
            "clarify.request",
            "clarify.resolved",
            "yolo.snapshot",
            "yolo.changed",
            "models.snapshot",
            "model.current",
            "model.changed",
            "reasoning.snapshot",
            "reasoning.changed",
            "attachment.added",
        ],
        &[
            "hello",
            "ping",
            "conversation.list",
            "conversation.create",
            "conversation.open",
            "conversation.rename",
            "conversation.delete",
            "chat.send",
            "run.cancel",
            "approval.respond",
            "clarify.respond",
            "yolo.current",
            "yolo.set",
            "models.list",
            "models.current",
            "model.set",
            "reasoning.current",
            "reasoning.set",
        ],
        &[
            "P1", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14", "P15",
            "P16", "P17", "P18", "P19", "P20", "P22", "P23", "P25", "P26", "P27", "P28",
        ],
    );
}

#[test]
fn files_of_pheby_go_both_ways_in_transcripts() {
    let all: String = files("pheby").into_iter().map(|(_, text)| text).collect();
    for method in ["POST /attachments", "GET /attachments/"] {
        assert!(
            all.lines()
                .any(|line| line.starts_with("= http ") && line.contains(method)),
            "no transcript for {method}"
        );
    }
}

#[test]
fn every_error_code_of_pheby_has_a_transcript() {
    let all: String = files("pheby").into_iter().map(|(_, text)| text).collect();
    for code in [
        "unauthorized",
        "auth_timeout",
        "version_mismatch",
        "bad_request",
        "invalid_json",
        "unknown_type",
        "not_found",
        "conversation_not_found",
        "approval_not_found",
        "clarify_not_found",
        "too_large",
        "rate_limited",
        "run_active",
        "internal_error",
        "not_implemented",
    ] {
        assert!(
            all.contains(&format!("\"code\":\"{code}\"")),
            "no transcript for {code}"
        );
    }
}

#[test]
fn iris_follows_its_transcripts() {
    check("iris");
}

#[test]
fn iris_transcripts_cover_every_frame_and_reading() {
    covers(
        "iris",
        &[
            "hello.ack",
            "message",
            "message.start",
            "message.update",
            "message.stop",
            "message.deleted",
            "commentary",
            "tool.start",
            "tool.progress",
            "tool.end",
            "todo.update",
            "typing",
            "notification",
            "channel.list",
            "channel.created",
            "channel.renamed",
            "channel.deleted",
            "search.results",
            "media.offer",
            "read.receipt",
            "status",
            "error",
            "pong",
            "sync.done",
            "history",
            "media.pull.end",
            "media.upload.ack",
            "commands.catalog",
            "picker.choice",
            "picker.model",
            "picker.clarify",
            "picker.approval",
            "picker.confirm",
            "commands.complete",
            "agent.busy",
            "agent.idle",
        ],
        &[
            "hello",
            "message.send",
            "media.upload.start",
            "media.upload.end",
            "media.pull",
            "channel.create",
            "channel.rename",
            "channel.set_default",
            "channel.favorite",
            "channel.icon",
            "channel.set_automation",
            "channel.delete",
            "channel.list",
            "commands.catalog",
            "search",
            "sync",
            "history",
            "message.delete",
            "picker.select",
            "ping",
        ],
        &[
            "I3", "I4", "I6", "I7", "I8", "I9", "I10", "I11", "I12", "I13", "I14", "I15", "I16",
            "I17", "I18", "I20", "I21", "I23", "I24", "I27", "I29", "I30", "I31", "I32", "I33",
            "I34", "I36", "I37", "I38", "I39", "I42", "I43", "I46",
        ],
    );
    // Binary frames have no type: bytes of a pull and of an upload.
    let all: String = files("iris").into_iter().map(|(_, text)| text).collect();
    for bytes in ["\n<bytes ", "\n> bytes "] {
        assert!(all.contains(bytes), "no transcript with {bytes:?}");
    }
}
