"""Other programs read what `convert` writes: every file, every layout, all rows."""


import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from logtool import read_arrow, topic

LAYOUTS = ("arrow", "flat", "px4")

# DuckDB takes minutes for wider tables, and one edge case has 65,526 columns.
WIDE = 10_000


def check(tally, ours):
    expected = ours.rows()
    for layout in LAYOUTS:
        paths = sorted(ours.convert("parquet", "--layout", layout).glob("*.parquet"))
        differences, seen = [], {}
        for path in paths:
            table = pq.ParquetFile(path).read()
            seen[topic(table.schema)] = table.num_rows
            if table.num_columns < WIDE:
                in_duckdb = duckdb.read_parquet(str(path)).fetchall()
                counts = [len(in_duckdb), by_polars(pl.read_parquet, path)]
                differences += agree(path, table.num_rows, *counts)
        logged = {t["name"] for t in ours.info["topics"] if t["origin"] == "logged"}
        wanted = {k: n for k, n in expected.items() if layout != "px4" or k[0] in logged}
        if layout == "px4":
            # PX4's layout has no column for payloads, so that it lacks these records.
            for damage in ours.info["damage"]:
                key = (damage["topic"], 0)
                if damage["kind"] == "undecodable" and key in wanted:
                    wanted[key] -= damage["records"]
        differences += rows(seen, wanted)
        tally.check(f"parquet {layout} is read", differences, f"{len(paths)} files")

    paths, differences, seen = sorted(ours.convert("arrow").glob("*.arrow")), [], {}
    nested = ours.tables("arrow")
    for path in paths:
        table = read_arrow(path)
        seen[topic(table.schema)] = table.num_rows
        if table.schema != nested[topic(table.schema)].schema or not identical(
            flattened(table), flattened(nested[topic(table.schema)])
        ):
            differences.append(f"{path.name}: not what the parquet file holds")
        in_duckdb = duckdb.from_arrow(table).fetchall()
        counts = [table.num_rows, len(in_duckdb), by_polars(pl.read_ipc, path)]
        differences += agree(path, *counts)
    tally.check("arrow is read", [*differences, *rows(seen, expected)], f"{len(paths)} files")

    differences = [
        f"{key[0]}[{key[1]}]: the nested table is not the flat one"
        for key, table in ours.tables("flat").items()
        if not identical(flattened(nested[key]), flattened(table))
    ]
    tally.check("layouts hold the same", differences, f"{len(nested)} tables")

    paths, differences = sorted(ours.convert("csv").glob("*.csv")), []
    flat = {key: t.num_rows for key, t in ours.tables("flat").items()}
    total = 0
    for path in paths:
        options = pa.csv.ParseOptions(newlines_in_values=True)
        table = pa.csv.read_csv(path, parse_options=options)
        total += table.num_rows
        if table.num_columns >= WIDE:
            continue
        found = duckdb.read_csv(str(path), header=True, sample_size=-1).fetchall()
        in_polars = by_polars(pl.read_csv, path, infer_schema_length=None)
        differences += agree(path, table.num_rows, len(found), in_polars)
    if total != sum(flat.values()):
        differences.append(f"{total} rows, not {sum(flat.values())}")
    tally.check("csv is read", differences, f"{len(paths)} files")


def by_polars(read, path, **options):
    try:
        return read(path, **options).height
    except pl.exceptions.PolarsError as error:
        return f"{type(error).__name__}: {error}"


def agree(path, *counts):
    """Yields files in which pyarrow, DuckDB and Polars find different numbers of rows."""
    return [f"{path.name}: {counts} rows"] if len(set(counts)) > 1 else []


def rows(seen, expected):
    """Yields files whose rows differ from `info`, which does not count derived topics."""
    for key in sorted(set(seen) | set(expected)):
        if key in expected and seen.get(key) != expected[key]:
            yield f"{key[0]}[{key[1]}]: {seen.get(key)} rows, not {expected[key]}"


def flattened(table):
    """The columns of a nested table by their names, as the flat layout has them."""
    columns = {}
    for name in table.column_names:
        flatten(name, table.column(name).combine_chunks(), columns)
    return columns


def flatten(name, array, columns):
    if pa.types.is_struct(array.type):
        for index, field in enumerate(array.type):
            flatten(f"{name}.{field.name}", array.field(index), columns)
    elif pa.types.is_fixed_size_list(array.type):
        size, values = array.type.list_size, array.flatten()
        for index in range(size):
            of_index = pa.array(range(index, len(values), size), pa.int64())
            flatten(f"{name}[{index}]", values.take(of_index), columns)
    else:
        columns[name] = array


def identical(a, b):
    """Whether columns are the same, names, types and values, a NaN being itself."""
    return list(a) == list(b) and all(same(a[name], b[name]) for name in a)


def same(a, b):
    if pa.types.is_floating(a.type) and a.type == b.type and not a.null_count + b.null_count:
        return a.to_numpy().tobytes() == b.to_numpy().tobytes()
    return a.equals(b)
