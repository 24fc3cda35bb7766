"""The refund form and its conversion into a ``RefundRequest``.

Blank payment amounts default to the calculated amounts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.core.admin.display.money import MoneyField
from apps.core.i18n import formats
from apps.core.money import ZERO, round_money
from apps.core.types import Errors
from apps.inventory.models import Location
from apps.orders.admin.source_labels import get_gateway_label
from apps.orders.models import Transaction
from apps.refunds.admin import duty_fields
from apps.refunds.admin.duty_fields import DutyRow
from apps.refunds.admin.messages import format_refund_error
from apps.refunds.domain import calculation, refund_preview, refunded_parts, restocking
from apps.refunds.domain.calculation import PaymentBalance, RefundCalculation
from apps.refunds.domain.gateways import MANUAL, get_gateway, only_records_refunds
from apps.refunds.domain.refund_preview import RefundableItems, RefundPreview
from apps.refunds.domain.validation import (
    OrderSnapshot,
    RefundLineInput,
    RefundRefused,
    RefundRequest,
    RefundTransactionInput,
    resolve_and_calculate,
)
from apps.refunds.models import OrderAdjustment, RefundLineItem

RestockType = RefundLineItem.RestockType
NO_RESTOCK_CHOICE = str(RestockType.NO_RESTOCK)
_RESTOCK_TYPES = {"unsent": RestockType.CANCEL, "sent": RestockType.RETURN}
_WORDS = {
    # The restock labels, keyed by item state and by whether the items were taken from stock. The first label is for
    # restocking, the second for not restocking.
    ("unsent", True): (
        gettext_noop("Cancel and restock at {place}"),
        gettext_noop("Refund only: items will still be fulfilled"),
    ),
    ("unsent", False): (gettext_noop("Cancel the items"), gettext_noop("Refund only: items will still be fulfilled")),
    ("sent", True): (gettext_noop("Return and restock at {place}"), gettext_noop("Do not restock")),
    ("sent", False): (gettext_noop("Returned"), gettext_noop("Not returned")),
}


class AmountField(MoneyField):
    def __init__(self, currency: str, maximum: Decimal) -> None:
        message = _("Enter at most {amount}.").format(amount=formats.format_money(maximum, currency))
        widget = forms.TextInput(attrs={"class": "bo-input", "inputmode": "decimal", "autocomplete": "off"})
        super().__init__(
            currency=currency, required=False, max_value=maximum, error_messages={"max_value": message}, widget=widget
        )


@dataclass(frozen=True, slots=True)
class LineItemRow:
    refundable: RefundableItems
    quantity: forms.BoundField
    restock: forms.BoundField
    price: str


@dataclass(frozen=True, slots=True)
class PaymentRow:
    balance: PaymentBalance
    amount: forms.BoundField
    is_manual: forms.BoundField
    maximum: str
    note: str

    @property
    def gateway(self) -> str:
        return get_gateway_label(self.balance.payment.gateway)


def _describe_gateway(payment: Transaction) -> str:
    """Return a note if refunds of the payment are only recorded."""
    if get_gateway(payment.gateway) is None:
        return _("This gateway is not installed here. The refund will only be recorded.")
    return _("The refund will only be recorded.") if only_records_refunds(payment.gateway, payment) else ""


class RefundForm(forms.Form):
    """The refund form of an order. ``everything`` selects everything that is still refundable."""

    full_shipping = forms.BooleanField(label=gettext_lazy("Refund all shipping"), required=False)
    reason = forms.ChoiceField(
        label=gettext_lazy("Reason"), required=False, choices=[("", "–"), *OrderAdjustment.Reason.choices]
    )
    note = forms.CharField(
        label=gettext_lazy("Note (staff only)"),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 2, "class": "bo-input"}),
    )
    notify = forms.BooleanField(label=gettext_lazy("Notify the customer by email"), required=False)

    def __init__(
        self,
        snapshot: OrderSnapshot,
        data: QueryDict | None = None,
        *,
        everything: bool = False,
        initial: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(data, initial={"notify": bool(snapshot.order.email), **(initial or {})})
        self.snapshot = snapshot
        self.refundable_rows = refund_preview.get_refundable_items(snapshot)
        self.payment_balances = [
            row for row in calculation.get_payment_balances(snapshot.transactions) if row.refundable
        ]
        self.shipping_left = refunded_parts.get_refundable_shipping(snapshot.shipping)
        self.restock_locations = restocking.get_restock_choices(
            snapshot.order, [row.line for row in self.refundable_rows]
        )
        self.duties = snapshot.refundable_duties
        for row in self.refundable_rows:
            self._add_units(row, everything=everything)
        for duty in self.duties:
            self.fields[duty_fields.get_duty_field_name(duty.duty["id"])] = duty_fields.create_duty_field(
                duty, select_all=everything
            )
        for balance in self.payment_balances:
            self._add_payment(balance)
        self.fields["shipping"] = AmountField(snapshot.order.currency, self.shipping_left)
        self.fields["shipping"].label = _("Or enter an amount")
        if everything and self.shipping_left:
            self.initial["full_shipping"] = True
        if not snapshot.order.email:
            self.fields["notify"].disabled = True

    def _add_units(self, units: RefundableItems, *, everything: bool) -> None:
        key, line = get_row_key(units), units.line
        choices = _choices(units, self.restock_locations)
        self.fields[f"units-{key}"] = forms.IntegerField(
            label=_("Quantity of {product}").format(product=line.name),
            required=False,
            min_value=0,
            max_value=units.quantity,
            initial=units.quantity if everything else 0,
            error_messages={
                "max_value": _("Enter at most {count}.").format(count=units.quantity),
                "invalid": _("Enter a whole number."),
            },
            widget=forms.NumberInput(attrs={"class": "bo-input", "data-most": units.quantity}),
        )
        self.fields[f"restock-{key}"] = forms.ChoiceField(
            label=_("Restock {product}").format(product=line.name),
            choices=choices,
            initial=choices[0][0],
            required=False,
            widget=forms.Select(attrs={"class": "bo-input"}),
        )

    def _add_payment(self, balance: PaymentBalance) -> None:
        payment = balance.payment
        self.fields[f"payment-{payment.pk}"] = amount = AmountField(payment.currency, balance.refundable)
        amount.label = _("Amount in {currency} for the {gateway} payment").format(
            currency=payment.currency, gateway=payment.gateway
        )
        self.fields[f"by_hand-{payment.pk}"] = forms.BooleanField(
            label=_("Record only: the money was already refunded manually"),
            required=False,
        )

    @property
    def line_item_rows(self) -> Iterator[LineItemRow]:
        currency = self.snapshot.order.currency
        for units in self.refundable_rows:
            key = get_row_key(units)
            yield LineItemRow(
                units, self[f"units-{key}"], self[f"restock-{key}"], formats.format_amount(units.line.price, currency)
            )

    @property
    def duty_rows(self) -> Iterator[DutyRow]:
        for duty in self.duties:
            yield duty_fields.build_duty_row(
                self.snapshot.order, duty, self[duty_fields.get_duty_field_name(duty.duty["id"])]
            )

    @property
    def payment_rows(self) -> Iterator[PaymentRow]:
        for balance in self.payment_balances:
            payment = balance.payment
            yield PaymentRow(
                balance,
                self[f"payment-{payment.pk}"],
                self[f"by_hand-{payment.pk}"],
                formats.format_money(balance.refundable, payment.currency),
                _describe_gateway(payment),
            )

    @property
    def selected_rows(self) -> list[RefundableItems]:
        """Return the rows with an entered quantity, in the order of ``refund_request.line_inputs``."""
        return [row for row in self.refundable_rows if self.cleaned_data.get(f"units-{get_row_key(row)}")]

    @property
    def request_without_payments(self) -> RefundRequest:
        data = self.cleaned_data
        return RefundRequest(
            line_inputs=[self._units(row) for row in self.selected_rows],
            shipping=None if data["full_shipping"] else data.get("shipping"),
            full_shipping=data["full_shipping"],
            duty_inputs=duty_fields.get_duty_inputs(self.duties, data),
            currency=self.snapshot.order.currency,
            note=data["note"],
            notify=data["notify"],
            reason=data["reason"],
        )

    def _units(self, units: RefundableItems) -> RefundLineInput:
        data, key = self.cleaned_data, get_row_key(units)
        kind, _, location_id = (data.get(f"restock-{key}") or NO_RESTOCK_CHOICE).partition(":")
        return RefundLineInput(
            units.line.pk,
            data[f"units-{key}"],
            kind,
            int(location_id) if location_id else None,
            prefers_removed=units.state == "gone",
        )

    def calculate(self) -> RefundCalculation:
        _, result = resolve_and_calculate(self.snapshot, self.request_without_payments)
        return result

    def get_request(self, result: RefundCalculation) -> RefundRequest:
        """Return the refund request with payments. Blank amounts default to the calculated amounts."""
        data, shares = self.cleaned_data, {share.payment.pk: share.amount for share in result.shares}
        paybacks = []
        for balance in self.payment_balances:
            payment = balance.payment
            entered = data.get(f"payment-{payment.pk}")
            amount = shares.get(payment.pk, ZERO) if entered is None else entered
            if amount:
                gateway = MANUAL if data[f"by_hand-{payment.pk}"] else None
                rounded_amount = round_money(amount, payment.currency)
                paybacks.append(RefundTransactionInput(rounded_amount, payment.pk, gateway, payment.currency))
        return replace(self.request_without_payments, transaction_inputs=paybacks)

    def get_preview(self, *, at: datetime) -> tuple[RefundRequest, RefundPreview] | None:
        """Return the refund request and its preview, or None if the form has errors."""
        if not self.is_valid():
            return None
        refund_request = self.request_without_payments
        try:
            refund_request = self.get_request(self.calculate())
            if refund_request.is_empty:
                self.add_error(None, _("Select items, shipping or duties to refund, or enter an amount."))
                return None
            return refund_request, refund_preview.preview_refund(self.snapshot.order, refund_request, at=at)
        except RefundRefused as error:
            self.add_domain_errors(error.errors, refund_request)
            return None

    def add_domain_errors(self, errors: Errors, refund_request: RefundRequest) -> None:
        """Add domain errors, worded for staff, to the affected form fields."""
        # Read the selected rows first, because Django removes a field from ``cleaned_data`` when an error is added.
        selected = self.selected_rows
        for path, messages in errors.items():
            field = self._field_of(path, selected, refund_request)
            for message in messages:
                self.add_error(field, format_refund_error(path, message))

    def _field_of(self, path: str, selected: Sequence[RefundableItems], refund_request: RefundRequest) -> str | None:
        part, _, rest = path.partition(".")
        index, _, name = rest.partition(".")
        if part == "refund_line_items" and index.isdecimal() and int(index) < len(selected):
            key = get_row_key(selected[int(index)])
            return f"units-{key}" if name == "quantity" else f"restock-{key}"
        if part == "refund_duties" and index.isdecimal() and int(index) < len(refund_request.duty_inputs):
            return duty_fields.get_duty_field_name(refund_request.duty_inputs[int(index)].duty_id)
        if part == "transactions" and index.isdecimal() and int(index) < len(refund_request.transaction_inputs):
            payment = refund_request.transaction_inputs[int(index)].parent_id
            return f"by_hand-{payment}" if name == "gateway" else f"payment-{payment}"
        return "shipping" if part == "shipping" else None

    @property
    def all_errors(self) -> list[str]:
        """Return all error messages, prefixed with field labels, for display outside the form fields."""
        lines = [str(error) for error in self.non_field_errors()]
        for name, messages in self.errors.items():
            if name in self.fields:
                lines += [f"{self.fields[name].label}: {message}" for message in messages]
        return lines


def get_row_key(units: RefundableItems) -> str:
    """Return the key of a row, which is part of the names of the row's form fields."""
    return f"{units.line.pk}-{units.state}"


def _choices(
    units: RefundableItems, restock_locations: Mapping[tuple[int, RestockType], Sequence[Location]]
) -> list[tuple[str, str]]:
    if units.state == "gone":
        return [(NO_RESTOCK_CHOICE, _("Nothing to restock"))]
    line, kind = units.line, _RESTOCK_TYPES[units.state]
    took_stock = bool(line.taken_from)
    restock_label, no_restock_label = _WORDS[units.state, took_stock]
    locations = restock_locations[line.pk, kind][: None if took_stock else 1]
    return [(f"{kind}:{location.pk}", _(restock_label).format(place=location.name)) for location in locations] + [
        (NO_RESTOCK_CHOICE, _(no_restock_label))
    ]
