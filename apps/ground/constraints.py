"""From a constraint that the database refused to the field and message of the interface.

A unique or check constraint is the only place where its rule lives; asking the database first would cost a query and
lose races. So writes just happen, and the error that the database raises is read here: PostgreSQL names the constraint,
SQLite names it or the columns.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from django.apps import apps
from django.db import IntegrityError
from django.db.models import CheckConstraint, Model, UniqueConstraint
from django.db.models.constraints import BaseConstraint

from apps.ground.phrases import INVALID, TAKEN

_DEFAULT = BaseConstraint.default_violation_error_message


@dataclass(frozen=True, slots=True)
class Breach:
    """The field that a breach is shown at, and what is said of it."""

    field: str
    message: str


def breach_of(exc: IntegrityError) -> Breach | None:
    """The breach behind a database error; None where the error comes from no declared constraint."""
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


def lacks_reference(exc: IntegrityError) -> bool:
    """Whether a row refers to one that was deleted since it was looked at, or the other way round."""
    return getattr(exc.__cause__, "sqlstate", None) == "23503" or str(exc) == "FOREIGN KEY constraint failed"


def _columns_of_pg_name(table: str | None, detail: str | None) -> frozenset[str]:
    """The columns that PostgreSQL names in its detail, ``Key (a, b)=(…) already exists``."""
    match = re.match(r"Key \(([\w, ]+)\)=", detail or "")
    return frozenset(f"{table}.{column}" for column in match[1].split(", ")) if match else frozenset()


@cache
def _by_name() -> dict[str, Breach]:
    return {constraint.name: _breach(model, constraint) for model, constraint in _constraints()}


@cache
def _by_columns() -> dict[frozenset[str], Breach]:
    found: dict[frozenset[str], Breach] = {}
    for model, constraint in _constraints():
        if isinstance(constraint, UniqueConstraint) and constraint.fields:
            columns = frozenset(f"{model._meta.db_table}.{_column(model, name)}" for name in constraint.fields)
            found[columns] = _breach(model, constraint)
    for model in apps.get_models():
        for field in model._meta.local_concrete_fields:
            if field.unique and not field.primary_key:
                found[frozenset({f"{model._meta.db_table}.{field.column}"})] = Breach(field.name, TAKEN)
    return found


def _column(model: type[Model], name: str) -> str:
    return str(model._meta.get_field(name).column)  # type: ignore[union-attr]


def _constraints() -> Iterator[tuple[type[Model], UniqueConstraint | CheckConstraint]]:
    for model in apps.get_models():
        for constraint in model._meta.constraints:
            if isinstance(constraint, UniqueConstraint | CheckConstraint):
                yield model, constraint


def _breach(model: type[Model], constraint: UniqueConstraint | CheckConstraint) -> Breach:
    """The field is the constraint's ``violation_error_code`` where given, else the first one it names."""
    message = constraint.violation_error_message
    if message == _DEFAULT:
        message = TAKEN if isinstance(constraint, UniqueConstraint) else INVALID
    return Breach(constraint.violation_error_code or _first_field(model, constraint), str(message))


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
    """The field names in a condition or an expression, left to right."""
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
