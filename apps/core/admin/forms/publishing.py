"""Forms for records that are visible or hidden, and visible from a publication date on."""

from datetime import datetime

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.forms import M, PanelForm, Values
from apps.core.admin.forms.times import ShopDateTimeField

VISIBLE, HIDDEN = "visible", "hidden"
VISIBILITIES = ((VISIBLE, gettext_lazy("Visible")), (HIDDEN, gettext_lazy("Hidden")))


def get_visibility_label(published_at: datetime | None) -> str:
    return str(dict(VISIBILITIES)[VISIBLE if published_at else HIDDEN])


class PublishingForm(PanelForm[M]):
    """A form that sets ``published_at``, which is None for a hidden record.

    Subclasses that override ``prepare`` or ``clean`` must call these methods.
    """

    visibility = forms.ChoiceField(label=gettext_lazy("Visibility"), choices=VISIBILITIES, initial=VISIBLE)
    published_at = ShopDateTimeField(
        gettext_lazy("Publication date"),
        required=False,
        help_text=gettext_lazy("Leave blank to publish now, or enter a future date."),
    )

    def prepare(self) -> None:
        if not self.instance._state.adding:
            self.initial["visibility"] = HIDDEN if self._published_before is None else VISIBLE

    def clean(self) -> Values | None:
        cleaned = super().clean()
        if self.cleaned_data.get("visibility") == HIDDEN:
            if self.cleaned_data.get("published_at") and "published_at" in self.changed_data:
                self.add_error("published_at", self._build_conflict())
            self.cleaned_data["published_at"] = None
        elif "published_at" in self.cleaned_data and self.cleaned_data["published_at"] is None:
            self.cleaned_data["published_at"] = timezone.now()
        return cleaned

    def _build_conflict(self) -> ValidationError:
        return ValidationError(_("Choose “Visible” to publish from this date on, or delete the date."))

    @property
    def _published_before(self) -> datetime | None:
        moment: datetime | None = self.initial.get("published_at")
        return moment

    @property
    def values_to_store(self) -> Values:
        values = super().values_to_store
        values.pop("visibility", None)
        if "published_at" in self.cleaned_data:
            values["published_at"] = self.cleaned_data["published_at"]
            if not self.instance._state.adding and values["published_at"] == self._published_before:
                del values["published_at"]
        return values
