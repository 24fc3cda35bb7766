"""The customer of an order: found or made when it comes in, and kept up to date with what was bought."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q, Sum

from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.aggregate import refuse_while_erased
from apps.customers.domain.customers import Draft, create_drafted, draft
from apps.customers.domain.known import Directory, KeysDisagree, Known, keys_of, known_by
from apps.customers.domain.validation import CustomerRefused
from apps.customers.models import NEVER, Customer
from apps.ground.attrs import Attrs, Given
from apps.ground.errors import DomainError
from apps.ground.phrases import INVALID, TAKEN
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
        BeingErased: The customer's personal data is being erased, and the order's would outlive that.
        BuyerRefused: The id is no customer's, or the details make no customer.
    """
    customer = _named_or_made(order, given, actor=actor, at=at)
    if customer is not None:
        refuse_while_erased(customer)
    return customer


def _named_or_made(order: Order, given: Given | None, *, actor: str, at: datetime) -> Customer | None:
    if given and given.get("id"):
        customer = locked(given["id"])
        if customer is None:
            raise BuyerRefused(INVALID)
        return customer
    attrs = _told(order, given)
    return None if attrs is None else _known(attrs) or _made(order, attrs, actor=actor, at=at)


def _told(order: Order, given: Given | None) -> Attrs | None:
    """What is told of the person whose an order is; None where nothing of it makes a person."""
    attrs = {name: value for name, value in (given or {}).items() if value not in (None, "") and name != "id"}
    if not attrs.get("email") and order.email:
        attrs["email"] = order.email
    if not attrs.get("phone") and order.phone and not attrs.get("email"):
        attrs["phone"] = order.phone
    return attrs if attrs.keys() & {"email", "phone", "first_name", "last_name"} else None


@dataclass(frozen=True, slots=True)
class Choice:
    """Whose a new order is: somebody who is known, somebody new (``draft``), or nobody's."""

    customer: Customer | None = None
    draft: Draft | None = None


class People:
    """The customers of several new orders: found together, and made together."""

    def __init__(self, orders: Sequence[tuple[Order, Given | None]], *, locked: bool) -> None:
        """Find those who are known.

        Args:
            orders: As ``buyer_of`` takes each; the customers are told by contact details, not by id.
            locked: Whether they are locked until the transaction ends, and whether those who are new (``keep``) are
                known to the orders after.
        """
        told = [_told(order, given) or {} for order, given in orders]
        self._directory = Directory([_keys(attrs) for attrs in told], locked=locked)
        self._lasting = locked
        self._new: list[Draft] = []

    def choose(self, order: Order, given: Given | None, *, at: datetime) -> Choice:
        """Whose an order is, as ``buyer_of`` finds it; somebody new is not stored yet.

        Raises:
            BeingErased, BuyerRefused: As ``buyer_of``.
            IntegrityError: Somebody new is in the way, who can be named only once stored.
        """
        attrs = _told(order, given)
        if attrs is None:
            return Choice()
        known = self._directory.find(*_keys(attrs))
        namesake = None if known.by_email is not None else known.by_phone
        if known.email and namesake is not None and namesake._state.adding and namesake.email_key:
            raise IntegrityError("The phone is that of somebody new")
        customer = _one_of(known)
        if customer is not None:
            refuse_while_erased(customer)
            return Choice(customer)
        new = _draft(order, attrs, at=at)
        return Choice() if new is None else Choice(new.customer, new)

    def keep(self, choice: Choice) -> None:
        """Note that an order was taken in, so that who is new with it will be made."""
        if choice.draft is not None and self._lasting:
            self._new.append(choice.draft)
            self._directory.add(choice.draft.customer)

    def create(self, *, actor: str, at: datetime) -> None:
        """Store those who are new.

        Raises:
            IntegrityError: Another order made one of them meanwhile.
        """
        if self._new:
            create_drafted(self._new, actor=actor, at=at)


def _keys(attrs: Given) -> tuple[str, str]:
    return keys_of(email=attrs.get("email"), phone=attrs.get("phone"))


def refresh(orders: Sequence[Order]) -> None:
    """Let unsaved orders have their customers as they are stored."""
    stored = Customer.objects.in_bulk([order.customer.pk for order in orders if order.customer is not None])
    for order in orders:
        if order.customer is not None:
            order.customer = stored[order.customer.pk]


def locked(customer_id: int) -> Customer | None:
    """A customer, locked until the transaction ends; None where the shop has none with the id."""
    found: Customer | None = Customer.objects.select_for_update(of=("self",)).filter(pk=customer_id).first()
    return found


def _known(attrs: Given) -> Customer | None:
    """The customer with the e-mail, else with the phone, locked; an order changes neither.

    Raises:
        BuyerRefused: As ``_one_of``.
    """
    return _one_of(known_by(email=attrs.get("email"), phone=attrs.get("phone")))


def _one_of(known: Known) -> Customer | None:
    """The customer with the e-mail, else with the phone.

    Raises:
        BuyerRefused: The phone is that of somebody with another e-mail, whose orders these are not.
    """
    try:
        return known.by_email or known.one()
    except KeysDisagree as collision:
        raise BuyerRefused({"customer.phone": [TAKEN]}) from collision


def _made(order: Order, attrs: Attrs, *, actor: str, at: datetime) -> Customer | None:
    new = _draft(order, attrs, at=at)
    if new is None:
        return None
    try:
        with transaction.atomic():
            return create_drafted([new], actor=actor, at=at)[0]
    except IntegrityError:
        # Another order made the customer meanwhile.
        customer = _known(attrs)
        if customer is None:
            raise
        return customer


