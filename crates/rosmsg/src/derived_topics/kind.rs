//! The derived topics of each type of messages.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use logtool_core::{Columns, Layout, LayoutKind, Result, Topic, View};
use logtool_protobuf::PointCloud;

use crate::{
    definition::{Definition, define},
    derived_topics::{
        packet_decoder::packet_schema,
        point_decoder::{PointDecoder, PointSource},
    },
    field_reader::Encoding,
    metadata::TopicMetadata,
    points::PointSchema,
    sensor::{cloud, cloud2, json::JsonCloud, packets, scan},
};

/// The kind of topic that is derived from the messages of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derivation {
    pub(super) kind: DerivedKind,
    /// The encoding of the messages.
    pub(super) encoding: Encoding,
}

/// The kind of derived records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DerivedKind {
    Points(PointSource),
    Packets,
}

impl Derivation {
    /// Returns the derivation for `topic`, by its encoding and its type.
    pub fn from_topic(topic: &Topic) -> Option<Self> {
        match Encoding::from_name(&topic.encoding)? {
            Encoding::Ros1 => {
                let md5sum = TopicMetadata::new(&topic.metadata).md5sum_or_any();
                Self::of_ros1(&topic.type_name, md5sum, || {
                    let described =
                        define(&topic.type_name, md5sum, &topic.definition).ok()?;
                    described.definition.md5sum().ok()
                })
            }
            Encoding::Cdr => Self::from_cdr(&topic.type_name, &topic.definition),
            encoding @ (Encoding::Protobuf | Encoding::Json) => {
                let is_defined = || match encoding {
                    Encoding::Json => JsonCloud::is_defined(&topic.definition),
                    _ => PointCloud::is_defined(&topic.descriptor),
                };
                let is_defined_cloud =
                    topic.type_name == PointCloud::TYPE && is_defined();
                let kind = DerivedKind::Points(PointSource::Packed);
                is_defined_cloud.then_some(Self { kind, encoding })
            }
        }
    }

    /// Returns the derivation for messages of this ROS 1 type: the type of this name is derived
    /// if its declared MD5 sum, or that of its definition (`defined`), is the right one.
    pub fn of_ros1(
        type_name: &str,
        md5sum: &str,
        defined: impl FnOnce() -> Option<String>,
    ) -> Option<Self> {
        let (kind, expected_md5sum) = DerivedKind::for_type(type_name)?;
        let is_kind = md5sum.eq_ignore_ascii_case(expected_md5sum)
            || defined().is_some_and(|sum| sum.eq_ignore_ascii_case(expected_md5sum));
        is_kind.then_some(Self { kind, encoding: Encoding::Ros1 })
    }

    /// Returns the derivation for messages of this ROS 2 type, if `definition` has the same
    /// fields.
    fn from_cdr(type_name: &str, definition: &str) -> Option<Self> {
        let ros1_name = type_name.replacen("/msg/", "/", 1);
        let (kind, md5sum) = DerivedKind::for_type(&ros1_name)?;
        let ros_definition = Definition::by_md5sum(&ros1_name, md5sum)?;
        let layout = |text: &str| Definition::parse_ros2(type_name, text)?.layout();
        let ros_definition = layout(&ros_definition.ros2_text().ok()?).ok()?;
        let declared = layout(definition).ok()?;
        is_like(&ros_definition, &declared)
            .then_some(Self { kind, encoding: Encoding::Cdr })
    }

    /// Returns the suffix of the topic name.
    pub(super) fn suffix(self) -> &'static str {
        match self.kind {
            DerivedKind::Points(_) => "/points",
            DerivedKind::Packets => "/packets",
        }
    }

    /// Returns the columns, as far as they are known without reading messages.
    pub(super) fn schema(self) -> Result<SchemaRef> {
        let DerivedKind::Points(source) = self.kind else { return Ok(packet_schema()) };
        let point_schema = Arc::new(source.point_schema().unwrap_or_default());
        let columns = Columns::new(View::Nested);
        let decoder = PointDecoder::new(source, self.encoding, point_schema, &columns)?;
        Ok(logtool_core::Decoder::schema(&decoder).clone())
    }

    /// Returns the columns of points, if they are the same in all messages.
    pub(super) fn point_schema(self) -> Option<PointSchema> {
        let DerivedKind::Points(source) = self.kind else { return None };
        source.point_schema()
    }

    /// Returns the columns of the points in `payload`, if it declares them.
    pub(super) fn point_schema_of(self, payload: &[u8]) -> Option<PointSchema> {
        let DerivedKind::Points(source) = self.kind else { return None };
        source.point_schema_of(payload, self.encoding)
    }
}

impl DerivedKind {
    /// Returns the kind for records of this type, by its name in ROS 1, and its MD5 sum.
    fn for_type(type_name: &str) -> Option<(Self, &'static str)> {
        Some(match type_name {
            "sensor_msgs/PointCloud2" => {
                (Self::Points(PointSource::Cloud2), cloud2::MD5)
            }
            "sensor_msgs/PointCloud" => (Self::Points(PointSource::Cloud), cloud::MD5),
            "sensor_msgs/LaserScan" => (Self::Points(PointSource::Scan), scan::MD5),
            "velodyne_msgs/VelodyneScan" => (Self::Packets, packets::MD5),
            _ => return None,
        })
    }
}

/// Returns whether both layouts have the same fields, with any type names. (Layouts are nested at
/// most 64 levels deep.)
fn is_like(known_layout: &Layout, other: &Layout) -> bool {
    let pairs = known_layout.fields.iter().zip(&other.fields);
    known_layout.fields.len() == other.fields.len()
        && pairs.into_iter().all(|(a, b)| {
            (&a.name, a.count) == (&b.name, b.count) && are_alike(&a.kind, &b.kind)
        })
}

fn are_alike(known_kind: &LayoutKind, other: &LayoutKind) -> bool {
    match (known_kind, other) {
        (LayoutKind::Nested(a), LayoutKind::Nested(b)) => is_like(a, b),
        (LayoutKind::List(a), LayoutKind::List(b)) => are_alike(a, b),
        (a, b) => a == b,
    }
}
