//! Assigning connection ids.
//!
//! A connection keeps its id if no other has it. Connections of two selections that are equal in
//! every byte become one; connections of the same selection never do.

use std::collections::{BTreeMap, HashMap, HashSet};

use logtool_core::{Output, Result};

use crate::write::{ConnectionHandle, Writer};

/// A selected connection.
#[derive(Debug)]
pub(super) struct SelectedConnection {
    /// Its id, if it has one.
    pub(super) id: Option<u32>,
    pub(super) topic: Vec<u8>,
    pub(super) header: Vec<u8>,
}

/// Assigns an id to every connection of every selection, and adds it to `writer`.
pub(super) fn assign<W: Output>(
    writer: &mut Writer<W>,
    extracts: Vec<Vec<Option<SelectedConnection>>>,
) -> Result<Vec<Vec<Option<ConnectionHandle>>>> {
    let ids =
        extracts.iter().flatten().flatten().filter_map(|connection| connection.id);
    let mut numbers = IdAllocator { reserved: ids.collect(), ..IdAllocator::default() };
    let mut handles = Vec::new();
    for extract in extracts {
        let assigned = extract.into_iter().map(|connection| {
            connection.map(|connection| numbers.assign(writer, connection)).transpose()
        });
        let new_handles = assigned.collect::<Result<Vec<_>>>()?;
        numbers.end_selection();
        handles.push(new_handles);
    }
    Ok(handles)
}

#[derive(Default)]
struct IdAllocator {
    /// The ids that connections have in their logs.
    reserved: HashSet<u32>,
    /// The next id that may be free.
    next: u32,
    /// The connections of earlier selections with which connections of this selection can
    /// be merged, by topic and header. Connections that are already merged are removed.
    mergeable: HashMap<ConnectionKey, BTreeMap<u32, ConnectionHandle>>,
    /// The new connections of this selection.
    selected: Vec<(ConnectionKey, ConnectionHandle)>,
}

/// A topic and a header.
type ConnectionKey = (Vec<u8>, Vec<u8>);

impl IdAllocator {
    /// Assigns an id to a connection.
    fn assign<W: Output>(
        &mut self,
        writer: &mut Writer<W>,
        connection: SelectedConnection,
    ) -> Result<ConnectionHandle> {
        let SelectedConnection { id, topic, header } = connection;
        let key = (topic, header);
        if let Some(candidates) = self.mergeable.get_mut(&key) {
            let with_same_id = id.and_then(|id| candidates.remove(&id));
            let any_candidate =
                || candidates.pop_first().map(|(_, any_candidate)| any_candidate);
            if let Some(handle) = with_same_id.or_else(any_candidate) {
                self.selected.push((key, handle));
                return Ok(handle);
            }
        }
        let free_id = id.filter(|id| writer.connection(*id).is_none());
        let number = free_id.unwrap_or_else(|| self.next_free_id(writer));
        let handle = writer.connect_raw(number, &key.0, &key.1)?;
        self.selected.push((key, handle));
        Ok(handle)
    }

    /// Lets connections of the next selection merge with those of this one.
    fn end_selection(&mut self) {
        for (key, handle) in self.selected.drain(..) {
            self.mergeable.entry(key).or_default().insert(handle.id(), handle);
        }
    }

    /// Returns the next id that no connection has.
    fn next_free_id<W: Output>(&mut self, writer: &Writer<W>) -> u32 {
        loop {
            let next = self.next;
            self.next = next.wrapping_add(1);
            if !self.reserved.contains(&next) && writer.connection(next).is_none() {
                return next;
            }
        }
    }
}
