//! Names for the values of fields that enumerate something.

use std::collections::BTreeMap;

/// The names of the values of one field.
pub type FieldLabels = BTreeMap<i64, String>;

/// For fields of message types, what their values are called.
///
/// ```
/// use logtool_core::Labels;
///
/// let mut labels = Labels::default();
/// labels.insert("kitchen_status", "pasta_menu", 1, "PASTA_MENU_CARBONARA".into());
/// let menu = labels.get("kitchen_status", "pasta_menu").unwrap();
/// assert_eq!(menu[&1], "PASTA_MENU_CARBONARA");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    types: BTreeMap<String, BTreeMap<String, FieldLabels>>,
}

impl Labels {
    /// What the values of `field` of the message type `message` are called.
    pub fn get(&self, message: &str, field: &str) -> Option<&FieldLabels> {
        self.types.get(message)?.get(field)
    }

    /// Calls `value` of that field `label`.
    pub fn insert(&mut self, message: &str, field: &str, value: i64, label: String) {
        let fields = self.types.entry(message.to_owned()).or_default();
        fields.entry(field.to_owned()).or_default().insert(value, label);
    }

    /// Whether nothing has a name.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
}
