//! Storing in the cloud of the desktop app, which a terminal does not have. Every request is
//! answered, with an exact echo: one without an answer comes again every half minute, for ever. The
//! codes park a row at once, and nothing is said to be stored that is not.

use super::Omi;
use serde_json::{Map, Value, json};

/// What each request is answered with.
struct Duty {
    /// Fields that come back as they came.
    echo: &'static [&'static str],
    /// Why it was not done; none says that it was, with nothing to bring.
    refusal: Option<&'static str>,
}

fn duty(kind: &str) -> Duty {
    match kind {
        "journal_backend_sync" => Duty {
            echo: &[
                "turnId",
                "conversationId",
                "conversationGeneration",
                "attemptCount",
                "deliveryGeneration",
                "payloadHash",
            ],
            refusal: Some("backend_sync_http_4xx"),
        },
        "journal_backend_delete" => Duty {
            echo: &[
                "operationId",
                "conversationId",
                "conversationGeneration",
                "attemptCount",
                "deliveryGeneration",
                "payloadHash",
            ],
            refusal: Some("backend_delete_http_4xx"),
        },
        "journal_backend_reconcile" => Duty {
            echo: &["reconcileId", "conversationId", "pageCursor"],
            refusal: None,
        },
        _ => Duty {
            echo: &["continuityKey", "deliveryGeneration", "payloadHash"],
            refusal: Some("deferral_http_4xx"),
        },
    }
}

impl Omi {
    pub(super) fn on_backend_wanted(&mut self, kind: &str, line: &Map<String, Value>) {
        let duty = duty(kind);
        let mut answer = json!({
            "type": format!("{kind}_result"),
            "protocolVersion": super::session::VERSION,
            "ok": duty.refusal.is_none(),
        });
        let ids = ["requestId", "clientId", "ownerId"];
        for key in ids.iter().chain(duty.echo) {
            // What was not said is not said back; a null comes back as one.
            if let Some(value) = line.get(*key) {
                answer[*key] = value.clone();
            }
        }
        match duty.refusal {
            Some(code) => answer["errorCode"] = json!(code),
            None => {
                answer["turns"] = json!([]);
                answer["nextCursor"] = Value::Null;
                answer["hasMore"] = json!(false);
            }
        }
        self.write(answer);
    }
}
