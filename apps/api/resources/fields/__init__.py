"""The fields of which resources are made: strict on the way in, compiled on the way out.

On the way in a field checks one JSON value; its messages are those of the interface. On the way out it names the
database columns it is made of and, where the column is not shown as it is, a function that renders them; the kit
compiles these into one row builder per resource and version (``apps.api.rows.plans``) and calls no field per row.
"""

from apps.api.resources.fields.base import MESSAGES, AnyField, ApiField, Check, FromModel, Render
from apps.api.resources.fields.shown import Column, Computed, Constant, GlobalId
from apps.api.resources.fields.values import (
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
    "Column",
    "Computed",
    "Constant",
    "DateField",
    "DateTimeField",
    "DecimalField",
    "EmailField",
    "FloatField",
    "FromModel",
    "GlobalId",
    "IntegerField",
    "JsonField",
    "PublishedField",
    "Render",
    "TagsField",
    "TextField",
    "UrlField",
]
