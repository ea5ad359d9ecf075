"""The HTML of logs and tables in notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable

from logtool._logtool import Log, MergedTable, Table

_ROWS = 10
"""The number of rows of a table that are shown."""


_SHORT_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def escape(text: str) -> str:
    """Return `text` for a page: characters that are not seen, such as those that change the
    direction of the text around them, are replaced by their escapes, as on a terminal.
    """

    def shown(c: str) -> str:
        return c if c.isprintable() else _SHORT_ESCAPES.get(c, f"\\u{{{ord(c):x}}}")

    return html.escape("".join(map(shown, text)))


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    def line(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', header)}</thead><tbody>{body}</tbody></table>"


def log_repr_html(self: Log) -> str:
    """Return the topics of a log, and its damage, as HTML."""
    rows = [
        (
            topic.name,
            topic.type,
            "" if topic.records is None else f"{topic.records:,}",
            "" if topic.bytes is None else f"{topic.bytes:,}",
        )
        for topic in self.topics
    ]
    parts = [f"<p><b>{escape(self.path)}</b> ({escape(self.format)})</p>"]
    parts.append(_table(("topic", "type", "records", "bytes"), rows))
    parts += [f"<p>{escape(str(damage))}</p>" for damage in self.damage]
    return "".join(parts)


def table_repr_html(self: Table | MergedTable) -> str:
    """Return the columns and the first rows of a table as HTML."""
    names = self.schema.names
    first = next(self.batches(), None)
    shown: list[list[object]] = []
    if first is not None:
        columns = first.to_numpy()
        count = min(len(first), _ROWS)
        shown = [[values[row] for values in columns.values()] for row in range(count)]
        names = list(columns)
    types = ", ".join(f"{n}: {t}" for n, t in zip(self.schema.names, self.schema.types))
    return f"<p>{escape(repr(self))}<br>{escape(types)}</p>" + _table(names, shown)
