//! Encoding messages of sensors.

use crate::{
    descriptor::FileSet,
    well_known_types::{
        encode::{append_doubles, append_fixed32, append_timestamp},
        files,
        sensors::{CompressedImage, PackedField, PixelImage, PointCloud},
    },
    wire::{append_number, append_sized, append_unless_empty},
};

impl PointCloud<'_> {
    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::point_cloud()
    }

    /// Appends the encoded message to `out`, with its pose.
    pub fn encode(&self, out: &mut Vec<u8>) {
        append_timestamp(out, 1, self.nanos);
        append_unless_empty(out, 2, self.frame_id);
        append_sized(out, 3, |out| {
            append_sized(out, 1, |out| append_doubles(out, &self.pose.position));
            append_sized(out, 2, |out| append_doubles(out, &self.pose.orientation));
        });
        append_fixed32(out, 4, self.stride);
        self.fields
            .iter()
            .for_each(|field| append_sized(out, 5, |out| field.encode(out)));
        append_unless_empty(out, 6, self.data);
    }
}

impl PackedField<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        append_unless_empty(out, 1, self.name);
        append_fixed32(out, 2, self.offset);
        append_number(out, 3, self.kind);
    }
}

impl CompressedImage<'_> {
    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::compressed_image()
    }

    /// Appends the encoded message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        append_timestamp(out, 1, self.nanos);
        append_unless_empty(out, 2, self.data);
        append_unless_empty(out, 3, self.format);
        append_unless_empty(out, 4, self.frame_id);
    }
}

impl PixelImage<'_> {
    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::raw_image()
    }

    /// Appends the encoded message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        append_timestamp(out, 1, self.nanos);
        append_fixed32(out, 2, self.width);
        append_fixed32(out, 3, self.height);
        append_unless_empty(out, 4, self.encoding);
        append_fixed32(out, 5, self.step);
        append_unless_empty(out, 6, self.data);
        append_unless_empty(out, 7, self.frame_id);
    }
}
