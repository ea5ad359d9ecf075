//! The columns of a table.

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_schema::SchemaRef;
use pyo3::{exceptions::PyValueError, prelude::*, types::PyCapsule};

/// The columns of a table: their names and Arrow types.
///
/// `pyarrow.schema(schema)` and other libraries take it as an Arrow schema.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Schema(pub(crate) SchemaRef);

/// Returns the capsule of the Arrow PyCapsule interface for `schema`.
pub(crate) fn capsule<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&**schema)
        .map_err(|err| PyValueError::new_err(err.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

#[pymethods]
impl Schema {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// The Arrow types of the columns, as text.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    /// The metadata of the table.
    #[getter]
    fn metadata(&self) -> std::collections::HashMap<String, String> {
        self.0.metadata().clone()
    }

    fn __arrow_c_schema__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        capsule(py, &self.0)
    }

    fn __len__(&self) -> usize {
        self.0.fields().len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self) -> String {
        let lines = self.names().into_iter().zip(self.types());
        lines.map(|(name, data_type)| format!("{name}: {data_type}\n")).collect()
    }
}
