//! The names of states in plots.

use std::collections::BTreeMap;

use logtool_core::{FieldLabels, Labels, LayoutKind, Manifest, Topic, ValueType};
use logtool_protobuf::{FileSet, MessageReader};
use logtool_rosmsg::{Definition, Encoding};

use crate::records::signals::{RequestedSignal, ValuePart};

/// Returns the names of the values of a signal, [without common words](without_common_words). They are
/// empty unless it is a state with names.
pub(super) fn of(
    labels: &Labels,
    manifest: &Manifest,
    signal: &RequestedSignal,
) -> BTreeMap<i64, String> {
    // The number of elements of a list of states is not a state.
    let is_count = signal.inputs.iter().any(|input| input.part == ValuePart::Count);
    let topic = manifest.topic(signal.topic).ok().filter(|_| !is_count);
    let names = topic.and_then(|topic| of_column(labels, topic, &signal.field));
    // A single name of a number in several bytes is that of a limit rather than of a state.
    let names = names.filter(|names| signal.is_held || names.len() > 1);
    names.map(without_common_words).unwrap_or_default()
}

/// Returns `names` without the words that all of them start with.
pub(super) fn without_common_words(names: &FieldLabels) -> BTreeMap<i64, String> {
    let start = |name: &String| name.rfind('_').map_or(0, |end| end + 1);
    let first = names.values().next();
    let mut common =
        first.map_or("", |name| name.get(..start(name)).unwrap_or_default());
    while !names.values().all(|name| name.starts_with(common)) {
        let end = common.trim_end_matches('_').rfind('_').map_or(0, |end| end + 1);
        common = common.get(..end).unwrap_or_default();
    }
    let short = |name: &String| name.strip_prefix(common).unwrap_or(name).to_owned();
    names.iter().map(|(value, name)| (*value, short(name))).collect()
}

/// Returns the names of the values of a column in the flat view of `topic`, e.g. of `nav_state`,
/// `current.type` or `actuator_saturation[3]`.
fn of_column<'l>(
    labels: &'l Labels,
    topic: &Topic,
    column: &str,
) -> Option<&'l FieldLabels> {
    let names = column.split('.');
    let mut path: Vec<&str> =
        names.map(|name| name.split('[').next().unwrap_or(name)).collect();
    let field = path.pop()?;
    match path.as_slice() {
        [] => labels.get(&topic.type_name, field),
        path => labels.get(&nested_type(topic, path)?, field),
    }
}

/// Returns the name of the type of the field at `path` in the records of `topic`.
fn nested_type(topic: &Topic, path: &[&str]) -> Option<String> {
    match Encoding::from_name(&topic.encoding) {
        Some(Encoding::Ros1) => {
            let definition =
                Definition::parse(&topic.type_name, &topic.definition).ok()?;
            let mut layout = definition.layout().ok()?;
            for name in path {
                let field = layout.fields.iter().find(|field| field.name == *name)?;
                let LayoutKind::Nested(inner) = &field.kind else { return None };
                layout = inner.clone();
            }
            Some(layout.name.clone())
        }
        Some(Encoding::Protobuf) => {
            let files = FileSet::parse(&topic.descriptor).ok()?;
            let reader = MessageReader::new(&files, &topic.type_name).ok()?;
            let mut own = reader.struct_type();
            for name in path {
                let (_, field) = own.fields.iter().find(|(field, _)| field == name)?;
                let ValueType::Struct(inner) = field else { return None };
                own = inner;
            }
            Some(own.type_name.clone())
        }
        Some(Encoding::Cdr | Encoding::Json) => None,
        // A ULog, or a format without nested types.
        None => {
            let mut message = None;
            for name in path {
                message = Some(ulog_field_type(&topic.definition, message, name)?);
            }
            message.map(str::to_owned)
        }
    }
}

/// Returns the type of the field `name` of the type `message`, or of the records if that is `None`, in
/// the definition of a topic of a ULog. Its first line has the fields of the records; each other line
/// has a nested type, e.g. `position_setpoint:uint64_t timestamp;uint8_t type;`.
fn ulog_field_type<'d>(
    definition: &'d str,
    message: Option<&str>,
    name: &str,
) -> Option<&'d str> {
    let mut lines = definition.lines();
    let fields = match message {
        None => lines.next()?,
        Some(message) => lines
            .skip(1)
            .find_map(|line| line.strip_prefix(message)?.strip_prefix(':'))?,
    };
    let mut fields = fields.split(';').filter_map(|field| field.rsplit_once(' '));
    let (own, _) = fields.find(|(_, field)| *field == name)?;
    own.split('[').next()
}

