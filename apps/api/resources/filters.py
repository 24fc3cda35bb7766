"""List filters: django-filter's frame with the interface's strictness.

A resource's filter set names its own filters and inherits those that every list has. A value that does not fit is 400
and names the parameter; unknown parameters are ignored and never reach the ORM.
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

from apps.api.errors import BadRequest
from apps.ground import ranks
from apps.ground.dates import SECOND, NotADate, parse_moment, whole_second
from apps.ground.phrases import INVALID, NOT_A_NUMBER, at_most_ids, one_of
from apps.ground.tenancy import current_shop

MAX_IDS = 250
M = TypeVar("M", bound=Model)
_ID = re.compile(r"[0-9]{1,19}", re.ASCII)


def read_id(text: str) -> int:
    """An id out of a query.

    Raises:
        ValidationError: It is no number of at most 64 bits.
    """
    if not _ID.fullmatch(text) or int(text) >= 2**63:
        raise ValidationError(INVALID)
    return int(text)


class _IdField(forms.Field):
    def to_python(self, value: str | None) -> int | None:
        return None if value is None else read_id(value)


class _IdsField(forms.Field):
    def to_python(self, value: str | None) -> list[int] | None:
        if value is None:
            return None
        ids = [read_id(part.strip()) for part in value.split(",")]
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
            return parse_moment(value, current_shop().tzinfo)
        except NotADate:
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


class _TextField(forms.Field):
    def to_python(self, value: str | None) -> str | None:
        return value


class ApiFilter(django_filters.Filter):
    """A filter that is applied whenever its parameter is given, even if blank."""

    field_class: type[forms.Field] = _TextField

    def filter(self, qs: QuerySet[Model], value: Any) -> QuerySet[Model]:
        """The rows that fit."""
        if value is None:
            return qs
        lookup = f"{self.field_name}__{self.lookup_expr}"
        return (qs.exclude if self.exclude else qs.filter)(**{lookup: value})


class TextFilter(ApiFilter):
    """Equal to a text."""


class IdFilter(ApiFilter):
    """Equal to an id."""

    field_class = _IdField


class IdsFilter(ApiFilter):
    """One of at most 250 comma-separated ids."""

    field_class = _IdsField

    def __init__(self, field_name: str = "id") -> None:
        """The column, ``id`` by default."""
        super().__init__(field_name, "in")


class MomentFilter(ApiFilter):
    """From a moment on (``gte``), or up to it (``lte``); compared in whole seconds, as moments are shown."""

    field_class = _MomentField

    def filter(self, qs: QuerySet[Model], value: datetime | None) -> QuerySet[Model]:
        """The rows that fit: up to a second means before the next one, as columns keep fractions."""
        if value is None:
            return qs
        second = whole_second(value)
        lookup, bound = ("lt", second + SECOND) if self.lookup_expr == "lte" else ("gte", second)
        return qs.filter(ranks.where(qs.model, self.field_name, lookup, bound))


class WordFilter(ApiFilter):
    """One word of a list."""

    field_class = _WordField


class IntegerFilter(ApiFilter):
    """Compared with a whole number."""

    field_class = _IntegerField


class PublishedFilter(WordFilter):
    """``published_status``: ``published``, ``unpublished`` or ``any``, by a ``published_at`` column."""

    def __init__(self) -> None:
        """The three words."""
        super().__init__("published_at", words=("published", "unpublished", "any"))

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The rows that fit; a date in the future is not published yet."""
        now = timezone.now()
        if value == "published":
            return qs.filter(published_at__lte=now)
        if value == "unpublished":
            return qs.exclude(published_at__lte=now)
        return qs


class ResourceFilter(django_filters.FilterSet):
    """What every list takes: ids, since_id, and the two time stamps as ranges."""

    ids = IdsFilter()
    since_id = IdFilter("id", "gt")
    created_at_min = MomentFilter("created_at", "gte")
    created_at_max = MomentFilter("created_at", "lte")
    updated_at_min = MomentFilter("updated_at", "gte")
    updated_at_max = MomentFilter("updated_at", "lte")


def ranks_that_fit(
    filterset: type[ResourceFilter], parameters: Mapping[str, str], model: type[Model]
) -> QuerySet[Any] | None:
    """The ranks of the rows that fit, where these carry all that is asked for: they are counted and sorted alone.

    Of a model without ranks, and for other filters, None.

    Raises:
        BadRequest: ``{parameter: message}`` for every value that does not fit.
    """
    asked = [filterset.base_filters[name] for name in parameters.keys() & filterset.base_filters.keys()]
    if not asked or not all(isinstance(each, MomentFilter) for each in asked):
        return None
    columns = {each.field_name for each in asked}
    for rank in ranks.ranks_of(model).values():
        if columns <= {field.name for field in rank._meta.concrete_fields}:
            return apply_filters(filterset, dict(parameters), rank._default_manager.filter(shop=current_shop()))
    return None


def apply_filters(filterset: type[ResourceFilter], parameters: dict[str, str], queryset: QuerySet[M]) -> QuerySet[M]:
    """The rows that fit the parameters.

    Raises:
        BadRequest: ``{parameter: message}`` for every value that does not fit.
    """
    if not parameters.keys() & filterset.base_filters.keys():
        return queryset
    bound = filterset(parameters, queryset=queryset)
    if not bound.is_valid():
        raise BadRequest({name: str(messages[0]) for name, messages in bound.errors.items()})
    narrowed: QuerySet[M] = bound.qs
    return narrowed
