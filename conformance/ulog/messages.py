"""Logged strings, plain and tagged, and PX4's events in words."""

from header import in_order


def check(tally, ours, peer):
    table = ours.tables().get(("logged_strings", 0))
    rows = []
    if table is not None:
        rows = table.set_column(0, "timestamp", table.column(0).cast("int64")).to_pylist()
    plain = [row for row in rows if row["tag"] is None]
    tagged = [row for row in rows if row["tag"] is not None]
    log = peer.log
    tally.check("strings", in_order(told(plain), theirs(log.logged_messages), "string"), f"{len(plain)}")
    differences, tags = [], sorted({row["tag"] for row in tagged} | set(log.logged_messages_tagged))
    for tag in tags:
        mine = told(row for row in tagged if row["tag"] == tag)
        of_tag = theirs(log.logged_messages_tagged.get(tag, []))
        differences += in_order(mine, of_tag, f"string of tag {tag}")
    tally.check("tagged strings", differences, f"{len(tagged)}")
    tally.check("messages", *as_people_read_them(ours, peer))


def told(rows):
    return [(row["timestamp"] // 1000, row["level"], row["message"]) for row in rows]


def theirs(messages):
    return [(m.timestamp, m.log_level_str().lower(), m.message) for m in messages]


def undefined_events(log):
    """The events of a log without definitions: their internal level is in the upper four bits."""
    levels = "emergency alert critical error warning notice info debug".split()
    rows = [
        row
        for topic in log.data_list
        if topic.name == "event"
        for row in zip(topic.data["timestamp"], topic.data["id"], topic.data["log_levels"])
    ]
    return [
        (int(micros), levels[level >> 4], f"event {number}, no definition in the log")
        for micros, number, level in rows
        if level >> 4 < len(levels)
    ]


def as_people_read_them(ours, peer):
    """Strings and events, as `ulog_messages` puts them together; that leaves out tagged
    strings."""
    log = peer.log
    expected = theirs(log.logged_messages)
    if log.msg_info_dict.get("sys_name") == "PX4" and "metadata_events" in log.msg_info_multiple_dict:
        expected = [message for message in expected if not message[2].endswith("\t")]
        events = peer.events()
        expected += [(int(micros), level.lower(), text) for micros, level, text in events]
    else:
        expected = [(micros, level, text.rstrip("\t")) for micros, level, text in expected]
        expected += undefined_events(log)
    mine = ours.messages()
    times = [message["timestamp"] for message in mine]
    differences = [] if times == sorted(times) else ["not in the order of time"]
    mine = [(m["timestamp"], m["level"], m["message"]) for m in mine if m["source"] != "tagged"]
    # The order of messages with equal times is undefined.
    differences += in_order(sorted(mine), sorted(expected), "message")
    return differences, f"{len(mine)}"
