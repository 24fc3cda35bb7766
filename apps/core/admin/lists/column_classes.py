"""Find the columns of a list with numbers, days, email addresses or related rows, which panel.css aligns."""

from typing import Any

from django.contrib.admin.utils import NotRelationField, get_fields_from_path
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DecimalField, EmailField, Field, FloatField, IntegerField, Model

NUMBER, EMAIL, RELATED, DAY = "bo-number", "bo-email", "bo-related", "bo-day"


def get_column_class(model_admin: Any, name: Any) -> str:
    """Return the CSS class of a column, or an empty string.

    The class depends on the model field that the column shows or is sorted by. ``numeric_columns`` of the model admin
    names columns with calculated numbers, and ``day_columns`` names columns that show the day of a time.
    """
    if name in model_admin.day_columns:
        return DAY
    if name in model_admin.numeric_columns:
        return NUMBER
    column = getattr(model_admin, name, None) if isinstance(name, str) else name
    if getattr(column, "label", None) or getattr(column, "boolean", False):
        return ""
    path = getattr(column, "path", "") or getattr(column, "admin_order_field", "") or name
    field = _find_field(model_admin.model, path) if isinstance(path, str) else None
    return "" if field is None else _get_field_class(field)


def _get_field_class(field: Field[Any, Any]) -> str:
    if field.primary_key or field.choices:
        return ""
    if field.is_relation:
        return RELATED
    if isinstance(field, EmailField) or field.name == "email":
        return EMAIL
    return NUMBER if isinstance(field, DecimalField | FloatField | IntegerField) else ""


def _find_field(model: type[Model], path: str) -> Field[Any, Any] | None:
    try:
        field = get_fields_from_path(model, path.lstrip("-").replace(".", "__"))[-1]
    except (FieldDoesNotExist, NotRelationField):
        return None
    return field if isinstance(field, Field) else None
