//! Which number each connection gets.
//!
//! Its own, if no other has it. Connections of two extracts that are equal in every
//! byte become one; those of one extract never do.

use std::collections::{BTreeMap, HashMap, HashSet};

use logtool_core::{Output, Result};

use crate::write::{ConnectionHandle, Writer};

/// A connection that is wanted.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Its number, if it has one.
    pub(super) id: Option<u32>,
    pub(super) topic: Vec<u8>,
    pub(super) header: Vec<u8>,
}

/// Gives every connection of every extract its number, and puts it into `writer`.
pub(super) fn assign<W: Output>(
    writer: &mut Writer<W>,
    extracts: Vec<Vec<Option<Wanted>>>,
) -> Result<Vec<Vec<Option<ConnectionHandle>>>> {
    let ids = extracts.iter().flatten().flatten().filter_map(|wanted| wanted.id);
    let mut numbers = Numbers { reserved: ids.collect(), ..Numbers::default() };
    let mut all = Vec::new();
    for extract in extracts {
        let assigned = extract.into_iter().map(|wanted| {
            wanted.map(|wanted| numbers.assign(writer, wanted)).transpose()
        });
        let becomes = assigned.collect::<Result<Vec<_>>>()?;
        numbers.end_extract();
        all.push(becomes);
    }
    Ok(all)
}

#[derive(Default)]
struct Numbers {
    /// Numbers that connections have already.
    reserved: HashSet<u32>,
    /// The next that may be free.
    next: u32,
    /// The connections of each topic and header that others may become, by their numbers:
    /// those of the extracts before, of which none of this one has become.
    alike: HashMap<Key, BTreeMap<u32, ConnectionHandle>>,
    /// Those that connections of this extract have become.
    taken: Vec<(Key, ConnectionHandle)>,
}

/// A topic and a header.
type Key = (Vec<u8>, Vec<u8>);

impl Numbers {
    /// Gives a connection its number.
    fn assign<W: Output>(
        &mut self,
        writer: &mut Writer<W>,
        wanted: Wanted,
    ) -> Result<ConnectionHandle> {
        let Wanted { id, topic, header } = wanted;
        let key = (topic, header);
        if let Some(others) = self.alike.get_mut(&key) {
            let same = id.and_then(|id| others.remove(&id));
            let other = || others.pop_first().map(|(_, other)| other);
            if let Some(handle) = same.or_else(other) {
                self.taken.push((key, handle));
                return Ok(handle);
            }
        }
        let own = id.filter(|id| writer.connection(*id).is_none());
        let number = own.unwrap_or_else(|| self.free(writer));
        let handle = writer.connect_raw(number, &key.0, &key.1)?;
        self.taken.push((key, handle));
        Ok(handle)
    }

    /// Lets connections of the next extract become those of this one.
    fn end_extract(&mut self) {
        for (key, handle) in self.taken.drain(..) {
            self.alike.entry(key).or_default().insert(handle.id(), handle);
        }
    }

    /// The next number that no connection has.
    fn free<W: Output>(&mut self, writer: &Writer<W>) -> u32 {
        loop {
            let next = self.next;
            self.next = next.wrapping_add(1);
            if !self.reserved.contains(&next) && writer.connection(next).is_none() {
                return next;
            }
        }
    }
}
