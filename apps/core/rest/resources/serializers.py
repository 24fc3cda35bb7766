"""The base class for resource serializers, and the validation of request bodies.

A serializer class declares the fields that a resource renders and accepts. DRF builds the fields from the model, once
per class. ``apps.core.rest.reading.query_plans`` compiles the fields for reading, and this module validates bodies with
them. No request creates a serializer.

Database constraints are not checked before writing. ``apps.core.db.constraint_errors`` converts a violated constraint
to an ordinary error response.
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from types import GenericAlias
from typing import Any, ClassVar, Generic, TypeVar, get_args

from django.db import models
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.utils.model_meta import FieldInfo, get_field_info
from rest_framework.validators import UniqueValidator

from apps.core.rest.exceptions import BASE, Unprocessable
from apps.core.rest.resources import fields as api
from apps.core.types import Attrs, Errors, RequestData

M = TypeVar("M", bound=models.Model)
# A body field: the name, the model attribute, the field and the validation function.
_BodyField = tuple[str, str, api.ApiField, api.Check]


AnyColumn = models.Field[Any, Any]


class _Body(dict[str, object]):
    """The namespace of a serializer class. Declaring a field twice raises an error."""

    def __setitem__(self, name: str, value: object) -> None:
        if isinstance(self.get(name), serializers.Field):
            raise TypeError(f"The field {name!r} is declared twice")
        super().__setitem__(name, value)


class ResourceMetaclass(serializers.SerializerMetaclass):
    """Collects the fields in declaration order. Overriding a field does not change the field's position."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **kwargs: object) -> _Body:
        return _Body()

    @classmethod
    def _get_declared_fields(cls, bases: Sequence[type], attrs: Attrs) -> dict[str, api.AnyField]:
        fields: dict[str, api.AnyField] = {}
        for base in reversed(bases):
            fields |= getattr(base, "_declared_fields", {})
        fields |= {name: attrs.pop(name) for name, value in [*attrs.items()] if isinstance(value, serializers.Field)}
        return {name: field for name, field in fields.items() if name not in attrs}


class ResourceSerializer(serializers.ModelSerializer[M], Generic[M], metaclass=ResourceMetaclass):
    """A resource of the API.

    Fields are declared in the order in which they are rendered. ``ModelDerivedField()`` declares a field that is built
    from the model column, and ``name = None`` removes an inherited field. ``Meta.model`` is the model in the brackets
    after the base class, by default. ``Meta.fields`` selects and orders inherited fields.
    """

    # Subclasses of these columns get the field of their base class.
    serializer_field_mapping: ClassVar[dict[type[AnyColumn], type[api.AnyField]]] = {
        models.BooleanField: api.BooleanField,
        models.CharField: api.TextField,
        models.DateField: api.DateField,
        models.DateTimeField: api.DateTimeField,
        models.DecimalField: api.DecimalField,
        models.EmailField: api.EmailField,
        models.FloatField: api.FloatField,
        models.IntegerField: api.IntegerField,
        models.JSONField: api.JsonField,
        models.TextField: api.TextField,
        models.URLField: api.UrlField,
    }
    serializer_choice_field = api.ChoiceField
    id: api.ApiField | None = api.ReadOnlyColumn("pk")

    class Meta:
        model: type[models.Model]

    # DRF's method returns the class without the model in the brackets.
    __class_getitem__: Any = classmethod(GenericAlias)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "Meta" not in vars(cls):
            for base in vars(cls).get("__orig_bases__", ()):
                cls.Meta = type("Meta", (), {"model": get_args(base)[0]})  # type: ignore[misc, assignment]
        if unknown := [name for name in getattr(cls.Meta, "fields", ()) if name not in cls._declared_fields]:
            raise TypeError(f"{cls.__name__} does not declare {', '.join(unknown)}")

    def get_fields(self) -> dict[str, api.AnyField]:
        declared = deepcopy(self._declared_fields)
        columns = get_field_info(self.Meta.model)
        return {
            name: self._build_field(name, declared[name], columns) for name in getattr(self.Meta, "fields", declared)
        }

    def _build_field(self, name: str, field: api.AnyField, columns: FieldInfo) -> api.AnyField:
        if not isinstance(field, api.ModelDerivedField):
            return field
        kind, options = self.build_standard_field(name, columns.fields_and_pk[name])
        return kind(**self.include_extra_kwargs(options, field.options))

    def build_standard_field(self, field_name: str, model_field: AnyColumn) -> tuple[type[api.AnyField], Attrs]:
        """Build a field without a unique validator; the database checks uniqueness."""
        field_class, kwargs = super().build_standard_field(field_name, model_field)
        if "validators" in kwargs:
            kwargs["validators"] = [rule for rule in kwargs["validators"] if not isinstance(rule, UniqueValidator)]
        return field_class, kwargs

    def validate_across_fields(self, attrs: Attrs, instance: M | None, errors: Errors) -> None:
        """Check rules that involve several fields. Overrides add to ``errors`` or complete ``attrs``."""