#[cfg(test)]
mod tests {
    use logtool_core::raw_schema;
    use logtool_protobuf::{Enum, Field, File, Message, kind};

    use super::*;

    #[test]
    fn words_that_all_names_start_with_are_left_out() {
        let short = |names: &[&str]| {
            let names = (0..).zip(names.iter().map(|name| (*name).to_owned()));
            let short = without_common_words(&names.collect());
            short.into_values().collect::<Vec<_>>()
        };
        // PositionSetpoint.msg, and BatteryStatus.msg, whose names have two beginnings.
        assert_eq!(
            short(&["SETPOINT_TYPE_POSITION", "SETPOINT_TYPE_LOITER"]),
            ["POSITION", "LOITER"]
        );
        assert_eq!(
            short(&["BATTERY_WARNING_LOW", "BATTERY_STATE_CHARGING"]),
            ["WARNING_LOW", "STATE_CHARGING"]
        );
        assert_eq!(short(&["MANUAL", "MANUAL_CLIMB"]), ["MANUAL", "MANUAL_CLIMB"]);
        assert_eq!(short(&["ALT_TYPE_MSL"]), ["MSL"]);
        assert_eq!(short(&[]), [""; 0]);
    }

    /// Returns the name that the value 2 has in a column, if `MODE_TWO` is the name of the value in
    /// the field `mode` of the type `inner`.
    fn name_of_two(topic: &Topic, inner: &str, column: &str) -> Option<String> {
        let mut labels = Labels::default();
        labels.insert(inner, "mode", 2, "MODE_TWO".to_owned());
        of_column(&labels, topic, column)?.get(&2).cloned()
    }

    fn topic(encoding: &str, type_name: &str, definition: &str) -> Topic {
        Topic {
            encoding: encoding.to_owned(),
            type_name: type_name.to_owned(),
            definition: definition.to_owned(),
            ..Topic::new("t".to_owned(), raw_schema("us"))
        }
    }

    #[test]
    fn column_of_a_nested_type_has_the_names_of_its_field() {
        let ulog = topic(
            "ulog",
            "outer",
            "uint64_t timestamp;inner[2] list;inner one;other another;uint8_t[3] mode;\n\
             inner:uint8_t mode;deep below;\ndeep:uint8_t mode;\nother:uint8_t mode;",
        );
        let ros1 = topic(
            "ros1",
            "pkg/Outer",
            "pkg/Inner[2] list\npkg/Inner one\npkg/Other another\nuint8[3] mode\n\
             ===\nMSG: pkg/Inner\nuint8 mode\npkg/Deep below\n\
             ===\nMSG: pkg/Deep\nuint8 mode\n===\nMSG: pkg/Other\nuint8 mode",
        );
        for (topic, types) in [
            (ulog, ["outer", "inner", "deep"]),
            (ros1, ["pkg/Outer", "pkg/Inner", "pkg/Deep"]),
        ] {
            let columns = ["mode[1]", "one.mode", "list[1].mode", "one.below.mode"];
            let owners = [types[0], types[1], types[1], types[2]];
            for (column, owner) in columns.into_iter().zip(owners) {
                for inner in types {
                    let found = name_of_two(&topic, inner, column);
                    assert_eq!(found.is_some(), inner == owner, "{column} {inner}");
                }
            }
            for column in ["another.mode", "absent.mode", "one.absent", "one", ""] {
                assert_eq!(name_of_two(&topic, types[1], column), None, "{column}");
            }
        }
    }

    #[test]
    fn column_of_a_nested_protobuf_message_has_the_names_of_its_field() {
        let mode = Field::new("mode", 1, kind::ENUM).with_type_name(".pkg.Mode");
        let one = Field::new("one", 1, kind::MESSAGE).with_type_name(".pkg.Inner");
        let message = |name: &str, fields| Message {
            name: name.to_owned(),
            fields,
            ..Message::default()
        };
        let values = vec![("MODE_ZERO".to_owned(), 0), ("MODE_TWO".to_owned(), 2)];
        let file = File {
            name: "pkg.proto".to_owned(),
            package: "pkg".to_owned(),
            messages: vec![message("Outer", vec![one]), message("Inner", vec![mode])],
            enums: vec![Enum { name: "Mode".to_owned(), values }],
            ..File::default()
        };
        let files = FileSet { files: vec![file] };
        let mut topic = topic("protobuf", "pkg.Outer", "");
        topic.descriptor = files.to_bytes();
        let labels = logtool_protobuf::labels(&files);
        let names = of_column(&labels, &topic, "one.mode").unwrap();
        assert_eq!(names.get(&2).map(String::as_str), Some("MODE_TWO"));
        assert_eq!(of_column(&labels, &topic, "mode"), None);
    }
}
