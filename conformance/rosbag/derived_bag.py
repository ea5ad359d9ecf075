"""A bag of clouds, scans and images in every form, written by rosbags."""

import numpy as np
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS1_NOETIC)
PACKAGES = ("std_msgs", "geometry_msgs", "sensor_msgs", "builtin_interfaces")
TYPES = {
    name.split("/")[-1]: kind
    for package in PACKAGES
    for name, kind in STORE.types.items()
    if name.startswith(f"{package}/")
}

# The types of fields, in the order of sensor_msgs/PointField, as numpy knows them.
KINDS = ["i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8"]

WIDTH, HEIGHT = 37, 23

IMAGES = {
    "mono8": (1, "u1"),
    "8UC1": (1, "u1"),
    "mono16": (1, "u2"),
    "16UC1": (1, "u2"),
    "rgb8": (3, "u1"),
    "bgr8": (3, "u1"),
    "rgba8": (4, "u1"),
    "bgra8": (4, "u1"),
    "rgb16": (3, "u2"),
    "bgr16": (3, "u2"),
    "rgba16": (4, "u2"),
    "bgra16": (4, "u2"),
    "yuv422": (2, "u1"),
    "yuv422_yuy2": (2, "u1"),
    "32FC1": (1, "f4"),
    "64FC1": (1, "f8"),
    "bayer_rggb8": (1, "u1"),
    "bayer_bggr8": (1, "u1"),
    "bayer_gbrg8": (1, "u1"),
    "bayer_grbg8": (1, "u1"),
    "bayer_rggb16": (1, "u2"),
}


def write(path):
    """Writes the bag at `path`."""
    random = np.random.default_rng(7)
    with Writer(path) as writer:
        put = Putting(writer)
        for number, big in enumerate([False, True]):
            put("/cloud", cloud(random, put.header(), big, height=1, pad=3))
            put("/grid", cloud(random, put.header(), big, height=4, pad=number * 5))
        put("/cloud", cloud(random, put.header(), False, height=1, pad=0, width=0))
        for number in range(6):
            put("/mixed", mixed_cloud(random, put.header(), number))
        for count in (0, 5, 40):
            put("/old_cloud", old_cloud(random, put.header(), count))
            put("/scan", scan(random, put.header(), count, count % 2))
        for encoding in IMAGES:
            for big in (False, True):
                for pad in (0, 5):
                    put(f"/images/e{encoding}", image(random, put.header(), encoding, big, pad))


class Putting:
    """Puts messages into a bag, a tenth of a second after each other."""

    def __init__(self, writer):
        self.writer, self.connections, self.now = writer, {}, 1_700_000_000_123_456_789

    def header(self):
        stamp = TYPES["Time"](sec=self.now // 10**9, nanosec=self.now % 10**9 - 1)
        return TYPES["Header"](seq=1, stamp=stamp, frame_id="frame, of \"it\"")

    def __call__(self, topic, message):
        name = message.__msgtype__
        if topic not in self.connections:
            connect = self.writer.add_connection
            self.connections[topic] = connect(topic, name, typestore=STORE)
        data = STORE.serialize_ros1(message, name)
        self.writer.write(self.connections[topic], self.now, data)
        self.now += 10**8


def cloud(random, header, big, height, pad, width=11):
    fields, offset = [], 2
    for number, kind in enumerate(KINDS, 1):
        count = 3 if kind == "f4" else 1
        fields.append(TYPES["PointField"](f"f_{kind}", offset, number, count))
        offset += np.dtype(kind).itemsize * count + 1
    row = offset * width + pad
    data = random.integers(0, 256, row * height, np.uint8)
    return TYPES["PointCloud2"](header, height, width, fields, big, offset, row, data, False)


# Fields of several drivers that publish on one topic.
LAYOUTS = [
    [("x", "f4"), ("y", "f4"), ("z", "f4")],
    [("x", "f4"), ("y", "f4"), ("z", "f4"), ("intensity", "u1")],
    [("ring", "u2"), ("z", "f8"), ("y", "f4"), ("x", "f4"), ("intensity", "i2")],
]


def mixed_cloud(random, header, number, width=5):
    fields, offset = [], 0
    for name, kind in LAYOUTS[number % len(LAYOUTS)]:
        fields.append(TYPES["PointField"](name, offset, KINDS.index(kind) + 1, 1))
        offset += np.dtype(kind).itemsize
    data = random.integers(0, 256, offset * width, np.uint8)
    return TYPES["PointCloud2"](header, 1, width, fields, number > 2, offset, len(data), data, False)


def old_cloud(random, header, count):
    points = [TYPES["Point32"](*map(float, point)) for point in random.random((count, 3), np.float32)]
    channel = TYPES["ChannelFloat32"]
    values = [random.random(count, np.float32) for _ in range(2)]
    channels = [channel("intensity", values[0]), channel("x", values[1])]
    return TYPES["PointCloud"](header, points, channels if count else [])


def scan(random, header, count, has_intensities):
    ranges = random.random(count, np.float32) * 12
    ranges[::7] = np.inf
    ranges[3::7] = np.nan
    intensities = random.random(count if has_intensities else 0, np.float32)
    angles = (-1.5, 1.5, 0.0125)
    return TYPES["LaserScan"](header, *angles, 0.0001, 0.1, 0.5, 10.0, ranges, intensities)


def image(random, header, encoding, big, pad):
    channels, kind = IMAGES[encoding]
    # Pairs of pixels share a colour in YUV.
    width = WIDTH + 1 if encoding.startswith("yuv") else WIDTH
    dtype = np.dtype(kind).newbyteorder(">" if big else "<")
    size = (HEIGHT, width * channels)
    if kind[0] == "f":
        values = (random.random(size) * 80 - 5).astype(dtype)
        values[::5, ::3] = np.nan
        values[1::5, ::3] = np.inf
    else:
        # Smooth, as pictures are: a sum of slopes, and some noise.
        slope = np.add.outer(np.arange(size[0]), np.arange(size[1])) * 3
        values = (slope + random.integers(0, 9, size)).astype(dtype)
    rows = values.view(np.uint8).reshape(HEIGHT, -1)
    rows = np.pad(rows, ((0, 0), (0, pad)), constant_values=7)
    step, data = rows.shape[1], rows.ravel()
    return TYPES["Image"](header, HEIGHT, width, encoding, int(big), step, data)
