//! Reading the parts of a bag.

pub(crate) mod cursor;
pub(crate) mod part_content;
pub(crate) mod part_messages;
pub(crate) mod part_scanner;
