//! Slash commands of the Iris gateway: the catalogue, what the commands do, and the pickers some of
//! them open.

use super::super::agent::Reply;
use super::{Address, Iris, Timer};
use serde_json::{Value, json};

/// Name, description, hint, category and aliases, in the style of a real gateway's registry.
type Command = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const COMMANDS: &[Command] = &[
    (
        "/new",
        "Start a new session (fresh session ID + history)",
        "[name]",
        "Session",
        &["/reset"],
    ),
    (
        "/retry",
        "Retry the last message (resend to agent)",
        "",
        "Session",
        &[],
    ),
    (
        "/undo",
        "Back up N user turns and re-prompt (default 1)",
        "[N]",
        "Session",
        &[],
    ),
    (
        "/title",
        "Set a title for the current session",
        "[name]",
        "Session",
        &[],
    ),
    (
        "/branch",
        "Branch the current session (explore a different path)",
        "[name]",
        "Session",
        &["/fork"],
    ),
    (
        "/compress",
        "Compress conversation context (add 'here [N]' to keep recent N turns)",
        "[here [N] | focus topic | --preview|--dry-run]",
        "Session",
        &["/compact"],
    ),
    ("/stop", "Stop the current turn", "", "Session", &[]),
    (
        "/approve",
        "Approve a pending dangerous command",
        "[session|always]",
        "Session",
        &[],
    ),
    (
        "/deny",
        "Deny a pending dangerous command (optionally with a reason)",
        "[all] [reason]",
        "Session",
        &[],
    ),
    (
        "/background",
        "Run a prompt in the background",
        "<prompt>",
        "Session",
        &["/bg", "/btw"],
    ),
    (
        "/queue",
        "Queue a prompt for the next turn (doesn't interrupt)",
        "<prompt>",
        "Session",
        &["/q"],
    ),
    (
        "/goal",
        "Set a standing goal the agent works on across turns until achieved",
        "[text | draft <text> | show | pause | resume | clear | status]",
        "Session",
        &[],
    ),
    (
        "/status",
        "Show session, model, token, and context info",
        "",
        "Session",
        &[],
    ),
    (
        "/sethome",
        "Set this chat as the home channel",
        "",
        "Session",
        &["/set-home"],
    ),
    (
        "/restart",
        "Gracefully restart the gateway after draining active runs",
        "",
        "Session",
        &[],
    ),
    (
        "/model",
        "Switch model (session-scoped; --global to persist)",
        "[model] [--provider name] [--global|--session] [--refresh]",
        "Configuration",
        &[],
    ),
    (
        "/personality",
        "Set a predefined personality",
        "[name]",
        "Configuration",
        &[],
    ),
    (
        "/yolo",
        "Toggle YOLO mode (skip all dangerous command approvals)",
        "",
        "Configuration",
        &[],
    ),
    (
        "/reasoning",
        "Manage reasoning effort and display",
        "[level|show|hide|full|clamp] [--global]",
        "Configuration",
        &[],
    ),
    (
        "/fast",
        "Toggle fast mode — Priority Processing (Normal/Fast)",
        "[normal|fast|status] [--global]",
        "Configuration",
        &[],
    ),
    (
        "/memory",
        "Review pending memory writes / toggle the approval gate",
        "[pending|approve|reject|approval] [id|on|off]",
        "Tools & Skills",
        &[],
    ),
    (
        "/learn",
        "Learn a reusable skill from anything you describe (dirs, URLs, this chat, notes)",
        "<what to learn from>",
        "Tools & Skills",
        &[],
    ),
    (
        "/suggestions",
        "Review suggested automations (accept/dismiss)",
        "[accept|dismiss N | catalog]",
        "Tools & Skills",
        &["/suggest"],
    ),
    (
        "/reload-mcp",
        "Reload MCP servers from config",
        "",
        "Tools & Skills",
        &["/reload_mcp"],
    ),
    (
        "/whoami",
        "Show your slash command access (admin / user)",
        "",
        "Info",
        &[],
    ),
    (
        "/commands",
        "Browse all commands and skills (paginated)",
        "[page]",
        "Info",
        &[],
    ),
    ("/help", "Show available commands", "", "Info", &[]),
    (
        "/usage",
        "Show token usage and rate limits",
        "[reset [--force]]",
        "Info",
        &[],
    ),
    (
        "/insights",
        "Show usage insights and analytics",
        "[days]",
        "Info",
        &[],
    ),
    (
        "/version",
        "Show the gateway's version",
        "",
        "Info",
        &["/v"],
    ),
    (
        "/scenes",
        "List the words this demo knows",
        "",
        "Plugin",
        &[],
    ),
];

