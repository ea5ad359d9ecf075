//! What a vehicle was doing, and when.

use std::sync::Arc;

/// What a vehicle is doing, as `AUTO_MISSION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackMode {
    /// What people call it.
    pub name: String,
    /// The colour of its lines: red, green, blue.
    pub color: [u8; 3],
}

/// The modes of a vehicle, from change to change.
#[derive(Clone, Debug, Default)]
pub struct TrackModes {
    /// In the order of time.
    changes: Vec<(i64, Arc<TrackMode>)>,
}

impl TrackModes {
    /// The modes that begin at these nanoseconds of the clock of the tables, in whichever
    /// order.
    pub fn new(mut changes: Vec<(i64, Arc<TrackMode>)>) -> Self {
        changes.sort_by_key(|(nanos, _)| *nanos);
        Self { changes }
    }

    /// The modes, and the nanoseconds at which they begin, in the order of time.
    pub fn changes(&self) -> &[(i64, Arc<TrackMode>)] {
        &self.changes
    }

    /// The mode at a moment; before the first change, the first one, as ulog2kml has it.
    pub(super) fn at(&self, nanos: Option<i64>) -> Option<&Arc<TrackMode>> {
        let nanos = nanos?;
        let after = self.changes.partition_point(|(start, _)| *start <= nanos);
        self.changes.get(after.saturating_sub(1)).map(|(_, mode)| mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_lasts_until_the_next_and_the_first_from_the_beginning() {
        let mode =
            |name: &str| Arc::new(TrackMode { name: name.into(), color: [0; 3] });
        let modes = TrackModes::new(vec![(20, mode("b")), (10, mode("a"))]);
        let at = |nanos| modes.at(Some(nanos)).map(|mode| mode.name.as_str());
        assert_eq!([5, 10, 19, 20, 99].map(at), ["a", "a", "a", "b", "b"].map(Some));
        assert_eq!(modes.at(None), None);
        assert_eq!(TrackModes::default().at(Some(1)), None);
    }
}
