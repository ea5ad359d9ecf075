//! Converting definitions of ROS 1 to ROS 2, and types of ROS 2 to their equivalents in ROS 1.
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
//! | `visualization_msgs/Marker` | the same name, with additional fields for a texture and a mesh file |
//! | `rosgraph_msgs/Log` | `rcl_interfaces/Log`, without `frame_id` and `topics`, with other levels |
//!
//! (Sources: the packages of ROS 2 with these names; their mapping rules for ros1_bridge; for
//! `tfMessage`, the converter of rosbags.) Other names are changed if ROS 2 does not allow them: see
//! [`names`].

pub(super) mod interfaces;
pub(crate) mod marker;
pub(super) mod names;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use logtool_core::Result;

use crate::definition::{
    MessageType,
    line::{Constant, Field},
    ros2::{marker::AddedFields, names::Renames},
    scope::{Base, SIGNED_TIME, Scope},
};

/// The fields with another name in ROS 2: the type, the name in ROS 1, and the name in ROS 2.
const RENAMED_FIELDS: [(&str, &str, &str); 5] = [
    ("sensor_msgs/CameraInfo", "D", "d"),
    ("sensor_msgs/CameraInfo", "K", "k"),
    ("sensor_msgs/CameraInfo", "R", "r"),
    ("sensor_msgs/CameraInfo", "P", "p"),
    ("stereo_msgs/DisparityImage", "T", "t"),
];

/// The built-in types of ROS 1 that are message types in ROS 2, and these message types.
const TIMES: [(&str, &str); 2] =
    [("time", "builtin_interfaces/Time"), ("duration", "builtin_interfaces/Duration")];

/// The fields of both times in ROS 2.
const TIME_FIELDS: &str = "int32 sec\nuint32 nanosec\n";

/// The field that ROS 2 adds to a type without fields.
const DUMMY: &str = "structure_needs_at_least_one_member";

/// The type of unique ids in ROS 1 and in ROS 2.
const UNIQUE_ID: (&str, &str) = ("uuid_msgs/UniqueID", "unique_identifier_msgs/UUID");

/// Types with another name and the same bytes in ROS 2.
const RENAMED_TYPES: [(&str, &str); 4] = [
    ("tf/tfMessage", "tf2_msgs/TFMessage"),
    UNIQUE_ID,
    ("std_msgs/Time", "builtin_interfaces/Time"),
    ("std_msgs/Duration", "builtin_interfaces/Duration"),
];

/// The type of the log messages of nodes in ROS 1 and in ROS 2.
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

/// New names for the fields of a type.
pub(super) struct FieldRenames(Renames);

impl FieldRenames {
    /// Returns the renames for `message_type` of ROS 1.
    pub(super) fn to_ros2(message_type: &MessageType) -> Self {
        Self(Renames::of_fields(message_type))
    }

    /// Returns the renames for `message_type` of ROS 2.
    pub(super) fn to_ros1(message_type: &MessageType) -> Self {
        let mut renames = Renames::default();
        for (type_name, ros1, ros2) in RENAMED_FIELDS {
            // Two fields must not get the same name.
            let is_free = !message_type.fields.iter().any(|field| field.name == ros1);
            if type_name == message_type.name && is_free {
                renames.insert(ros2, ros1.to_owned());
            }
        }
        Self(renames)
    }

    /// Returns the new name of the field `name`.
    pub(super) fn apply<'n>(&'n self, name: &'n str) -> &'n str {
        self.0.apply(name)
    }
}

/// Returns the name that ROS 2 gave to the field `name` of `message_type` of ROS 1, if it changed
/// it.
fn new_name_of_field(message_type: &MessageType, name: &str) -> Option<&'static str> {
    let is_renamed = |(type_name, ros1, _): &(&str, &str, &str)| {
        *type_name == message_type.name && *ros1 == name
    };
    RENAMED_FIELDS.into_iter().find(is_renamed).map(|(_, _, ros2)| ros2)
}

/// Returns the name that ROS 2 gave to the type `name` of ROS 1, if it changed it.
fn new_name_of_type(name: &str) -> Option<&'static str> {
    RENAMED_TYPES.into_iter().find(|(ros1, _)| *ros1 == name).map(|(_, ros2)| ros2)
}

