"""Scopes as people choose them: per resource nothing, reading, or reading and changing."""

from dataclasses import dataclass

from django import forms
from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.shops.models.scopes import SCOPES, expand

# What is allowed of a resource; pages translate it.
SEE, CHANGE = gettext_noop("see"), gettext_noop("see and change")


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """One line of the choice: what it is about, and the scope behind each degree."""

    key: str
    label: str
    read: str | None
    write: str | None


def rows() -> list[ScopeRow]:
    """All that an app can be allowed, by resource."""
    keys = dict.fromkeys(scope.split("_", 1)[1] for scope in SCOPES)
    made = []
    for key in keys:
        read, write = f"read_{key}", f"write_{key}"
        words = SCOPES.get(read) or SCOPES[write]
        label = words.removeprefix("See and change ").removeprefix("See ")
        label = capfirst(_(label))
        made.append(ScopeRow(key, label, read if read in SCOPES else None, write if write in SCOPES else None))
    return sorted(made, key=lambda row: row.label)


def in_words(scopes: list[str]) -> list[tuple[str, str]]:
    """What scopes allow: pairs of the resource and ``SEE`` or ``CHANGE``."""
    granted = expand(scopes)
    return [
        (row.label, CHANGE if row.write in granted else SEE)
        for row in rows()
        if row.read in granted or row.write in granted
    ]


class ScopesForm(forms.Form):
    """One choice per resource; ``scopes`` are the words behind them."""

    def __init__(self, data: QueryDict | None = None, *, scopes: list[str] | None = None) -> None:
        super().__init__(data)
        held = set(scopes or ())
        for row in rows():
            choices = [("", _("Nothing"))]
            choices += [("read", _("See"))] if row.read else []
            choices += [("write", _("See and change") if row.read else _("Change"))] if row.write else []
            initial = "write" if row.write in held else "read" if row.read in held else ""
            self.fields[f"scope_{row.key}"] = forms.ChoiceField(
                choices=choices, required=False, initial=initial, label=row.label, widget=forms.RadioSelect
            )

    @property
    def scope_fields(self) -> list[forms.BoundField]:
        """The fields of the choice, for the template."""
        return [field for field in self if field.name.startswith("scope_")]

    @property
    def scopes(self) -> list[str]:
        """The chosen scopes; a ``write_`` scope brings its ``read_`` scope along and needs no word of its own."""
        chosen = {row: self.cleaned_data.get(f"scope_{row.key}") for row in rows()}
        words = (row.write if degree == "write" else row.read for row, degree in chosen.items() if degree)
        return sorted(word for word in words if word)


class NewAppForm(ScopesForm):
    """A new app of the shop's own."""

    name = forms.CharField(
        max_length=255,
        help_text=gettext_lazy("What staff will call it, for example “Warehouse sync”."),
        label=gettext_lazy("Name"),
    )
    application_url = forms.URLField(
        required=False,
        max_length=2048,
        label=gettext_lazy("Address"),
        help_text=gettext_lazy("Where the app itself is reached, if it has a page."),
    )
