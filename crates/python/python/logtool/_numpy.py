"""Arrays of NumPy from the memory of native columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logtool._logtool import NumberBuffer


def number_array(numbers: NumberBuffer, valid: NumberBuffer | None) -> Any:
    """Return an array of ``numbers``.

    Missing floats are NaN, and missing times NaT. Other arrays with missing values are masked.
    """
    import numpy

    array = numpy.asarray(numbers)
    if valid is None:
        return array
    missing = ~numpy.asarray(valid)
    if array.dtype.kind in "fmM":
        array = array.copy()
        array[missing] = "NaT" if array.dtype.kind in "mM" else numpy.nan
        return array
    mask = numpy.zeros(array.shape, dtype=bool)
    mask[missing] = True
    return numpy.ma.MaskedArray(array, mask=mask)


def object_array(objects: list[Any]) -> Any:
    """Return a one-dimensional array of these objects, even if they are arrays of equal shape."""
    import numpy

    array = numpy.empty(len(objects), dtype=object)
    for index, value in enumerate(objects):
        array[index] = value
    return array
