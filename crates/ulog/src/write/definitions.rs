//! Formats, informations and parameters: the messages `F`, `I`, `M`, `P` and `Q`.

use std::io::Write;

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    header::ParameterValue,
    wire::kind,
    write::{DefaultOf, Writer, message, misplaced, typed},
};

/// How many bytes of a long value go into one `M` message. PX4 writes parts of about
/// this length; a damaged message then costs little.
const PART_BYTES: usize = 1_024;

impl<W: Write> Writer<W> {
    /// Defines a type of records, as `"uint64_t timestamp;float[3] x;"`.
    ///
    /// Types that it uses may be defined later. A field called `_padding…` pads.
    ///
    /// # Errors
    ///
    /// `Malformed` if a name or a type is none, or the format is defined already;
    /// `Unsupported` if the definitions have ended; `Limit` if the text is too long.
    pub fn format(&mut self, name: &str, fields: &str) -> Result<()> {
        self.check_definitions_last("a format")?;
        let text = format!("{name}:{fields}");
        message::checked_len(kind::FORMAT, &[text.as_bytes()])?;
        typed::check_format(name, fields)?;
        if self.formats.contains(name) {
            let what = format!("the format {name:?} is defined already");
            return Err(Error::new(ErrorKind::Malformed, what));
        }
        self.put(kind::FORMAT, &[text.as_bytes()])?;
        self.formats.define(name, fields);
        Ok(())
    }

    /// Says something about the log; `key` is a basic type and a name, as
    /// `"uint64_t flight_id"` or `"char[3] sys_name"`.
    ///
    /// # Errors
    ///
    /// `Malformed` if the value is not as long as the type says, or the key is none;
    /// `Limit` if the key is longer than 255 bytes, or the value too long.
    pub fn info(&mut self, key: &str, value: &[u8]) -> Result<()> {
        let (type_name, _) = typed::split(key)?;
        if typed::basic_len(type_name) != Some(value.len()) {
            let what = format!("a value of {} bytes for {key:?}", value.len());
            return Err(Error::new(ErrorKind::Malformed, what));
        }
        self.put_keyed(kind::INFO, None, key, value)
    }

    /// Says something about the log in words.
    ///
    /// # Errors
    ///
    /// As [`info`](Self::info).
    pub fn info_text(&mut self, name: &str, text: &str) -> Result<()> {
        self.info(&format!("char[{}] {name}", text.len()), text.as_bytes())
    }

    /// Says something about the log as a number.
    ///
    /// # Errors
    ///
    /// As [`info`](Self::info).
    pub fn info_u32(&mut self, name: &str, value: u32) -> Result<()> {
        self.info(&format!("uint32_t {name}"), &value.to_le_bytes())
    }

    /// Says something about the log as a signed number.
    ///
    /// # Errors
    ///
    /// As [`info`](Self::info).
    pub fn info_i32(&mut self, name: &str, value: i32) -> Result<()> {
        self.info(&format!("int32_t {name}"), &value.to_le_bytes())
    }

    /// Adds a text to the list of those with this name, however long it is.
    ///
    /// A long text goes out in parts, none of which ends within a character, since
    /// there are readers that look at each part on its own.
    ///
    /// # Errors
    ///
    /// `Limit` if the name is too long, `Malformed` if it is empty.
    pub fn info_multiple_text(&mut self, name: &str, text: &str) -> Result<()> {
        let is_boundary = |at: &usize| text.is_char_boundary(*at);
        let cut = |at: usize| (0..=at).rev().find(is_boundary).unwrap_or(0);
        self.put_parts("char", name, text.as_bytes(), cut)
    }

    /// Adds bytes that are no text to the list of those with this name, however many.
    ///
    /// # Errors
    ///
    /// As [`info_multiple_text`](Self::info_multiple_text).
    pub fn info_multiple_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.put_parts("uint8_t", name, bytes, |at| at)
    }

    /// Says which value a parameter has when the log starts.
    ///
    /// # Errors
    ///
    /// `Limit` if the name is too long, `Malformed` if it is empty, `Unsupported` if
    /// the definitions have ended: then see
    /// [`parameter_change`](Self::parameter_change).
    pub fn parameter(
        &mut self,
        name: &str,
        value: impl Into<ParameterValue>,
    ) -> Result<()> {
        self.check_definitions_last("an initial parameter")?;
        self.put_parameter(kind::PARAMETER, None, name, value.into())
    }

    /// Says which value a parameter would have had, if nobody had set it.
    ///
    /// # Errors
    ///
    /// As [`parameter`](Self::parameter).
    pub fn default_parameter(
        &mut self,
        name: &str,
        value: impl Into<ParameterValue>,
        of: DefaultOf,
    ) -> Result<()> {
        self.check_definitions_last("a default parameter")?;
        self.put_parameter(kind::DEFAULT_PARAMETER, Some(of as u8), name, value.into())
    }

    /// Says that a parameter has another value from here on.
    ///
    /// A topic or a line has to come before it: to readers the data begins with these,
    /// and what is before is an initial value.
    ///
    /// # Errors
    ///
    /// `Limit` if the name is too long, `Malformed` if it is empty, `Unsupported` if
    /// neither a topic nor a line was written yet.
    pub fn parameter_change(
        &mut self,
        name: &str,
        value: impl Into<ParameterValue>,
    ) -> Result<()> {
        if !self.has_begun {
            return Err(misplaced("a change of a parameter"));
        }
        self.put_parameter(kind::PARAMETER, None, name, value.into())
    }

    fn put_parameter(
        &mut self,
        kind: u8,
        before: Option<u8>,
        name: &str,
        value: ParameterValue,
    ) -> Result<()> {
        let key = format!("{} {name}", value.type_name());
        typed::split(&key)?;
        self.put_keyed(kind, before, &key, &value.to_le_bytes())
    }

    /// Writes `value` as an array of `element`, cut where `cut` says: at the byte that
    /// it is given, or a bit before.
    fn put_parts(
        &mut self,
        element: &str,
        name: &str,
        value: &[u8],
        cut: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let mut from = 0;
        loop {
            let to = cut(value.len().min(from + PART_BYTES));
            let part = value.get(from..to).unwrap_or_default();
            let key = format!("{element}[{}] {name}", part.len());
            typed::split(&key)?;
            self.put_keyed(kind::INFO_MULTIPLE, Some(u8::from(from > 0)), &key, part)?;
            from = to;
            if from == value.len() {
                return Ok(());
            }
        }
    }

    /// Writes a byte if there is one, the key behind its length, and the value.
    fn put_keyed(
        &mut self,
        kind: u8,
        before: Option<u8>,
        key: &str,
        value: &[u8],
    ) -> Result<()> {
        let Ok(key_len) = u8::try_from(key.len()) else {
            let what = format!("a key of {} bytes: {key:?}", key.len());
            return Err(Error::new(ErrorKind::Limit, what));
        };
        self.put(kind, &[before.as_slice(), &[key_len], key.as_bytes(), value])
    }
}
