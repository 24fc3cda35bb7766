"""The forms of the staff pages: the permission matrix, and the invitation that begins with one."""

from collections.abc import Iterator
from dataclasses import dataclass

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from apps.ground.errors import DomainError
from apps.panel.screens.forms import Values
from apps.staff.domain.permission_labels import GROUPS, LABELS, PRESETS, VIEWING
from apps.staff.domain.permissions import NAMES, Level, Levels


@dataclass(frozen=True, slots=True)
class Choice:
    """One level of a permission, as its option."""

    value: str
    label: str
    chosen: bool
    locked: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One permission in the matrix."""

    name: str
    label: str
    choices: list[Choice]
    locked: bool


class PermissionsForm(forms.Form):
    """How each permission name is held: not at all, for viewing only, or fully.

    A name is sent as it is for fully, with ``:view`` behind it for viewing only. What the person at the form cannot
    grant is locked and stays as it is.
    """

    permissions = forms.MultipleChoiceField(
        choices=[("", ""), *((f"{name}{end}", name) for name in NAMES for end in ("", VIEWING))],
        required=False,
        label=gettext_lazy("Permissions"),
    )

    def __init__(self, data: QueryDict | None = None, *, held: Levels | None = None, grantable: Levels) -> None:
        super().__init__(data)
        self.held, self.grantable = held or {}, grantable

    @property
    def levels(self) -> dict[str, Level]:
        """How names are held after this form: as chosen, and the locked ones as they were.

        A name that was locked on the page and is sent nevertheless counts as sent, for the service to refuse.
        """
        locked = {name: level for name, level in self.held.items() if self._is_locked(name)}
        return locked | _levels(self.cleaned_data["permissions"])

    @property
    def chosen(self) -> dict[str, list[str]]:
        """``levels`` as the services take them."""
        return {
            "permissions": sorted(name for name, level in self.levels.items() if level == Level.FULL),
            "view_only": sorted(name for name, level in self.levels.items() if level == Level.VIEW),
        }

    @property
    def groups(self) -> Iterator[tuple[str, list[Line]]]:
        """The names by group; names that we do not know have a group of their own."""
        shown = dict(self.held)
        if self.is_bound:
            shown = {name: level for name, level in shown.items() if self._is_locked(name)}
            shown |= _levels(self.data.getlist("permissions"))  # type: ignore[attr-defined]
        for group, labels in GROUPS.items():
            yield _(group), [self._line(name, _(text), shown) for name, text in labels.items()]
        if unknown := sorted(self.held.keys() - LABELS.keys()):
            yield _("Other"), [self._line(name, name, self.held) for name in unknown]

    @property
    def presets(self) -> list[tuple[str, str]]:
        """Presets with what they choose, space-separated, as the script on the page reads them."""
        return [(_(title), " ".join(names)) for title, names in PRESETS.items()]

    def refuse(self, refusal: DomainError) -> None:
        """Show what a service refused."""
        for field, messages in refusal.errors.items():
            self.add_error(field if field in self.fields else None, messages)

    def _is_locked(self, name: str) -> bool:
        """Whether the person can neither take what is held nor grant anything."""
        most = self.grantable.get(name, Level.NONE)
        return most == Level.NONE or self.held.get(name, Level.NONE) > most

    def _line(self, name: str, label: str, shown: Levels) -> Line:
        now, most = shown.get(name, Level.NONE), self.grantable.get(name, Level.NONE)
        options = (
            ("", pgettext("permission", "None"), Level.NONE),
            (f"{name}{VIEWING}", pgettext("permission", "View"), Level.VIEW),
            (name, pgettext("permission", "Full"), Level.FULL),
        )
        choices = [Choice(value, text, level == now, level > most) for value, text, level in options]
        return Line(name, label, choices, self._is_locked(name))


class InviteForm(PermissionsForm):
    """Somebody new."""

    email = forms.EmailField(max_length=255, label=gettext_lazy("E-mail address"))
    first_name = forms.CharField(max_length=150, label=gettext_lazy("First name"))
    last_name = forms.CharField(max_length=150, required=False, label=gettext_lazy("Last name"))

    @property
    def values(self) -> Values:
        """What ``services.invite`` takes."""
        data = self.cleaned_data
        return {
            "email": data["email"],
            "first_name": data["first_name"],
            "last_name": data["last_name"],
            **self.chosen,
        }


def _levels(sent: list[str]) -> dict[str, Level]:
    """What a form sent; of two levels of one name the higher one."""
    viewing = {value.removesuffix(VIEWING): Level.VIEW for value in sent if value.endswith(VIEWING)}
    return viewing | {value: Level.FULL for value in sent if value and not value.endswith(VIEWING)}
