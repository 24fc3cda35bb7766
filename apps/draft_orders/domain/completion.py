"""Complete draft orders: create the order with exactly the amounts of the draft order."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction

from apps.core.events.recording import apply_changes, record_event
from apps.core.money import ZERO
from apps.core.tenancy.models import App
from apps.core.types import Attrs
from apps.discounts.domain.uses import record_uses
from apps.draft_orders.domain.calculation import DraftOrderRefused, get_order_input, rename_fields
from apps.draft_orders.domain.draft_orders import (
    ALREADY_COMPLETED,
    UPDATED,
    DraftOrderCompleted,
    lock_draft_order,
)
from apps.draft_orders.domain.edits import get_lines
from apps.draft_orders.models import DraftOrder
from apps.metafields.domain.write import MetafieldInput
from apps.metafields.models import Metafield
from apps.orders.domain.create.orders import create_order
from apps.orders.domain.create.restored import OrderRefused
from apps.orders.domain.pricing.totals import CHECKED_TOTALS
from apps.orders.models import Order, Transaction

Behavior = Order.InventoryBehaviour


@transaction.atomic
def complete_draft_order(
    draft: DraftOrder,
    *,
    actor: str,
    at: datetime,
    payment_pending: bool = False,
    payments: Sequence[Attrs] = (),
    inventory_behaviour: str = Behavior.OBEY_POLICY,
    app: App | None = None,
) -> DraftOrder:
    """Create the order of a draft order, and return the completed draft order.

    ``payments`` are transactions in the shop currency that pay the order or a part of it. The rest is paid with a
    manual sale transaction, or its payment is pending. The order's totals are compared with those of the draft order,
    so a customer never pays another amount than the invoice showed.

    Raises:
        DraftOrderCompleted: The draft order is already completed.
        CodeNotUsable: A discount code is used up, or the customer has already used it.
        NotEnoughStock: A variant has too little stock and must not be oversold.
        DraftOrderRefused: Values have become invalid.
    """
    draft = lock_draft_order(draft)
    if draft.is_completed:
        raise DraftOrderCompleted(ALREADY_COMPLETED)
    attrs, parts = get_order_input(draft, get_lines(draft))
    status = Order.FinancialStatus.PENDING if payment_pending else Order.FinancialStatus.PAID
    parts = replace(
        parts,
        totals={name: getattr(draft, name) for name in CHECKED_TOTALS},
        financial_status=status,
        transactions=_add_rest(draft, payments, payment_pending=payment_pending),
        metafields=_get_metafields(draft),
    )
    try:
        order = create_order(
            {**attrs, "inventory_behaviour": inventory_behaviour}, parts, actor=actor, at=at, app=app or draft.app
        )
    except OrderRefused as error:
        raise DraftOrderRefused(rename_fields(error.errors)) from None
    if draft.discount_codes:
        record_uses(order, draft.discount_codes, enforce=True, at=at)
    columns = {
        "status": DraftOrder.Status.COMPLETED,
        "completed_at": at,
        "order_id": order.pk,
        "customer_id": order.customer_id,
    }
    changes = apply_changes(draft, columns)
    draft.save(update_fields=list(changes))
    record_event(UPDATED, draft, actor=actor, at=at, changes=changes)
    return draft


def _add_rest(draft: DraftOrder, payments: Sequence[Attrs], *, payment_pending: bool) -> Sequence[Attrs]:
    """Return the payments with a sale of the rest. Without payments, the financial status implies the transactions."""
    rest = draft.total_price - sum((row["amount"] for row in payments), ZERO)
    if not payments or payment_pending or rest <= ZERO:
        return payments
    return [*payments, {"kind": Transaction.Kind.SALE, "amount": rest, "currency": draft.currency}]


def _get_metafields(draft: DraftOrder) -> list[MetafieldInput]:
    rows = Metafield.objects.filter(owner_resource="draft_order", owner_id=draft.pk).order_by("pk")
    return [MetafieldInput(row.namespace, row.key, row.type, row.value, row.description) for row in rows]
