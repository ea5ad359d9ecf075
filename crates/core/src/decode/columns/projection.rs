//! The selection of columns.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, Result};

/// Decides for each column in turn whether it is selected.
#[derive(Debug)]
pub(crate) struct ColumnProjection {
    indices: Option<BTreeSet<usize>>,
    /// The index of the next column.
    next: usize,
}

impl ColumnProjection {
    /// Selects the columns with these `indices`, where 0 is the time column, or all columns.
    pub(crate) fn new(indices: Option<&[usize]>) -> Self {
        Self {
            indices: indices.map(|indices| indices.iter().copied().collect()),
            next: 1,
        }
    }

    /// Returns whether the next column is selected.
    pub(crate) fn is_next_selected(&mut self) -> bool {
        let index = self.next;
        self.next += 1;
        self.indices.as_ref().is_none_or(|indices| indices.contains(&index))
    }

    /// Checks that all selected columns exist.
    ///
    /// # Errors
    /// `NoSuch` if one does not.
    pub(crate) fn check(&self) -> Result<()> {
        let last = self.indices.as_ref().and_then(BTreeSet::last);
        match last.filter(|index| **index >= self.next) {
            None => Ok(()),
            Some(index) => {
                let message = format!("there is no column number {index}");
                Err(Error::new(ErrorKind::NoSuch, message))
            }
        }
    }
}
