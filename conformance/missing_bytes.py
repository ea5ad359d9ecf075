"""Removes bytes from chunks of bags and MCAP files, inserts some, or overwrites some with zeros, and checks
that logtool reads at least what lies before them and in all other chunks.

The files are made by rosbags and mcap. What precedes the change in a chunk is found by independent decoders:
bz2 and zstandard, which are fed the bytes before it, and a decoder of LZ4 blocks below, which stops there.
"""

import bz2
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import zstandard
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags.rosbag1 import Writer as BagWriter
from rosbags.typesys import Stores, get_typestore
from tally import Tally

MESSAGES = 3000
LENGTHS = (1, 10, 512, 4096, 65536)


def texts():
    """The texts of the messages. They are as compressible as real ones."""
    rnd = random.Random(41)
    words = ("alpha", "beta", "gamma", "delta")
    for number in range(MESSAGES):
        extra = (f"{rnd.getrandbits(30):x}" for _ in range(4))
        yield " ".join([str(number), *(rnd.choice(words) for _ in range(6)), *extra])


def make_bag(path, compression, chunk_bytes):
    writer = BagWriter(path)
    writer.chunk_threshold = chunk_bytes
    if compression:
        writer.set_compression(BagWriter.CompressionFormat[compression.upper()])
    with writer:
        store = get_typestore(Stores.ROS1_NOETIC)
        connection = writer.add_connection("/text", "std_msgs/msg/String", typestore=store)
        for number, text in enumerate(texts()):
            data = struct.pack("<I", len(text)) + text.encode()
            writer.write(connection, 10**18 + number * 10**7, data)


def make_mcap(path, compression, chunk_bytes):
    name = compression or "none"
    with path.open("wb") as file:
        writer = McapWriter(file, chunk_size=chunk_bytes, compression=CompressionType[name.upper()])
        writer.start()
        schema = writer.register_schema("std_msgs/String", "ros1msg", b"string data\n")
        channel = writer.register_channel("/text", "ros1", schema)
        for number, text in enumerate(texts()):
            data = struct.pack("<I", len(text)) + text.encode()
            time = 10**18 + number * 10**7
            writer.add_message(channel, log_time=time, publish_time=time, data=data, sequence=number)
        writer.finish()


def bag_records(data, at=0):
    """The fields and the content of each record from `at` on, with the start and the end of the content."""
    while at + 8 <= len(data):
        header_len = struct.unpack_from("<I", data, at)[0]
        header, fields, field_at = data[at + 4 : at + 4 + header_len], {}, 0
        while field_at + 4 <= len(header):
            field_len = struct.unpack_from("<I", header, field_at)[0]
            field = header[field_at + 4 : field_at + 4 + field_len]
            fields[field.partition(b"=")[0]] = field.partition(b"=")[2]
            field_at += 4 + field_len
        start = at + 8 + header_len
        if start > len(data):
            return
        end = start + struct.unpack_from("<I", data, start - 4)[0]
        yield fields, at, start, end
        at = end


def mcap_records(data, at=0):
    while at + 9 <= len(data):
        end = at + 9 + struct.unpack_from("<Q", data, at + 1)[0]
        yield data[at], at, at + 9, end
        at = end


def bag_chunks(data):
    """The chunks: the start of the record, and the byte range of the compressed content."""
    for fields, at, start, end in bag_records(data, len(b"#ROSBAG V2.0\n")):
        if fields.get(b"op") == b"\x05":
            yield at, start, end


def mcap_chunks(data):
    for opcode, at, start, end in mcap_records(data, 8):
        if opcode == 6:
            name_len = struct.unpack_from("<I", data, start + 28)[0]
            yield at, start + 32 + name_len + 8, end
        elif opcode == 2:
            return


def bag_messages(content):
    """How many complete messages `content` has."""
    records = bag_records(content)
    return sum(fields.get(b"op") == b"\x02" and end <= len(content) for fields, _, _, end in records)


def mcap_messages(content):
    return sum(opcode == 5 and end <= len(content) for opcode, _, _, end in mcap_records(content))


def lz4_prefix(packed):
    """What the sequences in the first bytes of an LZ4 frame decompress to (LZ4 Frame and Block Format)."""
    flags, at, out = packed[4], 7 + (packed[4] & 8) + (packed[4] & 1) * 4, bytearray()
    while at + 4 <= len(packed):
        size = struct.unpack_from("<I", packed, at)[0]
        block = packed[at + 4 : at + 4 + (size & 0x7FFFFFFF)]
        at += 4 + (size & 0x7FFFFFFF) + (4 if flags & 0x10 else 0)
        if size == 0:
            break
        if size >> 31:
            out += block
        else:
            lz4_sequences(block, out)
    return bytes(out)


