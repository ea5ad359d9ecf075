//! Which columns are made.

use crate::error::{Error, ErrorKind, Result};

/// Says which columns are wanted, asked for each in turn.
#[derive(Debug)]
pub(crate) struct Chooser<'c> {
    only: Option<&'c [usize]>,
    next: usize,
}

impl<'c> Chooser<'c> {
    /// Wants `only` those columns; they are counted before the choice, and the time is
    /// number 0.
    pub(crate) fn new(only: Option<&'c [usize]>) -> Self {
        Self { only, next: 1 }
    }

    /// Whether the next column is wanted.
    pub(crate) fn wants(&mut self) -> bool {
        let index = self.next;
        self.next += 1;
        self.only.is_none_or(|only| only.contains(&index))
    }

    /// It is an error if a column is wanted that has not been asked for.
    pub(crate) fn check(&self) -> Result<()> {
        let beyond = self.only.unwrap_or_default().iter().find(|i| **i >= self.next);
        match beyond {
            None => Ok(()),
            Some(index) => {
                let what = format!("there is no column number {index}");
                Err(Error::new(ErrorKind::NoSuch, what))
            }
        }
    }
}
