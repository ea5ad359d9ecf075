//! Types of messages: common ones with special decoders, and unusual ones.

/// The names and definitions. (The common ones without the comments of ROS.)
pub const TYPES: [(&str, &str); 12] = [
    ("std_msgs/String", "string data"),
    ("sensor_msgs/PointCloud2", POINT_CLOUD_2),
    ("sensor_msgs/PointCloud", POINT_CLOUD),
    ("sensor_msgs/LaserScan", LASER_SCAN),
    ("sensor_msgs/Image", IMAGE),
    ("sensor_msgs/CompressedImage", COMPRESSED_IMAGE),
    ("velodyne_msgs/VelodyneScan", VELODYNE_SCAN),
    ("odd/Numbers", NUMBERS),
    ("odd/Lists", LISTS),
    ("odd/Nested", NESTED),
    ("odd/Empty", "Nothing[] many\nNothing one\n===\nMSG: odd/Nothing\nint8 X=1"),
    ("std_msgs/Empty", ""),
];

const POINT_CLOUD_2: &str = "Header header\nuint32 height\nuint32 width\n\
    PointField[] fields\nbool is_bigendian\nuint32 point_step\nuint32 row_step\n\
    uint8[] data\nbool is_dense\n===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\n\
    string frame_id\n===\nMSG: sensor_msgs/PointField\nuint8 INT8=1\nuint8 UINT8=2\n\
    uint8 INT16=3\nuint8 UINT16=4\nuint8 INT32=5\nuint8 UINT32=6\nuint8 FLOAT32=7\n\
    uint8 FLOAT64=8\nstring name\nuint32 offset\nuint8 datatype\nuint32 count";

const POINT_CLOUD: &str = "Header header\ngeometry_msgs/Point32[] points\n\
    ChannelFloat32[] channels\n===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\n\
    string frame_id\n===\nMSG: geometry_msgs/Point32\nfloat32 x\nfloat32 y\nfloat32 z\n\
    ===\nMSG: sensor_msgs/ChannelFloat32\nstring name\nfloat32[] values";

const LASER_SCAN: &str = "Header header\nfloat32 angle_min\nfloat32 angle_max\n\
    float32 angle_increment\nfloat32 time_increment\nfloat32 scan_time\n\
    float32 range_min\nfloat32 range_max\nfloat32[] ranges\nfloat32[] intensities\n\
    ===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id";

const IMAGE: &str = "Header header\nuint32 height\nuint32 width\nstring encoding\n\
    uint8 is_bigendian\nuint32 step\nuint8[] data\n===\nMSG: std_msgs/Header\n\
    uint32 seq\ntime stamp\nstring frame_id";

const COMPRESSED_IMAGE: &str = "Header header\nstring format\nuint8[] data\n===\n\
    MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id";

const VELODYNE_SCAN: &str = "Header header\nVelodynePacket[] packets\n===\n\
    MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n===\n\
    MSG: velodyne_msgs/VelodynePacket\ntime stamp\nuint8[1206] data";

const NUMBERS: &str = "bool a\nbyte b\nchar c\nint8 d\nuint8 e\nint16 f\nuint16 g\n\
    int32 h\nuint32 i\nint64 j\nuint64 k\nfloat32 l\nfloat64 m\ntime n\nduration o\n\
    uint8 E_RED=1\nuint8 E_BLUE=2\nstring NOTE=any # thing";

const LISTS: &str = "uint8[] a\nchar[3] b\nbyte[] c\nstring[] d\nbool[] e\n\
    float64[2] f\ntime[] g\nduration[2] h\nstring[2] i\nint16[0] j";

const NESTED: &str = "Inner[] a\nInner[2] b\nInner c\n===\nMSG: odd/Inner\nstring s\n\
    Deep[] d\n===\nMSG: odd/Deep\nuint16 x\nuint8[] y";
