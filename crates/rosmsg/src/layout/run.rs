//! Executing the steps of a conversion.

use logtool_core::{ByteReader, TrailingBytes};

use crate::{
    layout::program::{Program, Step},
    message_writer::MessageWriter,
};

/// Appends the message for `payload` to `out`. Returns `None` if the payload does not match
/// `program`; then a part of the message may be appended.
pub(super) fn run(program: &Program, payload: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut input = ByteReader::new(payload);
    // The padding at the end of a payload may be missing.
    let (required_steps, padding) = match program.steps.split_last() {
        Some((Step::Skip(len), steps_before))
            if program.trailing_bytes != TrailingBytes::Nothing =>
        {
            (steps_before, *len)
        }
        _ => (&program.steps[..], 0),
    };
    run_steps(required_steps, &mut input, out)?;
    let is_valid_end = program.trailing_bytes == TrailingBytes::Any
        || input.remaining().len() <= padding;
    is_valid_end.then_some(())
}

/// Executes `steps`. They are nested as deep as layouts: at most 64 levels.
fn run_steps(
    steps: &[Step],
    input: &mut ByteReader<'_>,
    out: &mut Vec<u8>,
) -> Option<()> {
    for step in steps {
        match step {
            Step::Copy(len) => out.extend_from_slice(input.bytes(*len)?),
            Step::Skip(len) => {
                input.bytes(*len)?;
            }
            Step::Booleans(len) => {
                out.extend(input.bytes(*len)?.iter().map(|byte| u8::from(*byte != 0)));
            }
            Step::Chars(len) => {
                let bytes = input.bytes(*len)?;
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(*len);
                MessageWriter::new(out)
                    .text(&logtool_core::decode_text(bytes.get(..end)?));
            }
            Step::Repeat(count, inner_steps) => {
                for _ in 0..*count {
                    run_steps(inner_steps, input, out)?;
                }
            }
        }
    }
    Some(())
}
