//! Sentences of NMEA 0183: bytes to values.
//!
//! ```text
//! $GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n
//!  │    │                                                        │
//!  │    fields, separated by commas                              XOR of the bytes between $ and *
//!  type: two letters for the talker (GP), three for the sentence (GGA)
//! ```

/// The longest line in bytes. The standard allows 82 bytes, but receivers exceed it.
pub(crate) const MAX_LINE_BYTES: usize = 1024;

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;

/// What the first bytes of a buffer contain.
#[derive(Debug, PartialEq)]
pub(crate) enum Line<'b> {
    /// A sentence with a correct checksum, in a line of `len` bytes.
    Sentence { sentence: Sentence<'b>, len: usize },
    /// A line, or a part of one, that is not a sentence.
    Garbled { len: usize },
    /// The start of a line whose end is not in the buffer.
    Partial,
}

/// A sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sentence<'b> {
    /// The type, such as `GPGGA`.
    pub(crate) kind: &'b str,
    /// The fields, separated by commas.
    pub(crate) fields: &'b str,
}

impl<'b> Line<'b> {
    /// Reads the line at the start of `bytes`.
    pub(crate) fn parse(bytes: &'b [u8]) -> Self {
        let head = bytes.get(..MAX_LINE_BYTES).unwrap_or(bytes);
        let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
            return if head.len() == MAX_LINE_BYTES {
                Self::Garbled { len: MAX_LINE_BYTES }
            } else {
                Self::Partial
            };
        };
        let len = end + 1;
        match Sentence::parse(bytes.get(..len).unwrap_or_default()) {
            Some(sentence) => Self::Sentence { sentence, len },
            None => Self::Garbled { len },
        }
    }
}

impl<'b> Sentence<'b> {
    /// Reads a line. Returns `None` if it is not a sentence or its checksum is wrong.
    pub(crate) fn parse(line: &'b [u8]) -> Option<Self> {
        let line = str::from_utf8(line).ok()?.trim_end_matches(['\r', '\n']);
        let (body, checksum) = line.strip_prefix('$')?.rsplit_once('*')?;
        let checksum = u8::from_str_radix(checksum, 16).ok()?;
        if body.bytes().fold(0, |sum, byte| sum ^ byte) != checksum {
            return None;
        }
        let (kind, fields) = body.split_once(',')?;
        let is_kind =
            kind.len() == 5 && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_kind.then_some(Self { kind, fields })
    }

    /// Returns the type without the talker: `GGA` of `GPGGA`.
    pub(crate) fn name(&self) -> &'b str {
        self.kind.get(2..).unwrap_or_default()
    }

    /// Returns field number `index`, which is empty if the sentence has fewer fields.
    pub(crate) fn field(&self, index: usize) -> &'b str {
        self.fields.split(',').nth(index).unwrap_or_default()
    }

    /// Returns the time of the day in nanoseconds, if the sentence has one.
    pub(crate) fn time_of_day(&self) -> Option<i64> {
        match self.name() {
            "GGA" | "GNS" | "RMC" | "ZDA" => parse_time_of_day(self.field(0)),
            "GLL" => parse_time_of_day(self.field(4)),
            _ => None,
        }
    }

    /// Returns the number of days since 1970-01-01, if the sentence has a date.
    pub(crate) fn day(&self) -> Option<i64> {
        match self.name() {
            "RMC" => parse_day(self.field(8)),
            _ => None,
        }
    }
}

/// Reads `hhmmss.sss` as nanoseconds.
fn parse_time_of_day(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let [hours, minutes, seconds] = parse_pairs(whole)?;
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    // Digits after the ninth are below one nanosecond.
    let digits = format!("{fraction:0<9}");
    let nanos: i64 = digits.get(..9)?.parse().ok()?;
    Some(((hours * 60 + minutes) * 60 + seconds) * SECOND + nanos)
}

/// Reads `ddmmyy` as the number of days since 1970-01-01. Years are from 1980, when GPS
/// started, to 2079.
fn parse_day(text: &str) -> Option<i64> {
    let [day, month, year] = parse_pairs(text)?;
    if !(1..=31).contains(&day) || !(1..=12).contains(&month) {
        return None;
    }
    let year = if year < 80 { 2000 + year } else { 1900 + year };
    // Years that start in March have their leap day at the end.
    let (year, month) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    // 0000-03-01 is 719,468 days before 1970-01-01.
    Some(year * 365 + leap_days + day_of_year - 719_468)
}

/// Reads six digits as three numbers of two digits.
fn parse_pairs(text: &str) -> Option<[i64; 3]> {
    if text.len() != 6 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let pair = |start: usize| text.get(start..start + 2)?.parse().ok();
    Some([pair(0)?, pair(2)?, pair(4)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example sentences of the NMEA 0183 documentation, with their checksums.
    const GGA: &[u8] =
        b"$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n";
    const RMC: &[u8] =
        b"$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r\n";

    #[test]
    fn sentences_have_a_type_fields_and_a_time() {
        let Line::Sentence { sentence, len } = Line::parse(GGA) else {
            panic!("not a sentence")
        };
        assert_eq!((sentence.kind, sentence.name(), len), ("GPGGA", "GGA", GGA.len()));
        assert_eq!((sentence.field(8), sentence.field(99)), ("545.4", ""));
        let noon = (12 * 60 + 35) * 60 + 19;
        assert_eq!(sentence.time_of_day(), Some(noon * SECOND));
        // `date -d 1994-03-23 +%s` divided by 86,400.
        assert_eq!(Sentence::parse(RMC).unwrap().day(), Some(8_847));
    }

    #[test]
    fn wrong_checksums_are_garbled() {
        let mut line = GGA.to_vec();
        line[10] ^= 1;
        assert_eq!(Line::parse(&line), Line::Garbled { len: GGA.len() });
    }

    #[test]
    fn lines_without_an_end_are_partial_until_they_are_too_long() {
        assert_eq!(Line::parse(&GGA[..20]), Line::Partial);
        let long = [b'x'; MAX_LINE_BYTES];
        assert_eq!(Line::parse(&long), Line::Garbled { len: MAX_LINE_BYTES });
    }

    #[test]
    fn impossible_times_and_dates_are_none() {
        for text in ["", "246060", "12351", "1235191", "12x519"] {
            assert_eq!(parse_time_of_day(text), None, "{text}");
        }
        assert_eq!(parse_time_of_day("000000.0000000019"), Some(1));
        for text in ["", "000194", "321294", "011394"] {
            assert_eq!(parse_day(text), None, "{text}");
        }
        // `date -u -d 2024-02-29 +%s` divided by 86,400.
        assert_eq!(parse_day("290224"), Some(19_782));
    }
}
