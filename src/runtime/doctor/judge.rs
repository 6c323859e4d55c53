//! Facts to findings. Pure: every weakness has its hint here.

use super::facts::{Facts, FolderFact, Tmux};
use super::{Finding, Section};
use crate::app::state::PictureChoice;
use crate::runtime::abilities::{Abilities, PictureWay};

/// Judges everything but the accounts.
pub fn judge(facts: &Facts) -> Vec<Section> {
    let mut sections = vec![section("Terminal", terminal(facts))];
    if let Some(tmux) = &facts.tmux {
        sections.push(section("tmux", multiplexer(tmux)));
    }
    sections.push(section("Clipboard", clipboard(facts)));
    sections.push(section("Secrets", secrets(facts)));
    sections.push(section("Files", files(facts)));
    sections
}

fn section(title: &str, findings: Vec<Finding>) -> Section {
    Section {
        title: title.to_owned(),
        findings,
    }
}

fn terminal(facts: &Facts) -> Vec<Finding> {
    let term = variable(facts, "TERM");
    let mut findings = Vec::new();
    if term.is_empty() || term == "dumb" {
        findings.push(Finding::bad(
            "type",
            if term.is_empty() {
                "TERM is not set"
            } else {
                "TERM=dumb"
            },
            "The full screen needs a terminal; trialogue --plain and trialogue send work here.",
        ));
    } else {
        findings.push(Finding::good("type", term));
    }
    if facts.place.in_screen {
        findings.push(Finding::limited(
            "GNU screen",
            "nothing passes it: no pictures, no links, no clipboard of the terminal",
            "tmux lets more through. Copies go to a file, whose name is said.",
        ));
    }
    if !variable(facts, "MOSH_CONNECTION").is_empty() {
        findings.push(Finding::limited(
            "mosh",
            "pictures, links and exact keys do not pass it, and the same text copied twice in a row is dropped",
            "Where that matters, use ssh.",
        ));
    }
    findings.push(size(facts));
    findings.extend(locale(facts));
    findings.push(Finding::good("colours", facts.colours.clone()));
    let Some(found) = &facts.terminal else {
        findings.push(Finding::limited(
            "questions",
            "not asked: this is not run in a terminal",
            "Run it in the terminal you chat in to see what that one can do.",
        ));
        return findings;
    };
    if !found.answered {
        findings.push(Finding::limited(
            "questions",
            "the terminal did not answer in time",
            "The chat works without answers; over a slow line they may come later and count then.",
        ));
    }
    if let Some(version) = &found.version {
        findings.push(Finding::good("program", version.clone()));
    }
    findings.push(match found.background {
        Some((r, g, b)) => Finding::good(
            "background",
            format!("#{r:02x}{g:02x}{b:02x}, so dark or light is known"),
        ),
        None => Finding::limited(
            "background",
            "not told, so the dark theme is taken",
            "On a light ground choose one: theme = \"light\" in config.toml, or --theme light.",
        ),
    });
    findings.push(match found.keyboard_flags {
        Some(flags) if flags & 1 == 1 => Finding::good(
            "keys",
            "exact (kitty keyboard protocol): Shift+Enter makes a new line",
        ),
        _ => Finding::limited(
            "keys",
            "as old terminals send them: Shift+Enter may come as Enter",
            "Alt+Enter, Ctrl+J, and \\ then Enter make a new line everywhere.",
        ),
    });
    findings.push(match found.sync {
        Some(true) => Finding::good("frames", "whole (synchronized updates)"),
        _ => Finding::good(
            "frames",
            "without synchronized updates; only changed cells are written",
        ),
    });
    findings.push(pictures(facts, found));
    findings
}

fn size(facts: &Facts) -> Finding {
    match facts.size {
        Some((columns, rows)) if columns < 40 || rows < 10 => Finding::bad(
            "size",
            format!("{columns}x{rows}"),
            "40x10 are needed; make the window larger or the letters smaller.",
        ),
        Some((columns, rows)) if columns < 90 => Finding::limited(
            "size",
            format!("{columns}x{rows}"),
            "From 90 columns on the sidebar stands beside the conversation; below it opens over it.",
        ),
        Some((columns, rows)) => Finding::good("size", format!("{columns}x{rows}")),
        None => Finding::good("size", "not known"),
    }
}

fn locale(facts: &Facts) -> Option<Finding> {
    let (name, value) = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .map(|name| (name, variable(facts, name)))
        .find(|(_, value)| !value.is_empty())?;
    let lower = value.to_ascii_lowercase();
    let is_utf8 = lower.contains("utf-8") || lower.contains("utf8");
    Some(if is_utf8 {
        Finding::good("locale", format!("{name}={value}"))
    } else {
        Finding::limited(
            "locale",
            format!("{name}={value} is not UTF-8, so frames and marks are drawn in ASCII"),
            "Set LANG=C.UTF-8 (or your language with .UTF-8) where the terminal shows UTF-8.",
        )
    })
}

