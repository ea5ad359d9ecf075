"""Reads all topics of a ULog, or one topic, as numpy arrays with the Python package pyulog:
ulog_pyulog.py all|topic LOG [TOPIC]
"""

import sys

from pyulog import ULog


def main():
    job, path, *topic = sys.argv[1:]
    log = ULog(path, topic if job == "topic" else None)
    rows = sum(len(data.data["timestamp"]) for data in log.data_list)
    print(f"{len(log.data_list)} topics, {rows} rows")


main()
