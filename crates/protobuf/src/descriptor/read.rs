//! Parsing descriptors from untrusted bytes.

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    descriptor::{Enum, Field, File, FileSet, Message, PROTO3, kind},
    wire::{MAX_NUMBER, Wire, for_each_field},
};

/// The maximum size of descriptors. They need many times more memory when they are parsed.
const MAX_BYTES: usize = 4 << 20;

/// The maximum nesting depth of types.
const MAX_DEPTH: u32 = 32;

impl FileSet {
    /// Parses a set.
    ///
    /// # Errors
    /// `Malformed` if `bytes` are not a set, `Limit` if they are more than 4 MiB.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let malformed = || {
            Error::new(ErrorKind::Malformed, "the schema is not a FileDescriptorSet")
        };
        if bytes.len() > MAX_BYTES {
            return Err(Error::new(ErrorKind::Limit, "the descriptors exceed 4 MiB"));
        }
        let mut set = Self::default();
        for_each_field(bytes, |number, wire| {
            if let (1, Wire::Sized(file)) = (number, wire) {
                set.files.push(File::parse(file)?);
            }
            Some(())
        })
        .ok_or_else(malformed)?;
        Ok(set)
    }
}

impl File {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut file = Self::default();
        for_each_field(bytes, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(name)) => file.name = text(name),
                (2, Wire::Sized(name)) => file.package = text(name),
                (3, Wire::Sized(name)) => file.imports.push(text(name)),
                (4, Wire::Sized(message)) => {
                    file.messages.push(Message::parse(message, MAX_DEPTH)?);
                }
                (5, Wire::Sized(enum_type)) => file.enums.push(Enum::parse(enum_type)?),
                (12, Wire::Sized(name)) => file.syntax = text(name),
                _ => {}
            }
            Some(())
        })?;
        // Only proto3 has fields without presence.
        if file.syntax != PROTO3 {
            file.messages.iter_mut().for_each(set_presence);
        }
        Some(file)
    }
}

/// Marks all singular fields as having presence. This is right for proto2, and is the default of
/// editions.
fn set_presence(message: &mut Message) {
    let fields = message.fields.iter_mut();
    fields.for_each(|field| field.is_optional = !field.is_repeated);
    message.messages.iter_mut().for_each(set_presence);
}

impl Message {
    /// Parses a message type, in which types are nested at most `max_depth` levels deep.
    fn parse(bytes: &[u8], max_depth: u32) -> Option<Self> {
        let max_depth = max_depth.checked_sub(1)?;
        let mut message = Self::default();
        for_each_field(bytes, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(name)) => message.name = text(name),
                (2, Wire::Sized(field)) => message.fields.push(Field::parse(field)?),
                (3, Wire::Sized(inner)) => {
                    message.messages.push(Self::parse(inner, max_depth)?);
                }
                (4, Wire::Sized(enum_type)) => {
                    message.enums.push(Enum::parse(enum_type)?)
                }
                (7, Wire::Sized(options)) => {
                    for_each_field(options, |number, wire| {
                        if let (7, Wire::Varint(is_map_entry)) = (number, wire) {
                            message.is_map_entry = is_map_entry != 0;
                        }
                        Some(())
                    })?
                }
                (8, Wire::Sized(oneof)) => {
                    let mut name = String::new();
                    for_each_field(oneof, |number, wire| {
                        if let (1, Wire::Sized(value)) = (number, wire) {
                            name = text(value);
                        }
                        Some(())
                    })?;
                    message.oneofs.push(name);
                }
                _ => {}
            }
            Some(())
        })?;
        Some(message)
    }
}

impl Field {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut field = Self::default();
        for_each_field(bytes, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(name)) => field.name = text(name),
                (3, Wire::Varint(value)) => field.number = u32::try_from(value).ok()?,
                (4, Wire::Varint(label)) => {
                    (field.is_required, field.is_repeated) = (label == 2, label == 3);
                }
                (5, Wire::Varint(value)) => field.kind = u32::try_from(value).ok()?,
                (6, Wire::Sized(name)) => field.type_name = text(name),
                (7, Wire::Sized(value)) => field.default = Some(text(value)),
                (8, Wire::Sized(options)) => {
                    for_each_field(options, |number, wire| {
                        if let (2, Wire::Varint(is_packed)) = (number, wire) {
                            field.is_packed = Some(is_packed != 0);
                        }
                        Some(())
                    })?
                }
                (9, Wire::Varint(index)) => {
                    field.oneof = Some(u32::try_from(index).ok()?);
                }
                (17, Wire::Varint(value)) => field.is_optional = value != 0,
                _ => {}
            }
            Some(())
        })?;
        let is_number = (1..=MAX_NUMBER).contains(&field.number);
        let is_kind = (kind::DOUBLE..=kind::SINT64).contains(&field.kind);
        (is_number && is_kind).then_some(field)
    }
}

impl Enum {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut enum_type = Self::default();
        for_each_field(bytes, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(name)) => enum_type.name = text(name),
                (2, Wire::Sized(value)) => {
                    let mut enum_value = (String::new(), 0);
                    for_each_field(value, |number, wire| {
                        match (number, wire) {
                            (1, Wire::Sized(name)) => enum_value.0 = text(name),
                            (2, Wire::Varint(number)) => enum_value.1 = number as i32,
                            _ => {}
                        }
                        Some(())
                    })?;
                    enum_type.values.push(enum_value);
                }
                _ => {}
            }
            Some(())
        })?;
        Some(enum_type)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