fn pictures(facts: &Facts, found: &Abilities) -> Finding {
    const NAME: &str = "pictures";
    let words = |way: PictureWay| match way {
        PictureWay::Kitty => "kitty protocol",
        PictureWay::Iterm => "iTerm2 protocol",
        PictureWay::Sixel => "sixel",
        PictureWay::Blocks => "half blocks",
    };
    let chosen = match facts.pictures {
        PictureChoice::Auto => None,
        PictureChoice::Off => {
            return Finding::good(NAME, "off, as config.toml says; cards stand for them");
        }
        choice => Some(Abilities::default().picture_way_chosen(choice, facts.place)),
    };
    let best = found.picture_way(facts.place);
    match (chosen, best) {
        (Some(way), best) if way == best => {
            Finding::good(NAME, format!("{}, as config.toml says", words(way)))
        }
        (Some(PictureWay::Blocks), best) => Finding::limited(
            NAME,
            format!(
                "half blocks, as config.toml says; {} was found",
                words(best)
            ),
            "pictures = \"auto\" in config.toml takes the best that was found.",
        ),
        (Some(way), best) => Finding::limited(
            NAME,
            format!(
                "{}, as config.toml says, which this terminal did not prove; {} would be taken",
                words(way),
                words(best)
            ),
            "If none appear: pictures = \"auto\" in config.toml.",
        ),
        (None, PictureWay::Blocks) if facts.place.in_tmux => Finding::limited(
            NAME,
            "half blocks: nothing better was proved through tmux",
            "With a terminal that can show pictures: set -g allow-passthrough on (tmux 3.3 or newer).",
        ),
        (None, PictureWay::Blocks) => Finding::limited(
            NAME,
            "half blocks",
            "kitty, Ghostty, WezTerm, iTerm2, foot, Konsole and others show them sharp.",
        ),
        (None, best) => Finding::good(NAME, format!("{}, the best that was found", words(best))),
    }
}

fn multiplexer(tmux: &Tmux) -> Vec<Finding> {
    if tmux.version.is_empty() {
        return vec![Finding::bad(
            "answer",
            "TMUX is set, but tmux did not answer",
            "Is tmux on PATH here? Under sudo or in a container its socket may be out of reach.",
        )];
    }
    let option = |name: &str| tmux.options.get(name).map_or("", String::as_str);
    let mut findings = vec![Finding::good("version", tmux.version.clone())];
    findings.push(match option("set-clipboard") {
        "on" | "external" | "" | "1" | "2" => {
            Finding::good("set-clipboard", "copies reach the terminal")
        }
        value => Finding::limited(
            "set-clipboard",
            format!("{value}: what is copied stays in tmux"),
            "set -s set-clipboard on",
        ),
    });
    findings.push(match option("allow-passthrough") {
        "on" | "all" | "1" | "2" => {
            Finding::good("allow-passthrough", "pictures and notifications can pass")
        }
        "" => Finding::good(
            "allow-passthrough",
            "this tmux always passes them, or cannot",
        ),
        _ => Finding::limited(
            "allow-passthrough",
            "off: pictures and notifications of the terminal do not pass",
            "set -g allow-passthrough on",
        ),
    });
    findings.push(match option("extended-keys") {
        "on" | "always" | "1" | "2" => Finding::good("extended-keys", "exact keys pass"),
        _ => Finding::limited(
            "extended-keys",
            "off: Shift+Enter comes as Enter",
            "set -s extended-keys on\nset -as terminal-features 'xterm*:extkeys'",
        ),
    });
    findings.push(match option("focus-events") {
        "on" | "1" => Finding::good("focus-events", "trialogue knows whether you look at it"),
        _ => Finding::limited(
            "focus-events",
            "off: it cannot know whether you look at this window, so it rings less exactly",
            "set -g focus-events on",
        ),
    });
    let escape: u32 = option("escape-time").parse().unwrap_or(0);
    findings.push(if escape > 100 {
        Finding::limited(
            "escape-time",
            format!("{escape} ms: Esc feels slow"),
            "set -s escape-time 10",
        )
    } else {
        Finding::good("escape-time", format!("{escape} ms"))
    });
    let terminal = option("default-terminal");
    let has_true_colour = option("client_termfeatures")
        .split(',')
        .any(|feature| feature == "RGB");
    findings.push(if !terminal.contains("256color") {
        Finding::limited(
            "default-terminal",
            format!("{terminal}: few colours"),
            "set -g default-terminal tmux-256color",
        )
    } else if has_true_colour {
        Finding::good(
            "default-terminal",
            format!("{terminal}, 24-bit colour passes"),
        )
    } else {
        Finding::limited(
            "default-terminal",
            format!("{terminal}, 256 colours"),
            "For 24-bit colour: set -as terminal-features ',*:RGB'",
        )
    });
    findings
}

