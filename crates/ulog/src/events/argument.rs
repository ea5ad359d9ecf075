//! Reads the packed arguments of an event, and the labels of their values.

use crate::events::{
    Argument,
    definitions::{Catalog, Definition},
    types::{ArgumentType, BaseType, Enumeration, Parameter, number_text},
};

impl Catalog {
    pub(super) fn read_arguments<'c>(
        &'c self,
        definition: &'c Definition,
        bytes: &[u8],
    ) -> Vec<Argument<'c>> {
        // `None` when the start of the next argument is unknown.
        let mut rest = Some(bytes);
        let read = |parameter: &'c Parameter| {
            let name = parameter.name.as_str();
            let placeholder = |text: &str| Argument {
                name,
                value: None,
                is_label: false,
                text: text.to_owned(),
            };
            let Some((base, enumeration)) = self.resolve(parameter) else {
                rest = None;
                return placeholder("(unknown type)");
            };
            let Some((value, after)) = rest.and_then(|rest| base.read(rest)) else {
                rest = None;
                return placeholder("(missing)");
            };
            rest = Some(after);
            let text = match enumeration {
                Some(enumeration) => enumeration.label(&value),
                None => number_text(&value),
            };
            Argument { name, value: Some(value), is_label: enumeration.is_some(), text }
        };
        definition.parameters.iter().map(read).collect()
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
