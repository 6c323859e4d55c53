//! Which links may be opened, which must show where they lead, and links that nobody marked.

/// Whether a target may be opened and offered to the terminal as a link. Only these schemes: any
/// other runs something or reads a file.
pub fn may_open(target: &str) -> bool {
    let Some((scheme, rest)) = target.split_once(':') else {
        return false;
    };
    let is_plain = target
        .chars()
        .all(|c| !c.is_control() && !c.is_whitespace() && !is_mark(c));
    is_plain
        && match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => rest
                .strip_prefix("//")
                .is_some_and(|host| host.starts_with(|c: char| c.is_alphanumeric() || c == '[')),
            "mailto" => rest.contains('@') && !rest.starts_with('-'),
            _ => false,
        }
}

/// What cleaning leaves where something was taken out.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{2400}'..='\u{2426}' | '\u{fffd}' | '\u{27e8}' | '\u{27e9}'
    )
}

/// Whether the text of a link says something else than where it leads.
pub fn target_differs(text: &str, target: &str) -> bool {
    let text = text.trim().trim_end_matches('/');
    let target = target.trim_end_matches('/');
    if text == target {
        return false;
    }
    // A text without scheme still names the place.
    !["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| target.strip_prefix(scheme).is_some_and(|rest| rest == text))
}

/// The next address in a text from `from` on that nobody marked as a link.
pub(super) fn find_address(text: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let mut search = from;
    while let Some(found) = text[search..].find("://") {
        let colon = search + found;
        search = colon + 3;
        let before = &text[from..colon];
        let Some(scheme) = ["https", "http"].iter().find(|s| {
            before.len() >= s.len()
                && before.is_char_boundary(before.len() - s.len())
                && before[before.len() - s.len()..].eq_ignore_ascii_case(s)
        }) else {
            continue;
        };
        let start = colon - scheme.len();
        if text[from..start]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric)
        {
            continue;
        }
        let end = search + address_len(&text[search..]);
        if end > search && may_open(&text[start..end]) {
            return Some(start..end);
        }
    }
    None
}

/// Bytes of an address behind its scheme, without the punctuation of the sentence around it.
fn address_len(rest: &str) -> usize {
    let mut len = rest
        .find(|c: char| {
            c.is_whitespace()
                || c.is_control()
                || is_mark(c)
                || matches!(c, '<' | '>' | '"' | '`' | '|' | '“' | '”')
                || matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff20}')
        })
        .unwrap_or(rest.len());
    loop {
        let address = &rest[..len];
        let Some(last) = address.chars().next_back() else {
            return 0;
        };
        let is_loose = match last {
            '.' | ',' | ':' | ';' | '!' | '?' | '\'' | '*' | '_' | '~' => true,
            // A closing bracket belongs to the address when it opens one.
            ')' => count(address, ')') > count(address, '('),
            ']' => count(address, ']') > count(address, '['),
            '}' => count(address, '}') > count(address, '{'),
            _ => false,
        };
        if !is_loose {
            return len;
        }
        len -= last.len_utf8();
    }
}

fn count(text: &str, wanted: char) -> usize {
    text.chars().filter(|c| *c == wanted).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_schemes_are_opened() {
        for good in [
            "https://a.example/x?y=(z)",
            "HTTP://a.example",
            "mailto:a@b.example",
            "http://[::1]:8080/",
        ] {
            assert!(may_open(good), "{good}");
        }
        for bad in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " https://a.example",
            "https://a.example\n",
            "https://a\u{0}b",
            "ssh://-oProxyCommand=x",
            "https://-flag",
            "https:///x",
            "data:text/html,x",
            "-flag",
            "relative/path",
            "mailto:-x@y",
        ] {
            assert!(!may_open(bad), "{bad}");
        }
    }

    #[test]
    fn a_link_whose_text_names_its_target_needs_no_second_one() {
        assert!(!target_differs("https://a.example/", "https://a.example"));
        assert!(!target_differs("a.example", "https://a.example"));
        assert!(!target_differs("a@b.example", "mailto:a@b.example"));
        assert!(target_differs(
            "https://bank.example",
            "https://evil.example"
        ));
        assert!(target_differs("here", "https://a.example"));
    }

    #[test]
    fn an_address_ends_before_the_punctuation_of_its_sentence() {
        let found = |text: &str| find_address(text, 0).map(|r| text[r].to_owned());
        assert_eq!(
            found("see (https://a.example/x_(y))."),
            Some("https://a.example/x_(y)".into())
        );
        assert_eq!(
            found("https://a.example。次"),
            Some("https://a.example".into())
        );
        assert_eq!(found("xhttps://a.example"), None);
        assert_eq!(found("file://x"), None);
        assert_eq!(found("http://"), None);
    }
}
