//! How a runtime is started: its argument list, its environment, and where its state lives. A
//! second host on one state folder would orphan the runs of the first, so each account has a
//! folder of its own and a lock in it.

use crate::config::account::ProcessEndpoint;
use crate::link::ChildSpec;
use std::path::Path;

/// Asks the runtime to end; its input is closed after it.
const STOP: &str = r#"{"type":"stop"}"#;

/// The child process of an account.
pub fn launch(name: &str, endpoint: &ProcessEndpoint, state_dir: &Path) -> ChildSpec {
    let folder = state_dir.join("omi").join(folder_name(name));
    let artifacts = folder.join("artifacts");
    let mut environment = endpoint.environment.clone();
    let mut set = |name: &str, value: String| {
        environment.entry(name.to_owned()).or_insert(value);
    };
    set("OMI_AGENT_STATE_DIR", folder.to_string_lossy().into_owned());
    set(
        "OMI_AGENT_ARTIFACTS_DIR",
        artifacts.to_string_lossy().into_owned(),
    );
    set("NODE_NO_WARNINGS", "1".to_owned());
    if let Some(adapter) = &endpoint.adapter {
        set("HARNESS_MODE", adapter.clone());
    }
    // Keys of other programs would be billed without a word; whoever wants them here says so.
    let removed = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_VERTEX", "OMI_BYOK_*"]
        .into_iter()
        .filter(|name| !environment.contains_key(*name))
        .map(str::to_owned)
        .collect();
    ChildSpec {
        command: endpoint.command.clone(),
        environment,
        removed,
        directory: endpoint.directory.clone(),
        lock: Some(folder.join("lock")),
        folders: vec![folder, artifacts],
        stop_line: Some(STOP.to_owned()),
    }
}

/// A name that is one folder, whatever the account is called. What is replaced is told apart by a
/// checksum of the whole.
fn folder_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
                c
            } else {
                '_'
            }
        })
        .take(40)
        .collect();
    if plain == name {
        return plain;
    }
    let sum = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{plain}-{sum:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_account_has_a_folder_and_a_lock_of_its_own() {
        let endpoint = ProcessEndpoint {
            command: vec!["node".into(), "agent.js".into()],
            adapter: Some("acp".into()),
            ..ProcessEndpoint::default()
        };
        let spec = launch("omi@demo", &endpoint, Path::new("/state"));
        let other = launch("omi/demo", &endpoint, Path::new("/state"));
        assert_ne!(spec.lock, other.lock);
        assert_eq!(spec.command, ["node", "agent.js"]);
        assert_eq!(
            spec.environment.get("HARNESS_MODE").map(String::as_str),
            Some("acp")
        );
        assert!(spec.removed.contains(&"ANTHROPIC_API_KEY".to_owned()));
        assert_eq!(spec.stop_line.as_deref(), Some(r#"{"type":"stop"}"#));
    }
}
