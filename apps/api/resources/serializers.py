"""The declaration of a resource: a model serializer with the interface's fields.

The class says, once, what a resource shows and what it takes. DRF's machinery builds the fields from the model; the kit
builds them once per class, compiles reading into plans (``apps.api.rows.plans``) and checks bodies here, field by
field, without making a serializer per request.

A constraint of the database is not asked for beforehand: its breach is a refusal like any other
(``apps.ground.constraints``).
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from django.db import models
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.utils.model_meta import FieldInfo, get_field_info
from rest_framework.validators import UniqueValidator

from apps.api.errors import BASE, Unprocessable
from apps.api.resources import fields as api
from apps.api.shapes import Attrs, Data, Errors

M = TypeVar("M", bound=models.Model)
# The name in a body, the attribute that it becomes, the field, and the function that checks the value.
_Taken = tuple[str, str, api.ApiField, api.Check]


AnyColumn = models.Field[Any, Any]


class _Body(dict[str, object]):
    """The body of a class, in which no field may be declared twice."""

    def __setitem__(self, name: str, value: object) -> None:
        if isinstance(self.get(name), serializers.Field):
            raise TypeError(f"The field {name!r} is declared twice")
        super().__setitem__(name, value)


class ResourceMetaclass(serializers.SerializerMetaclass):
    """Collects the fields in the order of the class body; one that overrides another takes its place."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **kwargs: object) -> _Body:
        """The namespace of a class body."""
        return _Body()

    @classmethod
    def _get_declared_fields(cls, bases: Sequence[type], attrs: Attrs) -> dict[str, api.AnyField]:
        found: dict[str, api.AnyField] = {}
        for base in reversed(bases):
            found |= getattr(base, "_declared_fields", {})
        found |= {name: attrs.pop(name) for name, value in [*attrs.items()] if isinstance(value, serializers.Field)}
        return {name: field for name, field in found.items() if name not in attrs}


class ResourceSerializer(serializers.ModelSerializer[M], Generic[M], metaclass=ResourceMetaclass):
    """A resource of the interface.

    Its fields are declared in the order in which they are shown, once: ``FromModel()`` is the field that the model's
    column makes, and ``name = None`` leaves an inherited one out. ``Meta`` has ``model``; ``Meta.fields`` picks and
    orders fields that are inherited.
    """

    serializer_field_mapping: ClassVar[dict[type[AnyColumn], type[api.AnyField]]] = {
        models.AutoField: api.IntegerField,
        models.BigAutoField: api.IntegerField,
        models.BigIntegerField: api.IntegerField,
        models.BooleanField: api.BooleanField,
        models.CharField: api.TextField,
        models.DateField: api.DateField,
        models.DateTimeField: api.DateTimeField,
        models.DecimalField: api.DecimalField,
        models.EmailField: api.EmailField,
        models.FloatField: api.FloatField,
        models.IntegerField: api.IntegerField,
        models.JSONField: api.JsonField,
        models.PositiveBigIntegerField: api.IntegerField,
        models.PositiveIntegerField: api.IntegerField,
        models.PositiveSmallIntegerField: api.IntegerField,
        models.SlugField: api.TextField,
        models.SmallIntegerField: api.IntegerField,
        models.TextField: api.TextField,
        models.URLField: api.UrlField,
    }
    serializer_choice_field = api.ChoiceField
    id: api.ApiField | None = api.Column("pk")

    class Meta:
        """Replaced by each resource."""

        model: type[models.Model]

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Make sure that what ``Meta`` picks is there."""
        super().__init_subclass__(**kwargs)
        if unknown := [name for name in getattr(cls.Meta, "fields", ()) if name not in cls._declared_fields]:
            raise TypeError(f"{cls.__name__} does not declare {', '.join(unknown)}")

    def get_fields(self) -> dict[str, api.AnyField]:
        """The declared fields, and those that the model makes."""
        declared = deepcopy(self._declared_fields)
        columns = get_field_info(self.Meta.model)
        return {name: self._made(name, declared[name], columns) for name in getattr(self.Meta, "fields", declared)}

    def _made(self, name: str, field: api.AnyField, columns: FieldInfo) -> api.AnyField:
        if not isinstance(field, api.FromModel):
            return field
        kind, options = self.build_standard_field(name, columns.fields_and_pk[name])
        return kind(**self.include_extra_kwargs(options, field.options))

    def build_standard_field(self, field_name: str, model_field: AnyColumn) -> tuple[type[api.AnyField], Attrs]:
        """A field of ours; uniqueness is the database's to tell."""
        field_class, kwargs = super().build_standard_field(field_name, model_field)
        if "validators" in kwargs:
            kwargs["validators"] = [rule for rule in kwargs["validators"] if not isinstance(rule, UniqueValidator)]
        return field_class, kwargs

    def check(self, attrs: Attrs, instance: M | None, errors: Errors) -> None:
        """Rules across fields: add to ``errors``, or complete ``attrs``. Nothing by default."""


