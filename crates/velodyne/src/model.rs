//! Which lidar sent the packets: from what they tell to a verdict with its reasons.

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
