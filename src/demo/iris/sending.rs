//! Messages that come in at the Iris gateway: checks, echo and receipt, and whether they begin a turn,
//! answer one, or wait in line.

use super::super::agent::Reply;
use super::lookups::Logged;
use super::turns::Asked;
use super::{Address, Asker, Echo, Iris, Receipt, Timer};
use serde_json::{Value, json};

impl Iris {
    pub(super) fn message_send(&mut self, asker: &Asker, request: &Value, payload: &Value) {
        let Some(mut address) = self.address(request) else {
            return self.error(asker, "not_found", "No such channel");
        };
        let chat_id = address.thread.clone().unwrap_or(address.chat.clone());
        let (is_automation, is_default) = self
            .channel_of(&chat_id)
            .map(|channel| (channel.is_automation, channel.is_default))
            .unwrap_or_default();
        if is_automation {
            let message = "An automation channel takes no messages";
            return self.error(asker, "unsupported", message);
        }
        let text = payload
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned();
        let refs: Vec<String> = payload
            .get("media_refs")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect();
        if text.trim().is_empty() && refs.is_empty() {
            return self.error(asker, "unsupported", "A text or a file is needed");
        }
        if !self.may_send(asker) {
            return self.error(asker, "rate_limited", "Too many messages, wait a moment");
        }
        let Some((media, files)) = self.claim(&refs) else {
            return self.error(asker, "not_found", "No such media");
        };
        let wants_thread = payload
            .get("auto_thread")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        if wants_thread && is_default && !text.trim().is_empty() && !text.starts_with('/') {
            let words: Vec<&str> = text.split_whitespace().take(6).collect();
            address = self.mint_thread(&address.chat, &words.join(" "));
            if let (Some(scenario), Some(thread)) =
                (self.setup.library.pick(&text), address.thread.clone())
            {
                let better = Timer::NameThread {
                    chat_id: thread,
                    name: scenario.title.clone(),
                };
                self.timers.push((self.desk.now + 1_500, better));
            }
        }
        self.echo(asker, &address, payload, &text, media);
        self.take(&address, text, files);
    }

    fn may_send(&mut self, asker: &Asker) -> bool {
        let now = self.desk.now;
        let limit = self.readings.sends_in_ten_seconds;
        let Some(client) = self.clients.get_mut(&asker.connection) else {
            return false;
        };
        while client.sends.front().is_some_and(|at| at + 10_000 <= now) {
            client.sends.pop_front();
        }
        let is_allowed = client.sends.len() < limit;
        if is_allowed {
            client.sends.push_back(now);
        }
        is_allowed
    }

    /// The user's message goes into the log and back to the devices, with its receipt.
    fn echo(
        &mut self,
        asker: &Asker,
        address: &Address,
        payload: &Value,
        text: &str,
        media: Vec<Value>,
    ) {
        let id = format!("u_{}", self.desk.hex(12));
        let mut logged = Logged::new(address.clone(), id.clone(), "user", text, self.desk.wall());
        logged.media = media;
        let mut message = logged.payload();
        if let Some(reply_to) = payload.get("reply_to").filter(|id| id.is_string()) {
            message["reply_to"] = reply_to.clone();
        }
        self.log.push(logged);
        let receipt = json!({"message_id": id});
        if self.readings.receipt == Receipt::BeforeEchoWithId {
            self.answer(asker, Some(address), "read.receipt", receipt.clone());
        }
        match self.readings.echo {
            Echo::AllAndIdForSender => self.publish(Some(address), "message", message, Some(asker)),
            Echo::AllWithoutId => self.publish(Some(address), "message", message, None),
            Echo::OthersOnly => {
                let frame = self.envelope(Some(address), "message", message);
                self.park(None, &frame);
                for connection in self.ready() {
                    if connection != asker.connection {
                        self.send(connection, &frame);
                    }
                }
            }
            Echo::Nobody => {
                let frame = self.envelope(Some(address), "message", message);
                self.park(None, &frame);
            }
        }
        match self.readings.receipt {
            Receipt::BeforeEchoWithId => {}
            Receipt::AfterEchoWithId => {
                self.answer(asker, Some(address), "read.receipt", receipt);
            }
            Receipt::AfterEchoWithoutId => {
                let nameless = Asker {
                    connection: asker.connection,
                    id: Value::Null,
                };
                self.answer(&nameless, Some(address), "read.receipt", receipt);
            }
        }
    }

    /// A text in a lane: an answer, a command, a turn, or one more in the line.
    fn take(&mut self, address: &Address, text: String, files: Vec<(String, u64)>) {
        let now = self.desk.now;
        if text.starts_with('/') {
            return self.command(address, &text);
        }
        let lane = self.lane(address);
        if let Some(turn) = &mut lane.turn {
            if let Asked::Clarify(choices) = turn.asked.clone() {
                turn.asked = Asked::Nothing;
                turn.next_typing = now;
                let answer = chosen(&choices, &text);
                turn.play.answer(now, &Reply::Text(answer));
                return;
            }
            lane.waiting.push_back((text, files));
            return;
        }
        self.start_turn(address, &text, files);
    }

    pub(super) fn wait_in_line(&mut self, address: &Address, text: &str) {
        self.lane(address)
            .waiting
            .push_back((text.to_owned(), Vec::new()));
    }
}

/// What a typed answer means: a number or the text of a choice picks it, anything else is itself.
fn chosen(choices: &[String], text: &str) -> String {
    let typed = text.trim();
    let by_number = typed
        .parse::<usize>()
        .ok()
        .and_then(|number| choices.get(number.checked_sub(1)?));
    let by_text = choices
        .iter()
        .find(|choice| choice.eq_ignore_ascii_case(typed));
    by_number
        .or(by_text)
        .cloned()
        .unwrap_or_else(|| typed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn an_answer_is_a_number_a_choice_or_itself() {
        let choices = ["staging".to_owned(), "production".to_owned()];
        assert_eq!(chosen(&choices, " 2 "), "production");
        assert_eq!(chosen(&choices, "STAGING"), "staging");
        assert_eq!(chosen(&choices, "0"), "0");
        assert_eq!(chosen(&choices, "neither"), "neither");
    }
}