Resource = type[ResourceSerializer[Any]]


@cache
def declaration(serializer: Resource) -> dict[str, api.ApiField]:
    """The fields of a resource, built once and bound to one serializer; nothing in them belongs to a request."""
    return {name: _ours(field) for name, field in declaration_of(serializer).fields.items()}


def _ours(field: api.AnyField) -> api.ApiField:
    if not isinstance(field, api.ApiField):
        raise TypeError(f"{field} is no field of the interface")
    return field


def writable(serializer: Resource, version: str) -> list[api.ApiField]:
    """The fields that a version takes."""
    return [field for field in declaration(serializer).values() if not field.read_only and field.gate.admits(version)]


@cache
def _checks(serializer: Resource, version: str) -> list[_Taken]:
    """How a body is checked in a version, field by field."""
    return [
        (str(field.field_name), str(field.source), field, field.checker(version))
        for field in writable(serializer, version)
    ]


def read_body(serializer: type[ResourceSerializer[M]], version: str, data: Data, *, instance: M | None = None) -> Attrs:
    """Check a body against a resource; all failing fields are named at once.

    Args:
        serializer: The resource.
        version: The API version of the request.
        data: The object under the resource's singular name; unknown and read-only keys are ignored.
        instance: The row to be changed; None for a create, which then demands the required fields.

    Returns:
        The model's attributes by name; on a create with the declared defaults.

    Raises:
        Unprocessable: ``{field: [messages]}``.
    """
    attrs, errors = check_body(serializer, version, data, instance=instance)
    if errors:
        raise Unprocessable(errors)
    return attrs


def check_body(
    serializer: type[ResourceSerializer[M]], version: str, data: Data, *, instance: M | None = None
) -> tuple[Attrs, Errors]:
    """Like ``read_body``, but hands the messages back."""
    attrs: Attrs = {}
    errors: Errors = {}
    for name, source, field, check in _checks(serializer, version):
        value = data.get(name, empty)
        if value is empty:
            if instance is not None:
                continue
            if field.required:
                errors[name] = list(field.missing)
            elif field.default is not empty:
                attrs[source] = field.default() if callable(field.default) else field.default
            continue
        try:
            attrs[source] = check(value)
        except serializers.ValidationError as error:
            if value in ("", None) and instance is None and field.required:
                errors[name] = list(field.missing)
            else:
                errors.update(flatten(error.detail, name))
    declaration_of(serializer).check(attrs, instance, errors)
    return attrs, errors


@cache
def declaration_of(serializer: type[ResourceSerializer[M]]) -> ResourceSerializer[M]:
    """The one instance of a resource's serializer that the kit works with."""
    return serializer()


def flatten(detail: object, prefix: str = "") -> Errors:
    """DRF's nested error details as dotted field names with lists of messages."""
    if isinstance(detail, list) and not any(isinstance(item, dict | list) and item for item in detail):
        return {prefix or BASE: [str(item) for item in detail if not isinstance(item, dict | list)]}
    found: Errors = {}
    items = detail.items() if isinstance(detail, dict) else enumerate(detail if isinstance(detail, list) else [detail])
    for key, inner in items:
        if inner:
            path = f"{prefix}.{key}" if prefix else str(key)
            found.update(flatten(inner if isinstance(inner, dict | list) else [inner], path))
    return found
