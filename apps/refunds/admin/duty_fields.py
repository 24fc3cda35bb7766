from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.types import ReadOnlyAttrs
from apps.orders.domain.pricing.totals import get_shop_formatter
from apps.orders.models import LineItem, Order
from apps.refunds.domain.calculation import add_tax
from apps.refunds.domain.refunded_parts import RefundableDuty, RefundedDuty
from apps.refunds.domain.validation import RefundDutyInput
from apps.shops.domain.countries import localize_country

PROPORTIONAL, FULL = "proportional", "full"
_NOTHING = ("", gettext_lazy("Nothing"))
_SHARE = (PROPORTIONAL, gettext_lazy("In proportion to the refunded quantity"))
_ALL = (FULL, gettext_lazy("Full refundable amount"))


@dataclass(frozen=True, slots=True)
class DutyRow:
    """A duty that can still be refunded, with its form field.

    Attributes:
        details: The details that identify the duty: number, customs code and country of origin. May be empty.
        refundable: The amount that a full refund of the duty returns, including ``taxes``.
    """

    line: LineItem
    details: str
    refundable: str
    taxes: str
    choice: forms.BoundField


def get_duty_field_name(duty_id: int) -> str:
    return f"duty-{duty_id}"


def create_duty_field(duty: RefundableDuty, *, select_all: bool) -> forms.ChoiceField:
    """Create the form field of a duty. A proportional refund is offered only if items of the line can be refunded."""
    line = duty.line
    shared = [_SHARE] if line.quantity > line.refunded_quantity else []
    return forms.ChoiceField(
        label=_("Refund for the {duty}").format(duty=format_duty_name(line, duty.duty["id"])),
        choices=[_NOTHING, *shared, _ALL],
        initial=FULL if select_all else "",
        required=False,
        widget=forms.Select(attrs={"class": "bo-input"}),
    )


def build_duty_row(order: Order, duty: RefundableDuty, choice: forms.BoundField) -> DutyRow:
    money, (amount, tax) = get_shop_formatter(order), duty.refundable
    refundable_amount = money(add_tax(order, amount, tax))
    return DutyRow(duty.line, _details(duty.line, duty.duty), refundable_amount, money(tax) if tax else "", choice)


def get_duty_inputs(duties: Iterable[RefundableDuty], data: ReadOnlyAttrs) -> list[RefundDutyInput]:
    choices = (
        (refundable_duty.duty["id"], data.get(get_duty_field_name(refundable_duty.duty["id"])))
        for refundable_duty in duties
    )
    return [RefundDutyInput(pk, is_proportional=choice == PROPORTIONAL) for pk, choice in choices if choice]


def describe_duties(order: Order, parts: Sequence[RefundedDuty]) -> list[str]:
    money, sentences = get_shop_formatter(order), []
    for part in parts:
        text = _("{amount} of the {duty}, including {taxes} tax") if part.tax else _("{amount} of the {duty}")
        amount = money(add_tax(order, part.amount, part.tax))
        sentences.append(
            text.format(amount=amount, duty=format_duty_name(part.line, part.duty_id), taxes=money(part.tax))
        )
    return sentences


def format_duty_name(line: LineItem, duty_id: int) -> str:
    """Return a name that is unique among the duties of a line item, e.g. ``duty on Mug (6912.00, from Portugal)``."""
    details = next((_details(line, duty) for duty in line.duties if duty["id"] == duty_id), "")
    text = _("duty on {product} ({details})") if details else _("duty on {product}")
    return text.format(product=line.name, details=details)


def _details(line: LineItem, duty: ReadOnlyAttrs) -> str:
    """Return the duty's number within its line, its customs code and its country of origin."""
    country = duty["country_code_of_origin"]
    parts = (
        _("{number} of {total}").format(number=line.duties.index(duty) + 1, total=len(line.duties))
        if len(line.duties) > 1
        else "",
        duty["harmonized_system_code"],
        _("from {country}").format(country=localize_country(country)) if country else "",
    )
    return ", ".join(part for part in parts if part)
