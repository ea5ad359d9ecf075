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
        let mut key_by_name = HashMap::new();
        for (value, name) in labels {
            let key = *key_by_name.entry(name.as_str()).or_insert_with(|| {
                names.push(name);
                names.len() as i32 - 1
            });
            keys.insert(*value, key);
        }
        Self { dictionary: Arc::new(StringArray::from(names)), keys }
    }

    /// Returns the Arrow field of the label column for the column `column` of `field`.
    /// Its name differs from all `field_names`.
    pub(crate) fn field<'f>(
        &self,
        column: &str,
        field: &str,
        field_names: impl Iterator<Item = &'f str> + Clone,
    ) -> FieldRef {
        let mut suffix = "_label".to_owned();
        while field_names.clone().any(|name| name.strip_prefix(field) == Some(&suffix))
        {
            suffix.push('_');
        }
        let (key, value) = (Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let data_type = DataType::Dictionary(key, value);
        let names: Vec<_> =
            self.dictionary.iter().map(Option::unwrap_or_default).collect();
        let names_json = serde_json::Value::from(names).to_string();
        let metadata = HashMap::from([(VALUE_NAMES_KEY.to_owned(), names_json)]);
        let label_field = Field::new(format!("{column}{suffix}"), data_type, true);
        Arc::new(label_field.with_metadata(metadata))
    }

    /// Returns the labels of the integers `values`, or null for values without a label.
    pub(crate) fn labels(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let key = |value: Option<i64>| self.keys.get(&value?).copied();
        let keys: Int32Array = integers(values).map(key).collect();
        let labels =
            DictionaryArray::<Int32Type>::try_new(keys, self.dictionary.clone());
        Ok(Arc::new(labels.map_err(into_error)?))
    }
}

/// Iterates over the values of an array of integers of any size.
fn integers(values: &ArrayRef) -> Box<dyn Iterator<Item = Option<i64>> + '_> {
    use arrow_array::types::*;
    macro_rules! as_i64 {
        ($type:ty) => {
            Box::new(
                values
                    .as_primitive::<$type>()
                    .iter()
                    .map(|value| value.and_then(|value| i64::try_from(value).ok())),
            )
        };
    }
    match values.data_type() {
        DataType::Int8 => as_i64!(Int8Type),
        DataType::Int16 => as_i64!(Int16Type),
        DataType::Int32 => as_i64!(Int32Type),
        DataType::Int64 => as_i64!(Int64Type),
        DataType::UInt8 => as_i64!(UInt8Type),
        DataType::UInt16 => as_i64!(UInt16Type),
        DataType::UInt32 => as_i64!(UInt32Type),
        DataType::UInt64 => as_i64!(UInt64Type),
        DataType::Boolean => {
            Box::new(values.as_boolean().iter().map(|value| value.map(i64::from)))
        }
        _ => Box::new(std::iter::repeat_n(None, values.len())),
    }
}
