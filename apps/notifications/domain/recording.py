"""Record notifications in the transaction of the change. The functions listen to other apps."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from apps.core.db.id_sequences import iterate_old_rows
from apps.core.db.statement_batches import StatementBatch, collect_statements
from apps.core.events.recording import is_for_audit_log_only
from apps.core.tenancy.scope import get_current_shop
from apps.inventory.models import InventoryItem
from apps.notifications.models import Notification
from apps.orders.models import Order

NEW_ORDER, LOW_STOCK, FAILED_WEBHOOK = "new_order", "low_stock", "failed_webhook"
FAILED_GIFT_CARD_EMAIL = "failed_gift_card_email"
KEEP = timedelta(days=30)


def record_new_orders(orders: Sequence[Order], *, batch: StatementBatch, actor: str, at: datetime) -> None:
    _record(NEW_ORDER, [order.pk for order in orders], batch=batch, actor=actor, at=at)


def record_low_stock(item_ids: Sequence[int], *, batch: StatementBatch, actor: str, at: datetime) -> None:
    """Record that items are low in stock, except during the import of a store, which sends no emails.

    Items without inventory tracking are never low.
    """
    if is_for_audit_log_only():
        return
    tracked = InventoryItem.rows().filter(pk__in=item_ids, tracked=True).order_by("pk")
    _record(LOW_STOCK, tracked.values_list("pk", flat=True), batch=batch, actor=actor, at=at)


def record_failed_webhook(subscription_id: int, *, at: datetime) -> None:
    with collect_statements() as batch:
        _record(FAILED_WEBHOOK, [subscription_id], batch=batch, actor="system", at=at)


def record_failed_gift_card_email(card_id: int, *, at: datetime) -> None:
    with collect_statements() as batch:
        _record(FAILED_GIFT_CARD_EMAIL, [card_id], batch=batch, actor="system", at=at)


def _record(kind: str, subject_ids: Iterable[int], *, batch: StatementBatch, actor: str, at: datetime) -> None:
    shop = get_current_shop()
    rows = [Notification(shop=shop, kind=kind, subject_id=pk, actor=actor, created_at=at) for pk in subject_ids]
    if rows:
        batch.insert(rows)


def delete_old_notifications(at: datetime) -> int:
    before = at - KEEP
    return sum(
        Notification.objects.filter(pk__in=old, created_at__lt=before).delete()[0]
        for old in iterate_old_rows(Notification.objects.all(), before)
    )
