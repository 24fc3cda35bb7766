"""Build the template context that is shared by the pages of the refund form."""

import hashlib
from decimal import Decimal

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from apps.core.admin.display.money import format_amount_input
from apps.core.admin.forms.idempotency import FORM_KEY_FIELD
from apps.core.admin.staff_request import Context
from apps.core.money import ZERO, format_decimal
from apps.orders.admin.page_context import get_payment_summary
from apps.orders.domain.pricing.totals import get_shop_formatter
from apps.orders.models import Order, Transaction
from apps.refunds.admin import duty_fields
from apps.refunds.admin.forms import RefundForm
from apps.refunds.admin.messages import describe_difference, describe_items, describe_transactions, format_sums
from apps.refunds.domain import calculation
from apps.refunds.domain.calculation import RefundCalculation
from apps.refunds.domain.gateways import FAILED_STATUSES
from apps.refunds.domain.refund_preview import RefundPreview
from apps.refunds.domain.validation import RefundRefused, RefundRequest

_OWN_FIELDS = frozenset({FORM_KEY_FIELD, "csrfmiddlewaretoken", "step", "seen"})


def get_initial_values(request: HttpRequest, order: Order) -> Context:
    """Return the initial form values: nothing, everything refundable, or the amount of a failed refund."""
    failed_id = request.GET.get("again", "")
    if failed_id.isascii() and failed_id.isdecimal() and len(failed_id) < 19:
        failed = Transaction.objects.filter(order=order, kind=Transaction.Kind.REFUND, status__in=FAILED_STATUSES)
        row = failed.filter(pk=int(failed_id)).select_related("parent").first()
        if row is not None and row.parent is not None:
            amount = min(row.amount, row.parent.amount - row.parent.refunded)
            return {"initial": {f"payment-{row.parent_id}": amount}}
    return {"everything": "all" in request.GET}


def get_calculation_context(form: RefundForm) -> Context:
    """Return the payments, and the calculation or the errors of a submitted form."""
    payments = {"payments": _get_payment_summary(form, ZERO)}
    if not form.is_bound:
        return payments
    if not form.is_valid():
        return {**payments, "problems": form.all_errors}
    try:
        return _calculation_context(form, form.calculate())
    except RefundRefused as error:
        form.add_domain_errors(error.errors, form.request_without_payments)
        return {**payments, "problems": form.all_errors}


def _get_payment_summary(form: RefundForm, refund: Decimal) -> Context:
    refundable = sum((balance.refundable_in_order for balance in form.payment_balances), ZERO)
    return get_payment_summary(form.snapshot.order, refundable, refund)


def _calculation_context(form: RefundForm, result: RefundCalculation) -> Context:
    order = form.snapshot.order
    money, refund_request = get_shop_formatter(order), form.get_request(result)
    payments = {balance.payment.pk: balance.payment for balance in form.payment_balances}
    settlement = calculation.settle(
        result,
        [(payments[given.parent_id or 0], given.amount or ZERO) for given in refund_request.transaction_inputs],
    )
    taxes = sum((part.tax for part in result.lines), ZERO) + sum((part.tax for part in result.shipping), ZERO)
    taxes += sum((part.tax for part in result.duties), ZERO)
    duty_rows = [(_("Duties"), money(sum((part.amount for part in result.duties), ZERO)))] if form.duties else []
    refunded = format_sums((given.amount or ZERO, given.currency or "") for given in refund_request.transaction_inputs)
    return {
        "payments": _get_payment_summary(form, sum(settlement.in_order, ZERO)),
        "found": result,
        "is_empty": not (result.lines or result.shipping or result.duties or refunded),
        "sums": [
            (_("Subtotal"), money(sum((part.subtotal for part in result.lines), ZERO))),
            (_("Shipping"), money(sum((part.amount for part in result.shipping), ZERO))),
            *duty_rows,
            (_("Tax (included)") if order.taxes_included else _("Tax"), money(taxes)),
            (_("Total"), money(result.total)),
        ],
        "suggested": money(result.suggested),
        "is_less": result.suggested < result.total,
        "suggestions": [
            (share.payment.pk, format_amount_input(share.amount, share.payment.currency))
            for share in result.shares
            if share.refundable
        ],
        "given": refunded,
        # One amount is enough if the total, the suggested and the refunded amount are equal.
        "has_one_total": result.suggested == result.total and refunded == money(result.total),
        "difference": describe_difference(settlement.discrepancy, money),
    }


def get_hidden_fields(data: QueryDict, form: RefundForm, refund_request: RefundRequest) -> list[tuple[str, str]]:
    """Return the hidden fields of the review page: the submitted values, with all payment amounts filled in."""
    inputs = {payment_input.parent_id: payment_input for payment_input in refund_request.transaction_inputs}
    fields = [
        (name, value)
        for name, values in data.lists()
        if name not in _OWN_FIELDS and not name.startswith("payment-")
        for value in values
    ]
    for balance in form.payment_balances:
        payment = balance.payment
        amount = inputs[payment.pk].amount if payment.pk in inputs else ZERO
        fields.append((f"payment-{payment.pk}", format_decimal(amount or ZERO, payment.currency)))
    return fields


def hash_preview(order: Order, preview: RefundPreview) -> str:
    """Return a hash of the previewed refund, so that a preview that has changed since the review is detected."""
    # Equal amounts may have a different number of trailing zeros, so amounts are formatted before hashing.
    sums = [format_decimal(amount, order.currency) for amount in (preview.discrepancy, preview.calculation.total)]
    lines = [
        *describe_transactions(preview.rows),
        *describe_items(preview),
        *duty_fields.describe_duties(order, preview.calculation.duties),
        *sums,
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
