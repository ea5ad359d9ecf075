//! Files that are attached.

use std::ops::Range;

use logtool_core::{
    ClockTransform, Error, ErrorKind, Output, Result, Source, Timestamp,
};

use crate::{
    wire::{self, Attachment, HEAD_LEN, op, timestamp},
    write::{Writer, encode::Records},
};

/// So much of a record is looked at for what the file is called.
const MAX_HEAD: u64 = 1 << 20;

/// A file that is attached, and where its record is.
#[derive(Debug)]
pub(super) struct Attached {
    at: u64,
    len: u64,
    about: Attachment,
}

impl<W: Output> Writer<W> {
    /// Copies the record of a file that is attached, which lies at `place` of `source`, and
    /// was attached at a time of a clock that is moved by `shift`. Returns its name.
    ///
    /// # Errors
    /// `Malformed` if there is none; `Io` if reading or writing fails.
    pub(crate) fn attach(
        &mut self,
        source: &dyn Source,
        place: Range<u64>,
        shift: ClockTransform,
        sum: Sum,
    ) -> Result<String> {
        let odd = || {
            let what = "a file that is attached cannot be read";
            Error::new(ErrorKind::Malformed, what).at(place.start)
        };
        let end = place.end.min(place.start.saturating_add(MAX_HEAD));
        let head = source
            .read_at(place.start..end)
            .map_err(|err| Error::new(ErrorKind::Io, "reading").from_source(err))?;
        let content = head.get(HEAD_LEN..).ok_or_else(odd)?;
        let mut about = Attachment::parse(content).ok_or_else(odd)?;
        self.flush()?;
        let (at, len) = (self.place.at(), place.end - place.start);
        let was = about.log_time;
        about.log_time = moved(was, shift);
        if about.log_time == was && sum == Sum::Kept {
            self.place.put_from(source, place)?;
        } else {
            let time_at = place.start + HEAD_LEN as u64;
            let after = time_at + TIME_LEN;
            let (sum_at, stored) =
                stored_sum(source, &place, content).ok_or_else(odd)?;
            let sum = match sum {
                Sum::Kept => stored,
                Sum::Dropped => 0,
            };
            let change = Change { was, is: about.log_time, rest: sum_at - after };
            self.place.put_from(source, place.start..time_at)?;
            self.place.put(&about.log_time.to_le_bytes())?;
            self.place.put_from(source, after..sum_at)?;
            self.place.put(&change.of_sum(sum).to_le_bytes())?;
            // Fields that a later specification adds are not part of the checksum.
            self.place.put_from(source, sum_at + SUM_LEN..place.end)?;
        }
        let name = about.name.clone();
        self.attached.push(Attached { at, len, about });
        Ok(name)
    }
}

/// What becomes of the checksum of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    /// It is written as it is.
    Kept,
    /// It is wrong: the copy says that it has none.
    Dropped,
}

/// Whether the attachment whose record lies at `place` of `source` has the checksum of its
/// bytes, or none.
///
/// # Errors
/// `Io` if reading fails.
pub(crate) fn has_right_sum(source: &dyn Source, place: &Range<u64>) -> Result<bool> {
    const PIECE_LEN: u64 = 1 << 20;
    let read = |bytes: Range<u64>| {
        let read = source.read_at(bytes);
        read.map_err(|err| Error::new(ErrorKind::Io, "reading").from_source(err))
    };
    let head = read(place.start..place.end.min(place.start.saturating_add(MAX_HEAD)))?;
    let content = head.get(HEAD_LEN..).unwrap_or_default();
    let (end, stored) = match stored_sum(source, place, content) {
        Some((end, stored)) if stored != 0 => (end, stored),
        _ => return Ok(true),
    };
    let mut hasher = crc32fast::Hasher::new();
    let mut at = place.start + HEAD_LEN as u64;
    while at < end {
        let next = end.min(at + PIECE_LEN);
        hasher.update(&read(at..next)?);
        at = next;
    }
    Ok(hasher.finalize() == stored)
}

/// Returns where the checksum is of the attachment whose record lies at `place` of `source`
/// and begins with `content`, and the checksum.
fn stored_sum(
    source: &dyn Source,
    place: &Range<u64>,
    content: &[u8],
) -> Option<(u64, u32)> {
    let start = place.start + HEAD_LEN as u64;
    let at = start.checked_add(wire::attachment_crc(content)?)?;
    let end = at.checked_add(SUM_LEN).filter(|end| *end <= place.end)?;
    let sum = source.read_at(at..end).ok()?;
    Some((at, u32::from_le_bytes(sum.as_ref().try_into().ok()?)))
}

/// How long a time is, and a checksum.
const TIME_LEN: u64 = 8;
const SUM_LEN: u64 = 4;

/// A time of a file, moved by `shift`: no file has times before 1970, and 0 is none.
pub(crate) fn moved(time: u64, shift: ClockTransform) -> u64 {
    match timestamp(time) {
        // Not told, or beyond what can be counted here.
        _ if time == 0 => 0,
        Timestamp::MAX => time,
        time => u64::try_from(shift.apply(time).as_nanos()).unwrap_or(0),
    }
}

/// A change of the first bytes of what a checksum is of.
struct Change {
    was: u64,
    is: u64,
    /// How many bytes follow.
    rest: u64,
}

impl Change {
    /// The CRC-32 of what is changed, if `sum` was that of what was there: sound stays
    /// sound, and broken stays broken. (0 says that there is none.)
    fn of_sum(&self, sum: u32) -> u32 {
        let alone = |time: u64| {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&time.to_le_bytes());
            // What follows adds the same to both.
            hasher.combine(&crc32fast::Hasher::new_with_initial_len(0, self.rest));
            hasher.finalize()
        };
        if sum == 0 { 0 } else { sum ^ alone(self.was) ^ alone(self.is) }
    }
}

impl Records {
    pub(super) fn attachment_index(&mut self, attached: &Attached) {
        let Attached { at, len, about } = attached;
        self.add(op::ATTACHMENT_INDEX, |content| {
            content.u64(*at).u64(*len).u64(about.log_time).u64(about.create_time);
            content.u64(about.len).text(&about.name).text(&about.media_type);
        });
    }
}
