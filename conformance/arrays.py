"""NumPy's and MATLAB's arrays, and tables for Spark, hold what the Arrow tables hold.

NumPy and SciPy read what `convert --format npz` and `--format mat` write, pyarrow the Arrow files
that other checks compare with other readers of the logs.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.io
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_typestore

from logtool import read_arrow, run
from tally import Tally

ROOT = Path(__file__).resolve().parents[1]
# Cells are compared one by one; at most this many at the start and the end of a column.
CELLS = 20
# Larger logs have no other cases, and take long.
LARGEST = 5_000_000

SPARK = {
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
    pa.string(), pa.binary(), pa.decimal128(20, 0), pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
}  # fmt: skip


def logs():
    found = [path for path in (ROOT / "testdata").glob("*.*") if path.suffix != ".md"]
    samples = Path(os.environ["LOGTOOL_SAMPLES"])
    wanted = ("ulog/*.ulg", "rosbag/*.bag", "velodyne/*.vel", "velodyne/*.pcap")
    more = [path for pattern in wanted for path in samples.glob(pattern)]
    if not more:
        print(f"MISSING  no samples in {samples}: only testdata/ is checked")
    return [path for path in sorted(found) + sorted(more) if path.stat().st_size < LARGEST]


def check_log(path):
    tally = Tally(path.name, [])
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        out = Path(folder)
        try:
            run("convert", path, "-o", out / "arrow", "--format", "arrow")
        except RuntimeError as error:
            tally.check("refused", [], str(error).splitlines()[0])
            return tally
        tables = {file.stem: read_arrow(file) for file in (out / "arrow").glob("*.arrow")}
        if not tables:
            tally.check("no table", [])
            return tally
        run("convert", path, "-o", out / "npz", "--format", "npz")
        npz = {file.stem: file for file in (out / "npz").glob("*.npz")}
        tally.check("npz", different_files(tables, npz), f"{len(npz)} files")
        for name in sorted(set(tables) & set(npz)):
            with np.load(npz[name]) as arrays:
                tally.check(f"npz {name}", npz_differences(tables[name], arrays))
        run("convert", path, "-o", out / "x.mat")
        mat = scipy.io.loadmat(out / "x.mat", struct_as_record=False, chars_as_strings=True)
        mat = {name: value for name, value in mat.items() if not name.startswith("__")}
        if len(mat) != len(tables) + 1:
            tally.check("mat", [f"{len(mat)} variables of {len(tables)} topics"])
        by_name = {re.sub(r"\W", "_", name).lower(): table for name, table in tables.items()}
        for name, value in mat.items():
            if name == "logtool":
                continue
            table = by_name.get(f"{name}_0".lower(), by_name.get(name.lower()))
            if table is None:
                tally.check(f"mat {name}", ["no such table"])
                continue
            struct = table.to_struct_array().combine_chunks() if table.num_rows else None
            found = [] if struct is None else list(mat_differences("", struct, value[0, 0]))
            tally.check(f"mat {name}", found)
        run("convert", path, "-o", out / "spark", "--format", "parquet", "--layout", "spark")
        spark = {file.stem: file for file in (out / "spark").glob("*.parquet")}
        tally.check("spark", different_files(tables, spark), f"{len(spark)} files")
        for name in sorted(set(tables) & set(spark)):
            file = pq.ParquetFile(spark[name])
            found = [*spark_differences(tables[name], file.read()), *spark_encodings(file.metadata)]
            tally.check(f"spark {name}", found)
    return tally


def different_files(tables, files):
    return [f"{name}: only in one" for name in sorted(set(tables) ^ set(files))]


def npz_differences(table, arrays):
    seen = {"logtool.metadata"}
    for field, column in zip(table.schema, table.columns):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], field.type)
        yield from npz_column(field.name, column, (len(table),), arrays, seen)
    yield from (f"{name} has no column" for name in set(arrays.files) - seen)


def npz_column(name, column, shape, arrays, seen):
    """Yields differences between a column and its arrays."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(pa.string())
        kind = column.type
    if pa.types.is_struct(kind):
        for index, field in enumerate(kind):
            yield from npz_column(f"{name}.{field.name}", column.field(index), shape, arrays, seen)
        return
    if pa.types.is_fixed_size_list(kind):
        inner = column.flatten()
        yield from npz_column(name, inner, (*shape, kind.list_size), arrays, seen)
        return
    if pa.types.is_fixed_size_binary(kind):
        flat = np.frombuffer(b"".join(column.to_pylist()), np.uint8)
        inner = pa.array(flat, pa.uint8())
        yield from npz_column(name, inner, (*shape, kind.byte_width), arrays, seen)
        return
    is_text = pa.types.is_string(kind)
    in_bytes = is_text and (name not in arrays.files or arrays[name].dtype.kind != "U")
    if pa.types.is_list(kind) or pa.types.is_binary(kind) or in_bytes:
        if f"{name}.offsets" not in arrays.files:
            yield f"{name}: no offsets"
            return
        seen.add(f"{name}.offsets")
        if is_text:
            column = column.cast(pa.binary())
        lengths = pc.list_value_length if pa.types.is_list(kind) else pc.binary_length
        ends = np.cumsum([0, *lengths(column).fill_null(0).to_pylist()])
        if not np.array_equal(arrays[f"{name}.offsets"], ends):
            yield f"{name}.offsets"
        if pa.types.is_list(kind):
            inner = column.flatten()
        else:
            whole = b"".join(value or b"" for value in column.to_pylist())
            inner = pa.array(np.frombuffer(whole, np.uint8))
        yield from npz_column(name, inner, (len(inner),), arrays, seen)
        return
    seen.add(name)
    if column.null_count and not (pa.types.is_floating(kind) or pa.types.is_temporal(kind)):
        seen.add(f"{name}.valid")
        valid = np.asarray(column.is_valid()).reshape(shape)
        if not np.array_equal(arrays[f"{name}.valid"], valid):
            yield f"{name}.valid"
        column = column.fill_null("" if pa.types.is_string(kind) else False if pa.types.is_boolean(kind) else 0)
    expected = np.asarray(column.to_numpy(zero_copy_only=False))
    if pa.types.is_string(kind):
        expected = np.array(column.to_pylist(), dtype=str)
    elif not pa.types.is_temporal(kind):
        expected = expected.astype(kind.to_pandas_dtype())
    got = arrays[name]
    if got.shape != shape:
        yield f"{name}: shape {got.shape}, not {shape}"
    elif got.dtype.kind != expected.dtype.kind or got.dtype.itemsize < expected.dtype.itemsize:
        yield f"{name}: {got.dtype}, not {expected.dtype}"
    elif not np.array_equal(got.ravel(), expected, equal_nan=expected.dtype.kind in "fmM"):
        yield f"{name}: other values"


