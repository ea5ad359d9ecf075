//! Adapts a calibration file to the model of a lidar.

use crate::{
    calibration::laser::{Calibration, Laser, format_lasers},
    model::Model,
};

/// Vertical angles that differ by less than this are considered equal, in degrees. Lidars
/// of one model differ slightly.
const ANGLE_TOLERANCE_DEG: f64 = 0.3;

impl Calibration {
    /// Adapts a calibration from a file to a lidar of `model`. A distance resolution that
    /// the model does not have is replaced, with a warning. Lasers that only pad the file
    /// are removed: they have no corrections, or they repeat the lasers of the lidar.
    pub(crate) fn adapt_to(&mut self, model: Model) {
        let count = model.lasers();
        let is_padding = |(index, laser): (usize, &Laser)| {
            let repeated = self.lasers.get(index % count);
            let is_repeated = repeated.is_some_and(|repeated| {
                let id = laser.id;
                *laser == Laser { id, is_enabled: laser.is_enabled, ..repeated.clone() }
            });
            let blank = Laser::new(laser.id);
            let is_blank = laser.vertical_deg == blank.vertical_deg
                && laser.rotation_deg == blank.rotation_deg
                && laser.far_correction_m == blank.far_correction_m;
            is_repeated || is_blank
        };
        if self.lasers.iter().enumerate().skip(count).all(is_padding) {
            self.lasers.truncate(count);
        }
        let step = model.distance_step_m();
        if let Some(declared_step) = self.distance_step_m
            && (declared_step - step).abs() > step * 0.01
        {
            self.warnings.push(format!(
                "{} declares a distance resolution of {declared_step} m; that of a {model} is \
                 {step} m, which is used",
                self.origin
            ));
            self.distance_step_m = Some(step);
        }
    }

    /// Adds a warning about the `lasers` that a file lists more than once, if there are any.
    pub(super) fn warn_of_repeated_lasers(&mut self, mut lasers: Vec<u16>) {
        lasers.sort_unstable();
        lasers.dedup();
        if lasers.is_empty() {
            return;
        }
        let verb = if lasers.len() == 1 { "is" } else { "are" };
        self.warnings.push(format!(
            "{} {verb} listed more than once: the last entry is used",
            format_lasers(&lasers)
        ));
    }

    /// Returns the model whose vertical angles the lasers have, if it is not `model`.
    /// Returns `None` for an HDL-64E, because its angles differ from lidar to lidar.
    pub(super) fn other_model(&self, model: Model) -> Option<Model> {
        if model.is_hdl64e() {
            return None;
        }
        let matching_models = Model::ALL
            .into_iter()
            .filter(|other| !other.is_hdl64e() && self.has_angles_of(*other));
        let matching_models: Vec<Model> = matching_models.collect();
        // Models with the same product ID cannot be distinguished by their packets.
        if matching_models.iter().any(|other| other.product_id() == model.product_id())
        {
            return None;
        }
        // A VLP-32B and a VLP-32C have the same angles: the newer one is reported.
        matching_models.last().copied()
    }

    fn has_angles_of(&self, model: Model) -> bool {
        let design = Self::for_model(model).lasers;
        let has_same_angle = |(laser, designed): (&Laser, &Laser)| {
            (laser.vertical_deg - designed.vertical_deg).abs() < ANGLE_TOLERANCE_DEG
        };
        self.lasers.len() == design.len()
            && self.lasers.iter().zip(&design).all(has_same_angle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::laser::Origin;

    /// Returns the default calibration of `model` as if it was from a file.
    fn file_calibration(model: Model) -> Calibration {
        let origin = Origin::File("some.yaml".to_owned());
        Calibration { origin, ..Calibration::for_model(model) }
    }

    #[test]
    fn distance_resolution_of_another_model_is_replaced_and_reported() {
        for (model, wrong_step) in
            [(Model::Vls128, 0.007), (Model::Vlp16, 0.004), (Model::Vlp32c, 0.002)]
        {
            let mut calibration = file_calibration(model);
            calibration.distance_step_m = Some(wrong_step);
            calibration.adapt_to(model);
            assert_eq!(calibration.distance_step_m, Some(model.distance_step_m()));
            assert_eq!(calibration.warnings.len(), 1);
            let mut correct = file_calibration(model);
            correct.adapt_to(model);
            assert_eq!(correct.warnings.len(), 0);
        }
    }

    #[test]
    fn angles_of_another_model_are_rejected() {
        for (other_model, model) in [
            (Model::Vlp32c, Model::Hdl32e),
            (Model::Hdl32e, Model::Vlp32c),
            (Model::Vlp16HiRes, Model::Vlp16),
            (Model::Vlp16, Model::Vlp16HiRes),
        ] {
            let err = file_calibration(other_model).check_model(model).unwrap_err();
            let message = err.to_string();
            assert!(
                message.contains(&format!("the angles of a {other_model}")),
                "{message}"
            );
            assert!(file_calibration(model).check_model(model).is_ok());
        }
        // Both have the same product ID.
        assert!(file_calibration(Model::Vlp32b).check_model(Model::Vlp32a).is_ok());
    }

    #[test]
    fn padding_lasers_of_a_file_are_removed() {
        for model in [Model::Hdl32e, Model::Vlp16] {
            let mut with_blank_lasers = file_calibration(model);
            let mut with_repeated_lasers = file_calibration(model);
            for id in model.lasers()..64 {
                with_blank_lasers.lasers.push(Laser::new(id as u16));
                let laser = with_repeated_lasers.lasers[id % model.lasers()].clone();
                with_repeated_lasers.lasers.push(Laser { id: id as u16, ..laser });
            }
            for mut calibration in [with_blank_lasers, with_repeated_lasers] {
                calibration.adapt_to(model);
                assert!(calibration.check_model(model).is_ok());
            }
        }
    }
}