const MODELS: [&str; 4] = [
    "glm-5.3-flash",
    "claude-sonnet-4",
    "gpt-5.4",
    "qwen3-coder-30b",
];

/// Who waits for the choice of a picker.
#[derive(Clone, Debug)]
pub(super) enum Picker {
    Turn,
    Reasoning,
    Fast,
    Personality,
    Model,
}

/// The picker of a lane, with the values it may be answered with.
pub(super) type Pending = (Address, Picker, Vec<String>);

/// The entries of the catalogue.
pub(super) fn catalog() -> Vec<Value> {
    COMMANDS
        .iter()
        .map(|(name, description, hint, category, aliases)| {
            json!({
                "name": name,
                "description": description,
                "args_hint": hint,
                "category": category,
                "aliases": aliases,
            })
        })
        .collect()
}

fn rows(values: &[(&str, &str)], current: &str) -> Vec<Value> {
    values
        .iter()
        .map(|(value, label)| json!({"value": value, "label": label, "is_current": *value == current}))
        .collect()
}

impl Iris {
    /// Shows a picker in a lane and gives its id.
    pub(super) fn offer_picker(
        &mut self,
        address: &Address,
        title: &str,
        choices: Vec<Value>,
        picker: Picker,
    ) -> String {
        let id = self.desk.hex(10);
        let values = choices
            .iter()
            .filter_map(|choice| choice["value"].as_str().map(str::to_owned))
            .collect();
        let kind = match (&picker, self.readings.uses_planned_pickers) {
            (_, false) => "picker.choice",
            (Picker::Model, true) => "picker.model",
            (Picker::Turn, true) => "picker.clarify",
            (_, true) => "picker.confirm",
        };
        self.pickers
            .insert(id.clone(), (address.clone(), picker, values));
        let payload = json!({"picker_id": id, "title": title, "choices": choices});
        self.publish(Some(address), kind, payload, None);
        id
    }

    /// Unknown and expired pickers are passed over without a word.
    pub(super) fn picker_select(&mut self, payload: &Value) {
        let text = |key: &str| payload.get(key).and_then(Value::as_str).unwrap_or("");
        let (id, value) = (text("picker_id").to_owned(), text("value").to_owned());
        let is_offered = self
            .pickers
            .get(&id)
            .is_some_and(|(_, _, values)| values.contains(&value));
        if !is_offered {
            return;
        }
        let Some((address, picker, _)) = self.pickers.remove(&id) else {
            return;
        };
        let reply = match picker {
            Picker::Turn => return self.answer_picker(&address, &id, &value),
            Picker::Reasoning => {
                self.lane(&address).effort = Some(value.clone());
                format!(
                    "🧠 ✓ Reasoning effort set to `{value}` (session only, add `--global` to persist)\n_(takes effect on next message)_"
                )
            }
            Picker::Model => {
                self.lane(&address).model = Some(value.clone());
                format!("✓ Model switched to `{value}` for this session.")
            }
            Picker::Fast => format!("⚡ ✓ Fast mode: **{value}**"),
            Picker::Personality => format!("🎭 ✓ Personality set to **{value}**"),
        };
        self.say(&address, "assistant", &reply);
    }

