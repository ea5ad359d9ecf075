"""The images of a log as arrays of NumPy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logtool._logtool import Log, Table

if TYPE_CHECKING:
    import numpy

__all__ = ["Image", "images"]

_CHANNELS = {
    "mono8": ("u1", 1),
    "mono16": ("u2", 1),
    "rgb8": ("u1", 3),
    "bgr8": ("u1", 3),
    "rgba8": ("u1", 4),
    "bgra8": ("u1", 4),
    "rgb16": ("u2", 3),
    "bgr16": ("u2", 3),
    "rgba16": ("u2", 4),
    "bgra16": ("u2", 4),
    "yuv422": ("u1", 2),
    "yuv422_yuy2": ("u1", 2),
    "uyvy": ("u1", 2),
    "yuyv": ("u1", 2),
}
"""The NumPy type and the number of the values of a pixel, by the name of the encoding."""

_OPENCV = re.compile(r"(8|16|32|64)([USF])C(\d*)")
_BAYER = re.compile(r"bayer_\w{4}(8|16)")


@dataclass(frozen=True)
class Image:
    """An image of a log."""

    topic: str
    """The name of the topic."""
    time: numpy.datetime64 | numpy.timedelta64
    """The time of recording, as in the table of the topic."""
    encoding: str
    """The encoding of the pixels, e.g. ``"rgb8"``, or the format, e.g. ``"jpeg"``."""
    data: Any
    """The pixels as an array of shape (rows, columns, channels), or (rows, columns) for a single
    channel. Bytes if the image is compressed, or if its encoding is not known."""


def images(log: Log, topic: str) -> Iterator[Image]:
    """Return the images of a topic with raw or compressed images of ROS or Foxglove.

    Further selections are possible on the table of the topic: ``log[topic].time(...)`` and
    ``images_of``.
    """
    yield from images_of(log[topic])


def images_of(table: Table) -> Iterator[Image]:
    """Return the images of a table."""
    time_column = table.schema.names[0]
    for batch in table.batches():
        columns = batch.to_numpy()
        names = columns.keys()
        if "data" not in names or not names & {"encoding", "format"}:
            raise ValueError(f"{table.topic} has no images")
        encodings = columns["encoding" if "encoding" in names else "format"]
        for row, data in enumerate(columns["data"]):
            encoding = str(encodings[row])
            pixels = data.tobytes() if hasattr(data, "tobytes") else data
            if "height" in names:
                shape = int(columns["height"][row]), int(columns["width"][row])
                step = int(columns["step"][row]) if "step" in names else 0
                is_big_endian = "is_bigendian" in names and bool(columns["is_bigendian"][row])
                pixels = _pixels(pixels, encoding, shape, step, is_big_endian)
            yield Image(table.topic, columns[time_column][row], encoding, pixels)


def _value_type(encoding: str) -> tuple[str, int] | None:
    """Return the NumPy type and the number of the values of a pixel, if they are known."""
    if parsed := _OPENCV.fullmatch(encoding):
        kind = {"U": "u", "S": "i", "F": "f"}[parsed[2]]
        return f"{kind}{int(parsed[1]) // 8}", int(parsed[3] or 1)
    if parsed := _BAYER.fullmatch(encoding):
        return f"u{int(parsed[1]) // 8}", 1
    return _CHANNELS.get(encoding.lower())


def _pixels(
    data: bytes, encoding: str, shape: tuple[int, int], step: int, is_big_endian: bool
) -> Any:
    """Return an array of the pixels, or ``data`` if the encoding is not known."""
    import numpy

    pixel_type = _value_type(encoding)
    if pixel_type is None:
        return data
    (height, width), (value_type, channels) = shape, pixel_type
    dtype = numpy.dtype(value_type).newbyteorder(">" if is_big_endian else "<")
    row_bytes = width * channels * dtype.itemsize
    step = max(step, row_bytes)
    min_bytes = (height - 1) * step + row_bytes if height else 0
    if len(data) < min_bytes:
        raise ValueError(f"an image of {width} × {height} pixels has {len(data)} bytes")
    strides = (step, channels * dtype.itemsize, dtype.itemsize)
    array = numpy.ndarray((height, width, channels), dtype, data, strides=strides)
    array = array.copy()
    return array[:, :, 0] if channels == 1 else array
