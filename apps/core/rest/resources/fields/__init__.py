"""Fields of resources, with strict validation and compiled rendering.

For input, a field validates one JSON value and raises the API's error messages. For output, a field names the
database columns and, unless the stored value is rendered unchanged, a function that renders the value.
``apps.core.rest.reading.query_plans`` compiles the fields into one function per resource and version, so reading a row
does not call field methods.
"""

from apps.core.rest.resources.fields.base import (
    AnyField,
    ApiField,
    Check,
    FieldOptions,
    InvalidValue,
    Render,
    TextOptions,
    check_value,
)
from apps.core.rest.resources.fields.computed import (
    ComputedField,
    ConstantField,
    ModelDerivedField,
    OptionalComputedField,
    ReadOnlyColumn,
    global_id_field,
)
from apps.core.rest.resources.fields.numbers import DecimalField, DecimalOptions, FloatField, IntegerField, PriceField
from apps.core.rest.resources.fields.scalars import (
    BooleanField,
    ChoiceField,
    DateField,
    DateTimeField,
    EmailField,
    JsonField,
    PublishedField,
    TagsField,
    TextField,
    UrlField,
)
