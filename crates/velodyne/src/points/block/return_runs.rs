//! Appends the channels of a block that have a return to columns.

use crate::{
    packet::CHANNELS,
    points::block::laser_bank::{PaddedPerChannel, PerChannel},
};

/// Values that are usually the same for all channels.
#[derive(Clone, Debug)]
pub(crate) struct ChannelValues<T> {
    /// The value of all channels, if it is the same.
    pub(crate) same: Option<T>,
    /// The value of each channel otherwise.
    pub(crate) each: PaddedPerChannel<T>,
}

/// The runs of consecutive channels with returns: the first channel of each run, and the
/// number of returns before it.
///
/// Each run is copied as 32 values and then truncated, because a copy of fixed length
/// takes few instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReturnRuns {
    runs: [(u8, u8); CHANNELS / 2],
    count: usize,
    /// The number of channels in all runs.
    channels: usize,
}

impl ReturnRuns {
    #[inline(always)]
    pub(crate) fn from_mask(back: u32) -> Self {
        let channels = back.count_ones() as usize;
        let mut return_runs = Self { runs: [(0, 0); CHANNELS / 2], count: 0, channels };
        let (mut left, mut start, mut before) = (back, 0, 0);
        while left != 0 {
            let gap = left.trailing_zeros();
            start += gap;
            left >>= gap;
            return_runs.runs[return_runs.count % (CHANNELS / 2)] =
                (start as u8, before as u8);
            return_runs.count += 1;
            let len = left.trailing_ones();
            (start, before) = (start + len, before + len);
            left = left.checked_shr(len).unwrap_or(0);
        }
        return_runs
    }

    #[inline(always)]
    fn all_lasers(&self) -> &[(u8, u8)] {
        self.runs.get(..self.count).unwrap_or_default()
    }

    /// Calls `add` to append each run of `values` to `column`.
    #[inline(always)]
    fn append_runs<T>(
        &self,
        values: &PaddedPerChannel<T>,
        column: &mut Vec<T>,
        add: impl Fn(&mut Vec<T>, &PerChannel<T>),
    ) {
        let at = column.len();
        for (start, before) in self.all_lasers() {
            let from = usize::from(*start) % CHANNELS;
            if let Some(values) = values[from..].first_chunk::<CHANNELS>() {
                column.truncate(at + usize::from(*before));
                add(column, values);
            }
        }
        column.truncate(at + self.channels);
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

/// Appends times to a column: `nanos` plus the values of the runs.
#[inline(always)]
pub(crate) fn append_times(
    column: &mut Vec<i64>,
    runs: &ReturnRuns,
    nanos: i64,
    after: &PaddedPerChannel<i64>,
) {
    runs.append_runs(after, column, |column, after| {
        // Copy halves, the longest arrays that are copied without a function call.
        for half in after.as_chunks::<{ CHANNELS / 2 }>().0 {
            let mut times = [0; CHANNELS / 2];
            times.iter_mut().zip(half).for_each(|(to, after)| *to = nanos + after);
            column.extend_from_slice(&times);
        }
    });
}

/// Appends values that are usually the same for all channels, if the column is selected.
#[inline(always)]
pub(crate) fn append_values<T: Copy>(
    column: &mut Option<Vec<T>>,
    runs: &ReturnRuns,
    values: &ChannelValues<T>,
) {
    let Some(same) = values.same else {
        return append_runs(column, runs, &values.each);
    };
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
    fn runs_start_after_each_gap() {
        assert_eq!(ReturnRuns::from_mask(0).all_lasers(), []);
        assert_eq!(ReturnRuns::from_mask(u32::MAX).all_lasers(), [(0, 0)]);
        assert_eq!(ReturnRuns::from_mask(0b1101_1000).all_lasers(), [(3, 0), (6, 2)]);
        assert_eq!(ReturnRuns::from_mask(1 << 31).all_lasers(), [(31, 0)]);
        assert_eq!(ReturnRuns::from_mask(0x5555_5555).all_lasers().len(), 16);
        assert_eq!(ReturnRuns::from_mask(0xaaaa_aaaa).all_lasers()[15], (31, 15));
    }
}
