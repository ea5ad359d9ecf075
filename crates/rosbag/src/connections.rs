//! The connections of a bag. Each declares a publisher, a topic, and the type and
//! definition of its messages.

pub(crate) mod connection;
pub(crate) mod connection_table;
pub(crate) mod connection_trust;
pub(crate) mod derived_topics;
pub(crate) mod schema;
pub(crate) mod type_variants;
pub(crate) mod v1_definitions;
