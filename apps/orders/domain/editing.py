"""Changing and deleting orders.

Taking them in is ``placing``, their moves are ``transitions``, their money is ``payments``.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _

from apps.customers.domain.aggregate import refuse_while_erased
from apps.customers.models import Customer
from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.ground.attrs import Given
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, INVALID, too_long
from apps.ground.tenancy import current_shop
from apps.metafields.domain import setting as metafields
from apps.metafields.domain.setting import Draft
from apps.orders.domain import buyers, payments
from apps.orders.domain.loading import lines_of, lock, transactions_of
from apps.orders.domain.validation import clean
from apps.orders.models import EDITABLE, PERSONAL, Comment, Order, Transaction

# Gateways that move no money by themselves.
OFFLINE = frozenset({"", "manual", "bogus"})


class Unset(Enum):
    """Stands for what is not said, where None says something."""

    UNSET = auto()


UNSET: Final = Unset.UNSET


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
    attrs: Given,
    *,
    actor: str,
    at: datetime,
    customer: int | Unset | None = UNSET,
    drafts: Sequence[Draft] = (),
) -> Order:
    """Change what may be changed of an order.

    Args:
        order: Read again under a lock.
        attrs: Of ``EDITABLE``.
        actor: Who.
        at: When.
        customer: None takes the order from its customer, an id gives it to another; unset leaves it.
        drafts: Checked metafields.

    Raises:
        ChangeRefused: ``{field: [messages]}`` of all values that do not fit.
        BeingErased: The personal data of the order, or of its customer, is being erased.
        BuyerRefused: The id is no customer's.
    """
    cleaned, errors = clean(attrs)
    if errors:
        raise ChangeRefused(errors)
    order = lock(order)
    before = order.customer_id
    if before is not None and order.redacted_at is not None:
        # What came after the order's turn, and before the end, would stay.
        refuse_while_erased(Customer.objects.get(pk=before))
    changes = assign(order, {name: cleaned[name] for name in EDITABLE if name in cleaned}, personal=PERSONAL)
    changed = list(changes)
    if customer is not UNSET and customer != before:
        _give_to(order, customer)
        changes["customer_id"] = [before, order.customer_id]
    if not metafields.set_many(order, drafts, actor=actor, at=at) and not changes:
        return order
    order.save(update_fields=[*changed, "customer"])
    if order.customer_id != before:
        buyers.take_away(order.pk, buyers.spent_on(order), before)
        buyers.add([order])
    record_event("orders/updated", order, actor=actor, at=at, changes=changes)
    return order


def _give_to(order: Order, customer_id: int | None) -> None:
    for known in _known(order.customer_id, customer_id):
        customer = buyers.locked(known)
        if customer is None:
            raise buyers.BuyerRefused(INVALID)
        refuse_while_erased(customer)
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
        raise NotDeletable(_("An order that was paid through a gateway cannot be deleted"))
    lines = lines_of(order)
    record_event("orders/delete", order, actor=actor, at=at)
    order_id, customer_id, counted = order.pk, order.customer_id, order.units_counted
    order.delete()
    buyers.take_away(order_id, buyers.spent_on(order), customer_id)
    if counted:
        payments.count_sold(lines, -1)


@transaction.atomic
def add_comment(order: Order, text: str, *, actor: str, at: datetime) -> Comment:
    """Put a comment of staff on an order's timeline; apps do not see it.

    The text is a row of its own, for it may name people, and events are never erased.

    Raises:
        CommentRefused: It is blank, longer than ``Comment.LONGEST``, or no text.
    """
    said = text.strip()
    if not said:
        raise CommentRefused(BLANK)
    if "\0" in said:
        raise CommentRefused(INVALID)
    if len(said) > Comment.LONGEST:
        raise CommentRefused(too_long(Comment.LONGEST))
    row: Comment = Comment.objects.create(shop=current_shop(), order=order, body=said, actor=actor, created_at=at)
    record_event("orders/comment", order, actor=actor, at=at)
    return row
