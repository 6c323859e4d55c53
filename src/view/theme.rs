//! Roles and their styles. A theme is a small TOML file: some named colours and, where it differs
//! from the usual recipe, a role's style in words ("accent bold", "text on raised"). Text colours
//! that would be hard to read on the surfaces they stand on are moved until they reach WCAG AA.

mod source;

pub use source::{ThemeProblem, ThemeProblems};

use super::color::{Rgb, contrast};
use ratatui::style::{Color, Style};
use source::{COLORS, Source};

/// How many colours the terminal shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Depth {
    /// None: bold, underlined and reversed text only.
    Mono,
    /// The terminal's own sixteen.
    Ansi,
    /// The 256 of xterm.
    Indexed,
    #[default]
    TrueColor,
}

/// The least contrast of text on its surface: WCAG 2.1, level AA.
pub const LEAST_CONTRAST: f64 = 4.5;

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident $name:literal $recipe:literal;)*) => {
        /// What a piece of the screen is; the theme says how it looks.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
        pub enum Role {
            #[default]
            $($(#[$doc])* $role,)*
        }

        impl Role {
            /// Every role.
            pub const ALL: &'static [Role] = &[$(Role::$role,)*];

            /// Its name in theme files.
            pub fn name(self) -> &'static str {
                match self { $(Role::$role => $name,)* }
            }

            /// The style in words that a theme file may replace.
            fn recipe(self) -> &'static str {
                match self { $(Role::$role => $recipe,)* }
            }
        }
    };
}

roles! {
    /// What people and agents write.
    Text "text" "text";
    /// Times, hints, what stands back.
    Muted "muted" "muted";
    /// Lines, rails and frames; carries no words.
    Border "border" "border";
    /// The frame of the part that has the focus.
    BorderFocused "border-focused" "accent";
    /// Names of places, of the thing at hand.
    Title "title" "text bold";
    Accent "accent" "accent";
    /// The whole screen.
    Background "background" "text on background";
    /// The sidebar.
    Panel "panel" "text on panel";
    /// Header and status line.
    Bar "bar" "text on raised";
    BarMuted "bar-muted" "muted";
    You "you" "blue bold";
    Agent "agent" "purple bold";
    System "system" "cyan bold";
    Automation "automation" "orange bold";
    /// The rail beside the person's own messages.
    YouRail "you-rail" "blue";
    Good "good" "green";
    Warning "warning" "yellow";
    Danger "danger" "red";
    Info "info" "cyan";
    /// The row of a list that the cursor is on.
    Selected "selected" "text on selection bold";
    /// Behind the selected entry of the timeline.
    SelectedEntry "selected-entry" "text on panel";
    SelectionMark "selection-mark" "accent bold";
    /// What a filter matched.
    Match "match" "yellow bold underline";
    /// Behind text dragged over with the mouse, and search marks.
    Marked "marked" "background on yellow";
    Unread "unread" "accent bold";
    /// Something waits for the person.
    Waiting "waiting" "yellow bold";
    Running "running" "green";
    /// The composer's text.
    Input "input" "text";
    Placeholder "placeholder" "muted";
    Prompt "prompt" "accent bold";
    /// A small boxed word: attachment, reply, paste.
    Chip "chip" "text on raised";
    DecisionBar "decision-bar" "background on yellow bold";
    /// A loud mark: the agent acts without asking.
    Loud "loud" "background on red bold";
    ToolName "tool-name" "cyan";
    ToolText "tool-text" "muted";
    Reasoning "reasoning" "muted italic";
    Day "day" "muted";
    UnreadLine "unread-line" "red";
    /// The pill that says how much came below.
    Pill "pill" "background on accent bold";
    Key "key" "accent bold";
    Hint "hint" "muted";
    Popup "popup" "text on raised";
    PopupBorder "popup-border" "accent";
    PopupTitle "popup-title" "text bold";
    PopupMuted "popup-muted" "muted";
    /// A button of a popup, and the same with the cursor on it.
    Button "button" "text on selection";
    ButtonFocused "button-focused" "background on accent bold";
    /// The command of an approval.
    Command "command" "text on code";
    Heading "heading" "accent bold";
    Strong "strong" "text bold";
    Emphasis "emphasis" "text italic";
    Struck "struck" "muted strike";
    /// Code inside a line.
    Code "code" "orange";
    /// The ground of a code block.
    CodeBlock "code-block" "text on code";
    CodeLabel "code-label" "muted on code";
    Quote "quote" "muted italic";
    QuoteRail "quote-rail" "border";
    ListMark "list-mark" "accent";
    TableFrame "table-frame" "border";
    TableHead "table-head" "text bold";
    Link "link" "blue underline";
    LinkTarget "link-target" "muted";
    /// Stands where something was taken out or cannot be shown.
    Removed "removed" "red";
    Math "math" "cyan italic";
    Note "note" "cyan bold";
    DiffAdded "diff-added" "green";
    DiffRemoved "diff-removed" "red";
    DiffHunk "diff-hunk" "purple";
    /// What changed within a line that changed.
    DiffAddedPart "diff-added-part" "background on green";
    DiffRemovedPart "diff-removed-part" "background on red";
    CodeKeyword "code-keyword" "purple";
    CodeString "code-string" "green";
    CodeNumber "code-number" "orange";
    CodeComment "code-comment" "muted italic";
    CodeFunction "code-function" "blue";
    CodeType "code-type" "yellow";
    CodeVariable "code-variable" "text";
    CodeConstant "code-constant" "orange";
    CodeOperator "code-operator" "cyan";
    CodePunctuation "code-punctuation" "muted";
    CodeTag "code-tag" "red";
    CodeAttribute "code-attribute" "yellow";
    AnsiBlack "ansi-black" "muted";
    AnsiRed "ansi-red" "red";
    AnsiGreen "ansi-green" "green";
    AnsiYellow "ansi-yellow" "yellow";
    AnsiBlue "ansi-blue" "blue";
    AnsiMagenta "ansi-magenta" "purple";
    AnsiCyan "ansi-cyan" "cyan";
    AnsiWhite "ansi-white" "text";
}

