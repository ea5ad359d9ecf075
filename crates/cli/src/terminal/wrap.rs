//! Breaks lines that are wider than the terminal.

use crate::terminal::{color, stdout_is_seen};

/// Returns `text` with its lines broken at spaces, so that they fit on the terminal. Text for files
/// and pipes stays as it is.
pub(crate) fn for_stdout(text: &str) -> String {
    let size = terminal_size::terminal_size().filter(|_| stdout_is_seen());
    match size {
        Some((columns, _)) => wrap(text, columns.0.into()),
        None => text.to_owned(),
    }
}

/// Breaks the lines of `text` that are wider than `columns`.
fn wrap(text: &str, columns: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        wrap_line(line, columns, &mut wrapped);
    }
    wrapped
}

/// A line with more cells is the row of a table, which is not broken: its cells would no longer be
/// below the headings.
const MAX_CELLS: usize = 4;

/// Appends `line` to `wrapped`. If it has cells, it continues below the last one.
fn wrap_line(line: &str, columns: usize, wrapped: &mut String) {
    let cells = line.split("  ").filter(|cell| !cell.trim().is_empty());
    if width(line.trim_end()) <= columns || cells.count() > MAX_CELLS {
        wrapped.push_str(line);
        return;
    }
    let indent = continuation_indent(line, columns);
    let (mut column, mut has_word, mut is_continued) = (0, false, false);
    for piece in line.split_inclusive(' ') {
        let word = width(piece.trim_end());
        if column + word > columns && has_word {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            (column, has_word, is_continued) = (indent, false, true);
        }
        // Spaces at which the line is broken are left out.
        if word > 0 || has_word || !is_continued {
            wrapped.push_str(piece);
            column += width(piece);
            has_word |= word > 0;
        }
    }
}

/// Returns the column of the last cell of `line`. Cells are separated by two or more spaces. A line
/// without cells is continued two columns further to the right.
fn continuation_indent(line: &str, columns: usize) -> usize {
    let leading = line.len() - line.trim_start_matches(' ').len();
    let cells = line.match_indices("  ").filter_map(|(index, _)| {
        let cell = line.get(index..)?.trim_start_matches(' ');
        line.get(..line.len() - cell.len()).map(width)
    });
    let in_front =
        cells.filter(|column| *column > leading && *column <= columns * 2 / 3);
    in_front.max().unwrap_or(leading + 2)
}

/// Returns the number of columns that `text` needs, without the sequences of its colours.
fn width(text: &str) -> usize {
    let (mut remaining, mut columns) = (text, 0);
    while let Some(c) = remaining.chars().next() {
        let sequence = color::sequence_len(remaining);
        columns += usize::from(sequence.is_none() && c != '\n');
        remaining = remaining.split_at(sequence.unwrap_or(c.len_utf8())).1;
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_continue_below_their_last_cell() {
        let text = "  error  a.code      one two three four\nshort\n";
        let below = format!("\n{}", " ".repeat(21));
        let words = ["one two", "three four"].join(&below);
        let expected = format!("  error  a.code      {words}\nshort\n");
        assert_eq!(wrap(text, 32), expected);
        assert_eq!(wrap("  a bb ccc dddd", 9), "  a bb\n    ccc\n    dddd");
        assert_eq!(wrap("12345678901 2", 5), "12345678901\n  2");
    }

    #[test]
    fn rows_of_tables_are_not_broken() {
        let row = "  /diagnostics  10      1.00      707 B  diagnostic_msgs/DiagnosticArray (2)";
        assert_eq!(wrap(row, 50), row);
    }

    #[test]
    fn colours_take_no_columns() {
        let line = "  \x1b[1;31merror\x1b[0m  some text here";
        assert_eq!(wrap(line, 23), line);
        let broken = "  \x1b[1;31merror\x1b[0m  some text\n         here";
        assert_eq!(wrap(line, 18), broken);
    }
}
