//! Complaints that people have about clients of this kind, tried in the real program. Each has a
//! number, and each is held somewhere:
//!
//! | row | complaint | held by |
//! |---|---|---|
//! | 1, 2 | typed words answer an approval; it is not seen whole | `keys/deciding.rs` |
//! | 3 | a long command pushes the buttons off the screen | `screens.rs`: `a_command_of_one_long_line_leaves_the_choices_on_the_screen` |
//! | 4 | nobody sees what waits elsewhere | here; `update/attention.rs`: `the_title_counts_what_waits_and_what_is_unread` |
//! | 5, 9, 11 | a draft is lost or goes elsewhere | `keys/field.rs` |
//! | 6 | a link that died takes keys and draft along | here; `wire/links.rs`: `a_socket_that_only_looks_open_is_noticed` |
//! | 7 | a message that was taken as queued is gone | `update/delivery.rs`: `a_text_refused_because_of_a_run_goes_back_to_the_head_and_leaves_after_it`; `kills.rs` |
//! | 12 | what ended while the link was down is never shown | `end_to_end.rs`: `the_server_dies_in_the_middle_of_an_answer_and_everything_is_found_again_once`; `together.rs` |
//! | 13 | a flood is dropped in silence | `wire/links.rs`: `a_flood_of_cumulative_updates_costs_few_decodings_and_shows_the_last` |
//! | 15 | what another client sent never appears | here; `update/start.rs`: `after_a_reconnect_what_is_shown_is_opened_again_and_so_is_what_was_under_way` |
//! | 16 | a refused secret is tried again and again | `wire/gateways.rs`: `a_wrong_secret_is_tried_once_and_said` |
//! | 17 | "working", and nothing moves | `screens.rs`: `a_run_from_which_nothing_comes_says_so_and_offers_a_way_out` |
//! | 18, 19, 22, 23 | flashing, copies after a resize, a view that jumps, the wheel | here |
//! | 24 | columns of a table drift | here; `paint.rs`: `borders_stand_where_they_should_behind_clusters_that_terminals_measure_otherwise` |
//! | 25 | text that nobody can read on a light ground | here; the contrast of every theme in `view/theme` |
//! | 27 | a tiny window ends the program | `end_to_end.rs`: `the_screen_survives_every_size` |
//! | 28 | what an agent prints reaches the terminal | `hostile_program.rs`, `hostile.rs` |
//! | 30 | titles are overwritten; bytes for a terminal go into a pipe | here; `terminal/pictures.rs`: `tmux_without_passthrough_gets_half_blocks_and_keeps_its_title` |
//! | 31 | composed text stands in a corner | here |
//! | 33, 34, 35 | Shift+Enter, other layouts, pastes | `keys/field.rs`, `input/parser` |
//! | 36 | echo slows with the length of the history | the bench `table` (`stream`, `long`); `end_to_end.rs`: `ten_thousand_messages_are_there_while_the_network_is_dead` |
//! | 37 | the terminal is left in a mess | here; `end_to_end.rs`: `the_terminal_is_given_back_on_every_way_out` |
//! | 39 | what is copied is not what was written | here |
//! | 40 | an idle program burns and a large history weighs | the bench `table` (`idle`, `memory`, `start`); `update/attention.rs`: `an_idle_program_wants_nothing` |

use super::hands::{Hands, Kind};
use super::support::pty::{Answers, Pty, contains, program};
use super::support::served::{Served, add_account, command, run};
use base64::Engine as _;
use std::process::Command;
use std::time::{Duration, Instant};

fn start(environment: &[(&str, &str)]) -> (tempfile::TempDir, Hands) {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["demo", "--set", "speed=300", "--no-keyring"];
    let hands = Hands::start(Kind::Old, home.path(), &arguments, environment);
    hands.pty.wait_until("three accounts online", |screen| {
        screen.matches('●').count() >= 4
    });
    hands.insist("alt-2", "pheby@demo");
    (home, hands)
}

