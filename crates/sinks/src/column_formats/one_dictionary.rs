//! Gives each column one dictionary; Arrow files do not allow more.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    Array as _, ArrayRef, DictionaryArray, FixedSizeListArray, ListArray, RecordBatch,
    StringArray, StructArray, builder::Int32Builder, cast::AsArray as _,
    types::Int32Type,
};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use logtool_core::{Error, ErrorKind, Result, VALUE_NAMES_KEY};

use crate::error::from_arrow;

/// How the dictionaries of an array are changed.
#[derive(Debug)]
enum DictionaryChange {
    /// The array contains no dictionaries.
    Same,
    /// The array gets this dictionary; the map has the index of each name.
    Of(Arc<StringArray>, HashMap<String, i32>),
    /// The array is a list whose items are changed.
    Item(Box<DictionaryChange>),
    /// The array is a struct whose fields are changed.
    Fields(Vec<DictionaryChange>),
}

/// Gives all batches of a table the dictionaries that the metadata [`VALUE_NAMES_KEY`] declares. Batches
/// that contain rows of several others have different dictionaries.
#[derive(Debug)]
pub(crate) struct OneDictionary {
    columns: Vec<DictionaryChange>,
}

impl OneDictionary {
    /// Reads the dictionaries of the columns from `schema`.
    pub(crate) fn new(schema: &Schema) -> Result<Self> {
        let columns = schema
            .fields()
            .iter()
            .map(DictionaryChange::from_field)
            .collect::<Result<_>>()?;
        Ok(Self { columns })
    }

    /// Returns `batch` with these dictionaries.
    ///
    /// # Errors
    ///
    /// `Unsupported` if a value is not in the declared dictionary.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.columns.iter().zip(batch.columns());
        let columns = columns.map(|(keys, column)| keys.apply(column));
        let columns = columns.collect::<Result<_>>()?;
        RecordBatch::try_new(batch.schema(), columns).map_err(from_arrow)
    }
}

impl DictionaryChange {
    fn from_field(field: &FieldRef) -> Result<Self> {
        let keys = match field.data_type() {
            DataType::Dictionary(..) => return Self::from_metadata(field),
            DataType::List(item) | DataType::FixedSizeList(item, _) => {
                Self::Item(Box::new(Self::from_field(item)?))
            }
            DataType::Struct(fields) => Self::Fields(
                fields.iter().map(Self::from_field).collect::<Result<_>>()?,
            ),
            _ => Self::Same,
        };
        Ok(if keys.is_same() { Self::Same } else { keys })
    }

    fn from_metadata(field: &Field) -> Result<Self> {
        let names = field
            .metadata()
            .get(VALUE_NAMES_KEY)
            .map(String::as_str)
            .unwrap_or_default();
        let names: Vec<String> = serde_json::from_str(names).map_err(|err| {
            let message =
                format!("column {:?} does not declare its names", field.name());
            Error::new(ErrorKind::Unsupported, message).with_source(err)
        })?;
        let dictionary = Arc::new(StringArray::from_iter_values(&names));
        Ok(Self::Of(dictionary, names.into_iter().zip(0..).collect()))
    }

    /// Returns whether the array contains no dictionaries.
    fn is_same(&self) -> bool {
        match self {
            Self::Same => true,
            Self::Of(..) => false,
            Self::Item(keys) => keys.is_same(),
            Self::Fields(fields) => fields.iter().all(Self::is_same),
        }
    }

    fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let encoded: Result<ArrayRef, _> = match (self, array.data_type()) {
            (Self::Of(dictionary, indices), _) => {
                return reencode(array, dictionary, indices);
            }
            (Self::Fields(fields), DataType::Struct(names)) => {
                let old = array.as_struct();
                let columns = fields.iter().zip(old.columns());
                let columns = columns.map(|(keys, column)| keys.apply(column));
                let columns = columns.collect::<Result<_>>()?;
                StructArray::try_new(names.clone(), columns, old.nulls().cloned())
                    .map(|encoded| Arc::new(encoded) as ArrayRef)
            }
            (Self::Item(keys), DataType::FixedSizeList(item, len)) => {
                let old = array.as_fixed_size_list();
                let values = keys.apply(old.values())?;
                let nulls = old.nulls().cloned();
                FixedSizeListArray::try_new(item.clone(), *len, values, nulls)
                    .map(|encoded| Arc::new(encoded) as ArrayRef)
            }
            (Self::Item(keys), DataType::List(item)) => {
                let old = array.as_list::<i32>();
                let (ends, values) = (old.offsets().clone(), keys.apply(old.values())?);
                ListArray::try_new(item.clone(), ends, values, old.nulls().cloned())
                    .map(|encoded| Arc::new(encoded) as ArrayRef)
            }
            _ => return Ok(array.clone()),
        };
        encoded.map_err(from_arrow)
    }
}

/// Returns `array` with `dictionary`; `indices` has the index of each name in it.
fn reencode(
    array: &ArrayRef,
    dictionary: &Arc<StringArray>,
    indices: &HashMap<String, i32>,
) -> Result<ArrayRef> {
    let old = array.as_dictionary::<Int32Type>();
    let names = old
        .downcast_dict::<StringArray>()
        .ok_or_else(|| undeclared_error("no text"))?;
    let mut keys = Int32Builder::with_capacity(old.len());
    for name in names {
        let code =
            |name| indices.get(name).copied().ok_or_else(|| undeclared_error(name));
        keys.append_option(name.map(code).transpose()?);
    }
    let encoded =
        DictionaryArray::<Int32Type>::try_new(keys.finish(), dictionary.clone());
    Ok(Arc::new(encoded.map_err(from_arrow)?))
}

fn undeclared_error(name: &str) -> Error {
    let message = format!("the name {name:?} was not declared when the table started");
    Error::new(ErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests;
