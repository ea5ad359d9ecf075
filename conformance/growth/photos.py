"""A ULog of a flight with photos, and the photos as JPEG files, as Exif 2.3 and the ULog specification say."""

import datetime
import struct

import ulogs

CAPTURE = (
    "uint64_t timestamp;uint64_t timestamp_utc;double lat;double lon;uint32_t seq;"
    "float alt;float ground_distance;float[4] q;int8_t result;"
)
UTC = 1_717_236_000_000_000


def shot_time(index):
    """Irregular times in microseconds, as in a hand-flown survey."""
    return 4_000_000 * index + index * index * 7919 % 2_900_000


def shots(n):
    """A log with `n` photos taken."""
    data = []
    for index in range(n):
        micros = ulogs.START + shot_time(index)
        place = (47 + index * 1e-6, 8.0, index, 500.0, 40.0, 1.0, 0.0, 0.0, 0.0, 1)
        values = struct.pack("<QQddIff4fb", micros, UTC + shot_time(index), *place)
        data.append(ulogs.message("D", struct.pack("<H", 0) + values))
    return ulogs.log([ulogs.text(f"camera_capture:{CAPTURE}")], [ulogs.subscribe(0, "camera_capture"), *data])


def write_photos(folder, n):
    """Writes the photos of all shots but one. The clock of the camera is two hours ahead."""
    folder.mkdir()
    for index in range(n):
        if index != n // 2:
            (folder / f"{index:06}.jpg").write_bytes(photo(UTC + shot_time(index) + 7_200_000_000))


def photo(micros):
    date = datetime.datetime.fromtimestamp(micros // 10**6, datetime.timezone.utc)
    text = date.strftime("%Y:%m:%d %H:%M:%S").encode() + b"\0"
    # The first directory has the offset of the second one, which has the offset of the date.
    first = struct.pack("<HHHIII", 1, 0x8769, 4, 1, 26, 0)
    second = struct.pack("<HHHIII", 1, 0x9003, 2, len(text), 44, 0)
    exif = b"Exif\0\0II*\0" + struct.pack("<I", 8) + first + second + text
    return b"\xff\xd8\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + b"\xff\xda\0\x02\xff\xd9"