impl Role {
    /// Whether it carries words, so that it has to be legible.
    pub fn is_text(self) -> bool {
        !matches!(
            self,
            Role::Border | Role::QuoteRail | Role::TableFrame | Role::SelectionMark
        )
    }
}

/// A style for every role, for one depth of colour.
#[derive(Clone, PartialEq, Debug)]
pub struct Theme {
    pub name: String,
    pub title: String,
    pub is_dark: bool,
    pub depth: Depth,
    styles: Vec<Style>,
    surfaces: Vec<Color>,
}

/// The themes that ship, in the order the picker shows them.
pub const SHIPPED: &[(&str, &str)] = &[
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    (
        "high-contrast",
        include_str!("../../themes/high-contrast.toml"),
    ),
    (
        "high-contrast-light",
        include_str!("../../themes/high-contrast-light.toml"),
    ),
    (
        "catppuccin-mocha",
        include_str!("../../themes/catppuccin-mocha.toml"),
    ),
    (
        "catppuccin-latte",
        include_str!("../../themes/catppuccin-latte.toml"),
    ),
    (
        "gruvbox-dark",
        include_str!("../../themes/gruvbox-dark.toml"),
    ),
    (
        "gruvbox-light",
        include_str!("../../themes/gruvbox-light.toml"),
    ),
    ("nord", include_str!("../../themes/nord.toml")),
    ("rose-pine", include_str!("../../themes/rose-pine.toml")),
    (
        "rose-pine-dawn",
        include_str!("../../themes/rose-pine-dawn.toml"),
    ),
    (
        "solarized-dark",
        include_str!("../../themes/solarized-dark.toml"),
    ),
    (
        "solarized-light",
        include_str!("../../themes/solarized-light.toml"),
    ),
    ("tokyo-night", include_str!("../../themes/tokyo-night.toml")),
    (
        "tokyo-night-day",
        include_str!("../../themes/tokyo-night-day.toml"),
    ),
    ("dracula", include_str!("../../themes/dracula.toml")),
    ("ansi-16", include_str!("../../themes/ansi-16.toml")),
    ("mono", include_str!("../../themes/mono.toml")),
];

