"""Forms for the fulfillment order actions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.admin.forms.times import ShopDateTimeField
from apps.core.exceptions import DomainError
from apps.core.types import ReadOnlyAttrs
from apps.fulfillment.domain.fulfillment_orders import moves
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentOrderLine

NO_ITEMS_SELECTED = gettext_lazy("Select at least one item.")


class QuantityRow(NamedTuple):
    line: FulfillmentOrderLine
    field: forms.BoundField
    thumbnail: str


def message_field(label: StrOrPromise, *, help_text: StrOrPromise = "") -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 3})
    return forms.CharField(label=label, required=False, max_length=1000, widget=widget, help_text=help_text)


class ActionForm(forms.Form):
    """A form without fields. With ``allows_partial``, staff can select items, and the other items are split off."""

    allows_partial = False

    def __init__(
        self, row: FulfillmentOrder, lines: Sequence[FulfillmentOrderLine], data: Any = None, **options: Any
    ) -> None:
        """Create the form for a fulfillment order and its lines that still have items to fulfill."""
        super().__init__(data, **options)
        self.row, self.lines = row, lines
        # The thumbnails by line item, which only pages set.
        self.thumbnails: Mapping[int, str] = {}
        if self.allows_partial:
            self.fields |= create_quantity_fields(lines)
        self.prepare()

    def prepare(self) -> None:
        """Set up fields that depend on the fulfillment order."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.allows_partial and not self.errors and not any(self.selected_quantities.values()):
            self.add_error(None, NO_ITEMS_SELECTED)
        return cleaned

    @property
    def selected_quantities(self) -> dict[int, int]:
        return {line.pk: self.cleaned_data.get(get_quantity_field_name(line)) or 0 for line in self.lines}

    @property
    def selected_lines(self) -> list[ReadOnlyAttrs] | None:
        """Return the selected lines, or None if all remaining items are selected."""
        if all(self.selected_quantities[line.pk] == line.fulfillable_quantity for line in self.lines):
            return None
        return [{"id": pk, "quantity": count} for pk, count in self.selected_quantities.items() if count]

    @property
    def other_fields(self) -> list[forms.BoundField]:
        return [field for field in self if not field.name.startswith("units-")]

    @property
    def quantity_rows(self) -> list[QuantityRow]:
        return get_quantity_rows(self, self.lines, self.thumbnails) if self.allows_partial else []

    def add_domain_error(self, error: DomainError) -> None:
        """Show a domain error next to the field with the same name, or above the form if no field has this name."""
        for name, messages in error.errors.items():
            field_name = name if name in self.fields else None
            for text in messages:
                self.add_error(field_name, text)


def get_quantity_field_name(line: FulfillmentOrderLine) -> str:
    return f"units-{line.pk}"


def get_quantity_rows(
    form: forms.Form, lines: Iterable[FulfillmentOrderLine], thumbnails: Mapping[int, str]
) -> list[QuantityRow]:
    return [
        QuantityRow(line, form[get_quantity_field_name(line)], thumbnails.get(line.line_item_id, "")) for line in lines
    ]


def create_quantity_fields(lines: Sequence[FulfillmentOrderLine]) -> dict[str, forms.Field]:
    return {
        get_quantity_field_name(line): forms.IntegerField(
            label=_("Quantity of {product}").format(product=line.line_item.name),
            required=False,
            min_value=0,
            max_value=line.fulfillable_quantity,
            initial=line.fulfillable_quantity,
            error_messages={"max_value": _("Only %(limit_value)s left to fulfill.")},
            widget=forms.NumberInput(
                attrs={
                    "aria-label": _("Quantity of {product}").format(product=line.line_item.name),
                    "data-all": line.fulfillable_quantity,
                }
            ),
        )
        for line in lines
    }


class MessageForm(ActionForm):
    message = message_field(gettext_lazy("Message"))


class RequestForm(ActionForm):
    allows_partial = True
    message = message_field(gettext_lazy("Message to the fulfillment service"))
    notify_customer = forms.BooleanField(
        label=gettext_lazy("Notify the customer by email when the items are fulfilled"), required=False
    )


class RejectForm(ActionForm):
    reason = forms.CharField(label=gettext_lazy("Reason"), required=False, max_length=255)
    message = message_field(gettext_lazy("Message"))


class HoldForm(ActionForm):
    allows_partial = True
    reason = forms.ChoiceField(label=gettext_lazy("Reason"), choices=FulfillmentHold.Reason.choices)
    notes = message_field(gettext_lazy("Notes"))


class MoveForm(ActionForm):
    allows_partial = True
    location = forms.TypedChoiceField(label=gettext_lazy("To"), coerce=int)

    def prepare(self) -> None:
        """Offer the locations that the items can move to, and explain why other locations are not available."""
        candidates = moves.get_move_candidates(self.row)
        field = self.fields["location"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(location.pk, location.name) for location, message in candidates if not message]
        objections = [(location, text) for location, text in candidates if text and text != moves.CURRENT_LOCATION]
        field.help_text = " ".join(f"{location.name}: {_(message)}" for location, message in objections[:20])

    def add_domain_error(self, error: DomainError) -> None:
        for name, messages in error.errors.items():
            for text in messages:
                self.add_error("location" if name == moves.NotMovable.field else None, text)


class RescheduleForm(ActionForm):
    new_fulfill_at = ShopDateTimeField(gettext_lazy("Fulfill from"))

    def prepare(self) -> None:
        self.initial.setdefault("new_fulfill_at", self.row.fulfill_at)


class DeadlineForm(ActionForm):
    fulfill_by = ShopDateTimeField(gettext_lazy("Fulfill by"))

    def prepare(self) -> None:
        self.initial.setdefault("fulfill_by", self.row.fulfill_by)
