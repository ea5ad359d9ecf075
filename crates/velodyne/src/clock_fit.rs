//! Estimates the offset between two clocks from many observations.

use logtool_core::ClockFit;

/// Returns the median of `offsets`, which are in nanoseconds, or `None` if there are no
/// offsets. The spread is the median of their deviations from the median.
pub(crate) fn fit(mut offsets: Vec<i64>, source: &str) -> Option<ClockFit> {
    let offset_nanos = median(&mut offsets)?;
    let mut deviations: Vec<u64> =
        offsets.iter().map(|offset| offset.abs_diff(offset_nanos)).collect();
    Some(ClockFit {
        offset_nanos,
        spread_nanos: median(&mut deviations)?,
        observations: offsets.len() as u64,
        source: source.into(),
    })
}

fn median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}
