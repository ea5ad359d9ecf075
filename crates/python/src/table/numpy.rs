//! Columns as arrays of NumPy, by its array interface, which needs neither NumPy nor pyarrow to
//! build this crate.

use std::thread;

use arrow_array::{
    Array, ArrayRef, RecordBatch, StructArray,
    cast::AsArray as _,
    types::{Decimal128Type, Int32Type},
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field, SchemaRef, TimeUnit};
use logtool::{Error, ErrorKind, Result};
use pyo3::{
    IntoPyObjectExt as _,
    prelude::*,
    types::{PyBytes, PyDict, PyTuple},
};

use crate::{error::to_python, runtime::process};

/// Numbers in memory, which NumPy takes as an array without a copy.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct NumberBuffer {
    type_text: String,
    shape: Vec<usize>,
    address: usize,
    is_read_only: bool,
    /// Keeps the memory at `address` alive.
    _memory: Memory,
}

enum Memory {
    /// Shared with a batch.
    Shared(#[allow(dead_code)] Buffer),
    /// Only for this array.
    Own(#[allow(dead_code)] Vec<u8>),
}

#[pymethods]
impl NumberBuffer {
    #[getter]
    fn __array_interface__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", &self.type_text)?;
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("data", (self.address, self.is_read_only))?;
        Ok(interface)
    }
}

/// The values of a column in a batch.
enum Values {
    /// Numbers of the same size.
    Numbers(Numbers),
    /// Other values, which become objects of Python.
    Objects(ArrayRef),
}

/// Numbers of the same size, one or several for each row.
struct Numbers {
    type_text: String,
    /// The shape of the numbers of a row; empty for a single number.
    item_shape: Vec<usize>,
    bytes: Buffer,
}

/// Returns the columns of a batch without structs. A field of a struct has a name such as
/// `header.stamp`.
fn leaves(batch: &RecordBatch) -> Vec<(String, ArrayRef)> {
    let mut leaves = Vec::new();
    let fields = batch.schema();
    for (field, array) in fields.fields().iter().zip(batch.columns()) {
        add_leaves(field.name().clone(), field, array, None, &mut leaves);
    }
    leaves
}

fn add_leaves(
    name: String,
    field: &Field,
    array: &ArrayRef,
    outer: Option<&NullBuffer>,
    leaves: &mut Vec<(String, ArrayRef)>,
) {
    match field.data_type() {
        DataType::Struct(fields) => {
            let array: &StructArray = array.as_struct();
            let nulls = NullBuffer::union(outer, array.nulls());
            for (field, inner) in fields.iter().zip(array.columns()) {
                let name = format!("{name}.{}", field.name());
                add_leaves(name, field, inner, nulls.as_ref(), leaves);
            }
        }
        _ => leaves.push((name, with_nulls(array, outer))),
    }
}

/// Returns `array` with the nulls of the struct around it.
fn with_nulls(array: &ArrayRef, outer: Option<&NullBuffer>) -> ArrayRef {
    let Some(outer) = outer else { return array.clone() };
    let nulls = NullBuffer::union(Some(outer), array.nulls());
    let data = array.to_data().into_builder().nulls(nulls).build();
    data.map_or_else(|_| array.clone(), arrow_array::make_array)
}

/// Returns the type of the numbers of `data_type` in NumPy, and their size in bytes.
fn number_type(data_type: &DataType) -> Option<(String, usize)> {
    let width = data_type.primitive_width();
    let number = |kind: &str, width: usize| {
        let order = if width == 1 { '|' } else { '<' };
        Some((format!("{order}{kind}{width}"), width))
    };
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match data_type {
        data_type if data_type.is_signed_integer() => number("i", width?),
        data_type if data_type.is_unsigned_integer() => number("u", width?),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            number("f", width?)
        }
        DataType::Timestamp(resolution, _) => {
            Some((format!("<M8[{}]", unit(resolution)), 8))
        }
        DataType::Duration(resolution) => {
            Some((format!("<m8[{}]", unit(resolution)), 8))
        }
        _ => None,
    }
}

/// Returns whether NumPy has a type for the values of `data_type`: numbers and times.
pub(crate) fn is_number_or_time(data_type: &DataType) -> bool {
    number_type(data_type).is_some()
}

/// Returns the numbers of `array`, if each row has the same number of them.
fn numbers(array: &dyn Array) -> Option<Numbers> {
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean().values().iter().map(u8::from);
            let bytes: Vec<u8> = values.collect();
            Some(Numbers {
                type_text: "|b1".into(),
                item_shape: vec![],
                bytes: bytes.into(),
            })
        }
        DataType::FixedSizeBinary(len) => {
            let len = usize::try_from(*len).ok()?;
            let bytes = array.to_data();
            let start = bytes.offset() * len;
            let bytes =
                bytes.buffers().first()?.slice_with_length(start, array.len() * len);
            Some(Numbers { type_text: "|u1".into(), item_shape: vec![len], bytes })
        }
        DataType::FixedSizeList(_, len) => {
            let list = array.as_fixed_size_list();
            let inner = list.values();
            if inner.null_count() > 0 {
                return None;
            }
            let Numbers { type_text, mut item_shape, bytes } = numbers(inner)?;
            item_shape.insert(0, usize::try_from(*len).ok()?);
            Some(Numbers { type_text, item_shape, bytes })
        }
        data_type => {
            let (type_text, width) = number_type(data_type)?;
            let data = array.to_data();
            let start = data.offset() * width;
            let bytes = data.buffers().first()?;
            let bytes = bytes.slice_with_length(start, data.len() * width);
            Some(Numbers { type_text, item_shape: vec![], bytes })
        }
    }
}

