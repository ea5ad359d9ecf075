//! One line of a definition: a field or a constant.

use logtool_core::Result;

use crate::definition::malformed;

/// A field, e.g. `float64[9] covariance`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The type in the definition, including the array suffix.
    pub(super) type_text: String,
    /// The type of the field or of its elements, without a bound.
    pub(super) base: String,
    pub(super) array: Array,
    pub(super) name: String,
}

/// The array suffix of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Array {
    /// The field is a single value.
    No,
    /// An array of this number of elements.
    Fixed(u32),
    /// A list of any number of elements.
    Any,
}

/// A constant, e.g. `uint8 RED=1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Constant {
    pub(super) type_name: String,
    pub(super) name: String,
    /// The value after the `=`, without blanks around it.
    pub(super) value: String,
}

/// The contents of a line.
#[derive(Debug)]
pub(super) enum DefinitionLine {
    /// Only blanks or a comment.
    Empty,
    Field(Field),
    Constant(Constant),
}

/// Parses a line without its line ending.
pub(super) fn parse(line: &str) -> Result<DefinitionLine> {
    let code = line.split('#').next().unwrap_or("").trim();
    let Some((type_text, rest)) = code.split_once(char::is_whitespace) else {
        return if code.is_empty() {
            Ok(DefinitionLine::Empty)
        } else {
            Err(invalid_line(line))
        };
    };
    let rest = rest.trim();
    // The `=` of a bound is in the type, which is split off already.
    if let Some((name, value)) = rest.split_once('=') {
        let value = match is_string_type(type_text) {
            // A string extends to the end of the line, including any `#`.
            true => after_type(line).and_then(|rest| rest.split_once('=')),
            false => Some((name, value)),
        };
        let (name, value) = (name.trim(), value.map_or("", |(_, value)| value.trim()));
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(invalid_line(line));
        }
        return Ok(DefinitionLine::Constant(Constant {
            type_name: type_text.to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        }));
    }
    if rest.contains(char::is_whitespace) {
        return Err(invalid_line(line));
    }
    let (base, array) = split_array(type_text).ok_or_else(|| invalid_line(line))?;
    Ok(DefinitionLine::Field(Field {
        type_text: type_text.to_owned(),
        base: base.to_owned(),
        array,
        name: rest.to_owned(),
    }))
}

/// Parses a line of a ROS 2 definition, without its line ending. A field may have a default after
/// its name (`int32 x 5`), which is ignored.
pub(super) fn parse_ros2(line: &str) -> Result<DefinitionLine> {
    let code = line.split('#').next().unwrap_or("").trim();
    let field = code.split_once(char::is_whitespace).and_then(|(type_text, rest)| {
        let (name, default) = rest.trim().split_once(char::is_whitespace)?;
        let is_constant = name.contains('=') || default.trim_start().starts_with('=');
        (!is_constant).then(|| format!("{type_text} {name}"))
    });
    field.map_or_else(|| parse(line), |field| parse(&field))
}

/// Splits a type into its base and its array suffix, e.g. `float64[9]` into `float64` and 9. Bounds
/// are dropped. Returns `None` if the type is invalid.
fn split_array(type_text: &str) -> Option<(&str, Array)> {
    let (base, array) = match type_text.split_once('[') {
        None => (type_text, Array::No),
        Some((base, rest)) => (
            base,
            match rest.strip_suffix(']')? {
                "" => Array::Any,
                count => match count.strip_prefix("<=") {
                    Some(bound) => bound.parse::<u32>().ok().map(|_| Array::Any)?,
                    None => Array::Fixed(count.parse().ok()?),
                },
            },
        ),
    };
    let base = match base.strip_prefix("string<=") {
        Some(bound) => bound.parse::<u32>().ok().map(|_| "string")?,
        None => base,
    };
    (!base.is_empty()).then_some((base, array))
}

fn is_string_type(type_text: &str) -> bool {
    type_text == "string" || type_text.starts_with("string<=")
}

/// Returns the part of `line` after the type.
fn after_type(line: &str) -> Option<&str> {
    Some(line.trim_start().split_once(char::is_whitespace)?.1)
}

fn invalid_line(line: &str) -> logtool_core::Error {
    let line: String = line.trim().chars().take(80).collect();
    malformed(format!("the line {line:?} is neither a field nor a constant"))
}
