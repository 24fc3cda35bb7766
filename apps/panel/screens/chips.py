"""What narrows a list now, as chips in words; each leads to the list without it.

What was typed into a filter and cannot be read is no chip: it does not narrow the list, it empties it, and is said so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.admin import ListFilter
from django.contrib.admin.views.main import ALL_VAR, PAGE_VAR, SEARCH_VAR, ChangeList
from django.core.exceptions import FieldDoesNotExist
from django.db.models.constants import LOOKUP_SEP
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.panel.screens import saved_views
from apps.panel.screens.typed_filters import TypedFilter

# The filter whose choices stand above the list as its own views, which say it themselves.
VIEW_FILTER = "view"
LONGEST = 60


@dataclass(frozen=True, slots=True)
class Chip:
    """One thing that narrows the list, and the address of the list without it."""

    words: str
    without: str


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What narrows the list, what was meant to and cannot be read, and the address of the list without any of it."""

    chips: list[Chip]
    refused: list[Chip]
    without: str

    def __bool__(self) -> bool:
        """Whether anything narrows it, or was meant to."""
        return bool(self.chips or self.refused)


def narrowing(listed: ChangeList) -> Narrowing:
    """What narrows a list: its search, then its filters in their order, then whatever else the address asks for."""
    refused = list(_refused(listed))
    unread = {name for _words, names in refused for name in names}
    found = [(words, names) for words, names in _found(listed) if unread.isdisjoint(names)]
    chips = [Chip(words[:LONGEST], _without(listed, names)) for words, names in found]
    problems = [Chip(words, _without(listed, names)) for words, names in refused]
    return Narrowing(
        chips, problems, _without(listed, [name for _words, names in (*found, *refused) for name in names])
    )


def _refused(listed: ChangeList) -> Iterator[tuple[str, list[str]]]:
    """What was typed and cannot be read, with all parameters of its filter: none of them is used."""
    for spec in listed.filter_specs:
        if isinstance(spec, TypedFilter) and spec.problems:
            said = _("“{typed}” was not used for the filter {filter}. {problem}")
            problems = (
                said.format(typed=spec.typed[name][:LONGEST], filter=capfirst(spec.title), problem=problem)
                for name, problem in spec.problems.items()
            )
            yield " ".join(problems), spec.expected_parameters()


def _found(listed: ChangeList) -> Iterator[tuple[str, list[str]]]:
    """Each with the parameters of the address that say it."""
    if listed.query:
        yield _("Search: “{words}”").format(words=listed.query), [SEARCH_VAR]
    asked = {name: values for name, values in listed.get_filters_params().items() if any(map(str.strip, values))}
    asked.pop(VIEW_FILTER, None)
    for spec in listed.filter_specs:
        names = [str(name) for name in spec.expected_parameters() if name in asked]
        if names:
            values = [value for name in names for value in asked.pop(name)]
            yield f"{capfirst(spec.title)}: {_chosen(listed, spec) or ', '.join(map(str, values))}", names
    for name, values in asked.items():
        yield f"{_field(listed, name)}: {', '.join(map(str, values))}", [name]


def _chosen(listed: ChangeList, spec: ListFilter) -> str:
    """What people call the filter's choice."""
    return ", ".join(str(choice["display"]) for choice in spec.choices(listed) if choice["selected"])


def _field(listed: ChangeList, name: str) -> str:
    """What people call the column that a parameter asks for."""
    try:
        field = listed.lookup_opts.get_field(name.partition(LOOKUP_SEP)[0])
    except FieldDoesNotExist:
        return name
    return capfirst(str(getattr(field, "verbose_name", name)))


def _without(listed: ChangeList, names: list[str]) -> str:
    """The address of the list without some parameters, on its first page; never the one that opens a default view."""
    address = str(listed.get_query_string(dict.fromkeys([*names, PAGE_VAR])))
    return address if saved_views.canonical(address.removeprefix("?")) else f"?{ALL_VAR}=1"
