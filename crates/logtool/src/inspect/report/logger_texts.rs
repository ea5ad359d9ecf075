//! Texts that PX4's logger writes into ULogs: the console, performance counters, the load of
//! tasks, and dumps of hard faults.

use logtool_plot::Block;
use logtool_ulog::UlogLog;

use crate::text::units::Bytes;

/// The maximum number of bytes of a text that are shown.
const MAX_BYTES: usize = 256 << 10;

/// The maximum number of values of a multi information that are shown.
const MAX_VALUES: usize = 50;

/// A section, and the texts in it: the name of the multi information, and the title.
type TextSection = (&'static str, &'static [(&'static str, &'static str)]);

/// The sections, in the order of the page.
const SECTIONS: [TextSection; 4] = [
    ("Console", &[("boot_console_output", "Console output at boot")]),
    (
        "Performance counters",
        &[
            ("perf_counter_preflight", "Before the flight"),
            ("perf_counter_postflight", "After the flight"),
            ("perf_counter_watchdog", "When the watchdog found a busy processor"),
        ],
    ),
    (
        "Processes",
        &[
            ("perf_top_preflight", "Before the flight"),
            ("perf_top_postflight", "After the flight"),
            ("perf_top_watchdog", "When the watchdog found a busy processor"),
        ],
    ),
    ("Hard faults", &[("hardfault_plain", "Dump")]),
];

/// The title of the section with dumps of hard faults.
#[cfg(feature = "flight")]
pub(super) const HARD_FAULTS: &str = "Hard faults";

/// Returns the sections that the log has: their titles and their blocks.
pub(super) fn sections(ulog: &UlogLog) -> Vec<(&'static str, Vec<Block>)> {
    let section = |(title, texts): &TextSection| {
        let blocks = texts.iter().flat_map(|(name, title)| {
            let values = ulog.metadata().texts(name);
            let count = values.len();
            let shown = values.into_iter().take(MAX_VALUES).enumerate();
            let mut blocks: Vec<Block> = shown
                .map(|(index, value)| {
                    let title = match count {
                        1 => (*title).to_owned(),
                        _ => format!("{title} {}", index + 1),
                    };
                    Block::Details(title, text(value))
                })
                .collect();
            if count > MAX_VALUES {
                let more = count - MAX_VALUES;
                let note = format!("and {more} more, which `logtool info --json` has");
                blocks.push(Block::Note(note));
            }
            blocks
        });
        (*title, blocks.collect())
    };
    SECTIONS.iter().map(section).collect()
}

/// Returns the blocks of `text`: with a note if it is too long.
fn text(mut text: String) -> Vec<Block> {
    let more = text.len().saturating_sub(MAX_BYTES);
    if more == 0 {
        return vec![Block::Columns(text)];
    }
    let end = (0..=MAX_BYTES).rev().find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or_default());
    let note =
        format!("and {} more, which `logtool info --json` has", Bytes(more as u64));
    vec![Block::Columns(text), Block::Note(note)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_and_the_rest_is_counted() {
        let long = "é".repeat(MAX_BYTES);
        let blocks = text(long);
        let [Block::Columns(text), Block::Note(note)] = &*blocks else {
            panic!("{} blocks", blocks.len());
        };
        assert_eq!(text.len(), MAX_BYTES);
        assert!(note.contains("262 kB more"), "{note}");
    }
}
