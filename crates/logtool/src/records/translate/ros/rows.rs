//! Translates the rows of tables to messages of a type that is derived from their columns.
//!
//! A missing float is NaN; for other columns, `has_x` states whether `x` is present.

use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, RecordBatch,
    cast::AsArray as _,
    types::{
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Field, TimeUnit};
use logtool_core::{Columns, Log, Topic, TopicId, Translation, UniqueNames, View};
use logtool_rosmsg::{Definition, MessageWriter};

use crate::{
    error::Result,
    records::translate::{from_rows::translate_rows, ros::message_topic},
};

/// Translates the records of the topic `id` of `log` to messages of a type of `package`, or
/// returns why this is impossible.
pub(in crate::records::translate) fn rows(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    package: &str,
) -> Result<Result<Translation, String>> {
    let decoder = log.decoder(id, &Columns::new(View::Flat))?;
    let (mut text, mut names) = (String::new(), UniqueNames::default());
    for field in decoder.schema().fields() {
        let name = names.make_unique(field.name());
        let Some(kind) = kind(field.data_type()) else {
            let reason = format!("{} has the type {}", field.name(), field.data_type());
            return Ok(Err(reason));
        };
        if has_flag(field) {
            text.push_str(&format!("bool has_{name}\n"));
        }
        text.push_str(&format!("{kind} {name}\n"));
    }
    let type_name = format!("{package}/{}", logtool_rosmsg::type_name(&topic.name));
    let definition = match Definition::parse(&type_name, &text) {
        Ok(definition) => definition,
        Err(err) => return Ok(Err(err.to_string())),
    };
    let topic_info = message_topic(topic, &type_name, &definition)?;
    let fields = decoder.schema().fields().clone();
    Ok(Ok(translate_rows(
        log,
        id,
        topic_info,
        move |batch: &RecordBatch, row, out: &mut Vec<u8>| {
            let mut message = MessageWriter::new(out);
            for (field, column) in fields.iter().zip(batch.columns()) {
                append(field, column, row, &mut message);
            }
            true
        },
    )))
}

fn has_flag(field: &Field) -> bool {
    let is_float = matches!(field.data_type(), DataType::Float32 | DataType::Float64);
    let is_time = matches!(field.data_type(), DataType::Timestamp(_, None));
    field.is_nullable() && !is_float && !is_time
}

/// Returns the name of a type in ROS.
fn kind(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Boolean => "bool",
        DataType::Int8 => "int8",
        DataType::UInt8 => "uint8",
        DataType::Int16 => "int16",
        DataType::UInt16 => "uint16",
        DataType::Int32 => "int32",
        DataType::UInt32 => "uint32",
        DataType::Int64 => "int64",
        DataType::UInt64 => "uint64",
        DataType::Float32 => "float32",
        DataType::Float64 => "float64",
        DataType::Utf8 => "string",
        DataType::Binary | DataType::FixedSizeBinary(_) => "uint8[]",
        DataType::Timestamp(TimeUnit::Nanosecond, _) => "time",
        _ => return None,
    })
}

fn append(
    field: &Field,
    column: &ArrayRef,
    row: usize,
    message: &mut MessageWriter<'_>,
) {
    let is_valid = column.is_valid(row);
    if has_flag(field) {
        message.u8(u8::from(is_valid));
    }
    macro_rules! number {
        ($type:ty, $none:expr) => {{
            let column = column.as_primitive::<$type>();
            let value = if is_valid { column.value(row) } else { $none };
            message.bytes(&value.to_le_bytes());
        }};
    }
    match column.data_type() {
        DataType::Boolean => {
            message.u8(u8::from(is_valid && column.as_boolean().value(row)));
        }
        DataType::Int8 => number!(Int8Type, 0),
        DataType::UInt8 => number!(UInt8Type, 0),
        DataType::Int16 => number!(Int16Type, 0),
        DataType::UInt16 => number!(UInt16Type, 0),
        DataType::Int32 => number!(Int32Type, 0),
        DataType::UInt32 => number!(UInt32Type, 0),
        DataType::Int64 => number!(Int64Type, 0),
        DataType::UInt64 => number!(UInt64Type, 0),
        DataType::Float32 => number!(Float32Type, f32::NAN),
        DataType::Float64 => number!(Float64Type, f64::NAN),
        DataType::Timestamp(..) => {
            let column = column.as_primitive::<TimestampNanosecondType>();
            message.time(if is_valid { column.value(row) } else { 0 });
        }
        DataType::Utf8 if is_valid => {
            message.text(column.as_string::<i32>().value(row));
        }
        DataType::Binary if is_valid => {
            message.list(column.as_binary::<i32>().value(row));
        }
        DataType::FixedSizeBinary(_) if is_valid => {
            message.list(column.as_fixed_size_binary().value(row));
        }
        _ => {
            message.u32(0);
        }
    }
}
