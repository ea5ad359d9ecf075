# %% [markdown]
# # Bags: topics of ROS as tables and messages
# Run it with the path of a bag or an MCAP file: `python bags.py drive.bag`.

# %%
import sys

import logtool

log = logtool.open(sys.argv[1])
for topic in log.topics:
    print(topic.name, topic.type, topic.records)

# %% A topic as a table of pyarrow. Structures stay structures; `flat()` makes a column of each number.
name = log.topics[0].name
table = log[name].to_arrow()
print(table.schema, table.num_rows)
print(log[name].flat().schema.names)

# %% The first second.
print(log[name].time(0, 1).to_arrow().num_rows, "rows")

# %% The messages as they are in the file.
for message, _ in zip(log.messages(name), range(3), strict=False):
    print(message)

# %% Splits, which other processes and machines read.
splits = logtool.plan(sys.argv[1], name, target_bytes=1_000_000)
print(sum(logtool.read(split).to_arrow().num_rows for split in splits), "rows")
