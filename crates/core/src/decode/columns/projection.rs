//! Which columns are made.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, Result};

/// Says which columns are wanted, asked for each in turn.
#[derive(Debug)]
pub(crate) struct Chooser {
    only: Option<BTreeSet<usize>>,
    next: usize,
}

impl Chooser {
    /// Wants `only` those columns; they are counted before the choice, and the time is
    /// number 0.
    pub(crate) fn new(only: Option<&[usize]>) -> Self {
        Self { only: only.map(|only| only.iter().copied().collect()), next: 1 }
    }

    /// Whether the next column is wanted.
    pub(crate) fn wants(&mut self) -> bool {
        let index = self.next;
        self.next += 1;
        self.only.as_ref().is_none_or(|only| only.contains(&index))
    }

    /// It is an error if a column is wanted that has not been asked for.
    pub(crate) fn check(&self) -> Result<()> {
        let last = self.only.as_ref().and_then(BTreeSet::last);
        match last.filter(|index| **index >= self.next) {
            None => Ok(()),
            Some(index) => {
                let what = format!("there is no column number {index}");
                Err(Error::new(ErrorKind::NoSuch, what))
            }
        }
    }
}
