//! The modes of a vehicle over time.

use std::sync::Arc;

/// A mode of a vehicle, e.g. `AUTO_MISSION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackMode {
    /// The name for display.
    pub name: String,
    /// The colour of lines in this mode: red, green, blue.
    pub color: [u8; 3],
}

/// The mode changes of a vehicle.
#[derive(Clone, Debug, Default)]
pub struct TrackModes {
    /// The start time (in nanoseconds) and the mode of each change, sorted by time.
    changes: Vec<(i64, Arc<TrackMode>)>,
}

impl TrackModes {
    /// Creates the modes from the times at which they start, in nanoseconds of the clock of the
    /// tables; they need not be sorted.
    pub fn new(mut changes: Vec<(i64, Arc<TrackMode>)>) -> Self {
        changes.sort_by_key(|(nanos, _)| *nanos);
        Self { changes }
    }

    /// Returns the start time (in nanoseconds) and mode of each change, sorted by time.
    pub fn changes(&self) -> &[(i64, Arc<TrackMode>)] {
        &self.changes
    }

    /// Returns the mode at a time. Before the first change it is the first mode, like in ulog2kml.
    pub(super) fn mode_at(&self, nanos: Option<i64>) -> Option<&Arc<TrackMode>> {
        let nanos = nanos?;
        let next_change = self.changes.partition_point(|(start, _)| *start <= nanos);
        self.changes.get(next_change.saturating_sub(1)).map(|(_, mode)| mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_mode_also_applies_before_its_start() {
        let mode =
            |name: &str| Arc::new(TrackMode { name: name.into(), color: [0; 3] });
        let modes = TrackModes::new(vec![(20, mode("b")), (10, mode("a"))]);
        let name_at = |nanos| modes.mode_at(Some(nanos)).map(|mode| mode.name.as_str());
        assert_eq!(
            [5, 10, 19, 20, 99].map(name_at),
            ["a", "a", "a", "b", "b"].map(Some)
        );
        assert_eq!(modes.mode_at(None), None);
        assert_eq!(TrackModes::default().mode_at(Some(1)), None);
    }
}
