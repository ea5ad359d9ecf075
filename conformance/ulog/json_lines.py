"""JSON Lines have the same values as the Arrow columns, integers and floats to the last bit."""

import json
import struct

import pyarrow as pa

# Python compares value by value: the longest logs would take minutes.
LONG = 1_000_000


def check(tally, ours):
    if ours.info["bytes"] > LONG:
        return
    differences, values = [], 0
    tables = ours.tables("arrow")
    # Called as the Parquet files are.
    names = {path.stem for path in ours.convert("parquet", "--layout", "arrow").glob("*.parquet")}
    files = {path.stem: path for path in ours.convert("jsonl", "--keep-infinities").glob("*.jsonl")}
    if set(files) != names:
        differences.append(f"{sorted(files)}, not {sorted(names)}")
    told = {stem: [json.loads(line) for line in open(path, encoding="utf-8")] for stem, path in files.items()}
    for (name, instance), table in tables.items():
        stem = f"{name.replace('/', '_')}_{instance}"
        rows = told.get(stem)
        if rows is None or len(rows) != table.num_rows:
            differences.append(f"{stem}: not {table.num_rows} rows")
            continue
        for column in table.schema:
            expected = table.column(column.name)
            if pa.types.is_timestamp(column.type):
                expected = expected.cast(pa.int64()).to_pylist()
                expected = [None if nanos is None else nanos // 1000 for nanos in expected]
                column = pa.field(column.name, pa.int64())
            else:
                expected = expected.to_pylist()
            values += len(expected)
            wrong = (
                f"{stem}: {column.name}: {row.get(column.name)!r}, not {value!r}"
                for row, value in zip(rows, expected)
                if not same(row.get(column.name), value, column.type)
            )
            differences += list(wrong)[:1]
    tally.check("json lines", differences, f"{len(files)} files, {values} values")


def same(told, value, of_type):
    if pa.types.is_struct(of_type):
        names = [field.name for field in of_type]
        same_names = list(told) == names
        return same_names and all(same(told[f.name], value[f.name], f.type) for f in of_type)
    if pa.types.is_fixed_size_list(of_type):
        of_value = of_type.value_type
        return len(told) == len(value) and all(same(t, v, of_value) for t, v in zip(told, value))
    if pa.types.is_floating(of_type) and value is not None:
        if value != value:
            return told is None
        code = "f" if of_type == pa.float32() else "d"
        return isinstance(told, float) and struct.pack(code, told) == struct.pack(code, value)
    if pa.types.is_binary(of_type):
        return told == (None if value is None else value.hex())
    return type(told) is type(value) and told == value
