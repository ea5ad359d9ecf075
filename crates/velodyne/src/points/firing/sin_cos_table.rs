//! A table of the sine and cosine of all azimuths.

use std::sync::LazyLock;

/// A full turn in hundredths of a degree.
pub(crate) const TURN: u16 = 36_000;

/// The sine and cosine of each hundredth of a degree.
static SINES_AND_COSINES: LazyLock<Box<[(f64, f64)]>> = LazyLock::new(|| {
    let radians = |centi: u16| (f64::from(centi) / 100.0).to_radians();
    (0..TURN).map(|centi| radians(centi).sin_cos()).collect()
});

/// A reference to the table, with which look-ups need not check whether it is initialized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SinCosTable(&'static [(f64, f64)]);

impl SinCosTable {
    pub(crate) fn new() -> Self {
        Self(&SINES_AND_COSINES)
    }

    /// Returns the sine and cosine of `centi` hundredths of a degree.
    #[inline]
    pub(crate) fn sin_cos(self, centi: u16) -> (f64, f64) {
        self.0.get(usize::from(centi % TURN)).copied().unwrap_or((0.0, 1.0))
    }
}
