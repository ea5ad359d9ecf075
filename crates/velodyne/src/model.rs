//! Detects the lidar model from its packets, with reasons.

mod kind;

mod returns;

mod evidence;

mod verdict;

pub(crate) use crate::model::returns::change;
pub use crate::model::{
    evidence::Evidence,
    kind::{Anchor, Model, ReturnMode, Sensor},
    verdict::Verdict,
};