Resource = type[ResourceSerializer[Any]]


@cache
def get_declared_fields(serializer: Resource) -> dict[str, api.ApiField]:
    """Return the fields of a resource. Requests share these objects, because fields do not store request data."""
    return {name: _require_api_field(field) for name, field in get_serializer(serializer).fields.items()}


def _require_api_field(field: api.AnyField) -> api.ApiField:
    if not isinstance(field, api.ApiField):
        raise TypeError(f"{field} is not an ApiField")
    return field


def get_writable_fields(serializer: Resource, version: str) -> list[api.ApiField]:
    return [
        field
        for field in get_declared_fields(serializer).values()
        if not field.read_only and field.version_range.includes(version)
    ]


@cache
def _get_body_fields(serializer: Resource, version: str) -> list[_BodyField]:
    return [
        (str(field.field_name), str(field.source), field, field.get_validator(version))
        for field in get_writable_fields(serializer, version)
    ]


def validate_body(
    serializer: type[ResourceSerializer[M]], version: str, data: RequestData, *, instance: M | None = None
) -> Attrs:
    """Validate a body against a resource, and return the model attributes. Unknown and read-only keys are ignored.

    Only a create (without an ``instance``) requires the required fields and sets the defaults. ``Unprocessable``
    contains the messages of all invalid fields: ``{field: [messages]}``.
    """
    attrs, errors = check_body(serializer, version, data, instance=instance)
    if errors:
        raise Unprocessable(errors)
    return attrs


def check_body(
    serializer: type[ResourceSerializer[M]], version: str, data: RequestData, *, instance: M | None = None
) -> tuple[Attrs, Errors]:
    """Validate a body like ``validate_body``, but return the error messages instead of raising an exception."""
    attrs: Attrs = {}
    errors: Errors = {}
    for name, source, field, check in _get_body_fields(serializer, version):
        value = data.get(name, empty)
        try:
            checked = empty if value is empty else api.check_value(field, check, value, updating=instance is not None)
        except serializers.ValidationError as error:
            if value in ("", None) and instance is None and field.required:
                errors[name] = list(field.missing_messages)
            else:
                errors.update(flatten_errors(error.detail, name))
            continue
        if checked is not empty:
            attrs[source] = checked
        elif instance is None and field.required:
            errors[name] = list(field.missing_messages)
        elif instance is None and field.default is not empty:
            attrs[source] = field.default() if callable(field.default) else field.default
    get_serializer(serializer).validate_across_fields(attrs, instance, errors)
    return attrs, errors


@cache
def get_serializer(serializer: type[ResourceSerializer[M]]) -> ResourceSerializer[M]:
    return serializer()


def flatten_errors(detail: object, prefix: str = "") -> Errors:
    """Convert DRF's nested error details to lists of messages, keyed by dotted field name."""
    if isinstance(detail, list) and not any(isinstance(item, dict | list) and item for item in detail):
        return {prefix or BASE: [str(item) for item in detail if not isinstance(item, dict | list)]}
    errors: Errors = {}
    items = detail.items() if isinstance(detail, dict) else enumerate(detail if isinstance(detail, list) else [detail])
    for key, inner in items:
        if inner:
            path = f"{prefix}.{key}" if prefix else str(key)
            errors.update(flatten_errors(inner if isinstance(inner, dict | list) else [inner], path))
    return errors
