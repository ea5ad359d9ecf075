"""Reads an MCAP file with the Python package mcap:
mcap_mcap.py info|read|topic FILE [TOPIC]

Payloads are slices of unpacked chunks.
"""

import sys

from mcap.reader import make_reader


def main():
    job, path, *topic = sys.argv[1:]
    with open(path, "rb") as file:
        reader = make_reader(file)
        if job == "info":
            statistics = reader.get_summary().statistics
            print(statistics.message_count, statistics.message_start_time, statistics.message_end_time)
            return
        count = size = 0
        for _, _, message in reader.iter_messages(topics=topic or None):
            count, size = count + 1, size + len(message.data)
        print(f"{count} messages, {size} bytes")


main()
