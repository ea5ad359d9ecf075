"""Every topic of every sample, as four libraries get it from the module, equals the Parquet file
that the command writes. The memory of numbers is that of logtool.

    LOGTOOL_SAMPLES   the folder of the samples
    FILES             only the samples whose path contains this
"""

import math
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import duckdb
import nanoarrow
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import logtool

# One log has 20,000 topics, and each would be a file.
MOST_TOPICS = 300


def samples():
    """The samples that logtool opens, in their order."""
    root, part = os.environ["LOGTOOL_SAMPLES"], os.environ.get("FILES", "")
    for path in sorted(Path(root).rglob("*")):
        if path.is_file() and part in str(path):
            try:
                yield path, logtool.open(path)
            except logtool.Error:
                # The command refuses it too: conformance/ulog and others compare that.
                pass


def written(path, topics, folder):
    """The tables of `topics` that the command writes, by the name and the number of the topic;
    None if it fails."""
    command = [sys.executable, "-m", "logtool", "--quiet", "convert", path, "--out", folder]
    command += ["--format", "parquet"]
    for topic in topics:
        command += ["--topic", topic]
    done = subprocess.run(command, capture_output=True, check=False)
    # 3: done, with some of the input lost.
    if done.returncode not in (0, 3):
        return None
    tables = {}
    for file in sorted(Path(folder).glob("*.parquet")):
        metadata = pq.ParquetFile(file).metadata.metadata
        key = metadata[b"logtool.topic"].decode(), int(metadata[b"logtool.topic.instance"])
        tables[key] = file
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
        lengths = pc.list_value_length(array)
        return pa.StructArray.from_arrays([lengths, lengths], ["length", "same"]), bits(
            array.flatten(), one_nan
        )
    return array


def same_arrays(left, right, one_nan=False):
    left, right = bits(left, one_nan), bits(right, one_nan)
    if isinstance(left, tuple):
        return all(a.equals(b) for a, b in zip(left, right, strict=True))
    return left.equals(right)


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
    """The rows of `table` that could be decoded, and the number of the others: the command writes
    their bytes into a column that the module does not have, because it reports them as damage."""
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
    expected, undecodable = decoded(pq.read_table(file), rows.schema.names)
    expected = with_typed_times(expected, rows.schema)
    table = pa.table(rows)
    counts = [damage.count for damage in rows.damage if damage.kind == "undecodable"]
    if undecodable and sum(counts) != undecodable:
        yield f"{undecodable} records are only bytes, and the damage has {sum(counts)}"
    if undecodable:
        expected = expected.cast(table.schema)
    if found := list(differences(table, expected)):
        yield from found
        return
    yield from pandas_differences(pandas.DataFrame.from_arrow(rows), expected)
    frame = polars.DataFrame(rows)
    if not frame.equals(polars.DataFrame(expected)):
        yield "polars: the values"
    if frame.schema != polars.DataFrame(expected).schema:
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
        if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            continue
        (address,) = addresses(first.column(index))
        if memory(view.child(index).view().buffer(1)) != address:
            yield f"nanoarrow: {field.name}"
        if addresses(frame[field.name].to_arrow()) != [address]:
            yield f"polars: {field.name}"


def memory(buffer):
    """The address of a buffer of nanoarrow."""
    import numpy

    return numpy.frombuffer(buffer, numpy.uint8).__array_interface__["data"][0]


def fails(table):
    """Whether reading `table` fails."""
    try:
        for _ in table.batches():
            pass
    except logtool.Error:
        return True
    return False


def main():
    warnings.simplefilter("ignore", logtool.DamageWarning)
    failures, logs, tables, rows = [], 0, 0, 0
    for path, log in samples():
        labels = {(topic.name, topic.instance): topic.name for topic in log.topics}
        chosen = list(labels.values())[:MOST_TOPICS]
        with tempfile.TemporaryDirectory() as folder:
            files = written(path, chosen if len(labels) > MOST_TOPICS else [], folder)
            logs += 1
            if files is None:
                if not any(map(fails, log.values())):
                    failures.append(f"{path}: only the command refuses it")
                continue
            for (name, instance), file in files.items():
                label = f"{name}.{instance}" if instance else name
                found = [*compare(log, label, file), *copies(log, label)]
                failures += (f"{path} {label}: {difference}" for difference in found)
                tables += 1
                rows += pq.ParquetFile(file).metadata.num_rows
    for failure in failures[:50]:
        print(failure)
    print(f"{logs} logs, {tables} topics, {rows} rows; {len(failures)} differences")
    if failures or tables == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
