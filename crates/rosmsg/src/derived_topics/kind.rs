//! Which topic is derived from the messages of a topic.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use logtool_core::{Columns, Layout, LayoutField, LayoutKind, Result, Topic, View};
use logtool_protobuf::{LaserScan, PointCloud};

use crate::{
    definition::{Definition, resolve_definition},
    derived_topics::{
        packet_decoder::packet_schema,
        point_decoder::{PointDecoder, PointSource},
    },
    field_reader::Encoding,
    metadata::TopicMetadata,
    points::PointSchema,
    sensor::{
        cloud, cloud2, foxglove_ros,
        json::{self, JsonCloud},
        packets::{FrameIdReader, PACKET_LEN, ScanLayout},
        scan,
    },
};

/// How a topic is derived from the messages of another topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivation {
    pub(super) kind: DerivedKind,
    /// The encoding of the messages.
    pub(super) encoding: Encoding,
}

/// The kind of derived records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DerivedKind {
    /// Messages of this type, whose rows are points.
    Points(PointSource),
    /// Packets of a lidar, which are there in the messages.
    Packets(ScanLayout),
}

impl Derivation {
    /// Returns the derivation from `topic`, or `None` if its type has no derived topic.
    pub fn from_topic(topic: &Topic) -> Option<Self> {
        match Encoding::from_name(&topic.encoding)? {
            Encoding::Ros1 => {
                let md5sum = TopicMetadata::new(&topic.metadata).md5sum_or_any();
                let (type_name, text) = (&topic.type_name, &topic.definition);
                Self::from_ros1_type(type_name, md5sum, text, || {
                    Some(resolve_definition(type_name, md5sum, text).ok()?.definition)
                })
            }
            Encoding::Cdr => Self::from_ros2_type(&topic.type_name, &topic.definition),
            encoding @ (Encoding::Protobuf | Encoding::Json) => {
                let (definition, descriptor) = (&topic.definition, &topic.descriptor);
                let is_json = encoding == Encoding::Json;
                let (source, has_fields) = match topic.type_name.as_str() {
                    PointCloud::TYPE if is_json => {
                        (PointSource::FoxgloveCloud, JsonCloud::is_defined(definition))
                    }
                    PointCloud::TYPE => {
                        (PointSource::FoxgloveCloud, PointCloud::is_defined(descriptor))
                    }
                    LaserScan::TYPE if is_json => {
                        (PointSource::FoxgloveScan, json::is_scan_defined(definition))
                    }
                    LaserScan::TYPE => {
                        (PointSource::FoxgloveScan, LaserScan::is_defined(descriptor))
                    }
                    _ => return None,
                };
                has_fields
                    .then_some(Self { kind: DerivedKind::Points(source), encoding })
            }
        }
    }

    /// Returns the derivation from messages of this ROS 1 type, or `None` if the type has no
    /// derived topic. `text` is the declared definition, and `definition` determines the used one.
    /// The MD5 sum of one of them must be that of the type with this name, unless the type has
    /// packets.
    pub fn from_ros1_type(
        type_name: &str,
        md5sum: &str,
        text: &str,
        definition: impl FnOnce() -> Option<Definition>,
    ) -> Option<Self> {
        let kind = match PointSource::for_type(type_name) {
            Some((source, expected_md5sum)) => {
                let is_expected = |sum: &str| sum.eq_ignore_ascii_case(expected_md5sum);
                let has_fields = is_expected(md5sum)
                    || definition()
                        .and_then(|definition| definition.md5sum().ok())
                        .is_some_and(|sum| is_expected(&sum));
                has_fields.then_some(DerivedKind::Points(source))?
            }
            None => match PointSource::for_foxglove_type(type_name) {
                Some((source, expected)) => {
                    let declared = definition()?.layout().ok()?;
                    let expected = expected.layout().ok()?;
                    starts_with_fields(&declared, &expected)
                        .then_some(DerivedKind::Points(source))?
                }
                None if may_have_packets(type_name, text) => {
                    let layout = definition()?.layout().ok()?;
                    DerivedKind::Packets(ScanLayout::new(&layout)?)
                }
                None => return None,
            },
        };
        Some(Self { kind, encoding: Encoding::Ros1 })
    }

    /// Returns the derivation from messages of this ROS 2 type, or `None` if the type has no
    /// derived topic. `definition` must have the fields of the type with this name, unless the type
    /// has packets.
    fn from_ros2_type(type_name: &str, definition: &str) -> Option<Self> {
        let ros1_name = type_name.replacen("/msg/", "/", 1);
        let layout = |text: &str| Definition::parse_ros2(type_name, text)?.layout();
        let kind = match PointSource::for_type(&ros1_name) {
            Some((source, md5sum)) => {
                let expected_definition = Definition::by_md5sum(&ros1_name, md5sum)?;
                let expected_layout =
                    layout(&expected_definition.ros2_text().ok()?).ok()?;
                let declared_layout = layout(definition).ok()?;
                have_same_fields(&expected_layout, &declared_layout)
                    .then_some(DerivedKind::Points(source))?
            }
            None => match PointSource::for_foxglove_type(&ros1_name) {
                Some((source, expected)) => {
                    let expected = layout(&expected.ros2_text().ok()?).ok()?;
                    let declared = layout(definition).ok()?;
                    starts_with_fields(&declared, &expected)
                        .then_some(DerivedKind::Points(source))?
                }
                None if may_have_packets(&ros1_name, definition) => {
                    let layout = layout(definition).ok()?;
                    DerivedKind::Packets(ScanLayout::new(&layout)?)
                }
                None => return None,
            },
        };
        Some(Self { kind, encoding: Encoding::Cdr })
    }

