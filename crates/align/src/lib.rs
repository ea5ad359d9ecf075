//! Estimates the offset and the drift between two clocks from two measurements of the
//! same motion.
//!
//! [`align`] takes two signals, each with times of its own clock. It returns the offset
//! to add to the times of the second clock to get times of the first clock, the drift,
//! and the confidence of the estimate. The crate works on numbers over time: it does not
//! depend on any log format.

mod align;
mod coarse_search;
mod confidence;
mod grid;
mod line;
mod signal;
mod windows;

pub use self::{
    align::align,
    confidence::{Confidence, Estimate},
    signal::UnusableSignal,
};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
