# %% [markdown]
# # Lidars: points of captures and recordings
# Run it with the path of a capture or a .vel file: `python lidars.py drive.pcap`.

# %%
import sys

import numpy as np

import logtool

log = logtool.open(sys.argv[1])
print([topic.name for topic in log.topics])

# %% The points of the first tenth of a second as arrays of NumPy.
points = log["points"].time(0, 0.1).to_numpy()
distance = np.sqrt(points["x"] ** 2 + points["y"] ** 2 + points["z"] ** 2)
print(len(distance), "points, the farthest at", round(float(distance.max()), 1), "m")

# %% All points, batch by batch, in little memory.
count = sum(len(batch) for batch in log["points"].batches())
print(count, "points")
