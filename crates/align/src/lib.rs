//! How far two clocks are apart, found by what both saw: the same motion, measured twice.
//!
//! [`align`] is given two signals, each with the times of its own clock, and tells what to
//! add to the times of the second to be on the clock of the first, by how much that grows,
//! and how sure that is. It knows numbers over time, and nothing of logs.

mod align;
mod coarse;
mod grid;
mod line;
mod signal;
mod verdict;
mod windows;

pub use self::{
    align::align,
    verdict::{Confidence, Estimate, Unusable},
};

/// The example of the README is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
