"""Count the related rows that a deletion cascades to.

The rows are not loaded, because a customer can have 100,000 related rows.

Model names mean little to staff. Apps can register clearer labels for related rows (``delete_labels``) or hide rows
that are only part of another listed object (``hidden_models``).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import CASCADE, PROTECT, RESTRICT, ForeignObjectRel, Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from apps.core.i18n import formats
from apps.core.registry import Registry

MAX_COUNT = 1_000
MAX_NAMED_ROWS = 20
MAX_DELETED_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class DeleteLabel:
    """The label of a model's rows on the delete page, optionally only when rows of ``deleted_model`` are deleted."""

    model: type[Model]
    singular: StrOrPromise
    plural: StrOrPromise
    deleted_model: type[Model] | None = None


delete_labels = Registry[tuple[type[Model], type[Model] | None], DeleteLabel](
    "labels on the delete page", get_key=attrgetter("model", "deleted_model")
)
# Models that are hidden, because their rows are only part of other listed objects.
hidden_models = Registry[type[Model], type[Model]]("hidden models on the delete page", get_key=lambda model: model)


@dataclass
class RelatedRows:
    """The related rows that are deleted together with rows of ``of``, and the reasons that prevent the deletion."""

    of: type[Model]
    counts: dict[type[Model], int] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    obstacles: list[str] = field(default_factory=list)

    def format_counts(self) -> dict[str, str]:
        return {self._get_label(model, count): _format_number(count) for model, count in self.counts.items() if count}

    def _get_label(self, model: type[Model], count: int) -> str:
        label = delete_labels.get((model, self.of)) or delete_labels.get((model, None))
        return str(label.singular if count == 1 else label.plural) if label else _get_model_name(model, count)


def count_related_rows(
    rows: "QuerySet[Any]", request: HttpRequest, model_admins: dict[type[Model], ModelAdmin[Any]]
) -> RelatedRows:
    """Count related rows with one query per relation. Each count stops at ``MAX_COUNT``."""
    model: type[Model] = rows.model
    related = RelatedRows(model)
    if rows.order_by()[: MAX_DELETED_ROWS + 1].count() > MAX_DELETED_ROWS:
        related.obstacles.append(
            _("You selected more than {limit} rows. Select fewer rows.").format(
                limit=formats.format_integer(MAX_DELETED_ROWS)
            )
        )
        return related
    cascading = _find_cascading_models(model)
    pending: list[tuple[type[Model], QuerySet[Any]]] = [(model, rows.order_by())]
    visited: set[tuple[type[Model], str]] = set()
    while pending:
        current, current_rows = pending.pop()
        _add_count(related, current, current_rows, request, model_admins)
        for relation in _get_relations(current):
            on_delete, related_model = relation.on_delete, relation.related_model
            if (related_model, relation.field.name) in visited:
                continue
            visited.add((related_model, relation.field.name))
            related_rows = related_model._base_manager.filter(
                **{f"{relation.field.name}__in": current_rows.values("pk")}
            )
            if on_delete is CASCADE:
                if related_rows.exists():
                    pending.append((related_model, related_rows))
            elif (on_delete is PROTECT or (on_delete is RESTRICT and related_model not in cascading)) and (
                count := related_rows[:MAX_COUNT].count()
            ):
                related.obstacles.append(f"{_format_number(count)} {_get_model_name(related_model, count)}")
    return related


def _add_count(
    related: RelatedRows,
    model: type[Model],
    rows: "QuerySet[Any]",
    request: HttpRequest,
    model_admins: dict[type[Model], ModelAdmin[Any]],
) -> None:
    if model not in hidden_models:
        related.counts[model] = min(related.counts.get(model, 0) + rows[:MAX_COUNT].count(), MAX_COUNT)
    model_admin = model_admins.get(model)
    if model_admin is not None and not model_admin.has_delete_permission(request):
        related.forbidden.add(str(model._meta.verbose_name))


def _get_relations(model: type[Model]) -> Iterator[ForeignObjectRel]:
    concrete = model._meta.concrete_model or model
    for relation in concrete._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and (relation.one_to_one or relation.one_to_many):
            yield relation


def _find_cascading_models(model: type[Model]) -> set[type[Model]]:
    models: set[type[Model]] = set()
    pending = [model]
    while pending:
        for relation in _get_relations(pending.pop()):
            if relation.on_delete is CASCADE and relation.related_model not in models:
                models.add(relation.related_model)
                pending.append(relation.related_model)
    return models


def _get_model_name(model: type[Model], count: int) -> str:
    return str(model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural)


def _format_number(count: int) -> str:
    number = formats.format_integer(count)
    return _("{number} or more").format(number=number) if count >= MAX_COUNT else number
