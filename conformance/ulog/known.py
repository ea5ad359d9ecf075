"""Where logtool and pyulog differ, and why logtool is right.

Each entry has to be met: one that is no longer met fails the run. The same list, by
reason, stands in README.md.
"""

from typing import NamedTuple


class Known(NamedTuple):
    log: str
    check: str
    difference: str  # a regular expression for all of the text
    why: str


# Topics on which pyulog stops reading the file: they are left out for both.
LEFT_OUT = {
    "33_no_timestamp.ulg": {"n": "no timestamp"},
    "hostile_types.ulg": {
        "clock16": "a timestamp of 16 bits",
        "clock32": "a timestamp of 32 bits",
        "no_clock": "no timestamp",
    },
}

PADDING = "rows with their trailing padding are dropped"
SHORT_CLOCK = "a timestamp of fewer than 64 bits is no time"
REUSED_ID = "rows of a message id that is used again are lost"
LONG_DROPOUT = "a dropout message of 4 bytes stops the file"
LONG_UNKNOWN = "an unknown message of more than 10,000 bytes is taken for corruption"
KEY_WITH_SPACE = "a name with a space is cut at it"
RAW_LEVEL = "a level that is a number, not a digit, is unknown"
ONE_CHAR = "a single char is a number in CSV"
UNQUOTED = "a line break in a text breaks the line of the CSV file"
NO_START = "a header of 0 is not set: the log starts with its first record"
APPENDED = "records of an appended section are not counted"
ABSURD_TIME = "one timestamp far ahead is the time of all that follows"

KNOWN = [
    Known("22_pad_present.ulg", "values", r"pad\[0\]: only in logtool", PADDING),
    Known("22_pad_present.ulg", "csv", r"22_pad_present_pad_0.csv: only of logtool", PADDING),
    Known("hostile_types.ulg", "values", r"padded\[0\]: \w+: 20 rows, not 5", PADDING),
    Known("hostile_types.ulg", "csv", r"hostile_types_padded_0.csv: 20 rows, not 5", PADDING),
    #
    Known("30_ts_u32.ulg", "values", r"t\[0\]: time: only of logtool", SHORT_CLOCK),
    Known("30_ts_u32.ulg", "csv", r"30_ts_u32_t_0.csv: time: only of logtool", SHORT_CLOCK),
    Known("32_ts_u8.ulg", "values", r"t\[0\]: time: only of logtool", SHORT_CLOCK),
    Known("32_ts_u8.ulg", "values", r"t\[0\]: \w+: 6 rows, not 1", SHORT_CLOCK),
    Known("32_ts_u8.ulg", "csv", r"32_ts_u8_t_0.csv: time: only of logtool", SHORT_CLOCK),
    Known("32_ts_u8.ulg", "csv", r"32_ts_u8_t_0.csv: 6 rows, not 1", SHORT_CLOCK),
    #
    Known("35_msgid_reuse.ulg", "values", r"att\[0\]: only in logtool", REUSED_ID),
    Known("35_msgid_reuse.ulg", "csv", r"35_msgid_reuse_att_0.csv: only of logtool", REUSED_ID),
    #
    #
    Known("54_dropout.ulg", "values", r"att\[0\]: \w+: 4 rows, not 2", LONG_DROPOUT),
    Known("54_dropout.ulg", "dropouts", r"3 of dropout, not 2", LONG_DROPOUT),
    Known("54_dropout.ulg", "csv", r"54_dropout_att_0.csv: 4 rows, not 2", LONG_DROPOUT),
    #
    Known("67_huge_unknown.ulg", "values", r"att\[0\]: \w+: 1000 rows, not 950", LONG_UNKNOWN),
    Known("67_huge_unknown.ulg", "csv", r"67_huge_unknown_att_0.csv: 1000 rows, not 950", LONG_UNKNOWN),
    #
    Known("hostile_types.ulg", "information", r"flight: None, not 18446744073709551615", KEY_WITH_SPACE),
    Known("hostile_types.ulg", "information", r"flight id: 18446744073709551615, not None", KEY_WITH_SPACE),
    #
    Known("70_log_levels.ulg", "strings", r"string 8: \(9, 'error', 'raw3'\), not \(9, 'unknown', 'raw3'\)", RAW_LEVEL),
    Known("70_log_levels.ulg", "messages", r"message 8: \(9, 'error', 'raw3'\), not \(9, 'unknown', 'raw3'\)", RAW_LEVEL),
    #
    Known("50_char_array.ulg", "csv", r"50_char_array_s_0.csv: c: row 0: Z, not 90", ONE_CHAR),
    Known("hostile_types.ulg", "csv", r"hostile_types_scalars_0.csv: letter: row 0: a, not 97", ONE_CHAR),
    #
    Known("hostile_types.ulg", "csv", r"hostile_types_texts_0.csv: 5 rows, not 6", UNQUOTED),
    #
    Known("pyulog_sample_log_small.ulg", "start and duration", r"duration: 6.517 s, not 1174.058 s", ABSURD_TIME),
    Known("07_other_clock.ulg", "start and duration", r"duration: 19.900 s, not 1580000009.000 s", ABSURD_TIME),
    Known("30_ts_u32.ulg", "start and duration", r"start: 4294.967 s, not 0.001 s", SHORT_CLOCK),
    Known("30_ts_u32.ulg", "start and duration", r"duration: 0.000 s, not 4656722014701.092 s", SHORT_CLOCK),
    Known("24_appended.ulg", "start and duration", r"duration: 8.100 s, not 1.900 s", APPENDED),
    *(
        Known(f"{log}.ulg", "start and duration", rf"duration: {ours} s, not {theirs} s", SHORT_CLOCK)
        for log, ours, theirs in (
            ("hostile_types", "3.980", "1.900"),
            ("19_ts_uint8_t", "9.900", "0.000"),
            ("19_ts_uint16_t", "9.900", "0.000"),
            ("19_ts_uint32_t", "9.900", "4811533251901.854"),
            ("33_ts16_dropout", "2.480", "0.000"),
            ("33b_ts32_pause", "2940.000", "4774941507859.568"),
        )
    ),
    *(
        Known(f"{log}.ulg", "start and duration", rf"{difference}: [0-9.]+ s, not [0-9.]+ s", NO_START)
        for log, difference in (
            ("03_nonutf8", "start"),
            ("03_nonutf8", "duration"),
            ("06_nested_timestamp", "start"),
            ("06_nested_timestamp", "duration"),
            ("15_non_monotonic", "start"),
            ("15_non_monotonic", "duration"),
            ("22_defaults", "duration"),
            ("29_ts_second", "start"),
            ("29_ts_second", "duration"),
        )
    ),
    Known("pyulog_sample_log_small.ulg", "dropouts", r"dropout 0: \(20329151, 30\), not \(1194367328, 30\)", ABSURD_TIME),
]
