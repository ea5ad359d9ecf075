"""Files with messages of protocol buffers and in JSON, made with the Python packages, as
logtool reads them; and files that are attached, as it copies them."""

import json
from pathlib import Path

import pyarrow.parquet as pq
from google.protobuf import descriptor_pb2, duration_pb2, message_factory, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from logtool import run
from mcap.reader import make_reader
from mcap.writer import Writer as McapWriter
from mcap_protobuf.writer import Writer as ProtobufWriter

F = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "d": F.TYPE_DOUBLE, "f": F.TYPE_FLOAT, "i64": F.TYPE_INT64, "u64": F.TYPE_UINT64,
    "i32": F.TYPE_INT32, "x64": F.TYPE_FIXED64, "x32": F.TYPE_FIXED32, "b": F.TYPE_BOOL,
    "s": F.TYPE_STRING, "y": F.TYPE_BYTES, "u32": F.TYPE_UINT32, "sx32": F.TYPE_SFIXED32,
    "sx64": F.TYPE_SFIXED64, "s32": F.TYPE_SINT32, "s64": F.TYPE_SINT64,
}  # fmt: skip


def types():
    """The class of a message with all that there is."""
    pool = DescriptorPool()
    for known in (timestamp_pb2, duration_pb2):
        pool.Add(descriptor_pb2.FileDescriptorProto.FromString(known.DESCRIPTOR.serialized_pb))
    file = descriptor_pb2.FileDescriptorProto(name="all.proto", package="test", syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/duration.proto"])
    inner = file.message_type.add(name="In")
    inner.field.add(name="x", number=1, type=F.TYPE_INT32, label=1)
    inner.field.add(name="names", number=2, type=F.TYPE_STRING, label=3)
    one = file.enum_type.add(name="Color")
    for number, name in enumerate(["NONE", "RED", "GREEN"]):
        one.value.add(name=name, number=number)
    made = file.message_type.add(name="All")
    number = 0
    for name, kind in SCALARS.items():
        number += 1
        made.field.add(name=name, number=number, type=kind, label=1)
        number += 1
        made.field.add(name=f"l_{name}", number=number, type=kind, label=3)
    made.field.add(name="color", number=40, type=F.TYPE_ENUM, type_name=".test.Color", label=1)
    made.field.add(name="in", number=41, type=F.TYPE_MESSAGE, type_name=".test.In", label=1)
    made.field.add(name="ins", number=42, type=F.TYPE_MESSAGE, type_name=".test.In", label=3)
    made.field.add(name="at", number=43, type=F.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1)
    made.field.add(name="span", number=44, type=F.TYPE_MESSAGE, type_name=".google.protobuf.Duration", label=1)
    pair = made.nested_type.add(name="MapEntry")
    pair.options.map_entry = True
    pair.field.add(name="key", number=1, type=F.TYPE_STRING, label=1)
    pair.field.add(name="value", number=2, type=F.TYPE_DOUBLE, label=1)
    made.field.add(name="map", number=45, type=F.TYPE_MESSAGE, type_name=".test.All.MapEntry", label=3)
    made.oneof_decl.add(name="either")
    made.field.add(name="left", number=46, type=F.TYPE_STRING, label=1, oneof_index=0)
    made.field.add(name="right", number=47, type=F.TYPE_INT32, label=1, oneof_index=0)
    made.oneof_decl.add(name="_maybe")
    made.field.add(name="maybe", number=48, type=F.TYPE_INT32, label=1, oneof_index=1, proto3_optional=True)
    made.field.add(name="loose", number=50, type=F.TYPE_INT32, label=3).options.packed = False
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("test.All"))


def message(All, n):
    """The message number `n`; each third is empty."""
    m = All()
    if n % 3 == 2:
        return m
    sign = -1 if n % 2 else 1
    m.d, m.f, m.i64, m.u64, m.i32 = n * 0.1, n * 0.5, sign * 2**62 + n, 2**63 + n, sign * n
    m.x64, m.x32, m.b, m.s, m.y, m.u32 = n, n, n % 2 == 0, f"text {n} ü", bytes([n % 256, 0, 255]), 2**32 - 1 - n
    m.sx32, m.sx64, m.s32, m.s64 = sign * n, sign * 2**40, sign * n, sign * 2**50
    for name in SCALARS:
        getattr(m, f"l_{name}").extend([getattr(m, name)] * (n % 4))
    m.color = n % 3
    getattr(m, "in").x = n
    getattr(m, "in").names.extend(["a", "b"])
    for k in range(n % 3):
        m.ins.add(x=k).names.append(str(k))
    m.at.FromNanoseconds(10**18 + n)
    m.span.FromNanoseconds(-(10**9) - n)
    m.map["key"] = n * 2.0
    if n % 2:
        m.left = "l"
    else:
        m.right = 0
    if n % 4 == 0:
        m.maybe = 0
    m.loose.extend([1, -2, n])
    return m


def wanted(value, field=None):
    """A value as pyarrow has what logtool makes of it."""
    if field is not None and field.is_repeated:
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            return [{"key": k, "value": v} for k, v in value.items()]
        return [wanted(one) for one in value]
    if isinstance(value, timestamp_pb2.Timestamp | duration_pb2.Duration) or (
        hasattr(value, "DESCRIPTOR") and value.DESCRIPTOR.full_name.startswith("google.protobuf.")
    ):
        return value.ToNanoseconds()
    if hasattr(value, "DESCRIPTOR"):
        return row(value)
    return value


