//! Compiling message types to layouts.

use std::sync::Arc;

use logtool_core::{
    FieldRole, Layout, LayoutField, LayoutKind, Primitive, RecordProperties, Result,
    TrailingBytes,
};

use crate::definition::{
    line::Array,
    malformed,
    scope::{Base, Scope},
};

/// The properties of all records in the encoding of ROS 1.
const RECORD_PROPERTIES: RecordProperties =
    RecordProperties { time_unit: "ns", trailing_bytes: TrailingBytes::Nothing };

/// Returns the layout of the first type in `scope`.
pub(super) fn compile(scope: &Scope<'_>) -> Result<Arc<Layout>> {
    scope.fold(&|index, layouts| compile_type(scope, index, layouts))
}

fn compile_type(
    scope: &Scope<'_>,
    index: usize,
    layouts: &[Option<Arc<Layout>>],
) -> Result<Arc<Layout>> {
    let Some(message) = scope.types.get(index) else {
        return Err(malformed("the definition lacks a type"));
    };
    let mut fields = Vec::with_capacity(message.fields.len());
    for field in &message.fields {
        let element = match scope.base(index, field)? {
            Base::BuiltIn(kind) => kind,
            Base::Type(inner) => {
                let layout = layouts.get(inner).cloned().flatten();
                let contains_itself =
                    || malformed(format!("{:?} contains itself", message.name));
                LayoutKind::Nested(layout.ok_or_else(contains_itself)?)
            }
        };
        let (kind, count) = match (field.array, element) {
            (Array::No, kind) => (kind, None),
            (Array::Fixed(count), kind) => (kind, Some(count)),
            (Array::Any, LayoutKind::Primitive(Primitive::U8)) => {
                (LayoutKind::Bytes, None)
            }
            (Array::Any, kind) => (LayoutKind::List(Arc::new(kind)), None),
        };
        let (name, role) = (field.name.clone(), FieldRole::Plain);
        fields.push(LayoutField { name, kind, count, offset: 0, role });
    }
    let layout = Layout::from_fields(message.name.clone(), fields)?;
    Ok(Arc::new(layout.with_record_properties(RECORD_PROPERTIES)))
}
