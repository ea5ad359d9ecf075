//! The positions of the values of points in a message.

/// Points of equal length in rows of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<'b> {
    data: &'b [u8],
    row_step: usize,
    width: usize,
    point_step: usize,
    /// The number of points that exist, from the first on, and the declared number.
    points: usize,
    declared_points: usize,
}

/// One value, or several adjacent values, of each point of a grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StridedValues<'b> {
    grid: Grid<'b>,
    offset: usize,
    /// The length of the values of a point in bytes.
    len: usize,
    /// Whether the values are big-endian.
    pub(crate) is_big: bool,
}

impl<'b> Grid<'b> {
    /// Creates a grid of `rows` of `width` points in `data`, if all of them exist and do not
    /// overlap. Rows are `row_step` bytes apart, points `point_step` bytes.
    pub(crate) fn new(
        data: &'b [u8],
        rows: u32,
        row_step: u32,
        width: u32,
        point_step: u32,
    ) -> Option<Self> {
        let grid = Self::first(data, rows, row_step, width, point_step)?;
        (grid.missing_points() == 0).then_some(grid)
    }

    /// Like [`new`](Self::new), but only some of the first points need to exist.
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
        let declared = rows.checked_mul(width)?;
        let mut points = 0;
        if declared > 0 {
            let row = width.checked_mul(point_step).filter(|row| *row > 0)?;
            if rows > 1 && row_step < row {
                return None;
            }
            // The last row needs only the bytes of its points.
            let step = if rows > 1 { row_step } else { row };
            let complete_points = data.len() / step;
            let rest = ((data.len() - complete_points * step) / point_step).min(width);
            points =
                (complete_points.min(rows) * width).saturating_add(rest).min(declared);
            if points == 0 {
                return None;
            }
        }
        Some(Self {
            data,
            row_step,
            width,
            point_step,
            points,
            declared_points: declared,
        })
    }

    /// Returns the number of points.
    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// Returns the number of declared points that are missing.
    pub(crate) fn missing_points(&self) -> usize {
        self.declared_points - self.points
    }

    /// Returns the distance between two points in bytes.
    pub(crate) fn point_step(&self) -> usize {
        self.point_step
    }

    /// Returns the bytes of the points of each row.
    fn rows(self) -> impl Iterator<Item = &'b [u8]> {
        let Self { data, row_step, width, point_step, points, .. } = self;
        let row = move |row: usize| {
            let count = (points - row * width).min(width);
            data.get(row * row_step..)?.get(..count * point_step)
        };
        (0..points.div_ceil(width.max(1))).filter_map(row)
    }
}

impl<'b> StridedValues<'b> {
    /// Selects the `len` bytes at `offset` of each point of `grid`, if points are that long.
    pub(crate) fn new(
        grid: Grid<'b>,
        offset: usize,
        len: usize,
        is_big: bool,
    ) -> Option<Self> {
        let end = offset.checked_add(len)?;
        (end <= grid.point_step).then_some(Self { grid, offset, len, is_big })
    }

    /// Returns the number of points.
    pub(crate) fn points(&self) -> usize {
        self.grid.points
    }

    /// Calls `take` with the bytes of the values of each point.
    #[inline]
    pub(crate) fn for_each_point(self, mut take: impl FnMut(&'b [u8])) {
        for row in self.grid.rows() {
            // The last one is shorter by the bytes before the value.
            let row = row.get(self.offset..).unwrap_or_default();
            for point in row.chunks(self.grid.point_step.max(1)) {
                take(point.get(..self.len).unwrap_or_default());
            }
        }
    }

    /// Like [`each`](Self::each), for one value of `LEN` bytes per point.
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
