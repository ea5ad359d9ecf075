//! Encodes the data of lidars as messages of ROS 1.

use logtool_core::Primitive;
use logtool_rosmsg::MessageWriter;

use crate::records::translate::lidar::message::{
    Cloud, FIELDS, Image, LidarMessageType, PARENT, Rotation,
};

pub(super) fn type_name(message_type: LidarMessageType) -> &'static str {
    match message_type {
        LidarMessageType::Cloud => "sensor_msgs/PointCloud2",
        LidarMessageType::CompressedImage => "sensor_msgs/CompressedImage",
        LidarMessageType::Image => "sensor_msgs/Image",
        LidarMessageType::Transform => "tf2_msgs/TFMessage",
    }
}

/// Returns the number of a type in the constants of `sensor_msgs/PointField`.
fn number(primitive: Primitive) -> u8 {
    match primitive {
        Primitive::U8 => 2,
        Primitive::U16 => 4,
        Primitive::U32 => 6,
        _ => 7,
    }
}

pub(super) fn encode_cloud(cloud: &Cloud<'_>, out: &mut Vec<u8>) {
    let mut message = MessageWriter::new(out);
    message.header(cloud.number, cloud.nanos, cloud.frame);
    let count = cloud.points.len() as u32 / cloud.step;
    message.u32(1).u32(count).u32(FIELDS.len() as u32);
    for (name, offset, primitive) in FIELDS {
        message.text(name).u32(offset).u8(number(primitive)).u32(1);
    }
    message.u8(0).u32(cloud.step).u32(cloud.points.len() as u32);
    message.list(cloud.points).u8(1);
}

pub(super) fn encode_image(image: &Image<'_>, out: &mut Vec<u8>) {
    let mut message = MessageWriter::new(out);
    message.header(0, image.nanos, &image.frame);
    match image.step() {
        None => message.text(image.encoding).list(image.data),
        Some(step) => message
            .u32(image.height)
            .u32(image.width)
            .text(image.encoding)
            .u8(0)
            .u32(step)
            .list(image.data),
    };
}

pub(super) fn encode_rotation(rotation: &Rotation<'_>, out: &mut Vec<u8>) {
    let mut message = MessageWriter::new(out);
    message.u32(1).header(0, rotation.nanos, PARENT).text(rotation.child);
    message.f64s(&[0.0; 3]).f64s(&rotation.rotation);
}
