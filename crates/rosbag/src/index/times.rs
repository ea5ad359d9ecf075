//! Times of chunk infos that cannot be true: some writers leave them zero.

use logtool_core::{Result, TimeRange, Timestamp};

use crate::{entries::each_entry, index::IndexedChunk, top::Tops};

/// Times that are further apart than this are not of one recording.
const FAR_NANOS: u64 = 366 * 86_400 * 1_000_000_000;

/// Takes the times of their index data for chunks that are said to be of time 0, or years away
/// from most others; a remark if that is another time.
pub(super) fn mend(
    tops: &mut Tops,
    chunks: &mut [IndexedChunk],
) -> Result<Option<String>> {
    let mut starts: Vec<i64> =
        chunks.iter().map(|it| it.time.start.as_nanos()).collect();
    starts.sort_unstable();
    let middle = starts.get(starts.len() / 2).copied().unwrap_or(0);
    let is_odd = |time: &TimeRange| {
        let is_far = |at: Timestamp| at.as_nanos().abs_diff(middle) > FAR_NANOS;
        let is_zero = *time == TimeRange::just(Timestamp::from_nanos(0));
        *time != TimeRange::ALL && (is_zero || is_far(time.start) || is_far(time.end))
    };
    let mut mended = Vec::new();
    for chunk in chunks.iter_mut().filter(|chunk| is_odd(&chunk.time)) {
        let Some((_, data)) = tops.chunk(chunk.at)? else { continue };
        let mut time = TimeRange::EMPTY;
        each_entry(tops, data.end, |_, at, _| time = time.cover(&TimeRange::just(at)));
        let has_messages = chunk.counts.iter().any(|(_, count)| *count > 0);
        if time.is_empty() && has_messages {
            time = TimeRange::ALL;
        }
        if !time.is_empty() && time != chunk.time {
            chunk.time = time;
            mended.push(chunk.at);
        }
    }
    Ok(mended.first().map(|at| {
        let more = match mended.len() - 1 {
            0 => String::new(),
            more => format!(", and of {more} more"),
        };
        format!(
            "the index tells a wrong time of the chunk at byte {at}{more}: that of its index \
             data is taken"
        )
    }))
}
