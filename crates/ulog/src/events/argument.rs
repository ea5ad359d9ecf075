//! Reads the packed arguments of an event, and the labels of their values.

use crate::events::{
    Argument,
    definitions::{Catalog, Definition},
    types::{ArgumentType, BaseType, Enumeration, Parameter, number_text},
};

impl Catalog {
    /// Reads the arguments of an event from their packed `bytes`.
    pub(super) fn read_arguments<'c>(
        &'c self,
        definition: &'c Definition,
        bytes: &[u8],
    ) -> Vec<Argument<'c>> {
        // `None` if the start of the next argument is unknown.
        let mut remaining = Some(bytes);
        let read_argument = |parameter: &'c Parameter| {
            let name = parameter.name.as_str();
            let placeholder = |text: &str| Argument {
                name,
                value: None,
                is_label: false,
                text: text.to_owned(),
            };
            let Some((base, enumeration)) = self.resolve(parameter) else {
                remaining = None;
                return placeholder("(unknown type)");
            };
            let Some((value, next)) =
                remaining.and_then(|remaining| base.read(remaining))
            else {
                remaining = None;
                return placeholder("(missing)");
            };
            remaining = Some(next);
            let text = match enumeration {
                Some(enumeration) => enumeration.label(&value),
                None => number_text(&value),
            };
            Argument { name, value: Some(value), is_label: enumeration.is_some(), text }
        };
        definition.parameters.iter().map(read_argument).collect()
    }

    /// Returns the encoded type of a parameter, and its enumeration if it has one.
    fn resolve(
        &self,
        parameter: &Parameter,
    ) -> Option<(BaseType, Option<&Enumeration>)> {
        match parameter.value_type? {
            ArgumentType::Base(base) => Some((base, None)),
            ArgumentType::Enumeration(index) => {
                let enumeration = self.enumeration(index)?;
                Some((enumeration.base, Some(enumeration)))
            }
        }
    }
}
