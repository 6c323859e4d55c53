//! The text of a theme file: what may stand in it, what is wrong with it, and how its colours and
//! recipes become styles.

use super::super::color::{Rgb, legible, nearest_index};
use super::{Depth, LEAST_CONTRAST, Role, SHIPPED, Theme};
use crate::domain::nearest;
use ratatui::style::{Color, Modifier, Style};
use std::collections::BTreeMap;

/// One thing that is wrong with a theme file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThemeProblem {
    /// Counted from one; none when something is missing.
    pub line: Option<usize>,
    pub what: String,
}

/// Everything that is wrong with a theme file, in its order. Never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThemeProblems(pub Vec<ThemeProblem>);

impl std::fmt::Display for ThemeProblems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            if let Some(line) = problem.line {
                write!(f, "line {line}: ")?;
            }
            f.write_str(&problem.what)?;
        }
        Ok(())
    }
}

impl std::error::Error for ThemeProblems {}

/// The surfaces that a text without a ground of its own may stand on.
const SURFACES: [&str; 5] = ["background", "panel", "raised", "code", "selection"];

/// The names a theme file gives colours to.
pub(super) const COLORS: [&str; 17] = [
    "background",
    "panel",
    "raised",
    "code",
    "selection",
    "text",
    "muted",
    "border",
    "accent",
    "red",
    "orange",
    "yellow",
    "green",
    "cyan",
    "blue",
    "purple",
    "pink",
];

/// The words of a style besides colours.
const STYLES: [&str; 7] = [
    "on",
    "bold",
    "dim",
    "italic",
    "underline",
    "reverse",
    "strike",
];

/// The name that was probably meant, as the end of a complaint.
fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// A colour as a theme names it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Tint {
    /// What the terminal itself uses.
    Default,
    /// One of the terminal's sixteen.
    Ansi(u8),
    Rgb(Rgb),
}

/// A theme file, read but not yet turned into styles.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Source {
    name: String,
    title: String,
    pub(super) is_dark: bool,
    pub(super) colors: BTreeMap<String, Tint>,
    roles: BTreeMap<String, String>,
}

