"""The forms of the staff pages: the permission matrix, and the invitation that begins with one."""

from collections.abc import Iterator
from dataclasses import dataclass

from django import forms
from django.http import QueryDict

from apps.ground.errors import DomainError
from apps.panel.screens.forms import Values
from apps.staff.domain.permission_labels import GROUPS, LABELS, PRESETS
from apps.staff.domain.permissions import NAMES


@dataclass(frozen=True, slots=True)
class Box:
    """One permission in the matrix."""

    name: str
    label: str
    checked: bool
    locked: bool


class PermissionsForm(forms.Form):
    """Permission names as boxes. What the person at the form cannot grant is locked and stays as it is."""

    permissions = forms.MultipleChoiceField(choices=[(name, name) for name in NAMES], required=False)

    def __init__(
        self, data: QueryDict | None = None, *, held: list[str] | None = None, grantable: frozenset[str]
    ) -> None:
        super().__init__(data)
        self.held, self.grantable = frozenset(held or ()), grantable

    @property
    def names(self) -> list[str]:
        """What is held after this form: the chosen names, and the locked ones as they were.

        A name that was locked on the page and is sent nevertheless stays in, for the service to refuse.
        """
        chosen = set(self.cleaned_data["permissions"])
        return sorted(chosen | (self.held - self.grantable))

    @property
    def groups(self) -> Iterator[tuple[str, list[Box]]]:
        """The boxes by group; names that we do not know have a group of their own."""
        checked = set(self.data.getlist("permissions")) if self.is_bound else self.held  # type: ignore[attr-defined]
        for group, labels in GROUPS.items():
            yield group, [Box(name, text, name in checked, name not in self.grantable) for name, text in labels.items()]
        if unknown := sorted(self.held - LABELS.keys()):
            yield "Other", [Box(name, name, True, True) for name in unknown]

    @property
    def presets(self) -> list[tuple[str, str]]:
        """Presets with their names, space-separated, as the script on the page reads them."""
        return [(title, " ".join(names)) for title, names in PRESETS.items()]

    def refuse(self, refusal: DomainError) -> None:
        """Show what a service refused."""
        for field, messages in refusal.errors.items():
            self.add_error(field if field in self.fields else None, messages)


class InviteForm(PermissionsForm):
    """Somebody new."""

    email = forms.EmailField(max_length=255, label="E-mail address")
    first_name = forms.CharField(max_length=150)
    last_name = forms.CharField(max_length=150, required=False)

    @property
    def values(self) -> Values:
        """What ``services.invite`` takes."""
        data = self.cleaned_data
        return {
            "email": data["email"],
            "first_name": data["first_name"],
            "last_name": data["last_name"],
            "permissions": self.names,
        }
