//! `visualization_msgs/Marker`, which has more fields in ROS 2 than in ROS 1.
//!
//! When messages of ROS 1 are converted, these fields are empty. (ROS 2 Humble and Jazzy,
//! `visualization_msgs`.)

/// The name of the type.
const NAME: &str = "visualization_msgs/Marker";

/// The names of its fields in ROS 1.
const FIELDS: [&str; 15] = [
    "header",
    "ns",
    "id",
    "type",
    "action",
    "pose",
    "scale",
    "color",
    "lifetime",
    "frame_locked",
    "points",
    "colors",
    "text",
    "mesh_resource",
    "mesh_use_embedded_materials",
];

/// Fields that ROS 2 adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddedFields {
    /// `texture_resource`, `texture` and `uv_coordinates`.
    Texture,
    /// `mesh_file`.
    MeshFile,
}

/// The types of the added fields, with their definitions, except for times, which are always
/// defined last.
pub(super) const TYPES: [(&str, &str); 4] = [
    ("std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id\n"),
    (
        "sensor_msgs/CompressedImage",
        "std_msgs/Header header\nstring format\nuint8[] data\n",
    ),
    ("visualization_msgs/UVCoordinate", "float32 u\nfloat32 v\n"),
    ("visualization_msgs/MeshFile", "string filename\nuint8[] data\n"),
];

/// Returns whether a type with this name and these field names is the type of ROS 1.
pub(crate) fn is_marker<'f>(
    name: &str,
    fields: impl IntoIterator<Item = &'f str>,
) -> bool {
    name == NAME && fields.into_iter().eq(FIELDS)
}

/// The fields that ROS 2 adds: the name of the preceding field, and the name of the added field.
const ADDED: [(&str, &str); 4] = [
    ("colors", "texture_resource"),
    ("texture_resource", "texture"),
    ("texture", "uv_coordinates"),
    ("mesh_resource", "mesh_file"),
];

/// Returns whether a type with this name and these field names is the type of ROS 2.
pub(super) fn is_ros2_marker<'f>(
    name: &str,
    fields: impl IntoIterator<Item = &'f str>,
) -> bool {
    let (mut previous_field, mut added_count) = ("", 0);
    let other_fields = fields.into_iter().filter(|field| {
        let is_added = ADDED.contains(&(previous_field, *field));
        previous_field = *field;
        added_count += usize::from(is_added);
        !is_added
    });
    // The comparison also counts the added fields.
    let has_ros1_fields = is_marker(name, other_fields);
    has_ros1_fields && added_count == ADDED.len()
}

/// Returns whether ROS 2 adds `field` to the type.
pub(super) fn is_added(field: &str) -> bool {
    ADDED.iter().any(|(_, added)| *added == field)
}

/// Returns the fields that ROS 2 adds to the type after `field`.
pub(crate) fn added_after(field: &str) -> Option<AddedFields> {
    match field {
        "colors" => Some(AddedFields::Texture),
        "mesh_resource" => Some(AddedFields::MeshFile),
        _ => None,
    }
}

impl AddedFields {
    /// Returns the lines that define the fields.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Texture => {
                "string texture_resource\nsensor_msgs/CompressedImage texture\n\
                 visualization_msgs/UVCoordinate[] uv_coordinates\n"
            }
            Self::MeshFile => "visualization_msgs/MeshFile mesh_file\n",
        }
    }
}
