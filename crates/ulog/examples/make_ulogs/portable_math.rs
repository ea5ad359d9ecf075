//! Functions and noise that are the same on every machine.
//!
//! The sine of the standard library may differ in the last bit between platforms. Sums
//! and products do not, so everything here is computed from these.

/// Returns the sine and the cosine of an angle in radians, accurate to ten digits.
pub(crate) fn sin_cos(angle: f64) -> (f64, f64) {
    let turns = (angle / std::f64::consts::TAU).round();
    // The series converges for a quarter of the angle, which is then doubled twice.
    let x = (angle - turns * std::f64::consts::TAU) / 4.0;
    let (mut sin, mut cos, mut term) = (0.0, 0.0, 1.0);
    for n in 1..=18 {
        match n % 4 {
            1 => cos += term,
            2 => sin += term,
            3 => cos -= term,
            _ => sin -= term,
        }
        term *= x / f64::from(n);
    }
    for _ in 0..2 {
        (sin, cos) = (2.0 * sin * cos, cos * cos - sin * sin);
    }
    (sin, cos)
}

/// Returns a value that rises smoothly from 0 to 1 while `x` goes from `start` to `end`.
pub(crate) fn step(x: f64, start: f64, end: f64) -> f64 {
    let x = ((x - start) / (end - start)).clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// Pseudorandom numbers: a linear congruential generator with Knuth's constants for 64
/// bits (MMIX).
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) const fn new() -> Self {
        Self(1)
    }

    /// Returns a number in `0..below`.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// Returns a number from `-size` to `size`.
    pub(crate) fn random_within(&mut self, size: f64) -> f64 {
        (self.below(2_001) as f64 / 1_000.0 - 1.0) * size
    }
}
