//! Formats, information and parameters: the messages `F`, `I`, `M`, `P` and `Q`.

use std::io::Write;

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    declarations::metadata::ParameterValue,
    wire::kind,
    write::{DefaultScope, Writer, message, misplaced_error, name_checks},
};

/// The number of bytes of a long value in one `M` message. PX4 writes parts of about
/// this length, so that a damaged message loses little.
const PART_BYTES: usize = 1_024;

impl<W: Write> Writer<W> {
    /// Defines a type of records, e.g. `"uint64_t timestamp;float[3] x;"`.
    ///
    /// Nested types may be defined later. A field called `_padding…` is padding.
    ///
    /// # Errors
    ///
    /// `Malformed` if a name or a type is invalid, or the format is already defined;
    /// `Unsupported` if the definitions have ended; `Limit` if the text is too long.
    pub fn format(&mut self, name: &str, fields: &str) -> Result<()> {
        self.check_definitions_last("a format")?;
        let text = format!("{name}:{fields}");
        message::checked_len(kind::FORMAT, &[text.as_bytes()])?;
        name_checks::check_format(name, fields)?;
        if self.formats.contains(name) {
            let message = format!("the format {name:?} is already defined");
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        self.write_message(kind::FORMAT, &[text.as_bytes()])?;
        self.formats.define(name, fields);
        Ok(())
    }

    /// Writes an information. `key` is a basic type and a name, e.g. `"uint64_t
    /// flight_id"` or `"char[3] sys_name"`.
    ///
    /// # Errors
    ///
    /// `Malformed` if the value does not have the length of its type, or the key is
    /// invalid; `Limit` if the key is longer than 255 bytes, or the value is too long.
    pub fn info(&mut self, key: &str, value: &[u8]) -> Result<()> {
        let (type_name, _) = name_checks::split(key)?;
        if name_checks::basic_len(type_name) != Some(value.len()) {
            let message =
                format!("a value of {} bytes does not match {key:?}", value.len());
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        self.write_keyed(kind::INFO, None, key, value)
    }

    /// Writes an information with a string value.
    ///
    /// # Errors
    ///
    /// Like [`info`](Self::info).
    pub fn info_text(&mut self, name: &str, text: &str) -> Result<()> {
        self.info(&format!("char[{}] {name}", text.len()), text.as_bytes())
    }

    /// Writes an information with a `uint32_t` value.
    ///
    /// # Errors
    ///
    /// Like [`info`](Self::info).
    pub fn info_u32(&mut self, name: &str, value: u32) -> Result<()> {
        self.info(&format!("uint32_t {name}"), &value.to_le_bytes())
    }

    /// Writes an information with an `int32_t` value.
    ///
    /// # Errors
    ///
    /// Like [`info`](Self::info).
    pub fn info_i32(&mut self, name: &str, value: i32) -> Result<()> {
        self.info(&format!("int32_t {name}"), &value.to_le_bytes())
    }

    /// Adds a string of any length to the multi information `name`.
    ///
    /// A long string is written in parts. It is split between characters, because some
    /// readers decode each part separately.
    ///
    /// # Errors
    ///
    /// `Limit` if the name is too long, `Malformed` if it is empty.
    pub fn info_multiple_text(&mut self, name: &str, text: &str) -> Result<()> {
        let is_boundary = |offset: &usize| text.is_char_boundary(*offset);
        let part_end = |limit: usize| (0..=limit).rev().find(is_boundary).unwrap_or(0);
        self.write_parts("char", name, text.as_bytes(), part_end)
    }

    /// Adds bytes of any length to the multi information `name`.
    ///
    /// # Errors
    ///
    /// Like [`info_multiple_text`](Self::info_multiple_text).
    pub fn info_multiple_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write_parts("uint8_t", name, bytes, |limit| limit)
    }

    /// Writes the initial value of a parameter.
    ///
    /// # Errors
    ///
    /// `Limit` if the name is too long, `Malformed` if it is empty, `Unsupported` if
    /// the definitions have ended; use [`parameter_change`](Self::parameter_change)
    /// then.
    pub fn parameter(
        &mut self,
        name: &str,
        value: impl Into<ParameterValue>,
    ) -> Result<()> {
        self.check_definitions_last("an initial parameter")?;
        self.write_parameter(kind::PARAMETER, None, name, value.into())
    }

    /// Writes the default value of a parameter.
    ///
    /// # Errors
    ///
    /// Like [`parameter`](Self::parameter).
    pub fn default_parameter(
        &mut self,
        name: &str,
        value: impl Into<ParameterValue>,
        scope: DefaultScope,
    ) -> Result<()> {
        self.check_definitions_last("a default parameter")?;
        self.write_parameter(
            kind::DEFAULT_PARAMETER,
            Some(scope as u8),
            name,
            value.into(),
        )
    }

    /// Writes a new value of a parameter that changes at this point.
    ///
    /// It must follow a subscription or a string: readers interpret earlier values as initial
    /// values.
    ///
    /// # Errors
    ///
    /// `Limit` if the name is too long, `Malformed` if it is empty, `Unsupported` if
    /// neither a topic nor a string has been written.
    pub fn parameter_change(
        &mut self,
        name: &str,
        value: impl Into<ParameterValue>,
    ) -> Result<()> {
        if !self.has_data {
            return Err(misplaced_error("a change of a parameter"));
        }
        self.write_parameter(kind::PARAMETER, None, name, value.into())
    }

    fn write_parameter(
        &mut self,
        kind: u8,
        flag: Option<u8>,
        name: &str,
        value: ParameterValue,
    ) -> Result<()> {
        let key = format!("{} {name}", value.type_name());
        name_checks::split(&key)?;
        self.write_keyed(kind, flag, &key, &value.to_le_bytes())
    }

    /// Writes `value` as an array of `element`, in parts. `part_end` returns the end of the part
    /// that may end at the given offset at the latest.
    fn write_parts(
        &mut self,
        element: &str,
        name: &str,
        value: &[u8],
        part_end: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let mut start = 0;
        loop {
            let end = part_end(value.len().min(start + PART_BYTES));
            let part = value.get(start..end).unwrap_or_default();
            let key = format!("{element}[{}] {name}", part.len());
            name_checks::split(&key)?;
            self.write_keyed(
                kind::INFO_MULTIPLE,
                Some(u8::from(start > 0)),
                &key,
                part,
            )?;
            start = end;
            if start == value.len() {
                return Ok(());
            }
        }
    }

    /// Writes an optional flag byte, the length of the key, the key, and the value.
    fn write_keyed(
        &mut self,
        kind: u8,
        flag: Option<u8>,
        key: &str,
        value: &[u8],
    ) -> Result<()> {
        let Ok(key_len) = u8::try_from(key.len()) else {
            let message = format!("a key cannot have {} bytes: {key:?}", key.len());
            return Err(Error::new(ErrorKind::Limit, message));
        };
        self.write_message(kind, &[flag.as_slice(), &[key_len], key.as_bytes(), value])
    }
}
