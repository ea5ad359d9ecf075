//! Planning the flat view: a column for each scalar, string and list.

use crate::{
    decode::columns::{
        fixed_size_columns::arrow_field, plan::LayoutPlanner,
        projection::ColumnProjection,
    },
    error::Result,
    model::layout::{Layout, LayoutKind},
};

impl LayoutPlanner<'_> {
    /// Adds a column for each scalar of `layout`, which starts at the current position.
    /// Their names start with `prefix`.
    pub(super) fn add_flat_columns(
        &mut self,
        layout: &Layout,
        prefix: &str,
        projection: &mut ColumnProjection,
    ) -> Result<()> {
        for field in &layout.fields {
            self.count_field()?;
            if !Self::is_visible(field, prefix.is_empty()) {
                self.skip(layout, field)?;
                continue;
            }
            if field.is_array_longer_than(self.max_array_len)
                || field.count_without_bytes().is_some()
            {
                let column = self.unique_name(&format!("{prefix}{}", field.name))?;
                let is_selected = projection.is_next_selected();
                let fields = self.field_array(layout, field, &column, is_selected)?;
                self.add_columns(fields);
                continue;
            }
            // A string of fixed length is one column.
            let (count, string_size) = if field.is_chars() {
                (None, field.size())
            } else {
                (field.count, None)
            };
            for index in 0..count.unwrap_or(1) {
                let path = match count {
                    Some(_) => format!("{prefix}{}[{index}]", field.name),
                    None => format!("{prefix}{}", field.name),
                };
                if let LayoutKind::Nested(inner) = &field.kind {
                    self.count_name(&path)?;
                    self.add_flat_columns(inner, &format!("{path}."), projection)?;
                    continue;
                }
                let column = self.unique_name(&path)?;
                let is_selected = projection.is_next_selected();
                if !field.kind.is_fixed() {
                    if let Some((data_type, node)) =
                        self.variable_size_values(&field.kind, is_selected)?
                    {
                        self.add_columns(vec![(arrow_field(&column, data_type), node)]);
                    }
                    continue;
                }
                if is_selected {
                    let start = self.builder.offset();
                    let fields = self.scalar(layout, field, &column, vec![start])?;
                    self.add_columns(fields);
                }
                self.builder.skip(string_size.unwrap_or(field.kind.size()));
            }
        }
        Ok(())
    }
}
