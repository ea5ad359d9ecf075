//! Calibrations of lasers: from files, from packets, or defaults of a model.

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
