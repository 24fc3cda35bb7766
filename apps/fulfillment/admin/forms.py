"""What staff say when they do something to a fulfillment order."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.fulfillment.domain import moving
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentOrderLine
from apps.ground.attrs import Given
from apps.ground.dates import EARLIEST, LATEST
from apps.ground.errors import DomainError

NO_UNITS = gettext_lazy("Choose at least one unit.")


def message(label: StrOrPromise, *, help_text: StrOrPromise = "") -> forms.CharField:
    """A message of up to 1,000 characters, which need not be."""
    area = forms.Textarea(attrs={"rows": 3})
    return forms.CharField(label=label, required=False, max_length=1000, widget=area, help_text=help_text)


def moment(label: StrOrPromise) -> forms.DateTimeField:
    """A moment in the shop's time."""
    return forms.DateTimeField(
        label=label,
        help_text=gettext_lazy("In the shop's time."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"],
        validators=[MinValueValidator(EARLIEST), MaxValueValidator(LATEST)],
    )


class ActionForm(forms.Form):
    """Asks nothing; derive to ask more.

    Attributes:
        by_units: Whether it can be done to some of the units only; the others are split off.
    """

    by_units = False

    def __init__(
        self, row: FulfillmentOrder, lines: Sequence[FulfillmentOrderLine], data: Any = None, **options: Any
    ) -> None:
        """Ask about a fulfillment order with these lines of which units are left."""
        super().__init__(data, **options)
        self.row, self.lines = row, lines
        if self.by_units:
            self.fields |= unit_fields(lines)
        self.prepare()

    def prepare(self) -> None:
        """Give the fields what depends on the fulfillment order."""

    def clean(self) -> dict[str, Any]:
        """Some units are meant."""
        cleaned = super().clean() or self.cleaned_data
        if self.by_units and not self.errors and not any(self.chosen.values()):
            self.add_error(None, NO_UNITS)
        return cleaned

    @property
    def chosen(self) -> dict[int, int]:
        """How many units of each line."""
        return {line.pk: self.cleaned_data.get(unit_name(line)) or 0 for line in self.lines}

    @property
    def units(self) -> list[Given] | None:
        """The units for a service; None where they are all that are left."""
        if all(self.chosen[line.pk] == line.fulfillable_quantity for line in self.lines):
            return None
        return [{"id": pk, "quantity": count} for pk, count in self.chosen.items() if count]

    @property
    def words(self) -> list[forms.BoundField]:
        """The fields without those of units, which stand in a table."""
        return [field for field in self if not field.name.startswith("units-")]

    @property
    def table(self) -> list[tuple[FulfillmentOrderLine, forms.BoundField]]:
        """The lines with their fields of units."""
        return [(line, self[unit_name(line)]) for line in self.lines] if self.by_units else []

    def refuse(self, refusal: DomainError) -> None:
        """Say at its field what a service refused."""
        for name, messages in refusal.errors.items():
            known = name if name in self.fields else None
            for text in messages:
                self.add_error(known, text)


def unit_name(line: FulfillmentOrderLine) -> str:
    """The name of a line's field."""
    return f"units-{line.pk}"


def unit_fields(lines: Sequence[FulfillmentOrderLine]) -> dict[str, forms.Field]:
    """A field for each line: how many of the units that are left; all to begin with."""
    return {
        unit_name(line): forms.IntegerField(
            label=_("Units of {product}").format(product=line.line_item.name),
            required=False,
            min_value=0,
            max_value=line.fulfillable_quantity,
            initial=line.fulfillable_quantity,
            error_messages={"max_value": _("Only %(limit_value)s left.")},
            widget=forms.NumberInput(
                attrs={
                    "aria-label": _("Units of {product}").format(product=line.line_item.name),
                    "data-all": line.fulfillable_quantity,
                }
            ),
        )
        for line in lines
    }


class MessageForm(ActionForm):
    """A message for the other side."""

    message = message(gettext_lazy("Message"))


class RequestForm(ActionForm):
    """What is asked of a service."""

    by_units = True
    message = message(gettext_lazy("Message to the service"))
    notify_customer = forms.BooleanField(
        label=gettext_lazy("Tell the customer by e-mail once it is sent"), required=False
    )


class RejectForm(ActionForm):
    """Why the work is refused."""

    reason = forms.CharField(label=gettext_lazy("Reason, in a word"), required=False, max_length=255)
    message = message(gettext_lazy("Message"))


class HoldForm(ActionForm):
    """Why it waits."""

    by_units = True
    reason = forms.ChoiceField(label=gettext_lazy("Reason"), choices=FulfillmentHold.Reason.choices)
    notes = message(gettext_lazy("Notes"))


class MoveForm(ActionForm):
    """Where to."""

    by_units = True
    location = forms.TypedChoiceField(label=gettext_lazy("To"), coerce=int)

    def prepare(self) -> None:
        """The locations to which it can be moved, and why not to the others."""
        found = moving.candidates(self.row)
        field = self.fields["location"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(each.location.pk, each.location.name) for each in found if each.movable]
        others = [each for each in found if not each.movable and each.message != moving.CURRENT]
        field.help_text = " ".join(f"{each.location.name}: {_(each.message)}" for each in others[:20])

    def refuse(self, refusal: DomainError) -> None:
        """The service's name of the location is its own."""
        for name, messages in refusal.errors.items():
            for text in messages:
                self.add_error("location" if name == moving.NotMovable.field else None, text)


class RescheduleForm(ActionForm):
    """When it is due instead."""

    new_fulfill_at = moment(gettext_lazy("To be sent from"))

    def prepare(self) -> None:
        """As it is now."""
        self.initial.setdefault("new_fulfill_at", self.row.fulfill_at)


class DeadlineForm(ActionForm):
    """Until when it is to be sent."""

    fulfill_by = moment(gettext_lazy("To be sent until"))

    def prepare(self) -> None:
        """As it is now."""
        self.initial.setdefault("fulfill_by", self.row.fulfill_by)
