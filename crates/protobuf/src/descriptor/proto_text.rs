//! Displaying descriptors in the form of `.proto` files. Comments are omitted, and so are options
//! that do not change how fields are read.

use std::fmt::{self, Display, Formatter, Write as _};

use crate::descriptor::{Enum, Field, File, FileSet, Message, kind};

/// Shows all files except those of `google.protobuf`, which are well known.
impl Display for FileSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown_files =
            self.files.iter().filter(|file| file.package != "google.protobuf");
        for (index, file) in shown_files.enumerate() {
            if index > 0 {
                f.write_char('\n')?;
            }
            file.write(f)?;
        }
        Ok(())
    }
}

impl File {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let syntax = if self.syntax.is_empty() { "proto2" } else { &self.syntax };
        writeln!(f, "// {}\nsyntax = \"{syntax}\";", self.name)?;
        if !self.package.is_empty() {
            writeln!(f, "package {};", self.package)?;
        }
        for import in &self.imports {
            writeln!(f, "import \"{import}\";")?;
        }
        self.enums.iter().try_for_each(|enum_type| enum_type.write(f, 0))?;
        self.messages.iter().try_for_each(|message| message.write(f, 0))
    }
}

impl Message {
    /// Writes the type. The recursion is as deep as types are nested, which is limited when they
    /// are parsed.
    fn write(&self, f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        writeln!(f, "{indent}message {} {{", self.name)?;
        self.enums.iter().try_for_each(|enum_type| enum_type.write(f, depth + 1))?;
        let messages = self.messages.iter().filter(|inner| !inner.is_map_entry);
        messages.into_iter().try_for_each(|inner| inner.write(f, depth + 1))?;
        for field in &self.fields {
            writeln!(f, "{indent}  {};", self.field_declaration(field))?;
        }
        writeln!(f, "{indent}}}")
    }

    /// Returns the declaration of `field`, e.g. `repeated int32 x = 1`.
    fn field_declaration(&self, field: &Field) -> String {
        let Field { name, number, .. } = field;
        let short_type_name = field.type_name.rsplit('.').next().unwrap_or_default();
        let is_map_entry =
            |inner: &&Message| inner.is_map_entry && inner.name == short_type_name;
        if let Some(map_entry) = self.messages.iter().find(is_map_entry) {
            let type_of_number = |number: u32| {
                let mut fields = map_entry.fields.iter();
                let field = fields.find(|field| field.number == number);
                field.map(type_name).unwrap_or_default()
            };
            let (key, value) = (type_of_number(1), type_of_number(2));
            return format!("map<{key}, {value}> {name} = {number}");
        }
        let oneof = field.oneof.filter(|_| !field.is_optional);
        let oneof = oneof.and_then(|oneof| self.oneofs.get(oneof as usize));
        let oneof = oneof.map(|oneof| format!("/* oneof {oneof} */ "));
        let label = match field {
            Field { is_repeated: true, .. } => "repeated ",
            Field { is_required: true, .. } => "required ",
            Field { is_optional: true, .. } => "optional ",
            _ => "",
        };
        let oneof = oneof.unwrap_or_default();
        let options = options(field);
        format!("{oneof}{label}{} {name} = {number}{options}", type_name(field))
    }
}

impl Enum {
    fn write(&self, f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        writeln!(f, "{indent}enum {} {{", self.name)?;
        for (name, number) in &self.values {
            writeln!(f, "{indent}  {name} = {number};")?;
        }
        writeln!(f, "{indent}}}")
    }
}

/// Returns the declared options, e.g. ` [default = 42, packed = true]`.
fn options(field: &Field) -> String {
    let default = field.default.as_ref().map(|value| match field.kind {
        // The descriptor already contains the escaped bytes.
        kind::BYTES => format!("default = \"{value}\""),
        kind::STRING => format!("default = {value:?}"),
        _ => format!("default = {value}"),
    });
    let packed = field.is_packed.map(|is_packed| format!("packed = {is_packed}"));
    let options: Vec<String> = default.into_iter().chain(packed).collect();
    if options.is_empty() {
        String::new()
    } else {
        format!(" [{}]", options.join(", "))
    }
}

/// Returns the name of the type of `field`.
fn type_name(field: &Field) -> &str {
    match field.kind {
        kind::DOUBLE => "double",
        kind::FLOAT => "float",
        kind::INT64 => "int64",
        kind::UINT64 => "uint64",
        kind::INT32 => "int32",
        kind::FIXED64 => "fixed64",
        kind::FIXED32 => "fixed32",
        kind::BOOL => "bool",
        kind::STRING => "string",
        kind::BYTES => "bytes",
        kind::UINT32 => "uint32",
        kind::SFIXED32 => "sfixed32",
        kind::SFIXED64 => "sfixed64",
        kind::SINT32 => "sint32",
        kind::SINT64 => "sint64",
        _ => field.type_name.trim_start_matches('.'),
    }
}

#[cfg(test)]
mod tests {
    use crate::descriptor::FileSet;

    #[test]
    fn field_options_of_proto2_are_shown() {
        // Made with the Python package protobuf: `SerializeToString` of a FileDescriptorSet.
        let bytes = b"\n\x53\n\x08p2.proto\x12\x02p2\"C\n\x01M\
            \x12\x0b\n\x03req\x18\x01 \x02(\x05\
            \x12\x0f\n\x03opt\x18\x02 \x01(\x05:\x0242\
            \x12\x10\n\x03str\x18\x03 \x01(\t:\x03a\"b\
            \x12\x0e\n\x02rp\x18\x04 \x03(\x07B\x02\x10\x01";
        let set = FileSet::parse(bytes).unwrap();
        let expected = "// p2.proto\nsyntax = \"proto2\";\npackage p2;\nmessage M {\n  \
            required int32 req = 1;\n  optional int32 opt = 2 [default = 42];\n  \
            optional string str = 3 [default = \"a\\\"b\"];\n  \
            repeated fixed32 rp = 4 [packed = true];\n}\n";
        assert_eq!(set.to_string(), expected);
        let copy = FileSet::parse(&set.to_bytes()).unwrap();
        assert_eq!(copy, set);
    }
}
