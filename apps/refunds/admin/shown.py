"""Refunds as pages show them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.ground import languages
from apps.ground.money import ZERO
from apps.orders.domain.bill import in_shop_currency
from apps.orders.models import Order, Transaction
from apps.refunds.admin.words import amounts, difference
from apps.refunds.domain.calculation import LIVING, with_tax
from apps.refunds.domain.owed import FAILED
from apps.refunds.models import OrderAdjustment, Refund, RefundLineItem
from apps.staff.domain.actors import names_of

Status = Transaction.Status
DISCREPANCY = OrderAdjustment.Kind.REFUND_DISCREPANCY
_BADGES = {Status.SUCCESS: "success", Status.PENDING: "warning", Status.FAILURE: "danger", Status.ERROR: "danger"}
_OUTCOMES = {
    Status.SUCCESS: gettext_noop("Given back"),
    Status.PENDING: gettext_noop("Waiting for the gateway"),
    Status.FAILURE: gettext_noop("Refused"),
    Status.ERROR: gettext_noop("Could not be tried"),
}


@dataclass(frozen=True, slots=True)
class Movement:
    """Money of a refund, and how far it is.

    Attributes:
        may_repeat: Whether it failed, and the money is still owed.
    """

    row: Transaction
    amount: str
    badge: str
    outcome: str
    may_repeat: bool

    @property
    def waits(self) -> bool:
        """Whether the gateway has yet to answer."""
        return self.row.status == Status.PENDING


@dataclass(frozen=True, slots=True)
class Shown:
    """A refund with all that belongs to it, in words.

    Attributes:
        who: Made it; empty where it was no person.
        goods: The units, and what went back of shipping and duties.
    """

    row: Refund
    who: str
    amount: str
    goods: Sequence[str]
    difference: str
    movements: Sequence[Movement]


def with_parts(order: Order) -> list[Refund]:
    """The refunds of an order, newest first, with what belongs to them at hand."""
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


def shown(order: Order, refunds: Sequence[Refund]) -> list[Shown]:
    """Refunds of one order as pages show them."""
    people = {refund.user_id: f"staff:{refund.user_id}" for refund in refunds if refund.user_id}
    names = names_of(list(people.values()))
    return [_shown(order, refund, names[people[refund.user_id]] if refund.user_id else "") for refund in refunds]


def _shown(order: Order, refund: Refund, who: str) -> Shown:
    money = in_shop_currency(order)
    rows = [each.transaction for each in sorted(refund.transactions.all(), key=lambda each: each.pk)]
    shipping = sum((with_tax(order, row.amount, row.tax) for row in refund.refund_shipping_lines.all()), ZERO)
    customs = sum((with_tax(order, row.amount, row.tax) for row in refund.duties.all()), ZERO)
    kept = sum((row.amount for row in refund.order_adjustments.all() if row.kind == DISCREPANCY), ZERO)
    given = ((_("shipping {amount}"), shipping), (_("duties {amount}"), customs))
    return Shown(
        row=refund,
        who=who,
        amount=amounts(row for row in rows if row.status in LIVING) or _("No money"),
        goods=[
            *(_units(row) for row in refund.refund_line_items.all()),
            *(text.format(amount=money(amount)) for text, amount in given if amount),
        ],
        difference=difference(kept, money),
        movements=[_movement(order, row) for row in rows],
    )


def _units(row: RefundLineItem) -> str:
    units = f"{row.quantity} × {row.line_item.name}"
    if row.location is not None:
        return _("{units}, back at {place}").format(units=units, place=row.location.name)
    return units


def _movement(order: Order, row: Transaction) -> Movement:
    failed = row.status in FAILED
    left = row.parent is not None and row.parent.refunded < row.parent.amount
    return Movement(
        row=row,
        amount=languages.money(row.amount, row.currency),
        badge=_BADGES[Status(row.status)],
        outcome=_(_OUTCOMES[Status(row.status)]),
        may_repeat=failed and left and order.outstanding < 0,
    )
