//! Tables with types that Apache Spark can read.
//!
//! Spark's times have microseconds, while those of logs have nanoseconds. It has no unsigned
//! integers, no durations, no lists of fixed length, and before version 3.4 no byte strings of
//! fixed length (SPARK-41096). Its names are not case-sensitive. Spark rejects other types in a
//! Parquet file, or reads them as another type ("Parquet Files" of Spark's guide; its type
//! `TimestampType`). The conversions:
//!
//! | in the log | for Spark |
//! |---|---|
//! | a time `t` | `t` in microseconds, rounded down, and `t_ns`: all its nanoseconds, as an integer |
//! | a duration `d` | `d_ns`: its nanoseconds, as an integer |
//! | `uint8`, `uint16`, `uint32` | the next larger signed integer |
//! | `uint64` | a decimal number of 20 digits |
//! | a list of fixed length | a list |
//! | a list of times or durations | a list of nanoseconds |
//! | byte strings of fixed length | byte strings |
//! | `a` in a table that also has `A` | `a_` |
//!
//! Spark 3.5 does not support Parquet's encoding `BYTE_STREAM_SPLIT`, so floats in files for Spark
//! need [`Floats::Plain`](crate::Floats::Plain).

use std::{collections::HashSet, sync::Arc};

use arrow_array::{
    Array as _, ArrayRef, BinaryArray, Decimal128Array, FixedSizeListArray, ListArray,
    RecordBatch, StructArray, TimestampMicrosecondArray, cast::AsArray as _, types::*,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{
    ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit,
};
use logtool_core::{Result, TableSink, TableWriter, Topic};

use crate::error::from_arrow;

/// Converts tables for Spark, and writes them to another sink.
#[derive(Clone, Debug)]
pub struct SparkSink<S> {
    sink: S,
}

impl<S: TableSink> SparkSink<S> {
    /// Creates a sink that writes the converted tables to `sink`.
    pub fn new(sink: S) -> Self {
        Self { sink }
    }
}

impl<S: TableSink> TableSink for SparkSink<S> {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        let types = SparkTypes::new(schema);
        let writer = self.sink.new_table(topic, types.schema())?;
        Ok(Box::new(SparkWriter { types, writer }))
    }

    fn finish(&self) -> Result<()> {
        self.sink.finish()
    }

    fn remarks(&self) -> Vec<String> {
        self.sink.remarks()
    }
}

struct SparkWriter {
    types: SparkTypes,
    writer: Box<dyn TableWriter>,
}

impl TableWriter for SparkWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(&self.types.convert(batch)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish()
    }
}

/// The conversion of the batches of one table for Spark.
#[derive(Debug)]
pub struct SparkTypes {
    schema: SchemaRef,
    conversions: Vec<Conversion>,
}

impl SparkTypes {
    /// Creates the conversion of batches with the columns `schema`.
    pub fn new(schema: &Schema) -> Self {
        let (fields, conversions) = convert_fields(schema.fields());
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        Self { schema: Arc::new(schema), conversions }
    }

    /// Returns the columns of the converted batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Converts `batch`.
    ///
    /// # Errors
    /// `Malformed` if the batch does not have the columns of the original schema.
    pub fn convert(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns =
            convert_all(&self.conversions, batch.columns()).map_err(from_arrow)?;
        RecordBatch::try_new(self.schema.clone(), columns).map_err(from_arrow)
    }
}

/// How a column is converted.
#[derive(Debug)]
enum Conversion {
    /// It is not changed.
    None,
    /// It becomes integers of this wider type.
    Widen(DataType),
    /// It becomes nanoseconds.
    Nanos,
    /// It becomes microseconds of this type, and a second column of nanoseconds.
    Micros(DataType),
    /// It becomes lists with these items.
    List(FieldRef, Box<Conversion>),
    /// It becomes byte strings of any length.
    Bytes,
    /// It becomes structs with these fields.
    Fields(Fields, Vec<Conversion>),
}

/// Returns the converted fields, and how each of `fields` is converted.
fn convert_fields(fields: &Fields) -> (Fields, Vec<Conversion>) {
    let (mut converted_fields, mut conversions) = (Vec::new(), Vec::new());
    let mut names = FieldNames::new(fields);
    for field in fields {
        let new_field = |name: &str, data_type| {
            Arc::new(Field::new(name, data_type, field.is_nullable()))
        };
        match field.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
                let name = names.unique_name(field.name());
                let micros = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
                let nanos_name = names.unused_name(format!("{name}_ns"));
                converted_fields.push(new_field(&name, micros.clone()));
                converted_fields.push(new_field(&nanos_name, DataType::Int64));
                conversions.push(Conversion::Micros(micros));
            }
            DataType::Duration(TimeUnit::Nanosecond) => {
                let name = names.unused_name(format!("{}_ns", field.name()));
                converted_fields.push(new_field(&name, DataType::Int64));
                conversions.push(Conversion::Nanos);
            }
            other => {
                let (data_type, conversion) = convert_type(other);
                let field = field.as_ref().clone().with_data_type(data_type);
                let name = names.unique_name(field.name());
                converted_fields.push(Arc::new(field.with_name(name)));
                conversions.push(conversion);
            }
        }
    }
    (converted_fields.into(), conversions)
}

/// The names of the fields of a table, in lower case because Spark does not distinguish cases.
struct FieldNames {
    /// The names in the original table.
    original: HashSet<String>,
    /// The names in the converted table.
    used: HashSet<String>,
}