impl Source {
    /// Reads the part of TOML that themes use: tables, and keys with a quoted text or a boolean.
    pub(super) fn read(text: &str) -> (Source, Vec<ThemeProblem>) {
        let mut source = Source {
            name: String::new(),
            title: String::new(),
            is_dark: true,
            colors: BTreeMap::new(),
            roles: BTreeMap::new(),
        };
        let mut problems = Vec::new();
        let mut table = String::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Err(what) = source.read_line(&mut table, line) {
                let line = Some(at + 1);
                problems.push(ThemeProblem { line, what });
            }
        }
        let missing: Vec<&str> = COLORS
            .into_iter()
            .filter(|name| !source.colors.contains_key(*name))
            .collect();
        if !missing.is_empty() {
            let what = match missing.as_slice() {
                [one] => format!("the colour {one} is missing under [colors]"),
                several => format!(
                    "these colours are missing under [colors]: {}",
                    several.join(", ")
                ),
            };
            problems.push(ThemeProblem { line: None, what });
        }
        if source.title.is_empty() {
            source.title.clone_from(&source.name);
        }
        (source, problems)
    }

    fn read_line(&mut self, table: &mut String, line: &str) -> Result<(), String> {
        if let Some(name) = line.strip_prefix('[') {
            let name = name.split(']').next().unwrap_or_default().trim();
            name.clone_into(table);
            return match name {
                "colors" | "roles" => Ok(()),
                _ => Err("a theme has the tables [colors] and [roles] only".into()),
            };
        }
        let (key, value) = line.split_once('=').ok_or("expected `name = \"value\"`")?;
        let key = key.trim().trim_matches('"');
        let value = value.trim();
        let value = match value.strip_prefix('"') {
            Some(rest) => rest.split_once('"').ok_or("the quote is not closed")?.0,
            None => value.split('#').next().unwrap_or_default().trim(),
        };
        match table.as_str() {
            "colors" => {
                let known = COLORS.into_iter();
                if !COLORS.contains(&key) {
                    return Err(format!(
                        "no colour of a theme is called `{key}`{}",
                        hint(key, known)
                    ));
                }
                let tint = Tint::read(value)
                    .ok_or("expected a colour such as \"#1a2b3c\" or \"ansi-blue\"")?;
                self.colors.insert(key.to_owned(), tint);
            }
            "roles" => {
                let mut known = Role::ALL.iter().map(|role| role.name());
                if !known.clone().any(|name| name == key) {
                    return Err(format!("there is no role `{key}`{}", hint(key, &mut known)));
                }
                let is_word = |word: &&str| {
                    STYLES.contains(word) || COLORS.contains(word) || Tint::read(word).is_some()
                };
                if let Some(word) = value.split_whitespace().find(|word| !is_word(word)) {
                    let known = STYLES.into_iter().chain(COLORS);
                    return Err(format!(
                        "`{word}` is no colour and no style{}",
                        hint(word, known)
                    ));
                }
                self.roles.insert(key.to_owned(), value.to_owned());
            }
            // A table of another name was told once.
            "" => match key {
                "name" => self.name = value.to_owned(),
                "title" => self.title = value.to_owned(),
                "is_dark" => self.is_dark = value == "true",
                _ => return Err("expected `name`, `title` or `is_dark`".into()),
            },
            _ => {}
        }
        Ok(())
    }

    /// A theme that ships, without its faults, of which it has none.
    pub(super) fn shipped(name: &str) -> Source {
        let text = SHIPPED.iter().find(|(known, _)| *known == name);
        Source::read(text.map_or("", |(_, text)| text)).0
    }

    pub(super) fn theme_or_stand_in(&self, depth: Depth) -> Theme {
        let plain = match depth {
            Depth::Mono => "mono",
            Depth::Ansi => "ansi-16",
            Depth::Indexed | Depth::TrueColor => return self.theme(depth),
        };
        let mut theme = Self::shipped(plain).theme(depth);
        theme.name.clone_from(&self.name);
        theme.title.clone_from(&self.title);
        theme.is_dark = self.is_dark;
        theme
    }

    fn theme(&self, depth: Depth) -> Theme {
        let surfaces: Vec<Color> = SURFACES
            .iter()
            .map(|name| self.tint(name).color(depth))
            .collect();
        let styles: Vec<Style> = Role::ALL
            .iter()
            .map(|role| self.style(*role, depth, &surfaces))
            .collect();
        // A theme that names no colour wants none from elsewhere either.
        let names_none = |style: &Style| {
            [style.fg, style.bg]
                .iter()
                .all(|color| matches!(color, None | Some(Color::Reset)))
        };
        let depth = if styles.iter().all(names_none) {
            Depth::Mono
        } else {
            depth
        };
        Theme {
            name: self.name.clone(),
            title: self.title.clone(),
            is_dark: self.is_dark,
            depth,
            styles,
            surfaces,
        }
    }

    fn tint(&self, name: &str) -> Tint {
        self.colors
            .get(name)
            .copied()
            .or_else(|| Tint::read(name))
            .unwrap_or(Tint::Default)
    }

    fn style(&self, role: Role, depth: Depth, surfaces: &[Color]) -> Style {
        let recipe = self
            .roles
            .get(role.name())
            .map_or(role.recipe(), String::as_str);
        let mut style = Style::new();
        let mut fg = None;
        let mut bg = None;
        let mut is_ground = false;
        for word in recipe.split_whitespace() {
            match word {
                "on" => is_ground = true,
                "bold" => style = style.add_modifier(Modifier::BOLD),
                "dim" => style = style.add_modifier(Modifier::DIM),
                "italic" => style = style.add_modifier(Modifier::ITALIC),
                "underline" => style = style.add_modifier(Modifier::UNDERLINED),
                "reverse" => style = style.add_modifier(Modifier::REVERSED),
                "strike" => style = style.add_modifier(Modifier::CROSSED_OUT),
                color if is_ground => bg = Some(self.tint(color)),
                color => fg = Some(self.tint(color)),
            }
        }
        let bg = bg.map(|tint| tint.color(depth));
        let fg = fg.map(|tint| match tint {
            Tint::Rgb(rgb) if role.is_text() => {
                let own = bg.map(|ground| vec![ground]);
                let grounds: Vec<Rgb> = own
                    .as_deref()
                    .unwrap_or(surfaces)
                    .iter()
                    .filter_map(|color| Rgb::of(*color))
                    .collect();
                legible(rgb, &grounds, LEAST_CONTRAST, |rgb| {
                    Tint::Rgb(rgb).color(depth)
                })
            }
            tint => tint.color(depth),
        });
        style.fg = fg;
        style.bg = bg;
        style
    }
}

impl Tint {
    fn read(text: &str) -> Option<Tint> {
        if let Some(rgb) = Rgb::read(text) {
            return Some(Tint::Rgb(rgb));
        }
        const NAMES: [&str; 8] = [
            "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
        ];
        if text == "default" {
            return Some(Tint::Default);
        }
        let (name, bright) = match text.strip_prefix("bright-") {
            Some(name) => (name, 8),
            None => (text.strip_prefix("ansi-")?, 0),
        };
        let index = NAMES.iter().position(|n| *n == name)?;
        Some(Tint::Ansi(u8::try_from(index).ok()? + bright))
    }

    fn color(self, depth: Depth) -> Color {
        match (self, depth) {
            (_, Depth::Mono) | (Tint::Default, _) => Color::Reset,
            (Tint::Ansi(index), _) => match index {
                0 => Color::Black,
                1 => Color::Red,
                2 => Color::Green,
                3 => Color::Yellow,
                4 => Color::Blue,
                5 => Color::Magenta,
                6 => Color::Cyan,
                7 => Color::Gray,
                8 => Color::DarkGray,
                9 => Color::LightRed,
                10 => Color::LightGreen,
                11 => Color::LightYellow,
                12 => Color::LightBlue,
                13 => Color::LightMagenta,
                14 => Color::LightCyan,
                _ => Color::White,
            },
            (Tint::Rgb(rgb), Depth::TrueColor) => rgb.color(),
            (Tint::Rgb(rgb), Depth::Indexed | Depth::Ansi) => Color::Indexed(nearest_index(rgb)),
        }
    }
}
