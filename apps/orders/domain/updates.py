"""Update and delete orders.

Orders are created in ``create``, canceled, closed and reopened in ``transitions``, and paid in ``payments``.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Final

from django.db import models, transaction
from django.db.models import ProtectedError, RestrictedError
from django.utils.translation import gettext as _

from apps.core.events.recording import apply_changes, record_event, record_secondary_events
from apps.core.events.redaction import clear_copies
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, too_long
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.customers.domain.addresses import COLUMNS, clean_address
from apps.customers.domain.contact_normalization import clean_contacts
from apps.customers.domain.lookup import raise_if_being_erased
from apps.customers.models import Address, Customer
from apps.metafields.domain import write as metafields
from apps.metafields.domain.write import MetafieldInput
from apps.orders.domain import customer_totals, payments
from apps.orders.domain.create.customers import OrderCustomerRefused
from apps.orders.domain.selectors import get_line_items, get_transactions, lock_order
from apps.orders.models import EDITABLE, Comment, Order, Transaction
from apps.shops.domain.countries import get_country_code

TEXT_COLUMNS = tuple(
    name for name in EDITABLE if isinstance(Order._meta.get_field(name), models.CharField | models.TextField)
)
# Gateways that do not move money themselves.
OFFLINE_GATEWAYS = frozenset({"", "manual", "bogus"})


class Unset(Enum):
    """A sentinel for "not given", where None has a different meaning."""

    UNSET = auto()


UNSET: Final = Unset.UNSET


class OrderUpdateRefused(DomainError):
    pass


class OrderNotDeletable(DomainError):
    """Raised when a gateway moved money for an order, which is then needed for bookkeeping."""


def clean_order_values(attrs: ReadOnlyAttrs, order: Order | None = None) -> tuple[Attrs, Errors]:
    """Return the normalized order values and the errors. In text columns, None means blank.

    A national phone number is read in the country of the shipping or billing address, given or of the ``order``.
    """
    cleaned = {name: ("" if value is None and name in TEXT_COLUMNS else value) for name, value in attrs.items()}
    names = ("shipping_address", "billing_address")
    addresses = [attrs.get(name) or getattr(order, name, None) for name in names]
    errors = clean_contacts(cleaned, *map(get_country_code, addresses), get_current_shop().country_code)
    return cleaned, errors


def apply_address_changes(before: ReadOnlyAttrs | None, values: ReadOnlyAttrs) -> tuple[Attrs | None, Errors]:
    """Apply changes to an address snapshot. Return None as the snapshot if all values are blank.

    ``values`` are the changed columns, in the format of ``clean_address``. Other columns keep their values.
    """
    if before is None and not any(values.values()):
        return None, {}
    present = None if before is None else Address(**{name: before.get(name) or "" for name in COLUMNS})
    snapshot, errors = clean_address(values, present)
    if errors or before is None:
        return snapshot, errors
    after = {**before, **{name: value for name, value in snapshot.items() if value != before.get(name)}}
    return (after if any(after.values()) else None), {}


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
    """Update the ``EDITABLE`` columns of an order.

    ``customer`` is the new customer's id, None to remove the customer, or ``UNSET`` to keep the current customer.
    """
    cleaned, errors = clean_order_values(attrs, order)
    if errors:
        raise OrderUpdateRefused(errors)
    order = lock_order(order)
    before = order.customer_id
    if before is not None and order.redacted_at is not None:
        # If the customer's data is still being erased, refuse the update. The erasure has already processed this order
        # and would miss the new data.
        raise_if_being_erased(Customer.objects.get(pk=before))
    changes = apply_changes(
        order, {name: cleaned[name] for name in EDITABLE if name in cleaned}, personal=Order.personal_fields
    )
    changed = list(changes)
    if customer is not UNSET and customer != before:
        _assign_customer(order, customer)
        changes["customer_id"] = [before, order.customer_id]
    if not metafields.set_metafields(order, drafts, actor=actor, at=at) and not changes:
        return order
    order.save(update_fields=[*changed, "customer"])
    if order.customer_id != before:
        spent = customer_totals.get_spent_amount(order)
        customer_totals.remove_order_from_customer(order.pk, spent, before, actor=actor, at=at)
        new_customers = customer_totals.add_orders_to_customers([order])
        record_secondary_events(customer_totals.get_customer_events(new_customers), actor=actor, at=at)
    record_event("orders/updated", order, actor=actor, at=at, changes=changes)
    return order


def _assign_customer(order: Order, customer_id: int | None) -> None:
    for locked_id in sorted({pk for pk in (order.customer_id, customer_id) if pk is not None}):
        customer = customer_totals.lock_order_customer(locked_id)
        if customer is None:
            raise OrderCustomerRefused(INVALID)
        raise_if_being_erased(customer)
    order.customer_id = customer_id


@transaction.atomic
def delete_order(order: Order, *, actor: str, at: datetime) -> None:
    """Delete an order with its related rows. The order number is not reused, and stock is not returned."""
    order = lock_order(order)
    successful = [row for row in get_transactions(order) if row.status == Transaction.Status.SUCCESS]
    if any(row.gateway not in OFFLINE_GATEWAYS and not row.test for row in successful):
        raise OrderNotDeletable(_("An order that was paid through a gateway cannot be deleted"))
    lines = get_line_items(order)
    record_event("orders/delete", order, actor=actor, at=at)
    clear_copies(Order, [order.pk])
    order_id, customer_id, counted = order.pk, order.customer_id, order.units_counted
    try:
        order.delete()
    except (ProtectedError, RestrictedError):
        raise OrderNotDeletable(_("An order with an invoice cannot be deleted")) from None
    spent = customer_totals.get_spent_amount(order)
    customer_totals.remove_order_from_customer(order_id, spent, customer_id, actor=actor, at=at)
    if counted:
        payments.count_sold_units(lines, -1)


@transaction.atomic
def add_comment(order: Order, text: str, *, actor: str, at: datetime) -> Comment:
    """Add a staff comment to an order's timeline. Apps cannot see comments.

    The text is stored in a separate row instead of an event, because it may contain personal data and events are never
    erased.
    """
    body = text.strip()
    if not body:
        raise DomainError(BLANK, field="comment")
    if "\0" in body:
        raise DomainError(INVALID, field="comment")
    if len(body) > Comment.LONGEST:
        raise DomainError(too_long(Comment.LONGEST), field="comment")
    row: Comment = Comment.objects.create(shop=get_current_shop(), order=order, body=body, actor=actor, created_at=at)
    record_event("orders/comment", order, actor=actor, at=at)
    return row
