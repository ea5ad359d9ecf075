//! Expressions whose fields were found in a log, and their values.

use logtool_core::{Damage, Log, TimeRange, Topic, TopicId, TopicSet};
use logtool_series::{
    CheckedExpression, Expression, ExpressionError, FieldName, FieldType, FieldValues,
    Series,
};

use crate::{
    error::{Error, ErrorKind, Result},
    records::signals::{self, RequestedSignal, Samples, SignalFinder, ValuePart},
};

/// Characters that are in expressions and in no names of fields, or that names rarely have.
#[cfg(feature = "plot")]
const SIGNS: [char; 11] = ['(', ')', '+', '^', '<', '>', '=', ',', '"', '`', ' '];

/// An expression whose fields were found in a log.
#[derive(Clone)]
pub(crate) struct PreparedSeries {
    text: String,
    expression: CheckedExpression,
    /// The signals of each field, one for each component.
    fields: Vec<Vec<RequestedSignal>>,
}

/// The series of an expression.
pub(crate) struct ComputedSeries {
    pub(crate) series: Series,
    /// The number of values of the first field whose time is unknown.
    #[cfg_attr(
        not(feature = "plot"),
        allow(dead_code, reason = "only plots count it")
    )]
    pub(crate) untimed: u64,
}

/// The series of several expressions, and the damage of the records that could not be read.
pub(crate) struct ComputedSeriesSet {
    pub(crate) series: Vec<ComputedSeries>,
    pub(crate) damage: Vec<Damage>,
}

/// Returns whether `text`, which names no field of `log`, is meant as an expression and not as a
/// pattern or a mistyped name: `a.x*2` can be either.
#[cfg(feature = "plot")]
pub(crate) fn is_expression(log: &dyn Log, text: &str) -> bool {
    let has_signs = text.contains(SIGNS) && !is_name_with_blanks(text);
    has_signs
        || Expression::parse(text).is_ok_and(|expression| {
            let mut fields = expression.fields().iter();
            fields.any(|field| {
                field.name != text && signals::is_text_of_field(log, &field.name)
            })
        })
}

/// Returns whether `text` could be a mistyped name in which blanks are the only odd characters.
#[cfg(feature = "plot")]
fn is_name_with_blanks(text: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ' ');
    text.chars().all(is_of_name) && Expression::parse(text).is_err()
}

impl PreparedSeries {
    /// Parses `text`, finds its fields in `log`, and checks their types.
    ///
    /// # Errors
    /// `InvalidRequest` if the expression is wrong, `NotFound` if a field does not exist.
    pub(crate) fn new(log: &dyn Log, text: &str) -> Result<Self> {
        Self::with_finder(&SignalFinder::new(log), text)
    }

    /// Like [`new`](Self::new), in the log of `finder`.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub(crate) fn with_finder(finder: &SignalFinder<'_>, text: &str) -> Result<Self> {
        let expression = Expression::parse(text).map_err(|err| error(text, &err))?;
        let (mut types, mut fields) = (Vec::new(), Vec::new());
        for field in expression.fields() {
            let signals = find_field(finder, field)
                .map_err(|err| err.with_excerpt(text, field.span.clone()))?;
            types.push(field_type(&signals));
            fields.push(signals);
        }
        let expression = expression.check(&types).map_err(|err| error(text, &err))?;
        Ok(Self { text: text.trim().to_owned(), expression, fields })
    }

    /// Returns the text of the expression.
    #[cfg(feature = "plot")]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names and the units of the components.
    pub(crate) fn components(&self) -> impl Iterator<Item = (&str, &str)> {
        self.expression.components()
    }

    /// Returns the topics of the fields.
    pub(crate) fn topics(&self) -> TopicSet {
        self.fields.iter().flatten().map(|signal| signal.topic).collect()
    }

    /// Returns the first field, whose topic states the unit of times in tables.
    pub(crate) fn first_field(&self) -> Option<&RequestedSignal> {
        self.fields.iter().flatten().next()
    }
}

/// Returns the name of a component of `expression`: `name`, `name.x` or `name[0]`.
#[cfg(feature = "plot")]
pub(crate) fn component_name(expression: &str, component: &str) -> String {
    if component.is_empty() {
        expression.to_owned()
    } else if component.starts_with(|c: char| c.is_ascii_digit()) {
        format!("{expression}[{component}]")
    } else {
        format!("{expression}.{component}")
    }
}

