"""Which commands are given the logs of which generators."""

import bags
import lidars
import mcaps
import photos
import streams
import tables
import ulogs

# For each command: what follows `logtool`.
COMMANDS = {
    "info": ["info", "--json", "--freq", "--health", "{log}"],
    "check": ["check", "{log}"],
    "schema": ["schema", "{log}"],
    "cat": ["cat", "{log}"],
    "cat-time": ["cat", "--order", "time", "{log}"],
    "messages": ["messages", "{log}"],
    "params": ["params", "{log}", "--history"],
    "csv": ["convert", "{log}", "-o", "{out}", "--format", "csv"],
    "parquet": ["convert", "{log}", "-o", "{out}", "--format", "parquet"],
    "asof": ["convert", "{log}", "-o", "{out}", "--format", "jsonl", "--merge", "asof", "--rate", "10"],
    "mcap": ["convert", "{log}", "-o", "{out}.mcap"],
    "ulog": ["convert", "{log}", "-o", "{out}.ulg"],
    "filter": ["filter", "{log}", "-o", "{out}{suffix}", "--start", "50"],
    "filter-topics": ["filter", "{log}", "-o", "{out}{suffix}", "--exclude", "*9"],
    "repair": ["repair", "{log}", "-o", "{out}{suffix}"],
    "merge": ["merge", "{log}", "{log}", "-o", "{out}{suffix}"],
    "report": ["report", "{log}", "-o", "{out}.html"],
    "plan": ["plan", "{log}", "--json"],
    "plan-topic": ["plan", "{log}", "--json", "--topic", "{topic}"],
    "index": ["index", "{log}", "-o", "{out}.parquet"],
    "jsonl": ["convert", "{log}", "-o", "{out}", "--format", "jsonl"],
    "derive": ["convert", "{log}", "-o", "{out}", "--format", "csv", "--topic", "d0"],
    "geotag": ["geotag", "{photos}", "-o", "{out}", "--log", "{log}", "--partial"],
    "plan-topics": ["plan", "{log}", "--json"],
    "plan-fields": ["plan", "{log}", "--json"],
    "calibration": ["calibration", "{log}", "-o", "{out}.yaml"],
    "record": ["record", "mavlink", "{log}", "-o", "{out}.ulg"],
}
# What follows in addition, once for each of the `n` things.
REPEATED = {
    "derive": "--derive=d{i}={topic}.x+{i}",
    "plan-topics": "--topic={topic}",
    "plan-fields": "--field={topic}.x",
}
# Those that write a file for each topic.
OF_TOPICS = {"csv", "parquet"}
ULOG = ["info", "check", "schema", "cat", "cat-time", "messages", "params", "csv", "parquet", "asof", "mcap", "filter", "repair", "report", "plan", "plan-topic", "index"]
BAG = ["info", "check", "schema", "cat", "cat-time", "messages", "csv", "parquet", "asof", "mcap", "filter", "repair", "merge", "report", "plan", "plan-topic", "index"]
TABLE = ["info", "check", "schema", "cat", "cat-time", "csv", "parquet", "mcap", "ulog", "plan", "index"]
LIDAR = ["info", "check", "cat", "csv", "parquet", "filter", "repair", "merge", "report", "plan", "index"]


def arguments(command, log, out, generator, n):
    # Captures are written as pcap only.
    suffix = ".pcap" if log.suffix == ".pcapng" else log.suffix
    parts = [part.format(log=log, out=out, suffix=suffix, topic=generator.topic, photos=log.with_suffix("")) for part in COMMANDS[command]]
    if command in REPEATED:
        # If the log has n topics, each is named once.
        topics = [f"t{i}" if generator.has_topics else generator.topic for i in range(n)]
        parts += [REPEATED[command].format(i=i, topic=topic) for i, topic in enumerate(topics)]
    return parts


