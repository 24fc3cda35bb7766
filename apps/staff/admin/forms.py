from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from apps.core.admin.forms.forms import Values
from apps.core.tenancy.permissions import (
    DESCRIPTIONS,
    GROUPS,
    PRESETS,
    VIEW_ONLY_SUFFIX,
    Level,
    Levels,
    get_offered_names,
    get_permission_labels,
)


@dataclass(frozen=True, slots=True)
class LevelChoice:
    value: str
    label: str
    is_selected: bool
    is_locked: bool


@dataclass(frozen=True, slots=True)
class PermissionLine:
    name: str
    label: str
    description: str
    choices: list[LevelChoice]
    is_locked: bool

    @property
    def level(self) -> str:
        """Return the label of the selected level."""
        return next(choice.label for choice in self.choices if choice.is_selected)

    @property
    def is_granted(self) -> bool:
        return not self.choices[0].is_selected


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset of the form: ``key`` is submitted without a script, and ``values`` are the levels that it selects."""

    key: str
    label: str
    values: str


class PermissionsForm(forms.Form):
    """The permission matrix: no access, view only or full access per permission name.

    The submitted value is ``name`` for full access and ``name:view`` for view-only access. Permissions that the current
    user cannot grant are locked, and their levels do not change. ``preset`` shows the levels of a preset instead of the
    current levels, in a form without submitted data.
    """

    permissions = forms.MultipleChoiceField(required=False, label=gettext_lazy("Permissions"))

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        current_levels: Levels | None = None,
        grantable: Levels,
        preset: str = "",
        initial: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self.held, self.grantable, self._preset = current_levels or {}, grantable, PRESETS.get(preset)
        self._offered = get_offered_names()
        names = dict.fromkeys((*self._offered, *self.held))
        field = self.fields["permissions"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [("", ""), *((f"{name}{end}", name) for name in names for end in ("", VIEW_ONLY_SUFFIX))]

    @property
    def levels(self) -> dict[str, Level]:
        """Return the chosen levels and the unchanged levels of locked permissions.

        If a request submits a level for a locked permission, return that level, so that the service refuses the change.
        """
        locked = {name: level for name, level in self.held.items() if self._is_permission_locked(name)}
        return locked | _parse_levels(self.cleaned_data["permissions"])

    @property
    def service_kwargs(self) -> dict[str, list[str]]:
        return {
            "permissions": sorted(name for name, level in self.levels.items() if level == Level.FULL),
            "view_only": sorted(name for name, level in self.levels.items() if level == Level.VIEW),
        }

    @property
    def groups(self) -> Iterator[tuple[str, list[PermissionLine]]]:
        """Yield the groups of the matrix with their permissions."""
        return self._build_groups(self._get_displayed_levels())

    def _build_groups(self, displayed: Levels) -> Iterator[tuple[str, list[PermissionLine]]]:
        for group, labels in GROUPS.items():
            lines = [self._line(name, _(text), displayed) for name, text in labels.items() if name in self._offered]
            if lines:
                yield _(group), lines
        if others := sorted(self.held.keys() - set(self._offered)):
            labels_by_name = zip(others, get_permission_labels(others), strict=True)
            yield _("Other"), [self._line(name, label, displayed) for name, label in labels_by_name]

    @property
    def granted_groups(self) -> list[tuple[str, list[PermissionLine]]]:
        """Return the groups with only the permissions that the staff member has, for pages without a form."""
        groups = self._build_groups(self.held)
        granted = [(group, [line for line in lines if line.is_granted]) for group, lines in groups]
        return [(group, lines) for group, lines in granted if lines]

    @property
    def presets(self) -> list[Preset]:
        offered = {f"{name}{end}" for name in self._offered for end in ("", VIEW_ONLY_SUFFIX)}
        return [
            Preset(title, _(title), " ".join(name for name in names if name in offered))
            for title, names in PRESETS.items()
        ]

    def _get_displayed_levels(self) -> dict[str, Level]:
        if not self.is_bound and self._preset is None:
            return dict(self.held)
        locked = {name: level for name, level in self.held.items() if self._is_permission_locked(name)}
        if self.is_bound:
            return locked | _parse_levels(self.data.getlist("permissions"))  # type: ignore[attr-defined]
        chosen = _parse_levels(self._preset or ())
        unlocked = {name: min(level, self.grantable[name]) for name, level in chosen.items() if name in self.grantable}
        return unlocked | locked

    def _is_permission_locked(self, name: str) -> bool:
        """Return True if the current user cannot grant any level, or cannot grant the staff member's current level."""
        grantable = self.grantable.get(name, Level.NONE)
        return grantable == Level.NONE or self.held.get(name, Level.NONE) > grantable

    def _line(self, name: str, label: str, displayed: Levels) -> PermissionLine:
        current, grantable = displayed.get(name, Level.NONE), self.grantable.get(name, Level.NONE)
        options = (
            ("", pgettext("permission", "None"), Level.NONE),
            (f"{name}{VIEW_ONLY_SUFFIX}", pgettext("permission", "View"), Level.VIEW),
            (name, pgettext("permission", "Full"), Level.FULL),
        )
        choices = [LevelChoice(value, text, level == current, level > grantable) for value, text, level in options]
        description = _(DESCRIPTIONS[name]) if name in DESCRIPTIONS else ""
        return PermissionLine(name, label, description, choices, self._is_permission_locked(name))


class InviteForm(PermissionsForm):
    text_fields = ("email", "first_name", "last_name")

    email = forms.EmailField(max_length=255, label=gettext_lazy("Email address"))
    first_name = forms.CharField(max_length=150, label=gettext_lazy("First name"))
    last_name = forms.CharField(max_length=150, required=False, label=gettext_lazy("Last name"))

    @property
    def values(self) -> Values:
        return {name: self.cleaned_data[name] for name in self.text_fields} | self.service_kwargs


def _parse_levels(values: Iterable[str]) -> dict[str, Level]:
    """Parse the submitted levels. Full access takes precedence over view-only access."""
    values = list(values)
    viewing = {value.removesuffix(VIEW_ONLY_SUFFIX): Level.VIEW for value in values if value.endswith(VIEW_ONLY_SUFFIX)}
    return viewing | {value: Level.FULL for value in values if value and not value.endswith(VIEW_ONLY_SUFFIX)}
