//! The layouts and units of messages with a fixed length.
//!
//! A payload is a message without its size field: validity, type, version, time, then the
//! data as described in [`message`](crate::vel::message).

use std::{collections::HashMap, sync::Arc};

use Primitive::{F32, F64, I32, U8, U32};
use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use logtool_core::{
    Columns, Damage, Decoder, Error, ErrorKind, FieldRole, Layout, LayoutDecoder,
    LayoutField, LayoutKind, Primitive, RecordProperties, Result, Run, TrailingBytes,
};

use crate::points::UNIT;

/// A field: its name, type and unit.
type NamedField = (&'static str, Primitive, &'static str);

/// The fields before the data of each message.
const HEADER: [(&str, Primitive, FieldRole); 4] = [
    ("validity", U8, FieldRole::Plain),
    ("type", U32, FieldRole::Hidden),
    ("version", I32, FieldRole::Plain),
    ("time", F64, FieldRole::Time),
];

pub(crate) const OBD: &[NamedField] = &[
    ("speed", I32, "km/h"),
    ("engine_speed", I32, "1/min"),
    ("unused_3", F32, ""),
    ("unused_4", I32, ""),
    ("unused_5", I32, ""),
    ("throttle_position", F32, ""),
    ("unused_7", I32, ""),
];

pub(crate) const GPS: &[NamedField] = &[
    ("hour", I32, "h"),
    ("minute", I32, "min"),
    ("second", I32, "s"),
    ("warning", I32, ""),
    ("latitude", F64, "deg"),
    ("longitude", F64, "deg"),
    ("speed", F32, "km/h"),
    ("course", F32, "deg"),
    ("day", I32, ""),
    ("month", I32, ""),
    ("year", I32, ""),
    ("quality", I32, ""),
    ("satellites", I32, ""),
    ("hdop", F32, "1"),
    ("altitude", F32, "m"),
    ("geoid_height", F32, "m"),
    ("vdop", F32, "1"),
    ("pdop", F32, "1"),
];

pub(crate) const POSE: &[NamedField] = &[
    ("q0", F32, "1"),
    ("q1", F32, "1"),
    ("q2", F32, "1"),
    ("q3", F32, "1"),
    ("acceleration_x", F32, "m/s2"),
    ("acceleration_y", F32, "m/s2"),
    ("acceleration_z", F32, "m/s2"),
];

/// The definition of the data of an image, as text.
pub(crate) const IMAGE: &str = "\
i32 camera
i32 is_compressed
i32 width # pixel
i32 height # pixel
i32 length # byte
u8[length] data # JPEG, or rows of pixels: grey or RGB, 8 bits each
";

/// The definition of the data of a message of packets, without that of the packets.
pub(crate) const PACKETS: &str = "\
u32 count
packet[count] packets
";

/// Returns the definition of `fields` as text.
pub(crate) fn definition(fields: &[NamedField]) -> String {
    let lines = fields.iter().map(|(name, primitive, unit)| {
        let kind = format!("{primitive:?}").to_lowercase();
        let unit = if unit.is_empty() { String::new() } else { format!(" # {unit}") };
        format!("{kind} {name}{unit}\n")
    });
    lines.collect()
}

/// Returns `field` with the unit in its metadata.
pub(crate) fn with_unit(field: Field, unit: &str) -> Field {
    match unit {
        "" => field,
        unit => {
            field.with_metadata(HashMap::from([(UNIT.to_owned(), unit.to_owned())]))
        }
    }
}

/// Returns a decoder of the `columns` of messages with these `fields`.
pub(crate) fn decoder(
    fields: &[NamedField],
    columns: &Columns,
) -> Result<FixedDecoder> {
    let field = |name: &str, primitive, role| LayoutField {
        name: name.to_owned(),
        kind: LayoutKind::Primitive(primitive),
        count: None,
        offset: 0,
        role,
    };
    let header = HEADER.iter().map(|(name, kind, role)| field(name, *kind, *role));
    let data =
        fields.iter().map(|(name, kind, _)| field(name, *kind, FieldRole::Plain));
    let layout = Layout::from_fields("message".into(), header.chain(data).collect())?;
    let layout = layout.with_record_properties(RecordProperties {
        time_unit: "ns",
        trailing_bytes: TrailingBytes::Any,
    });
    let inner = LayoutDecoder::new(&layout, columns)?;
    let column_with_unit = |column: &Arc<Field>| match fields
        .iter()
        .find(|(name, ..)| name == column.name())
    {
        Some((.., unit)) => with_unit(Field::clone(column), unit),
        None => Field::clone(column),
    };
    let columns: Vec<Field> =
        inner.schema().fields().iter().map(column_with_unit).collect();
    Ok(FixedDecoder { inner, schema: Arc::new(Schema::new(columns)) })
}

/// Decodes messages of one fixed layout, and adds the units to the schema.
#[derive(Debug)]
pub(crate) struct FixedDecoder {
    inner: LayoutDecoder,
    schema: SchemaRef,
}

impl Decoder for FixedDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        self.inner.append(run, damage);
    }

    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.inner.take()?.with_schema(self.schema.clone()).map_err(|err| {
            Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
        })
    }

    fn discard_rows(&mut self) -> Result<()> {
        self.inner.discard_rows()
    }
}