/// Returns the full ROS 2 name, with `msg`, of the first of `types`, which are of ROS 1.
pub(super) fn full_name(types: &[MessageType]) -> String {
    let renames = Renames::of_types(types);
    let name =
        types.first().map_or("", |message_type| renames.apply(&message_type.name));
    match name.split_once('/') {
        Some((package, message_type)) => format!("{package}/msg/{message_type}"),
        None => name.to_owned(),
    }
}

/// If `message_type` is a time type of ROS 2, returns the ROS 1 message type with the same fields.
pub(super) fn ros1_time_message(message_type: &MessageType) -> Option<&'static str> {
    let has_time_name = TIMES.iter().any(|(_, ros2)| *ros2 == message_type.name);
    let renamed = RENAMED_TYPES.iter().find(|(_, ros2)| *ros2 == message_type.name);
    renamed
        .filter(|_| has_time_name && has_time_fields(message_type))
        .map(|(ros1, _)| *ros1)
}

/// If `message_type` is a ROS 1 message type that only contains a time, returns the index of the
/// time in [`TIMES`]: ROS 2 has the time type itself instead.
fn wrapped_time(message_type: &MessageType) -> Option<usize> {
    let [field] = message_type.fields.as_slice() else { return None };
    let is_wrapper =
        ["std_msgs/Time", "std_msgs/Duration"].contains(&message_type.name.as_str());
    let time = TIMES.iter().position(|(ros1, _)| *ros1 == field.type_text);
    time.filter(|_| is_wrapper)
}

/// Returns the ROS 2 definition of the first of `types`, which are of ROS 1.
pub(super) fn text(types: &[MessageType]) -> Result<String> {
    let scope = Scope::new(types);
    scope.check()?;
    let type_names = Renames::of_types(types);
    let mut text = String::new();
    let mut is_time_used = [false; TIMES.len()];
    let mut has_marker = false;
    let (mut visited, mut next) = (HashSet::from([0]), vec![0]);
    while let Some(index) = next.pop() {
        let Some(message_type) = types.get(index) else { continue };
        if let Some(time) = wrapped_time(message_type) {
            match index {
                0 => text.push_str(TIME_FIELDS),
                _ => is_time_used[time] = true,
            }
            continue;
        }
        if index > 0 {
            push_type_header(&mut text, type_names.apply(&message_type.name));
        }
        let constant_names = Renames::of_constants(message_type);
        for constant in &message_type.constants {
            text.push_str(&constant_line(constant, &constant_names));
        }
        let renames = FieldRenames::to_ros2(message_type);
        let names = message_type.fields.iter().map(|field| field.name.as_str());
        let is_marker = marker::is_marker(&message_type.name, names);
        let mut inner_types = Vec::new();
        for field in message_type.fields.iter().skip(usize::from(has_seq(message_type)))
        {
            let base = match scope.base(index, field)? {
                Base::Type(inner) => {
                    inner_types.push(inner);
                    types.get(inner).map_or("", |inner| type_names.apply(&inner.name))
                }
                Base::BuiltIn(_) if field.base == "char" => "uint8",
                Base::BuiltIn(_) => {
                    match TIMES.iter().position(|(ros1, _)| *ros1 == field.base) {
                        Some(time) => {
                            is_time_used[time] = true;
                            TIMES[time].1
                        }
                        None => field.base.as_str(),
                    }
                }
            };
            let type_text = field.type_text.replacen(&field.base, base, 1);
            text.push_str(&format!("{type_text} {}\n", renames.apply(&field.name)));
            let added_fields = marker::added_after(&field.name).filter(|_| is_marker);
            text.push_str(added_fields.map_or("", AddedFields::text));
        }
        has_marker |= is_marker;
        next.extend(
            inner_types.into_iter().rev().filter(|inner| visited.insert(*inner)),
        );
    }
    for (name, fields) in marker::TYPES.iter().filter(|_| has_marker) {
        // The header of the texture, which is one of these types, contains a time.
        is_time_used[0] = true;
        if !text.contains(&format!("MSG: {name}\n")) {
            push_type_header(&mut text, name);
            text.push_str(fields);
        }
    }
    for ((_, name), is_used) in TIMES.iter().zip(is_time_used) {
        if is_used {
            push_type_header(&mut text, name);
            text.push_str(TIME_FIELDS);
        }
    }
    Ok(text)
}

