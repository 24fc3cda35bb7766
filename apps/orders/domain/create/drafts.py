from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext

from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST
from apps.core.money import get_minor_unit, is_currency
from apps.core.tenancy.currency_conversion import find_presentment
from apps.core.tenancy.models import App
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Errors, ReadOnlyAttrs
from apps.customers.models import Customer
from apps.metafields.domain.write import MetafieldInput
from apps.orders.domain import hooks, payments
from apps.orders.domain.create import lines as draft_lines
from apps.orders.domain.create import restored
from apps.orders.domain.create.restored import OrderRefused, OrderState
from apps.orders.domain.pricing import prices
from apps.orders.domain.pricing.totals import compare_totals
from apps.orders.domain.updates import clean_order_values
from apps.orders.models import ACCEPTED, LineItem, Order, ShippingLine, Transaction

FinancialStatus = Order.FinancialStatus

# Maps the financial status of an imported order to the transactions that the status implies.
IMPLIED_TRANSACTIONS: dict[str, tuple[str, ...]] = {
    FinancialStatus.PENDING: (),
    FinancialStatus.AUTHORIZED: (Transaction.Kind.AUTHORIZATION,),
    FinancialStatus.PAID: (Transaction.Kind.SALE,),
    FinancialStatus.VOIDED: (Transaction.Kind.AUTHORIZATION, Transaction.Kind.VOID),
}


@dataclass
class OrderParts:
    """The input for a new order, except the columns of the order itself.

    Attributes:
        lines: See ``draft_lines.build_lines``.
        customer: ``id`` or contact details.
        codes: Discount codes, each with ``code``, ``amount`` and ``type``.
        applications: Discounts that are already allocated to the lines. See ``pricing.given_discounts``.
        taxes: Taxes on the whole order, each with ``title``, ``rate`` and ``price``.
        transactions: See ``payments.build_transaction``.
        totals: Totals sent by the client, which are compared with the calculated totals.
        financial_status: The financial status, for orders without ``transactions``.
        fulfillment_status: ``fulfilled`` if the order is already fulfilled.
        state: What happened to an order that another shop exported. See ``restored.OrderState``.
        is_imported: True for an order of another system, which is not announced as newly paid (``paid_listeners``).
        other_members: Members of the request body that other apps handle.
    """

    lines: Sequence[ReadOnlyAttrs] = ()
    shipping: Sequence[ReadOnlyAttrs] = ()
    customer: ReadOnlyAttrs | None = None
    codes: Sequence[ReadOnlyAttrs] = ()
    applications: Sequence[ReadOnlyAttrs] = ()
    taxes: Sequence[ReadOnlyAttrs] = ()
    transactions: Sequence[ReadOnlyAttrs] = ()
    totals: Mapping[str, Decimal] = field(default_factory=dict)
    financial_status: str | None = None
    fulfillment_status: str | None = None
    fulfilled_quantities: Sequence[int] = ()
    metafields: Sequence[MetafieldInput] = ()
    send_receipt: bool = False
    state: OrderState | None = None
    is_imported: bool = False
    other_members: ReadOnlyAttrs = field(default_factory=dict)


@dataclass
class OrderDraft:
    """A new order, validated and priced but not saved. ``name`` is the name from another system, or blank."""

    order: Order
    lines: list[LineItem]
    shipping: list[ShippingLine]
    parts: OrderParts
    name: str
    transactions: list[Transaction] = field(default_factory=list)

    @property
    def has_no_customer(self) -> bool:
        """Return True if the order had no customer in the shop that exported it."""
        return self.parts.state is not None and self.parts.customer is None


def build_order(
    attrs: ReadOnlyAttrs,
    parts: OrderParts,
    *,
    at: datetime,
    app: App | None = None,
    catalog_rows: draft_lines.CatalogRows | None = None,
) -> OrderDraft:
    """Build a new order with all amounts, without locks or writes.

    ``attrs`` are values for ``ACCEPTED`` columns, and ``currency``, ``presentment_currency``, ``exchange_rate``,
    ``processed_at``, ``closed_at``. Imported orders can also have ``name`` (ignored if already taken) and
    ``created_at``. ``catalog_rows`` are the catalog rows of the lines, if already loaded.
    """
    shop = get_current_shop()
    cleaned, errors = clean_order_values(attrs)
    order = Order(
        shop=shop,
        app=app,
        created_at=attrs.get("created_at") or at,
        processed_at=attrs.get("processed_at") or attrs.get("created_at") or at,
        closed_at=attrs.get("closed_at"),
        **{name: cleaned[name] for name in ACCEPTED if cleaned.get(name) is not None},
    )
    errors |= _set_currencies(order, attrs)
    if errors:
        raise OrderRefused(errors)
    lines, errors = draft_lines.build_lines(order, parts.lines, catalog_rows)
    shipping = [ShippingLine(shop=shop, order=order, created_at=at, **row) for row in parts.shipping]
    if parts.state is not None and not errors:
        restored.apply_state(order, lines, shipping, parts.state)
    if not errors:
        errors = prices.price_order(
            order, lines, shipping, codes=parts.codes, taxes=parts.taxes, applications=parts.applications
        )
    if not errors:
        errors = compare_totals(order, parts.totals)
    errors |= _set_fulfilled(parts, lines)
    if errors:
        raise OrderRefused(errors)
    return OrderDraft(order, lines, shipping, parts, attrs.get("name") or "")


