//! Words, names and units for people.

pub mod px4_modes;
pub mod suggest;
pub mod text_style;
pub mod units;
