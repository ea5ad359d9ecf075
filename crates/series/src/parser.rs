//! Parses tokens to a syntax tree.
//!
//! The parser is written by hand, without a parser library: for a grammar with few rules,
//! precedence climbing is shorter, and it can report precise errors.

use std::ops::Range;

use crate::{
    error::{ExpressionError, Result, suggestion},
    fields::FieldName,
    functions::{self, Function},
    lexer::{Token, TokenKind, is_word_operator, tokens},
    syntax::{Argument, Call, Element, Node, NodeKind},
};

/// The maximum number of brackets, signs and powers that are open at a time.
const MAX_NESTING: usize = 64;

/// Constants, by their names.
const CONSTANTS: [(&str, f64); 4] = [
    ("pi", std::f64::consts::PI),
    ("gravity", 9.80665),
    ("nan", f64::NAN),
    ("inf", f64::INFINITY),
];

/// The binary operators, their functions and their precedences. Higher precedences bind more
/// strongly.
const OPERATORS: [(&str, &str, u8); 13] = [
    ("or", "or", 1),
    ("and", "and", 2),
    ("==", "==", 3),
    ("!=", "!=", 3),
    ("<", "<", 3),
    ("<=", "<=", 3),
    (">", ">", 3),
    (">=", ">=", 3),
    ("+", "+", 4),
    ("-", "-", 4),
    ("*", "*", 5),
    ("/", "/", 5),
    ("%", "mod", 5),
];
const COMPARISON: u8 = 3;
const SIGN: u8 = 6;

/// Parses `text`. Returns the syntax tree, and its fields without repetitions.
pub(crate) fn parse(text: &str) -> Result<(Node, Vec<FieldName>)> {
    let mut parser =
        Parser { tokens: tokens(text)?, position: 0, nesting: 0, fields: Vec::new() };
    let node = parser.binary(0)?;
    let next = parser.peek();
    if next.kind != TokenKind::End {
        return Err(parser.unexpected_token("expected an operator or the end"));
    }
    Ok((node, parser.fields))
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    nesting: usize,
    fields: Vec<FieldName>,
}

