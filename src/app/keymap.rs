//! The keymap as data: key sequences to actions, by context. Help, hints and the palette are made
//! from it, so what the person changed is what they read.
//!
//! A sequence is looked up in the context first and then in `Global`. The leader (Ctrl+X in the
//! default scheme) is nothing special: it is the common start of several sequences.

mod schemes;

use super::action::Action;
use crate::domain::nearest;
use crate::input::Chord;
use crate::input::chord::label;

/// Which part takes the keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Context {
    Composer,
    /// The composer in the normal mode of the vim scheme.
    Normal,
    /// The composer in the visual mode of the vim scheme.
    Visual,
    Timeline,
    Sidebar,
    /// An overlay with a list and nothing to type.
    List,
    /// An overlay with a list and a line that filters it.
    Filter,
    /// An overlay with one or more lines to fill in.
    Line,
    /// An overlay with a text to read.
    Text,
    /// The popup of a decision.
    Decision,
    /// A question with yes and no.
    Confirm,
    /// Everywhere, after the context.
    Global,
}

impl Context {
    /// Every context, in the order of the help page.
    pub const ALL: [Context; 12] = [
        Context::Global,
        Context::Composer,
        Context::Normal,
        Context::Visual,
        Context::Timeline,
        Context::Sidebar,
        Context::List,
        Context::Filter,
        Context::Line,
        Context::Text,
        Context::Decision,
        Context::Confirm,
    ];

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Composer => "composer",
            Self::Normal => "normal",
            Self::Visual => "visual",
            Self::Timeline => "timeline",
            Self::Sidebar => "sidebar",
            Self::List => "list",
            Self::Filter => "filter",
            Self::Line => "line",
            Self::Text => "text",
            Self::Decision => "decision",
            Self::Confirm => "confirm",
            Self::Global => "global",
        }
    }

    /// What the help page says.
    pub fn title(self) -> &'static str {
        match self {
            Self::Composer => "Writing",
            Self::Normal => "Writing, normal mode",
            Self::Visual => "Writing, visual mode",
            Self::Timeline => "In the timeline",
            Self::Sidebar => "In the sidebar",
            Self::List => "In a list",
            Self::Filter => "In a list with a filter",
            Self::Line => "In a form",
            Self::Text => "Reading",
            Self::Decision => "Deciding",
            Self::Confirm => "Yes or no",
            Self::Global => "Everywhere",
        }
    }

    /// The context of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|context| context.name() == name)
    }

    /// Whether plain characters are typed here, so that they must not be bound.
    fn types_text(self) -> bool {
        matches!(self, Self::Composer | Self::Filter | Self::Line)
    }
}

/// One sequence and what it does in a context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    pub context: Context,
    pub chords: Vec<Chord>,
    pub action: Action,
}

/// What a chord means after those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolution {
    Action(Action),
    /// The start of one or more sequences.
    Pending,
    None,
}

/// One line of the person's keymap file, as text, with its place in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    pub context: String,
    pub keys: String,
    /// The name of an action, or "none" to take a binding away.
    pub action: String,
    /// File and line.
    pub place: String,
}

/// All bindings of a scheme with the person's changes. What stands first is shown first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keymap {
    scheme: &'static str,
    bindings: Vec<Binding>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self {
            scheme: "default",
            bindings: schemes::default(),
        }
    }
}

impl Keymap {
    /// No keys at all, for a front that takes lines.
    pub fn without_keys() -> Self {
        Self {
            scheme: "default",
            bindings: Vec::new(),
        }
    }

    /// Names of the schemes.
    pub const SCHEMES: [&'static str; 3] = ["default", "vim", "emacs"];

    /// A scheme by its name.
    pub fn scheme(name: &str) -> Option<Self> {
        let (scheme, bindings) = match name {
            "default" => ("default", schemes::default()),
            "vim" => ("vim", schemes::vim()),
            "emacs" => ("emacs", schemes::emacs()),
            _ => return None,
        };
        Some(Self { scheme, bindings })
    }

    /// The name of the scheme.
    pub fn name(&self) -> &'static str {
        self.scheme
    }

    /// Whether the composer has a normal mode.
    pub fn is_modal(&self) -> bool {
        self.scheme == "vim"
    }

