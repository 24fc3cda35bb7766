"""Access scopes as form fields. For each resource, users choose no access, read access, or read and write access."""

from dataclasses import dataclass

from django import forms
from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.core.tenancy.access_scopes import RESOURCE_LABELS, SCOPES, expand_scopes

# Levels of access. Pages translate these labels.
READ_ACCESS, WRITE_ACCESS = gettext_noop("view"), gettext_noop("view and edit")


@dataclass(frozen=True, slots=True)
class ScopeRow:
    key: str
    label: str
    read_scope: str | None
    write_scope: str | None


def get_scope_rows() -> list[ScopeRow]:
    scope_rows = [
        ScopeRow(
            key,
            capfirst(_(label)),
            *(scope if (scope := f"{verb}_{key}") in SCOPES else None for verb in ("read", "write")),
        )
        for key, label in RESOURCE_LABELS.items()
    ]
    return sorted(scope_rows, key=lambda row: row.label)


def describe_scopes(scopes: list[str]) -> list[tuple[str, str]]:
    """Return the label and the level of access (``READ_ACCESS`` or ``WRITE_ACCESS``) of each resource in the scopes."""
    granted = expand_scopes(scopes)
    return [
        (row.label, WRITE_ACCESS if row.write_scope in granted else READ_ACCESS)
        for row in get_scope_rows()
        if row.read_scope in granted or row.write_scope in granted
    ]


class ScopesForm(forms.Form):
    def __init__(self, data: QueryDict | None = None, *, scopes: list[str] | None = None) -> None:
        super().__init__(data)
        current_scopes = set(scopes or ())
        for row in get_scope_rows():
            choices = [("", _("No access"))]
            choices += [("read", _("View"))] if row.read_scope else []
            choices += [("write", _("View and edit") if row.read_scope else _("Edit"))] if row.write_scope else []
            initial = (
                "write" if row.write_scope in current_scopes else "read" if row.read_scope in current_scopes else ""
            )
            self.fields[f"scope_{row.key}"] = forms.ChoiceField(
                choices=choices, required=False, initial=initial, label=row.label, widget=forms.RadioSelect
            )

    @property
    def scope_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name.startswith("scope_")]

    @property
    def scopes(self) -> list[str]:
        degrees = {row: self.cleaned_data.get(f"scope_{row.key}") for row in get_scope_rows()}
        chosen_scopes = (
            row.write_scope if degree == "write" else row.read_scope for row, degree in degrees.items() if degree
        )
        return sorted(scope for scope in chosen_scopes if scope)


class NewAppForm(ScopesForm):
    name = forms.CharField(
        max_length=255,
        help_text=gettext_lazy("The name that staff see, for example “Warehouse sync”."),
        label=gettext_lazy("Name"),
    )
    application_url = forms.URLField(
        required=False,
        max_length=2048,
        label=gettext_lazy("App URL"),
        help_text=gettext_lazy("The app's website, if it has one."),
    )