fn clipboard(facts: &Facts) -> Vec<Finding> {
    let place = facts.place;
    let has = |name: &str| facts.clipboard.programs.contains(&name);
    let copy = if place.in_tmux {
        if has("tmux") {
            Finding::good("copy", "through tmux, which hands it to the terminal")
        } else {
            Finding::limited(
                "copy",
                "TMUX is set, but there is no tmux program here",
                "Copies go to the terminal; in that tmux: set -s set-clipboard on",
            )
        }
    } else if place.in_screen {
        Finding::limited(
            "copy",
            "to a file: GNU screen lets no clipboard through",
            "The toast names the file.",
        )
    } else if place.has_display && !place.over_ssh {
        Finding::good("copy", "the desktop's own clipboard")
    } else {
        Finding::good(
            "copy",
            "the terminal's clipboard (OSC 52), which never confirms; up to 74 kB, longer text goes to a file",
        )
    };
    let mut findings = vec![copy];
    let term = variable(facts, "TERM");
    if place.over_ssh && !place.in_tmux && (term.starts_with("tmux") || term.starts_with("screen"))
    {
        findings.push(Finding::limited(
            "tmux at home",
            "ssh runs inside a tmux on your own machine",
            "There: set -s set-clipboard on, else copies stop in it.",
        ));
    }
    findings.push(if !cfg!(feature = "clipboard") {
        Finding::limited(
            "paste a picture",
            "this build reads no clipboard",
            "Attach the file instead: @path, or Ctrl+X f.",
        )
    } else if place.has_display && !place.over_ssh {
        Finding::good("paste a picture", "Ctrl+X V, from the desktop's clipboard")
    } else {
        Finding::limited(
            "paste a picture",
            "there is no desktop clipboard here",
            "Attach the file instead: @path, or Ctrl+X f. From another machine: scp it here first.",
        )
    });
    findings
}

fn secrets(facts: &Facts) -> Vec<Finding> {
    vec![match &facts.keyring {
        None => Finding::good("keyring", "answers"),
        Some(why) => Finding::limited(
            "keyring",
            why.clone(),
            "Secrets come from the account's secret_command, from TRIALOGUE_SECRET_NAME, or from a file that only you can read.",
        ),
    }]
}

fn files(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = facts.folders.iter().map(folder).collect();
    for problem in &facts.file_problems {
        findings.push(Finding::bad(
            "written wrong",
            problem.clone(),
            "trialogue keys and trialogue themes list the names there are.",
        ));
    }
    let editor = match (variable(facts, "VISUAL"), variable(facts, "EDITOR")) {
        ("", "") => Finding::limited(
            "editor",
            "vi, because neither VISUAL nor EDITOR is set",
            "Ctrl+G opens the draft in it; set EDITOR for another one.",
        ),
        ("", editor) => Finding::good("editor", editor),
        (visual, _) => Finding::good("editor", visual),
    };
    findings.push(editor);
    findings
}

fn folder(fact: &FolderFact) -> Finding {
    let path = fact.path.display();
    let is_private = matches!(
        fact.name,
        "data" | "history" | "decisions" | "secrets" | "state"
    );
    if !fact.is_ours {
        return Finding::bad(
            fact.name,
            format!("{path} belongs to somebody else"),
            format!(
                "Give it back (chown), or name another folder with --data-dir or --config-dir: {path}"
            ),
        );
    }
    if !fact.can_write && fact.name != "config" && fact.name != "keys" && fact.name != "themes" {
        return Finding::bad(
            fact.name,
            format!("{path} cannot be written"),
            "Is the disk full or read-only? --no-cache keeps nothing on disk; --data-dir names another folder.",
        );
    }
    match fact.mode {
        None => Finding::good(fact.name, format!("{path} (not there yet)")),
        Some(mode) if is_private && mode & 0o077 != 0 => Finding::bad(
            fact.name,
            format!("{path} can be read by others (mode {mode:o})"),
            format!("chmod go-rwx '{path}'"),
        ),
        Some(_) => Finding::good(fact.name, path.to_string()),
    }
}

