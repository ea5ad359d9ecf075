//! The connections of a bag: who published which messages, of which type and definition.

pub(crate) mod connection;
pub(crate) mod connection_table;
pub(crate) mod connection_trust;
pub(crate) mod derived_topics;
pub(crate) mod schema;
pub(crate) mod type_variants;
pub(crate) mod v1_definitions;
