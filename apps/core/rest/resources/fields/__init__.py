"""Fields of resources, with strict validation and compiled rendering.

For input, a field validates one JSON value and raises the API's error messages. For output, a field names the
database columns and, unless the stored value is rendered unchanged, a function that renders the value.
``apps.core.rest.reading.query_plans`` compiles the fields into one function per resource and version, so reading a row
does not call field methods.
"""

from apps.core.rest.resources.fields.base import MESSAGES, AnyField, ApiField, Check, ModelDerivedField, Render
from apps.core.rest.resources.fields.read_only import ComputedField, ConstantField, ReadOnlyColumn, global_id_field
from apps.core.rest.resources.fields.scalar import (
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
