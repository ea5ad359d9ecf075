"""Prints what ROS's own reader has of bags: by the system's Python, which has it.

    ros_messages.py BAG...

For each bag a line of JSON: `info` as of `rosbag info -y`, and `messages`, of each its
time in nanoseconds, the MD5 sum of its bytes, topic, type and MD5 sum of that, callerid
and latching; or `error`, what stopped it.
"""

import hashlib
import json
import sys

import rosbag
import yaml


def read(path):
    with rosbag.Bag(path) as bag:
        found = bag.read_messages(raw=True, return_connection_header=True)
        messages = [[m.timestamp.to_nsec(), *digest(m)] for m in found]
        return {"info": yaml.safe_load(bag._get_yaml_info()), "messages": messages}


def digest(message):
    type_name, payload, md5sum = message.message[:3]
    header = message.connection_header
    told = [text(header, "callerid"), text(header, "latching")]
    return [hashlib.md5(payload).hexdigest(), message.topic, type_name, md5sum, *told]


def text(header, name):
    value = header.get(name)
    return value.decode() if isinstance(value, bytes) else value


for path in sys.argv[1:]:
    try:
        told = read(path)
    except Exception as error:  # whatever it is that stops it
        told = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(told), flush=True)
