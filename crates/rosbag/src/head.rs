//! The first line of a bag, and its header.

use std::{ops::Range, sync::Arc};

use logtool_core::{Error, ErrorKind, OpenOptions, Result, Source, decode_text};
use serde::{Deserialize, Serialize};

use crate::{
    toplevel::Tops,
    wire::{self, Framed, Header},
};

/// How Git LFS's pointers begin, which stand for files that were not fetched.
const LFS_POINTER: &[u8] = b"version https://git-lfs";

/// No chunk is shorter, so that fewer zeros at the end of a bag are in place of none.
pub(crate) const LEAST_CHUNK: u64 = 64;

/// What a bag says before its first record.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The version, as 2 and 0; nothing where the first line is missing.
    pub(crate) version: Option<(u32, u32)>,
    /// Where the records begin.
    pub(crate) records_at: u64,
    /// Whether there is a header that can be read.
    pub(crate) has_header: bool,
    /// Where the index begins; 0 where there is none.
    pub(crate) index_at: u64,
    /// How many connections and chunk infos the index has.
    pub(crate) connections: u32,
    pub(crate) chunks: u32,
    /// The plugin that encrypted the bag, for whom, and the key that gpg can decrypt.
    pub(crate) encryptor: String,
    pub(crate) user: String,
    pub(crate) encrypted_key: String,
}

impl Head {
    /// Whether messages are as in version 1.2.
    pub(crate) fn is_v1(&self) -> bool {
        self.version.is_some_and(|(major, _)| major == 1)
    }

    /// Whether `zeros` at the end of a file of `len` bytes are in place of what was recorded: a
    /// bag that was not closed ends with a record, and no header counts what it should have.
    pub(crate) fn is_cut_off(&self, zeros: &Range<u64>, len: u64) -> bool {
        self.index_at == 0 && zeros.end == len && zeros.end - zeros.start >= LEAST_CHUNK
    }

    /// Reads the head of the bag in `source`; adds to `remarks` what is odd.
    pub(crate) fn read(
        source: &Arc<dyn Source>,
        options: OpenOptions,
        remarks: &mut Vec<String>,
    ) -> Result<Self> {
        let mut tops = Tops::new(source.clone());
        let first = tops.bytes(0, 4096)?;
        let mut head = Self::default();
        match wire::version(&first) {
            None => check_other(&first)?,
            Some(line) => {
                let after = first.get(line.line_len - 1);
                if !line.ends_well && after == Some(&b'\r') {
                    let what = "the ends of lines were changed, as a transfer in text \
                                mode does, and with them bytes all over the bag: it has \
                                to be fetched again, in binary mode";
                    return Err(Error::new(ErrorKind::Malformed, what)
                        .at(line.line_len as u64 - 1));
                }
                head.version = Some((line.major, line.minor));
                head.records_at = line.line_len as u64;
            }
        }
        head.check_version(options, remarks)?;
        head.read_header(&mut tops, remarks)?;
        Ok(head)
    }

    fn check_version(
        &self,
        options: OpenOptions,
        remarks: &mut Vec<String>,
    ) -> Result<()> {
        let Some((major, minor)) = self.version else {
            remarks.push("the first line of a bag is missing".to_owned());
            return Ok(());
        };
        match (major, minor) {
            (2, 0) | (1, 2) => {}
            (2, _) => remarks.push(format!(
                "this is a bag of version 2.{minor}, read as one of version 2.0"
            )),
            _ if major > 2 && options.force => remarks.push(format!(
                "this is a bag of version {major}.{minor}, read as one of version 2.0"
            )),
            _ => {
                let what = format!("this is a bag of version {major}.{minor}");
                return Err(Error::new(ErrorKind::Unsupported, what).at(0));
            }
        }
        Ok(())
    }

    fn read_header(
        &mut self,
        tops: &mut Tops,
        remarks: &mut Vec<String>,
    ) -> Result<()> {
        let at = self.records_at;
        let mut bytes = tops.bytes(at, 4096)?;
        if let Framed::Partial(need) = wire::frame(&bytes) {
            bytes = tops.bytes(at, need as u64)?;
        }
        let Framed::Whole(frame) = wire::frame(&bytes) else {
            remarks.push("the header of the bag cannot be read".to_owned());
            return Ok(());
        };
        let header = match wire::header(wire::fields(&bytes, frame)) {
            Some(Header::Bag(header)) => header,
            _ => {
                remarks.push("the header of the bag cannot be read".to_owned());
                return Ok(());
            }
        };
        self.has_header = true;
        (self.index_at, self.connections, self.chunks) =
            (header.index_at, header.connections, header.chunks);
        self.encryptor = decode_text(header.encryptor).into_owned();
        self.user = decode_text(header.user).into_owned();
        self.encrypted_key = decode_text(header.encrypted_key).into_owned();
        // What follows is padding, as far as its length can be true.
        self.records_at = match at + frame.len() {
            end if end <= tops.len() => end,
            _ => (at + frame.data_start() as u64).min(tops.len()),
        };
        Ok(())
    }
}

/// What a file that does not begin as a bag may be, if that can be told.
fn check_other(first: &[u8]) -> Result<()> {
    if first.is_empty() {
        return Err(Error::new(ErrorKind::Unrecognized, "it is empty"));
    }
    if first.starts_with(LFS_POINTER) {
        let what = "this is a Git LFS pointer, not the bag itself, which `git lfs pull` \
                    fetches";
        return Err(Error::new(ErrorKind::Unrecognized, what).at(0));
    }
    Ok(())
}
