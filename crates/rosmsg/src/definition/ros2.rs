//! Converting definitions of ROS 1 to ROS 2, and interpreting those of ROS 2.
//!
//! | ROS 1 | ROS 2 |
//! |---|---|
//! | type `pkg/Type` | `pkg/msg/Type`; in definitions `pkg/Type` as well |
//! | `time`, `duration` | `builtin_interfaces/Time`, `Duration` |
//! | `char` | `uint8` |
//! | `byte` (`int8`) | `byte` (`uint8`): the same bits |
//! | `uint32 seq` of `std_msgs/Header` | dropped |
//! | `D` `K` `R` `P` of `sensor_msgs/CameraInfo` | `d` `k` `r` `p` |
//! | `T` of `stereo_msgs/DisparityImage` | `t` |
//! | `tf/tfMessage` | `tf2_msgs/TFMessage`, which has the same field |
//! | `uuid_msgs/UniqueID` | `unique_identifier_msgs/UUID`, which has the same field |
//! | `std_msgs/Time`, `Duration` | `builtin_interfaces/Time`, `Duration` |
//! | `visualization_msgs/Marker` | the same, with a texture and a mesh file |
//! | `rosgraph_msgs/Log` | `rcl_interfaces/Log`, without `frame_id` and `topics`, with other levels |
//!
//! (The packages of ROS 2 with these names; their mapping rules for ros1_bridge; the converter of
//! rosbags for `tfMessage`.) Other field names are kept, although ROS 2 requires lower case: see
//! [`names`].

pub(crate) mod marker;
pub(super) mod names;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use logtool_core::Result;

use crate::definition::{
    MessageType,
    line::{Constant, Field},
    ros2::marker::AddedFields,
    scope::{Base, SIGNED_TIME, Scope},
};

/// Fields with another name in ROS 2.
pub(super) const RENAMED: [(&str, &str, &str); 5] = [
    ("sensor_msgs/CameraInfo", "D", "d"),
    ("sensor_msgs/CameraInfo", "K", "k"),
    ("sensor_msgs/CameraInfo", "R", "r"),
    ("sensor_msgs/CameraInfo", "P", "p"),
    ("stereo_msgs/DisparityImage", "T", "t"),
];

/// The built-in types of ROS 1 that are message types in ROS 2.
const TIMES: [(&str, &str, &str); 2] = [
    ("time", "builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n"),
    ("duration", "builtin_interfaces/Duration", "int32 sec\nuint32 nanosec\n"),
];

/// The only field of a type without fields.
const DUMMY: &str = "structure_needs_at_least_one_member";

/// The type of identifiers in ROS 1 and in ROS 2.
const IDS: (&str, &str) = ("uuid_msgs/UniqueID", "unique_identifier_msgs/UUID");

/// Types with another name and the same bytes in ROS 2.
const RENAMED_TYPES: [(&str, &str); 4] = [
    ("tf/tfMessage", "tf2_msgs/TFMessage"),
    IDS,
    ("std_msgs/Time", "builtin_interfaces/Time"),
    ("std_msgs/Duration", "builtin_interfaces/Duration"),
];

/// The log messages of nodes in ROS 1 and in ROS 2.
pub(super) const LOG: (&str, &str) = ("rosgraph_msgs/Log", "rcl_interfaces/Log");

/// The definition of `rcl_interfaces/Log`, without comments.
pub(super) const LOG_TEXT: &str = "\
byte DEBUG=10
byte INFO=20
byte WARN=30
byte ERROR=40
byte FATAL=50
builtin_interfaces/Time stamp
uint8 level
string name
string msg
string file
string function
uint32 line
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
";

/// Returns the name in ROS 2 definitions of the ROS 1 type `name`.
pub(super) fn type_name(name: &str) -> &str {
    let renamed = RENAMED_TYPES.iter().find(|(ros1, _)| *ros1 == name);
    renamed.map_or(name, |(_, ros2)| ros2)
}

/// Returns the full ROS 2 name, with `msg`, of the ROS 1 type `name`.
pub(super) fn name(name: &str) -> String {
    match type_name(name).split_once('/') {
        Some((package, message_type)) => format!("{package}/msg/{message_type}"),
        None => name.to_owned(),
    }
}

