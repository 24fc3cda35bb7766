from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Model
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest
from django.utils.choices import BaseChoiceIterator
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise
from rest_framework.serializers import ValidationError as Refused

from apps.core.admin.display.changes import get_changed_names
from apps.core.admin.forms.error_display import (
    SentenceErrorList,
    as_sentence,
    explain_field_errors,
    format_field_error,
)
from apps.core.admin.forms.html_fields import MarkupField, restore_line_endings
from apps.core.admin.staff_request import as_staff_request
from apps.core.admin.theme import (
    ThemedEmailInput,
    ThemedSelect,
    ThemedStackedInline,
    ThemedSwitch,
    ThemedTabularInline,
    ThemedTextarea,
    ThemedTextInput,
)
from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.rest.resources.fields import ApiField
from apps.core.tenancy.actor_names import get_actor_name, get_staff_actor
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shop_owned import ShopOwned

M = TypeVar("M", bound=models.Model)
# Form values, keyed by field name.
Values: TypeAlias = dict[str, Any]

# django-unfold styles only model fields. This map contains the theme's widgets for declared form fields.
_THEMED_WIDGETS: dict[type[forms.Widget], type[forms.Widget]] = {
    forms.TextInput: ThemedTextInput,
    forms.EmailInput: ThemedEmailInput,
    forms.Textarea: ThemedTextarea,
    forms.CheckboxInput: ThemedSwitch,
    forms.Select: ThemedSelect,
}


def _apply_theme(field: forms.Field) -> None:
    plain = field.widget
    if type(plain) in {forms.DateInput, forms.DateTimeInput}:
        plain.attrs = ThemedTextInput(attrs=plain.attrs).attrs
    if themed := _THEMED_WIDGETS.get(type(plain)):
        field.widget = themed(attrs=plain.attrs)
        field.widget.is_required = plain.is_required
        if isinstance(plain, forms.Select):
            field.widget.choices = plain.choices


class _PlainChoices(BaseChoiceIterator):
    """Choices that are pairs already. Django would convert other iterables again for each form and widget."""

    def __init__(self, choices: Iterable[tuple[str, StrOrPromise]]) -> None:
        self._choices = tuple(choices)

    def __iter__(self) -> Iterator[tuple[str, StrOrPromise]]:
        return iter(self._choices)


class ShopOwnedForm(forms.ModelForm[M]):
    """A model form that also checks constraints that include the shop, although the form has no field for the shop."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.error_class = SentenceErrorList
        if isinstance(self.instance, ShopOwned) and self.instance._state.adding:
            self.instance.shop = get_current_shop()
        for field in self.fields.values():
            _apply_theme(field)
        tags, note = (self.fields.get(name) for name in ("tags", "note"))
        if tags and isinstance(tags.widget, forms.Textarea):
            tags.widget, tags.help_text = ThemedTextInput(), _("Separated by commas.")
        if note:
            note.widget = ThemedTextarea(attrs={"rows": 3})
        self.prepare()

    def prepare(self) -> None:
        """Set up the fields that depend on the row: choices, initial values and widgets."""

    def set_choices(self, name: str, choices: Iterable[tuple[str, StrOrPromise]]) -> None:
        field = self.fields.get(name)
        if isinstance(field, forms.ChoiceField):
            field.choices = _PlainChoices(choices)

    @property
    def values_to_store(self) -> Values:
        """Return the values to store: all fields of a new row, or the changed fields of an existing row.

        All fields of a new row are included because Django does not count default values as changed data.
        """
        names = self.fields if self.instance._state.adding else self.changed_data
        return {name: self.cleaned_data[name] for name in names if name in self.cleaned_data}

    def _get_validation_exclusions(self) -> set[str]:
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return excluded - {"shop"}


class EditConflict:
    def __init__(self, instance: models.Model, version: int) -> None:
        self.version = version
        event = (
            Event.rows()
            .filter(subject_type=(instance._meta.concrete_model or instance)._meta.label_lower, subject_id=instance.pk)
            .order_by("-id")
            .defer("payload")
            .first()
        )
        self.who = get_actor_name(event.actor) if event else _("Someone")
        self.when = event.created_at if event else None
        self.fields = get_changed_names(event) if event else []


class PanelForm(ShopOwnedForm[M]):
    """A model form that detects edit conflicts, and shows the ``domain_error`` that a service raised for the values."""

    seen_version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    request: HttpRequest | None = None
    domain_error: DomainError | None = None
    conflict: EditConflict | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        version = getattr(self.instance, "version", None)
        if version is None or self.instance._state.adding:
            del self.fields["seen_version"]
        else:
            self.initial["seen_version"] = version

    def clean(self) -> Values | None:
        cleaned = super().clean()
        for markup_name in (name for name, field in self.fields.items() if isinstance(field, MarkupField)):
            if submitted := self.cleaned_data.get(markup_name):
                self.cleaned_data[markup_name] = restore_line_endings(
                    getattr(self.instance, markup_name) or "", submitted
                )
        if "seen_version" in self.fields:
            self._check_version()
        if self.domain_error is not None:
            for field, messages in self.domain_error.errors.items():
                if field in self.fields:
                    self.add_error(field, explain_field_errors(field, messages))
                else:
                    self.add_error(None, [format_field_error(field, message) for message in messages])
        return cleaned

    def _check_version(self) -> None:
        current = self.initial["seen_version"]
        accepted_versions = {self.data.get("seen_version"), self.data.get("_overwrite")}
        if str(current) not in accepted_versions:
            self.conflict = EditConflict(self.instance, current)
            self.add_error(
                None,
                _("{who} changed this in the meantime. Your changes are not saved yet.").format(who=self.conflict.who),
            )


def validate_with_api_field(field: ApiField, value: object) -> Any:
    try:
        return field.run_validation(value)
    except Refused as error:
        raise ValidationError([as_sentence(str(detail)) for detail in error.detail]) from None


Child = TypeVar("Child", bound=Model)
Parent = TypeVar("Parent", bound=Model)
Rows = TypeVar("Rows", bound=BaseModelFormSet[Any, Any])


class ShopOwnedTabularInline(ThemedTabularInline[Child, Parent]):
    form: type[ModelForm[Child]] = ShopOwnedForm[Child]
    extra = 0
    tab = True


class ShopOwnedStackedInline(ThemedStackedInline[Child, Parent]):
    form: type[ModelForm[Child]] = ShopOwnedForm[Child]
    extra = 0
    tab = True


def add_actor_to_formset(request: HttpRequest, formset: type[Rows]) -> type[Rows]:
    """Return a subclass of the formset with the current user as ``actor``, for rows that services save."""
    return type(formset.__name__, (formset,), {"actor": get_staff_actor(as_staff_request(request).user)})


def mark_formset_saved(formset: BaseModelFormSet[Any, Any]) -> None:
    """Set the attributes that Django expects on a saved formset, after a service has saved the rows."""
    formset.new_objects, formset.changed_objects, formset.deleted_objects = [], [], []
    formset.save_m2m = _save_no_m2m  # type: ignore[method-assign]


def _save_no_m2m() -> None:
    """Do nothing, because the rows have no many-to-many relations."""
