"""Refunds on the order page: the prepared refunds, the section and the action."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.money import ZERO
from apps.core.tenancy.actor_names import get_actor_names
from apps.orders.admin.extension_points import OrderAction, OrderSection, action_sources, order_sections
from apps.orders.admin.source_labels import get_gateway_label
from apps.orders.domain.pricing.totals import get_shop_formatter
from apps.orders.models import Order, Transaction
from apps.refunds.admin.messages import describe_difference, describe_taxes, format_amounts
from apps.refunds.admin.permissions import ADD, VIEW
from apps.refunds.domain.calculation import ACTIVE_STATUSES, add_tax
from apps.refunds.domain.gateways import FAILED_STATUSES
from apps.refunds.models import OrderAdjustment, Refund, RefundLineItem

Status = Transaction.Status
DISCREPANCY_KIND = OrderAdjustment.Kind.REFUND_DISCREPANCY
_BADGES = {Status.SUCCESS: "success", Status.PENDING: "warning", Status.FAILURE: "danger", Status.ERROR: "danger"}
_OUTCOMES = {
    Status.SUCCESS: gettext_noop("Refunded"),
    Status.PENDING: gettext_noop("Waiting for the gateway"),
    Status.FAILURE: gettext_noop("Rejected"),
    Status.ERROR: gettext_noop("Not processed"),
}


@dataclass(frozen=True, slots=True)
class DisplayedTransaction:
    """A refund transaction for display. It can be retried if it failed and the money is still owed."""

    row: Transaction
    amount: str
    badge: str
    outcome: str
    can_retry: bool

    @property
    def is_pending(self) -> bool:
        return self.row.status == Status.PENDING

    @property
    def gateway(self) -> str:
        return get_gateway_label(self.row.gateway)


@dataclass(frozen=True, slots=True)
class DisplayedRefund:
    """A refund for display. ``staff_member`` is empty for apps and the system. Items include shipping and duties."""

    row: Refund
    staff_member: str
    amount: str
    refunded_items: Sequence[str]
    taxes: Sequence[str]
    difference: str
    transactions: Sequence[DisplayedTransaction]


def load_refunds(order: Order) -> list[Refund]:
    rows = Refund.objects.filter(order=order).order_by("-pk")
    return list(
        rows.prefetch_related(
            "refund_line_items__line_item",
            "refund_line_items__location",
            "refund_shipping_lines",
            "duties",
            "order_adjustments",
            "transactions__transaction__parent",
        )
    )


def display_refunds(order: Order, refunds: Sequence[Refund]) -> list[DisplayedRefund]:
    people = {refund.user_id: f"staff:{refund.user_id}" for refund in refunds if refund.user_id}
    names = get_actor_names(list(people.values()))
    return [
        _display_refund(order, refund, names[people[refund.user_id]] if refund.user_id else "") for refund in refunds
    ]


def _display_refund(order: Order, refund: Refund, staff_member: str) -> DisplayedRefund:
    money = get_shop_formatter(order)
    rows = [payment.transaction for payment in sorted(refund.transactions.all(), key=lambda payment: payment.pk)]
    shipping = sum((add_tax(order, row.amount, row.tax) for row in refund.refund_shipping_lines.all()), ZERO)
    duties = sum((add_tax(order, row.amount, row.tax) for row in refund.duties.all()), ZERO)
    discrepancy = sum((row.amount for row in refund.order_adjustments.all() if row.kind == DISCREPANCY_KIND), ZERO)
    other_amounts = ((_("shipping {amount}"), shipping), (_("duties {amount}"), duties))
    return DisplayedRefund(
        row=refund,
        staff_member=staff_member,
        amount=format_amounts(row for row in rows if row.status in ACTIVE_STATUSES) or _("No money refunded"),
        refunded_items=[
            *(_format_line_item(row) for row in refund.refund_line_items.all()),
            *(text.format(amount=money(amount)) for text, amount in other_amounts if amount),
        ],
        taxes=describe_taxes(order, refund.tax_lines),
        difference=describe_difference(discrepancy, money),
        transactions=[_display_transaction(order, row) for row in rows],
    )


def _format_line_item(row: RefundLineItem) -> str:
    units = f"{row.quantity} × {row.line_item.name}"
    if row.location is not None:
        return _("{units}, restocked at {place}").format(units=units, place=row.location.name)
    return units


def _display_transaction(order: Order, row: Transaction) -> DisplayedTransaction:
    failed = row.status in FAILED_STATUSES
    is_refundable = row.parent is not None and row.parent.refunded < row.parent.amount
    return DisplayedTransaction(
        row=row,
        amount=formats.format_money(row.amount, row.currency),
        badge=_BADGES[Status(row.status)],
        outcome=_(_OUTCOMES[Status(row.status)]),
        can_retry=failed and is_refundable and order.outstanding < 0,
    )


def _refunds(request: HttpRequest, order: Order) -> Context | None:
    """Return the context of the refund list, or None if there is nothing to show."""
    if not has_permission(request, VIEW):
        return None
    refunds = load_refunds(order)
    return {"refunds": display_refunds(order, refunds), "may_refund": has_permission(request, ADD)} if refunds else None


def get_actions(request: HttpRequest, order: Order) -> Iterator[OrderAction]:
    """Offer a refund if the customer paid, and otherwise a return if items were fulfilled."""
    if not has_permission(request, ADD):
        return
    url = reverse("admin:refunds_refund_new", args=[order.pk])
    if order.outstanding < 0:
        label = _("Refund {amount}…").format(amount=get_shop_formatter(order)(-order.outstanding))
        yield OrderAction(label, url, order=30, is_step=True, is_button=True)
    elif order.net_payment > 0:
        yield OrderAction(_("Refund…"), url, order=30, is_button=True)
    elif order.fulfillment_status in {"fulfilled", "partial"}:
        yield OrderAction(_("Return items…"), url, order=30)


action_sources.add(get_actions)
order_sections.add(OrderSection("panel/refunds/on_order.html", _refunds, order=60))
