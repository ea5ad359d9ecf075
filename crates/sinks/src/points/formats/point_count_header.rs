//! Headers that contain the number of points.
//!
//! The number is not known when the first points are written. So the header is written twice,
//! before the first and after the last point, and must have the same length both times: a comment
//! is padded with blanks instead of the missing digits of the number.

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
const MAX_DIGITS: usize = 20;

impl PointCountHeader {
    /// Writes the header for `count` points to the start of `output`, and seeks back to the end.
    pub(crate) fn write(&self, output: &mut PointOutput, count: u64) -> Result<()> {
        output.seek(SeekFrom::Start(0))?;
        output.write_all(self.text(count).as_bytes())?;
        output.seek(SeekFrom::End(0))?;
        Ok(())
    }

    fn text(&self, count: u64) -> String {
        let count = count.to_string();
        let occurrences = self.parts.len().saturating_sub(1);
        let padding = occurrences * MAX_DIGITS.saturating_sub(count.len());
        let (first_lines, other_lines) = (&self.first_lines, self.parts.join(&count));
        format!("{first_lines}{:padding$}\n{other_lines}", "")
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
