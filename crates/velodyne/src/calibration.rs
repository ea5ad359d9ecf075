//! Calibrations of the lasers of a lidar: from files, from packets, or defaults of a model.

mod laser;

mod plausibility;

mod defaults;
mod model_fit;
mod status_stream;
mod xml;
mod yaml;

pub use crate::calibration::laser::Calibration;
pub use crate::calibration::laser::Laser;
pub use crate::calibration::laser::Origin;
pub use crate::calibration::status_stream::StatusStream;
pub use crate::calibration::status_stream::StreamReport;
pub use crate::calibration::status_stream::ValueVerification;