    /// Returns a reader of the frame ids of the messages, if these contain packets of lidars and
    /// have a frame id.
    pub fn frame_id_reader(&self) -> Option<FrameIdReader> {
        let DerivedKind::Packets(layout) = &self.kind else { return None };
        layout.frame_id_reader(self.encoding)
    }

    /// Returns the suffix of the name of the derived topic.
    pub(super) fn suffix(&self) -> &'static str {
        match self.kind {
            DerivedKind::Points(_) => "/points",
            DerivedKind::Packets(_) => "/packets",
        }
    }

    /// Returns the columns that are known without reading messages.
    pub(super) fn schema(&self) -> Result<SchemaRef> {
        let DerivedKind::Points(source) = self.kind else { return Ok(packet_schema()) };
        let point_schema = Arc::new(source.point_schema().unwrap_or_default());
        let columns = Columns::new(View::Nested);
        let decoder = PointDecoder::new(source, self.encoding, point_schema, &columns)?;
        Ok(logtool_core::Decoder::schema(&decoder).clone())
    }

    /// Returns the columns of points, or `None` if they depend on the message.
    pub(super) fn point_schema(&self) -> Option<PointSchema> {
        let DerivedKind::Points(source) = self.kind else { return None };
        source.point_schema()
    }

    /// Returns the columns of the points in `payload`, or `None` if it has none.
    pub(super) fn point_schema_of(&self, payload: &[u8]) -> Option<PointSchema> {
        let DerivedKind::Points(source) = self.kind else { return None };
        source.point_schema_of(payload, self.encoding)
    }
}

impl PointSource {
    /// Returns the source of points in messages of this type, and the MD5 sum of the type.
    /// `type_name` is its name in ROS 1.
    fn for_type(type_name: &str) -> Option<(Self, &'static str)> {
        Some(match type_name {
            "sensor_msgs/PointCloud2" => (Self::Cloud2, cloud2::MD5),
            "sensor_msgs/PointCloud" => (Self::Cloud, cloud::MD5),
            "sensor_msgs/LaserScan" => (Self::Scan, scan::MD5),
            _ => return None,
        })
    }

    /// Returns the source of points in messages of this type of Foxglove, and the definition of
    /// their first fields. `type_name` is its name in ROS 1.
    fn for_foxglove_type(type_name: &str) -> Option<(Self, Definition)> {
        let sources = [
            (Self::FoxgloveCloud, foxglove_ros::CLOUD),
            (Self::FoxgloveScan, foxglove_ros::SCAN),
        ];
        let (source, (name, fields)) =
            sources.into_iter().find(|(_, (name, _))| *name == type_name)?;
        let text = format!("{fields}{}", foxglove_ros::POSE);
        Some((source, Definition::parse(name, &text).ok()?))
    }
}

/// Returns whether `layout` has the fields of `first_fields`, and maybe others after them.
fn starts_with_fields(layout: &Layout, first_fields: &Layout) -> bool {
    let pairs = layout.fields.iter().zip(&first_fields.fields);
    layout.fields.len() >= first_fields.fields.len()
        && pairs.into_iter().all(|(a, b)| are_same_field(a, b))
}

/// Returns whether messages of the type `type_name` with the definition `text` may have packets of
/// 1206 bytes. This avoids compiling the definitions of all other types.
fn may_have_packets(type_name: &str, text: &str) -> bool {
    type_name == "velodyne_msgs/VelodyneScan"
        || text.contains(&format!("[{PACKET_LEN}]"))
}

/// Returns whether both layouts have the same fields. The names of types may differ. (Layouts are
/// nested at most 64 levels deep, so that the function may be recursive.)
fn have_same_fields(first: &Layout, second: &Layout) -> bool {
    first.fields.len() == second.fields.len() && starts_with_fields(first, second)
}

fn are_same_field(first: &LayoutField, second: &LayoutField) -> bool {
    (&first.name, first.count) == (&second.name, second.count)
        && are_same_kind(&first.kind, &second.kind)
}

fn are_same_kind(first: &LayoutKind, second: &LayoutKind) -> bool {
    match (first, second) {
        (LayoutKind::Nested(a), LayoutKind::Nested(b)) => have_same_fields(a, b),
        (LayoutKind::List(a), LayoutKind::List(b)) => are_same_kind(a, b),
        (a, b) => a == b,
    }
}
