//! Signals of the elements of lists, whose number is not in the schema.

use logtool_core::{Log, TimeRange};

use crate::{
    error::Result,
    records::signals::{
        ReceiveNumbers, RequestedSignal, SignalColumn, ValuePart, find::check_count,
        gather,
    },
};

/// Replaces each signal of a list in `signals` by signals of its elements, as many as the
/// longest list has within `time`. Returns the signals for each one of `signals`.
pub(crate) fn expand_lists(
    log: &dyn Log,
    signals: Vec<RequestedSignal>,
    time: TimeRange,
) -> Result<Vec<Vec<RequestedSignal>>> {
    let is_list = |signal: &RequestedSignal| {
        signal.inputs.iter().any(|i| i.part == ValuePart::Count)
    };
    let lists: Vec<RequestedSignal> =
        signals.iter().filter(|w| is_list(w)).cloned().collect();
    if lists.is_empty() {
        return Ok(signals.into_iter().map(|signal| vec![signal]).collect());
    }
    let (longest, _) = gather(log, &lists, time, &LongestList::default, &|_| {})?;
    let (mut longest, mut lines, mut expanded) =
        (longest.into_iter(), 0_usize, Vec::new());
    for signal in signals {
        if !is_list(&signal) {
            lines += 1;
            expanded.push(vec![signal]);
            continue;
        }
        let LongestList(count) = longest.next().unwrap_or_default();
        lines = lines.saturating_add(count);
        check_count(lines)?;
        let element = |index: usize| {
            let part = ValuePart::Element(index);
            let inputs =
                signal.inputs.iter().map(|input| SignalColumn { part, ..*input });
            let (name, inputs) =
                (format!("{}[{index}]", signal.name), inputs.collect());
            RequestedSignal { name, inputs, ..signal.clone() }
        };
        expanded.push((0..count).map(element).collect());
    }
    Ok(expanded)
}

/// The number of elements of the longest list.
#[derive(Default)]
struct LongestList(usize);

impl ReceiveNumbers for LongestList {
    fn add(&mut self, _: i64, count: f64) {
        self.0 = self.0.max(count as usize);
    }

    fn add_untimed(&mut self) {}
}