    pub(super) fn command(&mut self, address: &Address, text: &str) {
        let mut parts = text.trim().splitn(2, char::is_whitespace);
        let name = parts.next().unwrap_or_default().to_lowercase();
        let rest = parts.next().unwrap_or_default().trim().to_owned();
        let canonical = COMMANDS
            .iter()
            .find(|(known, .., aliases)| *known == name || aliases.contains(&name.as_str()))
            .map(|(known, ..)| *known);
        let Some(command) = canonical else {
            let reply =
                format!("Unknown command `{name}`. Type /commands to see what is available.");
            return self.say(address, "assistant", &reply);
        };
        let reply = match command {
            "/stop" => {
                if self.stop_turn(address) {
                    "⚡ Stopped. You can continue this session.".to_owned()
                } else {
                    "No active task to stop.".to_owned()
                }
            }
            "/approve" => return self.approve(address, &rest),
            "/deny" => {
                let reason = rest.strip_prefix("all").unwrap_or(&rest).trim().to_owned();
                let denied = Reply::Choice {
                    value: "deny".to_owned(),
                    reason: (!reason.is_empty()).then(|| reason.clone()),
                };
                match (self.answer_approval(address, &denied), reason.is_empty()) {
                    (false, _) => "No pending command to deny.".to_owned(),
                    (true, true) => "❌ Command denied.".to_owned(),
                    (true, false) => {
                        format!("❌ Command denied. Reason relayed to the agent: \"{reason}\"")
                    }
                }
            }
            "/reasoning" if rest.is_empty() => {
                let current = self
                    .lane(address)
                    .effort
                    .clone()
                    .unwrap_or_else(|| "medium".to_owned());
                let levels = [
                    ("none", "none — disable reasoning"),
                    ("minimal", "minimal"),
                    ("low", "low"),
                    ("medium", "medium"),
                    ("high", "high"),
                    ("xhigh", "xhigh"),
                    ("max", "max"),
                    ("ultra", "ultra"),
                    ("reset", "reset to the default"),
                ];
                let title = format!("🧠 **Reasoning Settings**\n\n**Effort:** `{current}`\n**Scope:** session\n**Display:** off\n\nPick an option:");
                self.offer_picker(address, &title, rows(&levels, &current), Picker::Reasoning);
                return;
            }
            "/reasoning" => {
                self.lane(address).effort = Some(rest.clone());
                format!("🧠 ✓ Reasoning effort set to `{rest}` (session only)")
            }
            "/model" if rest.is_empty() => {
                let current = self
                    .lane(address)
                    .model
                    .clone()
                    .unwrap_or_else(|| MODELS[0].to_owned());
                let choices: Vec<(&str, &str)> = MODELS.iter().map(|m| (*m, *m)).collect();
                let title = "🤖 **Model**\n\nFor this session:";
                self.offer_picker(address, title, rows(&choices, &current), Picker::Model);
                return;
            }
            "/model" => {
                let model = rest.split_whitespace().next().unwrap_or_default();
                if MODELS.contains(&model) {
                    self.lane(address).model = Some(model.to_owned());
                    format!("✓ Model switched to `{model}` for this session.")
                } else {
                    format!("No model `{model}`. There are: `{}`", MODELS.join("`, `"))
                }
            }
            "/fast" => {
                let choices = rows(&[("normal", "Normal"), ("fast", "Fast")], "normal");
                self.offer_picker(address, "⚡ **Fast mode**", choices, Picker::Fast);
                return;
            }
            "/personality" => {
                let choices = rows(
                    &[
                        ("plain", "plain: says what is"),
                        ("teacher", "teacher: explains as it goes"),
                        ("pirate", "pirate 🏴‍☠️"),
                    ],
                    "plain",
                );
                self.offer_picker(address, "🎭 **Personality**", choices, Picker::Personality);
                return;
            }
            "/yolo" => {
                let on = !self.lane(address).is_yolo;
                self.set_yolo(address, on);
                if on {
                    "⚠️ YOLO mode is **on**: dangerous commands run without a question.".to_owned()
                } else {
                    "✓ YOLO mode is **off**.".to_owned()
                }
            }
            "/title" if !rest.is_empty() => {
                let chat_id = address.thread.clone().unwrap_or(address.chat.clone());
                self.rename_channel(&chat_id, &rest, None);
                format!("✓ Session title: **{rest}**")
            }
            "/background" if !rest.is_empty() => {
                let later = Timer::Unsolicited {
                    address: address.clone(),
                    word: "later-result".to_owned(),
                };
                self.timers.push((self.desk.now + 6_000, later));
                format!("🔄 Background task started: \"{rest}\"\nYou can keep chatting; the result comes here.")
            }
            "/queue" if !rest.is_empty() => {
                if self.lane(address).is_busy() {
                    self.wait_in_line(address, &rest);
                    "⏳ Queued for the next turn.".to_owned()
                } else {
                    return self.start_turn(address, &rest, Vec::new());
                }
            }
            "/retry" => {
                let last = self
                    .log
                    .iter()
                    .rev()
                    .find(|logged| {
                        logged.address == *address
                            && logged.role == "user"
                            && !logged.text.starts_with('/')
                    })
                    .map(|logged| logged.text.clone());
                match last {
                    Some(text) if !self.lane(address).is_busy() => {
                        return self.start_turn(address, &text, Vec::new());
                    }
                    Some(_) => "A turn is running; `/stop` it first.".to_owned(),
                    None => "There is nothing to retry.".to_owned(),
                }
            }
            "/restart" => {
                self.say(address, "assistant", "♻️ Restarting the gateway…");
                return self.restart(3_000, false);
            }
            "/help" | "/commands" => {
                let mut text = String::from("**Commands**\n");
                for (name, description, hint, ..) in COMMANDS {
                    let hint = if hint.is_empty() {
                        String::new()
                    } else {
                        format!(" {hint}")
                    };
                    text.push_str(&format!("- `{name}{hint}`: {description}\n"));
                }
                text
            }
            "/scenes" => self.setup.library.words(),
            "/status" => {
                let lane = self.lane(address);
                format!(
                    "**Session**\n\n**Model:** `{}`\n**Effort:** `{}`\n**YOLO:** {}\n**Running:** {}",
                    lane.model.clone().unwrap_or_else(|| MODELS[0].to_owned()),
                    lane.effort.clone().unwrap_or_else(|| "medium".to_owned()),
                    if lane.is_yolo { "on" } else { "off" },
                    if lane.is_busy() { "yes" } else { "no" },
                )
            }
            "/usage" => "**Today**\n\n**Tokens:** 184,220 in · 21,904 out · 96 % from the cache\n**Cost:** $0.41 of $5.00".to_owned(),
            "/version" => "Demo gateway, protocol 1".to_owned(),
            "/whoami" => "You are **admin** on this gateway.".to_owned(),
            "/new" => "✨ New session. The history stays, the context is empty.".to_owned(),
            _ => format!("`{command}` does nothing in the demo."),
        };
        self.say(address, "assistant", &reply);
    }

    fn approve(&mut self, address: &Address, rest: &str) {
        let value = match rest {
            "session" | "always" => rest,
            _ => "once",
        };
        let approved = Reply::Choice {
            value: value.to_owned(),
            reason: None,
        };
        let reply = match (self.answer_approval(address, &approved), value) {
            (false, _) => "No pending command to approve.",
            (true, "session") => {
                "✅ Command approved (pattern approved for this session). The agent is resuming..."
            }
            (true, "always") => {
                "✅ Command approved (pattern approved permanently). The agent is resuming..."
            }
            (true, _) => "✅ Command approved. The agent is resuming...",
        };
        self.say(address, "assistant", reply);
    }
}
