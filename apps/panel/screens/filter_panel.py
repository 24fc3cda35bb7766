"""The panel in which a list is narrowed: links where there is nothing to type, else one form of all its filters.

With one form nothing that was typed is lost because somebody pressed the button of another field.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, parse_qsl

from django.contrib.admin import ListFilter
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.utils.functional import cached_property

from apps.panel.screens.chips import VIEW_FILTER
from apps.panel.screens.typed_filters import TypedFilter

_SELECT = "panel/select_filter.html"


@dataclass(frozen=True, slots=True)
class Field:
    """A filter as a part of the form: its template, and what that shows."""

    template: str
    name: str
    title: str
    spec: ListFilter
    choices: list[Any]


class FilterPanel:
    """The filters of one list for one request, without the one that stands above the list as its views."""

    def __init__(self, listed: ChangeList) -> None:
        self._listed = listed
        self.specs = [spec for spec in listed.filter_specs if VIEW_FILTER not in spec.expected_parameters()]

    @property
    def is_form(self) -> bool:
        """Whether what is chosen is sent together."""
        return self._listed.model_admin.list_filter_submit or any(isinstance(spec, TypedFilter) for spec in self.specs)

    @cached_property
    def fields(self) -> list[Field]:
        """The filters of the form."""
        return [self._field(spec) for spec in self.specs]

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What the form keeps of the list's address: all that it does not ask for."""
        asked = [name for spec in self.specs for name in spec.expected_parameters()]
        return parse_qsl(self._listed.get_query_string(dict.fromkeys([*asked, PAGE_VAR])).removeprefix("?"))

    def _field(self, spec: ListFilter) -> Field:
        choices, title = list(spec.choices(self._listed)), str(spec.title)
        if isinstance(spec, TypedFilter):
            return Field(spec.template, spec.parameter_name, title, spec, choices)
        name = str(getattr(spec, "lookup_kwarg", "") or spec.expected_parameters()[0])
        return Field(_SELECT, name, title, spec, list(_values(name, choices)))


def _values(name: str, choices: list[Any]) -> Iterator[dict[str, Any]]:
    """Choices with their values: Django's own say them only as addresses."""
    for choice in choices:
        asked = parse_qs(str(choice.get("query_string", "")).removeprefix("?"))
        yield {"value": asked.get(name, [""])[0], **choice}
