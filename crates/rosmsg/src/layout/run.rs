//! Executing the steps of a conversion.

use logtool_core::ByteReader;

use crate::{
    layout::program::{Program, Step},
    message_writer::MessageWriter,
};

/// Appends the message for `payload` to `out`.
pub(super) fn run(program: &Program, payload: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut input = ByteReader::new(payload);
    let all_steps = &program.steps[..];
    // The padding at the end of a payload may be missing.
    let required = match all_steps.split_last() {
        Some((Step::Skip(_), rest)) if program.is_open => rest,
        _ => all_steps,
    };
    run_steps(required, &mut input, out)?;
    (program.is_open || input.remaining().is_empty()).then_some(())
}

/// Executes steps. They are nested as deep as layouts: at most 64 levels.
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
            Step::Each(count, inner) => {
                (0..*count)
                    .try_for_each(|_| run_steps(inner, input, out).ok_or(()))
                    .ok()?;
            }
        }
    }
    Some(())
}