class Generator:
    """A function that makes a log of `n` of something, and how it is used."""

    def __init__(self, make, n, suffix, only=None, has_topics=False, least=2, may_fail=False, memory_of_byte=128, topic=None, name=None, beside=None):
        self.make, self.n, self.suffix, self.least, self.may_fail = make, n, suffix, least, may_fail
        # A function that writes `n` other inputs into a folder.
        self.beside = beside
        # How many bytes of memory a command may take for each byte of the input.
        self.memory_of_byte = memory_of_byte
        self.name = f"{suffix[1:]}-{name or make.__name__.replace('_', '-')}"
        self.only, self.has_topics = only, has_topics
        # A topic that the log always has.
        first = "t0" if has_topics else "a"
        self.topic = topic or (first if suffix == ".ulg" else f"/{first}")

    def commands(self):
        of_format = {".ulg": ULOG, ".bag": BAG, ".mcap": BAG, ".csv": TABLE, ".parquet": TABLE}.get(self.suffix, LIDAR)
        if self.has_topics and not self.only:
            return [command for command in of_format if command not in OF_TOPICS] + ["filter-topics"]
        # The clocks of two .vel logs have nothing in common that a merge could use.
        of_format = [one for one in of_format if (self.suffix, one) != (".vel", "merge")]
        return self.only or of_format


def ulog(make, n, **how):
    return Generator(make, n, ".ulg", **how)


def bag(make, n, **how):
    return Generator(make, n, ".bag", **how)


def mcap(make, n, **how):
    return Generator(make, n, ".mcap", **how)


def csv(make, n, **how):
    return Generator(make, n, ".csv", **how)


def parquet(make, n, **how):
    return Generator(make, n, ".parquet", **how)


