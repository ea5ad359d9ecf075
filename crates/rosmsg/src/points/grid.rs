//! Where in a message the values of points lie.

/// Points of the same length in rows of the same length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<'b> {
    data: &'b [u8],
    row_step: usize,
    width: usize,
    point_step: usize,
    /// How many points are there, from the first on, and how many were said to be.
    points: usize,
    said: usize,
}

/// One value, or several side by side, of each point of a grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided<'b> {
    grid: Grid<'b>,
    offset: usize,
    /// How many bytes the values of a point are.
    len: usize,
    /// Whether they are big-endian.
    pub(crate) is_big: bool,
}

impl<'b> Grid<'b> {
    /// `rows` of `width` points in `data`, if all of them are there and none lies over
    /// another. A row begins `row_step` bytes after the last, a point `point_step`.
    pub(crate) fn new(
        data: &'b [u8],
        rows: u32,
        row_step: u32,
        width: u32,
        point_step: u32,
    ) -> Option<Self> {
        let grid = Self::first(data, rows, row_step, width, point_step)?;
        (grid.missing() == 0).then_some(grid)
    }

    /// The same, if at least the first of them are there.
    pub(crate) fn first(
        data: &'b [u8],
        rows: u32,
        row_step: u32,
        width: u32,
        point_step: u32,
    ) -> Option<Self> {
        let size = |number: u32| usize::try_from(number).ok();
        let (rows, width) = (size(rows)?, size(width)?);
        let (row_step, point_step) = (size(row_step)?, size(point_step)?);
        let said = rows.checked_mul(width)?;
        let mut points = 0;
        if said > 0 {
            let row = width.checked_mul(point_step).filter(|row| *row > 0)?;
            if rows > 1 && row_step < row {
                return None;
            }
            // The last row needs no more bytes than its points.
            let step = if rows > 1 { row_step } else { row };
            let whole = data.len() / step;
            let rest = ((data.len() - whole * step) / point_step).min(width);
            points = (whole.min(rows) * width).saturating_add(rest).min(said);
            if points == 0 {
                return None;
            }
        }
        Some(Self { data, row_step, width, point_step, points, said })
    }

    /// How many points there are.
    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// How many more were said to be.
    pub(crate) fn missing(&self) -> usize {
        self.said - self.points
    }

    /// How many bytes there are from a point to the next.
    pub(crate) fn point_step(&self) -> usize {
        self.point_step
    }

    /// The bytes of the points of each row.
    fn rows(self) -> impl Iterator<Item = &'b [u8]> {
        let Self { data, row_step, width, point_step, points, .. } = self;
        let row = move |row: usize| {
            let count = (points - row * width).min(width);
            data.get(row * row_step..)?.get(..count * point_step)
        };
        (0..points.div_ceil(width.max(1))).filter_map(row)
    }
}

impl<'b> Strided<'b> {
    /// The `len` bytes at `offset` of each point of `grid`, if points are that long.
    pub(crate) fn new(
        grid: Grid<'b>,
        offset: usize,
        len: usize,
        is_big: bool,
    ) -> Option<Self> {
        let end = offset.checked_add(len)?;
        (end <= grid.point_step).then_some(Self { grid, offset, len, is_big })
    }

    /// How many points it is the values of.
    pub(crate) fn points(&self) -> usize {
        self.grid.points
    }

    /// Hands the bytes of each point's values to `take`.
    #[inline]
    pub(crate) fn each(self, mut take: impl FnMut(&'b [u8])) {
        for row in self.grid.rows() {
            // The last is shorter, by what lies before the value in the others.
            let row = row.get(self.offset..).unwrap_or_default();
            for point in row.chunks(self.grid.point_step.max(1)) {
                take(point.get(..self.len).unwrap_or_default());
            }
        }
    }

    /// The same, where each point has one value of `LEN` bytes.
    #[inline]
    pub(crate) fn each_one<const LEN: usize>(self, mut take: impl FnMut([u8; LEN])) {
        for row in self.grid.rows() {
            let row = row.get(self.offset..).unwrap_or_default();
            for point in row.chunks(self.grid.point_step.max(1)) {
                take(point.first_chunk().copied().unwrap_or([0; LEN]));
            }
        }
    }
}
