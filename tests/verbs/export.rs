//! A conversation as a file.

use super::*;

const PROTOCOLS: [&str; 3] = ["pheby", "iris", "omi"];

/// The id of the conversation that `send` used.
fn talk(profile: &Profile, words: &str) -> String {
    let events = json_lines(&profile.says(&["send", "--json", "--on-approval", "deny", words]));
    let place = events.iter().find(|event| event["event"] == "conversation");
    place.unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_was_said_is_in_every_format_for_every_kind_of_account() {
    for protocol in PROTOCOLS {
        let profile = Profile::new(protocol, &["speed=400"]);
        let id = talk(&profile, "tools");
        let markdown = profile.says(&["export", &id]);
        assert!(markdown.contains("### you · "), "{protocol}:\n{markdown}");
        assert!(markdown.contains("\ntools\n"), "{protocol}:\n{markdown}");
        assert!(markdown.contains("### agent · "), "{protocol}:\n{markdown}");

        let file = profile.home.path().join("talk.json");
        profile.says(&["export", &id, "-o", file.to_str().unwrap()]);
        let whole: Value = serde_json::from_str(&read(&file)).unwrap();
        assert_eq!(
            (&whole["v"], &whole["conversation"]),
            (&1.into(), &Value::from(id.as_str()))
        );
        let entries = whole["entries"].as_array().unwrap();
        let texts: Vec<&str> = entries
            .iter()
            .filter(|entry| entry["author"] == "user")
            .map(|entry| entry["text"].as_str().unwrap())
            .collect();
        assert!(texts.contains(&"tools"), "{protocol}: {texts:?}");
        assert!(
            entries
                .iter()
                .any(|entry| entry["event"] == "tool" && entry["name"] != ""),
            "{protocol}"
        );

        let page = profile.says(&["export", &id, "--format", "html"]);
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(page.contains("prefers-color-scheme: dark"));
        assert!(!page.contains("<script"), "{page}");
        // What was kept on the way needs no network.
        assert_eq!(
            profile
                .says(&["export", &id, "--offline", "--format", "html"])
                .lines()
                .count(),
            page.lines().count(),
            "{protocol}"
        );
    }
}

#[test]
fn history_that_is_only_on_the_server_is_fetched_page_by_page() {
    for (protocol, conversation) in [("pheby", "support"), ("iris", "support")] {
        let profile = Profile::new(protocol, &["speed=400"]);
        let whole: Value =
            serde_json::from_str(&profile.says(&["export", conversation, "-f", "json"])).unwrap();
        let entries = whole["entries"].as_array().unwrap();
        let messages: Vec<&Value> = entries
            .iter()
            .filter(|entry| entry["event"] == "message")
            .collect();
        assert!(messages.len() >= 600, "{protocol}: {}", messages.len());
        assert!(
            !entries.iter().any(|entry| entry["event"] == "gap"),
            "{protocol}"
        );
        let times: Vec<i64> = messages
            .iter()
            .map(|entry| entry["at_ms"].as_i64().unwrap())
            .collect();
        assert!(times.is_sorted(), "{protocol}");
        let mut ids: Vec<&str> = messages
            .iter()
            .filter_map(|entry| entry["message"].as_str())
            .collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{protocol}: a message stands there twice");
    }
}

#[test]
fn what_an_agent_prints_is_text_in_the_page_and_harmless_in_a_terminal() {
    let profile = Profile::new("pheby", &["speed=400"]);
    let id = talk(
        &profile,
        "hostile <script>alert(1)</script> <img src=http://a.example/x.png onerror=alert(1)> \
         [x](javascript:alert(1)) ![p](http://a.example/y.png) </article><style>*{display:none}</style>",
    );
    for format in ["md", "json", "html"] {
        let said = profile.says(&["export", &id, "--format", format]);
        assert!(
            !said.chars().any(|c| c.is_control() && c != '\n'),
            "{format}: {said:?}"
        );
        for bidi in ['\u{202e}', '\u{2066}', '\u{200b}'] {
            assert!(!said.contains(bidi), "{format}: {bidi:?}");
        }
        if format == "html" {
            assert!(
                said.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
                "{said}"
            );
            // One style and no more, nothing that runs, nothing that is fetched, no link but web ones.
            assert_eq!(said.matches("<style").count(), 1);
            for part in [
                "<script",
                "<img",
                "<iframe",
                "<link",
                "href=\"javascript",
                "src=\"http",
            ] {
                assert!(!said.contains(part), "{part}");
            }
        }
    }
}

#[test]
fn a_file_is_whole_or_not_there_and_only_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let mut profile = Profile::new("pheby", &["speed=400"]);
    let id = talk(&profile, "plain");
    let file = profile.home.path().join("talk.html");
    profile.says(&["export", &id, "-o", file.to_str().unwrap()]);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = read(&file);
    let again = profile.run(&["export", &id, "-o", file.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("--force"));
    assert_eq!(read(&file), before);
    profile.says(&["export", &id, "-o", file.to_str().unwrap(), "--force"]);
    let before = read(&file);
    profile.served.kill();
    let down = profile.run(&["export", &id, "-o", file.to_str().unwrap(), "--force"]);
    assert_eq!(down.status.code(), Some(3), "{}", text(&down.stderr));
    assert!(text(&down.stderr).contains("--offline"));
    assert_eq!(read(&file), before);
    for (arguments, code) in [
        (&["export", "nothing of that name", "--offline"][..], 2),
        (&["export", &id, "-o", "talk.pdf"], 2),
    ] {
        assert_eq!(
            profile.run(arguments).status.code(),
            Some(code),
            "{arguments:?}"
        );
    }
}
