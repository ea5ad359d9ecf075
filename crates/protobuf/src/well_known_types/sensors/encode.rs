//! Encoding messages of sensors.

use crate::{
    descriptor::FileSet,
    well_known_types::{
        encode::{put_doubles, put_fixed, put_moment, put_text},
        files,
        sensors::{CompressedImage, PackedField, PixelImage, PointCloud},
    },
    wire::{put_number, put_sized},
};

impl PointCloud<'_> {
    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::point_cloud()
    }

    /// Appends the encoded message to `out`, with an identity pose: the points are not transformed.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_moment(out, 1, self.nanos);
        put_text(out, 2, self.frame_id);
        put_sized(out, 3, |out| {
            put_sized(out, 1, |out| put_doubles(out, &[0.0; 3]));
            put_sized(out, 2, |out| put_doubles(out, &[0.0, 0.0, 0.0, 1.0]));
        });
        put_fixed(out, 4, self.stride);
        self.fields.iter().for_each(|field| put_sized(out, 5, |out| field.put(out)));
        put_text(out, 6, self.data);
    }
}

impl PackedField<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        put_text(out, 1, self.name);
        put_fixed(out, 2, self.offset);
        put_number(out, 3, self.kind);
    }
}

impl CompressedImage<'_> {
    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::compressed_image()
    }

    /// Appends the encoded message to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_moment(out, 1, self.nanos);
        put_text(out, 2, self.data);
        put_text(out, 3, self.format);
        put_text(out, 4, self.frame_id);
    }
}

impl PixelImage<'_> {
    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::raw_image()
    }

    /// Appends the encoded message to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_moment(out, 1, self.nanos);
        put_fixed(out, 2, self.width);
        put_fixed(out, 3, self.height);
        put_text(out, 4, self.encoding);
        put_fixed(out, 5, self.step);
        put_text(out, 6, self.data);
        put_text(out, 7, self.frame_id);
    }
}
