//! Signals of the elements of lists, whose number is not in the schema.

use logtool_core::{Log, TimeRange};

use crate::{
    error::Result,
    signals::{
        ReceiveNumbers, RequestedSignal, SignalColumn, ValuePart, find::check_count,
        gather,
    },
};

/// Replaces each signal of a list in `wanted` by signals of its elements, as many as the
/// longest list has within `time`.
pub(crate) fn expand_lists(
    log: &dyn Log,
    wanted: Vec<RequestedSignal>,
    time: TimeRange,
) -> Result<Vec<RequestedSignal>> {
    let is_list = |wanted: &RequestedSignal| {
        wanted.inputs.iter().any(|i| i.part == ValuePart::Count)
    };
    let lists: Vec<RequestedSignal> =
        wanted.iter().filter(|w| is_list(w)).cloned().collect();
    if lists.is_empty() {
        return Ok(wanted);
    }
    let (longest, _) = gather(log, &lists, time, &LongestList::default, &|_| {})?;
    let (mut longest, mut all) = (longest.into_iter(), Vec::new());
    for wanted in wanted {
        if !is_list(&wanted) {
            all.push(wanted);
            continue;
        }
        let LongestList(count) = longest.next().unwrap_or_default();
        check_count(all.len().saturating_add(count))?;
        for at in 0..count {
            let part = ValuePart::Element(at);
            let inputs =
                wanted.inputs.iter().map(|input| SignalColumn { part, ..*input });
            let (name, inputs) = (format!("{}[{at}]", wanted.name), inputs.collect());
            all.push(RequestedSignal { name, inputs, ..wanted.clone() });
        }
    }
    Ok(all)
}

/// The number of elements of the longest list.
#[derive(Default)]
struct LongestList(usize);

impl ReceiveNumbers for LongestList {
    fn add(&mut self, _: i64, count: f64) {
        self.0 = self.0.max(count as usize);
    }

    fn leave_out(&mut self) {}
}
