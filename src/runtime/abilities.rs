//! What the terminal answered of itself, and the questions. Nothing is believed that was not
//! answered: variables of the environment are inherited through multiplexers and over SSH.

use super::desktop::Place;
use crate::app::state::PictureChoice;
use crate::input::TerminalReply;

/// How pictures can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PictureWay {
    /// Two pixels to a cell, with characters.
    #[default]
    Blocks,
    /// The kitty protocol, with placeholders.
    Kitty,
    /// OSC 1337.
    Iterm,
    Sixel,
}

/// The answers so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Abilities {
    /// The round of questions is over: device attributes came.
    pub answered: bool,
    pub version: Option<String>,
    pub keyboard_flags: Option<u32>,
    pub sync: Option<bool>,
    pub background: Option<(u8, u8, u8)>,
    pub kitty_graphics: bool,
    pub sixel: bool,
    /// Width and height of a cell in pixels.
    pub cell: Option<(u16, u16)>,
}

impl Abilities {
    /// Takes one answer.
    pub fn learn(&mut self, reply: &TerminalReply) {
        match reply {
            TerminalReply::Background(r, g, b) => self.background = Some((*r, *g, *b)),
            TerminalReply::KeyboardFlags(flags) => self.keyboard_flags = Some(*flags),
            TerminalReply::Mode { mode: 2026, state } => {
                self.sync = Some(matches!(state, 1 | 2));
            }
            TerminalReply::DeviceAttributes(attributes) => {
                self.answered = true;
                // The first number is the class of the terminal.
                self.sixel = attributes.iter().skip(1).any(|attribute| *attribute == 4);
            }
            TerminalReply::Version(version) => self.version = Some(version.clone()),
            TerminalReply::CellSize { width, height } => self.cell = Some((*width, *height)),
            TerminalReply::KittyGraphics { ok } => self.kitty_graphics |= *ok,
            TerminalReply::Mode { .. }
            | TerminalReply::Foreground(..)
            | TerminalReply::ThemeIsDark(_)
            | TerminalReply::CursorPosition { .. }
            | TerminalReply::PixelSize { .. }
            | TerminalReply::Status(_) => {}
        }
    }

    /// The way that the person chose, else the best that was proved.
    pub fn picture_way_chosen(&self, choice: PictureChoice, place: Place) -> PictureWay {
        match choice {
            PictureChoice::Auto => self.picture_way(place),
            PictureChoice::Kitty => PictureWay::Kitty,
            PictureChoice::Iterm => PictureWay::Iterm,
            PictureChoice::Sixel => PictureWay::Sixel,
            PictureChoice::Blocks | PictureChoice::Off => PictureWay::Blocks,
        }
    }

    /// The best way to draw pictures that was proved.
    pub fn picture_way(&self, place: Place) -> PictureWay {
        let is_iterm = self
            .version
            .as_deref()
            .is_some_and(|version| version.starts_with("iTerm2") || version.starts_with("WezTerm"));
        if place.in_screen {
            PictureWay::Blocks
        } else if self.kitty_graphics {
            PictureWay::Kitty
        } else if is_iterm && !place.in_tmux && self.cell.is_some() {
            PictureWay::Iterm
        } else if self.sixel && self.cell.is_some() {
            PictureWay::Sixel
        } else {
            PictureWay::Blocks
        }
    }
}

/// Asks whether the terminal knows the kitty graphics protocol, with a picture of one pixel that is
/// not kept.
const KITTY: &str = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";

/// The questions to a terminal. The device attributes come last: their answer ends the round.
/// Nothing waits for them.
pub fn questions(place: Place, term: &str) -> String {
    let mut questions = String::from("\x1b[?u\x1b[?2026$p\x1b]11;?\x1b\\\x1b[>0q\x1b[16t");
    // Old consoles print what they do not know, and multiplexers take a bare APC for a title.
    if place.in_tmux {
        questions.push_str(&through_tmux(KITTY));
    } else if !place.in_screen && term != "linux" && !term.starts_with("vt") {
        questions.push_str(KITTY);
    }
    questions.push_str("\x1b[c");
    questions
}

/// A sequence for the terminal behind tmux; it arrives where tmux lets such things pass.
pub fn through_tmux(sequence: &str) -> String {
    format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(replies: &[TerminalReply]) -> Abilities {
        let mut abilities = Abilities::default();
        for reply in replies {
            abilities.learn(reply);
        }
        abilities
    }

    #[test]
    fn pictures_are_drawn_the_best_way_that_was_answered() {
        let cell = TerminalReply::CellSize {
            width: 10,
            height: 20,
        };
        let sixel = TerminalReply::DeviceAttributes(vec![62, 4, 22]);
        let kitty = TerminalReply::KittyGraphics { ok: true };
        let iterm = TerminalReply::Version("iTerm2 3.5.0".to_owned());
        let here = Place::default();
        let in_tmux = Place {
            in_tmux: true,
            ..Place::default()
        };
        for (replies, place, way) in [
            (vec![], here, PictureWay::Blocks),
            (vec![sixel.clone()], here, PictureWay::Blocks),
            (vec![sixel.clone(), cell.clone()], here, PictureWay::Sixel),
            (
                vec![sixel.clone(), cell.clone()],
                in_tmux,
                PictureWay::Sixel,
            ),
            (vec![iterm.clone(), cell.clone()], here, PictureWay::Iterm),
            (vec![iterm, cell.clone()], in_tmux, PictureWay::Blocks),
            (vec![kitty.clone(), sixel, cell], here, PictureWay::Kitty),
            (vec![kitty], in_tmux, PictureWay::Kitty),
        ] {
            assert_eq!(learned(&replies).picture_way(place), way, "{replies:?}");
        }
    }

    #[test]
    fn what_the_person_chose_is_taken_whatever_was_answered() {
        let here = Place::default();
        let kitty = learned(&[TerminalReply::KittyGraphics { ok: true }]);
        for (choice, way) in [
            (PictureChoice::Auto, PictureWay::Kitty),
            (PictureChoice::Kitty, PictureWay::Kitty),
            (PictureChoice::Iterm, PictureWay::Iterm),
            (PictureChoice::Sixel, PictureWay::Sixel),
            (PictureChoice::Blocks, PictureWay::Blocks),
            (PictureChoice::Off, PictureWay::Blocks),
        ] {
            assert_eq!(kitty.picture_way_chosen(choice, here), way);
        }
        let nothing = Abilities::default();
        let forced = nothing.picture_way_chosen(PictureChoice::Kitty, here);
        assert_eq!(forced, PictureWay::Kitty);
    }

    #[test]
    fn a_terminal_class_of_four_is_no_sixel() {
        assert!(!learned(&[TerminalReply::DeviceAttributes(vec![4, 6])]).sixel);
    }

    #[test]
    fn multiplexers_never_see_a_bare_graphics_question() {
        let in_tmux = Place {
            in_tmux: true,
            ..Place::default()
        };
        assert!(
            !questions(in_tmux, "tmux-256color").contains("\x1b_G")
                || questions(in_tmux, "x").contains("Ptmux;\x1b\x1b_G")
        );
        let in_screen = Place {
            in_screen: true,
            ..Place::default()
        };
        assert!(!questions(in_screen, "screen").contains("_G"));
        assert!(!questions(Place::default(), "linux").contains("_G"));
        assert!(questions(Place::default(), "xterm").ends_with("\x1b[c"));
    }
}