impl FieldNames {
    fn new(fields: &Fields) -> Self {
        let original = fields.iter().map(|field| field.name().to_lowercase());
        Self { original: original.collect(), used: HashSet::new() }
    }

    /// Returns the name of the converted field for the original field `name`: the same name unless
    /// it is already used.
    fn unique_name(&mut self, name: &str) -> String {
        if self.used.insert(name.to_lowercase()) {
            name.to_owned()
        } else {
            self.unused_name(format!("{name}_"))
        }
    }

    /// Returns a name for an additional field: `name`, or a similar name if a field has this name.
    fn unused_name(&mut self, mut name: String) -> String {
        while self.original.contains(&name.to_lowercase())
            || !self.used.insert(name.to_lowercase())
        {
            name.push('_');
        }
        name
    }
}

/// Returns the type that `data_type` is converted to if it must stay one column, e.g. the items of
/// a list.
fn convert_type(data_type: &DataType) -> (DataType, Conversion) {
    let widen =
        |wider_type: DataType| (wider_type.clone(), Conversion::Widen(wider_type));
    match data_type {
        DataType::UInt8 => widen(DataType::Int16),
        DataType::UInt16 => widen(DataType::Int32),
        DataType::UInt32 => widen(DataType::Int64),
        DataType::UInt64 => widen(DataType::Decimal128(20, 0)),
        DataType::Timestamp(TimeUnit::Nanosecond, _)
        | DataType::Duration(TimeUnit::Nanosecond) => {
            (DataType::Int64, Conversion::Nanos)
        }
        DataType::List(item) | DataType::FixedSizeList(item, _) => {
            let (data_type, conversion) = convert_type(item.data_type());
            let item = Arc::new(item.as_ref().clone().with_data_type(data_type));
            (DataType::List(item.clone()), Conversion::List(item, Box::new(conversion)))
        }
        DataType::FixedSizeBinary(_) => (DataType::Binary, Conversion::Bytes),
        DataType::Struct(fields) => {
            let (fields, conversions) = convert_fields(fields);
            (DataType::Struct(fields.clone()), Conversion::Fields(fields, conversions))
        }
        other => (other.clone(), Conversion::None),
    }
}

/// Converts `arrays` as specified by `conversions`.
fn convert_all(
    conversions: &[Conversion],
    arrays: &[ArrayRef],
) -> Result<Vec<ArrayRef>, ArrowError> {
    let mut converted = Vec::new();
    for (conversion, array) in conversions.iter().zip(arrays) {
        if let Conversion::Micros(micros) = conversion {
            let nanos = array.as_primitive::<TimestampNanosecondType>();
            let values: TimestampMicrosecondArray =
                nanos.unary(|nanos| nanos.div_euclid(1_000));
            converted.push(Arc::new(values.with_data_type(micros.clone())) as ArrayRef);
            converted.push(convert(&Conversion::Nanos, array)?);
        } else {
            converted.push(convert(conversion, array)?);
        }
    }
    Ok(converted)
}

/// Converts `array` as specified by `conversion`.
fn convert(conversion: &Conversion, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match conversion {
        Conversion::None | Conversion::Micros(_) => array.clone(),
        Conversion::Nanos => match array.data_type() {
            DataType::Duration(_) => {
                let nanos = array.as_primitive::<DurationNanosecondType>();
                Arc::new(nanos.reinterpret_cast::<Int64Type>())
            }
            _ => {
                let nanos = array.as_primitive::<TimestampNanosecondType>();
                Arc::new(nanos.reinterpret_cast::<Int64Type>())
            }
        },
        Conversion::Widen(wider_type) => match wider_type {
            DataType::Int16 => Arc::new(
                array.as_primitive::<UInt8Type>().unary::<_, Int16Type>(i16::from),
            ),
            DataType::Int32 => Arc::new(
                array.as_primitive::<UInt16Type>().unary::<_, Int32Type>(i32::from),
            ),
            DataType::Int64 => Arc::new(
                array.as_primitive::<UInt32Type>().unary::<_, Int64Type>(i64::from),
            ),
            _ => {
                let values: Decimal128Array =
                    array.as_primitive::<UInt64Type>().unary(i128::from);
                Arc::new(values.with_data_type(wider_type.clone()))
            }
        },
        Conversion::List(item, conversion) => {
            let (offsets, values, nulls) = match array.data_type() {
                DataType::List(_) => {
                    let list: &ListArray = array.as_list();
                    (list.offsets().clone(), list.values().clone(), list.nulls())
                }
                _ => {
                    let list: &FixedSizeListArray = array.as_fixed_size_list();
                    let len = usize::try_from(list.value_length()).unwrap_or(0);
                    let offsets = OffsetBuffer::from_repeated_length(len, list.len());
                    (offsets, list.values().clone(), list.nulls())
                }
            };
            let values = convert(conversion, &values)?;
            Arc::new(ListArray::try_new(item.clone(), offsets, values, nulls.cloned())?)
        }
        Conversion::Bytes => {
            let bytes = array.as_fixed_size_binary();
            Arc::new(bytes.iter().collect::<BinaryArray>())
        }
        Conversion::Fields(fields, conversions) => {
            let structs = array.as_struct();
            let columns = convert_all(conversions, structs.columns())?;
            Arc::new(StructArray::try_new(
                fields.clone(),
                columns,
                structs.nulls().cloned(),
            )?)
        }
    })
}

#[cfg(test)]
mod tests;
