"""Where logtool and its peers differ, and why logtool is right.

Each entry has to be met: one that is no longer met fails the run. The same list, by
reason, stands in README.md.
"""

from typing import NamedTuple


class Known(NamedTuple):
    log: str
    check: str
    difference: str  # a regular expression for all of the text
    why: str


# rosbags allocates lists of the declared length, which may be billions of elements, until memory
# is exhausted. So the messages of these bags are not decoded with it.
ENDLESS = ("def_array_huge_len.bag", "def_empty_struct_array.bag")

INDEX_OFFSETS = "where fields stand in an index record is taken from the first of the file, of 47 bytes"
COUNTS = "the counts in the bag header are believed"
INDEX = "the index is believed: what it has not, or has wrongly, is not read"
CHUNK_INFO = "the counts in chunk infos are believed, not those of the index"
IN_CHUNKS = "a connection that only a chunk declares is not known"
VERSION = "a later minor version is refused"
LATCHING = "latching has to be a number"
UTF8 = "texts have to be UTF-8"
PARSER = "line ends of two characters, short separators and some constants are not parsed"
NO_DEFINITION = "an empty definition is that of an empty message, though the MD5 sum is not"
SURPLUS = "a message with bytes behind its last field is refused, not told of"
NO_CHUNKS = "a bag without chunks has no connections"
# Not an error of rosbags: `info` does not decompress chunks, and reports their declared sizes.
DECLARED = "what chunks say that they unpack to is not so"
LENGTHS = "the length of a chunk is believed"
CHECKED = "every connection's list of its chunk has to be as long as it says"
# Of ROS.
UNINDEXED = "ROSBagUnindexedException: Unindexed bag"
FIRST_CHUNK = "the first chunk is taken for the earliest, and the last for the latest"
FRAMES = "only LZ4 frames of independent blocks are read"
BY_NAME = "of the types of one name only one is told"
SILENT = "topics without messages are left out"
UNINDEXED_IF_EMPTY = "a bag without chunks is called unindexed, and its connections are not read"
STAR = "a star is no YAML"

LIAR = r"\{{'{0}': \(4, \d+, (\d+)\)}}, not \{{'{0}': \(4, \d+, 5947\)}}".format

