"""What goes when rows are deleted, counted and not collected: of a best customer there are a hundred thousand rows.

It is told in words for people. What a table is called says little of what its rows are to them, so the apps say it
(``tell_as``), or that a table's rows are no more than part of something that is told (``tell_nothing_of``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import CASCADE, PROTECT, RESTRICT, ForeignObjectRel, Model, QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from apps.ground import languages

COUNTED = 1_000
NAMED = 20
AT_ONCE = 1_000


# What one row of a model is called, and several: everywhere, or where rows of a second model are deleted.
_words: dict[tuple[type[Model], type[Model] | None], tuple[StrOrPromise, StrOrPromise]] = {}
_untold: set[type[Model]] = set()


def tell_as(model: type[Model], one: StrOrPromise, many: StrOrPromise, *, with_: type[Model] | None = None) -> None:
    """Say what rows of a model are called where they go along.

    Args:
        model: Theirs.
        one: One of them, such as "earlier text".
        many: Several.
        with_: Where rows of this model are deleted; otherwise everywhere.
    """
    _words[model, with_] = one, many


def tell_nothing_of(*models: type[Model]) -> None:
    """Leave rows out that say nothing to people beside what is told already."""
    _untold.update(models)


def is_told(model: type[Model], of: type[Model]) -> bool:
    """Whether somebody chose words for a model's rows, or none, where rows of another model are deleted."""
    return model in _untold or (model, of) in _words or (model, None) in _words


@dataclass
class Going:
    """What goes along with some rows.

    Attributes:
        of: The model of the rows.
        counts: By model, how much there is; at most ``COUNTED``.
        forbidden: What of it the person may not delete.
        keeping: What there is that keeps the rows from being deleted.
    """

    of: type[Model]
    counts: dict[type[Model], int] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    keeping: list[str] = field(default_factory=list)

    def shown(self) -> dict[str, str]:
        """For people: by what is counted, how many."""
        return {self._called(model, count): _number(count) for model, count in self.counts.items() if count}

    def _called(self, model: type[Model], count: int) -> str:
        names = str(model._meta.verbose_name), str(model._meta.verbose_name_plural)
        one, many = _words.get((model, self.of)) or _words.get((model, None)) or names
        return str(one if count == 1 else many)


def going_with(rows: "QuerySet[Any]", request: HttpRequest, screens: dict[type[Model], ModelAdmin[Any]]) -> Going:
    """Count what goes with rows: one question for each relation, and none of them reads more than a thousand rows."""
    model: type[Model] = rows.model
    going = Going(model)
    if rows.order_by()[: AT_ONCE + 1].count() > AT_ONCE:
        going.keeping.append(
            _("There are more than {limit}: choose fewer at once.").format(limit=languages.count(AT_ONCE))
        )
        return going
    cascading = _cascading(model)
    waiting: list[tuple[type[Model], QuerySet[Any]]] = [(model, rows.order_by())]
    seen: set[tuple[type[Model], str]] = set()
    while waiting:
        here, those = waiting.pop()
        _note(going, here, those, request, screens)
        for relation in _relations(here):
            how, other = relation.on_delete, relation.related_model
            if (other, relation.field.name) in seen:
                continue
            seen.add((other, relation.field.name))
            further = other._base_manager.filter(**{f"{relation.field.name}__in": those.values("pk")})
            if how is CASCADE:
                if further.exists():
                    waiting.append((other, further))
            elif how is PROTECT or (how is RESTRICT and other not in cascading):
                _keep(going, other, further)
    return going


def _note(
    going: Going,
    model: type[Model],
    rows: "QuerySet[Any]",
    request: HttpRequest,
    screens: dict[type[Model], ModelAdmin[Any]],
) -> None:
    if model not in _untold:
        going.counts[model] = min(going.counts.get(model, 0) + rows[:COUNTED].count(), COUNTED)
    screen = screens.get(model)
    if screen is not None and not screen.has_delete_permission(request):
        going.forbidden.add(str(model._meta.verbose_name))


def _keep(going: Going, model: type[Model], rows: "QuerySet[Any]") -> None:
    if count := rows[:COUNTED].count():
        called = model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural
        going.keeping.append(f"{_number(count)} {called}")


def _relations(model: type[Model]) -> Iterator[ForeignObjectRel]:
    concrete = model._meta.concrete_model or model
    for relation in concrete._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and (relation.one_to_one or relation.one_to_many):
            yield relation


def _cascading(model: type[Model]) -> set[type[Model]]:
    """The models of which rows go along with rows of one."""
    found: set[type[Model]] = set()
    waiting = [model]
    while waiting:
        for relation in _relations(waiting.pop()):
            if relation.on_delete is CASCADE and relation.related_model not in found:
                found.add(relation.related_model)
                waiting.append(relation.related_model)
    return found


def _number(count: int) -> str:
    number = languages.count(count)
    return _("{number} or more").format(number=number) if count >= COUNTED else number


def named(rows: Sequence[Any], model: type[Model]) -> list[str]:
    """Rows by name, for the page that asks."""
    called = capfirst(str(model._meta.verbose_name))
    return [f"{called}: {row}" for row in rows]
