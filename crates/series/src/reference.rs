//! The reference of the functions, as text and as Markdown.

use std::fmt::Write as _;

use crate::functions::{Function, Group, public};

/// The width of lines of text.
const WIDTH: usize = 79;

/// The groups and their titles.
const GROUPS: [(Group, &str); 6] = [
    (Group::Values, "Functions of single values"),
    (Group::Time, "Functions over time"),
    (Group::Filters, "Filters and moving statistics"),
    (Group::Vectors, "Vectors and rotations"),
    (Group::Positions, "Positions on the Earth"),
    (Group::Models, "Detectors, estimators and simulations"),
];

fn group(group: Group) -> impl Iterator<Item = &'static Function> {
    public().filter(move |function| function.group == group)
}

/// Returns the functions as tables in Markdown, one for each group.
pub fn markdown_reference() -> String {
    let mut text = String::new();
    for (current_group, title) in GROUPS {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "### {title}\n\n| function | result | source |\n|---|---|---|\n"
        );
        for function in group(current_group) {
            let (signature, summary) = (function.signature(), function.summary);
            let source = function.source;
            let summary = summary.replace('|', "\\|");
            let _ = writeln!(text, "| `{signature}` | {summary} | {source} |");
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// Returns the functions as text for terminals.
pub fn text_reference() -> String {
    let mut text = String::new();
    for (group_kind, title) in GROUPS {
        let _ = writeln!(text, "{title}:");
        for function in group(group_kind) {
            add_paragraph(&mut text, &function.signature(), 2);
            let mut summary = function.summary.replace('`', "");
            if !function.source.is_empty() {
                let _ = write!(summary, " ({})", function.source);
            }
            add_paragraph(&mut text, &summary, 6);
        }
        text.push('\n');
    }
    text
}

/// Appends `words` in lines with this indentation.
fn add_paragraph(text: &mut String, words: &str, indent: usize) {
    let mut column = 0;
    for word in words.split(' ') {
        let len = word.chars().count();
        if column > 0 && column + 1 + len > WIDTH {
            text.push('\n');
            column = 0;
        }
        let space = if column == 0 { indent } else { 1 };
        text.extend(std::iter::repeat_n(' ', space));
        text.push_str(word);
        column += space + len;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_in_both_references() {
        let (markdown, text) = (markdown_reference(), text_reference());
        for function in public() {
            assert!(markdown.contains(&format!("| `{}(", function.name)));
            assert!(
                text.contains(&format!("  {}(", function.name)),
                "{}",
                function.name
            );
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
