//! Checks the arguments of functions, and derives the units of results.

use std::ops::Range;

use crate::{
    error::{ExpressionError, Result, suggestion},
    fields::{FieldComponent, FieldType},
    functions::{Function, Kernel, Kind, Output, Parameter, UnitRule},
    plan::{Component, Plan},
    syntax::{Argument, Call, Element, Node, NodeKind},
    units::Unit,
};

/// A checked part of an expression: its plan and the type of its result.
pub(crate) struct TypedPlan {
    pub(crate) plan: Plan,
    /// The components: a single one without a name, or those of a vector.
    pub(crate) components: Vec<Component>,
    pub(crate) is_constant: bool,
    /// Whether a value lasts until the next one.
    pub(crate) is_held: bool,
    span: Range<usize>,
}

impl TypedPlan {
    fn number(value: f64, span: Range<usize>) -> Self {
        Self {
            plan: Plan::Number(value),
            components: vec![Component {
                name: String::new(),
                unit: Unit::with_name(""),
            }],
            is_constant: true,
            is_held: true,
            span,
        }
    }

    fn width(&self) -> usize {
        self.components.len()
    }

    fn unit(&self) -> Unit {
        self.components.first().map(|first| first.unit.clone()).unwrap_or_default()
    }

    fn select(self, columns: Vec<usize>) -> Self {
        let selected =
            columns.iter().filter_map(|index| self.components.get(*index).cloned());
        Self {
            components: selected.collect(),
            plan: Plan::Select { input: Box::new(self.plan), columns },
            ..self
        }
    }
}

/// Checks `node`. `types` are the types of the fields of the expression.
pub(crate) fn check(node: &Node, types: &[FieldType]) -> Result<TypedPlan> {
    match &node.kind {
        NodeKind::Number(value) => Ok(TypedPlan::number(*value, node.span.clone())),
        NodeKind::Field(index) => {
            let Some(field) =
                types.get(*index).filter(|field| !field.components.is_empty())
            else {
                let message = "the field has no numbers";
                return Err(ExpressionError::new(message, node.span.clone()));
            };
            let component = |field: &FieldComponent| Component {
                name: field.name.clone(),
                unit: Unit::from_name(&field.unit),
            };
            Ok(TypedPlan {
                plan: Plan::Field(*index),
                components: field.components.iter().map(component).collect(),
                is_constant: false,
                is_held: field.is_held,
                span: node.span.clone(),
            })
        }
        NodeKind::Element(vector, element) => {
            let vector = check(vector, types)?;
            let column = match element {
                Element::Index(index) => Some(*index).filter(|at| *at < vector.width()),
                Element::Name(name) => vector
                    .components
                    .iter()
                    .position(|component| component.name == *name),
            };
            let Some(column) = column else {
                return Err(no_element(&vector, element, node.span.clone()));
            };
            let mut element_values = vector.select(vec![column]);
            for component in &mut element_values.components {
                component.name.clear();
            }
            Ok(TypedPlan { span: node.span.clone(), ..element_values })
        }
        NodeKind::Call(call) => {
            let arguments = bind(call, &node.span)?;
            check_call(call, arguments, types, node.span.clone())
        }
    }
}

/// Returns the error for an element that `vector` does not have.
fn no_element(
    vector: &TypedPlan,
    element: &Element,
    span: Range<usize>,
) -> ExpressionError {
    let span = vector.span.end.min(span.end)..span.end;
    let names: Vec<&str> =
        vector.components.iter().map(|component| component.name.as_str()).collect();
    let message = match (element, vector.width()) {
        (_, 1) => "a single value has no elements".to_owned(),
        (Element::Index(_), width) => format!("the vector has only {width} elements"),
        (Element::Name(name), _) => format!("the vector has no element `{name}`"),
    };
    let error = ExpressionError::new(message, span);
    if names.len() < 2 {
        return error;
    }
    error.with_hint(format!("its elements are {}", names.join(", ")))
}

/// The argument of a parameter, if it has one.
type Bound<'c> = (&'static Parameter, Option<&'c Argument>);