/// Returns the ROS 1 type whose messages equal those of `message_type`, a time of ROS 2.
pub(super) fn ros1_time(message_type: &MessageType) -> Option<&'static str> {
    let renamed = RENAMED_TYPES.iter().find(|(_, ros2)| *ros2 == message_type.name);
    let is_time = TIMES.iter().any(|(_, ros2, _)| *ros2 == message_type.name)
        && is_time(message_type);
    renamed.filter(|_| is_time).map(|(ros1, _)| *ros1)
}

/// Returns the ROS 1 time that is the only field of `message_type`, if ROS 2 has the time type
/// itself instead.
fn only_time(message_type: &MessageType) -> Option<usize> {
    let [field] = message_type.fields.as_slice() else { return None };
    let is_time =
        ["std_msgs/Time", "std_msgs/Duration"].contains(&message_type.name.as_str());
    let index = TIMES.iter().position(|(ros1, ..)| *ros1 == field.type_text);
    index.filter(|_| is_time)
}

/// Returns the ROS 2 definition of the first of `types`, which are of ROS 1.
pub(super) fn text(types: &[MessageType]) -> Result<String> {
    let scope = Scope::new(types);
    // Checks that no type is missing, and that none contains itself.
    scope.fold(&|_, _| Ok(()))?;
    let mut text = String::new();
    let mut times = [false; TIMES.len()];
    let mut has_marker = false;
    let (mut visited, mut next) = (HashSet::from([0]), vec![0]);
    while let Some(index) = next.pop() {
        let Some(message_type) = types.get(index) else { continue };
        if let Some(time) = only_time(message_type) {
            match index {
                0 => text.push_str(TIMES[time].2),
                _ => times[time] = true,
            }
            continue;
        }
        if index > 0 {
            push_type_header(&mut text, type_name(&message_type.name));
        }
        message_type
            .constants
            .iter()
            .for_each(|constant| text.push_str(&line(constant)));
        let names = message_type.fields.iter().map(|field| field.name.as_str());
        let is_marker = marker::is_marker(&message_type.name, names);
        let mut inner_types = Vec::new();
        for field in message_type.fields.iter().skip(usize::from(has_seq(message_type)))
        {
            let base = match scope.base(index, field)? {
                Base::Type(inner) => {
                    inner_types.push(inner);
                    types.get(inner).map_or("", |inner| type_name(&inner.name))
                }
                Base::BuiltIn(_) if field.base == "char" => "uint8",
                Base::BuiltIn(_) => {
                    let equivalents = TIMES.iter().zip(&mut times);
                    let mut equivalents =
                        equivalents.filter(|((ros1, ..), _)| *ros1 == field.base);
                    equivalents.next().map_or(
                        field.base.as_str(),
                        |((_, ros2, _), is_used)| {
                            *is_used = true;
                            ros2
                        },
                    )
                }
            };
            let type_text = field.type_text.replacen(&field.base, base, 1);
            text.push_str(&format!(
                "{type_text} {}\n",
                field_name(message_type, field)
            ));
            let added_fields = marker::added_after(&field.name).filter(|_| is_marker);
            text.push_str(added_fields.map_or("", AddedFields::text));
        }
        has_marker |= is_marker;
        next.extend(
            inner_types.into_iter().rev().filter(|inner| visited.insert(*inner)),
        );
    }
    for (name, fields) in marker::TYPES.iter().filter(|_| has_marker) {
        times[0] = true; // of the header
        if !text.contains(&format!("MSG: {name}\n")) {
            push_type_header(&mut text, name);
            text.push_str(fields);
        }
    }
    for ((_, name, fields), _) in TIMES.iter().zip(times).filter(|(_, used)| *used) {
        push_type_header(&mut text, name);
        text.push_str(fields);
    }
    Ok(text)
}

/// Converts `types`, which are of ROS 2, to their equivalents in ROS 1.
pub(super) fn to_ros1_types(types: &mut [MessageType]) {
    // Types with these names but other fields; usually there are none.
    let defined_types = types
        .iter()
        .filter(|message_type| !is_time(message_type))
        .map(|message_type| message_type.name.clone());
    let defined_types: HashSet<String> = defined_types.collect();
    for message_type in types {
        let is_dummy =
            |field: &Field| (&*field.type_text, &*field.name) == ("uint8", DUMMY);
        if let [only] = message_type.fields.as_slice()
            && is_dummy(only)
        {
            message_type.fields.clear();
        }
        let package =
            message_type.name.split_once('/').map_or("", |(package, _)| package);
        for field in &mut message_type.fields {
            let full_name = match field.base.contains('/') {
                true => field.base.replacen("/msg/", "/", 1),
                false => format!("{package}/{}", field.base),
            };
            let is_like =
                |ros2: &str| ros2 == full_name && !defined_types.contains(ros2);
            let time = TIMES.iter().find(|(_, ros2, _)| is_like(ros2));
            let Some((ros1, ..)) = time else { continue };
            field.type_text = field.type_text.replacen(&field.base, ros1, 1);
            (*ros1).clone_into(&mut field.base);
        }
    }
}

