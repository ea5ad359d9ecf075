//! The names of the topics that every ULog has in addition to its logged topics.

/// The topic of logged strings.
pub const LOGGED_STRINGS: &str = "logged_strings";

/// The topic of the changes of parameters.
pub const PARAMETER_CHANGES: &str = "parameter_changes";

/// The topic of dropouts.
pub const DROPOUTS: &str = "dropouts";

/// The topic of decoded events, which is derived from `event`.
pub const EVENTS: &str = "events";

/// The topic of all messages as text, which is derived from strings and events.
pub const MESSAGES: &str = "messages";
