//! What the wizard asks for each kind of account: data, so that the screen knows no protocol.

use super::speaks;
use crate::config::account::EndpointKind;

/// A kind of account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// As it stands in the configuration.
    pub name: &'static str,
    pub title: &'static str,
    pub hint: &'static str,
    pub fields: &'static [Field],
}

/// One thing to fill in; `name` is its key in the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    pub name: &'static str,
    pub title: &'static str,
    pub hint: &'static str,
    pub is_secret: bool,
    pub is_required: bool,
}

const NAME: Field = Field {
    name: "name",
    title: "Name",
    hint: "what the sidebar calls it; without one, kind and host",
    is_secret: false,
    is_required: false,
};

const KINDS: &[Kind] = &[
    Kind {
        name: "iris",
        title: "Iris gateway",
        hint: "channels and threads of an agent, over a WebSocket",
        fields: &[
            NAME,
            Field {
                name: "url",
                title: "Address",
                hint: "a host with its path, as gateway.example/iris, or a URL with http or ws",
                is_secret: false,
                is_required: true,
            },
            Field {
                name: "secret",
                title: "Secret",
                hint: "the token of the gateway; kept in the keyring, else in a file that only you can read",
                is_secret: true,
                is_required: true,
            },
        ],
    },
    Kind {
        name: "pheby",
        title: "Pheby server",
        hint: "conversations, approvals and models, over a WebSocket",
        fields: &[
            NAME,
            Field {
                name: "url",
                title: "Address",
                hint: "a host with its port, or a URL; without a path it is /ws",
                is_secret: false,
                is_required: true,
            },
            Field {
                name: "secret",
                title: "Secret",
                hint: "the token of the server; kept in the keyring, else in a file that only you can read",
                is_secret: true,
                is_required: true,
            },
        ],
    },
    Kind {
        name: "omi",
        title: "Omi runtime",
        hint: "an agent that runs on this machine as a program of its own",
        fields: &[
            NAME,
            Field {
                name: "command",
                title: "Command",
                hint: "the program and its arguments",
                is_secret: false,
                is_required: true,
            },
        ],
    },
];

/// The kinds of account that this build can speak to.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS
        .iter()
        .filter(|kind| EndpointKind::named(kind.name).is_some_and(|kind| speaks(&kind.nowhere())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_account_is_in_the_wizard() {
        let mut known: Vec<_> = crate::config::account::KINDS
            .iter()
            .map(|k| k.name)
            .collect();
        let mut shown: Vec<_> = kinds().map(|kind| kind.name).collect();
        known.sort_unstable();
        shown.sort_unstable();
        assert_eq!(known, shown);
    }

    #[test]
    fn every_kind_has_a_place_and_only_one_secret() {
        for kind in KINDS {
            let places = kind
                .fields
                .iter()
                .filter(|field| field.is_required && !field.is_secret);
            assert_eq!(places.count(), 1, "{}", kind.name);
            assert!(kind.fields.iter().filter(|field| field.is_secret).count() <= 1);
        }
    }
}
