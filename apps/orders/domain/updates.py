"""Update and delete orders.

Orders are created in ``create``, canceled, closed and reopened in ``transitions``, and paid in ``payments``.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _

from apps.customers.domain.locking import raise_if_being_erased
from apps.customers.models import Customer
from apps.events.domain.diffs import apply_changes
from apps.events.domain.recording import record_event
from apps.ground.error_messages import BLANK, INVALID, too_long
from apps.ground.exceptions import DomainError
from apps.ground.tenancy import get_current_shop
from apps.ground.types import ReadOnlyAttrs
from apps.metafields.domain import write as metafields
from apps.metafields.domain.write import MetafieldInput
from apps.orders.domain import order_customers, payments
from apps.orders.domain.selectors import get_line_items, get_transactions, lock_order
from apps.orders.domain.validation import clean_order_values
from apps.orders.models import EDITABLE, PERSONAL, Comment, Order, Transaction

# Gateways that do not move money themselves.
OFFLINE_GATEWAYS = frozenset({"", "manual", "bogus"})


class Unset(Enum):
    """A sentinel for "not given", where None has a different meaning."""

    UNSET = auto()


UNSET: Final = Unset.UNSET


class OrderUpdateRefused(DomainError):
    """Raised when the new values of an order are invalid."""

    code = "change_refused"


class OrderNotDeletable(DomainError):
    """Raised when an order is needed for bookkeeping and cannot be deleted."""

    code = "order_not_deletable"


class CommentRefused(DomainError):
    """Raised when a comment is empty or too long."""

    code = "comment_refused"
    field = "comment"


@transaction.atomic
def update_order(
    order: Order,
    attrs: ReadOnlyAttrs,
    *,
    actor: str,
    at: datetime,
    customer: int | Unset | None = UNSET,
    drafts: Sequence[MetafieldInput] = (),
) -> Order:
    """Update the editable columns of an order.

    Args:
        order: The order, which this function locks and reloads.
        attrs: New values for ``EDITABLE`` columns.
        actor: The actor of the events.
        at: The current time.
        customer: The new customer's id, None to remove the customer, or ``UNSET`` to keep the current customer.
        drafts: Validated metafields.

    Raises:
        OrderUpdateRefused: Values are invalid. The errors are ``{field: [messages]}``.
        BeingErased: The personal data of the order or of its customer is being erased.
        OrderCustomerRefused: The customer's id is unknown.
    """
    cleaned, errors = clean_order_values(attrs)
    if errors:
        raise OrderUpdateRefused(errors)
    order = lock_order(order)
    before = order.customer_id
    if before is not None and order.redacted_at is not None:
        # If the customer's data is still being erased, refuse the update. The erasure has already processed this order
        # and would miss the new data.
        raise_if_being_erased(Customer.objects.get(pk=before))
    changes = apply_changes(order, {name: cleaned[name] for name in EDITABLE if name in cleaned}, personal=PERSONAL)
    changed = list(changes)
    if customer is not UNSET and customer != before:
        _assign_customer(order, customer)
        changes["customer_id"] = [before, order.customer_id]
    if not metafields.set_metafields(order, drafts, actor=actor, at=at) and not changes:
        return order
    order.save(update_fields=[*changed, "customer"])
    if order.customer_id != before:
        order_customers.remove_order_from_customer(order.pk, order_customers.get_spent_amount(order), before)
        order_customers.add_orders_to_customers([order])
    record_event("orders/updated", order, actor=actor, at=at, changes=changes)
    return order


def _assign_customer(order: Order, customer_id: int | None) -> None:
    for locked_id in _sorted_ids(order.customer_id, customer_id):
        customer = order_customers.lock_order_customer(locked_id)
        if customer is None:
            raise order_customers.OrderCustomerRefused(INVALID)
        raise_if_being_erased(customer)
    order.customer_id = customer_id


def _sorted_ids(*customer_ids: int | None) -> list[int]:
    """Return the given customer ids without None, in locking order."""
    return sorted({pk for pk in customer_ids if pk is not None})


@transaction.atomic
def delete_order(order: Order, *, actor: str, at: datetime) -> None:
    """Delete an order with its related rows.

    The order number is not reused, and stock is not returned.

    Raises:
        OrderNotDeletable: A gateway moved money for the order.
    """
    order = lock_order(order)
    successful = [row for row in get_transactions(order) if row.status == Transaction.Status.SUCCESS]
    if any(row.gateway not in OFFLINE_GATEWAYS and not row.test for row in successful):
        raise OrderNotDeletable(_("An order that was paid through a gateway cannot be deleted"))
    lines = get_line_items(order)
    record_event("orders/delete", order, actor=actor, at=at)
    order_id, customer_id, counted = order.pk, order.customer_id, order.units_counted
    order.delete()
    order_customers.remove_order_from_customer(order_id, order_customers.get_spent_amount(order), customer_id)
    if counted:
        payments.count_sold_units(lines, -1)


@transaction.atomic
def add_comment(order: Order, text: str, *, actor: str, at: datetime) -> Comment:
    """Add a staff comment to an order's timeline. Apps cannot see comments.

    The text is stored in a separate row instead of an event, because it may contain personal data and events are never
    erased.

    Raises:
        CommentRefused: The comment is blank, longer than ``Comment.LONGEST``, or contains a null character.
    """
    body = text.strip()
    if not body:
        raise CommentRefused(BLANK)
    if "\0" in body:
        raise CommentRefused(INVALID)
    if len(body) > Comment.LONGEST:
        raise CommentRefused(too_long(Comment.LONGEST))
    row: Comment = Comment.objects.create(shop=get_current_shop(), order=order, body=body, actor=actor, created_at=at)
    record_event("orders/comment", order, actor=actor, at=at)
    return row
