"""List filters, based on django-filter, with strict validation.

A resource's filter set inherits the filters that all lists share and adds its own filters. An invalid value causes a
400 with the parameter's name. Unknown parameters are ignored and never reach the ORM.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import django_filters
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.utils import timezone

from apps.core.db import sort_tables
from apps.core.i18n.error_messages import INVALID, NOT_A_NUMBER, at_most_ids, one_of
from apps.core.rest.exceptions import BadRequest
from apps.core.tenancy.scope import get_current_shop
from apps.core.timestamps import SECOND, InvalidDate, parse_timestamp, truncate_to_second

MAX_IDS = 250
M = TypeVar("M", bound=Model)
_ID = re.compile(r"[0-9]{1,19}", re.ASCII)


def parse_id(text: str) -> int:
    """Parse an id of at most 64 bits from a query, or raise a ``ValidationError``."""
    if not _ID.fullmatch(text) or int(text) >= 2**63:
        raise ValidationError(INVALID)
    return int(text)


class _IdField(forms.Field):
    def to_python(self, value: str | None) -> int | None:
        return None if value is None else parse_id(value)


class _IdsField(forms.Field):
    def to_python(self, value: str | None) -> list[int] | None:
        if value is None:
            return None
        ids = [parse_id(part.strip()) for part in value.split(",")]
        if len(ids) > MAX_IDS:
            raise ValidationError(at_most_ids(MAX_IDS))
        if not all(ids):
            raise ValidationError(INVALID)
        return ids


class _MomentField(forms.Field):
    def to_python(self, value: str | None) -> datetime | None:
        if value is None:
            return None
        try:
            return parse_timestamp(value, get_current_shop().tzinfo)
        except InvalidDate:
            raise ValidationError("is not a valid date") from None


class _WordField(forms.Field):
    def __init__(self, *, words: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.words = words

    def to_python(self, value: str | None) -> str | None:
        if value is not None and value not in self.words:
            raise ValidationError(one_of(self.words))
        return value


class _IntegerField(forms.Field):
    def to_python(self, value: str | None) -> int | None:
        if value is None:
            return None
        if not re.fullmatch(r"-?[0-9]{1,18}", value, re.ASCII):
            raise ValidationError(NOT_A_NUMBER)
        return int(value)


class ApiFilter(django_filters.Filter):
    """The base class for filters. A filter also applies if the parameter's value is blank."""

    field_class: type[forms.Field] = forms.Field

    def filter(self, qs: QuerySet[Model], value: Any) -> QuerySet[Model]:
        if value is None:
            return qs
        lookup = f"{self.field_name}__{self.lookup_expr}"
        return (qs.exclude if self.exclude else qs.filter)(**{lookup: value})


class TextFilter(ApiFilter):
    """Matches rows in which the column equals the given string."""


class IdFilter(ApiFilter):
    field_class = _IdField


class IdsFilter(ApiFilter):
    """Matches rows with one of at most 250 comma-separated ids."""

    field_class = _IdsField

    def __init__(self, field_name: str = "id") -> None:
        super().__init__(field_name, "in")


class DateTimeFilter(ApiFilter):
    """Matches rows with a time not before (``gte``) or not after (``lte``) the given time, in whole seconds."""

    field_class = _MomentField

    def filter(self, qs: QuerySet[Model], value: datetime | None) -> QuerySet[Model]:
        """Return the matching rows. Columns store fractions of a second, so ``lte`` includes the whole second."""
        if value is None:
            return qs
        second = truncate_to_second(value)
        lookup, bound = ("lt", second + SECOND) if self.lookup_expr == "lte" else ("gte", second)
        return qs.filter(sort_tables.filter_sort_column(qs.model, self.field_name, lookup, bound))


class ChoiceFilter(ApiFilter):
    field_class = _WordField


class IntegerFilter(ApiFilter):
    field_class = _IntegerField


class PublishedFilter(ChoiceFilter):
    """The ``published_status`` filter (``published``, ``unpublished`` or ``any``) for a ``published_at`` column."""

    def __init__(self) -> None:
        super().__init__("published_at", words=("published", "unpublished", "any"))

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """Return the matching rows; a publication date in the future counts as unpublished."""
        now = timezone.now()
        if value == "published":
            return qs.filter(published_at__lte=now)
        if value == "unpublished":
            return qs.exclude(published_at__lte=now)
        return qs


class ResourceFilter(django_filters.FilterSet):
    """The filters that every list has: ids, and ranges of creation and update times."""

    ids = IdsFilter()
    since_id = IdFilter("id", "gt")
    created_at_min = DateTimeFilter("created_at", "gte")
    created_at_max = DateTimeFilter("created_at", "lte")
    updated_at_min = DateTimeFilter("updated_at", "gte")
    updated_at_max = DateTimeFilter("updated_at", "lte")


def filter_sort_table(
    filterset: type[ResourceFilter], parameters: Mapping[str, str], model: type[Model]
) -> QuerySet[Any] | None:
    """Return the matching sort table rows, which are faster to count and sort than the model's wide rows.

    Return None if the sort table lacks a column of the filters, or if the model has no sort table.
    """
    filters = [filterset.base_filters[name] for name in parameters.keys() & filterset.base_filters.keys()]
    if not filters or not all(isinstance(filter_, DateTimeFilter) for filter_ in filters):
        return None
    columns = {filter_.field_name for filter_ in filters}
    for sort_table in sort_tables.get_sort_tables(model).values():
        if columns <= {field.name for field in sort_table._meta.concrete_fields}:
            return apply_filters(
                filterset, dict(parameters), sort_table._default_manager.filter(shop=get_current_shop())
            )
    return None


def apply_filters(filterset: type[ResourceFilter], parameters: dict[str, str], queryset: QuerySet[M]) -> QuerySet[M]:
    """Return the rows that match the parameters. Invalid values raise ``BadRequest`` with ``{parameter: message}``."""
    if not parameters.keys() & filterset.base_filters.keys():
        return queryset
    bound = filterset(parameters, queryset=queryset)
    if not bound.is_valid():
        raise BadRequest({name: str(messages[0]) for name, messages in bound.errors.items()})
    return bound.qs
