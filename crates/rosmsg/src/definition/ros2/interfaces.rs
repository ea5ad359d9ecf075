//! Types that a service or an action of ROS 2 implies. rosbag2 stores the text of the service or
//! the action as their definition.
//!
//! ```text
//! int64 a                pkg/srv/Add_Event      ServiceEventInfo info
//! ---                                           Add_Request[<=1] request
//! int64 sum                                     Add_Response[<=1] response
//! ```
//!
//! | type | fields |
//! |---|---|
//! | `pkg/srv/X_Event` | the event, the request, the response |
//! | `pkg/action/X_FeedbackMessage` | the id of the goal, the feedback |
//! | `pkg/action/X_SendGoal_Event` | the event; the id and the goal; whether it is accepted, and when |
//! | `pkg/action/X_GetResult_Event` | the event; the id; the status and the result |
//!
//! (ROS 2, "Interface definition using .msg / .srv / .action", REP 2012, `rosidl_parser`.)

use logtool_core::{Error, ErrorKind, Result};

/// The line between the sections of a service or an action.
const SECTION_SEPARATOR: &str = "---";

/// The types of events and ids, without comments.
const EVENT_INFO: (&str, &str) = (
    "service_msgs/ServiceEventInfo",
    "uint8 REQUEST_SENT=0\n\
     uint8 REQUEST_RECEIVED=1\n\
     uint8 RESPONSE_SENT=2\n\
     uint8 RESPONSE_RECEIVED=3\n\
     uint8 event_type\n\
     builtin_interfaces/Time stamp\n\
     uint8[16] client_gid\n\
     int64 sequence_number\n",
);
const UUID: (&str, &str) = ("unique_identifier_msgs/UUID", "uint8[16] uuid\n");

/// The fields with which each event of a service begins.
const EVENT_FIELD: &str = "service_msgs/ServiceEventInfo info\n";

/// The field with the id of a goal.
const GOAL_FIELD: &str = "unique_identifier_msgs/UUID goal_id\n";

/// Returns the definition (`ros2msg`) of `type_name`, if `text` is that of its service or action.
///
/// # Errors
/// `Unsupported` if `text` is that of a service or an action which does not have such a type.
pub(in crate::definition) fn definition(
    type_name: &str,
    text: &str,
) -> Result<Option<String>> {
    let (sections, other_types) = split(text);
    let [first, second, ..] = sections.as_slice() else { return Ok(None) };
    let unsupported = || {
        let message = format!(
            "its definition is that of a service or an action, which has no known type \
             {type_name:?}"
        );
        Error::new(ErrorKind::Unsupported, message)
    };
    let (package, name) = type_name.split_once('/').ok_or_else(unsupported)?;
    let name =
        name.strip_prefix("srv/").or(name.strip_prefix("action/")).unwrap_or(name);
    let third = sections.get(2);
    let (prefix, fields, types) =
        if let Some(prefix) = name.strip_suffix("_FeedbackMessage") {
            let feedback = third.ok_or_else(unsupported)?;
            let fields = format!("{GOAL_FIELD}{package}/{prefix}_Feedback feedback\n");
            (prefix, fields, vec![("_Feedback", feedback.clone())])
        } else if let Some(prefix) = name.strip_suffix("_Event") {
            let (request, response) = match third {
                None => (first.clone(), second.clone()),
                Some(_) => action_sections(package, prefix).ok_or_else(unsupported)?,
            };
            let fields = format!(
                "{EVENT_FIELD}{package}/{prefix}_Request[<=1] request\n\
             {package}/{prefix}_Response[<=1] response\n"
            );
            (prefix, fields, vec![("_Request", request), ("_Response", response)])
        } else {
            return Err(unsupported());
        };
    let mut definition = fields;
    let mut add_type = |name: &str, fields: &str| {
        definition.push_str(&format!("{}\nMSG: {name}\n{fields}\n", "=".repeat(80)));
    };
    for (suffix, section) in types {
        add_type(&format!("{package}/{prefix}{suffix}"), &section);
    }
    if third.is_some() {
        let action =
            prefix.trim_end_matches("_SendGoal").trim_end_matches("_GetResult");
        add_type(&format!("{package}/{action}_Goal"), first);
        add_type(&format!("{package}/{action}_Result"), second);
    }
    let is_defined = |name: &str| {
        let (package, short_name) = name.split_once('/').unwrap_or_default();
        let mut lines =
            other_types.lines().filter_map(|line| line.trim().strip_prefix("MSG:"));
        lines.any(|line| {
            let line = line.trim();
            line == name || line == format!("{package}/msg/{short_name}")
        })
    };
    for (name, fields) in [EVENT_INFO, UUID] {
        if !is_defined(name) {
            add_type(name, fields);
        }
    }
    definition.push_str(other_types);
    Ok(Some(definition))
}

