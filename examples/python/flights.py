# %% [markdown]
# # Flights: PX4 logs in pandas and Polars
# Run it with the path of a ULog: `python flights.py flight.ulg`.

# %%
import sys

import polars as pl

import logtool

path = sys.argv[1]
log = logtool.open(path)
print(log, log.info["duration_s"], "s")

# %% The battery as a frame of pandas. The first column is the time since the start of the vehicle.
battery = log["battery_status"].select(["voltage_v", "current_a"]).to_pandas()
print(battery.describe())

# %% The attitude at the time of each message of the battery.
attitude = log["vehicle_attitude"].flat().select(["q[0]", "q[1]"]).to_polars()
joined = log["battery_status"].to_polars().join_asof(attitude, on="timestamp")
print(joined.select("timestamp", "voltage_v", "q[0]").head())

# %% A query reads only the columns and times that it needs.
voltage = logtool.scan(path, "battery_status").select(pl.col("voltage_v").min())
print(voltage.collect())

# %% What could not be read.
for damage in log.damage:
    print(damage.offset, damage.message)
