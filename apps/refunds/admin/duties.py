"""Duties in a refund's form and in its second look: which of them go back, and how much of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground.attrs import Given
from apps.orders.domain.bill import in_shop_currency
from apps.orders.models import LineItem, Order
from apps.refunds.domain.calculation import DutyPart, DutyWanted, with_tax
from apps.refunds.domain.requests import Duty
from apps.shops.domain.countries import told_country

SHARE, ALL = "proportional", "full"
_NOTHING = ("", gettext_lazy("Nothing"))
_SHARE = (SHARE, gettext_lazy("In proportion to the units refunded"))
_ALL = (ALL, gettext_lazy("All that is left"))


@dataclass(frozen=True, slots=True)
class DutyRow:
    """A duty that can still go back, with its field.

    Attributes:
        line: Whose it is.
        details: What customs know it by; empty where the order does not say.
        left: What the buyer gets if all of it goes back.
        taxes: How much of that are taxes on it; empty where there are none.
        choice: How much goes back.
    """

    line: LineItem
    details: str
    left: str
    taxes: str
    choice: forms.BoundField


def key_of(duty_id: int) -> str:
    """Names the field of a duty."""
    return f"duty-{duty_id}"


def field_for(duty: DutyWanted, *, everything: bool) -> forms.ChoiceField:
    """What goes back of a duty; a share of it only where units of its line can."""
    line = duty.line
    shared = [_SHARE] if line.quantity > line.refunded_quantity else []
    return forms.ChoiceField(
        label=_("What goes back of the {duty}").format(duty=name_of(line, duty.duty["id"])),
        choices=[_NOTHING, *shared, _ALL],
        initial=ALL if everything else "",
        required=False,
        widget=forms.Select(attrs={"class": "bo-input"}),
    )


def row_of(order: Order, duty: DutyWanted, choice: forms.BoundField) -> DutyRow:
    """A duty as the form shows it."""
    money, (amount, tax) = in_shop_currency(order), duty.left
    left = money(with_tax(order, amount, tax))
    return DutyRow(duty.line, _details(duty.line, duty.duty), left, money(tax) if tax else "", choice)


def asked(duties: Iterable[DutyWanted], data: Given) -> list[Duty]:
    """The duties of which something is chosen to go back, in their order."""
    chosen = ((each.duty["id"], data.get(key_of(each.duty["id"]))) for each in duties)
    return [Duty(pk, is_proportional=choice == SHARE) for pk, choice in chosen if choice]


def moves(order: Order, parts: Sequence[DutyPart]) -> list[str]:
    """What goes back of which duties, a sentence for each."""
    money, said = in_shop_currency(order), []
    for part in parts:
        text = (
            _("{amount} of the {duty}, {taxes} of which are taxes on it") if part.tax else _("{amount} of the {duty}")
        )
        amount = money(with_tax(order, part.amount, part.tax))
        said.append(text.format(amount=amount, duty=name_of(part.line, part.duty_id), taxes=money(part.tax)))
    return said


def name_of(line: LineItem, duty_id: int) -> str:
    """Names a duty so that it is mistaken for no other of its line: ``duty on Mug (6912.00, from Portugal)``."""
    details = next((_details(line, duty) for duty in line.duties if duty["id"] == duty_id), "")
    text = _("duty on {product} ({details})") if details else _("duty on {product}")
    return text.format(product=line.name, details=details)


def _details(line: LineItem, duty: Given) -> str:
    """The place of a duty among those of its line, its customs number, and where the goods were made."""
    country = duty["country_code_of_origin"]
    parts = (
        _("{number} of {total}").format(number=line.duties.index(duty) + 1, total=len(line.duties))
        if len(line.duties) > 1
        else "",
        duty["harmonized_system_code"],
        _("from {country}").format(country=told_country(country)) if country else "",
    )
    return ", ".join(part for part in parts if part)
