//! The channels of a block that came back, put at the ends of columns.

use crate::{
    packet::CHANNELS,
    points::lasers::{Lane, Roomy},
};

/// Values that mostly are one and the same.
#[derive(Clone, Debug)]
pub(super) struct Few<T> {
    /// The value of all channels, if they have the same.
    pub(super) same: Option<T>,
    /// That of each, if not.
    pub(super) each: Roomy<T>,
}

/// The stretches of channels that came back, one behind the other: where each begins, and
/// how many channels are before it.
///
/// A stretch is copied as if it was 32 long, and what is too much is cut off: a copy of a
/// fixed length is a few instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    runs: [(u8, u8); CHANNELS / 2],
    count: usize,
    /// How many channels are in all of them.
    channels: usize,
}

impl Runs {
    #[inline(always)]
    pub(super) fn of(back: u32) -> Self {
        let channels = back.count_ones() as usize;
        let mut own = Self { runs: [(0, 0); CHANNELS / 2], count: 0, channels };
        let (mut left, mut start, mut before) = (back, 0, 0);
        while left != 0 {
            let gap = left.trailing_zeros();
            start += gap;
            left >>= gap;
            own.runs[own.count % (CHANNELS / 2)] = (start as u8, before as u8);
            own.count += 1;
            let len = left.trailing_ones();
            (start, before) = (start + len, before + len);
            left = left.checked_shr(len).unwrap_or(0);
        }
        own
    }

    #[inline(always)]
    fn all(&self) -> &[(u8, u8)] {
        self.runs.get(..self.count).unwrap_or_default()
    }

    /// Has `add` put the stretches of `values` at the end of `column`, one by one.
    #[inline(always)]
    fn put<T>(
        &self,
        values: &Roomy<T>,
        column: &mut Vec<T>,
        add: impl Fn(&mut Vec<T>, &Lane<T>),
    ) {
        let at = column.len();
        for (start, before) in self.all() {
            let from = usize::from(*start) % CHANNELS;
            if let Some(values) = values[from..].first_chunk::<CHANNELS>() {
                column.truncate(at + usize::from(*before));
                add(column, values);
            }
        }
        column.truncate(at + self.channels);
    }
}

/// Puts the values of these stretches at the end of a column, if it is wanted.
#[inline(always)]
pub(super) fn put<T: Copy>(
    column: &mut Option<Vec<T>>,
    runs: &Runs,
    values: &Roomy<T>,
) {
    if let Some(column) = column {
        runs.put(values, column, |column, values| column.extend_from_slice(values));
    }
}

/// The same, of times so long after `nanos`.
#[inline(always)]
pub(super) fn put_times(
    column: &mut Vec<i64>,
    runs: &Runs,
    nanos: i64,
    after: &Roomy<i64>,
) {
    runs.put(after, column, |column, after| {
        // By halves, which are as long as is copied without a call.
        for half in after.as_chunks::<{ CHANNELS / 2 }>().0 {
            let mut times = [0; CHANNELS / 2];
            times.iter_mut().zip(half).for_each(|(to, after)| *to = nanos + after);
            column.extend_from_slice(&times);
        }
    });
}

/// The same, of values that mostly are one.
#[inline(always)]
pub(super) fn put_few<T: Copy>(column: &mut Option<Vec<T>>, runs: &Runs, few: &Few<T>) {
    let Some(same) = few.same else { return put(column, runs, &few.each) };
    if let Some(column) = column {
        let end = column.len() + runs.channels;
        column.extend_from_slice(&[same; CHANNELS]);
        column.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_begin_after_each_gap() {
        assert_eq!(Runs::of(0).all(), []);
        assert_eq!(Runs::of(u32::MAX).all(), [(0, 0)]);
        assert_eq!(Runs::of(0b1101_1000).all(), [(3, 0), (6, 2)]);
        assert_eq!(Runs::of(1 << 31).all(), [(31, 0)]);
        assert_eq!(Runs::of(0x5555_5555).all().len(), 16);
        assert_eq!(Runs::of(0xaaaa_aaaa).all()[15], (31, 15));
    }
}
