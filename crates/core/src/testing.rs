//! The conformance laws, and logs for the tests of this crate.

pub mod conformance;
#[cfg(test)]
pub(crate) mod mock_log;
#[cfg(test)]
pub(crate) mod sample_log;
