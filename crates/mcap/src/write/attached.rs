//! Files that are attached.

use std::{
    io::{Seek, Write},
    ops::Range,
};

use logtool_core::{Error, ErrorKind, Result, Source};

use crate::{
    wire::{Attachment, HEAD_LEN, op},
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

impl<W: Write + Seek> Writer<W> {
    /// Copies the record of a file that is attached, which lies at `place` of `source`.
    ///
    /// # Errors
    /// `Malformed` if there is none; `Io` if reading or writing fails.
    pub(crate) fn attach(
        &mut self,
        source: &dyn Source,
        place: Range<u64>,
    ) -> Result<()> {
        let odd = || {
            let what = "a file that is attached cannot be read";
            Error::new(ErrorKind::Malformed, what).at(place.start)
        };
        let end = place.end.min(place.start.saturating_add(MAX_HEAD));
        let head = source
            .read_at(place.start..end)
            .map_err(|err| Error::new(ErrorKind::Io, "reading").from_source(err))?;
        let content = head.get(HEAD_LEN..).ok_or_else(odd)?;
        let about = Attachment::parse(content).ok_or_else(odd)?;
        self.flush()?;
        let (at, len) = (self.place.at(), place.end - place.start);
        self.place.put_from(source, place)?;
        self.attached.push(Attached { at, len, about });
        Ok(())
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
