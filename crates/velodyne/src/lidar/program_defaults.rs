//! The calibrations that other programs use by default.

use crate::{
    calibration::{Calibration, Origin},
    model::Model,
    points::Formula,
};

/// Returns the default calibration for a `model` in the program that `formula` is named
/// after.
///
/// VeloView has one table for all models of the HDL-64E. For the other models, VeloView and
/// ROS ignore the heights of the lasers, except that ROS has those of the VLP-16.
pub(super) fn calibration(model: Model, formula: Formula) -> Calibration {
    let mut calibration = Calibration::for_model(model);
    let ignores_heights = match formula {
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
    if ignores_heights {
        calibration.lasers.iter_mut().for_each(|laser| laser.vertical_offset_m = 0.0);
        calibration.origin = Origin::Default(format!("{model} of {formula}"));
    }
    calibration
}

#[cfg(test)]
mod tests {
    use logtool_core::conformance;

    use super::*;

    #[test]
    fn hdl_64e_tables_equal_the_files_of_the_programs() {
        for (model, formula, file) in [
            (Model::Hdl64eS1, Formula::Ros, "calib_vd_HDL-64E_S1-utexas.yml"),
            (Model::Hdl64eS2, Formula::Ros, "calib_vd_HDL-64E_S2.1-sztaki.yml"),
            (Model::Hdl64eS3, Formula::Ros, "calib_vd_HDL-64E_S3-xiesc.yml"),
            (Model::Hdl64eS1, Formula::VeloView, "calib_hdl64e_veloview_HDL-64.xml"),
            (Model::Hdl64eS3, Formula::VeloView, "calib_hdl64e_veloview_HDL-64.xml"),
        ] {
            let Some(bytes) = conformance::sample(&format!("velodyne/{file}")) else {
                return;
            };
            let text = String::from_utf8_lossy(&bytes);
            let expected = if file.ends_with("xml") {
                Calibration::from_xml(&text, file).unwrap()
            } else {
                Calibration::from_yaml(&text, file).unwrap()
            };
            let default = calibration(model, formula);
            assert_eq!(default.lasers.len(), expected.lasers.len());
            for (own, laser) in default.lasers.iter().zip(&expected.lasers) {
                for deviation in [
                    own.rotation_deg - laser.rotation_deg,
                    own.vertical_deg - laser.vertical_deg,
                    own.far_correction_m - laser.far_correction_m,
                    own.near_correction_x_m - laser.near_correction_x_m,
                    own.near_correction_y_m - laser.near_correction_y_m,
                    own.vertical_offset_m - laser.vertical_offset_m,
                    own.horizontal_offset_m - laser.horizontal_offset_m,
                ] {
                    assert!(deviation.abs() < 1e-4, "{file}: {own:?} {laser:?}");
                }
            }
        }
    }
}
