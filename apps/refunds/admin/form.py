"""The form of a refund: what staff fill in, and what the service takes of it.

An amount of a payment that is left blank is the one that is worked out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.ground import languages
from apps.ground.attrs import Errors
from apps.ground.money import ZERO, rounded
from apps.inventory.models import Location
from apps.panel.money import MoneyField
from apps.refunds.admin import duties
from apps.refunds.admin.duties import DutyRow
from apps.refunds.admin.words import in_words
from apps.refunds.domain import calculation, previewing, restocking
from apps.refunds.domain.calculation import Balance, Calculation
from apps.refunds.domain.gateways import MANUAL, gateway_named
from apps.refunds.domain.previewing import Left, Preview
from apps.refunds.domain.requests import Books, Payback, RefundRefused, Units, Wanted, work_out
from apps.refunds.models import OrderAdjustment, RefundLineItem

RestockType = RefundLineItem.RestockType
KEPT = str(RestockType.NO_RESTOCK)
_BACK = {"unsent": RestockType.CANCEL, "sent": RestockType.RETURN}
_WORDS = {
    # By where units are, and whether they are counted: what becomes of those that come back, and of the others.
    ("unsent", True): (
        gettext_noop("Cancel, back to stock at {place}"),
        gettext_noop("Refund only: they stay to be sent"),
    ),
    ("unsent", False): (gettext_noop("Cancel: not sent any more"), gettext_noop("Refund only: they stay to be sent")),
    ("sent", True): (gettext_noop("Returned to {place}"), gettext_noop("Not put back in stock")),
    ("sent", False): (gettext_noop("Returned"), gettext_noop("Not returned")),
}


class AmountField(MoneyField):
    """An amount of money that may be left blank."""

    def __init__(self, currency: str, most: Decimal) -> None:
        """At most so much, in a currency."""
        words = _("There is at most {amount}.").format(amount=languages.money(most, currency))
        widget = forms.TextInput(attrs={"class": "bo-input", "inputmode": "decimal", "autocomplete": "off"})
        super().__init__(
            currency=currency, required=False, max_value=most, error_messages={"max_value": words}, widget=widget
        )


@dataclass(frozen=True, slots=True)
class UnitsRow:
    """Units of a line that are in one place, with their fields."""

    left: Left
    quantity: forms.BoundField
    restock: forms.BoundField
    price: str


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """A payment that money can go back to, with its fields."""

    balance: Balance
    amount: forms.BoundField
    by_hand: forms.BoundField
    most: str
    installed: bool


class RefundForm(forms.Form):
    """Everything that a refund can be of one order, as its rows are now.

    Args:
        books: The order's rows.
        data: What was sent; None where the form is opened.
        everything: Whether it begins with all that is left.
        again: The refund transaction that failed, whose money is to go back now.
    """

    full_shipping = forms.BooleanField(label=gettext_lazy("All of the shipping"), required=False)
    reason = forms.ChoiceField(
        label=gettext_lazy("Reason"), required=False, choices=[("", "–"), *OrderAdjustment.Reason.choices]
    )
    note = forms.CharField(
        label=gettext_lazy("Note, for staff only"),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 2, "class": "bo-input"}),
    )
    notify = forms.BooleanField(label=gettext_lazy("Tell the customer by e-mail"), required=False)

    def __init__(
        self,
        books: Books,
        data: QueryDict | None = None,
        *,
        everything: bool = False,
        initial: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(data, initial={"notify": bool(books.order.email), **(initial or {})})
        self.books = books
        self.left = previewing.units_left(books)
        self.balances = [each for each in calculation.balances(books.known) if each.left]
        self.shipping_left = calculation.shipping_left(books.shipping)
        self.places = restocking.offers([each.line for each in self.left])
        self.duties = books.duties_left
        for each in self.left:
            self._add_units(each, everything=everything)
        for duty in self.duties:
            self.fields[duties.key_of(duty.duty["id"])] = duties.field_for(duty, everything=everything)
        for balance in self.balances:
            self._add_payment(balance)
        self.fields["shipping"] = AmountField(books.order.currency, self.shipping_left)
        self.fields["shipping"].label = _("Or an amount of it")
        if everything and self.shipping_left:
            self.initial["full_shipping"] = True
        if not books.order.email:
            self.fields["notify"].disabled = True

    def _add_units(self, left: Left, *, everything: bool) -> None:
        key, line = key_of(left), left.line
        choices = _choices(left, self.places[line.pk])
        self.fields[f"units-{key}"] = forms.IntegerField(
            label=_("Units of {product}").format(product=line.name),
            required=False,
            min_value=0,
            max_value=left.most,
            initial=left.most if everything else 0,
            error_messages={
                "max_value": _("There are only {count}.").format(count=left.most),
                "invalid": _("Enter a whole number."),
            },
            widget=forms.NumberInput(attrs={"class": "bo-input", "data-most": left.most}),
        )
        self.fields[f"restock-{key}"] = forms.ChoiceField(
            label=_("What becomes of {product}").format(product=line.name),
            choices=choices,
            initial=choices[0][0],
            required=False,
            widget=forms.Select(attrs={"class": "bo-input"}),
        )

    def _add_payment(self, balance: Balance) -> None:
        payment = balance.payment
        self.fields[f"payment-{payment.pk}"] = amount = AmountField(payment.currency, balance.left)
        amount.label = _("Amount in {currency}, to the payment through {gateway}").format(
            currency=payment.currency, gateway=payment.gateway
        )
        self.fields[f"by_hand-{payment.pk}"] = forms.BooleanField(
            label=_("Only note it: the money went back by hand"),
            required=False,
            initial=gateway_named(payment.gateway) is None,
        )

    # --- what the page shows ---

    @property
    def unit_rows(self) -> Iterator[UnitsRow]:
        """The lines."""
        currency = self.books.order.currency
        for left in self.left:
            key = key_of(left)
            yield UnitsRow(
                left, self[f"units-{key}"], self[f"restock-{key}"], languages.amount(left.line.price, currency)
            )

    @property
    def duty_rows(self) -> Iterator[DutyRow]:
        """The duties."""
        for each in self.duties:
            yield duties.row_of(self.books.order, each, self[duties.key_of(each.duty["id"])])

    @property
    def payment_rows(self) -> Iterator[PaymentRow]:
        """The payments."""
        for each in self.balances:
            payment = each.payment
            yield PaymentRow(
                each,
                self[f"payment-{payment.pk}"],
                self[f"by_hand-{payment.pk}"],
                languages.money(each.left, payment.currency),
                gateway_named(payment.gateway) is not None and payment.gateway != MANUAL,
            )

    # --- what is asked for ---

    @property
    def chosen(self) -> list[Left]:
        """The rows of which units are refunded, in the order of ``wanted.units``."""
        return [each for each in self.left if self.cleaned_data.get(f"units-{key_of(each)}")]

    @property
    def goods(self) -> Wanted:
        """The refund without its money."""
        data = self.cleaned_data
        return Wanted(
            units=[self._units(each) for each in self.chosen],
            shipping=None if data["full_shipping"] else data.get("shipping"),
            full_shipping=data["full_shipping"],
            duties=duties.asked(self.duties, data),
            currency=self.books.order.currency,
            note=data["note"],
            notify=data["notify"],
            reason=data["reason"],
        )

    def _units(self, left: Left) -> Units:
        data, key = self.cleaned_data, key_of(left)
        kind, _, place = (data.get(f"restock-{key}") or KEPT).partition(":")
        return Units(left.line.pk, data[f"units-{key}"], kind, int(place) if place else None)

    def calculate(self) -> Calculation:
        """What units, shipping and duties come to.

        Raises:
            RefundRefused: ``{field: [messages]}`` of all that cannot be.
        """
        _, found = work_out(self.books, self.goods)
        return found

    def wanted(self, found: Calculation) -> Wanted:
        """The refund with its money: what was typed, else what was worked out."""
        data, shares = self.cleaned_data, {share.payment.pk: share.amount for share in found.shares}
        paybacks = []
        for balance in self.balances:
            payment = balance.payment
            typed = data.get(f"payment-{payment.pk}")
            amount = shares.get(payment.pk, ZERO) if typed is None else typed
            if amount:
                gateway = MANUAL if data[f"by_hand-{payment.pk}"] else None
                written = rounded(amount, payment.currency)
                paybacks.append(Payback(written, payment.pk, gateway, payment.currency))
        return replace(self.goods, paybacks=paybacks)

    def look(self, *, at: datetime) -> tuple[Wanted, Preview] | None:
        """What would be made, checked by the service; None where the form says what cannot be."""
        if not self.is_valid():
            return None
        wanted = self.goods
        try:
            wanted = self.wanted(self.calculate())
            if not (wanted.units or wanted.shipping or wanted.full_shipping or wanted.duties or wanted.paybacks):
                self.add_error(None, _("Nothing is chosen yet: say what is refunded, or how much money goes back."))
                return None
            return wanted, previewing.preview(self.books.order, wanted, at=at)
        except RefundRefused as refusal:
            self.refuse(refusal.errors, wanted)
            return None

    def refuse(self, errors: Errors, wanted: Wanted) -> None:
        """Show what the service refused, at the fields that it means and in words of staff."""
        # A field with an error is none of the chosen any more.
        chosen = self.chosen
        for path, messages in errors.items():
            field = self._field_of(path, chosen, wanted)
            for message in messages:
                self.add_error(field, in_words(path, message))

    def _field_of(self, path: str, chosen: Sequence[Left], wanted: Wanted) -> str | None:
        part, _, rest = path.partition(".")
        place, _, name = rest.partition(".")
        if part == "refund_line_items" and place.isdecimal() and int(place) < len(chosen):
            key = key_of(chosen[int(place)])
            return f"units-{key}" if name == "quantity" else f"restock-{key}"
        if part == "refund_duties" and place.isdecimal() and int(place) < len(wanted.duties):
            return duties.key_of(wanted.duties[int(place)].duty_id)
        if part == "transactions" and place.isdecimal() and int(place) < len(wanted.paybacks):
            payment = wanted.paybacks[int(place)].parent_id
            return f"by_hand-{payment}" if name == "gateway" else f"payment-{payment}"
        return "shipping" if part == "shipping" else None

    @property
    def all_errors(self) -> list[str]:
        """Every message, with the label of its field, for a place where the fields are not shown."""
        said = [str(error) for error in self.non_field_errors()]
        for name, messages in self.errors.items():
            if name in self.fields:
                said += [f"{self.fields[name].label}: {message}" for message in messages]
        return said


def key_of(left: Left) -> str:
    """Names a row in the form."""
    return f"{left.line.pk}-{left.state}"


def _choices(left: Left, places: Sequence[Location]) -> list[tuple[str, str]]:
    """What can become of units: the likeliest first."""
    if left.state == "gone":
        return [(KEPT, _("Nothing comes back"))]
    line, kind = left.line, _BACK[left.state]
    counted = line.variant is not None and line.variant.inventory_item.tracked
    back, kept = _WORDS[left.state, counted]
    offered = places if counted else places[:1]
    return [(f"{kind}:{place.pk}", _(back).format(place=place.name)) for place in offered] + [(KEPT, _(kept))]