    /// Every binding, the person's own first.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// The keymap with the person's changes, and what is wrong with them: each line names the
    /// places concerned. A line that is wrong is left out, the others hold.
    pub fn with_overrides(mut self, overrides: &[Override]) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let mut taken: Vec<(Context, Vec<Chord>, &Override)> = Vec::new();
        let mut own = Vec::new();
        for line in overrides {
            let Some(context) = Context::from_name(&line.context) else {
                warnings.push(format!(
                    "{}: “{}” is no context; {}",
                    line.place,
                    line.context,
                    one_of(&line.context, Context::ALL.iter().map(|c| c.name()))
                ));
                continue;
            };
            let chords = match Chord::parse_sequence(&line.keys) {
                Ok(chords) => chords,
                Err(error) => {
                    let meant = meant(&error.text);
                    let meant = meant.map(|keys| format!("; did you mean “{keys}”?"));
                    let place = &line.place;
                    warnings.push(format!("{place}: {error}{}", meant.unwrap_or_default()));
                    continue;
                }
            };
            let action = match line.action.as_str() {
                "none" => None,
                name => match Action::from_name(name) {
                    Some(action) => Some(action),
                    None => {
                        warnings.push(format!(
                            "{}: “{name}” is no action; {}",
                            line.place,
                            one_of(name, Action::all().iter().map(|a| a.name()))
                        ));
                        continue;
                    }
                },
            };
            if context.types_text() && chords[0].typed().is_some() {
                warnings.push(format!(
                    "{}: “{}” is typed here, so it cannot be bound in “{}”",
                    line.place,
                    line.keys,
                    context.name()
                ));
                continue;
            }
            if let Some((_, _, earlier)) = taken
                .iter()
                .find(|(c, keys, _)| *c == context && *keys == chords)
            {
                warnings.push(format!(
                    "{} and {} both bind “{}” in “{}”; the first one holds",
                    earlier.place,
                    line.place,
                    line.keys,
                    context.name()
                ));
                continue;
            }
            if let Some((_, keys, earlier)) = taken.iter().find(|(c, keys, _)| {
                *c == context && (keys.starts_with(&chords) || chords.starts_with(keys))
            }) {
                warnings.push(format!(
                    "{} and {}: “{}” is the start of “{}”, so only one can work; the first one \
                     holds",
                    earlier.place,
                    line.place,
                    text(if keys.len() < chords.len() {
                        keys
                    } else {
                        &chords
                    }),
                    text(if keys.len() < chords.len() {
                        &chords
                    } else {
                        keys
                    }),
                ));
                continue;
            }
            if let Some(chord) = chords.iter().find(|chord| !chord.is_legacy()) {
                warnings.push(format!(
                    "{}: “{chord}” does not come through in every terminal",
                    line.place
                ));
            }
            // What stands in the way of the new sequence goes: the same keys, longer ones behind
            // them, and shorter ones before them.
            self.bindings.retain(|binding| {
                binding.context != context
                    || !(binding.chords.starts_with(&chords) || chords.starts_with(&binding.chords))
            });
            if let Some(action) = action {
                own.push(Binding {
                    context,
                    chords: chords.clone(),
                    action,
                });
            }
            taken.push((context, chords, line));
        }
        own.append(&mut self.bindings);
        self.bindings = own;
        (self, warnings)
    }

    /// What `chord` does in `context` after the chords in `pending`.
    pub fn resolve(&self, context: Context, pending: &[Chord], chord: Chord) -> Resolution {
        let n = pending.len();
        for place in [context, Context::Global] {
            let mut is_start = false;
            for binding in self.bindings.iter().filter(|b| b.context == place) {
                let fits = binding.chords.len() > n
                    && binding.chords[..n] == *pending
                    && binding.chords[n] == chord;
                if !fits {
                    continue;
                }
                if binding.chords.len() == n + 1 {
                    return Resolution::Action(binding.action);
                }
                is_start = true;
            }
            // A start in the context hides a single chord in `Global`, but not its longer
            // sequences: both kinds of continuation are looked up again with the next chord.
            if is_start {
                return Resolution::Pending;
            }
            if context == Context::Global {
                break;
            }
        }
        Resolution::None
    }

    /// The sequences of an action in a context, then in `Global`; the one to show first.
    pub fn chords_for(&self, action: Action, context: Context) -> Vec<Vec<Chord>> {
        let mut found: Vec<Vec<Chord>> = Vec::new();
        for place in [context, Context::Global] {
            for binding in &self.bindings {
                if binding.context == place
                    && binding.action == action
                    && !found.contains(&binding.chords)
                {
                    found.push(binding.chords.clone());
                }
            }
        }
        found
    }

    /// The keys to show for an action in a context: "Ctrl+X a".
    pub fn hint(&self, action: Action, context: Context) -> Option<String> {
        self.chords_for(action, context)
            .first()
            .map(|chords| label(chords))
    }

    /// The keys to show for an action wherever it is bound, for the palette.
    pub fn hint_anywhere(&self, action: Action) -> Option<String> {
        self.hint(action, Context::Global).or_else(|| {
            self.bindings
                .iter()
                .find(|binding| binding.action == action)
                .map(|binding| label(&binding.chords))
        })
    }

    /// What can follow the chords typed so far, with the keys that lead there.
    pub fn following(&self, context: Context, pending: &[Chord]) -> Vec<(String, Action)> {
        let mut found: Vec<(String, Action)> = Vec::new();
        for place in [context, Context::Global] {
            for binding in self.bindings.iter().filter(|b| b.context == place) {
                if binding.chords.len() > pending.len() && binding.chords.starts_with(pending) {
                    let keys = label(&binding.chords[pending.len()..]);
                    if !found.iter().any(|(known, _)| *known == keys) {
                        found.push((keys, binding.action));
                    }
                }
            }
            if context == Context::Global {
                break;
            }
        }
        found
    }

    /// The help page: for each context its actions with all their keys.
    pub fn help(&self) -> Vec<(Context, Vec<(String, Action)>)> {
        Context::ALL
            .into_iter()
            .filter(|context| {
                self.is_modal() || !matches!(context, Context::Normal | Context::Visual)
            })
            .map(|context| {
                let mut rows: Vec<(String, Action)> = Vec::new();
                for binding in self.bindings.iter().filter(|b| b.context == context) {
                    let keys = label(&binding.chords);
                    match rows.iter_mut().find(|(_, a)| *a == binding.action) {
                        Some((known, _)) => {
                            known.push_str(" · ");
                            known.push_str(&keys);
                        }
                        None => rows.push((keys, binding.action)),
                    }
                }
                (context, rows)
            })
            .filter(|(_, rows)| !rows.is_empty())
            .collect()
    }
}

