"""Find or create the customer of an order, and keep the customer's order count and spending up to date."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q, Sum

from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.customers import CustomerDraft, create_from_drafts, draft_customer
from apps.customers.domain.locking import raise_if_being_erased
from apps.customers.domain.lookup import (
    ContactMatch,
    ContactsDisagree,
    CustomerDirectory,
    find_by_contacts,
    get_contact_keys,
)
from apps.customers.domain.validation import CustomerRefused
from apps.customers.models import NEVER_ORDERED, Customer
from apps.ground.error_messages import INVALID, TAKEN
from apps.ground.exceptions import DomainError
from apps.ground.tenancy import get_current_shop
from apps.ground.types import Attrs, ReadOnlyAttrs
from apps.orders.models import Order


class OrderCustomerRefused(DomainError):
    """Raised when the customer of an order can be neither found nor created."""

    code = "buyer_refused"
    field = "customer"


def get_or_create_customer(order: Order, data: ReadOnlyAttrs | None, *, actor: str, at: datetime) -> Customer | None:
    """Return the locked customer of a new order, found by id, email or phone, or newly created.

    Args:
        order: The unsaved order with email, phone and addresses.
        data: The ``customer`` of the request body (``id`` or contact details), or None if missing.
        actor: The actor of the events.
        at: The current time.

    Raises:
        BeingErased: The customer's personal data is being erased.
        OrderCustomerRefused: The id is unknown, or the details are invalid.
    """
    customer = _find_or_create(order, data, actor=actor, at=at)
    if customer is not None:
        raise_if_being_erased(customer)
    return customer


def _find_or_create(order: Order, data: ReadOnlyAttrs | None, *, actor: str, at: datetime) -> Customer | None:
    if data and data.get("id"):
        customer = lock_order_customer(data["id"])
        if customer is None:
            raise OrderCustomerRefused(INVALID)
        return customer
    attrs = _customer_attrs(order, data)
    return None if attrs is None else _find_customer(attrs) or _create_customer(order, attrs, actor=actor, at=at)


def _customer_attrs(order: Order, data: ReadOnlyAttrs | None) -> Attrs | None:
    """Return the contact details of an order's customer, or None if there is no email, phone or name."""
    attrs = {name: value for name, value in (data or {}).items() if value not in (None, "") and name != "id"}
    if not attrs.get("email") and order.email:
        attrs["email"] = order.email
    if not attrs.get("phone") and order.phone and not attrs.get("email"):
        attrs["phone"] = order.phone
    return attrs if attrs.keys() & {"email", "phone", "first_name", "last_name"} else None


@dataclass(frozen=True, slots=True)
class CustomerChoice:
    """The customer chosen for a new order: an existing customer, a new customer (``draft``), or none."""

    customer: Customer | None = None
    draft: CustomerDraft | None = None


class OrderCustomers:
    """The customers of several new orders, found and created in bulk."""

    def __init__(self, orders: Sequence[tuple[Order, ReadOnlyAttrs | None]], *, locked: bool) -> None:
        """Find the existing customers.

        Args:
            orders: Orders and the ``customer`` data of their request bodies, without ids.
            locked: True to lock the customers until the end of the transaction. Later orders can then use the new
                customers of earlier orders (``remember_new_customer``).
        """
        attrs_of_orders = [_customer_attrs(order, data) or {} for order, data in orders]
        self._directory = CustomerDirectory([_keys(attrs) for attrs in attrs_of_orders], locked=locked)
        self._lasting = locked
        self._new: list[CustomerDraft] = []

    def choose_customer(self, order: Order, data: ReadOnlyAttrs | None, *, at: datetime) -> CustomerChoice:
        """Return the customer of an order, like ``get_or_create_customer``, but without saving a new customer.

        Raises:
            BeingErased, OrderCustomerRefused: See ``get_or_create_customer``.
            IntegrityError: The phone belongs to another new customer. The error message needs the id of that customer,
                who is not saved yet.
        """
        attrs = _customer_attrs(order, data)
        if attrs is None:
            return CustomerChoice()
        matches = self._directory.find(*_keys(attrs))
        namesake = None if matches.by_email is not None else matches.by_phone
        if matches.email and namesake is not None and namesake._state.adding and namesake.email_key:
            raise IntegrityError("The phone belongs to another new customer")
        customer = _single_match(matches)
        if customer is not None:
            raise_if_being_erased(customer)
            return CustomerChoice(customer)
        new = _build_draft(order, attrs, at=at)
        return CustomerChoice() if new is None else CustomerChoice(new.customer, new)

    def remember_new_customer(self, choice: CustomerChoice) -> None:
        """Remember an accepted order's new customer for ``create_customers``."""
        if choice.draft is not None and self._lasting:
            self._new.append(choice.draft)
            self._directory.add(choice.draft.customer)

    def create_customers(self, *, actor: str, at: datetime) -> None:
        """Create the new customers.

        Raises:
            IntegrityError: Another transaction has created one of the customers.
        """
        if self._new:
            create_from_drafts(self._new, actor=actor, at=at)


