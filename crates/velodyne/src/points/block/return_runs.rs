//! Appends the values of the channels of a block that have a return to columns.

use crate::{
    packet::CHANNELS,
    points::block::laser_bank::{PaddedPerChannel, PerChannel},
};

/// Values of the channels of a block that are usually all equal.
#[derive(Clone, Debug)]
pub(crate) struct ChannelValues<T> {
    /// The value of all channels, if they are equal.
    pub(crate) common: Option<T>,
    /// The value of each channel otherwise.
    pub(crate) per_channel: PaddedPerChannel<T>,
}

/// The runs of consecutive channels with returns.
///
/// Each run is copied as 32 values and then truncated, because a copy of fixed length
/// takes few instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReturnRuns {
    /// The first channel of each run, and the number of returns before the run.
    runs: [(u8, u8); CHANNELS / 2],
    count: usize,
    /// The number of returns in all runs.
    returns: usize,
}

impl ReturnRuns {
    /// Returns the runs of the channels whose bit in `return_mask` is set.
    #[inline(always)]
    pub(crate) fn from_mask(return_mask: u32) -> Self {
        let returns = return_mask.count_ones() as usize;
        let mut return_runs = Self { runs: [(0, 0); CHANNELS / 2], count: 0, returns };
        let (mut mask, mut start, mut returns_before) = (return_mask, 0, 0);
        while mask != 0 {
            let gap = mask.trailing_zeros();
            start += gap;
            mask >>= gap;
            return_runs.runs[return_runs.count % (CHANNELS / 2)] =
                (start as u8, returns_before as u8);
            return_runs.count += 1;
            let len = mask.trailing_ones();
            (start, returns_before) = (start + len, returns_before + len);
            mask = mask.checked_shr(len).unwrap_or(0);
        }
        return_runs
    }

    #[inline(always)]
    fn as_slice(&self) -> &[(u8, u8)] {
        self.runs.get(..self.count).unwrap_or_default()
    }

    /// Appends the runs of `values` to `column`. `append` appends 32 values. The first ones
    /// belong to a run, and the others are truncated.
    #[inline(always)]
    fn append_runs<T>(
        &self,
        values: &PaddedPerChannel<T>,
        column: &mut Vec<T>,
        append: impl Fn(&mut Vec<T>, &PerChannel<T>),
    ) {
        let old_len = column.len();
        for (start, returns_before) in self.as_slice() {
            let start = usize::from(*start) % CHANNELS;
            if let Some(values) = values[start..].first_chunk::<CHANNELS>() {
                column.truncate(old_len + usize::from(*returns_before));
                append(column, values);
            }
        }
        column.truncate(old_len + self.returns);
    }
}

/// Appends the values of the runs to a column, if it is selected.
#[inline(always)]
pub(crate) fn append_runs<T: Copy>(
    column: &mut Option<Vec<T>>,
    runs: &ReturnRuns,
    values: &PaddedPerChannel<T>,
) {
    if let Some(column) = column {
        runs.append_runs(values, column, |column, values| {
            column.extend_from_slice(values)
        });
    }
}

/// Appends times to a column: `nanos` plus the `offsets` of the runs.
#[inline(always)]
pub(crate) fn append_times(
    column: &mut Vec<i64>,
    runs: &ReturnRuns,
    nanos: i64,
    offsets: &PaddedPerChannel<i64>,
) {
    runs.append_runs(offsets, column, |column, offsets| {
        // Copy halves, the longest arrays that are copied without a function call.
        for half in offsets.as_chunks::<{ CHANNELS / 2 }>().0 {
            let mut times = [0; CHANNELS / 2];
            for (time, offset) in times.iter_mut().zip(half) {
                *time = nanos + offset;
            }
            column.extend_from_slice(&times);
        }
    });
}

/// Appends the values of the runs to a column, if it is selected. They are usually equal.
#[inline(always)]
pub(crate) fn append_values<T: Copy>(
    column: &mut Option<Vec<T>>,
    runs: &ReturnRuns,
    values: &ChannelValues<T>,
) {
    let Some(common) = values.common else {
        return append_runs(column, runs, &values.per_channel);
    };
    if let Some(column) = column {
        let end = column.len() + runs.returns;
        column.extend_from_slice(&[common; CHANNELS]);
        column.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_start_after_each_gap() {
        assert_eq!(ReturnRuns::from_mask(0).as_slice(), []);
        assert_eq!(ReturnRuns::from_mask(u32::MAX).as_slice(), [(0, 0)]);
        assert_eq!(ReturnRuns::from_mask(0b1101_1000).as_slice(), [(3, 0), (6, 2)]);
        assert_eq!(ReturnRuns::from_mask(1 << 31).as_slice(), [(31, 0)]);
        assert_eq!(ReturnRuns::from_mask(0x5555_5555).as_slice().len(), 16);
        assert_eq!(ReturnRuns::from_mask(0xaaaa_aaaa).as_slice()[15], (31, 15));
    }
}
