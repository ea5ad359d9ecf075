//! How the lasers of a lidar lie: from files, from its packets, or as its model is built.

mod laser;

mod plausible;

mod defaults;
mod fitting;
mod stream;
mod xml;
mod yaml;

pub use crate::calibration::{
    laser::{Calibration, Laser, Origin},
    stream::{Check, StatusStream, StreamReport},
};
