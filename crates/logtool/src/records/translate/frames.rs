//! Names of the coordinate frames of a vehicle.

/// The prefix of the names of a vehicle's frames, if several vehicles are in one log.
#[derive(Clone, Debug, Default)]
pub struct Frames(String);

impl Frames {
    /// Creates the prefix for the vehicle called `name`.
    pub fn for_vehicle(name: &str) -> Self {
        Self(format!("{name}/"))
    }

    /// Returns the full name of the vehicle's frame `frame`.
    pub(super) fn name(&self, frame: &str) -> String {
        format!("{}{frame}", self.0)
    }
}
