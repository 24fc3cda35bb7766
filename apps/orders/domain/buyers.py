"""The customer of an order: found or made when it comes in, and kept up to date with what was bought."""

from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Count, Q, Sum

from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.contacts import NotAnEmail, NotAPhone, canonical_email, canonical_phone, email_key
from apps.customers.domain.customers import create_customer
from apps.customers.domain.validation import CustomerRefused
from apps.customers.models import NEVER, Customer
from apps.ground.attrs import Attrs, Given
from apps.ground.errors import DomainError
from apps.ground.phrases import INVALID
from apps.ground.tenancy import current_shop
from apps.orders.models import Order


class BuyerRefused(DomainError):
    """The customer that an order names cannot be found or made."""

    code = "buyer_refused"
    field = "customer"


def buyer_of(order: Order, given: Given | None, *, actor: str, at: datetime) -> Customer | None:
    """The customer of a new order, locked: the one named, else the one with the e-mail or phone, else a new one.

    Args:
        order: With e-mail, phone and addresses; not saved yet.
        given: The body's ``customer``: ``id``, or contact details; None where it names none.
        actor: Who brings the order.
        at: When.

    Raises:
        BuyerRefused: The id is no customer's, or the details make no customer.
    """
    if given and given.get("id"):
        customer = locked(given["id"])
        if customer is None:
            raise BuyerRefused(INVALID)
        return customer
    attrs = {name: value for name, value in (given or {}).items() if value not in (None, "") and name != "id"}
    if not attrs.get("email") and order.email:
        attrs["email"] = order.email
    if not attrs.get("phone") and order.phone and not attrs.get("email"):
        attrs["phone"] = order.phone
    if not attrs.keys() & {"email", "phone", "first_name", "last_name"}:
        return None
    return _known(attrs) or _made(order, attrs, actor=actor, at=at)


def locked(customer_id: int) -> Customer | None:
    """A customer, locked until the transaction ends; None where the shop has none with the id."""
    found: Customer | None = Customer.objects.select_for_update(of=("self",)).filter(pk=customer_id).first()
    return found


def _known(attrs: Given) -> Customer | None:
    """The customer with the e-mail, else with the phone, locked."""
    by: list[Q] = []
    try:
        if attrs.get("email"):
            by.append(Q(email_key=email_key(canonical_email(attrs["email"]))))
        if attrs.get("phone"):
            by.append(Q(phone=canonical_phone(attrs["phone"], current_shop().country_code)))
    except (NotAnEmail, NotAPhone):
        # What is wrong is said when the customer is made.
        return None
    for condition in by:
        found: Customer | None = Customer.objects.select_for_update(of=("self",)).filter(condition).first()
        if found is not None:
            return found
    return None


def _made(order: Order, attrs: Attrs, *, actor: str, at: datetime) -> Customer | None:
    if attrs.keys() == {"phone"}:
        # A phone alone makes no customer; the order keeps it.
        return None
    snapshot = order.shipping_address or order.billing_address
    if snapshot and not attrs.get("addresses"):
        attrs["addresses"] = [{name: snapshot.get(name) or "" for name in COLUMNS}]
    if order.buyer_accepts_marketing and attrs.get("email"):
        attrs["accepts_marketing"] = True
    try:
        with transaction.atomic():
            return create_customer(attrs, actor=actor, at=at)
    except CustomerRefused as refusal:
        raise BuyerRefused({_named(field): messages for field, messages in refusal.errors.items()}) from None
    except IntegrityError:
        # Another order made the customer meanwhile.
        customer = _known(attrs)
        if customer is None:
            raise
        return customer


def _named(field: str) -> str:
    return field if field == "customer" else f"customer.{field}"


def summarize(customer_id: int | None) -> None:
    """Renew what a customer shows of the orders: how many, what was spent, and the last one.

    The customer is locked first, so that of two orders at once the second counts the first. Spent is what was paid and
    not refunded, in the shop's currency, for orders that are no tests.
    """
    if customer_id is None or locked(customer_id) is None:
        return
    shop = current_shop()
    orders = Order.objects.filter(customer_id=customer_id)
    real = Q(test=False, currency=shop.currency)
    sums = orders.aggregate(
        count=Count("pk"), paid=Sum("total_paid", filter=real), refunded=Sum("total_refunded", filter=real)
    )
    last = orders.order_by("-processed_at", "-pk").only("name", "processed_at", "currency", "test").first()
    spent = (sums["paid"] or Decimal(0)) - (sums["refunded"] or Decimal(0))
    Customer.objects.filter(pk=customer_id).update(
        orders_count=sums["count"],
        total_spent=spent,
        last_order_id=last.pk if last else None,
        last_order_name=last.name if last else "",
        last_order_at=last.processed_at if last else NEVER,
        last_order_currency=last.currency if last and not last.test else "",
    )