/// Returns the request and the response of the service called `prefix` of an action, e.g.
/// `Fibonacci_SendGoal`.
fn action_sections(package: &str, prefix: &str) -> Option<(String, String)> {
    if let Some(action) = prefix.strip_suffix("_SendGoal") {
        let request = format!("{GOAL_FIELD}{package}/{action}_Goal goal\n");
        return Some((
            request,
            "bool accepted\nbuiltin_interfaces/Time stamp\n".into(),
        ));
    }
    let action = prefix.strip_suffix("_GetResult")?;
    let response = format!("int8 status\n{package}/{action}_Result result\n");
    Some((GOAL_FIELD.into(), response))
}

/// Splits `text` into the sections of its first type, and the definitions of the other types.
fn split(text: &str) -> (Vec<String>, &str) {
    let mut sections = vec![String::new()];
    let mut position = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim();
        if code.len() > 1 && code.bytes().all(|byte| byte == b'=') {
            break;
        }
        position += line.len();
        if code == SECTION_SEPARATOR {
            sections.push(String::new());
        } else if let Some(section) = sections.last_mut() {
            section.push_str(line);
        }
    }
    (sections, text.get(position..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::Definition;

    fn columns(type_name: &str, text: &str) -> Vec<String> {
        let layout = Definition::parse_ros2(type_name, text).unwrap().layout().unwrap();
        layout.fields.iter().map(|field| field.name.clone()).collect()
    }

    #[test]
    fn event_of_a_service_has_its_request_and_response() {
        let text = "# a sum\nint64 a\nPoint p\n---\nint64 sum\n================\n\
                    MSG: pkg/Point\nfloat64 x\n";
        let definition = Definition::parse_ros2("pkg/srv/Add_Event", text).unwrap();
        let layout = definition.layout().unwrap();
        let names: Vec<_> = layout.fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["info", "request", "response"]);
        let labels = definition.labels();
        let events = labels.get("service_msgs/ServiceEventInfo", "event_type").unwrap();
        assert_eq!(events[&3], "RESPONSE_RECEIVED");
        // A request or a response without fields is a list of types without fields.
        assert_eq!(layout.count_column(), None);
        let trigger =
            Definition::parse_ros2("std_srvs/srv/Trigger_Event", "---\nbool ok\n");
        let layout = trigger.unwrap().layout().unwrap();
        assert!(layout.count_column().unwrap().contains("request"));
    }

    #[test]
    fn types_of_actions_are_read() {
        let text =
            "int32 order\n---\nint32[] sequence\n---\nint32[] partial_sequence\n";
        let feedback = columns("pkg/action/Fib_FeedbackMessage", text);
        assert_eq!(feedback, ["goal_id", "feedback"]);
        let service = ["info", "request", "response"];
        assert_eq!(columns("pkg/action/Fib_SendGoal_Event", text), service);
        assert_eq!(columns("pkg/action/Fib_GetResult_Event", text), service);
    }

    #[test]
    fn other_types_of_services_are_unsupported_and_messages_unchanged() {
        let unknown = Definition::parse_ros2("pkg/srv/Add", "int8 a\n---\nint8 b\n");
        assert_eq!(unknown.unwrap_err().kind(), logtool_core::ErrorKind::Unsupported);
        assert_eq!(super::definition("pkg/msg/A", "int8 a\n").unwrap(), None);
    }
}