/// Finds the argument of each parameter.
fn bind<'c>(call: &'c Call, span: &Range<usize>) -> Result<Vec<Bound<'c>>> {
    let function = call.function;
    let usage = || format!("its parameters are {}", function.signature());
    let error = |message: String, span: &Range<usize>| {
        Err(ExpressionError::new(message, span.clone()).with_hint(usage()))
    };
    let mut bound: Vec<Bound<'c>> =
        function.parameters.iter().map(|p| (p, None)).collect();
    let mut has_name = false;
    for (index, argument) in call.arguments.iter().enumerate() {
        let index = match &argument.name {
            None if has_name => {
                let message = "an argument without a name follows one with a name";
                return error(message.to_owned(), &argument.value.span);
            }
            None => {
                if index >= bound.len()
                    && let Some(last) = function.parameters.last()
                    && function.is_variadic
                {
                    bound.push((last, None));
                }
                index
            }
            Some((name, span)) => {
                has_name = true;
                let names =
                    || function.parameters.iter().map(|parameter| parameter.name);
                let Some(index) =
                    names().position(|parameter_name| parameter_name == name)
                else {
                    let message =
                        format!("`{}` has no parameter `{name}`", function.name);
                    let hint = suggestion(name, names()).unwrap_or_else(usage);
                    return Err(
                        ExpressionError::new(message, span.clone()).with_hint(hint)
                    );
                };
                index
            }
        };
        match bound.get_mut(index) {
            Some((_, slot @ None)) => *slot = Some(argument),
            Some((parameter, _)) => {
                let message = format!("`{}` is given twice", parameter.name);
                return error(message, &argument.value.span);
            }
            None => {
                let message = format!(
                    "`{}` has at most {} arguments",
                    function.name,
                    function.parameters.len()
                );
                return error(message, &argument.value.span);
            }
        }
    }
    let is_missing = |(parameter, argument): &&Bound<'c>| {
        argument.is_none() && parameter.default.is_none()
    };
    if let Some((parameter, _)) = bound.iter().find(is_missing) {
        let message =
            format!("`{}` needs an argument `{}`", function.name, parameter.name);
        // The error points to the closing bracket.
        return error(message, &(span.end.saturating_sub(1)..span.end));
    }
    Ok(bound)
}

fn check_call(
    call: &Call,
    bound: Vec<Bound<'_>>,
    types: &[FieldType],
    span: Range<usize>,
) -> Result<TypedPlan> {
    let function = call.function;
    let (mut inputs, mut numbers) = (Vec::new(), Vec::new());
    for (parameter, argument) in bound {
        let typed = match argument {
            Some(argument) => check(&argument.value, types)?,
            None => {
                TypedPlan::number(parameter.default.unwrap_or(f64::NAN), span.clone())
            }
        };
        match accept(function, parameter, typed)? {
            CheckedArgument::Number(number) => numbers.push(number),
            CheckedArgument::Input(input) => inputs.push(input),
        }
    }
    if function.name == "wrap" || function.name == "unwrap" {
        set_period(&inputs, &mut numbers);
    }
    let width = common_width(function, &inputs)?;
    let components = components(function.output, &inputs, width);
    let is_held = match (function.output, &function.kernel) {
        (Output::Each(UnitRule::State), _)
        | (Output::Components([(_, UnitRule::State)]), _) => true,
        // The sum of states is a state.
        (Output::Each(_), Kernel::Map(_)) => inputs.iter().all(|input| input.is_held),
        _ => false,
    };
    let is_constant = inputs.iter().all(|input| input.is_constant);
    let plans: Vec<Plan> = inputs.into_iter().map(|input| input.plan).collect();
    let plan =
        build_plan(function, plans, numbers, components.len(), call.name_span.clone());
    match plan {
        Plan::Number(number) => Ok(TypedPlan::number(number, span)),
        plan => Ok(TypedPlan { plan, components, is_constant, is_held, span }),
    }
}

