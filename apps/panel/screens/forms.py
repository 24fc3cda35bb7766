"""The forms of the panel's editing pages."""

from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise
from rest_framework.serializers import ValidationError as Refused

from apps.api.resources.fields import ApiField
from apps.events.models import Event
from apps.ground.errors import DomainError
from apps.ground.rows import ShopOwned
from apps.ground.tenancy import current_shop
from apps.panel.screens.markup import MarkupField, as_before
from apps.panel.theme import ThemedEmailInput, ThemedSelect, ThemedSwitch, ThemedTextarea, ThemedTextInput
from apps.panel.wording import Sentences, about, sentence
from apps.staff.domain.actors import name_of

M = TypeVar("M", bound=models.Model)
# What a form holds, by field.
Values: TypeAlias = dict[str, Any]

NOTE_ROWS = 3

# The theme dresses the fields of models only; those that a form declares get the same clothes.
_CLOTHES: dict[type[forms.Widget], type[forms.Widget]] = {
    forms.TextInput: ThemedTextInput,
    forms.EmailInput: ThemedEmailInput,
    forms.Textarea: ThemedTextarea,
    forms.CheckboxInput: ThemedSwitch,
    forms.Select: ThemedSelect,
}


def _dress(field: forms.Field) -> None:
    """Give a field the theme's widget in place of a plain one."""
    plain = field.widget
    themed = _CLOTHES.get(type(plain))
    if themed is None:
        return
    field.widget = themed(attrs=plain.attrs)
    field.widget.is_required = plain.is_required
    if isinstance(plain, forms.Select):
        field.widget.choices = plain.choices


class ShopOwnedForm(forms.ModelForm[M]):
    """Checks the constraints that mention the shop too; the shop itself is never asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.error_class = Sentences
        if isinstance(self.instance, ShopOwned) and self.instance._state.adding:
            self.instance.shop = current_shop()
        for field in self.fields.values():
            _dress(field)
        tags, note = (self.fields.get(name) for name in ("tags", "note"))
        if tags and isinstance(tags.widget, forms.Textarea):
            tags.widget, tags.help_text = ThemedTextInput(), _("Separated by commas.")
        if note:
            note.widget = ThemedTextarea(attrs={"rows": NOTE_ROWS})
        self.prepare()

    def prepare(self) -> None:
        """Give the fields what depends on the row: choices, initial values, widgets."""

    def offer(self, name: str, choices: Iterable[tuple[str, StrOrPromise]]) -> None:
        """Let a field be chosen from a list, where the form shows it."""
        field = self.fields.get(name)
        if isinstance(field, forms.ChoiceField):
            field.choices = list(choices)

    @property
    def given(self) -> Values:
        """What is to be stored: of a new row all that was shown, of a stored one what the person changed.

        A new row that is left as it was shown holds values that nobody "changed", and they are meant all the same.
        """
        names = self.fields if self.instance._state.adding else self.changed_data
        return {name: self.cleaned_data[name] for name in names if name in self.cleaned_data}

    def _get_validation_exclusions(self) -> set[str]:
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return excluded - {"shop"}


class Conflict:
    """What somebody else did to the row while this form was open."""

    def __init__(self, instance: models.Model, version: int) -> None:
        self.version = version
        event = (
            Event.rows()
            .filter(subject_type=(instance._meta.concrete_model or instance)._meta.label_lower, subject_id=instance.pk)
            .order_by("-id")
            .defer("payload")
            .first()
        )
        self.who = name_of(event.actor) if event else _("Somebody")
        self.when = event.created_at if event else None
        self.fields = sorted(event.changes) if event else []


class PanelForm(ShopOwnedForm[M]):
    """Carries the version that the person saw, and refuses to overwrite a newer one unasked.

    ``refusal`` is what a service answered to the same input a moment ago; it is shown on its fields. ``request`` says
    who looks at it.
    """

    seen_version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    request: HttpRequest | None = None
    refusal: DomainError | None = None
    conflict: Conflict | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        version = getattr(self.instance, "version", None)
        if version is None or self.instance._state.adding:
            del self.fields["seen_version"]
        else:
            self.initial["seen_version"] = version

    def clean(self) -> Values | None:
        """Check the version, and repeat what a service refused."""
        cleaned = super().clean()
        for markup in (name for name, field in self.fields.items() if isinstance(field, MarkupField)):
            if sent := self.cleaned_data.get(markup):
                self.cleaned_data[markup] = as_before(getattr(self.instance, markup) or "", sent)
        if "seen_version" in self.fields:
            self._check_version()
        if self.refusal is not None:
            for field, messages in self.refusal.errors.items():
                known = field if field in self.fields else None
                self.add_error(known, [m if known else about(field, m) for m in messages])
        return cleaned

    def _check_version(self) -> None:
        current = self.initial["seen_version"]
        seen = {self.data.get("seen_version"), self.data.get("_overwrite")}
        if str(current) not in seen:
            self.conflict = Conflict(self.instance, current)
            self.add_error(
                None, _("{who} changed this meanwhile. Nothing has been saved yet.").format(who=self.conflict.who)
            )


def read_as(field: ApiField, value: object) -> Any:
    """What the interface makes of a value that somebody typed.

    Raises:
        ValidationError: It does not fit.
    """
    try:
        return field.run_validation(value)
    except Refused as error:
        raise ValidationError([sentence(str(detail)) for detail in error.detail]) from None
