//! Messages of a stationary road vehicle. The bytes are deterministic.

use std::f64::consts::TAU;

/// A deterministic generator of pseudorandom numbers (xorshift64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next_bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns noise similar to that of a sensor, between -1 and 1.
    pub(crate) fn noise(&mut self) -> f64 {
        // The sum of four uniformly distributed numbers is approximately normally distributed.
        let uniform = |bits: u64| (bits & 0xffff) as f64 / 65_535.0;
        let bits = self.next_bits();
        (0..4).map(|part| uniform(bits >> (16 * part))).sum::<f64>() / 2.0 - 1.0
    }
}

const HEADER: &str =
    "===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n";
const VECTOR: &str =
    "===\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n";
const QUATERNION: &str =
    "===\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n";

/// The name of each type, its definition, and those of the types of its fields. [`definition`]
/// replaces the shortened separators.
const TYPES: [(&str, &str, &[&str]); 8] = [
    (
        "sensor_msgs/Imu",
        "Header header\ngeometry_msgs/Quaternion orientation\n\
         float64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n\
         float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\n\
         float64[9] linear_acceleration_covariance\n",
        &[HEADER, QUATERNION, VECTOR],
    ),
    (
        "sensor_msgs/NavSatFix",
        "uint8 COVARIANCE_TYPE_UNKNOWN=0\nuint8 COVARIANCE_TYPE_APPROXIMATED=1\n\
         uint8 COVARIANCE_TYPE_DIAGONAL_KNOWN=2\nuint8 COVARIANCE_TYPE_KNOWN=3\n\
         Header header\nNavSatStatus status\nfloat64 latitude\nfloat64 longitude\n\
         float64 altitude\nfloat64[9] position_covariance\nuint8 position_covariance_type\n",
        &[
            HEADER,
            "===\nMSG: sensor_msgs/NavSatStatus\nint8 STATUS_NO_FIX=-1\nint8 STATUS_FIX=0\n\
             int8 STATUS_SBAS_FIX=1\nint8 STATUS_GBAS_FIX=2\nuint16 SERVICE_GPS=1\n\
             uint16 SERVICE_GLONASS=2\nuint16 SERVICE_COMPASS=4\nuint16 SERVICE_GALILEO=8\n\
             int8 status\nuint16 service\n",
        ],
    ),
    (
        "tf2_msgs/TFMessage",
        "geometry_msgs/TransformStamped[] transforms\n",
        &[
            "===\nMSG: geometry_msgs/TransformStamped\nHeader header\nstring child_frame_id\n\
             Transform transform\n",
            HEADER,
            "===\nMSG: geometry_msgs/Transform\nVector3 translation\nQuaternion rotation\n",
            VECTOR,
            QUATERNION,
        ],
    ),
    (
        "sensor_msgs/PointCloud2",
        "Header header\nuint32 height\nuint32 width\nPointField[] fields\nbool is_bigendian\n\
         uint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense\n",
        &[
            HEADER,
            "===\nMSG: sensor_msgs/PointField\nuint8 INT8=1\nuint8 UINT8=2\nuint8 INT16=3\n\
             uint8 UINT16=4\nuint8 INT32=5\nuint8 UINT32=6\nuint8 FLOAT32=7\n\
             uint8 FLOAT64=8\nstring name\nuint32 offset\nuint8 datatype\nuint32 count\n",
        ],
    ),
    (
        "sensor_msgs/Image",
        "Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\n\
         uint32 step\nuint8[] data\n",
        &[HEADER],
    ),
    ("std_msgs/Float64", "float64 data\n", &[]),
    ("std_msgs/String", "string data\n", &[]),
    (
        "geometry_msgs/TwistStamped",
        "Header header\nTwist twist\n",
        &[
            HEADER,
            "===\nMSG: geometry_msgs/Twist\nVector3 linear\nVector3 angular\n",
            VECTOR,
        ],
    ),
];

