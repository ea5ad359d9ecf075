//! The schemas of a file that is being written.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher as _, RandomState},
};

use logtool_core::{Error, ErrorKind, Result};

use crate::wire::Schema;

/// Stores schemas, with lookup by id and by content.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    schemas: Vec<Schema>,
    /// The index of each schema by id.
    by_id: BTreeMap<u16, usize>,
    /// All ids below this one are in use, except for 0, which is not a schema.
    lowest_free_id: u16,
    /// The indices of schemas by the hash of their content.
    by_hash: HashMap<u64, Vec<usize>>,
    hasher: RandomState,
}

impl Schemas {
    /// Returns the id of the schema, which is added unless an equal one exists.
    ///
    /// # Errors
    /// `Limit` if there are already 65,535 schemas.
    pub(super) fn add(
        &mut self,
        name: &str,
        encoding: &str,
        data: &[u8],
    ) -> Result<u16> {
        let hash = self.hasher.hash_one((name, encoding, data));
        let candidates = self.by_hash.get(&hash).into_iter().flatten();
        let mut candidates = candidates.filter_map(|index| self.schemas.get(*index));
        let existing = candidates.find(|schema| {
            (schema.name.as_str(), schema.encoding.as_str(), &*schema.data)
                == (name, encoding, data)
        });
        if let Some(existing) = existing {
            return Ok(existing.id);
        }
        let id = self.free_id()?;
        let (name, encoding) = (name.to_owned(), encoding.to_owned());
        self.push(Schema { id, name, encoding, data: data.to_vec() }, hash);
        Ok(id)
    }

    /// Adds a schema with the id that it has already. Returns the id, or `None` if the id is
    /// in use for a different schema or is not valid.
    pub(super) fn add_with_id(&mut self, schema: Schema) -> Option<u16> {
        let id = schema.id;
        match self.get(id) {
            Some(existing) if *existing == schema => {}
            Some(_) => return None,
            None if id == 0 => return None,
            None => {
                let Schema { name, encoding, data, .. } = &schema;
                let hash = self.hasher.hash_one((
                    name.as_str(),
                    encoding.as_str(),
                    data.as_slice(),
                ));
                self.push(schema, hash);
            }
        }
        Some(id)
    }

    /// Returns the schema with the id `id`.
    pub(super) fn get(&self, id: u16) -> Option<&Schema> {
        self.schemas.get(*self.by_id.get(&id)?)
    }

    /// Returns all schemas in the order of their insertion.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Schema> {
        self.schemas.iter()
    }

    /// Returns the number of schemas.
    pub(super) fn len(&self) -> usize {
        self.schemas.len()
    }

    /// Returns a schema id that is not in use.
    fn free_id(&mut self) -> Result<u16> {
        let last_id = self.by_id.last_key_value().map_or(0, |(id, _)| *id);
        if let Some(next_id) = last_id.checked_add(1) {
            return Ok(next_id);
        }
        // Ids stay in use, so no id is examined twice.
        let mut ids = self.lowest_free_id.max(1)..=u16::MAX;
        let free_id = ids.find(|id| !self.by_id.contains_key(id)).ok_or_else(|| {
            let message = "an MCAP file cannot have more than 65,535 schemas";
            Error::new(ErrorKind::Limit, message)
        })?;
        self.lowest_free_id = free_id;
        Ok(free_id)
    }

    fn push(&mut self, schema: Schema, hash: u64) {
        self.by_id.insert(schema.id, self.schemas.len());
        self.by_hash.entry(hash).or_default().push(self.schemas.len());
        self.schemas.push(schema);
    }
}
