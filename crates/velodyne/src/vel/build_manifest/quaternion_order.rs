//! Detects the order of the four components of an attitude.
//!
//! The specification does not state the order. A car stays nearly level, so the x and y
//! components are small. These are the second and the third component if the scalar
//! comes first, and the first and second if it comes last.

use logtool_core::Topic;

use crate::vel::message::Pose;

/// The minimum ratio between the deviations from level of both orders. With a lower ratio,
/// the order is unknown.
const MIN_RATIO: f64 = 4.0;

/// Statistics of the attitudes of a log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuaternionStats {
    count: u64,
    /// The sum of the squares of each component.
    squares: [f64; 4],
}

impl QuaternionStats {
    /// Adds an attitude. Quaternions that are not normalized are ignored.
    pub(crate) fn observe(&mut self, pose: &Pose) {
        let squares = pose.quaternion.map(|number| f64::from(number).powi(2));
        let length: f64 = squares.iter().sum();
        if (0.9..1.1).contains(&length) {
            self.count += 1;
            for (sum, square) in self.squares.iter_mut().zip(squares) {
                *sum += square;
            }
        }
    }

    /// Describes the order and the reason for it, or returns `None` without attitudes.
    pub(crate) fn describe_order(&self) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        let mean = self.squares.map(|sum| sum / self.count as f64);
        let (if_first, if_last) = (mean[1] + mean[2], mean[0] + mean[1]);
        let order = if if_last * MIN_RATIO < if_first {
            QuaternionOrder::ScalarLast.components()
        } else if if_first * MIN_RATIO < if_last {
            QuaternionOrder::ScalarFirst.components()
        } else {
            "unknown"
        };
        Some(format!(
            "{order} (mean x2 + y2 is {if_first:.4} if the scalar is first, {if_last:.4} \
             if it is last; {} attitudes)",
            self.count
        ))
    }
}

/// The metadata key of the order and the reason for it.
pub(crate) const QUATERNION_ORDER: &str = "quaternion_order";

/// The order of the four components of an attitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuaternionOrder {
    /// The scalar is the first component.
    ScalarFirst,
    /// The scalar is the last component.
    ScalarLast,
}

impl QuaternionOrder {
    /// Returns the order of the attitudes of `topic`, or `None` if it is unknown.
    pub fn from_topic(topic: &Topic) -> Option<Self> {
        let description = topic.metadata.get(QUATERNION_ORDER)?;
        [Self::ScalarFirst, Self::ScalarLast]
            .into_iter()
            .find(|order| description.starts_with(order.components()))
    }

    /// Returns the names of the components in this order.
    fn components(self) -> &'static str {
        match self {
            Self::ScalarFirst => "w, x, y, z",
            Self::ScalarLast => "x, y, z, w",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(quaternions: [[f32; 4]; 2]) -> String {
        let mut attitudes = QuaternionStats::default();
        for quaternion in quaternions {
            attitudes.observe(&Pose { quaternion, acceleration: [0.0; 3] });
        }
        let description = attitudes.describe_order().unwrap();
        description.split_once(" (").unwrap().0.to_owned()
    }

    #[test]
    fn level_car_determines_the_order() {
        let (c, s) = (0.8, 0.6);
        assert_eq!(order([[c, 0.01, 0.0, s], [s, 0.0, 0.02, c]]), "w, x, y, z");
        assert_eq!(order([[0.01, 0.0, s, c], [0.0, 0.02, c, s]]), "x, y, z, w");
    }

    #[test]
    fn order_of_identical_attitudes_is_known_only_if_one_order_is_level() {
        assert_eq!(order([[1.0, 0.0, 0.0, 0.0]; 2]), "w, x, y, z");
        assert_eq!(order([[0.0, 0.0, 0.0, 1.0]; 2]), "unknown");
    }
}