/// Waits for a run and for its end, unless it is over already.
fn over(hands: &Hands) {
    let turns = |screen: &str| screen.contains(|c| "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(c));
    hands.pty.wait_until("a run or an answer", |screen| {
        turns(screen) || screen.contains("You wrote:")
    });
    hands
        .pty
        .wait_until("the end of the run", |screen| !turns(screen));
}

/// The seconds that something waits, in the list of all that waits.
fn seconds_waiting(screen: &str) -> Option<u32> {
    let line = screen.lines().find(|line| line.contains("· pheby@demo"))?;
    let (_, rest) = line.split_once("· pheby@demo")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[test]
fn row_4_what_waits_elsewhere_is_counted_here_and_its_age_grows() {
    let (_home, hands) = start(&[]);
    hands.write("approve");
    hands.press("enter");
    hands.insist("alt-3", "omi@demo");
    hands.see("1 waiting for you");
    hands.press("alt-a").see("Waiting for you");
    let screen = hands
        .pty
        .wait_until("its age", |screen| seconds_waiting(screen).is_some());
    let first = seconds_waiting(&screen);
    hands
        .pty
        .wait_until("an older one", |screen| seconds_waiting(screen) > first);
}

#[test]
fn row_6_a_frozen_server_stops_no_key_is_told_within_ten_seconds_and_loses_no_draft() {
    for protocol in ["iris", "pheby"] {
        let home = tempfile::tempdir().unwrap();
        let served = Served::start(home.path(), "127.0.0.1:0", &["speed=300"]);
        add_account(home.path(), "here", served.gateway(protocol));
        let chat = || {
            let mut command = program(home.path(), &["--no-keyring"]);
            command.env("TRIALOGUE_SECRET_HERE", &served.gateway(protocol).secret);
            Pty::start(command, 120, 40)
        };
        let mut pty = chat();
        pty.wait_for("online");
        pty.wait_for("message ");
        served.freeze();
        let frozen = Instant::now();
        for word in ["words ", "while ", "nothing "] {
            pty.send(word);
            pty.wait_for(word.trim());
        }
        pty.wait_for("no answer from the server");
        assert!(frozen.elapsed() < Duration::from_secs(10), "{protocol}");
        // It goes as it came, and the link is the same.
        served.thaw();
        pty.wait_gone("no answer");
        pty.wait_for("online");
        served.freeze();
        pty.send("answers");
        pty.wait_for("words while nothing answers");
        // A draft is on disk a quarter of a second after it was changed.
        let data = home.path().join("data");
        wait_for_bytes(&data, b"words while nothing answers");
        pty.kill();
        let again = chat();
        again.wait_for("words while nothing answers");
        served.thaw();
    }
}

/// Waits until some file of a folder holds these bytes.
fn wait_for_bytes(folder: &std::path::Path, wanted: &[u8]) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let is_there = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| std::fs::read(entry.ok()?.path()).ok())
            .any(|bytes| contains(&bytes, wanted));
        if is_there {
            return;
        }
        assert!(Instant::now() < deadline, "it is not on disk");
        std::thread::yield_now();
    }
}

#[test]
fn row_15_what_another_client_sent_appears_here() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let served = Served::start(home.path(), "127.0.0.1:0", &["speed=400"]);
    let gateway = served.gateway("pheby");
    for home in [&home, &elsewhere] {
        add_account(home.path(), "here", gateway);
    }
    let mut screen = program(home.path(), &["--no-keyring"]);
    screen.env("TRIALOGUE_SECRET_HERE", &gateway.secret);
    let pty = Pty::start(screen, 120, 40);
    pty.wait_for("online");
    pty.wait_for("Welcome");
    let sent = command(
        elsewhere.path(),
        &[
            "send",
            "-c",
            "Welcome",
            "plain words from another desk",
            "--no-keyring",
        ],
    )
    .env("TRIALOGUE_SECRET_HERE", &gateway.secret)
    .output()
    .unwrap();
    assert!(sent.status.success(), "{sent:?}");
    pty.wait_for("plain words from another desk");
    let screen = pty.wait_for("You wrote:");
    let count = screen.matches("plain words from another desk").count();
    // Once as it was sent, and once where the agent says it again.
    assert!(count <= 2, "{screen}");
}

