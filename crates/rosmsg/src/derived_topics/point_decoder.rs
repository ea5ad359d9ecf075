//! Decoding points to columns: one row for each point.

use std::{collections::HashSet, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, TimestampNanosecondArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use logtool_core::{
    Columns, Damage, DamageKind, Decoder, Error, ErrorKind, Result, Run, View,
    discard_times, time_array, time_field,
};
use logtool_protobuf::{LaserScan, PointCloud};

use crate::{
    derived_topics::values::{ColumnBuilder, ValuePart, column_builder, data_type},
    field_reader::Encoding,
    message_compression::MAX_DECOMPRESSED_BYTES,
    points::{MessagePoints, PointSchema},
    sensor::{
        cloud, cloud2, foxglove_cloud, foxglove_ros, foxglove_scan,
        json::{self, JsonCloud},
        scan,
    },
};

/// The message types that contain points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointSource {
    /// `sensor_msgs/PointCloud2`
    Cloud2,
    /// `sensor_msgs/PointCloud`
    Cloud,
    /// `sensor_msgs/LaserScan`
    Scan,
    /// `foxglove.PointCloud` or `foxglove_msgs/PointCloud`
    FoxgloveCloud,
    /// `foxglove.LaserScan` or `foxglove_msgs/LaserScan`
    FoxgloveScan,
}

/// The maximum number of bytes in the columns of a decoder. Further messages are damage until the
/// rows are taken. In a malicious cloud, hundreds of fields may consist of the same bytes.
const MAX_BYTES: usize = i32::MAX as usize;

/// The key in the metadata of a column whose name in the messages is another one, because another
/// column has it.
const OWN_NAME_KEY: &str = "own_name";

/// The description of the damage to a cloud that lacks points.
const MISSING_POINTS: &str = "it has fewer points than it declares; these are read";

/// The description of the damage to a message that is not a cloud.
const NOT_A_CLOUD: &str = "it is not a cloud of the type in its schema";

impl PointSource {
    /// Returns the columns of points, or `None` if they depend on the message.
    pub(crate) fn point_schema(self) -> Option<PointSchema> {
        match self {
            Self::Scan => Some(scan::point_schema()),
            Self::FoxgloveScan => Some(foxglove_scan::point_schema()),
            Self::Cloud2 | Self::Cloud | Self::FoxgloveCloud => None,
        }
    }

    /// Returns the columns of the points in `payload`, or `None` if it has none.
    pub(crate) fn point_schema_of(
        self,
        payload: &[u8],
        encoding: Encoding,
    ) -> Option<PointSchema> {
        match self {
            Self::Cloud2 => cloud2::point_schema(payload, encoding),
            Self::Cloud => cloud::point_schema(payload, encoding),
            Self::Scan | Self::FoxgloveScan => self.point_schema(),
            Self::FoxgloveCloud if encoding == Encoding::Json => {
                foxglove_cloud::point_schema(&JsonCloud::parse(payload)?.cloud())
            }
            Self::FoxgloveCloud => {
                foxglove_cloud::point_schema(&foxglove_cloud(payload, encoding)?)
            }
        }
    }
}

/// Returns the `foxglove.PointCloud` in `payload`, in protocol buffers or an encoding of ROS.
fn foxglove_cloud(payload: &[u8], encoding: Encoding) -> Option<PointCloud<'_>> {
    match encoding {
        Encoding::Protobuf => PointCloud::parse(payload),
        _ => foxglove_ros::parse_cloud(payload, encoding),
    }
}

/// The description of the damage to a message that is not a scan.
const NOT_A_SCAN: &str = "it is not a scan of the type in its schema";

/// A column that describes the position of a point in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PositionColumn {
    /// The index of the point in its message.
    Index,
    /// The index of its row.
    Row,
    /// The index of the point in its row.
    Column,
}

/// A column that is being decoded, with its values so far.
enum OutputColumn {
    /// The stamp of the message.
    Stamp(Vec<i64>),
    Position(PositionColumn, Vec<u32>),
    /// The values of the column of the point schema with this index, or a part of them.
    Values(usize, Box<dyn ColumnBuilder>),
}

/// A decoder of messages to points.
pub(crate) struct PointDecoder {
    source: PointSource,
    encoding: Encoding,
    point_schema: Arc<PointSchema>,
    schema: SchemaRef,
    /// The time of the record of each row.
    times: Vec<i64>,
    /// The columns after the time.
    output_columns: Vec<OutputColumn>,
    /// For each column of the point schema, whether it is decoded.
    is_selected: Vec<bool>,
    /// The size of a row in all columns, in bytes.
    row_bytes: usize,
}

