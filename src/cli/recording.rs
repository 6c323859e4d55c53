//! `trialogue record` and `trialogue replay`.

use super::args::{Demo, Global, Record, Replay};
use super::{Exit, Failure, chat, demo};
use crate::app::conversation::{FOCUS, focus_value, parse_focus};
use crate::config::account::{AccountConfig, EndpointKind};
use crate::config::paths::Paths;
use crate::domain::{AccountId, ConversationInfo, Durability, Secret, Write, io_words};
use crate::runtime::recording::read::{Recording, What};
use crate::runtime::recording::stage::Stage;
use crate::runtime::recording::transcript::transcript;
use crate::runtime::recording::{Head, Recorder, focus_of};
use crate::runtime::terminal;
use crate::store::{self, StoreOptions};
use std::io::Write as _;

/// A recording that is larger is no recording.
const LARGEST: u64 = 1 << 30;

/// `trialogue record`
pub fn record(global: &Global, record: &Record) -> Result<Exit, Failure> {
    if !record.force {
        super::words::refuse_to_replace(&record.file)?;
    }
    let (columns, rows) = terminal::size();
    let focus = if record.demo { None } else { focus(global) };
    let head = Head {
        version: super::version().to_owned(),
        started_ms: jiff::Timestamp::now().as_millisecond(),
        columns,
        rows,
        focus,
    };
    let recorder = Recorder::create(&record.file, &head).map_err(|error| {
        Failure::usage(format!("{}: {}", record.file.display(), io_words(&error)))
    })?;
    let recorder = if record.no_keys {
        recorder.without_keys()
    } else {
        recorder
    };
    if record.demo {
        return demo::run_recorded(global, &Demo::default(), Some(recorder));
    }
    let mut profile = chat::open_profile(global)?;
    profile.recorder = Some(recorder);
    let runtime = chat::runtime()?;
    let exit = chat::run_with(&runtime, global, profile)?;
    complain!(
        "Recorded in {}: frames with secrets masked, texts as they are. Look through it before you hand it on.",
        record.file.display()
    );
    Ok(exit)
}

/// The conversation that will be on screen first.
fn focus(global: &Global) -> Option<(String, String)> {
    let paths = Paths::find(global.config_dir.as_deref(), global.data_dir.as_deref()).ok()?;
    let options = StoreOptions {
        read_only: true,
        ..StoreOptions::default()
    };
    let path = paths.store_file();
    let (_store, facts) = path.exists().then(|| store::open(path, options).ok())??;
    let (_, value) = facts.ui.iter().find(|(name, _)| name == FOCUS)?;
    let (account, conversation) = parse_focus(value)?;
    Some((
        account.as_str().to_owned(),
        conversation.as_str().to_owned(),
    ))
}

/// `trialogue replay`
pub fn replay(global: &Global, replay: &Replay) -> Result<Exit, Failure> {
    let mut recording = read(replay)?;
    if recording.skipped > 0 {
        complain!(
            "trialogue: {} lines of the recording were not understood",
            recording.skipped
        );
    }
    if replay.transcript {
        return print_transcript(&recording, replay.account.as_deref());
    }
    if replay.no_keys {
        recording
            .lines
            .retain(|line| !matches!(line.what, What::Terminal(_)));
    }
    let accounts = recording
        .accounts()
        .into_iter()
        .filter_map(|(name, kind)| {
            Some(chat::ProfileAccount {
                config: AccountConfig::new(name, EndpointKind::named(kind)?.nowhere()),
                secret: Some(Secret::new("replayed".to_owned())),
            })
        })
        .collect::<Vec<_>>();
    if accounts.is_empty() {
        return Err(Failure::usage("there is no account in this recording"));
    }
    let folder = demo::Folder::new()?;
    let paths = Paths::inside(&folder.0);
    set_stage(&paths, &recording)?;
    let stage = Stage::new(recording, replay.speed, replay.step);
    let runtime = chat::runtime()?;
    chat::run_with(
        &runtime,
        global,
        chat::Profile {
            stage: Some(stage),
            ..chat::Profile::throwaway(paths, accounts)
        },
    )
}

fn read(replay: &Replay) -> Result<Recording, Failure> {
    let failed =
        |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", replay.file.display()));
    let unreadable = |error: std::io::Error| failed(&io_words(&error));
    let size = std::fs::metadata(&replay.file).map_err(unreadable)?.len();
    if size > LARGEST {
        return Err(failed(&"this file is too large for a recording"));
    }
    let text = std::fs::read_to_string(&replay.file).map_err(unreadable)?;
    Recording::parse(&text).map_err(|error| failed(&error))
}

/// Has the sidebar as it stood then, and the conversation on screen first that was there.
fn set_stage(paths: &Paths, recording: &Recording) -> Result<(), Failure> {
    let mut writes: Vec<Write> = recording
        .sidebar()
        .iter()
        .map(|(name, value)| Write::Ui {
            name: name.clone(),
            value: value.clone(),
        })
        .collect();
    if let Some((account, conversation)) = focus_of(&recording.head) {
        let account = AccountId::new(account);
        let value = focus_value(&account, &conversation);
        writes.push(Write::Conversation {
            account,
            conversation,
            info: Box::new(ConversationInfo::default()),
        });
        writes.push(Write::Ui {
            name: FOCUS.to_owned(),
            value,
        });
    }
    if writes.is_empty() {
        return Ok(());
    }
    let failed = |error: store::StoreError| Failure::usage(error.to_string());
    let (store, _) = store::open(paths.store_file(), StoreOptions::default()).map_err(failed)?;
    store
        .commit_now(writes, Durability::Normal)
        .map_err(failed)?;
    store.close();
    Ok(())
}

fn print_transcript(recording: &Recording, account: Option<&str>) -> Result<Exit, Failure> {
    let accounts: Vec<&str> = recording.accounts().iter().map(|(name, _)| *name).collect();
    let account = match (account, accounts.as_slice()) {
        (Some(name), _) if accounts.contains(&name) => name,
        (Some(name), _) => {
            return Err(Failure::usage(format!(
                "there is no account {name:?} in this recording; there are: {}",
                accounts.join(", ")
            )));
        }
        (None, [one]) => one,
        (None, []) => return Err(Failure::usage("there is no account in this recording")),
        (None, several) => {
            return Err(Failure::usage(format!(
                "there are several accounts; choose one with -a: {}",
                several.join(", ")
            )));
        }
    };
    let _ = std::io::stdout().write_all(transcript(recording, account).as_bytes());
    Ok(Exit::Done)
}
