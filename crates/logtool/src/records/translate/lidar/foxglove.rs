//! Encodes the data of lidars as protocol buffers of Foxglove's types.

use logtool_core::{Primitive, Topic};
use logtool_protobuf::{
    CompressedImage, FrameTransform, PackedField, PixelImage, PointCloud, Pose,
};

use crate::records::translate::{
    lidar::message::{Cloud, FIELDS, Image, LidarMessageType, PARENT, Rotation},
    protobuf,
};

pub(super) fn topic(
    topic: &Topic,
    more: &str,
    message_type: LidarMessageType,
) -> Topic {
    let (type_name, files) = match message_type {
        LidarMessageType::Cloud => (PointCloud::TYPE, PointCloud::files()),
        LidarMessageType::CompressedImage => {
            (CompressedImage::TYPE, CompressedImage::files())
        }
        LidarMessageType::Image => (PixelImage::TYPE, PixelImage::files()),
        LidarMessageType::Transform => (FrameTransform::TYPE, FrameTransform::files()),
    };
    protobuf::common_topic(topic, more, type_name, &files)
}

/// Returns the number of a type in the enumeration of `foxglove.PackedElementField`.
fn number(primitive: Primitive) -> u64 {
    match primitive {
        Primitive::U8 => 1,
        Primitive::U16 => 3,
        Primitive::U32 => 5,
        _ => 7,
    }
}

pub(super) fn encode_cloud(cloud: &Cloud<'_>, out: &mut Vec<u8>) {
    let field = |(name, offset, primitive): (&'static str, u32, Primitive)| {
        PackedField { name: name.as_bytes(), offset, kind: number(primitive) }
    };
    let message = PointCloud {
        nanos: cloud.nanos,
        frame_id: cloud.frame.as_bytes(),
        pose: Pose::IDENTITY,
        stride: cloud.step,
        fields: FIELDS.map(field).into(),
        data: cloud.points,
    };
    message.encode(out);
}

pub(super) fn encode_image(image: &Image<'_>, out: &mut Vec<u8>) {
    let Image { nanos, width, height, data, .. } = *image;
    let (frame_id, encoding) = (image.frame.as_bytes(), image.encoding.as_bytes());
    match image.step() {
        None => CompressedImage { nanos, frame_id, format: encoding, data }.encode(out),
        Some(step) => {
            PixelImage { nanos, frame_id, width, height, encoding, step, data }
                .encode(out);
        }
    }
}

pub(super) fn encode_rotation(rotation: &Rotation<'_>, out: &mut Vec<u8>) {
    let message = FrameTransform {
        nanos: rotation.nanos,
        parent: PARENT,
        child: rotation.child,
        translation: [0.0; 3],
        rotation: rotation.rotation,
    };
    message.encode(out);
}
