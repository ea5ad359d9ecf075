//! Resolving the type names in a definition.

use std::collections::HashMap;

use logtool_core::{Error, ErrorKind, LayoutKind, Primitive, Result};

use crate::definition::{MessageType, line::Field, malformed, text};

/// The maximum nesting depth of types.
pub(super) const MAX_DEPTH: u32 = 60;

/// The types of a definition by name.
pub(super) struct Scope<'t> {
    pub(super) types: &'t [MessageType],
    by_name: HashMap<&'t str, usize>,
    /// The index of a type by its name without the package; `None` if the name is ambiguous.
    by_short_name: HashMap<&'t str, Option<usize>>,
}

/// Computes the value of the type with an index. The slice contains the values that are already
/// computed, by the indices of their types: at least those of the types of the fields. See
/// [`Scope::fold`].
type ComputeValue<'f, V> = dyn Fn(usize, &[Option<V>]) -> Result<V> + 'f;

/// The type of a field or of its elements.
#[derive(Debug)]
pub(super) enum Base {
    /// A built-in type of ROS.
    BuiltIn(LayoutKind),
    /// The message type with this index.
    Type(usize),
}

impl<'t> Scope<'t> {
    pub(super) fn new(types: &'t [MessageType]) -> Self {
        let mut scope =
            Self { types, by_name: HashMap::new(), by_short_name: HashMap::new() };
        for (index, message_type) in types.iter().enumerate() {
            scope.by_name.entry(&message_type.name).or_insert(index);
            let short_name = message_type.name.rsplit('/').next().unwrap_or_default();
            let unique_index =
                scope.by_short_name.entry(short_name).or_insert(Some(index));
            if *unique_index != Some(index) {
                *unique_index = None;
            }
        }
        scope
    }

    /// Resolves the type of `field`, a field of the type with this `index`.
    ///
    /// A name without a package belongs to the package of the type in which it is used. Only
    /// `Header`, if it is not an array, always belongs to `std_msgs` (genmsg, `msg_loader`). If
    /// there is no such type, the only type with that name in any package is used.
    pub(super) fn base(&self, index: usize, field: &Field) -> Result<Base> {
        let name = field.base.as_str();
        if let Some(kind) = built_in(name) {
            return Ok(Base::BuiltIn(kind));
        }
        let using_type =
            self.types.get(index).map_or("", |message_type| message_type.name.as_str());
        let type_index = match name.split_once('/') {
            Some((package, name)) => {
                let short_name = text::without_interface(name);
                let with_package = format!("{package}/{short_name}");
                let index = self.by_name.get(with_package.as_str());
                index.or_else(|| self.by_name.get(short_name)).copied()
            }
            None => {
                let package = match field.type_text.as_str() {
                    "Header" => "std_msgs",
                    _ => using_type.split_once('/').map_or("", |(package, _)| package),
                };
                let in_package =
                    |package| self.by_name.get(&*format!("{package}/{name}"));
                let std_header = || in_package("std_msgs").filter(|_| name == "Header");
                let in_any_package = || self.by_short_name.get(name).copied().flatten();
                in_package(package).or_else(std_header).copied().or_else(in_any_package)
            }
        };
        let unresolved = || match name.split("<=").next() {
            Some("wstring") => {
                let message = format!(
                    "{using_type:?} has a field of type wstring, which is not supported"
                );
                Error::new(ErrorKind::Unsupported, message)
            }
            _ => malformed(format!(
                "{using_type:?} needs the type {name:?}, which is not defined"
            )),
        };
        type_index.map(Base::Type).ok_or_else(unresolved)
    }

    /// Computes a value for the first type from the values of the types of its fields. `compute`
    /// is called once for each type that the first type uses, after the types of its fields.
    ///
    /// # Errors
    /// The errors of `compute`; `Malformed` if a type is missing or contains itself;
    /// `Unsupported` if there is a `wstring`.
    pub(super) fn fold<V: Clone>(&self, compute: &ComputeValue<'_, V>) -> Result<V> {
        let mut values = vec![None; self.types.len()];
        self.fold_into(0, 0, compute, &mut values)?;
        let first = values.into_iter().next().flatten();
        first.ok_or_else(|| malformed("the definition has no types"))
    }

    /// Checks that no type is missing, and that none contains itself.
    pub(super) fn check(&self) -> Result<()> {
        self.fold(&|_, _| Ok(()))
    }

    fn fold_into<V: Clone>(
        &self,
        index: usize,
        depth: u32,
        compute: &ComputeValue<'_, V>,
        values: &mut Vec<Option<V>>,
    ) -> Result<()> {
        if values.get(index).is_some_and(Option::is_some) {
            return Ok(());
        }
        let Some(message) = self.types.get(index) else { return Ok(()) };
        if depth > MAX_DEPTH {
            let message =
                format!("{:?} contains itself, or is nested too deeply", message.name);
            return Err(malformed(message));
        }
        for field in &message.fields {
            if let Base::Type(inner) = self.base(index, field)? {
                self.fold_into(inner, depth + 1, compute, values)?;
            }
        }
        let value = compute(index, values)?;
        if let Some(slot) = values.get_mut(index) {
            *slot = Some(value);
        }
        Ok(())
    }
}

/// The internal name of a `time` with signed seconds. It contains blanks, so that no definition can
/// use it.
pub(super) const SIGNED_TIME: &str = "time of ROS 2";

/// Returns the built-in type with this name.
pub(super) fn built_in(name: &str) -> Option<LayoutKind> {
    Some(LayoutKind::Primitive(match name {
        "bool" => Primitive::Bool,
        "int8" | "byte" => Primitive::I8,
        "uint8" | "char" => Primitive::U8,
        "int16" => Primitive::I16,
        "uint16" => Primitive::U16,
        "int32" => Primitive::I32,
        "uint32" => Primitive::U32,
        "int64" => Primitive::I64,
        "uint64" => Primitive::U64,
        "float32" => Primitive::F32,
        "float64" => Primitive::F64,
        "string" => return Some(LayoutKind::Text),
        "time" => return Some(LayoutKind::Timestamp),
        SIGNED_TIME => return Some(LayoutKind::SignedTimestamp),
        "duration" => return Some(LayoutKind::Duration),
        _ => return None,
    }))
}
