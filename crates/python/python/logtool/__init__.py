"""Read, convert, repair and merge the logs of robots: ULog, ROS bags, MCAP and lidars.

>>> import logtool
>>> log = logtool.open("flight.ulg")
>>> table = log["battery_status"].to_pandas()
"""

from logtool._errors import (
    AlreadyExistsError,
    DamagedError,
    DamageWarning,
    Error,
    InvalidRequestError,
    LimitError,
    MalformedError,
    NeedsKeyError,
    NoSuchFileError,
    NotFoundError,
    PermissionDeniedError,
    ReadError,
    UnrecognizedError,
    UnsupportedError,
)
from logtool._images import Image
from logtool._jobs import align, batch, convert, filter, index, merge, repair
from logtool._logtool import (
    Alignment,
    Batch,
    Batches,
    BatchReport,
    Damage,
    Log,
    MergedTable,
    Message,
    Messages,
    Plot,
    Report,
    Schema,
    Split,
    Table,
    Topic,
    Writer,
    __version__,
    merge_asof,
    open,
    plan,
    read,
)
from logtool._methods import add_methods as _add_methods
from logtool._series import Series
from logtool.dataset import Dataset, DatasetLog
from logtool.polars import scan

_add_methods()

__all__ = [
    "Alignment",
    "AlreadyExistsError",
    "Batch",
    "BatchReport",
    "Batches",
    "Damage",
    "DamageWarning",
    "DamagedError",
    "Dataset",
    "DatasetLog",
    "Error",
    "Image",
    "InvalidRequestError",
    "LimitError",
    "Log",
    "MalformedError",
    "MergedTable",
    "Message",
    "Messages",
    "NeedsKeyError",
    "NoSuchFileError",
    "NotFoundError",
    "PermissionDeniedError",
    "Plot",
    "ReadError",
    "Report",
    "Schema",
    "Series",
    "Split",
    "Table",
    "Topic",
    "UnrecognizedError",
    "UnsupportedError",
    "Writer",
    "__version__",
    "align",
    "batch",
    "convert",
    "filter",
    "index",
    "merge",
    "merge_asof",
    "open",
    "plan",
    "read",
    "repair",
    "scan",
]
