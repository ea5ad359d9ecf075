"""Tables as CSV and Parquet that have `n` of one thing."""

import io

import pyarrow as pa
import pyarrow.parquet as pq


def csv(names, rows):
    return ("time," + ",".join(names) + "\n" + "".join(rows)).encode()


def time(index, n):
    return f"{100 * index / n:.6f}"


def rows(n):
    return csv("xy", (f"{time(index, n)},{index * 0.5},text\n" for index in range(n)))


def columns(n):
    names = [f"c{index}" for index in range(n)]
    return csv(names, (f"{time(row, 20)}," + ",".join(["0.5"] * n) + "\n" for row in range(20)))


def array(n):
    names = [f"x[{index}]" for index in range(n)]
    return csv(names, (f"{time(row, 20)}," + ",".join(["0.5"] * n) + "\n" for row in range(20)))


def long_cell(n):
    return csv("x", ["0,1\n", f'1,"{"x" * n}"\n', "99,2\n"])


def damaged_rows(n):
    return csv("x", (f"{time(index, n)},1,2\n" if index % 2 else f"{time(index, n)},1\n" for index in range(n)))


def open_quotes(n):
    return csv("x", (f'{time(index, n)},"x\n{time(index, n)},1\n' for index in range(n)))


def repeated_names(n):
    return csv(["x"] * n, [f"{row}," + ",".join("1" * n) + "\n" for row in (0, 99)])


def parquet(table, **options):
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def table(n, width=1):
    values = {f"c{column}": pa.array([0.5 * row for row in range(n)]) for column in range(width)}
    return pa.table({"time": pa.array([100 * row / n for row in range(n)]), **values})


def parquet_rows(n):
    return parquet(table(n))


def parquet_row_groups(n):
    return parquet(table(n), row_group_size=1)


def parquet_columns(n):
    return parquet(table(2, n))


def parquet_pages(n):
    return parquet(table(n), data_page_size=1, write_batch_size=1, use_dictionary=False)
