"""Changing and deleting orders.

Taking them in is ``placing``, their moves are ``transitions``, their money is ``payments``.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.events.domain.changes import changes_of
from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError
from apps.ground.tenancy import current_shop
from apps.metafields.domain import setting as metafields
from apps.orders.domain import buyers, payments
from apps.orders.domain.loading import lines_of, lock, transactions_of
from apps.orders.domain.validation import clean
from apps.orders.models import Comment, Order, Transaction

COLUMNS = (
    "email",
    "phone",
    "buyer_accepts_marketing",
    "billing_address",
    "shipping_address",
    "note",
    "note_attributes",
    "tags",
    "po_number",
)
# Of these the audit trail, whose rows are never changed, tells that they changed and not what they were.
PERSONAL = frozenset({"email", "phone", "billing_address", "shipping_address", "note", "note_attributes"})
# Gateways that move no money by themselves.
OFFLINE = frozenset({"", "manual", "bogus"})
UNSET = object()


class ChangeRefused(DomainError):
    """The values do not fit an order."""

    code = "change_refused"


class NotDeletable(DomainError):
    """The order is needed for book-keeping."""

    code = "order_not_deletable"


class CommentRefused(DomainError):
    """The comment says nothing, or too much."""

    code = "comment_refused"
    field = "comment"


@transaction.atomic
def update_order(
    order: Order,
    attrs: Mapping[str, Any],
    *,
    actor: str,
    at: datetime,
    customer: Any = UNSET,
    drafts: Sequence[Any] = (),
) -> Order:
    """Change what may be changed of an order.

    Args:
        order: Read again under a lock.
        attrs: Of ``COLUMNS``.
        actor: Who.
        at: When.
        customer: None takes the order from its customer, an id gives it to another; unset leaves it.
        drafts: Checked metafields.

    Raises:
        ChangeRefused: ``{field: [messages]}`` of all values that do not fit.
        BuyerRefused: The id is no customer's.
    """
    cleaned, errors = clean(attrs)
    if errors:
        raise ChangeRefused(errors)
    order = lock(order)
    before = order.customer_id
    changed = {name: cleaned[name] for name in COLUMNS if name in cleaned and cleaned[name] != getattr(order, name)}
    changes = changes_of(order, changed, personal=PERSONAL)
    for name, value in changed.items():
        setattr(order, name, value)
    if customer is not UNSET and customer != before:
        _give_to(order, customer)
        changes["customer_id"] = [before, order.customer_id]
    if drafts:
        metafields.set_many(order, drafts, actor=actor, at=at)
    elif not changes:
        return order
    order.save(update_fields=[*changed, "customer"])
    if order.customer_id != before:
        for customer_id in _known(before, order.customer_id):
            buyers.summarize(customer_id)
    record_event("orders/updated", order, actor=actor, at=at, changes=changes)
    return order


def _give_to(order: Order, customer_id: int | None) -> None:
    for known in _known(order.customer_id, customer_id):
        if buyers.locked(known) is None:
            raise buyers.BuyerRefused("is invalid")
    order.customer_id = customer_id


def _known(*customer_ids: int | None) -> list[int]:
    """Ids in the order in which rows are locked."""
    return sorted({pk for pk in customer_ids if pk is not None})


@transaction.atomic
def delete_order(order: Order, *, actor: str, at: datetime) -> None:
    """Delete an order with its lines and transactions; its number is not given again, its stock stays taken.

    Raises:
        NotDeletable: A gateway moved money for it.
    """
    order = lock(order)
    done = [row for row in transactions_of(order) if row.status == Transaction.Status.SUCCESS]
    if any(row.gateway not in OFFLINE and not row.test for row in done):
        raise NotDeletable("An order that was paid through a gateway cannot be deleted")
    lines = lines_of(order)
    record_event("orders/delete", order, actor=actor, at=at)
    customer_id, counted = order.customer_id, order.units_counted
    order.delete()
    buyers.summarize(customer_id)
    if counted:
        payments.count_sold(lines, -1)


@transaction.atomic
def add_comment(order: Order, text: str, *, actor: str, at: datetime) -> Comment:
    """Put a comment of staff on an order's timeline; apps do not see it.

    The text is a row of its own, for it may name people, and events are never erased.

    Raises:
        CommentRefused: It is blank, longer than 5,000 characters, or no text.
    """
    said = text.strip()
    if not said:
        raise CommentRefused("can't be blank")
    if "\0" in said:
        raise CommentRefused("is invalid")
    if len(said) > 5000:
        raise CommentRefused("is too long (maximum is 5000 characters)")
    row: Comment = Comment.objects.create(shop=current_shop(), order=order, body=said, actor=actor, created_at=at)
    record_event("orders/comment", order, actor=actor, at=at)
    return row
