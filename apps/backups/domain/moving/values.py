"""Values of rows as JSON, alike on every database, and back."""

import base64
import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import BinaryField, JSONField, Value

from apps.shops.models.secrets import SecretField, decrypt, encrypt

Row = tuple[Any, ...]


def line_of(fields: list[Any], row: Row) -> bytes:
    """A row as a line of JSON; secrets stay encrypted."""
    values = [
        encrypt(value) if isinstance(field, SecretField) and value is not None else value
        for field, value in zip(fields, row, strict=True)
    ]
    return json.dumps(values, default=_plain, separators=(",", ":")).encode() + b"\n"


def row_of(fields: list[Any], line: bytes) -> Row:
    """The row as Django reads it.

    Raises:
        InvalidToken: A secret was encrypted under another key.
        ValueError: It is no such line.
        ValidationError: A value is none of its column.
    """
    return tuple(_value(field, value) for field, value in zip(fields, json.loads(line), strict=True))


def _plain(value: object) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, bytes | memoryview | bytearray):
        return base64.b64encode(bytes(value)).decode()
    raise TypeError(f"{type(value).__name__} has no form in an archive")


def _value(field: Any, value: Any) -> Any:
    if value is None or isinstance(field, JSONField):
        return value
    if isinstance(field, SecretField):
        return decrypt(value)
    if isinstance(field, BinaryField):
        return base64.b64decode(value)
    return field.to_python(value)


def stored(field: Any, value: Any) -> Any:
    """What the driver of this database is given."""
    if isinstance(field, JSONField) and value is None and not field.null:
        value = Value(None, JSONField())
    return field.get_db_prep_save(value, connection)


def same(one: Row, other: Row) -> bool:
    """Whether two rows hold the same, however their bytes came."""
    return all(_comparable(left) == _comparable(right) for left, right in zip(one, other, strict=True))


def _comparable(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview | bytearray) else value
