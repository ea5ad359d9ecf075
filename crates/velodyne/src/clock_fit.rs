//! Estimates the offset between two clocks from many observations.

use logtool_core::ClockFit;

/// Returns the median of `offsets` in nanoseconds. Half of them differ from it by at most
/// the spread.
pub(crate) fn fit(mut offsets: Vec<i64>, source: &str) -> Option<ClockFit> {
    let middle = median(&mut offsets)?;
    let mut spread: Vec<i64> =
        offsets.iter().map(|offset| offset.abs_diff(middle) as i64).collect();
    Some(ClockFit {
        offset_nanos: middle,
        spread_nanos: median(&mut spread)?.unsigned_abs(),
        observations: offsets.len() as u64,
        source: source.into(),
    })
}

fn median(values: &mut [i64]) -> Option<i64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}
