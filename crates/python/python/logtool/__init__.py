"""Read, convert, repair and merge the logs of robots: ULog, ROS bags, MCAP and lidars.

>>> import logtool
>>> log = logtool.open("flight.ulg")
>>> table = log["battery_status"].to_pandas()
"""

from logtool._conversions import add_methods as _add_methods
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
from logtool._logtool import (
    Batch,
    Batches,
    Damage,
    Log,
    Message,
    Messages,
    Schema,
    Split,
    Table,
    Topic,
    __version__,
    open,
    plan,
    read,
)

_add_methods()

__all__ = [
    "AlreadyExistsError",
    "Batch",
    "Batches",
    "Damage",
    "DamageWarning",
    "DamagedError",
    "Error",
    "InvalidRequestError",
    "LimitError",
    "Log",
    "MalformedError",
    "Message",
    "Messages",
    "NeedsKeyError",
    "NoSuchFileError",
    "NotFoundError",
    "PermissionDeniedError",
    "ReadError",
    "Schema",
    "Split",
    "Table",
    "Topic",
    "UnrecognizedError",
    "UnsupportedError",
    "__version__",
    "open",
    "plan",
    "read",
]