/// Returns the plan for calling `function` with `inputs` and the constant arguments `numbers`.
fn build_plan(
    function: &Function,
    mut inputs: Vec<Plan>,
    numbers: Vec<f64>,
    width: usize,
    span: Range<usize>,
) -> Plan {
    match function.kernel {
        Kernel::Map(compute) => {
            inputs.extend(numbers.into_iter().map(Plan::Number));
            let constants: Option<Vec<f64>> = inputs
                .iter()
                .map(|input| match input {
                    Plan::Number(number) => Some(*number),
                    _ => None,
                })
                .collect();
            // Constant arguments may be expressions: `low_pass(x, 1 / 8)`.
            match constants {
                Some(constants) => Plan::Number(compute(&constants)),
                None => Plan::Map { compute, inputs, width },
            }
        }
        Kernel::Column(compute) => {
            let input = inputs.into_iter().next().unwrap_or(Plan::Number(f64::NAN));
            Plan::Column { compute, input: Box::new(input), numbers, span }
        }
        Kernel::Row(compute) => Plan::Row { compute, inputs, width },
        Kernel::Table(compute) => Plan::Table { compute, inputs, numbers, span },
        Kernel::Times(compute) => Plan::Times { compute, inputs, numbers, span },
    }
}

/// An argument that suits its parameter.
enum CheckedArgument {
    Number(f64),
    Input(TypedPlan),
}

/// Checks that `argument` suits `parameter`.
fn accept(
    function: &Function,
    parameter: &Parameter,
    argument: TypedPlan,
) -> Result<CheckedArgument> {
    let error = |message: &str| {
        let message = format!("`{}` of `{}` {message}", parameter.name, function.name);
        Err(ExpressionError::new(message, argument.span.clone()))
    };
    let width = argument.width();
    match parameter.kind {
        Kind::Number => match argument.plan {
            Plan::Number(number) => Ok(CheckedArgument::Number(number)),
            _ => error("must be a constant number"),
        },
        Kind::Series if argument.is_constant => {
            error("must be a series, not a constant")
        }
        Kind::Each | Kind::Series | Kind::Vector => {
            Ok(CheckedArgument::Input(argument))
        }
        Kind::Scalar | Kind::Degrees if width != 1 => {
            let message = format!("must be a single value, and has {width} elements");
            error(&message)
                .map_err(|error| error.with_hint("select one, e.g. `.x` or `[0]`"))
        }
        Kind::Scalar => Ok(CheckedArgument::Input(argument)),
        Kind::Degrees => Ok(CheckedArgument::Input(in_degrees(argument))),
        Kind::Vector3 if width != 3 => {
            error(&format!("must have 3 elements x, y and z, and has {width}"))
        }
        Kind::Vector3 => Ok(CheckedArgument::Input(argument)),
        Kind::Quaternion if width != 4 => {
            error(&format!("must be a quaternion with 4 elements, and has {width}"))
        }
        // ROS has the order x, y, z, w; without names the order is that of PX4, w, x, y, z.
        Kind::Quaternion => {
            let component_index = |name: &str| {
                let mut components = argument.components.iter();
                components.position(|component| {
                    component.name.rsplit('.').next() == Some(name)
                })
            };
            let indices: Option<Vec<usize>> =
                ["w", "x", "y", "z"].map(component_index).into_iter().collect();
            let order = indices.unwrap_or_else(|| vec![0, 1, 2, 3]);
            Ok(CheckedArgument::Input(argument.select(order)))
        }
    }
}

/// Converts an angle to degrees if its unit is known and different.
fn in_degrees(angle: TypedPlan) -> TypedPlan {
    let factor = match angle.unit().name() {
        "rad" => 180.0 / std::f64::consts::PI,
        "10⁻⁷ °" => 1e-7,
        _ => return angle,
    };
    let inputs = vec![angle.plan, Plan::Number(factor)];
    let compute: fn(&[f64]) -> f64 = |inputs| inputs.iter().product();
    TypedPlan {
        plan: Plan::Map { compute, inputs, width: 1 },
        components: vec![Component {
            name: String::new(), unit: Unit::with_name("°")
        }],
        ..angle
    }
}

