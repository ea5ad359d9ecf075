//! Encoding descriptors.

use crate::{
    descriptor::{Enum, Field, File, FileSet, Message},
    wire::{append_bytes, append_number, append_sized, append_unless_empty},
};

impl FileSet {
    /// Encodes the set.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for file in &self.files {
            append_sized(&mut out, 1, |out| file.encode(out));
        }
        out
    }
}

impl File {
    fn encode(&self, out: &mut Vec<u8>) {
        append_bytes(out, 1, self.name.as_bytes());
        append_unless_empty(out, 2, self.package.as_bytes());
        self.imports.iter().for_each(|name| append_bytes(out, 3, name.as_bytes()));
        for message in &self.messages {
            append_sized(out, 4, |out| message.encode(out));
        }
        for enum_type in &self.enums {
            append_sized(out, 5, |out| enum_type.encode(out));
        }
        append_unless_empty(out, 12, self.syntax.as_bytes());
    }
}

impl Message {
    fn encode(&self, out: &mut Vec<u8>) {
        append_bytes(out, 1, self.name.as_bytes());
        for field in &self.fields {
            append_sized(out, 2, |out| field.encode(out));
        }
        for message in &self.messages {
            append_sized(out, 3, |out| message.encode(out));
        }
        for enum_type in &self.enums {
            append_sized(out, 4, |out| enum_type.encode(out));
        }
        if self.is_map_entry {
            append_sized(out, 7, |out| append_number(out, 7, 1));
        }
        for oneof in &self.oneofs {
            append_sized(out, 8, |out| append_bytes(out, 1, oneof.as_bytes()));
        }
    }
}

impl Field {
    fn encode(&self, out: &mut Vec<u8>) {
        append_bytes(out, 1, self.name.as_bytes());
        append_number(out, 3, self.number.into());
        let label = match (self.is_repeated, self.is_required) {
            (true, _) => 3,
            (false, true) => 2,
            (false, false) => 1,
        };
        append_number(out, 4, label);
        append_number(out, 5, self.kind.into());
        append_unless_empty(out, 6, self.type_name.as_bytes());
        if let Some(default) = &self.default {
            append_bytes(out, 7, default.as_bytes());
        }
        if let Some(is_packed) = self.is_packed {
            append_sized(out, 8, |out| append_number(out, 2, is_packed.into()));
        }
        if let Some(oneof) = self.oneof {
            append_number(out, 9, oneof.into());
        }
        if self.is_optional {
            append_number(out, 17, 1);
        }
    }
}

impl Enum {
    fn encode(&self, out: &mut Vec<u8>) {
        append_bytes(out, 1, self.name.as_bytes());
        for (name, number) in &self.values {
            append_sized(out, 2, |out| {
                append_bytes(out, 1, name.as_bytes());
                append_number(out, 2, i64::from(*number) as u64);
            });
        }
    }
}