/// Computes `all_series` from the records of `log` within `time`, which are read once.
///
/// # Errors
/// If reading fails, a field has too many values, or an argument does not suit the values.
pub(crate) fn read(
    log: &dyn Log,
    all_series: &[PreparedSeries],
    time: TimeRange,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<ComputedSeriesSet> {
    let signals = all_series.iter().flat_map(|prepared| &prepared.fields).flatten();
    let signals: Vec<RequestedSignal> = signals.cloned().collect();
    let (samples, damage) = signals::read_all(log, &signals, time, progress)?;
    let mut samples = samples.into_iter();
    let mut series = Vec::new();
    for prepared in all_series {
        let mut untimed = None;
        let mut values = Vec::new();
        for field in &prepared.fields {
            let components: Vec<Samples> = samples.by_ref().take(field.len()).collect();
            let field_untimed = components.iter().map(|samples| samples.untimed).max();
            untimed.get_or_insert(field_untimed.unwrap_or_default());
            values.push(field_values(components)?);
        }
        let computed = prepared.expression.evaluate(&values);
        let computed = computed.map_err(|err| error(&prepared.text, &err))?;
        let untimed = untimed.unwrap_or_default();
        series.push(ComputedSeries { series: computed, untimed });
    }
    Ok(ComputedSeriesSet { series, damage })
}

/// Returns the values of a field, whose components have the same times.
fn field_values(components: Vec<Samples>) -> Result<FieldValues> {
    let times = components
        .first()
        .map(|first| first.samples.iter().map(|(time, _)| *time).collect::<Vec<i64>>());
    let column = |component: Samples| -> Vec<f64> {
        component.samples.into_iter().map(|(_, value)| value).collect()
    };
    let columns = components.into_iter().map(column).collect();
    FieldValues::new(times.unwrap_or_default(), columns)
        .ok_or_else(|| Error::other("the components of a field have different times"))
}

/// Returns an error of the library for one about the expression `text`.
fn error(text: &str, error: &ExpressionError) -> Error {
    let err = Error::new(ErrorKind::InvalidRequest, error.to_string());
    let err = err.with_excerpt(text, error.span());
    match error.hint() {
        Some(hint) => err.with_hint(hint),
        None => err,
    }
}

/// Returns the signals of `field`: of a vector, one for each component.
fn find_field(
    finder: &SignalFinder<'_>,
    field: &FieldName,
) -> Result<Vec<RequestedSignal>> {
    let name = &field.name;
    let signals = finder.find(std::slice::from_ref(name))?;
    let mut topics: Vec<TopicId> = signals.iter().map(|signal| signal.topic).collect();
    topics.dedup();
    if let [first_label, second_label, ..] = &*topics {
        let label = |id: TopicId| finder.log().manifest().topic(id).map(Topic::label);
        let (first_label, second_label) = (label(*first_label)?, label(*second_label)?);
        let message =
            format!("`{name}` is in several topics, {first_label} and {second_label}");
        return Err(Error::invalid_request(message).with_hint("name one of them"));
    }
    let is_list = |signal: &RequestedSignal| {
        signal.inputs.iter().any(|i| i.part == ValuePart::Count)
    };
    if signals.iter().any(is_list) {
        let message = format!("`{name}` is a list of any length");
        return Err(Error::invalid_request(message)
            .with_hint(format!("name an element: `{name}[0]`")));
    }
    Ok(signals)
}

/// Returns the type of a field with these components.
fn field_type(components: &[RequestedSignal]) -> FieldType {
    let names: Vec<&str> =
        components.iter().map(|signal| signal.name.as_str()).collect();
    let common = common_prefix(&names);
    let component = |signal: &RequestedSignal| {
        let name = signal.name.get(common..).unwrap_or_default();
        let name = if components.len() == 1 { "" } else { name.trim_end_matches(']') };
        (name.to_owned(), signal.unit.clone())
    };
    let vector = FieldType::vector(components.iter().map(component));
    if components.iter().all(|signal| signal.is_held) { vector.held() } else { vector }
}

/// Returns the length of the start that all of `names` have, up to the last bracket or dot in it.
fn common_prefix(names: &[&str]) -> usize {
    let Some((first, others)) = names.split_first() else { return 0 };
    let is_common = |len: &usize| {
        let start = first.get(..*len);
        start.is_some() && others.iter().all(|other| other.get(..*len) == start)
    };
    let ends = first.match_indices(['[', '.']).map(|(offset, _)| offset + 1);
    ends.filter(is_common).max().unwrap_or(0)
}
