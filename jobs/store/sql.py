"""Bulk writes in the SQL that SQLite and PostgreSQL share; Django's own bulk upsert costs several times as much."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from django.db import connection, models
from django.db.backends.utils import CursorWrapper

T = TypeVar("T")


class Write:
    """One ``INSERT … ON CONFLICT`` statement for a model.

    ``columns``: attribute names (``job_id``), in the order of the rows. ``key``: the unique columns; ``update``: those
    to overwrite when the key exists, none means that the old row stays. Texts longer than their column are cut:
    PostgreSQL would refuse the whole batch for a word that some cluster made up.
    """

    def __init__(
        self, model: type[models.Model], columns: Sequence[str], key: Sequence[str] = (), update: Sequence[str] = ()
    ) -> None:
        table = model._meta.db_table
        marks = ", ".join(["%s"] * len(columns))
        text = f'INSERT INTO "{table}" ({_names(columns)}) VALUES ({marks})'  # noqa: S608 - names are ours
        if key:
            changes = ", ".join(f'"{name}" = excluded."{name}"' for name in update)
            text += f" ON CONFLICT ({_names(key)}) DO " + (f"UPDATE SET {changes}" if update else "NOTHING")
        self.text = text
        fields = {field.attname: field for field in model._meta.concrete_fields}
        texts = [(n, fields[name]) for n, name in enumerate(columns) if isinstance(fields[name], models.CharField)]
        self._limits = [(n, field.max_length) for n, field in texts if field.max_length is not None]

    def run(self, cursor: CursorWrapper, rows: Sequence[Sequence[Any]]) -> None:
        """Write the rows, each in the order of ``columns``. Raises ``DatabaseError``."""
        if rows:
            cursor.executemany(self.text, [self._fitting(row) for row in rows] if self._limits else rows)

    def _fitting(self, row: Sequence[Any]) -> Sequence[Any]:
        for position, limit in self._limits:
            if len(row[position]) > limit:
                row = (*row[:position], row[position][:limit], *row[position + 1 :])
        return row


def rows_in(query: str, values: Sequence[Any], *before: Any) -> list[tuple[Any, ...]]:
    """The rows of a query that ends with ``IN``; ``before``: its parameters before the values."""
    with connection.cursor() as cursor:
        cursor.execute(f"{query}({', '.join(['%s'] * len(values))})", [*before, *values])
        return cursor.fetchall()


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def chunks(values: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """Parts small enough for an ``IN`` list on either database."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
