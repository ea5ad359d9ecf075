//! The types that layouts become, and the files that they are in.

use std::collections::HashMap;

use logtool_core::UniqueNames;

use crate::{
    descriptor::{File, FileSet, Message, PROTO3},
    known,
};

/// Types that are being made.
#[derive(Debug)]
pub(super) struct Types {
    package: String,
    names: UniqueNames,
    messages: Vec<Message>,
    /// The files of others that are used.
    imports: HashMap<&'static str, fn() -> File>,
}

impl Types {
    pub(super) fn new(package: &str) -> Self {
        let (names, messages) = (UniqueNames::default(), Vec::new());
        Self { package: package.to_owned(), names, messages, imports: HashMap::new() }
    }

    /// A name for a type that is called `name`.
    pub(super) fn name(&mut self, name: &str) -> String {
        self.names.make_unique(name)
    }

    /// The name of the type `name`, with its package.
    pub(super) fn full_name(&self, name: &str) -> String {
        format!("{}.{name}", self.package)
    }

    pub(super) fn add(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// The full name of the type of moments.
    pub(super) fn timestamp(&mut self) -> &'static str {
        self.imports.insert(known::TIMESTAMP_FILE, known::timestamp_file);
        known::TIMESTAMP
    }

    /// The full name of the type of times between moments.
    pub(super) fn duration(&mut self) -> &'static str {
        self.imports.insert(known::DURATION_FILE, known::duration_file);
        known::DURATION
    }

    /// The file of all types, and before it those that it uses; `root` names it.
    pub(super) fn finish(self, root: &str) -> FileSet {
        let mut imports: Vec<_> = self.imports.into_iter().collect();
        imports.sort_by_key(|(name, _)| *name);
        let own = File {
            name: format!("{}/{root}.proto", self.package),
            package: self.package,
            imports: imports.iter().map(|(name, _)| (*name).to_owned()).collect(),
            messages: self.messages,
            syntax: PROTO3.to_owned(),
            ..File::default()
        };
        let mut files: Vec<File> = imports.iter().map(|(_, file)| file()).collect();
        files.push(own);
        FileSet { files }
    }
}
