"""Find or create the customers of new orders."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID, TAKEN
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.customers import CustomerDraft, create_from_drafts, draft_customer
from apps.customers.domain.lookup import (
    ContactMatch,
    ContactsDisagree,
    CustomerDirectory,
    find_by_contacts,
    get_contact_keys,
    raise_if_being_erased,
)
from apps.customers.domain.validation import CustomerRefused
from apps.customers.models import Customer
from apps.orders.domain.customer_totals import lock_order_customer
from apps.orders.models import Order


class OrderCustomerRefused(DomainError):
    """Raised when the customer of an order can be neither found nor created."""

    code = "buyer_refused"
    field = "customer"


def get_or_create_customer(order: Order, data: ReadOnlyAttrs | None, *, actor: str, at: datetime) -> Customer | None:
    """Return the locked customer of an unsaved order, found by id, email or phone, or newly created.

    ``data`` is the ``customer`` of the request body (``id`` or contact details), or None if missing.

    Raises:
        BeingErased: The customer's personal data is being erased.
        OrderCustomerRefused: The id is unknown, or the details are invalid.
    """
    attrs = _customer_attrs(order, data)
    if data and data.get("id"):
        customer = lock_order_customer(data["id"])
        if customer is None:
            raise OrderCustomerRefused(INVALID)
    elif attrs is None:
        return None
    else:
        customer = _find_customer(attrs) or _create_customer(order, attrs, actor=actor, at=at)
    if customer is not None:
        raise_if_being_erased(customer)
    return customer


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


def _find_customer(attrs: ReadOnlyAttrs) -> Customer | None:
    """Lock and return the customer that ``_single_match`` chooses."""
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

    A phone number alone does not create a customer. It is only stored in the order.

    Raises:
        OrderCustomerRefused: The details are invalid.
    """
    if attrs.keys() == {"phone"}:
        return None
    snapshot = order.shipping_address or order.billing_address
    if snapshot and not attrs.get("addresses"):
        attrs["addresses"] = [{name: snapshot.get(name) for name in COLUMNS}]
    if order.buyer_accepts_marketing and attrs.get("email"):
        attrs["accepts_marketing"] = True
    try:
        return draft_customer(attrs, at=at)
    except CustomerRefused as error:
        raise OrderCustomerRefused(
            {
                field if field == "customer" else f"customer.{field}": messages
                for field, messages in error.errors.items()
            }
        ) from None
