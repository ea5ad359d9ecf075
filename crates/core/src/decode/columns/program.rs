//! What is done to a payload whose fields move: where each piece of it lies.
//!
//! A layout with texts and lists becomes a few [`Step`]s. Walking a payload follows
//! them once, checks every length against what is left, and puts each piece that some
//! leaf reads into that leaf's table. Nothing else is looked at, and no length is
//! believed: the work and the memory of a walk are proportional to the payload.

use crate::model::layout::Tail;

/// The index of a table of pieces.
pub(super) type Table = usize;

/// How to walk the payloads of a layout.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// How many tables there are.
    pub(super) tables: usize,
    pub(super) tail: Tail,
}

/// A part of a walk. What is found goes to the table, if there is one.
#[derive(Debug)]
pub(super) enum Step {
    /// So many bytes.
    Stretch { len: u32, table: Option<Table> },
    /// A `u32`, then as many elements of so many bytes each; these are what is found.
    Elements { stride: u32, is_text: bool, table: Option<Table> },
    /// Something several times over, each taking at least `least` (1 or more) bytes.
    Each { count: Count, least: u32, body: Vec<Step> },
}

/// How often something is repeated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Count {
    /// Always so often.
    Fixed(u32),
    /// As often as a `u32` before it says; its bytes are what is found.
    Said { table: Option<Table> },
}

/// Where a piece begins and ends, in the bytes that the payloads are collected in.
pub(super) type Piece = (u32, u32);

/// The pieces found in the payloads since they were last cleared.
#[derive(Debug, Default)]
pub(super) struct Tables {
    tables: Vec<Vec<Piece>>,
    /// How many pieces there were before the last walk.
    before: Vec<usize>,
}

/// How many pieces a table goes on to have room for.
const ROOM: usize = 1 << 14;

impl Program {
    /// Finds the pieces of `payload`, which is to lie at `base`; nothing if it is too
    /// short, and then [`Tables::undo`] forgets what was found.
    pub(super) fn walk(
        &self,
        payload: &[u8],
        base: usize,
        tables: &mut Tables,
    ) -> Option<Walked> {
        tables.before.clear();
        tables.before.extend(tables.tables.iter().map(Vec::len));
        u32::try_from(base.checked_add(payload.len())?).ok()?;
        let tables = &mut tables.tables;
        let mut walk =
            Walk { payload, at: 0, base, text: 0, texts: Texts::Utf8, tables };
        walk.follow(&self.steps)?;
        let weight = payload.len() as u64 + walk.text;
        Some(Walked { weight, texts: walk.texts, used: walk.at })
    }
}

/// What was found in a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walked {
    /// How many bytes its text and its other pieces take in columns, at most: a byte that
    /// is no UTF-8 becomes two.
    pub(super) weight: u64,
    /// Whether there are such bytes.
    pub(super) texts: Texts,
    /// How many bytes the fields are, from the first on.
    pub(super) used: usize,
}

/// How the texts of a payload are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    Utf8,
    /// Some are not UTF-8, and so taken for this.
    Latin1,
}

struct Walk<'w> {
    payload: &'w [u8],
    at: usize,
    base: usize,
    /// How many bytes of text were met.
    text: u64,
    texts: Texts,
    tables: &'w mut [Vec<Piece>],
}

impl Walk<'_> {
    fn follow(&mut self, steps: &[Step]) -> Option<()> {
        for step in steps {
            match step {
                Step::Stretch { len, table } => self.cut(*len as usize, *table)?,
                Step::Elements { stride, is_text, table } => {
                    let count = self.count(None)?;
                    let len = u64::from(count) * u64::from(*stride);
                    let start = self.at;
                    self.cut(usize::try_from(len).ok()?, *table)?;
                    if *is_text {
                        self.text += len;
                        let text = self.payload.get(start..self.at)?;
                        if str::from_utf8(text).is_err() {
                            self.texts = Texts::Latin1;
                        }
                    }
                }
                Step::Each { count, least, body } => {
                    let count = match count {
                        Count::Fixed(count) => *count,
                        Count::Said { table } => self.count(*table)?,
                    };
                    let len = u64::from(count) * u64::from(*least);
                    (len <= (self.payload.len() - self.at) as u64).then_some(())?;
                    for _ in 0..count {
                        self.follow(body)?;
                    }
                }
            }
        }
        Some(())
    }

    /// Goes on by `len` bytes, which `table` gets.
    fn cut(&mut self, len: usize, table: Option<Table>) -> Option<()> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.payload.len())?;
        if let Some(table) = table {
            // The sums are at most the one that was checked before the walk.
            let piece = ((self.base + self.at) as u32, (self.base + end) as u32);
            self.tables[table].push(piece);
        }
        self.at = end;
        Some(())
    }

    /// Goes on by a number, whose bytes `table` gets.
    fn count(&mut self, table: Option<Table>) -> Option<u32> {
        let bytes = self.payload.get(self.at..)?.first_chunk()?;
        self.cut(bytes.len(), table)?;
        Some(u32::from_le_bytes(*bytes))
    }
}

impl Tables {
    /// Empty tables, as many as `program` has.
    pub(super) fn of(program: &Program) -> Self {
        Self { tables: vec![vec![]; program.tables], before: vec![] }
    }

    /// The pieces in `table`.
    pub(super) fn get(&self, table: Table) -> &[Piece] {
        &self.tables[table]
    }

    /// Forgets what the last walk found.
    pub(super) fn undo(&mut self) {
        for (table, before) in self.tables.iter_mut().zip(&self.before) {
            table.truncate(*before);
        }
    }

    /// Forgets all pieces.
    pub(super) fn clear(&mut self) {
        for table in &mut self.tables {
            table.clear();
            table.shrink_to(ROOM);
        }
    }
}
