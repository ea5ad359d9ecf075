//! Headers that say how many points follow, which nobody knows when they begin.
//!
//! They are written twice, at the beginning and at the end, and always take the same
//! room: a comment has so many blanks as the number has digits less than it could.

use std::io::{Seek as _, SeekFrom, Write as _};

use logtool_core::Result;

use crate::points::file::Out;

/// A header, in which the number of points can be put.
#[derive(Clone, Debug)]
pub(super) struct Header {
    /// The first lines, the last of which is a comment that blanks may follow.
    pub(super) head: String,
    /// The rest, in pieces between which the number belongs.
    pub(super) pieces: Vec<String>,
}

/// The most digits of a number.
const DIGITS: usize = 20;

impl Header {
    /// Writes the header of `count` points to the beginning of `out`, and goes on behind
    /// all that is there.
    pub(super) fn write(&self, out: &mut Out, count: u64) -> Result<()> {
        out.seek(SeekFrom::Start(0))?;
        out.write_all(self.text(count).as_bytes())?;
        out.seek(SeekFrom::End(0))?;
        Ok(())
    }

    fn text(&self, count: u64) -> String {
        let count = count.to_string();
        let numbers = self.pieces.len().saturating_sub(1);
        let blanks = numbers * DIGITS.saturating_sub(count.len());
        let (head, rest) = (&self.head, self.pieces.join(&count));
        format!("{head}{:blanks$}\n{rest}", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_equally_long_for_any_number_of_points() {
        let pieces = ["n ", "\nagain ", "\nend\n"].map(str::to_owned).to_vec();
        let header = Header { head: "# a".to_owned(), pieces };
        let most = header.text(u64::MAX);
        assert_eq!(
            most,
            "# a\nn 18446744073709551615\nagain 18446744073709551615\nend\n"
        );
        let few = header.text(7);
        assert_eq!(few.replace("  ", ""), "# a\nn 7\nagain 7\nend\n");
        assert_eq!(few.len(), most.len());
    }
}