/// Converts `types`, which are of ROS 2, to their equivalents in ROS 1.
pub(super) fn to_ros1_types(types: &mut [MessageType]) {
    // A type with the name of a time but other fields is not a time.
    let other_types = types
        .iter()
        .filter(|message_type| !has_time_fields(message_type))
        .map(|message_type| message_type.name.clone());
    let other_types: HashSet<String> = other_types.collect();
    for message_type in types {
        let is_dummy =
            |field: &Field| (&*field.type_text, &*field.name) == ("uint8", DUMMY);
        if let [only_field] = message_type.fields.as_slice()
            && is_dummy(only_field)
        {
            message_type.fields.clear();
        }
        let package =
            message_type.name.split_once('/').map_or("", |(package, _)| package);
        for field in &mut message_type.fields {
            let full_name = if field.base.contains('/') {
                field.base.replacen("/msg/", "/", 1)
            } else {
                format!("{package}/{}", field.base)
            };
            let is_field_type =
                |ros2: &str| ros2 == full_name && !other_types.contains(ros2);
            let time = TIMES.iter().find(|(_, ros2)| is_field_type(ros2));
            let Some((ros1, _)) = time else { continue };
            field.type_text = field.type_text.replacen(&field.base, ros1, 1);
            (*ros1).clone_into(&mut field.base);
        }
    }
}

/// Returns the index of the type in `types` that has the fields that ROS 2 adds to its equivalent
/// in ROS 1.
pub(super) fn type_with_added_fields(types: &[MessageType]) -> Option<usize> {
    types.iter().position(|message_type| {
        let names = message_type.fields.iter().map(|field| field.name.as_str());
        marker::is_ros2_marker(&message_type.name, names)
    })
}

/// Removes from the ROS 2 definitions `types` the fields that ROS 1 lacks.
pub(super) fn remove_added_fields(types: &mut [MessageType]) {
    if let Some(message_type) =
        type_with_added_fields(types).and_then(|index| types.get_mut(index))
    {
        message_type.fields.retain(|field| !marker::is_added(&field.name));
    }
}

/// Renames the type of unique ids in `types`, which are of ROS 2, to its name in ROS 1.
pub(super) fn rename_unique_ids(types: &mut [MessageType]) {
    let (ros1, ros2) = UNIQUE_ID;
    let is_unique_id = |message_type: &MessageType| {
        let fields =
            message_type.fields.iter().map(|field| (&*field.type_text, &*field.name));
        message_type.name == ros2 && fields.eq([("uint8[16]", "uuid")])
    };
    let Some(index) = types.iter().position(is_unique_id) else { return };
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

/// Restores the signs that types of ROS 2 lost by their conversion to ROS 1, so that layouts have
/// them: the seconds of a time are signed in ROS 2, and a `byte` is unsigned.
pub(super) fn restore_signs(types: &mut [MessageType]) {
    for field in types.iter_mut().flat_map(|message_type| &mut message_type.fields) {
        let base = match field.base.as_str() {
            "byte" => "uint8",
            "time" => SIGNED_TIME,
            _ => continue,
        };
        field.type_text = field.type_text.replacen(&field.base, base, 1);
        base.clone_into(&mut field.base);
    }
}

/// Returns whether `message_type` has the fields of a time in ROS 2.
fn has_time_fields(message_type: &MessageType) -> bool {
    let types = message_type.fields.iter().map(|field| field.type_text.as_str());
    types.eq(["int32", "uint32"])
}

/// Returns whether `message_type` is a header that begins with `seq`, which only ROS 1 has.
fn has_seq(message_type: &MessageType) -> bool {
    let first = message_type.fields.first().filter(|_| message_type.fields.len() > 1);
    let is_seq = |field: &Field| (&*field.type_text, &*field.name) == ("uint32", "seq");
    message_type.name == "std_msgs/Header" && first.is_some_and(is_seq)
}

/// Returns the line of a ROS 2 definition for `constant`, which is of ROS 1.
fn constant_line(constant: &Constant, names: &Renames) -> String {
    let Constant { type_name, name, value } = constant;
    let name = names.apply(name);
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
