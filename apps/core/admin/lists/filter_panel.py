"""The filter panel of a list: links, or one form with all filters if any filter has typed input.

With a single form, submitting one filter does not discard the input in another filter.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, parse_qsl

from django.contrib.admin import ListFilter
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.utils.functional import cached_property

from apps.core.admin.lists.filter_chips import VIEW_FILTER
from apps.core.admin.lists.typed_filters import TypedFilter

_SELECT = "panel/select_filter.html"


@dataclass(frozen=True, slots=True)
class Field:
    template: str
    name: str
    title: str
    spec: ListFilter
    choices: list[Any]


class FilterPanel:
    """The filters of a list for a request, except the view filter above the list."""

    def __init__(self, change_list: ChangeList) -> None:
        self._change_list = change_list
        self.specs = [spec for spec in change_list.filter_specs if VIEW_FILTER not in spec.expected_parameters()]

    @property
    def is_form(self) -> bool:
        submitted = bool(getattr(self._change_list.model_admin, "list_filter_submit", False))
        return submitted or any(isinstance(spec, TypedFilter) for spec in self.specs)

    @cached_property
    def fields(self) -> list[Field]:
        return [self._build_field(spec) for spec in self.specs]

    @property
    def links(self) -> list[tuple[str, list[Any]]]:
        return [(str(spec.title), list(spec.choices(self._change_list))) for spec in self.specs]

    @property
    def hidden_parameters(self) -> list[tuple[str, str]]:
        own_names = [str(name) for spec in self.specs for name in spec.expected_parameters()]
        return parse_qsl(
            self._change_list.get_query_string(dict.fromkeys([*own_names, str(PAGE_VAR)])).removeprefix("?")
        )

    def _build_field(self, spec: ListFilter) -> Field:
        choices, title = list(spec.choices(self._change_list)), str(spec.title)
        if isinstance(spec, TypedFilter):
            return Field(spec.template, spec.parameter_name, title, spec, choices)
        name = str(getattr(spec, "lookup_kwarg", "") or spec.expected_parameters()[0])
        return Field(_SELECT, name, title, spec, list(_add_values(name, choices)))


def _add_values(name: str, choices: list[Any]) -> Iterator[dict[str, Any]]:
    """Add the parameter's value to each choice, because Django's filters only provide query strings."""
    for choice in choices:
        parameters = parse_qs(str(choice.get("query_string", "")).removeprefix("?"))
        yield {"value": parameters.get(name, [""])[0], **choice}