impl PointDecoder {
    /// Creates a decoder of the selected `columns` of points with this `point_schema`.
    pub(crate) fn new(
        source: PointSource,
        encoding: Encoding,
        point_schema: Arc<PointSchema>,
        columns: &Columns,
    ) -> Result<Self> {
        let stamp = DataType::Timestamp(TimeUnit::Nanosecond, None);
        // All columns after the time.
        let mut all_columns =
            vec![(Field::new("stamp", stamp, false), OutputColumn::Stamp(vec![]))];
        let mut names = HashSet::from(["time".to_owned(), "stamp".to_owned()]);
        let mut add_position = |name: &str, position| {
            names.insert(name.to_owned());
            let output = OutputColumn::Position(position, vec![]);
            all_columns.push((Field::new(name, DataType::UInt32, false), output));
        };
        add_position("index", PositionColumn::Index);
        if point_schema.has_rows {
            add_position("row", PositionColumn::Row);
            add_position("column", PositionColumn::Column);
        }
        for (index, column) in point_schema.columns.iter().enumerate() {
            let mut add = |name: String, part| {
                let unique = unique_name(name.clone(), &mut names);
                let mut field = Field::new(&unique, data_type(column.kind, part), true);
                if unique != name {
                    let own_name = (OWN_NAME_KEY.to_owned(), name);
                    field = field.with_metadata([own_name].into());
                }
                let builder = column_builder(column.kind, part);
                all_columns.push((field, OutputColumn::Values(index, builder)));
            };
            match (column.count, columns.view) {
                (1, _) => add(column.name.clone(), ValuePart::Single),
                (count, View::Nested) => {
                    add(column.name.clone(), ValuePart::List(count))
                }
                (count, View::Flat) => {
                    for element in 0..count {
                        let name = format!("{}[{element}]", column.name);
                        add(name, ValuePart::Element(element));
                    }
                }
            }
        }
        let selected = columns.indices.as_deref();
        // The time has the index 0, and is always selected.
        let max_index = all_columns.len();
        if let Some(index) =
            selected.unwrap_or_default().iter().find(|index| **index > max_index)
        {
            let message = format!("there is no column with the index {index}");
            return Err(Error::new(ErrorKind::NoSuch, message));
        }
        let (mut fields, mut output_columns) =
            (vec![time_field("time", "ns")], Vec::new());
        let mut is_selected = vec![false; point_schema.columns.len()];
        for (index, (field, output)) in (1..).zip(all_columns) {
            if selected.is_some_and(|selected| !selected.contains(&index)) {
                continue;
            }
            if let OutputColumn::Values(column, _) = &output
                && let Some(is_selected) = is_selected.get_mut(*column)
            {
                *is_selected = true;
            }
            fields.push(field);
            output_columns.push(output);
        }
        let row_bytes = fields.iter().map(|field| row_bytes(field.data_type())).sum();
        Ok(Self {
            source,
            encoding,
            point_schema,
            schema: Arc::new(Schema::new(fields)),
            times: Vec::new(),
            output_columns,
            is_selected,
            row_bytes,
        })
    }

    /// Returns the points in `payload`, or a description of why it is invalid.
    fn points<'b>(&self, payload: &'b [u8]) -> Result<MessagePoints<'b>, String> {
        match self.source {
            PointSource::Cloud2 => {
                cloud2::points(payload, self.encoding, &self.point_schema)
            }
            PointSource::Cloud => {
                cloud::points(payload, self.encoding, &self.point_schema)
            }
            PointSource::Scan => {
                let is_selected = |column| self.is_selected.get(column) == Some(&true);
                scan::points(payload, self.encoding, is_selected)
            }
            PointSource::FoxgloveCloud => {
                let cloud =
                    foxglove_cloud(payload, self.encoding).ok_or(NOT_A_CLOUD)?;
                foxglove_cloud::points(&cloud, &self.point_schema)
            }
            PointSource::FoxgloveScan => {
                let scan = match self.encoding {
                    Encoding::Json => json::parse_scan(payload),
                    Encoding::Protobuf => LaserScan::parse(payload),
                    encoding => foxglove_ros::parse_scan(payload, encoding),
                };
                Ok(foxglove_scan::points(&scan.ok_or(NOT_A_SCAN)?))
            }
        }
    }
}

