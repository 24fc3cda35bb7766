"""Editing the lines of an order that was taken in: units come and go, discounts are given; all as one act.

Units that go leave the order as cancelled ones do: the line keeps what was ordered, and says how many are left. Units
that come stand on lines of their own, also where a line has more of the same: what was paid, taxed and refunded of the
first one stays as it was. Money does not move: what becomes outstanding is paid, and what is owed refunded, later.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.events.domain.recording import record_event
from apps.ground import languages
from apps.ground.money import text_of
from apps.ground.retelling import retold, tells
from apps.orders.domain import edits, hooks, payments, pricing, stocking
from apps.orders.domain.edits import Edit, EditRefused
from apps.orders.domain.loading import lines_of, lock, shipping_of, transactions_of
from apps.orders.models import LineItem, Order

_SHOWN = {
    gettext_noop("Goods"): "current_subtotal_price",
    gettext_noop("Discounts"): "current_total_discounts",
    gettext_noop("Taxes"): "current_total_tax",
    gettext_noop("Total"): "current_total_price",
    gettext_noop("Outstanding"): "outstanding",
}
# Of a line, what is changed; of what is done, how much is told.
_CHANGED = (
    "current_quantity",
    "fulfillable_quantity",
    "taken_from",
    "total_discount",
    "discount",
    "discount_allocations",
    "tax",
    "tax_lines",
)
_TOLD = 5


def _each(told: str) -> str:
    """Moves that were joined, in the language that is read."""
    return "; ".join(retold(move) for move in told.split("; "))


_REMOVED = tells(gettext_noop("{count} × {name} removed"))
_ADDED = tells(gettext_noop("{count} × {name} added"))
_DISCOUNTED = tells(gettext_noop("{money} off {name}"), money=languages.retold_amount)
_EDITED_MORE = tells(gettext_noop("Edited: {moves}; and {count} more"), moves=_each)
_EDITED = tells(gettext_noop("Edited: {moves}"), moves=_each)
_COLUMNS = (*pricing.SUMS, "tax_lines", "discount_applications")


class ChangedMeanwhile(EditRefused):
    """The order is not any more what the caller saw."""

    code = "order_changed_meanwhile"
    field = "base"
    status = 409


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an edit does, or did.

    Attributes:
        order: As it is after it.
        sums: Per sum of the order its name in English, what it was and what it is; those that stay are left out.
        moves: What is done, a phrase for each, in English.
        outstanding: What is still to be paid then; negative for what is owed to the buyer.
    """

    order: Order
    sums: Sequence[tuple[str, Decimal, Decimal]]
    moves: Sequence[str]
    outstanding: Decimal


def preview(order: Order, edit: Edit, *, actor: str, at: datetime) -> Outcome:
    """What an edit would do: it is done and undone, so that it is exactly what is done later.

    Raises:
        DomainError: As ``edit_lines``.
    """
    with transaction.atomic():
        outcome = edit_lines(order, edit, actor=actor, at=at)
        transaction.set_rollback(True)
    return outcome


@transaction.atomic
def edit_lines(order: Order, edit: Edit, *, actor: str, at: datetime) -> Outcome:
    """Edit the lines of an order; stock, fulfillment orders, taxes, sums and statuses follow.

    Args:
        order: Read again under a lock.
        edit: What is asked for.
        actor: Who.
        at: When.

    Raises:
        EditRefused: The order is cancelled or closed, nothing is asked for, or ``{field: [messages]}`` of what cannot
            be.
        ChangedMeanwhile: The order is not what the caller saw.
        NotEnoughStock: Units are missing that must not be sold.
        TakenOn: A fulfillment service has taken on units that are to leave.
    """
    order = lock(order)
    _refuse(order, edit)
    lines, shipping, known = lines_of(order), shipping_of(order), transactions_of(order)
    before = _sums(order)
    fewer, discounts, extra = edits.asked(order, lines, edit)
    added = edits.added(order, lines, edit, extra)
    if not (fewer or discounts or added):
        raise EditRefused(_("Nothing is changed"), field="base")
    for take_part in hooks.edits:
        take_part(order, {line.pk: count for line, count in fewer.items()}, more=bool(added), actor=actor, at=at)
    every = [*lines, *added]
    stocking.exchange(order, every, added=added, removed=fewer, actor=actor, at=at)
    for line, count in fewer.items():
        line.current_quantity -= count
        line.fulfillable_quantity -= count
    for line, amount in discounts.items():
        pricing.give_discount(order, line, amount)
    pricing.sum_up_taxes(order, every, shipping)
    pricing.total(order, every, shipping)
    if errors := pricing.too_large(order):
        raise EditRefused(errors)
    _save({*fewer, *discounts}, added)
    if order.units_counted:
        payments.count_sold(added)
    payments.settle(order, every, known, actor=actor, at=at, columns=_COLUMNS)
    after = _sums(order)
    sums = [(name, old, after[name]) for name, old in before.items() if old != after[name]]
    moves = list(_moves(order, fewer, discounts, added))
    record_event(
        "orders/edited",
        order,
        actor=actor,
        at=at,
        changes={column: [_text(order, before[name]), _text(order, after[name])] for name, column in _SHOWN.items()},
        message=_told(moves),
    )
    return Outcome(order, sums, moves, order.outstanding)


def _refuse(order: Order, edit: Edit) -> None:
    if edit.seen_version is not None and edit.seen_version != order.version:
        raise ChangedMeanwhile(_("Somebody changed this order meanwhile. Nothing has been saved; look at it again."))
    if order.cancelled_at is not None:
        raise EditRefused(_("The order is cancelled; its lines cannot be edited any more."), field="base")
    if order.closed_at is not None:
        raise EditRefused(_("The order is closed. Open it again to edit its lines."), field="base")


def _sums(order: Order) -> dict[str, Decimal]:
    return {name: getattr(order, column) for name, column in _SHOWN.items()}


def _save(changed: Iterable[LineItem], added: Sequence[LineItem]) -> None:
    LineItem.objects.bulk_update(sorted(changed, key=lambda line: line.pk), _CHANGED)
    LineItem.objects.bulk_create(added)


def _moves(
    order: Order, fewer: Mapping[LineItem, int], discounts: Mapping[LineItem, Decimal], added: Sequence[LineItem]
) -> Iterator[str]:
    for line, count in fewer.items():
        yield _REMOVED.format(count=count, name=line.name)
    for line in added:
        yield _ADDED.format(count=line.quantity, name=line.name)
    given = {**discounts, **{line: line.discount for line in added if line.discount}}
    for line, amount in given.items():
        yield _DISCOUNTED.format(money=f"{text_of(amount, order.currency)} {order.currency}", name=line.name)


def _text(order: Order, amount: Decimal) -> str:
    return text_of(amount, order.currency)


def _told(moves: Sequence[str]) -> str:
    """What was done, for the timeline: all of it where that is short enough to be read."""
    words, told = (_EDITED_MORE if len(moves) > _TOLD else _EDITED), "; ".join(move[:100] for move in moves[:_TOLD])
    return words.format(moves=told, count=len(moves) - _TOLD)