def _draft(order: Order, attrs: Attrs, *, at: datetime) -> Draft | None:
    """The new customer that an order makes, not stored yet; None where it makes none.

    Raises:
        BuyerRefused: The details make no customer.
    """
    if attrs.keys() == {"phone"}:
        # A phone alone makes no customer; the order keeps it.
        return None
    snapshot = order.shipping_address or order.billing_address
    if snapshot and not attrs.get("addresses"):
        attrs["addresses"] = [{name: snapshot.get(name) for name in COLUMNS}]
    if order.buyer_accepts_marketing and attrs.get("email"):
        attrs["accepts_marketing"] = True
    try:
        return draft(attrs, at=at)
    except CustomerRefused as refusal:
        raise BuyerRefused({_named(field): messages for field, messages in refusal.errors.items()}) from None


def _named(field: str) -> str:
    return field if field == "customer" else f"customer.{field}"


def spent_on(order: Order) -> Decimal:
    """What an order adds to what its customer spent: paid less refunded, in the shop's currency; tests add nothing."""
    if order.test or order.currency != current_shop().currency:
        return Decimal(0)
    return order.total_paid - order.total_refunded


def add(orders: Sequence[Order]) -> None:
    """Let the customers of orders show them: one order more each, what was spent on it, and the last one.

    The orders are saved. What a customer shows is added to and taken from, for counting again takes as long as there
    are orders; ``recount`` mends what is wrong nevertheless.
    """
    if len(orders) > 1:
        _add_each(orders)
    elif (customer := None if orders[0].customer_id is None else locked(orders[0].customer_id)) is not None:
        Customer.objects.filter(pk=customer.pk).update(**_with(customer, orders[0]))


def _add_each(orders: Sequence[Order]) -> None:
    held = Customer.objects.select_for_update(of=("self",)).filter(pk__in={order.customer_id for order in orders})
    customers = {row.pk: row for row in held.order_by("pk")}
    for order in orders:
        if (customer := customers.get(order.customer_id or 0)) is not None:
            for name, value in _with(customer, order).items():
                setattr(customer, name, value)
    Customer.objects.bulk_update(customers.values(), ["orders_count", "total_spent", *_as_last(None)])


def _with(customer: Customer, order: Order) -> dict[str, Any]:
    """What a customer shows with one order more."""
    known = customer.last_order_id
    latest = known is None or (customer.last_order_at, known) < (order.processed_at, order.pk)
    return {
        "orders_count": customer.orders_count + 1,
        "total_spent": customer.total_spent + spent_on(order),
        **(_as_last(order) if latest else {}),
    }


def spend(order: Order, before: Decimal) -> None:
    """Let the customer of an order follow what is paid and refunded of it; ``before`` is what was spent on it."""
    change = spent_on(order) - before
    customer = locked(order.customer_id) if order.customer_id is not None and change else None
    if customer is not None:
        # Sums are made here, not by the database: SQLite's are not exact.
        Customer.objects.filter(pk=customer.pk).update(total_spent=customer.total_spent + change)


def take_away(order_id: int, spent: Decimal, customer_id: int | None) -> None:
    """Let a customer no longer show an order, which has gone or is another's by now."""
    customer = None if customer_id is None else locked(customer_id)
    if customer is None:
        return
    was_last = customer.last_order_id == order_id
    Customer.objects.filter(pk=customer.pk).update(
        orders_count=max(customer.orders_count - 1, 0),
        total_spent=customer.total_spent - spent,
        **(_as_last(_last_of(customer.pk)) if was_last else {}),
    )


def hand_over(orders: Sequence[Order], keep_id: int, other_id: int) -> None:
    """Let one customer show what another did of some orders, which are the first one's by now; both are held."""
    customers = Customer.objects.in_bulk([keep_id, other_id])
    keep, other = customers[keep_id], customers[other_id]
    spent = sum(map(spent_on, orders), Decimal(0))
    last = max(orders, key=lambda order: (order.processed_at, order.pk))
    known = keep.last_order_id
    latest = known is None or (keep.last_order_at, known) < (last.processed_at, last.pk)
    Customer.objects.filter(pk=keep_id).update(
        orders_count=keep.orders_count + len(orders),
        total_spent=keep.total_spent + spent,
        **(_as_last(last) if latest else {}),
    )
    Customer.objects.filter(pk=other_id).update(
        orders_count=max(other.orders_count - len(orders), 0),
        total_spent=other.total_spent - spent,
        **(_as_last(_last_of(other_id)) if any(order.pk == other.last_order_id for order in orders) else {}),
    )


def recount(customer_id: int) -> None:
    """Work out anew what a customer shows of the orders, out of all of them."""
    if locked(customer_id) is None:
        return
    orders = Order.objects.filter(customer_id=customer_id)
    real = Q(test=False, currency=current_shop().currency)
    sums = orders.aggregate(
        count=Count("pk"), paid=Sum("total_paid", filter=real), refunded=Sum("total_refunded", filter=real)
    )
    Customer.objects.filter(pk=customer_id).update(
        orders_count=sums["count"],
        total_spent=(sums["paid"] or Decimal(0)) - (sums["refunded"] or Decimal(0)),
        **_as_last(_last_of(customer_id)),
    )


def _last_of(customer_id: int) -> Order | None:
    orders = Order.objects.filter(customer_id=customer_id).order_by("-processed_at", "-pk")
    return orders.only("name", "processed_at", "currency", "test").first()


def _as_last(last: Order | None) -> dict[str, Any]:
    """What a customer shows of the last order."""
    return {
        "last_order_id": last.pk if last else None,
        "last_order_name": last.name if last else "",
        "last_order_at": last.processed_at if last else NEVER,
        "last_order_currency": last.currency if last and not last.test else "",
    }
