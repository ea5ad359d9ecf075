//! Resolving type names.

use std::collections::HashMap;

use logtool_core::{Error, ErrorKind, LayoutKind, Primitive, Result};

use crate::definition::{MessageType, line::Field, malformed};

/// The maximum nesting depth of types.
pub(super) const MAX_DEPTH: u32 = 60;

/// The types of a definition by name.
pub(super) struct Scope<'t> {
    pub(super) types: &'t [MessageType],
    by_name: HashMap<&'t str, usize>,
    /// By the name without the package; `None` if several packages have the name.
    by_short_name: HashMap<&'t str, Option<usize>>,
}

/// Computes a value for the type with an index from the values of other types: see
/// [`Scope::fold`].
type ComputeValue<'m, M> = dyn Fn(usize, &[Option<M>]) -> Result<M> + 'm;

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
            let entry_index =
                scope.by_short_name.entry(short_name).or_insert(Some(index));
            if *entry_index != Some(index) {
                *entry_index = None;
            }
        }
        scope
    }

    /// Resolves the type of `field` of the type with the index `index`.
    ///
    /// A name without a package belongs to the package of the type in which it is used. A field of
    /// type `Header` that is not an array belongs to `std_msgs` everywhere (genmsg,
    /// `msg_loader`). If there is no such type, the only type with that name in any package is
    /// used.
    pub(super) fn base(&self, index: usize, field: &Field) -> Result<Base> {
        let name = field.base.as_str();
        if let Some(kind) = built_in(name) {
            return Ok(Base::BuiltIn(kind));
        }
        let using_type =
            self.types.get(index).map_or("", |message_type| message_type.name.as_str());
        let type_index = match name.split_once('/') {
            Some((package, rest)) => {
                let short_name = rest.strip_prefix("msg/").unwrap_or(rest);
                let index_by_full_name =
                    self.by_name.get(format!("{package}/{short_name}").as_str());
                index_by_full_name.or_else(|| self.by_name.get(short_name)).copied()
            }
            None => {
                let package = match field.type_text.as_str() {
                    "Header" => "std_msgs",
                    _ => using_type.split_once('/').map_or("", |(package, _)| package),
                };
                let in_package =
                    |package| self.by_name.get(&*format!("{package}/{name}"));
                let common = || in_package("std_msgs").filter(|_| name == "Header");
                let short_name = || self.by_short_name.get(name).copied().flatten();
                in_package(package).or_else(common).copied().or_else(short_name)
            }
        };
        let missing = || match name.split("<=").next() {
            Some("wstring") => {
                let message =
                    format!("{using_type:?} has a wstring, which is not supported");
                Error::new(ErrorKind::Unsupported, message)
            }
            _ => malformed(format!(
                "{using_type:?} needs the type {name:?}, which is not defined"
            )),
        };
        type_index.map(Base::Type).ok_or_else(missing)
    }

    /// Computes a value for the first type from the values of the types of its fields. `make`
    /// gets the index of a type, and the values so far by type index.
    pub(super) fn fold<M: Clone>(&self, make: &ComputeValue<'_, M>) -> Result<M> {
        let mut results = vec![None; self.types.len()];
        self.fold_into(0, 0, make, &mut results)?;
        let first = results.into_iter().next().flatten();
        first.ok_or_else(|| malformed("a definition of nothing"))
    }

    fn fold_into<M: Clone>(
        &self,
        index: usize,
        depth: u32,
        make: &ComputeValue<'_, M>,
        results: &mut Vec<Option<M>>,
    ) -> Result<()> {
        if results.get(index).is_some_and(Option::is_some) {
            return Ok(());
        }
        let Some(message) = self.types.get(index) else { return Ok(()) };
        if depth > MAX_DEPTH {
            let message = format!("{:?} contains itself, or is too deep", message.name);
            return Err(malformed(message));
        }
        for field in &message.fields {
            if let Base::Type(inner) = self.base(index, field)? {
                self.fold_into(inner, depth + 1, make, results)?;
            }
        }
        let value = make(index, results)?;
        if let Some(slot) = results.get_mut(index) {
            *slot = Some(value);
        }
        Ok(())
    }
}

/// The name for `time` with signed seconds, which no definition can use.
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
