//! Converting payloads of a [`Layout`] to messages of ROS 1, and creating the type of the messages.
//!
//! | in the layout | in the message |
//! |---|---|
//! | a number | the same number |
//! | a bool | 0 or 1 |
//! | a fixed number of characters | `string`: up to the first NUL, decoded as Latin-1 if it is not UTF-8 |
//! | an array, also of a nested type | an array of the same length |
//! | padding, and fields without bytes | dropped |
//!
//! In both, numbers are little-endian and follow each other without gaps, so that most of a payload
//! is copied unchanged.

mod program;
mod run;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use logtool_core::{Layout, MessageBuffer, Result, Run, Translate};

use crate::{definition::Definition, layout::program::Program};

/// A message type, and the conversion of payloads of a layout to its messages.
#[derive(Clone)]
pub struct LayoutMessages {
    /// The name of the type, e.g. `ulog/VehicleAttitude`.
    pub type_name: String,
    /// The definition of the type.
    pub definition: Definition,
    program: Arc<Program>,
}

impl LayoutMessages {
    /// Creates the type for payloads of `layout`. It and its nested types belong to `package`.
    ///
    /// ```
    /// use logtool_core::{FieldRole, Layout, LayoutField, LayoutKind, Primitive};
    /// use logtool_rosmsg::LayoutMessages;
    ///
    /// let kind = LayoutKind::Primitive(Primitive::Char);
    /// let (name, role) = ("mode".to_owned(), FieldRole::Plain);
    /// let field = LayoutField { name, kind, count: Some(4), offset: 0, role };
    /// let layout = Layout::from_fields("flight_mode".to_owned(), vec![field])?;
    /// let messages = LayoutMessages::new(&layout, "a")?;
    /// assert_eq!(messages.type_name, "a/FlightMode");
    /// assert_eq!(messages.definition.text(), "string mode\n");
    /// let mut out = Vec::new();
    /// assert!(messages.append_message(b"up\0\0", &mut out));
    /// assert_eq!(out, b"\x02\0\0\0up");
    /// # Ok::<(), logtool_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for layouts without a fixed size; `Limit` if the type has too many fields.
    pub fn new(layout: &Layout, package: &str) -> Result<Self> {
        let program = program::compile(layout, package)?;
        let definition = Definition::parse(&program.type_name, &program.text)?;
        Ok(Self { type_name: program.type_name, definition, program: program.program })
    }

    /// Appends the message for `payload` to `out`. Returns `false`, and appends nothing, if the
    /// payload does not match the layout.
    #[must_use]
    pub fn append_message(&self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        let original_len = out.len();
        let matches = run::run(&self.program, payload, out).is_some();
        if !matches {
            out.truncate(original_len);
        }
        matches
    }
}

impl Translate for LayoutMessages {
    fn translate(&mut self, run: Run<'_>, messages: &mut MessageBuffer) -> Result<()> {
        messages.push_messages(run, |payload, out| self.append_message(payload, out));
        Ok(())
    }
}

impl fmt::Debug for LayoutMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayoutMessages")
            .field("type_name", &self.type_name)
            .finish_non_exhaustive()
    }
}
