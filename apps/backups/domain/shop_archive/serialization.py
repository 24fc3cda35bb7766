"""Serializes rows as JSON that does not depend on the database."""

import base64
import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import BinaryField, JSONField, Value

from apps.core.db.encrypted_fields import SecretField, decrypt, encrypt

Row = tuple[Any, ...]


def serialize_row(fields: list[Any], row: Row) -> bytes:
    """Serialize a row as a line of JSON. Secrets stay encrypted."""
    values = [
        encrypt(value) if isinstance(field, SecretField) and value is not None else value
        for field, value in zip(fields, row, strict=True)
    ]
    return json.dumps(values, default=_to_json, separators=(",", ":")).encode() + b"\n"


def parse_row(fields: list[Any], line: bytes) -> Row:
    """Parse a line of JSON into a row with the types that Django reads from the database.

    Raises:
        InvalidToken: A secret was encrypted with another key.
        ValueError: The line is invalid.
        ValidationError: A value is invalid for its column.
    """
    return tuple(_from_json(field, value) for field, value in zip(fields, json.loads(line), strict=True))


def _to_json(value: object) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, bytes | memoryview | bytearray):
        return base64.b64encode(bytes(value)).decode()
    raise TypeError(f"{type(value).__name__} cannot be stored in an archive")


def _from_json(field: Any, value: Any) -> Any:
    if value is None or isinstance(field, JSONField):
        return value
    if isinstance(field, SecretField):
        return decrypt(value)
    if isinstance(field, BinaryField):
        return base64.b64decode(value)
    return field.to_python(value)


def to_driver_value(field: Any, value: Any) -> Any:
    """Convert a value to the type that the database driver expects."""
    if isinstance(field, JSONField) and value is None and not field.null:
        value = Value(None, JSONField())
    return field.get_db_prep_save(value, connection)


def rows_equal(row: Row, other_row: Row) -> bool:
    """Return True if two rows are equal, regardless of the types of binary values."""
    return all(
        _comparable(value) == _comparable(other_value) for value, other_value in zip(row, other_row, strict=True)
    )


def _comparable(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview | bytearray) else value