KNOWN = [
    Known("header_unknown_fields.bag", "rosbags", r"AssertionError: ", INDEX_OFFSETS),
    Known("index_replaced_by_unknown.bag", "rosbags", r"AssertionError: ", INDEX_OFFSETS),
    Known("index_count_huge.bag", "rosbags", r"AssertionError: ", CHECKED),
    Known("index_datalen_wrong.bag", "rosbags", r"AssertionError: ", CHECKED),
    #
    Known("chunk_count_huge.bag", "rosbags", r"ReaderError: Bag index looks damaged: .*", COUNTS),
    Known("conn_count_huge.bag", "rosbags", r"ReaderError: Bag index looks damaged: .*", COUNTS),
    #
    Known("data_len_huge.bag", "rosbags", r"error: unpack_from requires a buffer .*", LENGTHS),
    Known("index_offset_bad.bag", "rosbags", r"ReaderError: Header could not be read from file.", INDEX),
    Known("unlisted_messages.bag", "messages", r"connection 0: 20 messages, not 10", INDEX),
    Known("unlisted_messages.bag", "info", r"records: 20, not 10", INDEX),
    Known("unlisted_messages.bag", "topics", r"\('/chatter', .*\): \(20, 1, False\), not \(10, 1, False\)", INDEX),
    #
    Known("chunkinfo_count_high.bag", "info", r"records: 100, not 5080", CHUNK_INFO),
    #
    Known("conn_only_in_chunks.bag", "messages", r"connection 0: 80 messages, not 0", IN_CHUNKS),
    Known("conn_only_in_chunks.bag", "messages", r"connection 1: 20 messages, not 0", IN_CHUNKS),
    Known("conn_only_in_chunks.bag", "info", r"records: 100, not 0", IN_CHUNKS),
    Known("conn_only_in_chunks.bag", "connections", r"[01]: only of logtool", IN_CHUNKS),
    Known("conn_only_in_chunks.bag", "topics", r"\('/(chatter|num)', .*\): \(\d+, 1, False\), not None", IN_CHUNKS),
    #
    Known("no_messages.bag", "connections", r"0: only of logtool", NO_CHUNKS),
    Known("no_messages.bag", "topics", r"\('/chatter', .*\): \(0, 1, False\), not None", NO_CHUNKS),
    #
    Known("version_2_1.bag", "rosbags", r"ReaderError: Bag version 201 is not supported.", VERSION),
    #
    Known("latching_variants.bag", "rosbags", r"ValueError: invalid literal for int\(\) with base 10: 'true'", LATCHING),
    Known("latching_true.bag", "rosbags", r"ValueError: invalid literal for int\(\) with base 10: 'true'", LATCHING),
    #
    Known("latin1_text.bag", "rosbags", r"ReaderError: .*Could not read string field 'message_definition'.*", UTF8),
    #
    Known("def_empty.bag", "columns", r"/d: rosbags: SerdeError: ROS1 message size mismatch for 'pkg/msg/A'.", SURPLUS),
    Known("crlf_def.bag", "columns", r"/chatter: rosbags: TypesysError: Could not parse.*", PARSER),
    Known("def_consts.bag", "columns", r"/d: rosbags: TypesysError: Could not parse.*", PARSER),
    Known("def_short_sep.bag", "columns", r"/d: rosbags: TypesysError: Could not parse.*", PARSER),
    #
    Known("bag-with-empty-message-definition.bag", "columns", r"/led_array_status: only bytes: rosbags decodes it", NO_DEFINITION),
    #
    Known("chunk_size_4g_none.bag", "chunks", LIAR("none"), DECLARED),
    Known("chunk_size_large_none.bag", "chunks", LIAR("none"), DECLARED),
    Known("chunk_size_4g_lz4.bag", "chunks", LIAR("lz4"), DECLARED),
    Known("chunk_size_large_lz4.bag", "chunks", LIAR("lz4"), DECLARED),
    Known("chunk_size_small_lz4.bag", "chunks", LIAR("lz4"), DECLARED),
    Known("chunk_size_4g_bz2.bag", "chunks", LIAR("bz2"), DECLARED),
    Known("chunk_size_small_bz2.bag", "chunks", LIAR("bz2"), DECLARED),
    #
    Known("empty-file.bag", "refused", r"error: .*: it is empty", "there is nothing in it"),
    #
    # ROS's own reader.
    Known("chunk_count_huge.bag", "ros", UNINDEXED, COUNTS),
    Known("conn_count_huge.bag", "ros", UNINDEXED, COUNTS),
    Known("data_len_huge.bag", "ros", UNINDEXED, LENGTHS),
    Known("index_count_huge.bag", "ros", UNINDEXED, INDEX),
    Known("index_offset_bad.bag", "ros", r"ROSBagFormatException: Error reading header.*", INDEX),
    Known("index_replaced_by_unknown.bag", "ros", UNINDEXED, INDEX),
    Known("index_ver0.bag", "ros", UNINDEXED, INDEX),
    Known("unlisted_messages.bag", "ros messages", r"1 only of logtool: .*", INDEX),
    Known("unlisted_messages.bag", "ros info", r"(messages|topics): .*", INDEX),
    Known("conn_only_in_chunks.bag", "ros", UNINDEXED, IN_CHUNKS),
    Known("latin1_text.bag", "ros", UNINDEXED, UTF8),
    Known("chunkinfo_count_high.bag", "ros info", r"messages: 100, not 5080", CHUNK_INFO),
    Known("chunkinfo_count_high.bag", "ros info", r"topics: .*", CHUNK_INFO),
    Known("reversed_chunks.bag", "ros info", r"(start|end|duration): .*", FIRST_CHUNK),
    Known("example-unsorted-chunks.bag", "ros info", r"(start|end|duration): .*", FIRST_CHUNK),
    Known("lz4_linked_contentsize.bag", "ros", r"OSError: malformed data to decompress", FRAMES),
    Known("two_md5_one_type.bag", "ros info", r"types: .*", BY_NAME),
    Known("conn_without_msgs.bag", "ros info", r"topics: .*", SILENT),
    Known("md5_star.bag", "ros", r"ScannerError: .*", STAR),
    Known("no_messages.bag", "ros info", r"(indexed|types|topics): .*", UNINDEXED_IF_EMPTY),
    Known("totally_empty.bag", "ros info", r"indexed: True, not False", UNINDEXED_IF_EMPTY),
    Known("no-messages.bag", "ros info", r"indexed: True, not False", UNINDEXED_IF_EMPTY),
    #
    # `filter` copies connections byte for byte, so its output has the same differences as the
    # bag itself.
    Known("latching_variants.bag", "filter, rosbags", r"\w+: ValueError: .*'true'", LATCHING),
    Known("latching_true.bag", "filter, rosbags", r"\w+: ValueError: .*'true'", LATCHING),
    Known("latin1_text.bag", "filter, rosbags", r"\w+: ReaderError: .*'message_definition'.*", UTF8),
    Known("latin1_text.bag", "filter, ros", rf"\w+: {UNINDEXED}", UTF8),
    Known("md5_star.bag", "filter, ros", r"\w+: ScannerError: .*", STAR),
]
