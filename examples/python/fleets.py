# %% [markdown]
# # Fleets: many logs as one dataset
# Run it with a folder of logs and a new folder: `python fleets.py logs tables`.

# %%
import sys

import polars as pl

import logtool

report = logtool.batch(sys.argv[1], sys.argv[2])
print(report)

# %% The logs, and what went wrong.
dataset = logtool.Dataset(sys.argv[2])
print(dataset)
for source, reason in dataset.failed.items():
    print(source, reason)
for source, damage in dataset.damage.items():
    print(source, damage)

# %% A table has the rows of all logs; the column `log` has their names.
name = dataset.tables[0]
print(dataset.polars(name).group_by("log").agg(pl.len()).collect())

# %% The same with SQL.
table = dataset.duckdb(name)
print(table.aggregate("log, count(*)").fetchall())
