//! Which number each connection gets.
//!
//! Its own, if no other has it. Connections of two extracts that are equal in every
//! byte become one; those of one extract never do.

use std::collections::{HashMap, HashSet};

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
        let (mut becomes, mut taken) = (Vec::new(), HashSet::new());
        for wanted in extract {
            let handle = wanted.map(|wanted| numbers.assign(writer, wanted, &taken));
            let handle = handle.transpose()?;
            taken.extend(handle.map(ConnectionHandle::id));
            becomes.push(handle);
        }
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
    /// The connections of each topic and header.
    alike: HashMap<(Vec<u8>, Vec<u8>), Vec<ConnectionHandle>>,
}

impl Numbers {
    /// Gives a connection its number; those in `taken` are of the same extract.
    fn assign<W: Output>(
        &mut self,
        writer: &mut Writer<W>,
        wanted: Wanted,
        taken: &HashSet<u32>,
    ) -> Result<ConnectionHandle> {
        let Wanted { id, topic, header } = wanted;
        let key = (topic, header);
        let alike = self.alike.get(&key).into_iter().flatten();
        let mut others = alike.filter(|other| !taken.contains(&other.id()));
        let same = others.clone().find(|other| Some(other.id()) == id);
        if let Some(same) = same.or_else(|| others.next()) {
            return Ok(*same);
        }
        let own = id.filter(|id| writer.connection(*id).is_none());
        let number = own.unwrap_or_else(|| self.free(writer));
        let handle = writer.connect_raw(number, &key.0, &key.1)?;
        self.alike.entry(key).or_default().push(handle);
        Ok(handle)
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
