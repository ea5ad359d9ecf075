//! The first line of a bag, and its header.

use std::{ops::Range, sync::Arc};

use logtool_core::{Error, ErrorKind, OpenOptions, Result, Source, decode_text};
use serde::{Deserialize, Serialize};

use crate::{
    file::toplevel_record::TopLevelReader,
    wire::{self, FrameMatch, Header},
};

/// The start of Git LFS pointers, which replace files that were not fetched.
const LFS_POINTER: &[u8] = b"version https://git-lfs";

/// The minimum length of a chunk. Fewer zero bytes at the end of a bag do not replace a chunk.
pub(crate) const MIN_CHUNK_LEN: u64 = 64;

/// The remark about a bag without a readable header.
const UNREADABLE_HEADER: &str = "the header of the bag cannot be read";

/// The first line and the header of a bag.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileHeader {
    /// The version, e.g. `(2, 0)`, or `None` if the first line is missing.
    pub(crate) version: Option<(u32, u32)>,
    /// The position of the first record after the bag header.
    pub(crate) records_at: u64,
    /// Whether the header is readable.
    pub(crate) has_header: bool,
    /// The position of the index, or 0 if there is no index.
    pub(crate) index_at: u64,
    /// The numbers of connections and of chunk infos in the index, as the header declares them.
    pub(crate) connections: u32,
    pub(crate) chunks: u32,
    /// The plugin that encrypted the bag, or an empty string.
    pub(crate) encryptor: String,
    /// The user for whom the bag is encrypted.
    pub(crate) user: String,
    /// The key of the bag, itself encrypted with GPG.
    pub(crate) encrypted_key: String,
}

impl FileHeader {
    /// Returns whether messages have the form of version 1.2.
    pub(crate) fn is_v1(&self) -> bool {
        self.version.is_some_and(|(major, _)| major == 1)
    }

    /// Returns whether the range `zeros` of zero bytes replaces recorded data, in a file of `len`
    /// bytes. This is so at the end of a bag that was not closed: it should end with a record, and
    /// its header does not declare how many records are missing.
    pub(crate) fn are_zeros_lost_data(&self, zeros: &Range<u64>, len: u64) -> bool {
        self.index_at == 0
            && zeros.end == len
            && zeros.end - zeros.start >= MIN_CHUNK_LEN
    }

    /// Reads the first line and the header of the bag in `source`; adds anomalies to `remarks`.
    pub(crate) fn read(
        source: &Arc<dyn Source>,
        options: OpenOptions,
        remarks: &mut Vec<String>,
    ) -> Result<Self> {
        let mut toplevel = TopLevelReader::new(source.clone());
        let first = toplevel.bytes(0, 4096)?;
        let mut file_header = Self::default();
        match wire::version(&first) {
            None => check_unrecognized(&first)?,
            Some(line) => {
                let after = first.get(line.line_len - 1);
                if !line.ends_well && after == Some(&b'\r') {
                    let message = "the line endings were converted, as by a transfer in text \
                                   mode, which changed bytes all over the bag: transfer it \
                                   again in binary mode";
                    return Err(Error::new(ErrorKind::Malformed, message)
                        .with_offset(line.line_len as u64 - 1));
                }
                file_header.version = Some((line.major, line.minor));
                file_header.records_at = line.line_len as u64;
            }
        }
        file_header.check_version(options, remarks)?;
        file_header.read_header(&mut toplevel, remarks)?;
        Ok(file_header)
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
                let message =
                    format!("bags of version {major}.{minor} are not supported");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        Ok(())
    }

    fn read_header(
        &mut self,
        toplevel: &mut TopLevelReader,
        remarks: &mut Vec<String>,
    ) -> Result<()> {
        let at = self.records_at;
        let mut bytes = toplevel.bytes(at, 4096)?;
        if let FrameMatch::Partial(need) = wire::frame(&bytes) {
            bytes = toplevel.bytes(at, need as u64)?;
        }
        let FrameMatch::Whole(frame) = wire::frame(&bytes) else {
            remarks.push(UNREADABLE_HEADER.to_owned());
            return Ok(());
        };
        let Some(Header::Bag(header)) = wire::header(wire::fields(&bytes, frame))
        else {
            remarks.push(UNREADABLE_HEADER.to_owned());
            return Ok(());
        };
        self.has_header = true;
        (self.index_at, self.connections, self.chunks) =
            (header.index_at, header.connections, header.chunks);
        self.encryptor = decode_text(header.encryptor).into_owned();
        self.user = decode_text(header.user).into_owned();
        self.encrypted_key = decode_text(header.encrypted_key).into_owned();
        // The data of the header are padding. If their declared length is impossible, they are
        // scanned for records.
        self.records_at = match at + frame.len() {
            end if end <= toplevel.len() => end,
            _ => (at + frame.data_start() as u64).min(toplevel.len()),
        };
        Ok(())
    }
}

/// Returns an error if the file, which does not begin like a bag, is empty or a Git LFS pointer.
/// Otherwise it may be a bag whose first line is damaged.
fn check_unrecognized(first: &[u8]) -> Result<()> {
    if first.is_empty() {
        return Err(Error::new(ErrorKind::Unrecognized, "the file is empty"));
    }
    if first.starts_with(LFS_POINTER) {
        let message = "this is a Git LFS pointer; fetch the bag with `git lfs pull`";
        return Err(Error::new(ErrorKind::Unrecognized, message).with_offset(0));
    }
    Ok(())
}