def mat_differences(name, column, value):
    """Yields differences between MATLAB's `value` and `column`."""
    kind = column.type
    if pa.types.is_struct(kind):
        plain = [re.sub(r"\W", "_", field.name) for field in kind]
        for index, field in enumerate(plain):
            if not hasattr(value, field):
                yield f"{name}.{field} is missing"
                continue
            inner = getattr(value, field)
            if pa.types.is_struct(kind[index].type):
                inner = inner[0, 0]
            yield from mat_differences(f"{name}.{field}", column.field(index), inner)
        return
    if pa.types.is_dictionary(kind):
        column = column.cast(pa.string())
        kind = column.type
    shape = [len(column)]
    while pa.types.is_fixed_size_list(kind):
        shape.append(kind.list_size)
        column = column.flatten()
        kind = column.type
    if pa.types.is_fixed_size_binary(kind):
        shape.append(kind.byte_width)
        column = pa.array(np.frombuffer(b"".join(column.to_pylist()), np.uint8))
        kind = column.type
    if pa.types.is_struct(kind):
        return  # structs in lists of fixed length are compared in the arrays of NumPy
    # One orientation: a list is a column, also if it is empty or in a cell.
    wanted = tuple(shape) if len(shape) > 1 else (shape[0], 1)
    if value.shape != wanted:
        yield f"{name}: shape {value.shape}, not {wanted}"
        return
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_list(kind):
        rows = len(column)
        if len(shape) > 1:
            return
        for row in sorted({*range(min(CELLS, rows)), *range(max(0, rows - CELLS), rows)}):
            yield from cell_differences(f"{name}[{row}]", column[row], value[row, 0])
        return
    if column.null_count:
        fill = float("nan") if pa.types.is_floating(kind) else False if pa.types.is_boolean(kind) else 0
        if pa.types.is_temporal(kind):
            column = column.cast(pa.int64())
            fill = -(2**63)
        column = pc.fill_null(column, fill)
    if pa.types.is_temporal(kind):
        column = column.cast(pa.int64())
    expected = np.asarray(column.to_numpy(zero_copy_only=False)).reshape(shape)
    got = np.asarray(value).reshape(shape)
    if expected.dtype == bool:
        got = got.astype(bool)
    if got.dtype != expected.dtype:
        yield f"{name}: {got.dtype}, not {expected.dtype}"
    elif not np.array_equal(got, expected, equal_nan=expected.dtype.kind == "f"):
        yield f"{name}: other values"


