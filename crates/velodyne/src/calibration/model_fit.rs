//! Adapts a calibration file to the model of a lidar.

use crate::{
    calibration::laser::{Calibration, Laser, ranges},
    model::Model,
};

/// The tolerance of the vertical angles of lidars of one model, in degrees.
const SAME_ANGLE_DEG: f64 = 0.3;

impl Calibration {
    /// Adapts a calibration from a file to a lidar of `model`. A distance resolution that
    /// the model does not have is replaced, with a warning. Lasers that only pad the file
    /// are removed.
    pub(crate) fn fit(&mut self, model: Model) {
        let count = model.lasers();
        let is_filler = |(at, laser): (usize, &Laser)| {
            let blank = Laser::new(laser.id);
            let first = self.lasers.get(at % count);
            let is_repeated = first.is_some_and(|first| {
                let id = laser.id;
                *laser == Laser { id, is_enabled: laser.is_enabled, ..first.clone() }
            });
            let is_blank = laser.vertical_deg == blank.vertical_deg
                && laser.rotation_deg == blank.rotation_deg
                && laser.distance_m == blank.distance_m;
            is_repeated || is_blank
        };
        if self.lasers.iter().enumerate().skip(count).all(is_filler) {
            self.lasers.truncate(count);
        }
        let step = model.distance_step_m();
        if let Some(description) = self.distance_step_m
            && (description - step).abs() > step * 0.01
        {
            self.warnings.push(format!(
                "{} declares a distance resolution of {description} m; that of a {model} is \
                 {step} m, which is used",
                self.origin
            ));
            self.distance_step_m = Some(step);
        }
    }

    /// Adds a warning about lasers that a file lists more than once. The last entry is
    /// used.
    pub(super) fn report_repeated(&mut self, mut lasers: Vec<u16>) {
        lasers.sort_unstable();
        lasers.dedup();
        let (noun, verb) = match lasers.len() {
            0 => return,
            1 => ("laser", "is"),
            _ => ("lasers", "are"),
        };
        self.warnings.push(format!(
            "{noun} {} {verb} listed more than once: the last entry is used",
            ranges(&lasers)
        ));
    }

    /// Returns the model whose vertical angles the lasers have, if it is not `model`.
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
        let built = Self::for_model(model).lasers;
        let has_same_angle = |(own, built): (&Laser, &Laser)| {
            (own.vertical_deg - built.vertical_deg).abs() < SAME_ANGLE_DEG
        };
        self.lasers.len() == built.len()
            && self.lasers.iter().zip(&built).all(has_same_angle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::laser::Origin;

    fn parse_file(model: Model) -> Calibration {
        let origin = Origin::File("some.yaml".to_owned());
        Calibration { origin, ..Calibration::for_model(model) }
    }

    #[test]
    fn distance_resolution_of_another_model_is_replaced_and_reported() {
        for (model, description) in
            [(Model::Vls128, 0.007), (Model::Vlp16, 0.004), (Model::Vlp32c, 0.002)]
        {
            let mut calibration = parse_file(model);
            calibration.distance_step_m = Some(description);
            calibration.fit(model);
            assert_eq!(calibration.distance_step_m, Some(model.distance_step_m()));
            assert_eq!(calibration.warnings.len(), 1);
            let mut right = parse_file(model);
            right.fit(model);
            assert_eq!(right.warnings.len(), 0);
        }
    }

    #[test]
    fn angles_of_another_model_are_rejected() {
        for (text, model) in [
            (Model::Vlp32c, Model::Hdl32e),
            (Model::Hdl32e, Model::Vlp32c),
            (Model::Vlp16HiRes, Model::Vlp16),
            (Model::Vlp16, Model::Vlp16HiRes),
        ] {
            let mismatch = parse_file(text).check_model(model).unwrap_err().to_string();
            assert!(
                mismatch.contains(&format!("the angles of a {text}")),
                "{mismatch}"
            );
            assert!(parse_file(model).check_model(model).is_ok());
        }
        // Both have the same product ID.
        assert!(parse_file(Model::Vlp32b).check_model(Model::Vlp32a).is_ok());
    }

    #[test]
    fn padding_lasers_of_a_file_are_removed() {
        for model in [Model::Hdl32e, Model::Vlp16] {
            let mut blank = parse_file(model);
            let mut repeated = parse_file(model);
            for id in model.lasers()..64 {
                blank.lasers.push(Laser::new(id as u16));
                let laser = repeated.lasers[id % model.lasers()].clone();
                repeated.lasers.push(Laser { id: id as u16, ..laser });
            }
            for mut calibration in [blank, repeated] {
                calibration.fit(model);
                assert!(calibration.check_model(model).is_ok());
            }
        }
    }
}
