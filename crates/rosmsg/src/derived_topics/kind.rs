//! Which topic is derived from the messages of a topic.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use logtool_core::{Columns, Layout, LayoutKind, Result, Topic, View};
use logtool_protobuf::PointCloud;

use crate::{
    definition::{Definition, resolve_definition},
    derived_topics::{
        packet_decoder::packet_schema,
        point_decoder::{PointDecoder, PointSource},
    },
    field_reader::Encoding,
    metadata::TopicMetadata,
    points::PointSchema,
    sensor::{cloud, cloud2, json::JsonCloud, packets, scan},
};

/// How a topic is derived from the messages of another topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derivation {
    pub(super) kind: DerivedKind,
    /// The encoding of the messages.
    pub(super) encoding: Encoding,
}

/// The kind of derived records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DerivedKind {
    /// Messages of this type, whose rows are points.
    Points(PointSource),
    /// Packets of a lidar.
    Packets,
}

impl Derivation {
    /// Returns the derivation from `topic`, or `None` if its type has no derived topic.
    pub fn from_topic(topic: &Topic) -> Option<Self> {
        match Encoding::from_name(&topic.encoding)? {
            Encoding::Ros1 => {
                let md5sum = TopicMetadata::new(&topic.metadata).md5sum_or_any();
                Self::from_ros1_type(&topic.type_name, md5sum, || {
                    let definition = &topic.definition;
                    let resolved =
                        resolve_definition(&topic.type_name, md5sum, definition)
                            .ok()?;
                    resolved.definition.md5sum().ok()
                })
            }
            Encoding::Cdr => Self::from_ros2_type(&topic.type_name, &topic.definition),
            encoding @ (Encoding::Protobuf | Encoding::Json) => {
                let has_cloud_fields = || match encoding {
                    Encoding::Json => JsonCloud::is_defined(&topic.definition),
                    _ => PointCloud::is_defined(&topic.descriptor),
                };
                let is_cloud =
                    topic.type_name == PointCloud::TYPE && has_cloud_fields();
                let kind = DerivedKind::Points(PointSource::FoxgloveCloud);
                is_cloud.then_some(Self { kind, encoding })
            }
        }
    }

    /// Returns the derivation from messages of this ROS 1 type, or `None` if the type has no
    /// derived topic. The declared `md5sum`, or that of the definition (`definition_md5sum`), must
    /// be that of the type with this name.
    pub fn from_ros1_type(
        type_name: &str,
        md5sum: &str,
        definition_md5sum: impl FnOnce() -> Option<String>,
    ) -> Option<Self> {
        let (kind, expected_md5sum) = DerivedKind::for_type(type_name)?;
        let is_expected = |sum: &str| sum.eq_ignore_ascii_case(expected_md5sum);
        let has_fields = is_expected(md5sum)
            || definition_md5sum().is_some_and(|sum| is_expected(&sum));
        has_fields.then_some(Self { kind, encoding: Encoding::Ros1 })
    }

    /// Returns the derivation from messages of this ROS 2 type, or `None` if the type has no
    /// derived topic. `definition` must have the fields of the type with this name.
    fn from_ros2_type(type_name: &str, definition: &str) -> Option<Self> {
        let ros1_name = type_name.replacen("/msg/", "/", 1);
        let (kind, md5sum) = DerivedKind::for_type(&ros1_name)?;
        let expected_definition = Definition::by_md5sum(&ros1_name, md5sum)?;
        let layout = |text: &str| Definition::parse_ros2(type_name, text)?.layout();
        let expected_layout = layout(&expected_definition.ros2_text().ok()?).ok()?;
        let declared_layout = layout(definition).ok()?;
        have_same_fields(&expected_layout, &declared_layout)
            .then_some(Self { kind, encoding: Encoding::Cdr })
    }

    /// Returns the suffix of the name of the derived topic.
    pub(super) fn suffix(self) -> &'static str {
        match self.kind {
            DerivedKind::Points(_) => "/points",
            DerivedKind::Packets => "/packets",
        }
    }

    /// Returns the columns that are known without reading messages.
    pub(super) fn schema(self) -> Result<SchemaRef> {
        let DerivedKind::Points(source) = self.kind else { return Ok(packet_schema()) };
        let point_schema = Arc::new(source.point_schema().unwrap_or_default());
        let columns = Columns::new(View::Nested);
        let decoder = PointDecoder::new(source, self.encoding, point_schema, &columns)?;
        Ok(logtool_core::Decoder::schema(&decoder).clone())
    }

    /// Returns the columns of points, or `None` if they depend on the message.
    pub(super) fn point_schema(self) -> Option<PointSchema> {
        let DerivedKind::Points(source) = self.kind else { return None };
        source.point_schema()
    }

    /// Returns the columns of the points in `payload`, or `None` if it has none.
    pub(super) fn point_schema_of(self, payload: &[u8]) -> Option<PointSchema> {
        let DerivedKind::Points(source) = self.kind else { return None };
        source.point_schema_of(payload, self.encoding)
    }
}

impl DerivedKind {
    /// Returns the kind of records that are derived from messages of this type, and the MD5 sum of
    /// the type. `type_name` is its name in ROS 1.
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

/// Returns whether both layouts have the same fields. The names of types may differ. (Layouts are
/// nested at most 64 levels deep, so that the function may be recursive.)
fn have_same_fields(first: &Layout, second: &Layout) -> bool {
    let pairs = first.fields.iter().zip(&second.fields);
    first.fields.len() == second.fields.len()
        && pairs.into_iter().all(|(a, b)| {
            (&a.name, a.count) == (&b.name, b.count) && are_same_kind(&a.kind, &b.kind)
        })
}

fn are_same_kind(first: &LayoutKind, second: &LayoutKind) -> bool {
    match (first, second) {
        (LayoutKind::Nested(a), LayoutKind::Nested(b)) => have_same_fields(a, b),
        (LayoutKind::List(a), LayoutKind::List(b)) => are_same_kind(a, b),
        (a, b) => a == b,
    }
}
