//! Sine and cosine of every azimuth that a packet can say.

use std::sync::LazyLock;

/// How many hundredths of a degree a turn has.
pub(crate) const TURN: u16 = 36_000;

/// Sine and cosine of so many hundredths of a degree.
static CIRCLE: LazyLock<Box<[(f64, f64)]>> = LazyLock::new(|| {
    let radians = |centi: u16| (f64::from(centi) / 100.0).to_radians();
    (0..TURN).map(|centi| radians(centi).sin_cos()).collect()
});

/// The table, to be held where it is needed often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circle(&'static [(f64, f64)]);

impl Circle {
    pub(super) fn new() -> Self {
        Self(&CIRCLE)
    }

    /// Sine and cosine of `centi` hundredths of a degree.
    #[inline]
    pub(super) fn sin_cos(self, centi: u16) -> (f64, f64) {
        self.0.get(usize::from(centi % TURN)).copied().unwrap_or((0.0, 1.0))
    }
}
