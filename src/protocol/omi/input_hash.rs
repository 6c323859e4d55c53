//! The hash of a tool's input: SHA-256 over its JSON with sorted keys and no spaces, as JavaScript
//! writes it. A host that runs a tool computes it again, so that what the person approved is what
//! the runtime recorded.

use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

/// Whether the hash is the one of this input. Some hosts escape slashes, which is taken too.
pub(super) fn fits(input: &Value, hash: &str) -> bool {
    let mut text = String::new();
    write(input, &mut text);
    hash == of(&text) || hash == of(&text.replace('/', "\\/"))
}

fn of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => write_object(map, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(_) | Value::Bool(_) | Value::Null => out.push_str(&value.to_string()),
    }
}

fn write_object(map: &Map<String, Value>, out: &mut String) {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    out.push('{');
    for (at, key) in keys.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&Value::String(key.clone()).to_string());
        out.push(':');
        write(&map[key], out);
    }
    out.push('}');
}

/// A number as JavaScript writes it: no fraction where there is none, an exponent only below
/// 1e-6 and from 1e21 on, and that with its sign.
fn number_text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    if float == 0.0 {
        return "0".to_owned();
    }
    let size = float.abs();
    if (1e-6..1e21).contains(&size) {
        return format!("{float}");
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_hash_is_the_one_a_runtime_was_seen_to_send() {
        let input = json!({"q": "omi"});
        let seen = "sha256:baa22b9bad0715f7f9ac66300f010e9a07229ae00f1ebfb11b824654de444a33";
        assert!(fits(&input, seen));
        assert!(!fits(&json!({"q": "Omi"}), seen));
        assert!(!fits(&input, ""));
    }

    #[test]
    fn keys_are_sorted_and_numbers_are_written_as_javascript_does() {
        let input: Value =
            serde_json::from_str(r#"{"b":[1.0,0.5,1e21,1e-7,-0.0],"a":{"z":null,"y":"a/b"}}"#)
                .unwrap();
        let mut text = String::new();
        write(&input, &mut text);
        assert_eq!(
            text,
            r#"{"a":{"y":"a/b","z":null},"b":[1,0.5,1e+21,1e-7,0]}"#
        );
    }
}
