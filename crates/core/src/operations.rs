//! Operations on whole logs of any format.

pub(crate) mod asof;
pub mod check;
pub(crate) mod copy;
pub(crate) mod export_tables;
pub(crate) mod merge;
pub(crate) mod read_ahead;
pub(crate) mod trial_decode;
