"""Describe the active filters of a list as chips, each with a link that removes the filter.

A typed filter with invalid input has no chip. The list shows an error and no rows instead.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.contrib import admin
from django.contrib.admin import ListFilter
from django.contrib.admin.views.main import ALL_VAR, PAGE_VAR, SEARCH_VAR, ChangeList
from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.core.admin.lists import saved_views
from apps.core.admin.lists.row_ids import is_possible_id
from apps.core.admin.lists.typed_filters import TypedFilter

# The view filter needs no chip, because the list shows the choices of this filter as tabs.
VIEW_FILTER = "view"
MAX_CHIP_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Chip:
    text: str
    url_without: str


@dataclass(frozen=True, slots=True)
class ActiveFilters:
    chips: list[Chip]
    invalid: list[Chip]
    url_without: str

    def __bool__(self) -> bool:
        return bool(self.chips or self.invalid)


def get_active_filters(change_list: ChangeList, request: HttpRequest) -> ActiveFilters:
    """Return the active filters of a list: search, list filters, then other parameters of the URL."""
    invalid = list(_find_invalid_filters(change_list))
    invalid_names = {name for _text, names in invalid for name in names}
    valid = [
        (text, names) for text, names in _find_active_filters(change_list, request) if invalid_names.isdisjoint(names)
    ]
    chips = [Chip(text[:MAX_CHIP_LENGTH], _build_url_without(change_list, names)) for text, names in valid]
    problems = [Chip(text, _build_url_without(change_list, names)) for text, names in invalid]
    return ActiveFilters(
        chips,
        problems,
        _build_url_without(change_list, [name for _text, names in (*valid, *invalid) for name in names]),
    )


def _find_invalid_filters(change_list: ChangeList) -> Iterator[tuple[str, list[str]]]:
    for spec in change_list.filter_specs:
        if isinstance(spec, TypedFilter) and spec.problems:
            template = _("“{typed}” is not a valid value for the {filter} filter. {problem}")
            problems = (
                template.format(typed=spec.typed[name][:MAX_CHIP_LENGTH], filter=capfirst(spec.title), problem=problem)
                for name, problem in spec.problems.items()
            )
            yield " ".join(problems), spec.expected_parameters()


def _find_active_filters(change_list: ChangeList, request: HttpRequest) -> Iterator[tuple[str, list[str]]]:
    if change_list.query:
        yield _("Search: “{words}”").format(words=change_list.query), [SEARCH_VAR]
    parameters = {
        name: values for name, values in change_list.get_filters_params().items() if any(map(str.strip, values))
    }
    parameters.pop(VIEW_FILTER, None)
    for spec in change_list.filter_specs:
        names = [str(name) for name in spec.expected_parameters() if name in parameters]
        if names:
            values = [value for name in names for value in parameters.pop(name)]
            yield f"{capfirst(spec.title)}: {_describe_choice(change_list, spec) or ', '.join(map(str, values))}", names
    for name, values in parameters.items():
        texts = _get_row_names(change_list, request, name, values) or map(str, values)
        yield f"{_get_label(change_list, name)}: {', '.join(texts)}", [name]


def _describe_choice(change_list: ChangeList, spec: ListFilter) -> str:
    return ", ".join(str(choice["display"]) for choice in spec.choices(change_list) if choice["selected"])


def _get_label(change_list: ChangeList, name: str) -> str:
    try:
        field = change_list.lookup_opts.get_field(name.partition(LOOKUP_SEP)[0])
    except FieldDoesNotExist:
        return name
    return capfirst(str(getattr(field, "verbose_name", name)))


def _get_row_names(change_list: ChangeList, request: HttpRequest, name: str, values: Sequence[str]) -> list[str]:
    """Return the names of related rows that a parameter such as ``customer__id__exact`` selects by ID.

    The list is empty for other parameters, for unknown IDs, and for rows that the user may not view.
    """
    field_name, *lookups = name.split(LOOKUP_SEP)
    if not all(map(is_possible_id, values)) or not {"id", "pk", "exact"}.issuperset(lookups):
        return []
    try:
        field = change_list.lookup_opts.get_field(field_name)
    except FieldDoesNotExist:
        return []
    model = field.related_model if isinstance(field, ForeignKey) else None
    model_admin = admin.site._registry.get(model) if isinstance(model, type) else None
    if model_admin is None or not model_admin.has_view_permission(request):
        return []
    rows = model_admin.get_queryset(request).filter(pk__in=values)
    return [str(row) for row in rows]


def _build_url_without(change_list: ChangeList, names: list[str]) -> str:
    """Return the URL of the list without the named parameters.

    An empty query string would open the user's default view, so it becomes ``?all=1``.
    """
    query_string = str(change_list.get_query_string(dict.fromkeys([*names, PAGE_VAR])))
    return query_string if saved_views.normalize_query(query_string.removeprefix("?")) else f"?{ALL_VAR}=1"
