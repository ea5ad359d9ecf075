//! Assigning connection ids.
//!
//! A connection has the same id in the new bag if no other connection has it. Connections of
//! different selections become one connection if they are equal in every byte. Connections of the
//! same selection remain separate.

use std::collections::{BTreeMap, HashMap, HashSet};

use logtool_core::{Output, Result};

use crate::write::{ConnectionHandle, Writer};

/// A selected connection.
#[derive(Debug)]
pub(super) struct SelectedConnection {
    /// The id in its log, if connections have ids there.
    pub(super) id: Option<u32>,
    pub(super) topic: Vec<u8>,
    pub(super) header: Vec<u8>,
}

/// Assigns an id to every connection of every selection, and adds it to `writer`.
pub(super) fn assign<W: Output>(
    writer: &mut Writer<W>,
    selections: Vec<Vec<Option<SelectedConnection>>>,
) -> Result<Vec<Vec<Option<ConnectionHandle>>>> {
    let ids =
        selections.iter().flatten().flatten().filter_map(|connection| connection.id);
    let mut allocator =
        IdAllocator { reserved: ids.collect(), ..IdAllocator::default() };
    let mut handles = Vec::new();
    for selection in selections {
        let assigned = selection.into_iter().map(|connection| {
            connection
                .map(|connection| allocator.assign(writer, connection))
                .transpose()
        });
        let new_handles = assigned.collect::<Result<Vec<_>>>()?;
        allocator.end_selection();
        handles.push(new_handles);
    }
    Ok(handles)
}

/// Assigns ids, one selection after the other.
#[derive(Default)]
struct IdAllocator {
    /// The ids that connections have in their logs. Other connections do not get them.
    reserved: HashSet<u32>,
    /// The next id that may be free.
    next: u32,
    /// The connections of earlier selections with which connections of the current selection can be
    /// merged, by topic and header, and then by id. Connections that are already merged are
    /// removed.
    mergeable: HashMap<ConnectionKey, BTreeMap<u32, ConnectionHandle>>,
    /// The connections of the current selection that have their new ids.
    assigned: Vec<(ConnectionKey, ConnectionHandle)>,
}

/// A topic and a header.
type ConnectionKey = (Vec<u8>, Vec<u8>);

impl IdAllocator {
    /// Assigns an id to a connection of the current selection.
    fn assign<W: Output>(
        &mut self,
        writer: &mut Writer<W>,
        connection: SelectedConnection,
    ) -> Result<ConnectionHandle> {
        let SelectedConnection { id, topic, header } = connection;
        let key = (topic, header);
        if let Some(candidates) = self.mergeable.get_mut(&key) {
            let with_same_id = id.and_then(|id| candidates.remove(&id));
            let with_first_id = || candidates.pop_first().map(|(_, handle)| handle);
            if let Some(handle) = with_same_id.or_else(with_first_id) {
                self.assigned.push((key, handle));
                return Ok(handle);
            }
        }
        let free_id = id.filter(|id| writer.connection(*id).is_none());
        let new_id = free_id.unwrap_or_else(|| self.next_free_id(writer));
        let handle = writer.connect_raw(new_id, &key.0, &key.1)?;
        self.assigned.push((key, handle));
        Ok(handle)
    }

    /// Ends the current selection. Connections of the next ones may be merged with its connections.
    fn end_selection(&mut self) {
        for (key, handle) in self.assigned.drain(..) {
            self.mergeable.entry(key).or_default().insert(handle.id(), handle);
        }
    }

    /// Returns the next id that no connection has, neither in the new bag nor in its log.
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