/// Keys as the person sees them: the half of a sequence that was typed so far.
pub fn shown(chords: &[Chord]) -> String {
    label(chords)
}

/// The short hints of the status line, best first; the view takes as many as fit.
pub fn hinted(context: Context) -> &'static [(Action, &'static str)] {
    use Action::*;
    match context {
        Context::Composer => &[
            (Send, "send"),
            (Palette, "everything"),
            (Switcher, "go to"),
            (NewLine, "new line"),
            (OpenDecision, "decide"),
            (FocusNext, "read"),
            (Help, "help"),
        ],
        Context::Normal => &[
            (InsertMode, "insert"),
            (Send, "send"),
            (Palette, "everything"),
            (FocusNext, "read"),
            (Help, "help"),
        ],
        Context::Visual => &[
            (CopySelected, "copy"),
            (DeleteSelected, "delete"),
            (ChangeSelected, "replace"),
            (NormalMode, "back"),
        ],
        Context::Timeline => &[
            (SelectNext, "down"),
            (SelectPrevious, "up"),
            (ToggleFold, "unfold"),
            (CopyEntry, "copy"),
            (ReplyTo, "reply"),
            (SearchHere, "search"),
            (EntryMenu, "more"),
            (Escape, "write"),
        ],
        Context::Sidebar => &[
            (Accept, "open"),
            (ToggleFavorite, "favourite"),
            (ToggleMute, "mute"),
            (ToggleFold, "fold"),
            (NewConversation, "new"),
            (Escape, "write"),
        ],
        Context::List | Context::Filter | Context::Line => &[(Accept, "choose"), (Escape, "close")],
        Context::Text => &[(PageDown, "on"), (CopyEntry, "copy"), (Escape, "close")],
        Context::Decision => &[
            (Accept, "answer"),
            (Next, "choice"),
            (PageDown, "read on"),
            (Last, "to the end"),
            (Escape, "later"),
        ],
        Context::Confirm => &[(Accept, "accept"), (Next, "other"), (Escape, "no")],
        Context::Global => &[(Palette, "everything"), (Help, "help")],
    }
}

