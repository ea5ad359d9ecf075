//! Topics, and the assignment of data messages to them.

pub(crate) mod declaration_index;
pub(crate) mod registry;
pub(crate) mod resync;
pub(crate) mod streams;