fn variable<'a>(facts: &'a Facts, name: &str) -> &'a str {
    facts.environment.get(name).map_or("", String::as_str)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::runtime::desktop::Place;
    use crate::runtime::doctor::{Clipboard, Health};
    use std::collections::BTreeMap;

    /// A desktop where all is well.
    fn well() -> Facts {
        Facts {
            environment: BTreeMap::from([
                ("TERM", "xterm-kitty".to_owned()),
                ("LANG", "en_GB.UTF-8".to_owned()),
                ("EDITOR", "vi".to_owned()),
            ]),
            place: Place {
                has_display: true,
                ..Place::default()
            },
            terminal: Some(Abilities {
                answered: true,
                background: Some((0, 0, 0)),
                keyboard_flags: Some(1),
                sync: Some(true),
                kitty_graphics: true,
                ..Abilities::default()
            }),
            size: Some((120, 40)),
            clipboard: Clipboard {
                programs: vec!["wl-copy"],
            },
            folders: vec![FolderFact {
                name: "data",
                path: "/home/me/data".into(),
                mode: Some(0o700),
                is_ours: true,
                can_write: true,
            }],
            colours: "24 bit".to_owned(),
            ..Facts::default()
        }
    }

    fn found(facts: &Facts, name: &str) -> Finding {
        judge(facts)
            .into_iter()
            .flat_map(|section| section.findings)
            .find(|finding| finding.name == name)
            .unwrap()
    }

    #[test]
    fn a_good_place_has_no_hints() {
        for section in judge(&well()) {
            for finding in section.findings {
                assert_eq!(finding.health, Health::Good, "{finding:?}");
                assert!(finding.hint.is_empty());
            }
        }
    }

    #[test]
    fn every_weakness_says_what_to_do() {
        let mut facts = well();
        facts.environment = BTreeMap::from([
            ("TERM", "dumb".to_owned()),
            ("LANG", "de_DE.ISO-8859-1".to_owned()),
            ("MOSH_CONNECTION", "1".to_owned()),
        ]);
        facts.place = Place {
            over_ssh: true,
            in_tmux: true,
            ..Place::default()
        };
        facts.terminal = Some(Abilities::default());
        facts.size = Some((30, 8));
        facts.tmux = Some(Tmux {
            version: "3.3a".to_owned(),
            options: BTreeMap::from([
                ("set-clipboard", "off".to_owned()),
                ("allow-passthrough", "off".to_owned()),
                ("extended-keys", "off".to_owned()),
                ("focus-events", "off".to_owned()),
                ("escape-time", "500".to_owned()),
                ("default-terminal", "screen".to_owned()),
            ]),
        });
        facts.keyring = Some("there is no keyring here".to_owned());
        facts.folders[0].mode = Some(0o755);
        facts.file_problems = vec!["config.toml line 3".to_owned()];
        let weak: Vec<Finding> = judge(&facts)
            .into_iter()
            .flat_map(|section| section.findings)
            .filter(|finding| finding.health != Health::Good)
            .collect();
        for name in [
            "type",
            "mosh",
            "size",
            "locale",
            "questions",
            "background",
            "keys",
            "pictures",
            "set-clipboard",
            "allow-passthrough",
            "extended-keys",
            "focus-events",
            "escape-time",
            "default-terminal",
            "keyring",
            "data",
            "written wrong",
            "editor",
            "paste a picture",
        ] {
            let finding = weak.iter().find(|finding| finding.name == name);
            assert!(finding.is_some_and(|f| !f.hint.is_empty()), "{name}");
        }
    }

    #[test]
    fn it_says_which_way_pictures_are_drawn_and_who_chose_it() {
        let mut facts = well();
        let mut check = |choice, words: &str, health| {
            facts.pictures = choice;
            let finding = found(&facts, "pictures");
            assert_eq!((finding.words.as_str(), finding.health), (words, health));
        };
        check(
            PictureChoice::Auto,
            "kitty protocol, the best that was found",
            Health::Good,
        );
        check(
            PictureChoice::Kitty,
            "kitty protocol, as config.toml says",
            Health::Good,
        );
        check(
            PictureChoice::Sixel,
            "sixel, as config.toml says, which this terminal did not prove; kitty protocol would \
             be taken",
            Health::Limited,
        );
        check(
            PictureChoice::Blocks,
            "half blocks, as config.toml says; kitty protocol was found",
            Health::Limited,
        );
        check(
            PictureChoice::Off,
            "off, as config.toml says; cards stand for them",
            Health::Good,
        );
    }

    #[test]
    fn a_readable_data_folder_is_bad_and_a_small_screen_is_not() {
        let mut facts = well();
        facts.folders[0].mode = Some(0o750);
        assert_eq!(found(&facts, "data").health, Health::Bad);
        facts.size = Some((80, 24));
        assert_eq!(found(&facts, "size").health, Health::Limited);
    }
}
