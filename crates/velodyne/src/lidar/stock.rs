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
/// those of a VLP-16 in ROS. VeloView has one table for all HDL-64E.
pub(super) fn calibration(model: Model, formula: Formula) -> Calibration {
    let mut calibration = Calibration::of_model(model);
    let is_level = match formula {
        Formula::VeloView if model.is_hdl64e() => {
            return Calibration::hdl64e_of_veloview();
        }
        Formula::Ros if model == Model::Hdl64eS3 => {
            return Calibration::hdl64e_s3_of_ros();
        }
        Formula::VeloView => true,
        Formula::Ros => !model.is_hdl64e() && model != Model::Vlp16,
        Formula::Manual | Formula::ManualTwoPoint | Formula::VelodyneDecoder => false,
    };
    if is_level {
        calibration.lasers.iter_mut().for_each(|laser| laser.vertical_offset_m = 0.0);
        calibration.origin = Origin::Default(format!("{model} of {formula}"));
    }
    calibration
}
