//! Default calibrations for lidars of which only the model is known.
//!
//! All lidars of a model have the same geometry, except the HDL-64E. For an HDL-64E, the
//! calibration of another lidar is used, and points are off by decimetres.

mod angles;
mod hdl64e_s1;
mod hdl64e_s2;
mod hdl64e_s3;
mod hdl64e_s3_ros;

use crate::{
    calibration::{
        defaults::angles::{
            HDL32E, VLP16, VLP16_HI_RES, VLP16_HI_RES_OFFSET, VLP32A, VLP32A_ROTATION,
            VLP32C, VLP32C_ROTATION, VLS128, VLS128_ROTATION,
        },
        laser::{Calibration, Laser, Origin},
    },
    model::Model,
};

impl Calibration {
    /// Returns the default calibration of a `model`: its design angles, or for an HDL-64E
    /// the calibration of another lidar, with a warning.
    pub fn for_model(model: Model) -> Self {
        let (lasers, name) = match model {
            Model::Hdl64eS1 => (table_lasers(&hdl64e_s1::LASERS), hdl64e_s1::NAME),
            Model::Hdl64eS2 => (table_lasers(&hdl64e_s2::LASERS), hdl64e_s2::NAME),
            Model::Hdl64eS3 => (table_lasers(&hdl64e_s3::LASERS), hdl64e_s3::NAME),
            Model::Hdl32e => (design_lasers(&HDL32E, &[0.0], 28.96), "HDL-32E"),
            Model::Vlp16 => (design_lasers(&VLP16, &[0.0], 41.91), "VLP-16"),
            Model::Vlp16HiRes => (vlp16_hi_res_lasers(), "VLP-16 Hi-Res"),
            Model::Vlp32a => {
                (design_lasers(&VLP32A, &VLP32A_ROTATION, 42.4), "VLP-32A")
            }
            Model::Vlp32b => {
                (design_lasers(&VLP32C, &VLP32C_ROTATION, 42.4), "VLP-32B")
            }
            Model::Vlp32c => {
                (design_lasers(&VLP32C, &VLP32C_ROTATION, 42.4), "VLP-32C")
            }
            Model::Vls128 | Model::AlphaPrime => {
                (design_lasers(&VLS128, &VLS128_ROTATION, 58.63), "VLS-128")
            }
        };
        let warnings =
            if model.is_hdl64e() { vec![other_lidar_warning(name)] } else { vec![] };
        Self {
            lasers,
            distance_step_m: Some(model.distance_step_m()),
            origin: Origin::Default(name.to_owned()),
            sends_corrected_intensity: false,
            warnings,
        }
    }

    /// Returns the calibration that VeloView uses for each HDL-64E.
    pub(crate) fn hdl64e_of_veloview() -> Self {
        Self::for_model(Model::Hdl64eS3)
    }

    /// Returns the calibration that ROS uses for an HDL-64E S3.
    pub(crate) fn hdl64e_s3_of_ros() -> Self {
        Self {
            lasers: table_lasers(&hdl64e_s3_ros::LASERS),
            origin: Origin::Default(hdl64e_s3_ros::NAME.to_owned()),
            warnings: vec![other_lidar_warning(hdl64e_s3_ros::NAME)],
            ..Self::for_model(Model::Hdl64eS3)
        }
    }
}

/// Returns a warning that the calibration of another lidar is used.
fn other_lidar_warning(name: &str) -> String {
    format!(
        "no calibration of this lidar is known, so that of another one ({name}) is used: \
         points are off by decimetres; specify the file db.xml that came with the lidar"
    )
}

/// Returns lasers with these angles in degrees. The angles in `rotations` are repeated. All
/// beams cross at the distance `focus_mm` from the axis, so that lasers that point lower
/// start higher (VLP-16 manual, 9.3).
fn design_lasers(verticals: &[f64], rotations: &[f64], focus_mm: f64) -> Vec<Laser> {
    let angles = (0..).zip(verticals).zip(rotations.iter().cycle());
    let laser = |((id, vertical), rotation): ((u16, &f64), &f64)| Laser {
        vertical_deg: *vertical,
        rotation_deg: *rotation,
        vertical_offset_m: -focus_mm / 1e3 * vertical.to_radians().tan(),
        ..Laser::new(id)
    };
    angles.map(laser).collect()
}

fn vlp16_hi_res_lasers() -> Vec<Laser> {
    let mut lasers = design_lasers(&VLP16_HI_RES, &[0.0], 0.0);
    for (laser, offset_mm) in lasers.iter_mut().zip(VLP16_HI_RES_OFFSET) {
        laser.vertical_offset_m = offset_mm / 1e3;
    }
    lasers
}

/// Returns the lasers of a table of an HDL-64E, with one row per laser.
fn table_lasers(rows: &[[f64; 11]]) -> Vec<Laser> {
    let laser = |(id, row): (u16, &[f64; 11])| {
        let [
            rotation_deg,
            vertical_deg,
            far_correction_mm,
            near_correction_x_mm,
            near_correction_y_mm,
            vertical_offset_mm,
            horizontal_offset_mm,
            focal_distance_cm,
            focal_slope,
            min_intensity,
            max_intensity,
        ] = *row;
        Laser {
            id,
            is_enabled: true,
            rotation_deg,
            vertical_deg,
            far_correction_m: far_correction_mm / 1e3,
            near_correction_x_m: near_correction_x_mm / 1e3,
            near_correction_y_m: near_correction_y_mm / 1e3,
            two_point: None,
            vertical_offset_m: vertical_offset_mm / 1e3,
            horizontal_offset_m: horizontal_offset_mm / 1e3,
            focal_distance_m: focal_distance_cm / 1e2,
            focal_slope,
            min_intensity: min_intensity as u8,
            max_intensity: max_intensity as u8,
        }
    };
    (0..).zip(rows).map(laser).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_all_its_lasers_and_only_the_hdl_64e_has_a_warning() {
        for model in Model::ALL {
            let calibration = Calibration::for_model(model);
            assert_eq!(calibration.lasers.len(), model.lasers(), "{model}");
            assert_eq!(calibration.warnings.is_empty(), !model.is_hdl64e(), "{model}");
        }
    }

    #[test]
    fn vlp_16_defaults_agree_with_its_manual() {
        // VLP-16 manual, table 9-1: laser 0 points 15 degrees down and starts 11.2 mm up.
        let laser = &Calibration::for_model(Model::Vlp16).lasers[0];
        assert_eq!(laser.vertical_deg, -15.0);
        assert!((laser.vertical_offset_m - 0.0112).abs() < 5e-5);
    }
}
