from collections.abc import Collection, Sequence
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
    find_all_by_contacts,
    get_contact_keys,
    raise_if_being_erased,
)
from apps.customers.domain.validation import CustomerRefused
from apps.customers.models import Customer
from apps.orders.domain.customer_totals import lock_order_customer
from apps.orders.models import Order

# A member of ``customer`` data that contains the whole customer, who is not completed from the order.
IS_COMPLETE = "is_complete"


class OrderCustomerRefused(DomainError):
    field = "customer"


def get_or_create_customer(order: Order, data: ReadOnlyAttrs | None, *, actor: str, at: datetime) -> Customer | None:
    """Return the locked or new customer for ``data`` (an id or contact details) and an unsaved order."""
    attrs = _customer_attrs(order, data)
    if data and data.get("id"):
        customer = lock_order_customer(data["id"])
        if customer is None:
            raise OrderCustomerRefused(INVALID)
    elif attrs is None:
        return None
    else:
        customer = _find_customer(order, attrs) or _create_customer(order, attrs, actor=actor, at=at)
    if customer is not None:
        raise_if_being_erased(customer)
    return customer


def _customer_attrs(order: Order, data: ReadOnlyAttrs | None) -> Attrs | None:
    attrs = {
        name: value
        for name, value in (data or {}).items()
        if value not in (None, "") and name not in {"id", IS_COMPLETE}
    }
    if data and data.get(IS_COMPLETE):
        return attrs if attrs.keys() & {"email", "phone", "first_name", "last_name"} else None
    if not attrs.get("email") and order.email:
        attrs["email"] = order.email
    if not attrs.get("phone") and order.phone and not attrs.get("email"):
        attrs["phone"] = order.phone
    return attrs if attrs.keys() & {"email", "phone", "first_name", "last_name"} else None


def find_order_customer(order: Order, contact: ReadOnlyAttrs) -> Customer | None:
    """Return the existing customer that ``get_or_create_customer`` would return for contact details, not locked."""
    attrs = _customer_attrs(order, contact)
    return None if attrs is None else _find_customer(order, attrs, locked=False)


class OrderCustomers:
    """The customers of several new orders, found and created in bulk."""

    def __init__(self, orders: Sequence[tuple[Order, ReadOnlyAttrs | None]], *, locked: bool) -> None:
        """Find the existing customers by the ``customer`` data of request bodies: by id, or by contact details.

        With ``locked``, the customers are locked until the end of the transaction, and later orders can use the new
        customers of earlier orders (``remember_new_customer``).
        """
        keys = [_keys(order, _customer_attrs(order, data) or {}) for order, data in orders if not _get_id(data)]
        self._directory = CustomerDirectory(keys, locked=locked)
        self._by_id = _load_customers({pk for _, data in orders if (pk := _get_id(data))}, locked=locked)
        self._lasting = locked
        self._new: list[CustomerDraft] = []

    def choose_customer(
        self, order: Order, data: ReadOnlyAttrs | None, *, at: datetime
    ) -> tuple[Customer | None, CustomerDraft | None]:
        """Return the customer like ``get_or_create_customer``, but unsaved and with its draft if it is new.

        Raises:
            IntegrityError: The phone belongs to another new customer. The error message needs the id of that customer,
                who is not saved yet.
        """
        if pk := _get_id(data):
            known = self._by_id.get(pk)
            if known is None:
                raise OrderCustomerRefused(INVALID)
            raise_if_being_erased(known)
            return known, None
        attrs = _customer_attrs(order, data)
        if attrs is None:
            return None, None
        matches = self._directory.find(*_keys(order, attrs))
        namesake = None if matches.by_email is not None else matches.by_phone
        if matches.email and namesake is not None and namesake._state.adding and namesake.email_key:
            raise IntegrityError("The phone belongs to another new customer")
        customer = _single_match(matches)
        if customer is not None:
            raise_if_being_erased(customer)
            return customer, None
        new = _build_draft(order, attrs, at=at)
        return (new.customer, new) if new else (None, None)

    def remember_new_customer(self, draft: CustomerDraft) -> None:
        if self._lasting:
            self._new.append(draft)
            self._directory.add(draft.customer)

    def create_customers(self, *, actor: str, at: datetime) -> None:
        """Create the new customers. Raise ``IntegrityError`` if another transaction has created one of them."""
        if self._new:
            create_from_drafts(self._new, actor=actor, at=at)


def _get_id(data: ReadOnlyAttrs | None) -> int:
    return (data or {}).get("id") or 0


def _load_customers(ids: Collection[int], *, locked: bool) -> dict[int, Customer]:
    """Return the customers by id, locked in the order of their ids."""
    if not ids:
        return {}
    rows = Customer.objects.select_for_update(of=("self",)) if locked else Customer.objects.all()
    return {row.pk: row for row in rows.filter(pk__in=ids).order_by("pk")}


def _keys(order: Order, attrs: ReadOnlyAttrs) -> tuple[str, str]:
    return get_contact_keys(email=attrs.get("email"), phone=attrs.get("phone"), address=_get_address(order, attrs))


def _get_address(order: Order, attrs: ReadOnlyAttrs) -> ReadOnlyAttrs | None:
    """Return the address that a new customer of the order gets first."""
    addresses: Sequence[ReadOnlyAttrs] = attrs.get("addresses") or ()
    return addresses[0] if addresses else order.shipping_address or order.billing_address


def refresh_customers(orders: Sequence[Order]) -> None:
    customers = Customer.objects.in_bulk([order.customer.pk for order in orders if order.customer is not None])
    for order in orders:
        if order.customer is not None:
            order.customer = customers[order.customer.pk]


def _find_customer(order: Order, attrs: ReadOnlyAttrs, *, locked: bool = True) -> Customer | None:
    return _single_match(find_all_by_contacts([_keys(order, attrs)], locked=locked)[0])


def _single_match(matches: ContactMatch) -> Customer | None:
    """Return the customer with this email or, if there is none, with this phone number."""
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
        customer = _find_customer(order, attrs)
        if customer is None:
            raise
        return customer


def _build_draft(order: Order, attrs: Attrs, *, at: datetime) -> CustomerDraft | None:
    """Build the new customer of an order. A phone number alone creates no customer and is only stored in the order."""
    if attrs.keys() == {"phone"}:
        return None
    snapshot = order.shipping_address or order.billing_address
    if snapshot and "addresses" not in attrs:
        attrs["addresses"] = [{name: snapshot.get(name) for name in COLUMNS}]
    if order.buyer_accepts_marketing and attrs.get("email") and "email_marketing_consent" not in attrs:
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