impl Decoder for PointDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            // The points refer to the decoded base64 string, which this value contains.
            let is_json_cloud = self.encoding == Encoding::Json
                && self.source == PointSource::FoxgloveCloud;
            let json = is_json_cloud.then(|| JsonCloud::parse(record.payload));
            let decompressed =
                self.encoding.message(record.payload, MAX_DECOMPRESSED_BYTES);
            let message = match decompressed {
                Ok(message) => message,
                Err(unreadable) => {
                    unreadable.damage(&record).add_to(damage);
                    continue;
                }
            };
            let points = match &json {
                None => self.points(&message),
                Some(Some(json)) => {
                    foxglove_cloud::points(&json.cloud(), &self.point_schema)
                }
                Some(None) => Err(NOT_A_CLOUD.to_owned()),
            };
            let points = match points {
                Ok(points) => points,
                Err(reason) => {
                    record.undecodable_damage().with_reason(reason).add_to(damage);
                    continue;
                }
            };
            let rows = self.times.len().saturating_add(points.count);
            if rows.saturating_mul(self.row_bytes) > MAX_BYTES {
                let kind = DamageKind::OverLimit;
                record.undecodable_damage().with_kind(kind).add_to(damage);
                continue;
            }
            if points.missing > 0 {
                let missing_points = record
                    .undecodable_damage()
                    .with_lost_bytes(0)
                    .with_reason(MISSING_POINTS);
                missing_points.add_to(damage);
            }
            if points.extra_bytes > 0 {
                record.extra_bytes_damage(points.extra_bytes).add_to(damage);
            }
            for (kind, reason) in [
                (DamageKind::TypeMismatch, &points.without_column.invalid),
                (DamageKind::NoColumn, &points.without_column.not_in_schema),
            ] {
                if let Some(reason) = reason {
                    let loss = record.undecodable_damage().with_kind(kind);
                    loss.with_reason(reason.as_str()).add_to(damage);
                }
            }
            self.times.resize(rows, record.time.as_nanos());
            self.output_columns.iter_mut().for_each(|column| column.add(&points));
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let mut columns = vec![time_array(std::mem::take(&mut self.times))];
        for column in &mut self.output_columns {
            columns.push(column.take()?);
        }
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|err| {
            Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
        })
    }

    fn discard_rows(&mut self) -> Result<()> {
        if !self.output_columns.is_empty() {
            return self.take().map(drop);
        }
        discard_times(&mut self.times);
        Ok(())
    }
}

impl OutputColumn {
    /// Appends the values of `points`.
    fn add(&mut self, points: &MessagePoints<'_>) {
        let count = points.count;
        match self {
            Self::Stamp(stamps) => stamps.resize(stamps.len() + count, points.stamp),
            Self::Position(position, numbers) => {
                let width = points.width.max(1);
                let indices = 0..count as u32;
                match position {
                    PositionColumn::Index => numbers.extend(indices),
                    PositionColumn::Row => {
                        numbers.extend(indices.map(|index| index / width))
                    }
                    PositionColumn::Column => {
                        numbers.extend(indices.map(|index| index % width))
                    }
                }
            }
            Self::Values(column, builder) => {
                if let Some(values) = points.columns.get(*column) {
                    builder.add(values, count);
                }
            }
        }
    }

    /// Returns the values so far, and removes them.
    fn take(&mut self) -> Result<ArrayRef> {
        Ok(match self {
            Self::Stamp(stamps) => {
                Arc::new(TimestampNanosecondArray::from(std::mem::take(stamps)))
            }
            Self::Position(_, numbers) => {
                Arc::new(UInt32Array::from(std::mem::take(numbers)))
            }
            Self::Values(_, builder) => builder.take()?,
        })
    }
}

/// Adds `name` to `names`, with as many `_` at its end as are needed to make it unique, and returns
/// it.
fn unique_name(mut name: String, names: &mut HashSet<String>) -> String {
    while !names.insert(name.clone()) {
        name.push('_');
    }
    name
}

/// Returns the size of a value with this type in bytes.
fn row_bytes(data_type: &DataType) -> usize {
    match data_type {
        DataType::FixedSizeList(item, count) => {
            let count = usize::try_from(*count).unwrap_or(0);
            row_bytes(item.data_type()).saturating_mul(count)
        }
        other => other.primitive_width().unwrap_or(1),
    }
}

impl std::fmt::Debug for PointDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PointDecoder")
            .field("point_schema", &self.point_schema)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
