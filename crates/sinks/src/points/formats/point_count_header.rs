//! Headers with the number of points, which is unknown when they are first written.
//!
//! They are written twice, at the start and at the end, and must have the same length: a comment is
//! padded with blanks for the missing digits of the number.

use std::io::{Seek as _, SeekFrom, Write as _};

use logtool_core::Result;

use crate::points::file::PointOutput;

/// A header into which the number of points can be inserted.
#[derive(Clone, Debug)]
pub(crate) struct PointCountHeader {
    /// The first lines. The last of them is a comment, which may be followed by blanks.
    pub(crate) first_lines: String,
    /// The remaining text, divided where the number is inserted.
    pub(crate) parts: Vec<String>,
}

/// The maximum number of digits of a number.
const DIGITS: usize = 20;

impl PointCountHeader {
    /// Writes the header for `count` points to the start of `out`, and seeks back to the end.
    pub(crate) fn write(&self, out: &mut PointOutput, count: u64) -> Result<()> {
        out.seek(SeekFrom::Start(0))?;
        out.write_all(self.text(count).as_bytes())?;
        out.seek(SeekFrom::End(0))?;
        Ok(())
    }

    fn text(&self, count: u64) -> String {
        let count = count.to_string();
        let numbers = self.parts.len().saturating_sub(1);
        let blanks = numbers * DIGITS.saturating_sub(count.len());
        let (first_lines, rest) = (&self.first_lines, self.parts.join(&count));
        format!("{first_lines}{:blanks$}\n{rest}", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_length_does_not_depend_on_the_number_of_points() {
        let parts = ["n ", "\nagain ", "\nend\n"].map(str::to_owned).to_vec();
        let header = PointCountHeader { first_lines: "# a".to_owned(), parts };
        let longest = header.text(u64::MAX);
        assert_eq!(
            longest,
            "# a\nn 18446744073709551615\nagain 18446744073709551615\nend\n"
        );
        let shortest = header.text(7);
        assert_eq!(shortest.replace("  ", ""), "# a\nn 7\nagain 7\nend\n");
        assert_eq!(shortest.len(), longest.len());
    }
}