fn values(array: &ArrayRef) -> Values {
    match numbers(array) {
        Some(numbers) => Values::Numbers(numbers),
        None => Values::Objects(array.clone()),
    }
}

/// Returns whether the value of each row of `array` is valid, as bytes; `None` if all are.
fn validity(array: &ArrayRef) -> Option<Vec<u8>> {
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
    Some(nulls.iter().map(u8::from).collect())
}

/// The columns of several batches, one after the other.
pub(crate) struct NumpyColumns {
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
    /// The number of threads that copy a long batch.
    threads: usize,
}

/// The size in bytes from which several threads copy a batch.
const MAX_SINGLE_THREAD_BYTES: usize = 256 << 10;

/// A column of several batches.
enum Column {
    Numbers {
        type_text: String,
        item_shape: Vec<usize>,
        bytes: Vec<u8>,
        valid: Validity,
    },
    Objects(Vec<ArrayRef>),
}

/// Whether the values of a column are valid.
#[derive(Default)]
struct Validity(Option<Vec<u8>>);

impl Validity {
    /// Adds `count` values, after `rows` others.
    fn add(&mut self, rows: usize, count: usize, valid: Option<Vec<u8>>) {
        if valid.is_none() && self.0.is_none() {
            return;
        }
        let all = self.0.get_or_insert_with(|| vec![1; rows]);
        match valid {
            Some(valid) => all.extend(valid),
            None => all.resize(rows + count, 1),
        }
    }
}

impl Column {
    /// Adds the values of `array`, the column `name` of a batch, after `rows` others.
    fn add(&mut self, rows: usize, name: &str, array: &ArrayRef) -> Result<()> {
        match (self, values(array)) {
            (Self::Numbers { bytes, valid, .. }, Values::Numbers(numbers)) => {
                bytes.extend_from_slice(&numbers.bytes);
                valid.add(rows, array.len(), validity(array));
            }
            (Self::Objects(parts), _) => parts.push(array.clone()),
            (Self::Numbers { .. }, Values::Objects(_)) => {
                let message =
                    format!("{name}: an array of NumPy has no nulls in lists");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        Ok(())
    }
}

impl NumpyColumns {
    /// Creates the columns of a table with these columns, without rows.
    pub(crate) fn new(schema: &SchemaRef) -> Self {
        let empty = RecordBatch::new_empty(schema.clone());
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        for (name, array) in leaves(&empty) {
            names.push(name);
            columns.push(match values(&array) {
                Values::Numbers(Numbers { type_text, item_shape, .. }) => {
                    Column::Numbers {
                        type_text,
                        item_shape,
                        bytes: Vec::new(),
                        valid: Validity::default(),
                    }
                }
                Values::Objects(_) => Column::Objects(Vec::new()),
            });
        }
        let threads = process::pool().map_or(1, |pool| pool.current_num_threads());
        Self { names, columns, rows: 0, threads }
    }

    /// Adds the rows of `batch`.
    ///
    /// # Errors
    /// `Unsupported` if a list of fixed length has a null in it.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let (rows, leaves) = (self.rows, leaves(batch));
        let add = |columns: &mut [Column], leaves: &[(String, ArrayRef)]| {
            let mut pairs = columns.iter_mut().zip(leaves);
            pairs.try_for_each(|(column, (name, array))| column.add(rows, name, array))
        };
        let threads = match batch.get_array_memory_size() {
            ..MAX_SINGLE_THREAD_BYTES => 1,
            _ => self.threads.min(self.columns.len()).max(1),
        };
        // The system clears each new page of the arrays, which takes longer than decoding.
        let count = self.columns.len().div_ceil(threads).max(1);
        let mut groups = self.columns.chunks_mut(count).zip(leaves.chunks(count));
        let last = groups.next_back();
        thread::scope(|scope| {
            let others: Vec<_> = groups
                .map(|(columns, leaves)| scope.spawn(move || add(columns, leaves)))
                .collect();
            let added = last.map_or(Ok(()), |(columns, leaves)| add(columns, leaves));
            let joined = others.into_iter().map(|thread| {
                let message = "a thread of logtool ended unexpectedly";
                thread.join().unwrap_or_else(|_| Err(Error::other(message)))
            });
            joined.chain([added]).collect::<Result<()>>()
        })?;
        self.rows += batch.num_rows();
        Ok(())
    }

    /// Returns a dictionary of arrays.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let arrays = PyDict::new(py);
        for (name, column) in self.names.into_iter().zip(self.columns) {
            let array = match column {
                Column::Numbers { type_text, item_shape, bytes, valid } => {
                    let numbers =
                        owned_numbers(type_text, self.rows, item_shape, bytes);
                    array(py, numbers, valid.0)?
                }
                Column::Objects(parts) => {
                    let mut objects = Vec::with_capacity(self.rows);
                    for part in &parts {
                        for row in 0..part.len() {
                            objects.push(object(py, part, row)?);
                        }
                    }
                    object_array(py, objects)?
                }
            };
            arrays.set_item(name, array)?;
        }
        Ok(arrays)
    }
}

