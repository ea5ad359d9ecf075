//! The syntax tree of an expression.

use std::ops::Range;

use crate::functions::Function;

/// The maximum depth of a syntax tree, which limits the recursion of checking and evaluation.
const MAX_DEPTH: usize = 200;

/// A part of an expression, and its position in the text.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) span: Range<usize>,
    depth: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    Number(f64),
    /// The field with this index in the list of fields.
    Field(usize),
    Call(Call),
    /// One component of a vector.
    Element(Box<Node>, Element),
}

/// A call of a function. Operators are functions too.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: &'static Function,
    pub(crate) arguments: Vec<Argument>,
    /// The position of the name of the function.
    pub(crate) name_span: Range<usize>,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// The name of the parameter and its position, if the argument has a name.
    pub(crate) name: Option<(String, Range<usize>)>,
    pub(crate) value: Node,
}

/// The component of a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Index(usize),
    Name(String),
}

impl Node {
    /// Creates a node; `None` if it is nested too deeply.
    pub(crate) fn new(kind: NodeKind, span: Range<usize>) -> Option<Self> {
        let operand_depth = match &kind {
            NodeKind::Number(_) | NodeKind::Field(_) => None,
            NodeKind::Call(call) => {
                call.arguments.iter().map(|argument| argument.value.depth).max()
            }
            NodeKind::Element(vector, _) => Some(vector.depth),
        };
        let depth = operand_depth.unwrap_or_default() + 1;
        (depth <= MAX_DEPTH).then_some(Self { kind, span, depth })
    }
}
