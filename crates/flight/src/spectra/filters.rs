//! The frequencies of the filters of the gyroscope, from parameters.

use serde::Serialize;

use crate::data::FlightData;

/// The parameters of the cut-off frequencies of low-pass filters, and of the frequencies and
/// bandwidths of notch filters (PX4, `VehicleAngularVelocity`). `MC_DTERM_CUTOFF` and
/// `IMU_GYRO_NF_*` belong to older releases.
const LOW_PASS: [&str; 3] = ["IMU_GYRO_CUTOFF", "IMU_DGYRO_CUTOFF", "MC_DTERM_CUTOFF"];
const NOTCH: [(&str, &str); 3] = [
    ("IMU_GYRO_NF0_FRQ", "IMU_GYRO_NF0_BW"),
    ("IMU_GYRO_NF1_FRQ", "IMU_GYRO_NF1_BW"),
    ("IMU_GYRO_NF_FREQ", "IMU_GYRO_NF_BW"),
];

/// The frequencies of the filters of the gyroscope.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterMarks {
    /// The cut-off frequencies of low-pass filters.
    pub low_pass: Vec<FilterMark>,
    /// The notch filters.
    pub notch: Vec<FilterMark>,
}

/// The frequency of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterMark {
    /// The parameter of the frequency.
    pub parameter: &'static str,
    /// The cut-off frequency of a low-pass filter, or the centre frequency of a notch filter.
    pub frequency_hz: f64,
    /// The bandwidth of a notch filter; `None` for a low-pass filter.
    pub bandwidth_hz: Option<f64>,
}

impl FilterMarks {
    /// Returns the enabled filters. A frequency of zero disables a filter.
    pub fn new(data: &FlightData) -> Self {
        let positive = |name: &str| data.parameter(name).filter(|value| *value > 0.0);
        let low_pass = LOW_PASS.into_iter().filter_map(|parameter| {
            let frequency_hz = positive(parameter)?;
            Some(FilterMark { parameter, frequency_hz, bandwidth_hz: None })
        });
        let notch = NOTCH.into_iter().filter_map(|(parameter, width)| {
            let (frequency_hz, width) = (positive(parameter)?, positive(width)?);
            Some(FilterMark { parameter, frequency_hz, bandwidth_hz: Some(width) })
        });
        Self { low_pass: low_pass.collect(), notch: notch.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disabled_filters_have_no_mark() {
        let parameters = [
            ("IMU_GYRO_CUTOFF", 40.0),
            ("IMU_DGYRO_CUTOFF", 0.0),
            ("IMU_GYRO_NF0_FRQ", 120.0),
            ("IMU_GYRO_NF0_BW", 20.0),
            ("IMU_GYRO_NF1_FRQ", 0.0),
            ("IMU_GYRO_NF1_BW", 20.0),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value));
        let marks =
            FilterMarks::new(&FlightData::new((0, 0)).with_parameters(parameters));
        let of = |marks: &[FilterMark]| -> Vec<_> {
            marks
                .iter()
                .map(|m| (m.parameter, m.frequency_hz, m.bandwidth_hz))
                .collect()
        };
        assert_eq!(of(&marks.low_pass), [("IMU_GYRO_CUTOFF", 40.0, None)]);
        assert_eq!(of(&marks.notch), [("IMU_GYRO_NF0_FRQ", 120.0, Some(20.0))]);
    }
}
