"""A database that refuses."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def refusing(table: str) -> Iterator[None]:
    """The database takes no new row of a table."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f'ALTER TABLE "{table}" ADD CONSTRAINT refuse CHECK (false) NOT VALID')
            undo = f'ALTER TABLE "{table}" DROP CONSTRAINT refuse'
        else:
            text = "BEGIN SELECT RAISE(ABORT, 'no more'); END"
            cursor.execute(f'CREATE TRIGGER refuse BEFORE INSERT ON "{table}" {text}')
            undo = "DROP TRIGGER refuse"
        try:
            yield
        finally:
            cursor.execute(undo)
