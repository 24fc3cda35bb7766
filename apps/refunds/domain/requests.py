"""What a refund is asked to be, and what it comes to for the order as it is: refused where it cannot be."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _

from apps.ground.attrs import Errors
from apps.ground.errors import DomainError
from apps.ground.money import MAX_AMOUNT, ZERO, fits, rounded, text_of
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST, at_least, at_most
from apps.orders.domain.loading import lines_of, shipping_of, transactions_of
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain import calculation
from apps.refunds.domain.calculation import Calculation, DutyWanted
from apps.refunds.models import RefundDuty, RefundLineItem

RestockType = RefundLineItem.RestockType
NOT_OURS = "is not a currency of the order"


class RefundRefused(DomainError):
    """The refund cannot be."""

    code = "refund_refused"


@dataclass(frozen=True, slots=True)
class Units:
    """Units of a line: how many go back, what becomes of them, and where they are put."""

    line_item_id: int | None
    quantity: int = 1
    restock_type: str | None = None
    location_id: int | None = None


@dataclass(frozen=True, slots=True)
class Duty:
    """A duty of which something goes back: all of it, or as much as the units of its line make up."""

    duty_id: int
    is_proportional: bool = False


@dataclass(frozen=True, slots=True)
class Payback:
    """What goes back to a payment; without ``parent_id`` to the payments of the gateway, the oldest first."""

    amount: Decimal | None
    parent_id: int | None = None
    gateway: str | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A refund as it is asked for.

    Attributes:
        units: Of lines.
        shipping: How much of the price of shipping, in ``currency``; None for none, unless ``full_shipping``.
        full_shipping: All that is left of it.
        duties: Of lines.
        paybacks: What money goes back.
        currency: That of the amounts; must be said where the order has two.
        restock: The old way to say it: units without a restock type are cancelled where they were not sent, else
            returned.
        reason: Why less goes back than was worked out.
        processed_at: When it happened, where that was earlier.
    """

    units: Sequence[Units] = ()
    shipping: Decimal | None = None
    full_shipping: bool = False
    duties: Sequence[Duty] = ()
    paybacks: Sequence[Payback] = ()
    currency: str | None = None
    note: str = ""
    notify: bool = False
    restock: bool = False
    reason: str = ""
    processed_at: datetime | None = None


@dataclass(slots=True)
class Books:
    """An order with all its rows, as they are now."""

    order: Order
    lines: list[LineItem]
    shipping: list[ShippingLine]
    known: list[Transaction]
    returned: dict[int, int] = field(default_factory=dict)
    duties: dict[int, DutyWanted] = field(default_factory=dict)

    @classmethod
    def of(cls, order: Order) -> "Books":
        """Read them; whoever is going to write holds the order."""
        books = cls(order, lines_of(order), shipping_of(order), transactions_of(order))
        for line_id, units in RefundLineItem.objects.filter(
            refund__order=order, restock_type=RestockType.RETURN
        ).values_list("line_item_id", "quantity"):
            books.returned[line_id] = books.returned.get(line_id, 0) + units
        if order.total_duties or any(line.duties for line in books.lines):
            books._find_duties()
        return books

    def _find_duties(self) -> None:
        """The duties by id, each with what was given back of it."""
        given: dict[int, tuple[Decimal, Decimal]] = {}
        for duty_id, amount, tax in RefundDuty.objects.filter(refund__order=self.order).values_list(
            "duty_id", "amount", "tax"
        ):
            before = given.get(duty_id, (ZERO, ZERO))
            given[duty_id] = before[0] + amount, before[1] + tax
        for line in self.lines:
            for duty in line.duties:
                self.duties[duty["id"]] = DutyWanted(line, duty, given.get(duty["id"], (ZERO, ZERO)))

    @property
    def duties_left(self) -> list[DutyWanted]:
        """The duties of which something can still go back."""
        return [duty for duty in self.duties.values() if any(duty.left)]

    def line(self, pk: int | None) -> LineItem | None:
        """The line of an id."""
        return next((line for line in self.lines if line.pk == pk), None)


@dataclass(frozen=True, slots=True)
class Named:
    """Units that were found: their line, and what becomes of them."""

    place: int
    line: LineItem
    quantity: int
    restock_type: RestockType
    location_id: int | None


def work_out(books: Books, wanted: Wanted) -> tuple[list[Named], Calculation]:
    """Find what a refund names, and what it comes to.

    Raises:
        RefundRefused: ``{field: [messages]}`` of all that cannot be.
    """
    errors: Errors = {}
    _check_currency(books.order, wanted, errors)
    named = _find_units(books, wanted, errors)
    shipping = _shipping(books, wanted, errors)
    duties = _duties(books, wanted, named, errors)
    if errors:
        raise RefundRefused(errors)
    units = [(each.line, each.quantity) for each in named]
    found = calculation.calculate(
        books.order, books.lines, books.shipping, books.known, units=units, shipping=shipping, duties=duties
    )
    return named, found


