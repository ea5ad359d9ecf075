//! What the frames are called in which a vehicle measures.

/// What stands before the names of a vehicle's frames, where several vehicles are in one log.
#[derive(Clone, Debug, Default)]
pub struct Frames(String);

impl Frames {
    /// Those of the vehicle called `name`.
    pub fn of(name: &str) -> Self {
        Self(format!("{name}/"))
    }

    /// The frame that the vehicle itself calls `own`.
    pub(super) fn name(&self, own: &str) -> String {
        format!("{}{own}", self.0)
    }
}