def cell_differences(name, scalar, cell):
    if pa.types.is_string(scalar.type):
        told = "".join(cell.ravel().tolist()) if cell.size else ""
        wanted = re.sub("[\U00010000-\U0010ffff]", in_digits, scalar.as_py() or "")
        # SciPy strips trailing blanks of strings.
        if told.rstrip() != wanted.rstrip():
            yield f"{name}: {told!r}, not {scalar.as_py()!r}"
    elif pa.types.is_binary(scalar.type):
        wanted = np.frombuffer(scalar.as_py() or b"", np.uint8).reshape(-1, 1)
        if not np.array_equal(cell, wanted):
            yield f"{name}: other bytes, or of the shape {cell.shape}"
    else:
        items = scalar.values if scalar.is_valid else pa.array([], scalar.type.value_type)
        if pa.types.is_struct(items.type):
            cell = cell[0, 0]
        yield from mat_differences(name, items, cell)


def in_digits(found):
    """The documented form of a character that MATLAB and SciPy do not read alike."""
    return f"\\U{ord(found[0]):08x}"


def far_texts(folder):
    """A bag with characters above U+FFFF in its name and in its strings."""
    path = Path(folder) / "far \U0001f44d.bag"
    types = get_typestore(Stores.ROS1_NOETIC)
    with Writer(path) as bag:
        connection = bag.add_connection("/s", "std_msgs/msg/String", typestore=types)
        for second, text in enumerate(["ok \U0001f44d", "\uffff \u00e9", "\U00010000\U0010ffff"]):
            message = types.types["std_msgs/msg/String"](text)
            message = types.serialize_ros1(message, "std_msgs/msg/String")
            bag.write(connection, (second + 1) * 10**9, message)
    return path


def spark_differences(table, made):
    yield from (f"{field.name}: Spark has no {field.type}" for field in made.schema if not fits(field.type))
    yield from spark_columns(table.to_struct_array(), made.to_struct_array(), "")


def spark_encodings(metadata):
    """Returns the columns that Spark 3.5 rejects ("Unsupported encoding: BYTE_STREAM_SPLIT")."""
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            if "BYTE_STREAM_SPLIT" in column.encodings:
                yield f"{column.path_in_schema}: BYTE_STREAM_SPLIT"


def fits(kind):
    if pa.types.is_struct(kind):
        return all(fits(field.type) for field in kind)
    if pa.types.is_list(kind):
        return fits(kind.value_type)
    if pa.types.is_dictionary(kind):
        return pa.types.is_string(kind.value_type)
    return kind in SPARK


def spark_columns(table, made, above):
    table = pa.concat_arrays(table.chunks) if isinstance(table, pa.ChunkedArray) else table
    made = pa.concat_arrays(made.chunks) if isinstance(made, pa.ChunkedArray) else made
    for index, field in enumerate(table.type):
        name, column = f"{above}{field.name}", table.field(index)
        get = lambda wanted: made.field(made.type.get_field_index(wanted))  # noqa: B023, E731
        if pa.types.is_struct(field.type):
            yield from spark_columns(column, get(field.name), f"{name}.")
        elif pa.types.is_temporal(field.type):
            nanos = column.cast(pa.int64())
            if not get(f"{field.name}_ns").equals(nanos):
                yield f"{name}_ns: other values"
            if pa.types.is_timestamp(field.type):
                micros = get(field.name).cast(pa.int64()).to_pylist()
                if micros != [None if ns is None else ns // 1000 for ns in nanos.to_pylist()]:
                    yield f"{name}: other times"
        elif not pa.types.is_nested(field.type):
            plain = get(field.name)
            if [str(v) for v in plain.to_pylist()] != [str(v) for v in column.to_pylist()]:
                yield f"{name}: other values"


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        paths = [Path(name) for name in sys.argv[1:]] or [far_texts(folder), *logs()]
        for path in paths:
            tally = check_log(path)
            bad = [line for line in tally.lines if not line.startswith("ok")]
            print("\n".join([*bad, f"ok       {path.name}  {tally.passed} checks"]), flush=True)
            passed, failed = passed + tally.passed, failed + tally.failed
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