#[test]
fn row_18_nothing_is_erased_as_a_whole_while_an_answer_streams() {
    let (_home, hands) = start(&[]);
    let before = hands.pty.raw().len();
    hands.write("long");
    hands.press("enter");
    over(&hands);
    let raw = hands.pty.raw();
    for erase in [&b"\x1b[2J"[..], b"\x1b[3J", b"\x1b[J", b"\x1b[0J"] {
        assert!(!contains(&raw[before..], erase), "{erase:?}");
    }
}

#[test]
fn row_19_resizing_leaves_no_copies_and_nothing_stays_behind() {
    let (_home, mut hands) = start(&[]);
    hands.write("plain");
    hands.press("enter").see("You wrote:");
    over(&hands);
    for step in 0..20_u16 {
        hands.pty.resize(60 + step * 37 % 81, 30 + step % 11);
    }
    hands.pty.resize(120, 40);
    // A key that was sent after the sizes is there, so all of them were taken.
    hands.write("settled");
    hands
        .pty
        .wait_until("everything once on the wide screen", |screen| {
            [
                "omi@demo",
                "You wrote:",
                "Say help to see the list here.",
                "settled",
            ]
            .iter()
            .all(|once| screen.matches(once).count() == 1)
        });
    hands.press("ctrl-c").gone("settled");
    hands.press("ctrl-d");
    assert_eq!(hands.pty.wait_exit(), 0);
    let raw = hands.pty.raw();
    let entered = raw
        .windows(8)
        .filter(|part| *part == b"\x1b[?1049h")
        .count();
    assert_eq!(entered, 1, "the whole time on the other screen");
    assert!(contains(&raw, b"\x1b[22;0t") && contains(&raw, b"\x1b[23;0t"));
    let left = hands.pty.screen();
    assert!(left.trim().is_empty(), "left behind:\n{left}");
}

/// The upper rows of the timeline.
fn upper(screen: &str) -> Vec<String> {
    let rows = screen.lines().skip(1).take(8);
    rows.map(|row| {
        row.chars()
            .skip(26)
            .collect::<String>()
            .trim_end()
            .to_owned()
    })
    .collect()
}

#[test]
fn row_22_what_is_being_read_stays_while_the_answer_grows() {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["demo", "--set", "speed=60", "--no-keyring"];
    let hands = Hands::start(Kind::Old, home.path(), &arguments, &[]);
    hands.pty.wait_until("three accounts online", |screen| {
        screen.matches('●').count() >= 4
    });
    hands.insist("alt-2", "pheby@demo");
    hands.pty.resize(120, 24);
    hands.write("slow");
    hands.press("enter").see("This comes slowly");
    hands.press("shift-up shift-up shift-up").see("newest");
    let before = upper(&hands.pty.screen());
    assert!(before.iter().any(|row| !row.is_empty()));
    // It has grown by a tool, and nothing has moved.
    hands.see("cargo build --release");
    assert_eq!(upper(&hands.see("newest").pty.screen()), before);
    hands.press("ctrl-end").see("works as ever");
}

#[test]
fn row_24_the_columns_of_a_table_stand_in_line_whatever_is_in_them() {
    let (_home, hands) = start(&[]);
    hands.pty.resize(50, 20);
    hands.write("table");
    hands.press("enter").see("stay in their cell");
    let mut seen = 0;
    for _ in 0..12 {
        let screen = hands
            .pty
            .wait_until("no notice over the table", |screen| !screen.contains("▎ !"));
        let edges = |row: u16| {
            hands.pty.with_screen(|screen| {
                (0..50)
                    .filter(|column| {
                        let cell = screen.cell(row, *column);
                        cell.is_some_and(|cell| cell.contents() == "│")
                    })
                    .collect::<Vec<_>>()
            })
        };
        // The word that there is something below lies over the last row.
        let covered = screen.lines().position(|line| line.contains("newest"));
        for row in 1..17 {
            let (one, next) = (edges(row), edges(row + 1));
            let is_covered =
                [Some(usize::from(row)), Some(usize::from(row) + 1)].contains(&covered);
            if one.len() > 2 && next.len() > 2 && !is_covered {
                assert_eq!(one, next, "rows {row} and {}:\n{screen}", row + 1);
                seen += 1;
            }
        }
        hands.press("pageup");
        if screen.contains("言語") || screen.contains("the beginning of this") {
            break;
        }
        hands.pty.wait_until("another page", |now| *now != screen);
    }
    assert!(seen > 3, "no table was seen:\n{}", hands.pty.screen());
}

