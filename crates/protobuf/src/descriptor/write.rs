//! Encoding descriptors.

use crate::{
    descriptor::{Enum, Field, File, FileSet, Message},
    wire::{put_bytes, put_number, put_sized},
};

impl FileSet {
    /// Encodes the set.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for file in &self.files {
            put_sized(&mut out, 1, |out| file.put(out));
        }
        out
    }
}

impl File {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, 1, self.name.as_bytes());
        put_text(out, 2, &self.package);
        self.imports.iter().for_each(|name| put_bytes(out, 3, name.as_bytes()));
        for message in &self.messages {
            put_sized(out, 4, |out| message.put(out));
        }
        for enum_type in &self.enums {
            put_sized(out, 5, |out| enum_type.put(out));
        }
        put_text(out, 12, &self.syntax);
    }
}

impl Message {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, 1, self.name.as_bytes());
        for field in &self.fields {
            put_sized(out, 2, |out| field.put(out));
        }
        for message in &self.messages {
            put_sized(out, 3, |out| message.put(out));
        }
        for enum_type in &self.enums {
            put_sized(out, 4, |out| enum_type.put(out));
        }
        if self.is_map_entry {
            put_sized(out, 7, |out| put_number(out, 7, 1));
        }
        for oneof in &self.oneofs {
            put_sized(out, 8, |out| put_bytes(out, 1, oneof.as_bytes()));
        }
    }
}

impl Field {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, 1, self.name.as_bytes());
        put_number(out, 3, self.number.into());
        let label = match (self.is_repeated, self.is_required) {
            (true, _) => 3,
            (false, true) => 2,
            (false, false) => 1,
        };
        put_number(out, 4, label);
        put_number(out, 5, self.kind.into());
        put_text(out, 6, &self.type_name);
        if let Some(default) = &self.default {
            put_bytes(out, 7, default.as_bytes());
        }
        if let Some(is_packed) = self.is_packed {
            put_sized(out, 8, |out| put_number(out, 2, is_packed.into()));
        }
        if let Some(oneof) = self.oneof {
            put_number(out, 9, oneof.into());
        }
        if self.is_optional {
            put_number(out, 17, 1);
        }
    }
}

impl Enum {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, 1, self.name.as_bytes());
        for (name, number) in &self.values {
            put_sized(out, 2, |out| {
                put_bytes(out, 1, name.as_bytes());
                put_number(out, 2, i64::from(*number) as u64);
            });
        }
    }
}

fn put_text(out: &mut Vec<u8>, number: u32, text: &str) {
    if !text.is_empty() {
        put_bytes(out, number, text.as_bytes());
    }
}