def assign_customer(drafted: OrderDraft, customer: Customer | None) -> None:
    order = drafted.order
    order.customer = customer
    if customer is not None and not order.email and drafted.parts.state is None:
        order.email = customer.email


def complete_draft(drafted: OrderDraft, *, at: datetime) -> None:
    """Build the order's transactions, and check the parts of the order that other apps handle."""
    _set_transactions(drafted, at=at)
    if members := drafted.parts.other_members:
        for hook in hooks.draft_hooks.values():
            hook(drafted.order, drafted.lines, drafted.shipping, drafted.transactions, members)


def _set_transactions(drafted: OrderDraft, *, at: datetime) -> None:
    """Build the order's transactions from the input or, if there is none, from the financial status."""
    order, status, state = drafted.order, drafted.parts.financial_status, drafted.parts.state
    inputs = drafted.parts.transactions
    if state is not None and state.transactions is not None:
        drafted.transactions = restored.build_transactions(order, state.transactions, at=at)
        restored.check_state(order, drafted.lines, drafted.transactions, state)
        return
    if not inputs and status:
        if status not in IMPLIED_TRANSACTIONS:
            raise OrderRefused({"financial_status": [gettext("requires matching transactions")]})
        inputs = [
            {"kind": kind, "currency": order.currency} for kind in IMPLIED_TRANSACTIONS[status] if order.total_price
        ]
    rows: list[Transaction] = []
    errors: Errors = {}
    for index, attrs in enumerate(inputs):
        try:
            rows.append(payments.build_transaction(order, rows, {"processed_at": order.processed_at, **attrs}, at=at))
        except payments.PaymentRefused as error:
            errors |= {f"transactions.{index}.{name}": messages for name, messages in error.errors.items()}
    if errors:
        raise OrderRefused(errors)
    drafted.transactions = rows
    if state is not None:
        restored.check_state(order, drafted.lines, rows, state)


def _set_currencies(order: Order, attrs: ReadOnlyAttrs) -> Errors:
    errors: Errors = {}
    order.currency = attrs.get("currency") or get_current_shop().currency
    order.presentment_currency = attrs.get("presentment_currency") or order.currency
    rate = attrs.get("exchange_rate") or _get_shop_rate(order)
    order.exchange_rate = rate or Decimal(1)
    for name in ("currency", "presentment_currency"):
        if not is_currency(getattr(order, name)):
            errors[name] = [NOT_IN_LIST]
    if order.is_multi_currency and not rate:
        errors["exchange_rate"] = [BLANK]
    if not order.is_multi_currency and order.exchange_rate != 1:
        errors["exchange_rate"] = [gettext("must be 1 when there is only one currency")]
    if errors:
        return errors
    tiny = get_minor_unit(order.presentment_currency) / order.exchange_rate
    return {} if tiny < 10**9 else {"exchange_rate": [INVALID]}


def _get_shop_rate(order: Order) -> Decimal | None:
    shop = get_current_shop()
    rate = find_presentment(shop, order.presentment_currency) if order.currency == shop.currency else None
    return rate.rate if rate else None


def _set_fulfilled(parts: OrderParts, lines: Sequence[LineItem]) -> Errors:
    status = parts.fulfillment_status or ""
    if parts.fulfilled_quantities:
        quantities = parts.fulfilled_quantities
    elif not status:
        return {}
    elif status == Order.FulfillmentStatus.FULFILLED:
        quantities = [line.quantity for line in lines]
    else:
        return {"fulfillment_status": [NOT_IN_LIST]}
    errors: Errors = {}
    for index, (line, fulfilled) in enumerate(zip(lines, quantities, strict=False)):
        if not 0 <= fulfilled <= line.quantity:
            errors[f"line_items.{index}.fulfillable_quantity"] = [INVALID]
        line.fulfilled_quantity, line.fulfillable_quantity = fulfilled, line.quantity - fulfilled
    is_complete = sum(line.fulfillable_quantity for line in lines) == 0
    if status not in {"", Order.FulfillmentStatus.FULFILLED if is_complete else Order.FulfillmentStatus.PARTIAL}:
        errors["fulfillment_status"] = [gettext("does not match the fulfilled quantities of the line items")]
    return errors