/// How far apart two colours are, as WCAG 2.1 counts.
fn contrast(one: (u8, u8, u8), other: (u8, u8, u8)) -> f64 {
    let light = |(r, g, b): (u8, u8, u8)| {
        let part = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.03928 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
    };
    let (one, other) = (light(one), light(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Letters and signs on the screen that are too close to their ground.
fn hard_to_read(pty: &Pty) -> Vec<String> {
    let of = |color: vt100::Color| match color {
        vt100::Color::Rgb(r, g, b) => Some((r, g, b)),
        _ => None,
    };
    pty.with_screen(|screen| {
        let mut found = Vec::new();
        for row in 0..40 {
            for column in 0..120 {
                let Some(cell) = screen.cell(row, column) else {
                    continue;
                };
                let text = cell.contents();
                // Lines and blocks are no text.
                let is_text = text
                    .chars()
                    .next()
                    .is_some_and(|c| !c.is_whitespace() && !('\u{2500}'..'\u{25a0}').contains(&c));
                if !is_text {
                    continue;
                }
                match (of(cell.fgcolor()), of(cell.bgcolor())) {
                    (Some(text_color), Some(ground)) => {
                        let contrast = contrast(text_color, ground);
                        if contrast < 4.5 {
                            found.push(format!("{text} at {column},{row}: {contrast:.2}"));
                        }
                    }
                    (text_color, ground) => {
                        found.push(format!(
                            "{text} at {column},{row}: {text_color:?} {ground:?}"
                        ));
                    }
                }
            }
        }
        found
    })
}

#[test]
fn row_25_every_letter_can_be_read_on_a_light_ground() {
    for background in ["rgb:ffff/ffff/ffff", "rgb:fdfd/f6f6/e3e3"] {
        let home = tempfile::tempdir().unwrap();
        let mut command = program(home.path(), &["demo", "--set", "speed=400", "--no-keyring"]);
        command.env("COLORTERM", "truecolor");
        let answers = Answers {
            background: Some(background),
            ..Answers::default()
        };
        let pty = Pty::start_on(answers, command, 120, 40);
        pty.wait_until("three accounts online", |screen| {
            screen.matches('●').count() >= 4
        });
        pty.send("\x1b2");
        pty.wait_for("Welcome");
        pty.send("approve\r");
        pty.wait_for("Alt+A answers");
        let look = |what: &str| {
            let found = hard_to_read(&pty);
            assert!(found.is_empty(), "{background}, {what}: {found:?}");
            // The ground is light, so the answer was heard.
            let ground = pty.with_screen(|screen| screen.cell(5, 60).unwrap().bgcolor());
            assert!(
                matches!(ground, vt100::Color::Rgb(r, ..) if r > 200),
                "{ground:?}"
            );
        };
        look("an approval that waits");
        for (key, words) in [
            ("\x1ba", "the agent is told no"),
            ("\x10", "what do you want to do?"),
            ("\x0e", "name of a conversation"),
            ("\x1bOP", "part of a key or of what it does"),
        ] {
            pty.send(key);
            pty.wait_for(words);
            look(words);
            pty.send("\x1b");
            pty.wait_gone(words);
        }
    }
}

#[test]
fn row_30_nothing_but_text_goes_into_a_pipe() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [
        &["--help"][..],
        &["themes"],
        &["keys"],
        &["list"],
        &["doctor"],
        &["completions", "bash"],
        &["config", "example"],
    ] {
        let output = run(home.path(), arguments);
        for bytes in [&output.stdout, &output.stderr] {
            let is_bare = bytes.iter().all(|byte| *byte != 0x1b && *byte != 0x07);
            assert!(is_bare, "{arguments:?}");
        }
    }
}

#[test]
fn row_23_the_wheel_scrolls_and_leaves_the_composer_alone() {
    let (_home, hands) = start(&[]);
    hands.write("a draft");
    for _ in 0..10 {
        hands.pty.send("\x1b[<64;60;10M");
    }
    hands.see("a draft");
    // A key that was sent after the wheel is there, so the wheel was taken.
    hands.write("!").see("a draft!");
}

#[test]
fn row_31_the_real_cursor_stands_at_the_caret() {
    let (_home, hands) = start(&[]);
    hands.write("漢字ab");
    hands.press("left");
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let (cursor, hidden, caret) = hands.pty.with_screen(|screen| {
            let (rows, columns) = screen.size();
            let caret = (0..rows.get())
                .flat_map(|row| (0..columns.get()).map(move |column| (row, column)))
                .find(|(row, column)| {
                    screen
                        .cell(*row, *column)
                        .is_some_and(|cell| cell.contents() == "漢")
                })
                // Two wide characters and one letter before it.
                .map(|(row, column)| (row, column + 5));
            (screen.cursor_position(), screen.hide_cursor(), caret)
        });
        if caret == Some(cursor) && !hidden {
            break;
        }
        assert!(Instant::now() < deadline, "{cursor:?} {hidden} {caret:?}");
        std::thread::yield_now();
    }
}

#[test]
fn row_37_a_stopped_program_gives_the_terminal_back_and_takes_it_again() {
    let (_home, hands) = start(&[]);
    hands.write("kept");
    let before = hands.pty.raw().len();
    hands.press("ctrl-z");
    hands
        .pty
        .wait_written("the end of the alternate screen", b"\x1b[?1049l", before);
    let stat = format!("/proc/{}/stat", hands.pty.id());
    let deadline = Instant::now() + Duration::from_secs(20);
    while !std::fs::read_to_string(&stat)
        .unwrap_or_default()
        .contains(") T")
    {
        assert!(Instant::now() < deadline, "it is not stopped");
        std::thread::yield_now();
    }
    let raw = hands.pty.raw();
    for undo in [
        "\x1b[?2004l",
        "\x1b[?1000l",
        "\x1b[?1004l",
        "\x1b[<u",
        "\x1b[?25h",
    ] {
        assert!(contains(&raw[before..], undo.as_bytes()), "{undo:?}");
    }
    let stopped = raw.len();
    let status = Command::new("kill")
        .args(["-CONT", &hands.pty.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    hands
        .pty
        .wait_written("the alternate screen again", b"\x1b[?1049h", stopped);
    hands.write("!").see("kept!");
}

#[test]
fn row_39_what_is_copied_over_ssh_is_the_source_and_not_what_is_drawn() {
    let (_home, hands) = start(&[("SSH_TTY", "/dev/pts/9")]);
    hands.write("plain");
    hands.press("enter").see("You wrote:");
    over(&hands);
    let before = hands.pty.raw().len();
    hands.press("tab").see("j down");
    hands.press("G y").see("not confirmed");
    let raw = hands.pty.raw();
    let text = String::from_utf8_lossy(&raw[before..]).into_owned();
    let sent = text.split("\x1b]52;c;").nth(1).unwrap();
    let sent = sent.split('\x1b').next().unwrap();
    let copied = base64::engine::general_purpose::STANDARD
        .decode(sent)
        .unwrap();
    let copied = String::from_utf8(copied).unwrap();
    // One line of the source, drawn as several.
    assert!(
        copied.contains("Hello! I am the **scripted agent** of the demo. I do not think, but I play: every word of the list in *Welcome* shows another thing"),
        "{copied}"
    );
}
