"""Every topic of every sample, as four libraries get it from the module, equals the Parquet file
that the command writes. The memory of numbers is that of logtool. Two processes share the samples.

    LOGTOOL_SAMPLES   the folder of the samples
    FILES             only the samples whose path contains this
"""

import ctypes
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import duckdb
import nanoarrow
import numpy
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import logtool

# One log has 20,000 topics, and each would be a file.
MOST_TOPICS = 300

PROCESSES = 2

# The command of the module. The package, which takes twice as long to import, is not needed.
COMMAND = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_logtool", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.exit(module.run_command(["logtool", *sys.argv[2:]]))
"""

# Each process has a processor, and the progress would be printed between the results.
SETTINGS = "SET threads = 1; SET enable_progress_bar = false"

# The topics of a log whose memory is changed to see whether DuckDB has copied it.
MOST_CHANGED = 3

# Files are synced when they are written, which takes no time in memory.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def samples():
    """The samples, the longest first."""
    root, part = os.environ["LOGTOOL_SAMPLES"], os.environ.get("FILES", "")
    paths = [path for path in Path(root).rglob("*") if path.is_file() and part in str(path)]
    return sorted(paths, key=lambda path: (-path.stat().st_size, path))


def written(path, topics, folder):
    """The tables of `topics` that the command writes, by the name and the number of the topic;
    None if it fails."""
    command = [sys.executable, "-I", "-S", "-c", COMMAND, logtool._logtool.__file__]
    command += ["--quiet", "convert", path, "--out", folder, "--format", "parquet"]
    for topic in topics:
        command += ["--topic", topic]
    done = subprocess.run(command, capture_output=True, check=False)
    # 3: done, with some of the input lost.
    if done.returncode not in (0, 3):
        return None
    tables = {}
    for file in sorted(Path(folder).glob("*.parquet")):
        # Opened once: it has the metadata, the rows and their number.
        opened = pq.ParquetFile(file)
        metadata = opened.metadata.metadata
        key = metadata[b"logtool.topic"].decode(), int(metadata[b"logtool.topic.instance"])
        tables[key] = opened
    return tables


def bits(array, one_nan=False):
    """`array` with whole numbers instead of floating-point ones: a NaN equals itself then, or,
    with `one_nan`, all NaNs."""
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], kind)
    if pa.types.is_floating(kind):
        if one_nan:
            array = pc.if_else(pc.is_nan(array), pa.scalar(math.nan, kind), array)
        return array.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width])
    if pa.types.is_struct(kind):
        fields = [bits(array.field(i), one_nan) for i in range(kind.num_fields)]
        if not fields:
            return array
        names = [kind.field(i).name for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, names, mask=array.is_null())
    if pa.types.is_fixed_size_list(kind):
        flat = array.values.slice(array.offset * kind.list_size, len(array) * kind.list_size)
        values = bits(flat, one_nan)
        return pa.FixedSizeListArray.from_arrays(values, kind.list_size, mask=array.is_null())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        offsets = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int64)
        values = bits(array.flatten(), one_nan)
        return pa.LargeListArray.from_arrays(pa.array(offsets), values, mask=array.is_null())
    return array


def same_arrays(left, right, one_nan=False):
    return bits(left, one_nan).equals(bits(right, one_nan))


def differences(left, right):
    """What differs between two tables of pyarrow."""
    if left.schema.remove_metadata() != right.schema.remove_metadata():
        yield f"the schemas: {left.schema} {right.schema}"
        return
    if left.num_rows != right.num_rows:
        yield f"the rows: {left.num_rows} {right.num_rows}"
        return
    for name, a, b in zip(left.schema.names, left.columns, right.columns, strict=True):
        if not same_arrays(a, b):
            yield f"the values of {name}"


def pandas_differences(frame, expected):
    """What differs between a frame of pandas and the table that it should have."""
    for field in expected.schema:
        column = expected.column(field.name)
        if pa.types.is_nested(field.type):
            ours = pa.array(frame[field.name].to_list(), field.type, from_pandas=False)
            # Python's numbers, which pandas has in lists, have one NaN.
            if not same_arrays(ours, column, one_nan=True):
                yield f"pandas: the values of {field.name}"
        elif not frame[field.name].equals(column.to_pandas()):
            yield f"pandas: {field.name}"


def decoded(table, names):
    """The rows of `table` that could be decoded, and the number of the others: the module has their
    bytes only if it is asked for them."""
    if "payload" in names or "payload" not in table.schema.names:
        return table, 0
    rows = table.filter(table.column("payload").is_null())
    return rows.drop_columns("payload"), table.num_rows - rows.num_rows


def with_typed_times(table, schema):
    """`table` with the clocks of `schema`. The command writes times as timestamps without a time
    zone, and their clock as metadata: Parquet has no durations."""
    for index, field in enumerate(pa.schema(schema)):
        is_time = pa.types.is_duration(field.type) or field.type == pa.timestamp("ns", "UTC")
        if is_time and table.field(index).type == pa.timestamp("ns"):
            column = table.column(index).cast(pa.int64()).cast(field.type)
            typed = table.field(index).with_type(field.type)
            table = table.set_column(index, typed, column)
    return table


def compare(log, label, file):
    """What differs between the libraries and the file."""
    rows = log[label]
    written = file.read()
    expected, undecodable = decoded(written, rows.schema.names)
    expected = with_typed_times(expected, rows.schema)
    table = pa.table(rows)
    kinds = ("undecodable", "unsupported")
    counts = [damage.count for damage in rows.damage if damage.kind in kinds]
    if undecodable:
        if sum(counts) != undecodable:
            yield f"{undecodable} records are only bytes, and the damage has {sum(counts)}"
        expected = expected.cast(table.schema)
        both = rows.payloads()
        everything = with_typed_times(written, both.schema)
        yield from (f"with payloads: {what}" for what in differences(pa.table(both), everything))
    if found := list(differences(table, expected)):
        yield from found
        return
    frame = pandas.DataFrame.from_arrow(rows)
    yield from pandas_differences(frame, expected)
    try:
        pandas.testing.assert_frame_equal(rows.to_pandas(), frame)
    except AssertionError as error:
        yield f"to_pandas: {error}"
    frame, wanted = polars.DataFrame(rows), polars.DataFrame(expected)
    if not frame.equals(wanted):
        yield "polars: the values"
    if frame.schema != wanted.schema:
        yield "polars: the schema"
    # DuckDB has other types: both sides are converted by it.
    ours = duckdb.sql("FROM rows").to_arrow_table()
    theirs = duckdb.sql("FROM expected").to_arrow_table()
    yield from (f"duckdb: {difference}" for difference in differences(ours, theirs))


def addresses(array):
    """The addresses of the buffers of values of an array of pyarrow, except those of bits."""
    kind = array.type
    if pa.types.is_struct(kind):
        return [a for i in range(kind.num_fields) for a in addresses(array.field(i))]
    if pa.types.is_fixed_size_list(kind):
        return addresses(array.values)
    return [buffer.address for buffer in array.buffers()[1:] if buffer is not None]


def copies(log, label):
    """The libraries that copied the numbers of the first batch of a topic.

    pandas takes the memory of pyarrow, and then makes blocks of columns of the same type.
    """
    batch = next(log[label].batches(), None)
    if batch is None:
        return
    before = pa.total_allocated_bytes()
    first, second = pa.record_batch(batch), pa.record_batch(batch)
    if pa.total_allocated_bytes() != before:
        yield "pyarrow allocated memory"
    for name, a, b in zip(first.schema.names, first.columns, second.columns, strict=True):
        if addresses(a) != addresses(b):
            yield f"pyarrow: {name}"
    view = nanoarrow.c_array(batch)
    frame = polars.DataFrame(batch)
    for index, field in enumerate(first.schema):
        if not is_number(field.type):
            continue
        (address,) = addresses(first.column(index))
        if memory(view.child(index).view().buffer(1)) != address:
            yield f"nanoarrow: {field.name}"
        if addresses(frame[field.name].to_arrow()) != [address]:
            yield f"polars: {field.name}"


def is_number(kind):
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


class DuckDBReader:
    """Shows whether DuckDB copies the numbers of a stream that it reads.

    A query changes the memory of a column after DuckDB has taken the first rows, and before it uses
    that column. If the result has the change, DuckDB has read the memory of logtool itself.
    """

    ROWS = 2

    def __init__(self):
        self.connection = duckdb.connect()
        self.connection.execute(SETTINGS)
        self.changes = changes = []

        def change(value):
            while changes:
                changes.pop()()
            return value

        self.connection.create_function("change", change, ["INTEGER"], "INTEGER", side_effects=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.remove_function("change")
        self.connection.close()

    def select(self, name):
        quoted = name.replace('"', '""')
        return f'SELECT change(1), "{quoted}" FROM rows LIMIT {self.ROWS}'

    def shares_memory(self, batch, name):
        """Whether DuckDB reads the memory of the column `name` of `batch`, which is changed."""
        (column,) = (batch.column(i) for i in range(batch.num_columns) if batch.schema.names[i] == name)
        (address,) = addresses(column)
        width = column.type.bit_width // 8
        length = min(len(column), self.ROWS)
        bytes_of = (ctypes.c_uint8 * (width * length)).from_address(address + column.offset * width)
        view = numpy.frombuffer(bytes_of, column.type.to_pandas_dtype())
        old = view.copy()

        def change():
            view[:] = numpy.where(old == 7, 8, 7)

        self.changes.append(change)
        rows = pa.RecordBatchReader.from_batches(batch.schema, [batch])
        result = [value for _, value in self.connection.sql(self.select(name)).fetchall()]
        return result == view.tolist() and (view != old).all()

    def has_control(self):
        """Whether the result would be the old numbers if DuckDB copied them."""
        memory = numpy.arange(self.ROWS, dtype=numpy.int64)
        rows = pa.table({"x": pa.array(memory)})
        rows = self.connection.sql("SELECT * FROM rows").to_arrow_table()
        self.changes.append(lambda: memory.fill(7))
        result = [value for _, value in self.connection.sql(self.select("x")).fetchall()]
        return result == list(range(self.ROWS)) and rows.num_rows == self.ROWS


def duckdb_copies(log, label, reader):
    """The numbers of the first batch of a topic that DuckDB copied. Changes their memory."""
    batch = next(log[label].batches(), None)
    if batch is None:
        return
    batch = pa.record_batch(batch)
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if is_number(field.type) and field.type != pa.float16() and column.null_count == 0:
            if not reader.shares_memory(batch, field.name):
                yield f"duckdb copies {field.name}"
            return


def memory(buffer):
    """The address of a buffer of nanoarrow."""
    return numpy.frombuffer(buffer, numpy.uint8).__array_interface__["data"][0]


def fails(table):
    """Whether reading `table` fails."""
    try:
        for _ in table.batches():
            pass
    except logtool.Error:
        return True
    return False


def prepare():
    """Prepares a process."""
    warnings.simplefilter("ignore", logtool.DamageWarning)
    pa.set_cpu_count(1)
    duckdb.execute(SETTINGS)


def check(path):
    """What differs in a sample, and the numbers of its logs, topics and rows."""
    try:
        log = logtool.open(path)
    except logtool.Error:
        # The command refuses it too: conformance/ulog and others compare that.
        return [], 0, 0, 0
    failures, tables, rows = [], 0, 0
    labels = {(topic.name, topic.instance): topic.name for topic in log.topics}
    chosen = list(labels.values())[:MOST_TOPICS]
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        files = written(path, chosen if len(labels) > MOST_TOPICS else [], folder)
        if files is None:
            if not any(map(fails, log.values())):
                failures.append(f"{path}: only the command refuses it")
            return failures, 1, 0, 0
        for (name, instance), file in files.items():
            label = f"{name}.{instance}" if instance else name
            found = [*compare(log, label, file), *copies(log, label)]
            failures += (f"{path} {label}: {difference}" for difference in found)
            tables += 1
            rows += file.metadata.num_rows
        with DuckDBReader() as reader:
            for name, instance in list(files)[:MOST_CHANGED]:
                label = f"{name}.{instance}" if instance else name
                found = duckdb_copies(log, label, reader)
                failures += (f"{path} {label}: {difference}" for difference in found)
    return failures, 1, tables, rows


def main():
    failures, logs, tables, rows = [], 0, 0, 0
    with DuckDBReader() as reader:
        if not reader.has_control():
            failures.append("a change of copied memory is in the result of DuckDB")
    # Threads of a process are not in its forks.
    context = multiprocessing.get_context("spawn")
    os.environ["POLARS_MAX_THREADS"] = "1"
    with ProcessPoolExecutor(PROCESSES, context, prepare) as pool:
        for found in pool.map(check, samples()):
            failures += found[0]
            logs, tables, rows = logs + found[1], tables + found[2], rows + found[3]
    for failure in failures[:50]:
        print(failure)
    print(f"{logs} logs, {tables} topics, {rows} rows; {len(failures)} differences")
    if failures or tables == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