/// Returns the columns of `batch` as a dictionary of arrays. Numbers are not copied.
pub(crate) fn of_batch<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<Bound<'py, PyDict>> {
    let arrays = PyDict::new(py);
    for (name, column) in leaves(batch) {
        let array = match values(&column) {
            Values::Numbers(Numbers { type_text, item_shape, bytes }) => {
                let shape = [&[column.len()], &item_shape[..]].concat();
                let numbers = NumberBuffer {
                    type_text,
                    shape,
                    address: bytes.as_ptr() as usize,
                    is_read_only: true,
                    _memory: Memory::Shared(bytes),
                };
                array(py, numbers, validity(&column))?
            }
            Values::Objects(column) => {
                let objects = (0..column.len()).map(|row| object(py, &column, row));
                object_array(py, objects.collect::<PyResult<_>>()?)?
            }
        };
        arrays.set_item(name, array)?;
    }
    Ok(arrays)
}

/// Returns numbers that own their memory, so that NumPy may change them.
fn owned_numbers(
    type_text: String,
    rows: usize,
    item_shape: Vec<usize>,
    mut bytes: Vec<u8>,
) -> NumberBuffer {
    let shape = [&[rows], &item_shape[..]].concat();
    let address = bytes.as_mut_ptr() as usize;
    NumberBuffer {
        type_text,
        shape,
        address,
        is_read_only: false,
        _memory: Memory::Own(bytes),
    }
}

/// Returns an array of NumPy with `numbers`. `valid` has a 0 for each missing one.
fn array<'py>(
    py: Python<'py>,
    numbers: NumberBuffer,
    valid: Option<Vec<u8>>,
) -> PyResult<Bound<'py, PyAny>> {
    let valid =
        valid.map(|valid| owned_numbers("|b1".into(), valid.len(), vec![], valid));
    py.import("logtool._numpy")?.call_method1("number_array", (numbers, valid))
}

fn object_array(py: Python<'_>, objects: Vec<Py<PyAny>>) -> PyResult<Bound<'_, PyAny>> {
    py.import("logtool._numpy")?.call_method1("object_array", (objects,))
}

/// Returns the value of `array` at index `row` as an object of Python.
fn object(py: Python<'_>, array: &ArrayRef, row: usize) -> PyResult<Py<PyAny>> {
    if array.is_null(row) {
        return Ok(py.None());
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into_py_any(py),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into_py_any(py),
        DataType::Binary => Ok(PyBytes::new(py, array.as_binary::<i32>().value(row))
            .into_any()
            .unbind()),
        DataType::LargeBinary => {
            Ok(PyBytes::new(py, array.as_binary::<i64>().value(row))
                .into_any()
                .unbind())
        }
        DataType::Decimal128(_, 0) => {
            array.as_primitive::<Decimal128Type>().value(row).into_py_any(py)
        }
        DataType::Dictionary(key, _) if **key == DataType::Int32 => {
            let labels = array.as_dictionary::<Int32Type>();
            let index = labels.key(row).unwrap_or_default();
            object(py, labels.values(), index)
        }
        DataType::List(_) => list(py, &array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(py, &array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => list(py, &array.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let dict = PyDict::new(py);
            for (field, inner) in fields.iter().zip(array.as_struct().columns()) {
                dict.set_item(field.name(), object(py, inner, row)?)?;
            }
            Ok(dict.into_any().unbind())
        }
        _ => match numbers(&array.slice(row, 1)) {
            Some(Numbers { type_text, item_shape, bytes }) => {
                let number = owned_numbers(type_text, 1, item_shape, bytes.to_vec());
                let array = self::array(py, number, None)?;
                Ok(array.get_item(0)?.unbind())
            }
            None => {
                let message = format!("NumPy has no type for {}", array.data_type());
                Err(to_python(py, &Error::new(ErrorKind::Unsupported, message), None))
            }
        },
    }
}

/// Returns the items of a list: an array of NumPy if they are numbers.
fn list(py: Python<'_>, items: &ArrayRef) -> PyResult<Py<PyAny>> {
    match numbers(items) {
        Some(Numbers { type_text, item_shape, bytes }) => {
            let numbers =
                owned_numbers(type_text, items.len(), item_shape, bytes.to_vec());
            Ok(array(py, numbers, validity(items))?.unbind())
        }
        None => {
            let objects = (0..items.len()).map(|row| object(py, items, row));
            objects.collect::<PyResult<Vec<_>>>()?.into_py_any(py)
        }
    }
}
