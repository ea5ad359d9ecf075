//! Marks on the time axes of plots: changes of parameters, dropouts and damage.

use logtool_core::{Damage, Log as _, TimeRange};
use logtool_plot::{Mark, Rgb};
use logtool_ulog::{UlogLog, topic_names};

use crate::{
    error::Result,
    inspect::parameters::{NamedChange, ShownValue, changes_of},
    records::signals,
};

/// The colours of the kinds.
const PARAMETER: Rgb = [0x8a, 0x2b, 0xe2];
const DROPOUT: Rgb = [0xd0, 0x10, 0x10];
const DAMAGE: Rgb = [0x60, 0x30, 0x00];

/// The column of the dropouts with their lengths.
const DROPOUT_COLUMN: &str = "duration_ms";

/// The maximum number of parameters that a mark names.
const MAX_NAMES: usize = 3;

/// Collects marks within a time range.
pub(super) struct MarkBuilder {
    time: TimeRange,
    /// The width of the plot in pixels. Marks of a kind that are closer together than a pixel are
    /// one mark.
    columns: u32,
    marks: Vec<Mark>,
}

impl MarkBuilder {
    /// Creates a builder for plots that are `columns` pixels wide.
    pub(super) fn new(time: TimeRange, columns: u32) -> Self {
        Self { time, columns, marks: Vec::new() }
    }

    /// Returns the marks, sorted by time.
    pub(super) fn finish(mut self) -> Vec<Mark> {
        self.marks.sort_by_key(|mark| mark.start);
        self.marks
    }

    /// Adds the changes of parameters while logging.
    pub(super) fn add_parameter_changes(&mut self, ulog: &UlogLog) {
        let parameters = ulog.metadata().parameters.iter();
        let changes =
            changes_of(parameters.map(|(name, marked)| (name.as_str(), marked)));
        let spans = changes.iter().map(|change| {
            let time = change.time.as_nanos();
            (time, time)
        });
        for (start, _, marked) in self.merge_spans(spans.collect()) {
            let marked: Vec<&NamedChange<'_>> =
                marked.iter().filter_map(|index| changes.get(*index)).collect();
            let text = if marked.len() > MAX_NAMES {
                format!("{} parameters", marked.len())
            } else {
                let shown = marked.iter().map(|change| {
                    format!("{} {}", change.name, ShownValue(change.new))
                });
                shown.collect::<Vec<_>>().join(", ")
            };
            self.push("parameter change", text, (start, start), PARAMETER);
        }
    }

    /// Adds the dropouts of a ULog: periods in which its logger lost data. Each starts at the time
    /// of the record before it.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn add_dropouts(&mut self, ulog: &UlogLog) -> Result<()> {
        let topic = ulog.manifest().topic_id(topic_names::DROPOUTS).ok();
        let signal =
            topic.and_then(|topic| signals::find_in_topic(ulog, topic, DROPOUT_COLUMN));
        let Some(signal) = signal else { return Ok(()) };
        // A dropout before the time may last until then.
        let (read, _) = signals::read_all(ulog, &[signal], TimeRange::ALL, &|_| {})?;
        let samples = read.iter().flat_map(|dropouts| &dropouts.samples);
        let spans = samples.map(|(start, millis)| {
            (*start, start.saturating_add((millis * 1e6) as i64))
        });
        for (start, end, _) in self.merge_spans(spans.collect()) {
            self.push("dropout", String::new(), (start, end), DROPOUT);
        }
        Ok(())
    }

    /// Adds damage of the file whose time is known.
    pub(super) fn add_damage<'d>(&mut self, damage: impl Iterator<Item = &'d Damage>) {
        let lost = damage.filter(|damage| damage.kind.is_loss());
        let times = lost.filter_map(|damage| damage.time);
        let spans = times.map(|time| (time.start.as_nanos(), time.end.as_nanos()));
        for (start, end, _) in self.merge_spans(spans.collect()) {
            self.push("damage", String::new(), (start, end), DAMAGE);
        }
    }

    /// Returns the start and the end of each of `spans` that overlaps the plotted time, and its index.
    /// Spans that a plot cannot show apart become one, which has the indices of all of them.
    fn merge_spans(&self, spans: Vec<(i64, i64)>) -> Vec<(i64, i64, Vec<usize>)> {
        let (first, last) = (self.time.start.as_nanos(), self.time.end.as_nanos());
        let resolution = last.saturating_sub(first) / i64::from(self.columns.max(1));
        let mut spans: Vec<(i64, i64, usize)> = spans
            .into_iter()
            .enumerate()
            .filter(|(_, (start, end))| *end >= first && *start <= last)
            .map(|(index, (start, end))| (start, end, index))
            .collect();
        spans.sort_unstable();
        let mut merged: Vec<(i64, i64, Vec<usize>)> = Vec::new();
        for (start, end, index) in spans {
            match merged.last_mut() {
                Some((_, until, own)) if start.saturating_sub(*until) <= resolution => {
                    *until = end.max(*until);
                    own.push(index);
                }
                _ => merged.push((start, end, vec![index])),
            }
        }
        merged
    }

    fn push(&mut self, kind: &str, text: String, (start, end): (i64, i64), color: Rgb) {
        self.marks.push(Mark { kind: kind.to_owned(), text, start, end, color });
    }
}

#[cfg(test)]
mod tests {
    use logtool_core::Timestamp;

    use super::*;

    #[test]
    fn spans_that_cannot_be_seen_apart_are_one() {
        let at = Timestamp::from_nanos;
        let builder =
            MarkBuilder::new(TimeRange { start: at(0), end: at(1_000_000) }, 1_000);
        let spans = vec![(5_000, 6_000), (500, 1_500), (1_000, 1_200), (-9, -1)];
        let merged = builder.merge_spans(spans);
        assert_eq!(merged, [(500, 1_500, vec![1, 2]), (5_000, 6_000, vec![0])]);
    }
}
