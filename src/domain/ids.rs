//! Newtypes for everything that is identified. Text ids are cheap to clone and opaque: nothing
//! outside the driver that made one may parse it.

use std::fmt;
use std::sync::Arc;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text as it is.
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }

            /// The text inside, for the wire and the store only.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u64);
    };
}

text_id! {
    /// One configured account; the name the person gave it in the configuration.
    AccountId
}
text_id! {
    /// A conversation of one account; minted by the driver.
    ConversationId
}
text_id! {
    /// The server's id of a message. It may change (a draft id that history later replaces).
    RemoteId
}
text_id! {
    /// One run of an agent, stated by the server or minted by the driver that inferred it.
    RunId
}
text_id! {
    /// One call of a tool inside a run, unique in its conversation.
    ToolCallId
}
text_id! {
    /// One decision that waits for the person; unique in its account.
    DecisionId
}
text_id! {
    /// One attachment; unique in its account.
    AttachmentId
}
text_id! {
    /// Where the next page of history begins; meaningful to the driver only.
    PageToken
}
text_id! {
    /// A position in the server's log of events; meaningful to the driver only.
    Cursor
}
number_id! {
    /// Our own key of a message, stable from the first key press to the end of its life. Keys are
    /// minted by the program state from a random base, so two running programs never mint the
    /// same one.
    MessageKey
}
number_id! {
    /// One command given to a driver; minted by the program state.
    CommandId
}
number_id! {
    /// One transfer of bytes, up or down; minted by the program state.
    TransferId
}
