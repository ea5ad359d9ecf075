//! What messages look like, as the compiler of protocol buffers tells it: a
//! `FileDescriptorSet` (`google/protobuf/descriptor.proto`).

mod read;
mod text;
mod write;

/// Files of types, each before those that import it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSet {
    /// The files.
    pub files: Vec<File>,
}

/// A file of types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Its name, as `google/protobuf/timestamp.proto`.
    pub name: String,
    /// What the names of its types begin with.
    pub package: String,
    /// The names of the files whose types it uses.
    pub imports: Vec<String>,
    /// Its types.
    pub messages: Vec<Message>,
    /// Its enumerations.
    pub enums: Vec<Enum>,
    /// `proto3`, or nothing, which is `proto2`, or else an edition's.
    pub syntax: String,
}

/// A type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Its name, without what it is in.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// The types that are named in it.
    pub messages: Vec<Message>,
    /// The enumerations that are named in it.
    pub enums: Vec<Enum>,
    /// The names of its oneofs.
    pub oneofs: Vec<String>,
    /// Whether it is a pair of a map.
    pub is_map_entry: bool,
}

/// A field of a [`Message`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// Its type: [`kind`], by number.
    pub kind: u32,
    /// The full name of a type that is a message or an enumeration, as `.foxglove.Log`.
    pub type_name: String,
    /// Whether there are any number of it.
    pub is_repeated: bool,
    /// Whether it has to be told, even where it is 0 (`optional`, or `required`).
    pub is_optional: bool,
    /// The oneof that it is of.
    pub oneof: Option<u32>,
    /// Whether no message is without it (`required`, of proto2).
    pub is_required: bool,
    /// What it is where it is not told, if that is said (of proto2).
    pub default: Option<String>,
    /// Whether numbers lie one behind the other, if that is said.
    pub is_packed: Option<bool>,
}

/// An enumeration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enum {
    /// Its name, without what it is in.
    pub name: String,
    /// Its values: their names and numbers.
    pub values: Vec<(String, i32)>,
}

/// The types of fields (`FieldDescriptorProto.Type`).
#[allow(missing_docs)] // they say it themselves
pub mod kind {
    pub const DOUBLE: u32 = 1;
    pub const FLOAT: u32 = 2;
    pub const INT64: u32 = 3;
    pub const UINT64: u32 = 4;
    pub const INT32: u32 = 5;
    pub const FIXED64: u32 = 6;
    pub const FIXED32: u32 = 7;
    pub const BOOL: u32 = 8;
    pub const STRING: u32 = 9;
    pub const GROUP: u32 = 10;
    pub const MESSAGE: u32 = 11;
    pub const BYTES: u32 = 12;
    pub const UINT32: u32 = 13;
    pub const ENUM: u32 = 14;
    pub const SFIXED32: u32 = 15;
    pub const SFIXED64: u32 = 16;
    pub const SINT32: u32 = 17;
    pub const SINT64: u32 = 18;
}

/// The syntax that is written.
pub(crate) const PROTO3: &str = "proto3";

impl Field {
    /// A field that is told once, and not where it is 0.
    pub fn new(name: &str, number: u32, kind: u32) -> Self {
        Self { name: name.to_owned(), number, kind, ..Self::default() }
    }

    /// The same, being of the message or enumeration with the full name `type_name`.
    #[must_use]
    pub fn of_type(mut self, type_name: &str) -> Self {
        type_name.clone_into(&mut self.type_name);
        self
    }

    /// The same, any number of them.
    #[must_use]
    pub fn repeated(mut self) -> Self {
        self.is_repeated = true;
        self
    }
}
