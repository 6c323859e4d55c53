//! The switches of the person, each said once: its name, its kind, its default, its meaning. The
//! struct, the reading, the commented example and the schema are made from this list.

use super::reader::{Reader, Section};
use std::path::PathBuf;

/// One setting, as data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    pub name: &'static str,
    pub kind: Kind,
    /// As it would be written.
    pub default: &'static str,
    pub meaning: &'static str,
}

/// What may stand behind a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Flag,
    Text,
    Path,
    Choice(&'static [&'static str]),
}

/// Names of the schemes of keys that ship.
pub const SCHEMES: &[&str] = &["default", "vim", "emacs"];

/// Ways to draw pictures, by name.
pub const PICTURES: &[&str] = &["auto", "kitty", "iterm2", "sixel", "blocks", "off"];

macro_rules! kind {
    (flag) => {
        Kind::Flag
    };
    (text) => {
        Kind::Text
    };
    (path) => {
        Kind::Path
    };
    (scheme) => {
        Kind::Choice(SCHEMES)
    };
    (picture_way) => {
        Kind::Choice(PICTURES)
    };
}

macro_rules! value {
    (flag) => {
        bool
    };
    (text) => {
        String
    };
    (path) => {
        PathBuf
    };
    (scheme) => {
        String
    };
    (picture_way) => {
        String
    };
}

macro_rules! settings {
    ($($name:ident: $kind:ident = $default:literal, $meaning:literal;)*) => {
        /// What the person set; none is the default.
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct Settings {
            $(#[doc = $meaning] pub $name: Option<value!($kind)>,)*
        }

        /// Every setting there is, in the order of the example.
        pub const SETTINGS: &[Setting] = &[
            $(Setting {
                name: stringify!($name),
                kind: kind!($kind),
                default: $default,
                meaning: $meaning,
            },)*
        ];

        impl Settings {
            pub(super) fn read(reader: &mut Reader, section: &mut Section<'_>) -> Self {
                Self { $($name: reader.$kind(section, stringify!($name)),)* }
            }
        }
    };
}

settings! {
    theme: text = "\"dark\"", "A theme by name: one that ships, or a file of yours in themes/. Without it, dark or light by asking the terminal";
    keys: scheme = "\"default\"", "The scheme of keys your own keys.toml starts from";
    mouse: flag = "true", "The mouse selects, scrolls and copies; false leaves it to the terminal";
    ascii: flag = "false", "Draw with ASCII characters only";
    reduced_motion: flag = "false", "Nothing turns or moves by itself";
    bell: flag = "true", "Ring when something waits for you";
    notify: flag = "true", "Notifications of the desktop or the terminal";
    hide_content: flag = "false", "Notifications do not show what was said";
    unfold_all: flag = "false", "Tool calls and reasoning are unfolded from the start";
    wrap_code: flag = "true", "Long lines of code go on in the next row; false cuts them, and left and right in the timeline shift them";
    auto_thread: flag = "false", "Ask the server to open a thread for messages in the default conversation";
    show_model: flag = "true", "Status line: the model";
    show_context: flag = "true", "Status line: how full the context is";
    show_directory: flag = "true", "Status line: the working directory of the agent";
    show_latency: flag = "true", "Status line: how long the answer took";
    show_cost: flag = "true", "Status line: what the answer cost";
    pictures: picture_way = "\"auto\"", "How pictures are drawn: `auto` by what the terminal answers, one way whatever it answers, or `off`";
    over_ssh: flag = "false", "Wait longer for cut key sequences and fetch no pictures by itself. Without it, found out by looking for SSH";
    downloads: path = "\"~/Downloads\"", "Where saved files go";
}

impl Reader {
    fn scheme(&mut self, section: &mut Section<'_>, key: &'static str) -> Option<String> {
        self.choice(section, key, SCHEMES)
    }

    fn picture_way(&mut self, section: &mut Section<'_>, key: &'static str) -> Option<String> {
        self.choice(section, key, PICTURES)
    }
}
