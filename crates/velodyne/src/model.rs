//! Detects the lidar model from its packets, with reasons.

mod kind;

mod returns;

mod evidence;

mod detection;

pub use crate::model::detection::ModelDetection;
pub use crate::model::evidence::Evidence;
pub use crate::model::kind::Model;
pub use crate::model::kind::ReturnMode;
pub use crate::model::kind::Sensor;
pub use crate::model::kind::TimestampReference;
pub(crate) use crate::model::returns::describe_mode_changes;
