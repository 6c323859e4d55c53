//! Turns whose words are in blocks: what other hosts of the runtime write besides, or instead of,
//! the text of a turn. Thinking is shown as reasoning; cards have words of their own; calls of
//! tools are left out, because the text does not need them.

use super::word;
use serde_json::{Map, Value};

/// Blocks of one turn that are read.
const LIMIT: usize = 256;

/// Text and reasoning of a turn. The reasoning is none where the turn says nothing of it.
pub(super) fn words(row: &Map<String, Value>) -> (String, Option<String>) {
    let blocks = objects(row, "contentBlocks");
    let thinking: Vec<&str> = blocks
        .iter()
        .filter(|block| word(block, "type") == "thinking")
        .map(|block| word(block, "text"))
        .filter(|text| !text.trim().is_empty())
        .collect();
    let reasoning = (!thinking.is_empty()).then(|| thinking.join("\n\n"));
    let attached = objects(row, "resources")
        .into_iter()
        .map(|resource| word(resource, "title").trim().to_owned())
        .filter(|title| !title.is_empty())
        .map(|title| format!("*Attachment: {title}*"));
    let mut text = word(row, "content").to_owned();
    for more in blocks
        .iter()
        .filter_map(|block| card(block))
        .chain(attached)
    {
        // The text of a turn often says what its blocks say.
        if text.contains(more.trim()) {
            continue;
        }
        if !text.trim().is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&more);
    }
    (text, reasoning)
}

fn objects<'a>(row: &'a Map<String, Value>, key: &str) -> Vec<&'a Map<String, Value>> {
    row.get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .take(LIMIT)
        .collect()
}

/// What a block shows; none for one that has no words of its own.
fn card(block: &Map<String, Value>) -> Option<String> {
    let labelled = |label: &str, keys: &[&str]| {
        let parts: Vec<&str> = keys
            .iter()
            .map(|key| word(block, key).trim())
            .filter(|part| !part.is_empty())
            .collect();
        (!parts.is_empty()).then(|| format!("**{label}:** {}", parts.join(" – ")))
    };
    match word(block, "type") {
        "text" => Some(word(block, "text").to_owned()).filter(|text| !text.trim().is_empty()),
        "thinking" | "toolCall" | "" => None,
        "questionCard" => question(block),
        "discoveryCard" => labelled("Discovery", &["title", "summary"]),
        "goalLink" => labelled("Goal", &["summary"]),
        "captureLink" => labelled("Capture", &["summary"]),
        "conversationLink" => labelled("Meeting notes", &["summary"]),
        "memoryLink" => labelled("Memory", &["summary"]),
        "citation" => labelled("Source", &["title", "preview"]),
        "agentSpawn" => labelled("Agent started", &["title", "objective"]),
        "agentCompletion" => labelled("Agent completed", &["title", "output"]),
        "taskCard" => Some("**Task**".to_owned()),
        "followUp" => labelled("Follow-up", &["question"]),
        // A kind of a later version still says what it can.
        other => labelled(other, &["title", "text", "summary"]),
    }
}

/// A question with its options; it is answered by writing, as any other.
fn question(block: &Map<String, Value>) -> Option<String> {
    let text = word(block, "text").trim();
    let chosen = word(block, "selectedOptionId");
    let options: Vec<String> = objects(block, "options")
        .into_iter()
        .map(|option| {
            let is_chosen = !chosen.is_empty() && chosen == word(option, "optionId");
            let mark = if is_chosen { " ✓" } else { "" };
            format!("- {}{mark}", word(option, "label"))
        })
        .collect();
    let whole = format!("{text}\n\n{}", options.join("\n"));
    Some(whole.trim().to_owned()).filter(|whole| !whole.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(row: &Value) -> (String, Option<String>) {
        words(row.as_object().unwrap_or(&Map::new()))
    }

    #[test]
    fn a_turn_without_blocks_says_nothing_of_reasoning() {
        let row = json!({"content": "Done.", "contentBlocks": [], "resources": []});
        assert_eq!(of(&row), ("Done.".to_owned(), None));
    }

    #[test]
    fn a_question_card_is_shown_with_its_options() {
        let row = json!({"content": "", "contentBlocks": [
            {"id": "b1", "type": "questionCard", "text": "Which one?", "options": [
                {"optionId": "a", "label": "The first"}, {"optionId": "b", "label": "The second"}]},
        ]});
        let text = "Which one?\n\n- The first\n- The second".to_owned();
        assert_eq!(of(&row), (text, None));
    }

    #[test]
    fn text_blocks_do_not_double_the_text_and_thinking_becomes_reasoning() {
        let row = json!({"content": "It is done.", "contentBlocks": [
            {"id": "1", "type": "thinking", "text": "Let me see."},
            {"id": "2", "type": "toolCall", "name": "Bash", "status": "completed"},
            {"id": "3", "type": "text", "text": "It is done."},
            {"id": "4", "type": "hologram", "title": "A cube"},
        ]});
        let text = "It is done.\n\n**hologram:** A cube".to_owned();
        assert_eq!(of(&row), (text, Some("Let me see.".to_owned())));
    }
}