impl Parser {
    fn peek(&self) -> Token {
        // The last token is the end, which is never passed.
        let token = self.tokens.get(self.position).or(self.tokens.last());
        token.cloned().unwrap_or(Token { kind: TokenKind::End, span: 0..0 })
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.position += 1;
        }
        token
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek().kind, TokenKind::Symbol(token_symbol) if token_symbol == symbol)
    }

    /// Consumes `symbol` and returns its span, or fails. `opening` is the span of the bracket that
    /// it closes.
    fn expect(&mut self, symbol: &str, opening: &Range<usize>) -> Result<Range<usize>> {
        if self.is_symbol(symbol) {
            return Ok(self.next().span);
        }
        if self.peek().kind == TokenKind::End {
            let message = format!("this bracket is not closed by `{symbol}`");
            return Err(ExpressionError::new(message, opening.clone()));
        }
        Err(self.unexpected_token(&format!("expected an operator or `{symbol}`")))
    }

    fn unexpected_token(&self, expected: &str) -> ExpressionError {
        let token = self.peek();
        let description = match &token.kind {
            TokenKind::End => "the end".to_owned(),
            TokenKind::Number(number) => format!("the number {number}"),
            TokenKind::Name(name) | TokenKind::Quoted(name) => format!("`{name}`"),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
        };
        ExpressionError::new(format!("{expected}, found {description}"), token.span)
    }

    fn node(&self, kind: NodeKind, span: Range<usize>) -> Result<Node> {
        let error = || {
            ExpressionError::new("the expression is nested too deeply", span.clone())
        };
        Node::new(kind, span.clone()).ok_or_else(error)
    }

    /// Parses binary operators with a precedence of at least `min_precedence`.
    fn binary(&mut self, min_precedence: u8) -> Result<Node> {
        let mut left = self.unary()?;
        loop {
            let token = self.peek();
            let text = match &token.kind {
                TokenKind::Symbol(symbol) => *symbol,
                TokenKind::Name(name) if is_word_operator(name) => name.as_str(),
                _ => return Ok(left),
            };
            let operator = OPERATORS.iter().find(|(symbol, ..)| *symbol == text);
            let Some((_, function, precedence)) =
                operator.filter(|(.., precedence)| *precedence >= min_precedence)
            else {
                return Ok(left);
            };
            self.next();
            let right = self.binary(precedence + 1)?;
            left = self.operation(function, token.span, [left, right])?;
            let next = self.peek().kind;
            let is_chained = OPERATORS.iter().any(|(symbol, _, next_precedence)| {
                *next_precedence == COMPARISON && next == TokenKind::Symbol(symbol)
            });
            if *precedence == COMPARISON && is_chained {
                let message = "comparisons cannot be chained";
                let error = ExpressionError::new(message, self.peek().span);
                return Err(error.with_hint("combine two with `and`"));
            }
        }
    }

    /// Creates the call of an operator, whose symbol is at `name_span`.
    fn operation<const N: usize>(
        &self,
        function: &str,
        name_span: Range<usize>,
        operands: [Node; N],
    ) -> Result<Node> {
        let function = find(function, &name_span)?;
        let span = operands.iter().fold(name_span.clone(), |span, operand| {
            span.start.min(operand.span.start)..span.end.max(operand.span.end)
        });
        let arguments = operands.map(|value| Argument { name: None, value }).into();
        self.node(NodeKind::Call(Call { function, arguments, name_span }), span)
    }

    /// Calls `parse` at the next nesting level, or fails if the limit is reached.
    fn parse_nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.nesting >= MAX_NESTING {
            let message = "the expression is nested too deeply";
            return Err(ExpressionError::new(message, self.peek().span));
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    /// Parses signs and powers. Powers bind more strongly: `-x^2` is `-(x^2)`.
    fn unary(&mut self) -> Result<Node> {
        if self.is_symbol("-") {
            let sign = self.next().span;
            let operand = self.parse_nested(|parser| parser.binary(SIGN))?;
            return self.operation("negate", sign, [operand]);
        }
        if self.is_symbol("+") {
            self.next();
            return self.parse_nested(|parser| parser.binary(SIGN));
        }
        let base = self.postfix()?;
        if !self.is_symbol("^") {
            return Ok(base);
        }
        let operator = self.next().span;
        let exponent = self.parse_nested(Self::unary)?;
        self.operation("^", operator, [base, exponent])
    }

    /// Parses an operand and the element names or indices that follow it.
    fn postfix(&mut self) -> Result<Node> {
        let mut node = self.operand()?;
        loop {
            let start = node.span.start;
            if self.is_symbol(".") {
                self.next();
                let token = self.next();
                let TokenKind::Name(name) = token.kind else {
                    self.position = self.position.saturating_sub(1);
                    return Err(
                        self.unexpected_token("expected the name of an element")
                    );
                };
                let kind = NodeKind::Element(Box::new(node), Element::Name(name));
                node = self.node(kind, start..token.span.end)?;
            } else if self.is_symbol("[") {
                let opening = self.next().span;
                let token = self.peek();
                let index = match token.kind {
                    TokenKind::Number(number)
                        if (0.0..1e6).contains(&number) && number.fract() == 0.0 =>
                    {
                        number as usize
                    }
                    _ => {
                        return Err(
                            self.unexpected_token("expected an index, a whole number")
                        );
                    }
                };
                self.next();
                let end = self.expect("]", &opening)?.end;
                let kind = NodeKind::Element(Box::new(node), Element::Index(index));
                node = self.node(kind, start..end)?;
            } else {
                return Ok(node);
            }
        }
    }

    fn operand(&mut self) -> Result<Node> {
        let token = self.peek();
        match token.kind {
            TokenKind::Number(number) => {
                self.next();
                self.node(NodeKind::Number(number), token.span)
            }
            TokenKind::Quoted(name) => {
                self.next();
                self.field(name, token.span)
            }
            TokenKind::Name(name) if !is_word_operator(&name) => {
                self.next();
                if self.is_symbol("(") {
                    return self.call(&name, token.span);
                }
                let constant =
                    CONSTANTS.iter().find(|(constant_name, _)| *constant_name == name);
                match constant {
                    Some((_, value)) => self.node(NodeKind::Number(*value), token.span),
                    None => self.field(name, token.span),
                }
            }
            TokenKind::Symbol("(") => {
                self.next();
                let mut expression = self.parse_nested(|parser| parser.binary(0))?;
                let end = self.expect(")", &token.span)?.end;
                expression.span = token.span.start..end;
                Ok(expression)
            }
            _ => Err(self.unexpected_token("expected a field, a number or a function")),
        }
    }

    fn field(&mut self, name: String, span: Range<usize>) -> Result<Node> {
        if functions::find(&name).is_some() {
            let message = format!("`{name}` is a function");
            let hint = format!("write `{name}(...)`");
            return Err(ExpressionError::new(message, span).with_hint(hint));
        }
        let existing = self.fields.iter().position(|field| field.name == name);
        let index = existing.unwrap_or(self.fields.len());
        if existing.is_none() {
            self.fields.push(FieldName { name, span: span.clone() });
        }
        self.node(NodeKind::Field(index), span)
    }

    /// Parses the arguments of the function `name`, starting at the opening bracket.
    fn call(&mut self, name: &str, name_span: Range<usize>) -> Result<Node> {
        let function = find(name, &name_span)?;
        let opening = self.next().span;
        let mut arguments: Vec<Argument> = Vec::new();
        while !self.is_symbol(")") {
            if !arguments.is_empty() {
                if !self.is_symbol(",") {
                    self.expect(")", &opening)?;
                }
                self.next();
            }
            arguments.push(self.parse_nested(Self::argument)?);
        }
        let end = self.expect(")", &opening)?.end;
        let span = name_span.start..end;
        self.node(NodeKind::Call(Call { function, arguments, name_span }), span)
    }

    fn argument(&mut self) -> Result<Argument> {
        let token = self.peek();
        if let TokenKind::Name(name) = token.kind {
            self.next();
            if self.is_symbol("=") {
                self.next();
                let value = self.binary(0)?;
                return Ok(Argument { name: Some((name, token.span)), value });
            }
            self.position = self.position.saturating_sub(1);
        }
        Ok(Argument { name: None, value: self.binary(0)? })
    }
}

fn find(name: &str, span: &Range<usize>) -> Result<&'static Function> {
    functions::find(name).ok_or_else(|| {
        let error = ExpressionError::new(
            format!("there is no function `{name}`"),
            span.clone(),
        );
        let names = functions::public().map(|function| function.name);
        let default_hint = "`logtool help expressions` lists the functions".to_owned();
        error.with_hint(suggestion(name, names).unwrap_or(default_hint))
    })
}
