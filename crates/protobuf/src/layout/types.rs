//! The message types that are made from layouts, and their files.

use std::collections::HashMap;

use logtool_core::UniqueNames;

use crate::{
    descriptor::{File, FileSet, Message, PROTO3},
    well_known_types,
};

/// The message types that were created so far.
#[derive(Debug)]
pub(super) struct TypeTable {
    package: String,
    names: UniqueNames,
    messages: Vec<Message>,
    /// The files of the well-known types that are used.
    imports: HashMap<&'static str, fn() -> File>,
}

impl TypeTable {
    pub(super) fn new(package: &str) -> Self {
        let (names, messages) = (UniqueNames::default(), Vec::new());
        Self { package: package.to_owned(), names, messages, imports: HashMap::new() }
    }

    /// Returns a unique name for a type like `name`.
    pub(super) fn name(&mut self, name: &str) -> String {
        self.names.make_unique(name)
    }

    /// Returns the name of the type `name` with its package.
    pub(super) fn full_name(&self, name: &str) -> String {
        format!("{}.{name}", self.package)
    }

    pub(super) fn add(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Returns the full name of the `Timestamp` type, and adds its file.
    pub(super) fn timestamp(&mut self) -> &'static str {
        self.imports
            .insert(well_known_types::TIMESTAMP_FILE, well_known_types::timestamp_file);
        well_known_types::TIMESTAMP
    }

    /// Returns the full name of the `Duration` type, and adds its file.
    pub(super) fn duration(&mut self) -> &'static str {
        self.imports
            .insert(well_known_types::DURATION_FILE, well_known_types::duration_file);
        well_known_types::DURATION
    }

    /// Returns the file of all types, after the files that it imports. Its name contains `root`.
    pub(super) fn finish(self, root: &str) -> FileSet {
        let mut imports: Vec<_> = self.imports.into_iter().collect();
        imports.sort_by_key(|(name, _)| *name);
        let file = File {
            name: format!("{}/{root}.proto", self.package),
            package: self.package,
            imports: imports.iter().map(|(name, _)| (*name).to_owned()).collect(),
            messages: self.messages,
            syntax: PROTO3.to_owned(),
            ..File::default()
        };
        let mut files: Vec<File> =
            imports.iter().map(|(_, create_file)| create_file()).collect();
        files.push(file);
        FileSet { files }
    }
}
