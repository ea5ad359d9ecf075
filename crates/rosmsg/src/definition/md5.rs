//! The MD5 sum by which ROS distinguishes types.
//!
//! It is the sum of the constants, then the fields, one per line, without comments and superfluous
//! blanks. The name of a type that is not built in, including its array suffix, is replaced by the
//! sum of that type (genmsg, `compute_md5_text`).

use logtool_core::{Result, hex::Hex};
use md5::{Digest as _, Md5};

use crate::definition::{
    malformed,
    scope::{Base, Scope},
};

/// Returns the sum of the first type in `scope`.
pub(super) fn sum(scope: &Scope<'_>) -> Result<String> {
    scope.fold(&|index, sums_of_types| type_sum(scope, index, sums_of_types))
}

fn type_sum(
    scope: &Scope<'_>,
    index: usize,
    sums_of_types: &[Option<String>],
) -> Result<String> {
    let Some(message) = scope.types.get(index) else {
        return Err(malformed("a type that is not there"));
    };
    let mut lines = Vec::new();
    for constant in &message.constants {
        let (type_name, name) = (&constant.type_name, &constant.name);
        lines.push(format!("{type_name} {name}={}", constant.value));
    }
    for field in &message.fields {
        let type_text = match scope.base(index, field)? {
            Base::BuiltIn(_) => &field.type_text,
            Base::Type(inner) => {
                let missing =
                    || malformed(format!("{:?} contains itself", message.name));
                sums_of_types.get(inner).and_then(Option::as_ref).ok_or_else(missing)?
            }
        };
        lines.push(format!("{type_text} {}", field.name));
    }
    let sum = Md5::digest(lines.join("\n").trim());
    Ok(Hex(&sum).to_string())
}