def _keys(attrs: ReadOnlyAttrs) -> tuple[str, str]:
    return get_contact_keys(email=attrs.get("email"), phone=attrs.get("phone"))


def refresh_customers(orders: Sequence[Order]) -> None:
    """Reload the customers of unsaved orders from the database."""
    customers = Customer.objects.in_bulk([order.customer.pk for order in orders if order.customer is not None])
    for order in orders:
        if order.customer is not None:
            order.customer = customers[order.customer.pk]


def lock_order_customer(customer_id: int) -> Customer | None:
    """Lock and return the customer with this id, or return None if there is no such customer."""
    customer: Customer | None = Customer.objects.select_for_update(of=("self",)).filter(pk=customer_id).first()
    return customer


def _find_customer(attrs: ReadOnlyAttrs) -> Customer | None:
    """Lock and return the customer with this email or, if there is none, with this phone number.

    Raises:
        OrderCustomerRefused: See ``_single_match``.
    """
    return _single_match(find_by_contacts(email=attrs.get("email"), phone=attrs.get("phone")))


def _single_match(matches: ContactMatch) -> Customer | None:
    """Return the customer with this email or, if there is none, with this phone number.

    Raises:
        OrderCustomerRefused: The phone number belongs to a customer with another email.
    """
    try:
        return matches.by_email or matches.resolve_customer()
    except ContactsDisagree as error:
        raise OrderCustomerRefused({"customer.phone": [TAKEN]}) from error


def _create_customer(order: Order, attrs: Attrs, *, actor: str, at: datetime) -> Customer | None:
    new = _build_draft(order, attrs, at=at)
    if new is None:
        return None
    try:
        with transaction.atomic():
            return create_from_drafts([new], actor=actor, at=at)[0]
    except IntegrityError:
        # A concurrent request has probably created the customer, so search again.
        customer = _find_customer(attrs)
        if customer is None:
            raise
        return customer


def _build_draft(order: Order, attrs: Attrs, *, at: datetime) -> CustomerDraft | None:
    """Build the new customer of an order, or return None if there is only a phone number.

    Raises:
        OrderCustomerRefused: The details are invalid.
    """
    if attrs.keys() == {"phone"}:
        # A phone number alone does not create a customer. It is only stored in the order.
        return None
    snapshot = order.shipping_address or order.billing_address
    if snapshot and not attrs.get("addresses"):
        attrs["addresses"] = [{name: snapshot.get(name) for name in COLUMNS}]
    if order.buyer_accepts_marketing and attrs.get("email"):
        attrs["accepts_marketing"] = True
    try:
        return draft_customer(attrs, at=at)
    except CustomerRefused as error:
        raise OrderCustomerRefused({_field_path(field): messages for field, messages in error.errors.items()}) from None


def _field_path(field: str) -> str:
    return field if field == "customer" else f"customer.{field}"


def get_spent_amount(order: Order) -> Decimal:
    """Return an order's payments minus refunds, or zero for test orders and orders in other currencies."""
    if order.test or order.currency != get_current_shop().currency:
        return Decimal(0)
    return order.total_paid - order.total_refunded


def add_orders_to_customers(orders: Sequence[Order]) -> None:
    """Update the customers of new, saved orders: order count, spending and last order.

    The values are incremented, because a recount is slow for customers with many orders. ``recount_customer_orders``
    corrects wrong values.
    """
    if len(orders) > 1:
        _add_in_bulk(orders)
    elif (
        customer := None if orders[0].customer_id is None else lock_order_customer(orders[0].customer_id)
    ) is not None:
        Customer.objects.filter(pk=customer.pk).update(**_columns_with_order(customer, orders[0]))