def row(m):
    found = {}
    for field in m.DESCRIPTOR.fields:
        is_told = not field.has_presence or m.HasField(field.name)
        found[field.name] = wanted(getattr(m, field.name), field) if is_told else None
    return found


def table(path, folder):
    """The only table that logtool makes of a file, times as nanoseconds."""
    run("convert", path, "-o", folder, "--format", "parquet", "--force")
    found = pq.ParquetFile(next(Path(folder).glob("*.parquet"))).read()
    rows = [{} for _ in range(found.num_rows)]
    for name, column in zip(found.column_names, found.columns, strict=True):
        if str(column.type).startswith(("timestamp", "duration")):
            column = column.cast("int64")
        for into, value in zip(rows, column.to_pylist(), strict=True):
            into[name] = value
    return rows


def check_protobuf(folder, tally):
    All, path = types(), Path(folder) / "typed.mcap"
    messages = [message(All, n) for n in range(60)]
    with open(path, "wb") as file:
        writer = ProtobufWriter(file)
        for n, m in enumerate(messages):
            writer.write_message("/all", m, log_time=n + 1, publish_time=n + 1)
        writer.finish()
    ours = table(path, Path(folder) / "typed")
    differences = []
    if len(ours) != len(messages):
        differences.append(f"{len(ours)} rows")
    for n, (m, mine) in enumerate(zip(messages, ours, strict=False)):
        for name, value in row(m).items():
            if mine.get(name) != value:
                differences.append(f"row {n}: {name} is {mine.get(name)!r}, not {value!r}")
    tally.check("protobuf as columns", differences, f"{len(messages)} messages")


def check_json(folder, tally):
    path = Path(folder) / "json.mcap"
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"}, "x": {"type": "number"}, "s": {"type": "string"},
            "b": {"type": "boolean"}, "none": {"type": ["number", "null"]},
            "in": {"type": "object", "properties": {"sec": {"type": "integer"}}},
            "of": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
        },
    }  # fmt: skip
    values = [
        {"n": n, "x": n / 3, "s": f"ü{n}", "b": n % 2 == 0, "none": None, "in": {"sec": n}, "of": [{"k": "v"}] * (n % 3)}
        for n in range(50)
    ]
    with open(path, "wb") as file:
        writer = McapWriter(file)
        writer.start()
        told = writer.register_schema("Told", "jsonschema", json.dumps(schema).encode())
        channel = writer.register_channel("/told", "json", told)
        for n, value in enumerate(values):
            writer.add_message(channel, n, json.dumps(value).encode(), n)
        writer.finish()
    ours = table(path, Path(folder) / "json")
    ours = [{key: value for key, value in mine.items() if key != "time"} for mine in ours]
    tally.check("JSON as columns", [] if ours == values else ["other rows"], f"{len(values)} messages")
    bare = Path(folder) / "bare.mcap"
    with open(bare, "wb") as file:
        writer = McapWriter(file)
        writer.start()
        channel = writer.register_channel("/bare", "json", 0)
        for n, value in enumerate(values):
            writer.add_message(channel, n, json.dumps(value).encode(), n)
        writer.finish()
    texts = [json.loads(mine["json"]) for mine in table(bare, Path(folder) / "bare")]
    tally.check("JSON without a schema", [] if texts == values else ["other texts"])


def check_beside(folder, tally):
    """Attachments and metadata of a file are copied."""
    path = Path(folder) / "attached.mcap"
    with open(path, "wb") as file:
        writer = McapWriter(file)
        writer.start()
        channel = writer.register_channel("/x", "json", 0)
        writer.add_attachment(5, 6, "a.bin", "application/x", bytes(range(256)) * 9000)
        writer.add_message(channel, 1, b"{}", 1)
        writer.add_attachment(7, 8, "b.txt", "text/plain", b"b")
        writer.add_metadata("words", {"k": "v"})
        writer.finish()
    other = Path(folder) / "other.mcap"
    for name, command in {
        "filter": ["filter", path, "-o"],
        "merge": ["merge", path, other, "-o"],
        "repair": ["repair", path, "-o"],
    }.items():
        if name == "merge":
            run("filter", path, "-o", other)
        made = Path(folder) / f"{name}.mcap"
        run(*command, made)
        times = 2 if name == "merge" else 1
        with open(path, "rb") as before, open(made, "rb") as after:
            theirs, ours = make_reader(before), make_reader(after, validate_crcs=True)
            wanted, got = list(theirs.iter_attachments()), list(ours.iter_attachments())
            key = lambda a: (a.name, a.log_time, a.create_time, a.media_type, a.data)  # noqa: E731
            fits = sorted(map(key, got)) == sorted(list(map(key, wanted)) * times)
            tally.check(f"attached, {name}", [] if fits else [f"{len(got)} files"])
            words = [(m.name, m.metadata) for m in ours.iter_metadata()]
            tally.check(f"words, {name}", [] if ("words", {"k": "v"}) in words else [str(words)])
            count = ours.get_summary().statistics.attachment_count
            tally.check(f"counted, {name}", [] if count == len(got) else [str(count)])


def check(folder, tally):
    check_protobuf(folder, tally)
    check_json(folder, tally)
    check_beside(folder, tally)