impl Theme {
    /// A theme that ships, at a depth of colour.
    pub fn named(name: &str, depth: Depth) -> Option<Theme> {
        let (_, text) = SHIPPED.iter().find(|(n, _)| *n == name)?;
        Theme::parse(text, depth).ok()
    }

    /// Reads a theme file. With sixteen colours or none, the shipped theme for those is used in
    /// its place: only the terminal knows what its sixteen look like.
    pub fn parse(text: &str, depth: Depth) -> Result<Theme, ThemeProblems> {
        let (source, problems) = Source::read(text);
        match problems.is_empty() {
            true => Ok(source.theme_or_stand_in(depth)),
            false => Err(ThemeProblems(problems)),
        }
    }

    /// The same of a file that has faults: lines that are wrong are passed over, and colours that are
    /// missing are those of the theme that ships.
    pub fn parse_with_faults(text: &str, depth: Depth) -> Theme {
        let (mut source, _) = Source::read(text);
        let base = if source.is_dark { "dark" } else { "light" };
        for color in COLORS {
            if !source.colors.contains_key(color)
                && let Some(tint) = Source::shipped(base).colors.get(color)
            {
                source.colors.insert(color.to_owned(), *tint);
            }
        }
        source.theme_or_stand_in(depth)
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// The least contrast of a text role over all surfaces it may stand on; none where the
    /// terminal decides what a colour looks like.
    pub fn contrast(&self, role: Role) -> Option<f64> {
        let style = self.style(role);
        let fg = Rgb::of(style.fg?)?;
        match style.bg {
            Some(bg) => Some(contrast(fg, Rgb::of(bg)?)),
            None => self
                .surfaces
                .iter()
                .filter_map(|surface| Some(contrast(fg, Rgb::of(*surface)?)))
                .reduce(f64::min),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_theme_reads_at_every_depth() {
        for (name, text) in SHIPPED {
            for depth in [Depth::Mono, Depth::Ansi, Depth::Indexed, Depth::TrueColor] {
                let theme = Theme::parse(text, depth).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(theme.name, *name);
            }
        }
    }

    #[test]
    fn every_text_role_of_every_theme_meets_aa() {
        for (name, text) in SHIPPED {
            for depth in [Depth::Indexed, Depth::TrueColor] {
                let theme = Theme::parse(text, depth).unwrap();
                for role in Role::ALL.iter().filter(|role| role.is_text()) {
                    if let Some(contrast) = theme.contrast(*role) {
                        assert!(
                            contrast >= LEAST_CONTRAST,
                            "{name} at {depth:?}: {} has {contrast:.2}",
                            role.name()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn body_text_of_the_high_contrast_themes_meets_aaa() {
        for name in ["high-contrast", "high-contrast-light"] {
            let theme = Theme::named(name, Depth::TrueColor).unwrap();
            assert!(theme.contrast(Role::Text).unwrap() >= 7.0);
            assert!(theme.contrast(Role::Muted).unwrap() >= 7.0);
        }
    }

    #[test]
    fn without_colours_no_style_has_one() {
        let theme = Theme::named("dark", Depth::Mono).unwrap();
        for role in Role::ALL {
            let style = theme.style(*role);
            for color in [style.fg, style.bg].into_iter().flatten() {
                assert_eq!(color, Color::Reset, "{}", role.name());
            }
        }
    }

    #[test]
    fn a_faulty_file_names_its_line() {
        let problem = Theme::parse("name = \"x\"\n[colors]\nsky = \"#fff\"", Depth::TrueColor);
        assert_eq!(
            problem.unwrap_err().to_string(),
            "line 3: no colour of a theme is called `sky`; these colours are missing under [colors]: \
             background, panel, raised, code, selection, text, muted, border, accent, red, orange, \
             yellow, green, cyan, blue, purple, pink"
        );
    }
}
