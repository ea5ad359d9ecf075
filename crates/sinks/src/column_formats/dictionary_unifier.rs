//! Replaces the different dictionaries of a column by one; Arrow files do not allow more.

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
    Unchanged,
    /// The array gets this dictionary. The map contains the index of each name in it.
    Replace(Arc<StringArray>, HashMap<String, i32>),
    /// The array is a list whose items are changed.
    Item(Box<DictionaryChange>),
    /// The array is a struct whose fields are changed.
    Fields(Vec<DictionaryChange>),
}

/// Gives all batches of a table the same dictionaries: those that the metadata
/// [`VALUE_NAMES_KEY`] declares. Otherwise each batch may have different dictionaries, which
/// contain only the names in its rows.
#[derive(Debug)]
pub(crate) struct DictionaryUnifier {
    columns: Vec<DictionaryChange>,
}

impl DictionaryUnifier {
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
        let columns = apply_all(&self.columns, batch.columns())?;
        RecordBatch::try_new(batch.schema(), columns).map_err(from_arrow)
    }
}

/// Returns `arrays`, each changed by the corresponding element of `changes`.
fn apply_all(
    changes: &[DictionaryChange],
    arrays: &[ArrayRef],
) -> Result<Vec<ArrayRef>> {
    changes.iter().zip(arrays).map(|(change, array)| change.apply(array)).collect()
}

impl DictionaryChange {
    /// Creates the change for arrays of `field`.
    fn from_field(field: &FieldRef) -> Result<Self> {
        let change = match field.data_type() {
            DataType::Dictionary(..) => return Self::from_metadata(field),
            DataType::List(item) | DataType::FixedSizeList(item, _) => {
                Self::Item(Box::new(Self::from_field(item)?))
            }
            DataType::Struct(fields) => Self::Fields(
                fields.iter().map(Self::from_field).collect::<Result<_>>()?,
            ),
            _ => Self::Unchanged,
        };
        Ok(if change.is_unchanged() { Self::Unchanged } else { change })
    }

    /// Creates the change to the dictionary that the metadata of `field` declares.
    fn from_metadata(field: &Field) -> Result<Self> {
        let json = field.metadata().get(VALUE_NAMES_KEY);
        let json = json.map(String::as_str).unwrap_or_default();
        let names: Vec<String> = serde_json::from_str(json).map_err(|err| {
            let message =
                format!("column {:?} does not declare its names", field.name());
            Error::new(ErrorKind::Unsupported, message).with_source(err)
        })?;
        let dictionary = Arc::new(StringArray::from_iter_values(&names));
        Ok(Self::Replace(dictionary, names.into_iter().zip(0..).collect()))
    }

    /// Returns whether the array contains no dictionaries.
    fn is_unchanged(&self) -> bool {
        match self {
            Self::Unchanged => true,
            Self::Replace(..) => false,
            Self::Item(change) => change.is_unchanged(),
            Self::Fields(fields) => fields.iter().all(Self::is_unchanged),
        }
    }

    fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let changed: Result<ArrayRef, _> = match (self, array.data_type()) {
            (Self::Replace(dictionary, indices), _) => {
                return replace_dictionary(array, dictionary, indices);
            }
            (Self::Fields(changes), DataType::Struct(fields)) => {
                let structs = array.as_struct();
                let columns = apply_all(changes, structs.columns())?;
                let nulls = structs.nulls().cloned();
                StructArray::try_new(fields.clone(), columns, nulls)
                    .map(|changed| Arc::new(changed) as ArrayRef)
            }
            (Self::Item(change), DataType::FixedSizeList(item, len)) => {
                let lists = array.as_fixed_size_list();
                let values = change.apply(lists.values())?;
                let nulls = lists.nulls().cloned();
                FixedSizeListArray::try_new(item.clone(), *len, values, nulls)
                    .map(|changed| Arc::new(changed) as ArrayRef)
            }
            (Self::Item(change), DataType::List(item)) => {
                let lists = array.as_list::<i32>();
                let values = change.apply(lists.values())?;
                let (offsets, nulls) =
                    (lists.offsets().clone(), lists.nulls().cloned());
                ListArray::try_new(item.clone(), offsets, values, nulls)
                    .map(|changed| Arc::new(changed) as ArrayRef)
            }
            _ => return Ok(array.clone()),
        };
        changed.map_err(from_arrow)
    }
}

/// Replaces the dictionary of `array` by `dictionary`; `indices` has the index of each name in
/// it.
fn replace_dictionary(
    array: &ArrayRef,
    dictionary: &Arc<StringArray>,
    indices: &HashMap<String, i32>,
) -> Result<ArrayRef> {
    let old_array = array.as_dictionary::<Int32Type>();
    let names = old_array
        .downcast_dict::<StringArray>()
        .ok_or_else(|| undeclared_error("no text"))?;
    let mut keys = Int32Builder::with_capacity(old_array.len());
    for name in names {
        match name {
            Some(name) => {
                let key = indices.get(name).ok_or_else(|| undeclared_error(name))?;
                keys.append_value(*key);
            }
            None => keys.append_null(),
        }
    }
    let new_array =
        DictionaryArray::<Int32Type>::try_new(keys.finish(), dictionary.clone());
    Ok(Arc::new(new_array.map_err(from_arrow)?))
}

/// Returns the error for a row with `name`, which is not in the declared dictionary.
fn undeclared_error(name: &str) -> Error {
    let message = format!("the name {name:?} was not declared when the table started");
    Error::new(ErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests;
