//! The list of partial scans in the metadata of a table.

use std::ops::RangeInclusive;

use arrow_schema::Schema;

/// The key in the metadata of the column `scan`. The value is a list of numbers and ranges, e.g.
/// `0,7-9,31`.
const KEY: &str = "partial_scans";

/// The scans with missing points, e.g. because the log started or ended during the scan, or because
/// packets were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartialScans(Vec<RangeInclusive<u32>>);

impl PartialScans {
    /// Reads the partial scans from `schema`; `None` if it does not state them.
    pub(crate) fn from_schema(schema: &Schema) -> Option<Self> {
        let field = schema.field_with_name("scan").ok()?;
        let text = field.metadata().get(KEY)?;
        let parse_range = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some(first.parse().ok()?..=last.parse().ok()?)
        };
        let mut ranges: Vec<_> = text.split(',').filter_map(parse_range).collect();
        ranges.sort_by_key(|range| *range.start());
        Some(Self(ranges))
    }

    /// Returns whether the scan `number` is partial.
    pub(crate) fn contains(&self, number: u32) -> bool {
        let end = self.0.partition_point(|range| *range.start() <= number);
        let range = end.checked_sub(1).and_then(|index| self.0.get(index));
        range.is_some_and(|range| range.contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    #[test]
    fn numbers_and_ranges_are_parsed() {
        let field = Field::new("scan", DataType::UInt32, false);
        let scan_field =
            field.clone().with_metadata([(KEY.into(), "0,7-9,31".into())].into());
        let partial_scans =
            PartialScans::from_schema(&Schema::new(vec![scan_field])).unwrap();
        let partial_numbers: Vec<u32> =
            (0..40).filter(|scan| partial_scans.contains(*scan)).collect();
        assert_eq!(partial_numbers, [0, 7, 8, 9, 31]);
        assert_eq!(PartialScans::from_schema(&Schema::new(vec![field])), None);
    }
}
