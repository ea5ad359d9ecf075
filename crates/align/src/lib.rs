//! Estimates the offset and the drift between two clocks from two measurements of the
//! same motion.
//!
//! [`align`] takes two signals, each with times of its own clock. It returns the offset
//! to add to the times of the second clock to get times of the first clock, the drift,
//! and the confidence of the estimate. This crate only knows numbers over time, and no
//! logs.

mod align;
mod coarse_search;
mod confidence;
mod grid;
mod line;
mod signal;
mod windows;

pub use self::{
    align::align,
    confidence::{Confidence, Estimate, UnusableSignal},
};

/// The example of the README is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