/// Sets the period of an angle in degrees to 360, unless an argument sets it.
fn set_period(inputs: &[TypedPlan], numbers: &mut [f64]) {
    let is_degrees = inputs.first().is_some_and(|input| input.unit().name() == "°");
    for period in numbers.iter_mut().filter(|period| period.is_nan() && is_degrees) {
        *period = 360.0;
    }
}

/// Returns the number of components of the result. If the function is applied to each component,
/// all inputs must have this number of components, or a single one.
fn common_width(function: &Function, inputs: &[TypedPlan]) -> Result<usize> {
    let widest = inputs.iter().map(TypedPlan::width).max().unwrap_or(1);
    if !matches!(function.output, Output::Each(_)) {
        return Ok(widest);
    }
    match inputs.iter().find(|input| input.width() != widest && input.width() != 1) {
        Some(other) => {
            let message = format!(
                "a vector of {} elements is combined with one of {widest}",
                other.width()
            );
            let error = ExpressionError::new(message, other.span.clone());
            Err(error.with_hint("both must have the same number of elements"))
        }
        None => Ok(widest),
    }
}

/// Returns the names and units of the components of a result.
fn components(output: Output, inputs: &[TypedPlan], width: usize) -> Vec<Component> {
    let unnamed =
        |index: usize| Component { name: index.to_string(), unit: Unit::UNKNOWN };
    match output {
        Output::Each(rule) => {
            let template = inputs.iter().find(|input| input.width() == width);
            let component = |index: usize| {
                let units: Vec<Unit> = inputs
                    .iter()
                    .filter_map(|input| {
                        let component = input.components.get(index);
                        component
                            .or(input.components.first())
                            .map(|component| component.unit.clone())
                    })
                    .collect();
                let name = template.and_then(|template| template.components.get(index));
                let name = name.map(|name| name.name.clone()).unwrap_or_default();
                Component { name, unit: apply_unit_rule(rule, &units) }
            };
            (0..width).map(component).collect()
        }
        Output::First => {
            inputs.first().map(|first| first.components.clone()).unwrap_or_default()
        }
        Output::Components(rules) => {
            let units: Vec<Unit> = inputs.iter().map(TypedPlan::unit).collect();
            let component = |(name, rule): &(&str, UnitRule)| Component {
                name: (*name).to_owned(),
                unit: apply_unit_rule(*rule, &units),
            };
            rules.iter().map(component).collect()
        }
        Output::Arguments => {
            let names: &[&str] = match inputs.len() {
                3 => &["x", "y", "z"],
                2 => &["x", "y"],
                4 => &["w", "x", "y", "z"],
                _ => &[],
            };
            let component = |(index, input): (usize, &TypedPlan)| Component {
                unit: input.unit(),
                ..names.get(index).map_or_else(
                    || unnamed(index),
                    |name| Component { name: (*name).to_owned(), unit: Unit::UNKNOWN },
                )
            };
            inputs.iter().enumerate().map(component).collect()
        }
    }
}

/// Returns the unit of a result from the units of the arguments.
fn apply_unit_rule(rule: UnitRule, units: &[Unit]) -> Unit {
    let unit = |index: usize| units.get(index).cloned().unwrap_or_default();
    let common = |units: &[Unit]| {
        let common_unit =
            units.iter().cloned().reduce(|first, second| first.common(&second));
        common_unit.unwrap_or_default()
    };
    match rule {
        UnitRule::Unknown => Unit::UNKNOWN,
        UnitRule::Same => unit(0),
        UnitRule::Common => common(units),
        UnitRule::CommonRest => common(units.get(1..).unwrap_or_default()),
        UnitRule::Product => unit(0).product(&unit(1)),
        UnitRule::Quotient => unit(0).quotient(&unit(1)),
        UnitRule::Derivative => unit(0).derivative(),
        UnitRule::Integral => unit(0).integral(),
        UnitRule::Degrees => unit(0).degrees(),
        UnitRule::Radians => unit(0).radians(),
        UnitRule::SquareRoot => unit(0).square_root(),
        UnitRule::Known(name) => Unit::with_name(name),
        UnitRule::State => Unit::with_name(""),
    }
}