/// Returns the type of `types` to which ROS 2 adds fields, if it has all of these.
pub(super) fn with_added_fields(types: &[MessageType]) -> Option<usize> {
    types.iter().position(|message_type| {
        let names = message_type.fields.iter().map(|field| field.name.as_str());
        marker::is_ros2_marker(&message_type.name, names)
    })
}

/// Removes from the ROS 2 definitions `types` the fields that ROS 1 lacks.
pub(super) fn remove_added_fields(types: &mut [MessageType]) {
    if let Some(message_type) =
        with_added_fields(types).and_then(|index| types.get_mut(index))
    {
        message_type.fields.retain(|field| !marker::is_added(&field.name));
    }
}

/// Renames the type of identifiers in `types`, which are of ROS 2, to its name in ROS 1.
pub(super) fn rename_ids(types: &mut [MessageType]) {
    let (ros1, ros2) = IDS;
    let is_id = |message_type: &MessageType| {
        let fields =
            message_type.fields.iter().map(|field| (&*field.type_text, &*field.name));
        message_type.name == ros2 && fields.eq([("uint8[16]", "uuid")])
    };
    let Some(index) = types.iter().position(is_id) else { return };
    for field in types.iter_mut().flat_map(|message_type| &mut message_type.fields) {
        if field.base.replacen("/msg/", "/", 1) == ros2 {
            field.type_text = field.type_text.replacen(&field.base, ros1, 1);
            ros1.clone_into(&mut field.base);
        }
    }
    if let Some(message_type) = types.get_mut(index) {
        ros1.clone_into(&mut message_type.name);
    }
}

/// Restores the signs of `types` in a layout where ROS 1 and ROS 2 differ: times, which may be
/// before 1970 in ROS 2, and bytes.
pub(super) fn keep_signs(types: &mut [MessageType]) {
    for field in types.iter_mut().flat_map(|message_type| &mut message_type.fields) {
        let ros1_type = match field.base.as_str() {
            "byte" => "uint8",
            "time" => SIGNED_TIME,
            _ => continue,
        };
        field.type_text = field.type_text.replacen(&field.base, ros1_type, 1);
        ros1_type.clone_into(&mut field.base);
    }
}

/// Returns whether `message_type` has the fields of a time.
fn is_time(message_type: &MessageType) -> bool {
    let types = message_type.fields.iter().map(|field| field.type_text.as_str());
    types.eq(["int32", "uint32"])
}

/// Returns whether the first field of `message_type` exists in ROS 1 only.
fn has_seq(message_type: &MessageType) -> bool {
    let first = message_type.fields.first().filter(|_| message_type.fields.len() > 1);
    let is_seq = |field: &Field| (&*field.type_text, &*field.name) == ("uint32", "seq");
    message_type.name == "std_msgs/Header" && first.is_some_and(is_seq)
}

fn field_name<'f>(message_type: &MessageType, field: &'f Field) -> &'f str {
    let renamed = RENAMED.iter().find(|(owner, ros1, ros2)| {
        let is_free = !message_type.fields.iter().any(|other| other.name == *ros2);
        *owner == message_type.name && *ros1 == field.name && is_free
    });
    renamed.map_or(&field.name, |(_, _, ros2)| ros2)
}

fn line(constant: &Constant) -> String {
    let Constant { type_name, name, value } = constant;
    // A byte is unsigned in ROS 2.
    let value = match (type_name.as_str(), value.parse::<i8>()) {
        ("byte", Ok(number)) => number.cast_unsigned().to_string(),
        _ => value.clone(),
    };
    let type_name = if type_name == "char" { "uint8" } else { type_name };
    format!("{type_name} {name}={value}\n")
}

fn push_type_header(text: &mut String, name: &str) {
    text.push_str(&format!("{}\nMSG: {name}\n", "=".repeat(80)));
}
