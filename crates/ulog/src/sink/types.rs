//! The types that the new log defines.

use std::collections::{HashMap, HashSet};

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    declarations::formats::{array, primitive},
    topics::registry::Declaration,
};

/// The types defined so far, each with the log that defined it.
#[derive(Debug, Default)]
pub(super) struct TypeTable {
    defined: HashMap<String, (usize, String)>,
}

/// How a definition is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefinitionAction {
    /// The type is new: write the definition.
    Add,
    /// The definition is already in the log.
    Skip,
    /// The same log redefines the type: write the definition after the earlier
    /// subscriptions.
    Redefine,
}

impl TypeTable {
    /// Adds the definition of `name` in the log with the index `slice_index`, one of `logs`
    /// logs.
    ///
    /// # Errors
    /// `Unsupported` if another log has a different definition, or if a log that is
    /// merged with others redefines the type.
    pub(super) fn define(
        &mut self,
        name: &str,
        fields: &str,
        slice_index: usize,
        logs: usize,
    ) -> Result<DefinitionAction> {
        let Some((before, known)) = self.defined.get_mut(name) else {
            self.defined.insert(name.to_owned(), (slice_index, fields.to_owned()));
            return Ok(DefinitionAction::Add);
        };
        if known == fields {
            return Ok(DefinitionAction::Skip);
        }
        if *before == slice_index && logs == 1 {
            fields.clone_into(known);
            return Ok(DefinitionAction::Redefine);
        }
        let message = format!(
            "log {} and log {} define {name:?} differently: {} and {}",
            *before + 1,
            slice_index + 1,
            differing_fields(known, fields),
            differing_fields(fields, known),
        );
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

/// Returns up to three fields of `text` that `other` does not have.
fn differing_fields(text: &str, other: &str) -> String {
    let field_list = |text: &str| -> Vec<String> {
        let fields = text.split(';').map(str::trim).filter(|field| !field.is_empty());
        fields.map(str::to_owned).collect()
    };
    let (fields, others) = (field_list(text), field_list(other));
    let own: Vec<String> = fields
        .into_iter()
        .filter(|field| !others.contains(field))
        .take(3)
        .map(|field| field.chars().take(40).collect())
        .collect();
    match own.as_slice() {
        [] => "the same fields in another order, or fewer".to_owned(),
        own => format!("`{}`", own.join("; ")),
    }
}

/// Returns the types `names` of topics and the types of their fields, among those that a log
/// declares.
pub(super) fn required_types<'d>(
    declarations: &'d [Declaration],
    names: impl Iterator<Item = &'d str>,
) -> HashSet<&'d str> {
    let mut inner: HashMap<&str, Vec<&str>> = HashMap::new();
    for declaration in declarations {
        if let Declaration::Format(name, fields) = declaration {
            let types = fields.split(';').filter_map(|field| {
                let (type_name, _) = field.trim().split_once(char::is_whitespace)?;
                let (base, _) = array(type_name)?;
                primitive(base).is_none().then_some(base)
            });
            inner.entry(name).or_default().extend(types);
        }
    }
    let (mut needed, mut open) = (HashSet::new(), names.collect::<Vec<_>>());
    while let Some(name) = open.pop() {
        if needed.insert(name) {
            open.extend(inner.get(name).into_iter().flatten());
        }
    }
    needed
}
