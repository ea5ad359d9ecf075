//! The fields of all messages except those with packets.
//!
//! ```text
//! OBDDataM    speed i32 km/h | engine speed i32 1/min | unused f32 | unused i32
//!             unused i32 | throttle position f32 | unused i32
//! GPSTDataM   hour, minute, second i32 | warning i32 | latitude, longitude f64
//!             speed f32 km/h | course f32 deg | day, month, year i32
//!             quality, satellites i32 | hdop f32 | altitude f32 m | geoid height f32 m
//!             vdop, pdop f32
//! ImageM      camera i32 | is compressed i32 | width, height i32 | length u32 | data
//! RobotPoseM  quaternion 4 x f32, in one of two orders | acceleration 3 x f32 m/s2
//! ```
//! The unused fields of `OBDDataM` are numbered by their position in the message.

use logtool_core::ByteReader;

/// The data of an `OBDDataM`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Obd {
    /// Speed, km/h.
    pub speed: i32,
    /// Engine speed in revolutions per minute.
    pub engine_speed: i32,
    /// The third field, which the format does not use.
    pub unused_3: f32,
    /// The fourth field, which the format does not use.
    pub unused_4: i32,
    /// The fifth field, which the format does not use.
    pub unused_5: i32,
    /// Position of the throttle. The format does not define its unit.
    pub throttle_position: f32,
    /// The seventh field, which the format does not use.
    pub unused_7: i32,
}

/// The data of a `GPSTDataM`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gps {
    /// UTC: hour, minute and second.
    pub time: [i32; 3],
    /// 1 if the receiver warns that its data is not reliable, otherwise 0.
    pub warning: i32,
    /// Latitude in degrees, positive to the north.
    pub latitude: f64,
    /// Longitude in degrees, positive to the east.
    pub longitude: f64,
    /// Speed, km/h.
    pub speed: f32,
    /// Course over ground, degrees clockwise from north.
    pub course: f32,
    /// UTC: day, month and year.
    pub date: [i32; 3],
    /// 0 without a position, 1 with one, 2 with a differential one, 6 with an estimated
    /// one.
    pub quality: i32,
    /// The number of satellites in use.
    pub satellites: i32,
    /// Horizontal dilution of precision.
    pub hdop: f32,
    /// Altitude above sea level, m.
    pub altitude: f32,
    /// Height of the geoid above the ellipsoid, m.
    pub geoid_height: f32,
    /// Vertical dilution of precision.
    pub vdop: f32,
    /// Position dilution of precision.
    pub pdop: f32,
}

/// The header of the data of an `ImageM`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageHeader {
    /// The number of the camera.
    pub camera: i32,
    /// 0 if the image consists of rows of pixels, another value if it is compressed (JPEG).
    pub is_compressed: i32,
    /// The width in pixels.
    pub width: i32,
    /// The height in pixels.
    pub height: i32,
}

/// The data of a `RobotPoseM`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    /// The attitude, in the order of the file.
    pub quaternion: [f32; 4],
    /// The acceleration, m/s².
    pub acceleration: [f32; 3],
}

impl Obd {
    pub(crate) fn to_data(self) -> Vec<u8> {
        [
            self.speed.to_le_bytes(),
            self.engine_speed.to_le_bytes(),
            self.unused_3.to_le_bytes(),
            self.unused_4.to_le_bytes(),
            self.unused_5.to_le_bytes(),
            self.throttle_position.to_le_bytes(),
            self.unused_7.to_le_bytes(),
        ]
        .concat()
    }
}

impl Gps {
    /// Parses `data`, or returns `None` if it is too short.
    pub fn from_data(data: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(data);
        Some(Self {
            time: [reader.i32()?, reader.i32()?, reader.i32()?],
            warning: reader.i32()?,
            latitude: f64::from_bits(reader.u64()?),
            longitude: f64::from_bits(reader.u64()?),
            speed: reader.f32()?,
            course: reader.f32()?,
            date: [reader.i32()?, reader.i32()?, reader.i32()?],
            quality: reader.i32()?,
            satellites: reader.i32()?,
            hdop: reader.f32()?,
            altitude: reader.f32()?,
            geoid_height: reader.f32()?,
            vdop: reader.f32()?,
            pdop: reader.f32()?,
        })
    }

