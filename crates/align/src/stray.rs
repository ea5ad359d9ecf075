//! What has a time that is far from all others, as of a clock that was not yet set.

/// Samples that are further apart are of different stretches: an hour.
const APART: u64 = 3_600_000_000_000;

/// Takes out of `samples`, times in nanoseconds and numbers, what is more than an hour away
/// from the others, if at least nine of ten of these are together; tells how many that were.
/// Puts them in the order of their times.
pub fn without_strays(samples: &mut Vec<(i64, f64)>) -> usize {
    samples.sort_by_key(|(time, _)| *time);
    let is_near = |a: &(i64, f64), b: &(i64, f64)| b.0.abs_diff(a.0) <= APART;
    let mut start = 0;
    let stretches = samples.chunk_by(is_near).map(|stretch| {
        start += stretch.len();
        (stretch.len(), start)
    });
    let longest = stretches.max_by_key(|(len, _)| *len);
    let all = samples.len();
    match longest {
        Some((len, end)) if len < all && len as u64 * 10 >= all as u64 * 9 => {
            samples.truncate(end);
            samples.drain(..end - len);
            all - len
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_1970_is_left_out_and_a_pause_is_not() {
        let second = 1_000_000_000;
        let of = |start: i64, count: i64| {
            (start..start + count).map(move |n| (n * second, n as f64))
        };
        let now: Vec<_> = of(1_700_000_000, 95).collect();
        let mut samples: Vec<_> = now.iter().copied().chain(of(0, 5)).collect();
        assert_eq!((without_strays(&mut samples), &samples), (5, &now));
        let mut pause: Vec<_> = of(0, 50).chain(of(7200, 50)).collect();
        assert_eq!((without_strays(&mut pause), pause.len()), (0, 100));
        assert_eq!(without_strays(&mut samples), 0);
        assert_eq!(without_strays(&mut Vec::new()), 0);
    }
}