fn text(chords: &[Chord]) -> String {
    chords
        .iter()
        .map(Chord::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

/// "did you mean …", with the nearest of the names; else nothing helpful but the truth.
/// The chord that was probably meant by one with a misspelt modifier or name.
fn meant(text: &str) -> Option<String> {
    const MODIFIERS: [&str; 3] = ["ctrl", "alt", "shift"];
    let parts: Vec<&str> = text.split(['+', '-']).collect();
    let (last, modifiers) = parts.split_last()?;
    let mut words = Vec::new();
    for part in modifiers {
        words.push(nearest(part, MODIFIERS)?);
    }
    words.push(match last.chars().count() {
        0 | 1 => last,
        _ => nearest(last, Chord::names())?,
    });
    let text = words.join("+");
    Chord::parse(&text).is_ok().then_some(text)
}

fn one_of<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> String {
    nearest(wrong, names).map_or_else(
        || "`trialogue keys` lists all names".to_owned(),
        |name| format!("did you mean “{name}”?"),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_chord_leads_to_the_one_that_was_meant() {
        let check = |text, wanted: Option<&str>| {
            assert_eq!(meant(text).as_deref(), wanted, "{text}");
        };
        check("crtl+q", Some("ctrl+q"));
        check("ctrl+entre", Some("ctrl+enter"));
        check("atl-shfit-x", Some("alt+shift+x"));
        check("whatever", None);
    }

    fn own(context: &str, keys: &str, action: &str, line: u32) -> Override {
        Override {
            context: context.to_owned(),
            keys: keys.to_owned(),
            action: action.to_owned(),
            place: format!("keys.toml:{line}"),
        }
    }

    #[test]
    fn every_function_can_be_reached_from_any_terminal() {
        for scheme in Keymap::SCHEMES {
            let keymap = Keymap::scheme(scheme).unwrap();
            for binding in keymap.bindings() {
                let reachable = binding.action.is_in_palette()
                    || keymap.bindings().iter().any(|other| {
                        other.action == binding.action
                            && (other.context == binding.context
                                || other.context == Context::Global)
                            && other.chords.iter().all(Chord::is_legacy)
                    });
                assert!(reachable, "{scheme}: {binding:?}");
            }
            assert!(
                keymap
                    .chords_for(Action::Palette, Context::Composer)
                    .iter()
                    .any(|chords| chords.iter().all(Chord::is_legacy)),
                "{scheme}"
            );
        }
    }

    #[test]
    fn no_binding_of_a_scheme_hides_another() {
        for scheme in Keymap::SCHEMES {
            let keymap = Keymap::scheme(scheme).unwrap();
            for (i, a) in keymap.bindings().iter().enumerate() {
                for b in &keymap.bindings()[i + 1..] {
                    assert!(
                        a.context != b.context
                            || !(a.chords.starts_with(&b.chords)
                                || b.chords.starts_with(&a.chords)),
                        "{scheme}: {a:?} and {b:?}"
                    );
                }
                assert!(
                    !a.context.types_text() || a.chords[0].typed().is_none(),
                    "{scheme}: {a:?} is typed"
                );
            }
        }
    }

    #[test]
    fn the_leader_waits_for_what_follows() {
        let keymap = Keymap::default();
        let leader = Chord::ctrl('x');
        assert_eq!(
            keymap.resolve(Context::Composer, &[], leader),
            Resolution::Pending
        );
        assert_eq!(
            keymap.resolve(Context::Composer, &[leader], Chord::parse("a").unwrap()),
            Resolution::Action(Action::OpenDecision)
        );
        assert!(
            keymap
                .following(Context::Composer, &[leader])
                .contains(&("S".to_owned(), Action::SearchEverywhere))
        );
    }

    #[test]
    fn a_conflict_names_both_places() {
        let (keymap, warnings) = Keymap::default().with_overrides(&[
            own("global", "f5", "models", 3),
            own("global", "f5", "effort", 9),
        ]);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("keys.toml:3") && warnings[0].contains("keys.toml:9"));
        assert_eq!(
            keymap.resolve(Context::Composer, &[], Chord::parse("f5").unwrap()),
            Resolution::Action(Action::Models)
        );
    }

    #[test]
    fn wrong_lines_are_said_and_left_out() {
        let (keymap, warnings) = Keymap::default().with_overrides(&[
            own("compser", "f5", "models", 1),
            own("composer", "hyper-x", "models", 2),
            own("composer", "f6", "modelz", 3),
            own("composer", "q", "quit", 4),
        ]);
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(warnings[0].contains("composer"));
        assert!(warnings[2].contains("models"));
        assert_eq!(keymap, Keymap::default());
    }

    #[test]
    fn an_own_binding_takes_the_place_and_the_hint() {
        let (keymap, warnings) = Keymap::default().with_overrides(&[
            own("global", "ctrl-p", "none", 1),
            own("global", "f2", "palette", 2),
        ]);
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(
            keymap.resolve(Context::Composer, &[], Chord::ctrl('p')),
            Resolution::None
        );
        assert_eq!(
            keymap.hint(Action::Palette, Context::Composer).as_deref(),
            Some("F2")
        );
    }
}
