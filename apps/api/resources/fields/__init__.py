"""The fields of resources: strict validation on input, compiled rendering on output.

On input a field validates one JSON value, with the interface's error messages. On output a field names its database
columns and, if the stored value is not rendered unchanged, a function that renders it. The API kit compiles these into
one row builder per resource and version (``apps.api.rows.query_plans``), so no field is called per row.
"""

from apps.api.resources.fields.base import MESSAGES, AnyField, ApiField, Check, ModelDerivedField, Render
from apps.api.resources.fields.read_only import ComputedField, ConstantField, ReadOnlyColumn, global_id_field
from apps.api.resources.fields.scalar import (
    BooleanField,
    ChoiceField,
    DateField,
    DateTimeField,
    DecimalField,
    EmailField,
    FloatField,
    IntegerField,
    JsonField,
    PublishedField,
    TagsField,
    TextField,
    UrlField,
)

__all__ = [
    "MESSAGES",
    "AnyField",
    "ApiField",
    "BooleanField",
    "Check",
    "ChoiceField",
    "ComputedField",
    "ConstantField",
    "DateField",
    "DateTimeField",
    "DecimalField",
    "EmailField",
    "FloatField",
    "IntegerField",
    "JsonField",
    "ModelDerivedField",
    "PublishedField",
    "ReadOnlyColumn",
    "Render",
    "TagsField",
    "TextField",
    "UrlField",
    "global_id_field",
]