/// Returns the complete definition of one of the types above.
pub(crate) fn definition(name: &str) -> Option<String> {
    let (_, text, others) = TYPES.iter().find(|(type_name, ..)| *type_name == name)?;
    let others = others.concat().replace("===\n", &format!("{}\n", "=".repeat(80)));
    Some(format!("{text}{others}"))
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

fn header(out: &mut Vec<u8>, seq: u32, nanos: u64, frame: &str) {
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    for number in [seq, seconds as u32, nanos as u32] {
        out.extend(number.to_le_bytes());
    }
    text(out, frame);
}

fn floats(out: &mut Vec<u8>, values: &[f64]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

/// Appends a diagonal covariance matrix of nine numbers.
fn diagonal(out: &mut Vec<u8>, value: f64) {
    floats(out, &[value, 0.0, 0.0, 0.0, value, 0.0, 0.0, 0.0, value]);
}

pub(crate) fn imu(out: &mut Vec<u8>, seq: u32, nanos: u64, random: &mut Random) {
    let mut noise = || [0.0; 3].map(|_: f64| 0.01 * random.noise());
    header(out, seq, nanos, "imu_link");
    floats(out, &noise());
    floats(out, &[1.0]);
    diagonal(out, 1e-4);
    floats(out, &noise());
    diagonal(out, 1e-4);
    let [x, y, z] = noise();
    floats(out, &[x, y, 9.81 + z]);
    diagonal(out, 1e-4);
}

pub(crate) fn fix(out: &mut Vec<u8>, seq: u32, nanos: u64) {
    header(out, seq, nanos, "gps");
    out.extend([0, 1, 0]);
    let i = f64::from(seq);
    floats(out, &[48.1 + i * 1e-6, 11.5 + i * 2e-6, 520.0 + 0.01 * i]);
    diagonal(out, 0.4);
    out.push(2);
}

pub(crate) fn tf(
    out: &mut Vec<u8>,
    seq: u32,
    nanos: u64,
    count: u32,
    random: &mut Random,
) {
    out.extend(count.to_le_bytes());
    for wheel in 0..count {
        header(out, seq, nanos, "base_link");
        text(out, &format!("wheel_{wheel}"));
        floats(
            out,
            &[random.noise(), random.noise(), random.noise(), 0.0, 0.0, 0.0, 1.0],
        );
    }
}

/// Appends a cloud of 28,800 points of 22 bytes, like those of a lidar with 16 rings. Ranges are
/// rounded to 2 mm.
pub(crate) fn cloud(out: &mut Vec<u8>, seq: u32, nanos: u64, random: &mut Random) {
    const POINTS: u32 = 28_800;
    header(out, seq, nanos, "velodyne");
    for number in [1, POINTS, 6] {
        out.extend(number.to_le_bytes());
    }
    let fields = [
        ("x", 0, 7),
        ("y", 4, 7),
        ("z", 8, 7),
        ("intensity", 12, 7),
        ("ring", 16, 4),
        ("time", 18, 7),
    ];
    for (name, offset, kind) in fields {
        text(out, name);
        out.extend(u32::to_le_bytes(offset));
        out.push(kind);
        out.extend(1_u32.to_le_bytes());
    }
    out.push(0);
    for number in [22, 22 * POINTS, 22 * POINTS] {
        out.extend(number.to_le_bytes());
    }
    for point in 0..POINTS {
        let azimuth = f64::from(point / 16) / f64::from(POINTS / 16) * TAU;
        let ring = point % 16;
        let elevation = (f64::from(ring) * 2.0 - 15.0).to_radians();
        let wall = 8.0
            + 4.0 * (3.0 * azimuth + f64::from(seq) * 0.05).sin()
            + 2.0 * (7.0 * azimuth).cos();
        let range = ((wall / elevation.cos().max(0.2) + 0.01 * random.noise()) * 500.0)
            .round()
            / 500.0;
        let (x, y) = (
            range * elevation.cos() * azimuth.cos(),
            range * elevation.cos() * azimuth.sin(),
        );
        let intensity =
            (40.0 + 30.0 * (azimuth * 5.0).sin() + 8.0 * random.noise()).round();
        for value in [x, y, range * elevation.sin(), intensity] {
            out.extend((value as f32).to_le_bytes());
        }
        out.extend((ring as u16).to_le_bytes());
        out.extend(((azimuth / TAU * 0.1) as f32).to_le_bytes());
    }
    out.push(1);
}

/// Appends an image of 640 × 480 pixels of one byte.
pub(crate) fn image(out: &mut Vec<u8>, seq: u32, nanos: u64, random: &mut Random) {
    header(out, seq, nanos, "camera");
    for number in [480_u32, 640] {
        out.extend(number.to_le_bytes());
    }
    text(out, "mono8");
    out.push(0);
    for number in [640_u32, 640 * 480] {
        out.extend(number.to_le_bytes());
    }
    for y in 0..480 {
        for x in 0..640_u32 {
            let noise = random.next_bits() % 6;
            out.push(((x + y / 2 + seq * 3) % 256 / 2) as u8 + noise as u8);
        }
    }
}

pub(crate) fn number(out: &mut Vec<u8>, random: &mut Random) {
    floats(out, &[random.noise()]);
}

pub(crate) fn twist(out: &mut Vec<u8>, seq: u32, nanos: u64, random: &mut Random) {
    header(out, seq, nanos, "base_link");
    let values = [0.0; 6].map(|_: f64| random.noise());
    floats(out, &values);
}

pub(crate) fn word(out: &mut Vec<u8>, seq: u32) {
    text(out, &format!("state {}", seq % 97));
}
