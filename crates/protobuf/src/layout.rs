//! Converting payloads of a [`Layout`] to messages of protocol buffers.
//!
//! | in the layout | in the message |
//! |---|---|
//! | `i8` `i16` `i32` | `int32` |
//! | `u8` `u16` `u32` | `uint32` |
//! | `i64`, `u64`, `f32`, `f64`, bool | `int64`, `uint64`, `float`, `double`, `bool` |
//! | a fixed number of characters, a string | `string`, invalid UTF-8 as U+FFFD |
//! | a variable number of bytes | `bytes` |
//! | an array, a list | `repeated`, packed for numbers |
//! | a nested type | a message |
//! | a timestamp, a duration | `google.protobuf.Timestamp`, `Duration` |
//! | padding | dropped |
//!
//! Fields are numbered in order. As in all of `proto3`, zero and empty values are not written:
//! they are the defaults of readers.

mod program;
mod run;
#[cfg(test)]
mod tests;
mod types;

use std::{fmt, sync::Arc};

use logtool_core::{Layout, MessageBuffer, Result, Run, Translate};

use crate::{
    descriptor::FileSet,
    layout::{program::Program, types::TypeTable},
};

/// A message type, and the conversion of payloads of a layout to its messages.
#[derive(Clone)]
pub struct LayoutMessages {
    /// The full name of the type, e.g. `px4.vehicle_attitude`.
    pub type_name: String,
    /// The files that define the type.
    pub files: FileSet,
    program: Arc<Program>,
}

impl LayoutMessages {
    /// Creates the type for payloads of `layout`, in `package`.
    ///
    /// ```
    /// use logtool_core::{FieldRole, Layout, LayoutField, LayoutKind, Primitive};
    /// use logtool_protobuf::LayoutMessages;
    ///
    /// let kind = LayoutKind::Primitive(Primitive::U16);
    /// let (name, role) = ("x".to_owned(), FieldRole::Plain);
    /// let field = LayoutField { name, kind, count: None, offset: 0, role };
    /// let layout = Layout::from_fields("point".to_owned(), vec![field])?;
    /// let messages = LayoutMessages::new(&layout, "a")?;
    /// assert_eq!(messages.type_name, "a.point");
    /// let mut out = Vec::new();
    /// assert!(messages.append_message(&[0x96, 0], &mut out));
    /// assert_eq!(out, [0x08, 0x96, 0x01]);
    /// # Ok::<(), logtool_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for lists of lists, and of types without bytes; `Limit` if the type has too
    /// many parts.
    pub fn new(layout: &Layout, package: &str) -> Result<Self> {
        let mut types = TypeTable::new(package);
        let program = Program::compile(layout, &mut types)?;
        let type_name = types.full_name(program.type_name());
        Ok(Self { type_name, files: types.finish(program.type_name()), program })
    }

    /// Appends the message for `payload` to `out`. Returns `false`, and appends nothing, if the
    /// payload does not match the layout.
    #[must_use]
    pub fn append_message(&self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        let old_len = out.len();
        let matches_layout = run::run(&self.program, payload, out).is_some();
        if !matches_layout {
            out.truncate(old_len);
        }
        matches_layout
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