def lz4_sequences(block, out):
    position = 0

    def number(first):
        nonlocal position
        total, last = first, 255 if first == 15 else 0
        while last == 255:
            last = block[position]
            total, position = total + last, position + 1
        return total

    try:
        while position < len(block):
            token = block[position]
            position += 1
            literals = number(token >> 4)
            out += block[position : position + literals]
            position += literals
            offset = block[position] | block[position + 1] << 8
            position += 2
            for _ in range(number(token & 15) + 4):
                out.append(out[-offset])
    except IndexError:
        return  # the block ends here


def prefix(packed, compression):
    """What the first bytes of compressed data decompress to."""
    if compression == "lz4":
        return lz4_prefix(packed) if len(packed) > 7 else b""
    if compression is None:
        return packed
    decoder = bz2.BZ2Decompressor() if compression == "bz2" else zstandard.ZstdDecompressor().decompressobj()
    return decoder.decompress(packed)


def changes(data, chunks):
    """Changed files: what was done, the changed byte range, and the new bytes."""
    rnd = random.Random(8)
    for index in sorted({0, len(chunks) // 2, len(chunks) - 1}):
        _, start, end = chunks[index]
        for length in LENGTHS:
            for part in (3, 9):
                at = start + (end - start) * part // 10
                if at + length < len(data):
                    yield f"without {length} bytes", at, at + length, b""
                    yield f"{length} zeros", at, at + length, bytes(length)
            at = (start + end) // 2
            yield f"with {length} more bytes", at, at, rnd.randbytes(length)
        if index + 1 < len(chunks):
            next_at, next_start, _ = chunks[index + 1]
            yield "without the end of a chunk and its index", end - 40, next_at, b""
            yield "without the end of a chunk and the next header", end - 40, next_start + 30, b""


def lines(path):
    command = [os.environ["LOGTOOL"], "--quiet", "cat", "--json", path]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.returncode, [line["data"].get("data") for line in map(json.loads, done.stdout.splitlines())]


def check(tally, path, compression, find_chunks, count_messages):
    data = path.read_bytes()
    chunks = list(find_chunks(data))
    expected_all = list(texts())
    differences, runs = [], 0
    if lines(path) != (0, expected_all):
        differences.append("the sound file is not read completely")
    counts = [count_messages(prefix(data[start:end], compression)) for _, start, end in chunks]
    if sum(counts) != MESSAGES:
        differences.append(f"{sum(counts)} messages are decoded here")
    changed = path.with_stem("changed")
    for what, start_of_change, end_of_change, new in changes(data, chunks):
        if data[start_of_change:end_of_change] == new:
            continue
        wanted, first = [], 0
        for (at, start, end), count in zip(chunks, counts):
            if end <= start_of_change or at >= end_of_change:
                wanted += expected_all[first : first + count]
            elif start <= start_of_change < end:
                before = count_messages(prefix(data[start:start_of_change], compression))
                wanted += expected_all[first : first + before]
            first += count
        changed.write_bytes(data[:start_of_change] + new + data[end_of_change:])
        _, got = lines(changed)
        missing = Counter(wanted) - Counter(got)
        runs += 1
        if missing:
            differences.append(
                f"{what} at {start_of_change}: {missing.total()} of {len(wanted)} messages are missing"
            )
    tally.check(f"{compression or 'none'}, {len(chunks)} chunks", differences, f"{runs} changes")


def main():
    kinds = [
        ("bag", make_bag, ("lz4", "bz2", None), bag_chunks, bag_messages),
        ("mcap", make_mcap, ("lz4", "zstd", None), mcap_chunks, mcap_messages),
    ]
    tallies = []
    for extension, make, compressions, find_chunks, count_messages in kinds:
        tally = Tally(extension, [])
        tallies.append(tally)
        for compression in compressions:
            for chunk_bytes in (1 << 24, 100_000, 8_000):
                with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
                    path = Path(folder) / f"sound.{extension}"
                    make(path, compression, chunk_bytes)
                    check(tally, path, compression, find_chunks, count_messages)
        print(*tally.lines, sep="\n", flush=True)
    failed = sum(tally.failed for tally in tallies)
    print(f"missing bytes: {sum(tally.passed for tally in tallies)} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
