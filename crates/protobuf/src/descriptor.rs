//! The types of messages, as written by the compiler of protocol buffers: a `FileDescriptorSet`
//! (`google/protobuf/descriptor.proto`).

mod proto_text;
mod read;
mod write;

/// A set of files with types; each file comes before those that import it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSet {
    /// The files.
    pub files: Vec<File>,
}

/// A file with types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// The name, e.g. `google/protobuf/timestamp.proto`.
    pub name: String,
    /// The package: the prefix of the names of its types.
    pub package: String,
    /// The names of the imported files.
    pub imports: Vec<String>,
    /// The message types.
    pub messages: Vec<Message>,
    /// The enumerations.
    pub enums: Vec<Enum>,
    /// The syntax: `proto3`, an empty string for `proto2`, or the name of an edition.
    pub syntax: String,
}

/// A message type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The name, without the enclosing type.
    pub name: String,
    /// The fields.
    pub fields: Vec<Field>,
    /// The nested types.
    pub messages: Vec<Message>,
    /// The nested enumerations.
    pub enums: Vec<Enum>,
    /// The names of the oneofs.
    pub oneofs: Vec<String>,
    /// Whether it is the entry type of a map.
    pub is_map_entry: bool,
}

/// A field of a [`Message`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The number.
    pub number: u32,
    /// The number of the type, see [`kind`].
    pub kind: u32,
    /// The full name of a message or enumeration type, e.g. `.foxglove.Log`.
    pub type_name: String,
    /// Whether it is `repeated`.
    pub is_repeated: bool,
    /// Whether it has presence: it is `optional` or `required`, so that 0 and absence differ.
    pub is_optional: bool,
    /// The index of the oneof that it belongs to.
    pub oneof: Option<u32>,
    /// Whether it is `required` (proto2).
    pub is_required: bool,
    /// The declared default value (proto2).
    pub default: Option<String>,
    /// Whether repeated numbers are packed, if this is declared.
    pub is_packed: Option<bool>,
}

/// An enumeration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enum {
    /// The name, without the enclosing type.
    pub name: String,
    /// The names and numbers of the values.
    pub values: Vec<(String, i32)>,
}

/// The numbers of field types (`FieldDescriptorProto.Type`).
#[allow(missing_docs)] // the names explain themselves
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

/// The syntax of files that are written.
pub(crate) const PROTO3: &str = "proto3";

impl Field {
    /// Creates a singular field without presence.
    pub fn new(name: &str, number: u32, kind: u32) -> Self {
        Self { name: name.to_owned(), number, kind, ..Self::default() }
    }

    /// Sets the full name of the message or enumeration type.
    #[must_use]
    pub fn with_type_name(mut self, type_name: &str) -> Self {
        type_name.clone_into(&mut self.type_name);
        self
    }

    /// Makes the field `repeated`.
    #[must_use]
    pub fn as_repeated(mut self) -> Self {
        self.is_repeated = true;
        self
    }
}
