//! Times of chunk infos that cannot be true: some writers leave them zero.

use logtool_core::{Result, TimeRange, Timestamp};

use crate::{
    entries::{MAX_INDEX, each_entry},
    index::{IndexedChunk, chunks_at},
    toplevel::Tops,
};

/// Times that are further apart than this are not of one recording.
const FAR_NANOS: u64 = 366 * 86_400 * 1_000_000_000;

/// Takes the times of their index data for chunks that are said to be of time 0, or years away
/// from most others; a remark if that is another time. Where these are too much to be read, any
/// time is theirs.
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
        let is_zero = *time == TimeRange::from_timestamp(Timestamp::from_nanos(0));
        *time != TimeRange::ALL && (is_zero || is_far(time.start) || is_far(time.end))
    };
    let (mut mended, mut room) = (Vec::new(), MAX_INDEX);
    for chunk in chunks.iter_mut().filter(|chunk| is_odd(&chunk.time)) {
        let Some((_, data)) = tops.chunk(chunk.at)? else { continue };
        let mut time = TimeRange::EMPTY;
        let is_all = each_entry(tops, data.end, &mut room, |_, at, _| {
            time = time.cover(&TimeRange::from_timestamp(at));
        });
        let has_messages = chunk.counts.iter().any(|(_, count)| *count > 0);
        if !is_all || time.is_empty() && has_messages {
            time = TimeRange::ALL;
        }
        if !time.is_empty() && time != chunk.time {
            chunk.time = time;
            mended.push(chunk.at);
        }
    }
    Ok(chunks_at(&mended).map(|chunks| {
        format!(
            "the index tells a wrong time of {chunks}: that of its index data is taken"
        )
    }))
}
