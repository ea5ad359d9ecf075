//! The positions of the values of points in a message.

/// Points of equal length in rows of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<'b> {
    data: &'b [u8],
    /// The distance between the starts of two rows in bytes.
    row_step: usize,
    /// The number of points in a row.
    width: usize,
    /// The distance between two points in bytes.
    point_step: usize,
    /// The number of points in `data`.
    points: usize,
    /// The declared number of points; the last ones may be missing in `data`.
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
    /// Creates a grid of `rows` rows of `width` points in `data`, or returns `None` if points are
    /// missing. Rows are `row_step` bytes apart, and points are `point_step` bytes apart. Rows
    /// follow each other if the row step cannot be right: rows would overlap, or the last ones
    /// would be missing, but `data` have exactly the bytes of all points. (Some drivers do not set
    /// it, and readers such as RViz ignore it.)
    pub(crate) fn new(
        data: &'b [u8],
        rows: u32,
        row_step: u32,
        width: u32,
        point_step: u32,
    ) -> Option<Self> {
        let grid = Self::with_missing_points(data, rows, row_step, width, point_step)?;
        (grid.missing_points() == 0).then_some(grid)
    }

    /// Like [`new`](Self::new), but the last points may be missing. Returns `None` if the first
    /// point is missing, too.
    pub(crate) fn with_missing_points(
        data: &'b [u8],
        rows: u32,
        row_step: u32,
        width: u32,
        point_step: u32,
    ) -> Option<Self> {
        let size = |number: u32| usize::try_from(number).ok();
        let (rows, width) = (size(rows)?, size(width)?);
        let (mut row_step, point_step) = (size(row_step)?, size(point_step)?);
        let declared_points = rows.checked_mul(width)?;
        let mut points = 0;
        if declared_points > 0 {
            let row_len = width.checked_mul(point_step).filter(|len| *len > 0)?;
            let has_only_points = rows.checked_mul(row_len) == Some(data.len());
            // The row step of a single row does not matter.
            if rows == 1 || row_step < row_len || has_only_points {
                row_step = row_len;
            }
            let step = row_step;
            let complete_rows = data.len() / step;
            let last_row_len = data.len() - complete_rows * step;
            // The last row needs only the bytes of its points, not a whole row step.
            let points_of_last_row = (last_row_len / point_step).min(width);
            points = (complete_rows.min(rows) * width)
                .saturating_add(points_of_last_row)
                .min(declared_points);
            if points == 0 {
                return None;
            }
        }
        Some(Self { data, row_step, width, point_step, points, declared_points })
    }

    /// Returns the number of points, without missing ones.
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
    /// Selects the `len` bytes at `offset` of each point of `grid`, or returns `None` if points are
    /// shorter.
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

    /// Calls `add` with the bytes of the values of each point.
    #[inline]
    pub(crate) fn for_each_point(self, mut add: impl FnMut(&'b [u8])) {
        for row in self.grid.rows() {
            // Each chunk begins with the values of a point. The last one ends with the row, so that
            // it is shorter by `offset`.
            let row = row.get(self.offset..).unwrap_or_default();
            for chunk in row.chunks(self.grid.point_step.max(1)) {
                add(chunk.get(..self.len).unwrap_or_default());
            }
        }
    }

    /// Like [`for_each_point`](Self::for_each_point), for one value of `LEN` bytes per point.
    #[inline]
    pub(crate) fn for_each_value<const LEN: usize>(
        self,
        mut add: impl FnMut([u8; LEN]),
    ) {
        for row in self.grid.rows() {
            let row = row.get(self.offset..).unwrap_or_default();
            for chunk in row.chunks(self.grid.point_step.max(1)) {
                add(chunk.first_chunk().copied().unwrap_or([0; LEN]));
            }
        }
    }
}
