//! Questions of the agent to the person: a message of the system with a notification beside it.

use super::turns::Asked;
use super::{Address, Iris};
use serde_json::json;

/// Commands are cut in the text of an approval.
const COMMAND_CUT: usize = 200;

impl Iris {
    pub(super) fn ask_approval(
        &mut self,
        address: &Address,
        command: &str,
        description: &str,
        choices: &[String],
    ) {
        self.close_part(address);
        let mut shown: String = command.chars().take(COMMAND_CUT).collect();
        if command.chars().count() > COMMAND_CUT {
            shown.push_str("...");
        }
        let has = |choice: &str| choices.iter().any(|known| known == choice);
        let mut text = format!(
            "⚠️ **Dangerous command requires approval:**\n```\n{shown}\n```\nReason: {description}\n\nReply `/approve` to execute this one operation"
        );
        if has("session") {
            text.push_str(", `/approve session` to approve this pattern for the session");
        }
        if has("always") {
            text.push_str(", `/approve always` to approve permanently");
        }
        text.push_str(", or `/deny` to cancel.");
        self.set_asked(address, Asked::Approval);
        self.ask(address, "approval", "Approval needed", &text);
    }

    /// A question to the person: a message of the system and a notification beside it.
    pub(super) fn ask(&mut self, address: &Address, kind: &str, title: &str, text: &str) {
        self.say(address, "system", text);
        self.notify(address, kind, title, text);
    }

    pub(super) fn notify(&mut self, address: &Address, kind: &str, title: &str, body: &str) {
        let payload = json!({
            "kind": kind,
            "title": title,
            "body": body,
            "ts": self.desk.wall(),
        });
        self.publish(Some(address), "notification", payload, None);
    }
}