    pub(crate) fn to_data(self) -> Vec<u8> {
        let mut data = self.time.map(i32::to_le_bytes).concat();
        data.extend(self.warning.to_le_bytes());
        data.extend(self.latitude.to_le_bytes());
        data.extend(self.longitude.to_le_bytes());
        data.extend([self.speed, self.course].map(f32::to_le_bytes).concat());
        data.extend(self.date.map(i32::to_le_bytes).concat());
        data.extend([self.quality, self.satellites].map(i32::to_le_bytes).concat());
        let heights_and_dops =
            [self.hdop, self.altitude, self.geoid_height, self.vdop, self.pdop];
        data.extend(heights_and_dops.map(f32::to_le_bytes).concat());
        data
    }
}

impl ImageHeader {
    /// Parses `data`. Returns the header and the image, i.e. all bytes after the header, even
    /// if the header declares another length. Returns `None` if `data` is too short.
    pub fn from_data(data: &[u8]) -> Option<(Self, &[u8])> {
        let (header, _, image) = Self::parse_prefix(data)?;
        Some((header, image))
    }

    /// Parses the start of the data of an image. Returns the header, the declared length of
    /// the image, and the part of the image that `data` contains.
    pub(crate) fn parse_prefix(data: &[u8]) -> Option<(Self, u32, &[u8])> {
        let mut reader = ByteReader::new(data);
        let header = Self {
            camera: reader.i32()?,
            is_compressed: reader.i32()?,
            width: reader.i32()?,
            height: reader.i32()?,
        };
        let len = reader.u32()?;
        Some((header, len, data.get(20..)?))
    }

    pub(crate) fn to_data(self, len: u32) -> Vec<u8> {
        let fields = [self.camera, self.is_compressed, self.width, self.height];
        [fields.map(i32::to_le_bytes).concat(), len.to_le_bytes().to_vec()].concat()
    }
}

impl Pose {
    /// Parses `data`, or returns `None` if it is too short.
    pub fn from_data(data: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(data);
        Some(Self {
            quaternion: [reader.f32()?, reader.f32()?, reader.f32()?, reader.f32()?],
            acceleration: [reader.f32()?, reader.f32()?, reader.f32()?],
        })
    }

    pub(crate) fn to_data(self) -> Vec<u8> {
        let mut data = self.quaternion.map(f32::to_le_bytes).concat();
        data.extend(self.acceleration.map(f32::to_le_bytes).concat());
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gps_data_has_80_bytes_and_round_trips() {
        let gps = Gps {
            time: [13, 11, 7],
            warning: 1,
            latitude: 50.363611,
            longitude: 7.558611,
            date: [30, 9, 2010],
            pdop: 1.9,
            ..Gps::default()
        };
        let data = gps.to_data();
        assert_eq!(data.len(), 80);
        assert_eq!(data[40..44], 30_i32.to_le_bytes());
        assert_eq!(Gps::from_data(&data), Some(gps));
        assert_eq!(Gps::from_data(&data[..79]), None);
    }

    #[test]
    fn image_is_everything_after_its_header() {
        let header =
            ImageHeader { camera: 2, is_compressed: 1, width: 640, height: 480 };
        let data = [header.to_data(3), b"abcd".to_vec()].concat();
        assert_eq!(ImageHeader::from_data(&data), Some((header, &b"abcd"[..])));
        assert_eq!(ImageHeader::from_data(&data[..22]), Some((header, &b"ab"[..])));
        assert_eq!(ImageHeader::from_data(&data[..19]), None);
    }

    #[test]
    fn pose_data_has_28_bytes_and_round_trips() {
        let pose = Pose { quaternion: [1., 0., 0., 0.], acceleration: [0., 0., 9.81] };
        assert_eq!(pose.to_data().len(), 28);
        assert_eq!(Pose::from_data(&pose.to_data()), Some(pose));
        assert_eq!(Obd::default().to_data().len(), 28);
    }
}
