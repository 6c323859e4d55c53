//! The files that come with the program: scenarios, conversations, sample media.

/// Scenario files, in the order of the welcome text.
pub(crate) const SCENARIOS: &[(&str, &str)] = &[(
    "plain.toml",
    include_str!("../../assets/scenarios/plain.toml"),
)];

/// Conversations that exist from the start.
pub(crate) const CONVERSATIONS: &[(&str, &str)] = &[(
    "welcome.toml",
    include_str!("../../assets/conversations/welcome.toml"),
)];

/// Files the agent can offer.
pub(crate) const MEDIA: &[(&str, &[u8])] = &[];