GENERATORS = [
    csv(tables.rows, 20_000),
    csv(tables.columns, 2_000),
    csv(tables.array, 2_000),
    csv(tables.long_cell, 3_000_000, least=120_000),
    csv(tables.damaged_rows, 20_000),
    csv(tables.open_quotes, 10_000),
    csv(tables.repeated_names, 2_000, only=["info", "schema", "csv"]),
    parquet(tables.parquet_rows, 20_000),
    parquet(tables.parquet_row_groups, 1_000),
    parquet(tables.parquet_columns, 1_000),
    parquet(tables.parquet_pages, 2_000),
    ulog(ulogs.records, 20_000),
    ulog(ulogs.topics, 6_000, has_topics=True),
    ulog(ulogs.topics, 1_000, has_topics=True, only=["derive", "plan-topics", "plan-fields"], name="named-topics"),
    ulog(ulogs.few_records, 1_000, only=["derive"]),
    ulog(photos.shots, 1_000, only=["geotag"], beside=photos.write_photos),
    ulog(ulogs.instances, 6_000, has_topics=True),
    ulog(ulogs.late_topics, 6_000, has_topics=True),
    ulog(ulogs.formats, 10_000),
    ulog(ulogs.repeated_formats, 10_000),
    ulog(ulogs.fields, 2_200),
    ulog(ulogs.nested_types, 2_000),
    ulog(ulogs.array, 10_000),
    ulog(ulogs.repeated_ids, 10_000, topic="t0"),
    ulog(ulogs.removed_topics, 10_000),
    ulog(ulogs.information, 20_000),
    ulog(ulogs.long_information, 20_000),
    ulog(ulogs.information_lists, 20_000),
    ulog(ulogs.parameters, 20_000),
    ulog(ulogs.default_parameters, 20_000),
    ulog(ulogs.parameter_changes, 20_000),
    ulog(ulogs.strings, 10_000),
    ulog(ulogs.tagged_strings, 10_000),
    ulog(ulogs.long_string, 3_000_000, least=120_000),
    ulog(ulogs.dropouts, 10_000),
    ulog(ulogs.damaged_places, 10_000),
    ulog(ulogs.foreign_bytes, 10_000),
    ulog(ulogs.unknown_messages, 10_000),
    ulog(ulogs.sync_marks, 10_000),
    ulog(ulogs.impossible_times, 10_000),
    ulog(ulogs.records_of_unknown_ids, 10_000),
    ulog(ulogs.short_records, 10_000),
    bag(bags.messages, 20_000),
    bag(bags.chunks, 8_000),
    bag(bags.chunks_without_index, 8_000),
    bag(bags.connections, 8_000, has_topics=True),
    bag(bags.connections_without_index, 8_000, has_topics=True),
    # Beyond 8,000, a plan tries whether a split can be divided, which takes as long again.
    bag(bags.connections_of_a_topic, 16_000),
    bag(bags.repeated_connections, 8_000),
    bag(bags.repeated_ids, 8_000, topic="/t0"),
    bag(bags.overlapping_chunks, 5_000),
    bag(bags.times_that_fall, 20_000),
    bag(bags.types, 4_000, has_topics=True),
    bag(bags.broken_types, 4_000, has_topics=True),
    bag(bags.many_fields, 2_500),
    bag(bags.nested_types, 2_000),
    bag(bags.unused_types, 10_000),
    bag(bags.constants, 10_000),
    bag(bags.one_big_message, 4_000_000, memory_of_byte=10),
    bag(bags.long_text, 4_000_000),
    bag(bags.list_of_texts, 200_000),
    bag(bags.list_of_structs, 200_000),
    bag(bags.damaged_places, 8_000),
    bag(bags.damaged_messages, 20_000),
    bag(bags.logged_strings, 10_000, topic="/rosout"),
    mcap(mcaps.messages, 20_000),
    mcap(mcaps.messages_without_chunks, 20_000),
    mcap(mcaps.chunks, 8_000),
    mcap(mcaps.chunks_without_summary, 8_000),
    mcap(mcaps.overlapping_chunks, 5_000),
    mcap(mcaps.channels, 8_000, has_topics=True),
    mcap(mcaps.channels, 2_000, has_topics=True, only=["jsonl"], name="tables-of-channels"),
    mcap(mcaps.channels_without_summary, 8_000, has_topics=True),
    mcap(mcaps.channels_without_chunks, 8_000, has_topics=True),
    mcap(mcaps.channels_of_a_topic, 8_000),
    mcap(mcaps.schemas, 8_000, has_topics=True, topic="/t1"),
    mcap(mcaps.schemas_without_summary, 8_000, has_topics=True, topic="/t1"),
    mcap(mcaps.unused_schemas, 10_000),
    mcap(mcaps.repeated_channels, 10_000),
    mcap(mcaps.contradicting_channels, 10_000, topic="/t0"),
    mcap(mcaps.channel_metadata, 10_000),
    mcap(mcaps.attachments, 10_000),
    mcap(mcaps.metadata, 10_000),
    mcap(mcaps.unknown_records, 10_000),
    mcap(mcaps.damaged_places, 8_000),
    mcap(mcaps.one_big_message, 4_000_000, memory_of_byte=10),
    mcap(mcaps.json_values, 4_000),
    mcap(mcaps.json_members, 2_500),
    mcap(mcaps.cdr_fields, 2_500),
    mcap(mcaps.protobuf_fields, 2_500),
    Generator(lidars.packets, 1_500, ".pcap"),
    Generator(lidars.senders, 1_500, ".pcap"),
    Generator(lidars.ports, 1_500, ".pcap"),
    Generator(lidars.foreign_frames, 20_000, ".pcap", may_fail=True),
    Generator(lidars.pieces, 4_000, ".pcap", may_fail=True),
    Generator(lidars.damaged_places, 1_500, ".pcap"),
    Generator(lidars.next_generation, 1_500, ".pcapng"),
    Generator(lidars.interfaces, 1_500, ".pcapng"),
    Generator(lidars.sections, 1_500, ".pcapng"),
    Generator(lidars.vel_packets, 1_500, ".vel"),
    Generator(lidars.vel_poses, 20_000, ".vel"),
    Generator(lidars.vel_unknown_types, 10_000, ".vel"),
    Generator(lidars.vel_damaged_places, 10_000, ".vel"),
    Generator(lidars.vel_index, 50_000, ".vel"),
    Generator(lidars.calibration, 20_000, ".yaml", only=["calibration"], may_fail=True),
    Generator(lidars.calibration_xml, 20_000, ".xml", only=["calibration"], may_fail=True),
    Generator(streams.stream_rows, 20_000, ".tlog", only=["record"]),
    Generator(streams.jumps, 20_000, ".tlog", only=["record"]),
    Generator(streams.numbers_that_go_back, 20_000, ".tlog", only=["record"]),
    Generator(streams.restarts, 20_000, ".tlog", only=["record"]),
    Generator(streams.senders, 20_000, ".tlog", only=["record"]),
]
