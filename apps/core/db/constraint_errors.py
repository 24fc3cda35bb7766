"""Translate a violated database constraint to a field and an error message.

Only the database enforces unique and check constraints. A query before each write would cost time and would have a race
condition. So the code just writes, and this module interprets the database's error message. The message contains the
name of the constraint. For some constraints, SQLite's message contains the columns instead.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from django.apps import apps
from django.db import IntegrityError
from django.db.models import CheckConstraint, Model, UniqueConstraint
from django.db.models.constraints import BaseConstraint

from apps.core.i18n.error_messages import INVALID, TAKEN


@dataclass(frozen=True, slots=True)
class ConstraintViolation:
    field: str
    message: str


def find_violated_constraint(exc: IntegrityError) -> ConstraintViolation | None:
    """Return the field and message for a database error, or None if no model declares the constraint."""
    diagnosis = getattr(exc.__cause__, "diag", None)
    if diagnosis is not None:
        return _by_name().get(diagnosis.constraint_name or "") or _by_columns().get(
            _columns_of_pg_name(diagnosis.table_name, diagnosis.message_detail)
        )
    text = str(exc)
    if match := re.search(r"constraint failed: (?:index ')?([\w]+)'?$", text):
        return _by_name().get(match[1])
    if match := re.fullmatch(r"UNIQUE constraint failed: (.+)", text):
        return _by_columns().get(frozenset(match[1].split(", ")))
    return None


def is_missing_reference(exc: IntegrityError) -> bool:
    """Return True if a row refers to a row that was just deleted, or if a deleted row is still referenced."""
    return getattr(exc.__cause__, "sqlstate", None) == "23503" or str(exc) == "FOREIGN KEY constraint failed"


def _columns_of_pg_name(table: str | None, detail: str | None) -> frozenset[str]:
    """Return the columns in the detail of a PostgreSQL error, ``Key (a, b)=(…) already exists``."""
    match = re.match(r"Key \(([\w, ]+)\)=", detail or "")
    return frozenset(f"{table}.{column}" for column in match[1].split(", ")) if match else frozenset()


@cache
def _by_name() -> dict[str, ConstraintViolation]:
    return {constraint.name: _build_violation(model, constraint) for model, constraint in _constraints()}


@cache
def _by_columns() -> dict[frozenset[str], ConstraintViolation]:
    violations: dict[frozenset[str], ConstraintViolation] = {}
    for model, constraint in _constraints():
        if isinstance(constraint, UniqueConstraint) and constraint.fields:
            columns = [model._meta.get_field(name).column for name in constraint.fields]  # type: ignore[union-attr]
            key = frozenset(f"{model._meta.db_table}.{column}" for column in columns)
            violations[key] = _build_violation(model, constraint)
    for model in apps.get_models():
        for field in model._meta.local_concrete_fields:
            if field.unique and not field.primary_key:
                key = frozenset({f"{model._meta.db_table}.{field.column}"})
                violations[key] = ConstraintViolation(field.name, TAKEN)
    return violations


def _constraints() -> Iterator[tuple[type[Model], UniqueConstraint | CheckConstraint]]:
    for model in apps.get_models():
        for constraint in model._meta.constraints:
            if isinstance(constraint, UniqueConstraint | CheckConstraint):
                yield model, constraint


def _build_violation(model: type[Model], constraint: UniqueConstraint | CheckConstraint) -> ConstraintViolation:
    """Return the message and the field. The field is the ``violation_error_code`` if set, otherwise the first field."""
    message = constraint.violation_error_message
    if message == BaseConstraint.default_violation_error_message:
        message = TAKEN if isinstance(constraint, UniqueConstraint) else INVALID
    return ConstraintViolation(constraint.violation_error_code or _first_field(model, constraint), str(message))


def _first_field(model: type[Model], constraint: UniqueConstraint | CheckConstraint) -> str:
    if isinstance(constraint, CheckConstraint):
        names = [name.split("__")[0] for name in _names_in(constraint.condition)]
    else:
        names = list(constraint.fields) or [
            name for expression in constraint.expressions for name in _names_in(expression)
        ]
    own = {field.name for field in model._meta.concrete_fields}
    return next((name for name in names if name in own and name != "shop"), "base")


def _names_in(expression: object) -> Iterator[str]:
    """Yield the field names in a condition or expression, from left to right."""
    if isinstance(expression, tuple) and isinstance(expression[0], str):
        yield expression[0]
        yield from _names_in(expression[1])
    elif hasattr(expression, "children"):
        for child in expression.children:
            yield from _names_in(child)
    elif hasattr(expression, "name") and isinstance(expression.name, str):
        yield expression.name
    elif hasattr(expression, "get_source_expressions"):
        for source in expression.get_source_expressions():
            yield from _names_in(source)
