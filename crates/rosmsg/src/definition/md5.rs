//! The MD5 sum by which ROS distinguishes types.
//!
//! It is the sum of a text with the constants, then the fields, one per line, without comments and
//! superfluous blanks. In the text, a type that is not built in, including its array suffix, is
//! replaced by its own sum (genmsg, `compute_md5_text`).

use logtool_core::{Result, hex::Hex};
use md5::{Digest as _, Md5};

use crate::definition::{
    malformed,
    scope::{Base, Scope},
};

/// Returns the sum of the first type in `scope`.
pub(super) fn sum(scope: &Scope<'_>) -> Result<String> {
    scope.fold(&|index, sums| type_sum(scope, index, sums))
}

fn type_sum(
    scope: &Scope<'_>,
    index: usize,
    sums: &[Option<String>],
) -> Result<String> {
    let Some(message) = scope.types.get(index) else {
        return Err(malformed("the definition lacks a type"));
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
                let contains_itself =
                    || malformed(format!("{:?} contains itself", message.name));
                sums.get(inner).and_then(Option::as_ref).ok_or_else(contains_itself)?
            }
        };
        lines.push(format!("{type_text} {}", field.name));
    }
    let sum = Md5::digest(lines.join("\n").trim());
    Ok(Hex(&sum).to_string())
}
