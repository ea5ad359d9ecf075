//! Label columns: the names of integer values, as a dictionary.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, StringArray, cast::AsArray as _,
    types::Int32Type,
};
use arrow_schema::{DataType, Field, FieldRef};

use crate::{decode::columns::into_error, error::Result, model::labels::FieldLabels};

/// The key of the field metadata with all labels of a label column: a JSON list of
/// strings, in the order of the dictionary of each batch.
pub const VALUE_NAMES_KEY: &str = "logtool.names";

/// The labels of the values of one field.
#[derive(Debug)]
pub(crate) struct ValueNames {
    /// Each label once. All batches share this array, so that a file needs only one
    /// dictionary per column.
    dictionary: Arc<StringArray>,
    /// The index of each value's label in the dictionary.
    keys: HashMap<i64, i32>,
}

impl ValueNames {
    /// Creates the dictionary of `labels`.
    pub(crate) fn new(labels: &FieldLabels) -> Self {
        let (mut names, mut keys) = (Vec::<&str>::new(), HashMap::new());
        let mut labels_by_value = HashMap::new();
        for (value, name) in labels {
            let key = *labels_by_value.entry(name.as_str()).or_insert_with(|| {
                names.push(name);
                names.len() as i32 - 1
            });
            keys.insert(*value, key);
        }
        Self { dictionary: Arc::new(StringArray::from(names)), keys }
    }

    /// Returns the Arrow field of the label column for the column `column` of `field`.
    /// Its name differs from those of all `fields`.
    pub(crate) fn field<'f>(
        &self,
        column: &str,
        field: &str,
        fields: impl Iterator<Item = &'f str> + Clone,
    ) -> FieldRef {
        let mut suffix = "_label".to_owned();
        while fields.clone().any(|other| other.strip_prefix(field) == Some(&suffix)) {
            suffix.push('_');
        }
        let column = format!("{column}{suffix}");
        let (key, value) = (Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let names: Vec<_> =
            self.dictionary.iter().map(Option::unwrap_or_default).collect();
        let names = serde_json::Value::from(names).to_string();
        let field = Field::new(column, DataType::Dictionary(key, value), true);
        Arc::new(
            field.with_metadata(HashMap::from([(VALUE_NAMES_KEY.to_owned(), names)])),
        )
    }

    /// Returns the labels of the integers `values`, or null for values without a label.
    pub(crate) fn labels(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let key = |value: Option<i64>| self.keys.get(&value?).copied();
        let keys: Int32Array = integers(values).map(key).collect();
        let names =
            DictionaryArray::<Int32Type>::try_new(keys, self.dictionary.clone());
        Ok(Arc::new(names.map_err(into_error)?))
    }
}

/// Iterates over the values of an array of integers of any size.
fn integers(values: &ArrayRef) -> Box<dyn Iterator<Item = Option<i64>> + '_> {
    use arrow_array::types::*;
    macro_rules! each {
        ($type:ty) => {
            Box::new(
                values
                    .as_primitive::<$type>()
                    .iter()
                    .map(|v| v.and_then(|v| i64::try_from(v).ok())),
            )
        };
    }
    match values.data_type() {
        DataType::Int8 => each!(Int8Type),
        DataType::Int16 => each!(Int16Type),
        DataType::Int32 => each!(Int32Type),
        DataType::Int64 => each!(Int64Type),
        DataType::UInt8 => each!(UInt8Type),
        DataType::UInt16 => each!(UInt16Type),
        DataType::UInt32 => each!(UInt32Type),
        DataType::UInt64 => each!(UInt64Type),
        DataType::Boolean => {
            Box::new(values.as_boolean().iter().map(|v| v.map(i64::from)))
        }
        _ => Box::new(std::iter::repeat_n(None, values.len())),
    }
}
