"""The exceptions and warnings of logtool."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AlreadyExistsError",
    "DamageWarning",
    "DamagedError",
    "Error",
    "InvalidRequestError",
    "LimitError",
    "MalformedError",
    "NeedsKeyError",
    "NoSuchFileError",
    "NotFoundError",
    "PermissionDeniedError",
    "ReadError",
    "UnrecognizedError",
    "UnsupportedError",
]


class Error(Exception):
    """The base of all exceptions of logtool."""

    kind: str
    """The kind of the error, e.g. ``"not_found"``."""
    path: str | None
    """The path or the URL of the log, if it is known."""
    offset: int | None
    """The byte offset in the log at which the error occurred, if it is known."""
    hint: str | None
    """How to avoid the error, if that is known."""

    def __init__(
        self,
        message: str,
        *,
        kind: str = "other",
        path: str | None = None,
        offset: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.path = path
        self.offset = offset
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        details = {
            "kind": self.kind,
            "path": self.path,
            "offset": self.offset,
            "hint": self.hint,
        }
        return (_restore, (type(self), self.message, details))


class ReadError(Error, OSError):
    """Reading or writing failed."""


class NoSuchFileError(Error, FileNotFoundError):
    """There is no such file or object."""


class PermissionDeniedError(Error, PermissionError):
    """The file or the object may not be read or written."""


class AlreadyExistsError(Error, FileExistsError):
    """The output exists, and may not be replaced."""


class UnrecognizedError(Error, ValueError):
    """The bytes are not of a known format."""


class MalformedError(Error, ValueError):
    """The log cannot be read, because a part that all others depend on is invalid."""


class DamagedError(Error, ValueError):
    """The log is damaged, and the call does not allow that."""


class UnsupportedError(Error, ValueError):
    """The log or the call uses something that is not supported."""


class NeedsKeyError(Error, PermissionError):
    """The log is encrypted, and no key was given."""


class LimitError(Error, ValueError):
    """A limit of memory or length was exceeded."""


class NotFoundError(Error, KeyError):
    """The log does not contain the requested topic, column or message."""


class InvalidRequestError(Error, ValueError):
    """The arguments are invalid, or contradict each other."""


class DamageWarning(UserWarning):
    """Some of a log could not be read. The attribute ``damage`` of the object lists the damage."""


_CLASSES: dict[str, type[Error]] = {
    "io": ReadError,
    "no_such_file": NoSuchFileError,
    "permission_denied": PermissionDeniedError,
    "already_exists": AlreadyExistsError,
    "unrecognized": UnrecognizedError,
    "malformed": MalformedError,
    "damaged": DamagedError,
    "unsupported": UnsupportedError,
    "incompatible_flag": UnsupportedError,
    "unsuitable_encoding": UnsupportedError,
    "needs_key": NeedsKeyError,
    "limit": LimitError,
    "not_found": NotFoundError,
    "invalid_request": InvalidRequestError,
}


def create(message: str, *, kind: str, **details: Any) -> Error:
    """Create the exception for an error of this kind."""
    return _CLASSES.get(kind, Error)(message, kind=kind, **details)


def _restore(error_type: type[Error], message: str, details: dict[str, Any]) -> Error:
    return error_type(message, **details)
