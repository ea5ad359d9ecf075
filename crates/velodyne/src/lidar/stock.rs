//! The calibrations that come with other programs.

use crate::{
    calibration::{Calibration, Origin},
    model::Model,
    points::Formula,
};

/// Returns the calibration of lidars of a `model` that comes with the program for which
/// `formula` is named.
///
/// VeloView and ROS have all lasers of the smaller models start at the same height, but for
/// those of a VLP-16 in ROS.
pub(super) fn calibration(model: Model, formula: Formula) -> Calibration {
    let mut calibration = Calibration::of_model(model);
    let is_vlp16 = matches!(model, Model::Vlp16 | Model::Vlp16HiRes);
    let is_level = match formula {
        Formula::VeloView => !model.is_hdl64e(),
        Formula::Ros => !model.is_hdl64e() && !is_vlp16,
        Formula::Manual | Formula::ManualTwoPoint | Formula::VelodyneDecoder => false,
    };
    if is_level {
        calibration.lasers.iter_mut().for_each(|laser| laser.vertical_offset_m = 0.0);
        calibration.origin = Origin::Default(format!("{model} of {formula}"));
    }
    calibration
}