def _check_currency(order: Order, wanted: Wanted, errors: Errors) -> None:
    amounts = [wanted.shipping, *(each.amount for each in wanted.paybacks if each.currency is None)]
    if wanted.currency is None:
        if order.is_multi_currency and any(amount is not None for amount in amounts):
            errors["currency"] = [BLANK]
    elif wanted.currency not in {order.currency, order.presentment_currency}:
        errors["currency"] = [NOT_OURS]


def _find_units(books: Books, wanted: Wanted, errors: Errors) -> list[Named]:
    found: list[Named] = []
    free = Free(books)
    for place, units in enumerate(wanted.units):
        prefix = f"refund_line_items.{place}"
        line = books.line(units.line_item_id)
        if line is None:
            errors[f"{prefix}.line_item_id"] = [BLANK if units.line_item_id is None else INVALID]
        elif units.quantity < 1:
            errors[f"{prefix}.quantity"] = [at_least(1)]
        elif units.quantity > free.refundable[line.pk]:
            errors[f"{prefix}.quantity"] = [at_most(free.refundable[line.pk])]
        elif units.restock_type not in {None, RestockType.NO_RESTOCK, RestockType.CANCEL, RestockType.RETURN}:
            errors[f"{prefix}.restock_type"] = [NOT_IN_LIST]
        else:
            for each in _by_type(place, line, units, wanted, free):
                if refusal := free.take(each):
                    errors[f"{prefix}.restock_type"] = [refusal]
                found.append(each)
    return found


class Free:
    """How many units of each line are left for what."""

    def __init__(self, books: Books) -> None:
        self.refundable = {line.pk: line.quantity - line.refunded_quantity for line in books.lines}
        self.unsent = {line.pk: line.fulfillable_quantity for line in books.lines}
        # What was returned may have left a fulfillment that was cancelled since.
        self.sent = {line.pk: max(line.fulfilled_quantity - books.returned.get(line.pk, 0), 0) for line in books.lines}

    def take(self, units: Named) -> str:
        """Take units; why they cannot be taken, where they cannot."""
        pk = units.line.pk
        self.refundable[pk] -= units.quantity
        if units.restock_type == RestockType.CANCEL:
            if units.quantity > self.unsent[pk]:
                return _("can cancel units that were not sent only, of which there are {count}").format(
                    count=self.unsent[pk]
                )
            self.unsent[pk] -= units.quantity
        elif units.restock_type == RestockType.RETURN:
            if units.quantity > self.sent[pk]:
                return _("can return units that were sent only, of which there are {count}").format(count=self.sent[pk])
            self.sent[pk] -= units.quantity
        return ""


def _by_type(place: int, line: LineItem, units: Units, wanted: Wanted, free: Free) -> list[Named]:
    """The units with what becomes of them; the old ``restock`` parts those that were sent from the others."""
    whole = Named(place, line, units.quantity, RestockType.NO_RESTOCK, units.location_id)
    if units.restock_type is not None:
        return [replace(whole, restock_type=RestockType(units.restock_type))]
    if not wanted.restock:
        return [whole]
    unsent = min(units.quantity, free.unsent[line.pk])
    sent = min(units.quantity - unsent, free.sent[line.pk])
    parts = (
        (RestockType.CANCEL, unsent),
        (RestockType.RETURN, sent),
        (RestockType.NO_RESTOCK, units.quantity - unsent - sent),
    )
    return [replace(whole, quantity=count, restock_type=kind) for kind, count in parts if count]


def _duties(books: Books, wanted: Wanted, named: Sequence[Named], errors: Errors) -> list[DutyWanted]:
    """The duties that a refund names."""
    found: dict[int, DutyWanted] = {}
    lines = {each.line.pk for each in named}
    for place, each in enumerate(wanted.duties):
        prefix = f"refund_duties.{place}"
        duty = books.duties.get(each.duty_id)
        if duty is None:
            errors[f"{prefix}.duty_id"] = [_("is no duty of the order")]
        elif each.duty_id in found:
            errors[f"{prefix}.duty_id"] = [_("is named twice")]
        elif not any(duty.left):
            errors[f"{prefix}.duty_id"] = [_("has nothing left to refund")]
        elif each.is_proportional and duty.line.pk not in lines:
            errors[f"{prefix}.refund_type"] = ["needs refund line items of the duty's line"]
        else:
            found[each.duty_id] = replace(duty, is_proportional=each.is_proportional)
    return list(found.values())


def _shipping(books: Books, wanted: Wanted, errors: Errors) -> Decimal:
    """How much of the price of shipping goes back, in the order's currency."""
    order, left = books.order, calculation.shipping_left(books.shipping)
    if wanted.shipping is None:
        return left if wanted.full_shipping else ZERO
    currency = wanted.currency or order.currency
    most = left if currency == order.currency else order.presentment(left)
    if not fits(wanted.shipping, currency) or wanted.shipping >= MAX_AMOUNT:
        errors["shipping.amount"] = [INVALID]
    elif wanted.shipping > most:
        errors["shipping.amount"] = [at_most(text_of(most, currency))]
    elif wanted.shipping == most:
        return left
    elif currency == order.currency:
        return wanted.shipping
    else:
        return min(rounded(wanted.shipping / order.exchange_rate, order.currency), left)
    return ZERO