def _add_in_bulk(orders: Sequence[Order]) -> None:
    locked_rows = Customer.objects.select_for_update(of=("self",)).filter(
        pk__in={order.customer_id for order in orders}
    )
    customers = {row.pk: row for row in locked_rows.order_by("pk")}
    for order in orders:
        if (customer := customers.get(order.customer_id or 0)) is not None:
            for name, value in _columns_with_order(customer, order).items():
                setattr(customer, name, value)
    Customer.objects.bulk_update(customers.values(), ["orders_count", "total_spent", *_last_order_columns(None)])


def _columns_with_order(customer: Customer, order: Order) -> dict[str, Any]:
    """Return the values of a customer's order columns after adding an order."""
    last_order_id = customer.last_order_id
    latest = last_order_id is None or (customer.last_order_at, last_order_id) < (order.processed_at, order.pk)
    return {
        "orders_count": customer.orders_count + 1,
        "total_spent": customer.total_spent + get_spent_amount(order),
        **(_last_order_columns(order) if latest else {}),
    }


def update_total_spent(order: Order, before: Decimal) -> None:
    """Update the customer's spending after a payment or refund. ``before`` is the order's previous spent amount."""
    change = get_spent_amount(order) - before
    customer = lock_order_customer(order.customer_id) if order.customer_id is not None and change else None
    if customer is not None:
        # The sum is calculated in Python, because SQLite does not add decimals exactly.
        Customer.objects.filter(pk=customer.pk).update(total_spent=customer.total_spent + change)


def remove_order_from_customer(order_id: int, spent: Decimal, customer_id: int | None) -> None:
    """Subtract a deleted or reassigned order from the customer's order columns."""
    customer = None if customer_id is None else lock_order_customer(customer_id)
    if customer is None:
        return
    was_last = customer.last_order_id == order_id
    Customer.objects.filter(pk=customer.pk).update(
        orders_count=max(customer.orders_count - 1, 0),
        total_spent=customer.total_spent - spent,
        **(_last_order_columns(_get_last_order(customer.pk)) if was_last else {}),
    )


def move_orders_to_customer(orders: Sequence[Order], keep_id: int, other_id: int) -> None:
    """Update the order columns of two locked customers after orders were moved from one customer to the other."""
    customers = Customer.objects.in_bulk([keep_id, other_id])
    keep, other = customers[keep_id], customers[other_id]
    spent = sum(map(get_spent_amount, orders), Decimal(0))
    last = max(orders, key=lambda order: (order.processed_at, order.pk))
    last_order_id = keep.last_order_id
    latest = last_order_id is None or (keep.last_order_at, last_order_id) < (last.processed_at, last.pk)
    Customer.objects.filter(pk=keep_id).update(
        orders_count=keep.orders_count + len(orders),
        total_spent=keep.total_spent + spent,
        **(_last_order_columns(last) if latest else {}),
    )
    Customer.objects.filter(pk=other_id).update(
        orders_count=max(other.orders_count - len(orders), 0),
        total_spent=other.total_spent - spent,
        **(
            _last_order_columns(_get_last_order(other_id))
            if any(order.pk == other.last_order_id for order in orders)
            else {}
        ),
    )


def recount_customer_orders(customer_id: int) -> None:
    """Recalculate a customer's order columns from all orders."""
    if lock_order_customer(customer_id) is None:
        return
    orders = Order.objects.filter(customer_id=customer_id)
    real = Q(test=False, currency=get_current_shop().currency)
    sums = orders.aggregate(
        count=Count("pk"), paid=Sum("total_paid", filter=real), refunded=Sum("total_refunded", filter=real)
    )
    Customer.objects.filter(pk=customer_id).update(
        orders_count=sums["count"],
        total_spent=(sums["paid"] or Decimal(0)) - (sums["refunded"] or Decimal(0)),
        **_last_order_columns(_get_last_order(customer_id)),
    )


def _get_last_order(customer_id: int) -> Order | None:
    orders = Order.objects.filter(customer_id=customer_id).order_by("-processed_at", "-pk")
    return orders.only("name", "processed_at", "currency", "test").first()


def _last_order_columns(last: Order | None) -> dict[str, Any]:
    """Return the columns that describe a customer's last order."""
    return {
        "last_order_id": last.pk if last else None,
        "last_order_name": last.name if last else "",
        "last_order_at": last.processed_at if last else NEVER_ORDERED,
        "last_order_currency": last.currency if last and not last.test else "",
    }
