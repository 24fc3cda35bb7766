"""Tell apps that a product has changed because its stock has changed, but not at each sale of a product under load.

A change is reported in its own transaction: by an event ``products/update`` or, if the last such event is less than
``QUIET`` ago, by a waiting ``DelayedUpdate``. Each sweep turns waiting updates into events with the state at that
time. So each last state is reported, however many changes precede it, and a killed process or a lost message only
delays it. Without subscribers, nothing is recorded.

All writers lock the product before its ``DelayedUpdate``, so an update that is being reported does not miss a change.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from django.db import connection, transaction

from apps.catalog.models import DelayedUpdate, Product
from apps.core.db.compiled_queries import bind_ids, get_any_operator
from apps.core.db.prepared_sql import Rows, StatementCall
from apps.core.db.statement_batches import StatementBatch
from apps.core.events.recording import EventInput, has_audience, record_secondary_events
from apps.core.tenancy.models import Shop
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import get_current_shop, shop_scope

logger = logging.getLogger(__name__)

TOPIC = "products/update"
QUIET = timedelta(seconds=5)
_BATCH_SIZE = 1000
_NOTE = """
INSERT INTO catalog_delayedupdate AS noted (created_at, updated_at, shop_id, product_id, quiet_until, is_waiting)
SELECT %s, %s, %s, product_id, %s, FALSE FROM (
  SELECT DISTINCT product_id FROM catalog_variant WHERE shop_id + 0 = %s AND inventory_item_id {any}
) AS changed WHERE TRUE
ON CONFLICT (product_id) DO UPDATE SET
  is_waiting = noted.quiet_until > %s,
  quiet_until = CASE WHEN noted.quiet_until > %s THEN noted.quiet_until ELSE excluded.quiet_until END
RETURNING product_id, is_waiting
"""


def tell_products(item_ids: Sequence[int], batch: StatementBatch, *, actor: str, at: datetime) -> None:
    """Tell apps about the products of these items, now or later. The caller has locked and updated the products."""
    if not has_audience(TOPIC):
        return
    shop_id, convert = get_current_shop().pk, connection.ops.adapt_datetimefield_value
    now, quiet_until = convert(at), convert(at + QUIET)
    parameters = [now, now, shop_id, quiet_until, shop_id, bind_ids(item_ids), now, now]
    statement = _NOTE.replace("{any}", get_any_operator())
    batch.add(StatementCall(statement, parameters), partial(_record_events, actor=actor, at=at))


def _record_events(rows: Rows, *, actor: str, at: datetime) -> None:
    if ids := [pk for pk, is_waiting in rows if not is_waiting]:
        products = Product.objects.filter(pk__in=ids).order_by("pk")
        record_secondary_events([EventInput(TOPIC, product) for product in products], actor=actor, at=at)


def record_waiting_updates(at: datetime) -> int:
    """Record the events of products with stock changes since their last event, if it is long enough ago."""
    waiting = DelayedUpdate.objects.filter(writable_shops(), is_waiting=True, quiet_until__lte=at)
    ids = list(waiting.order_by("quiet_until").values_list("shop_id", "product_id")[:_BATCH_SIZE])
    shops = Shop.objects.in_bulk({shop_id for shop_id, _ in ids})
    recorded = 0
    for shop_id, product_id in ids:
        try:
            with shop_scope(shops[shop_id]):
                recorded += _record_waiting_update(product_id, at)
        except Exception:
            # The update stays waiting. The updates of other products must not wait for it.
            logger.exception("Could not record the update of product %s of shop %s", product_id, shop_id)
    return recorded


@transaction.atomic
def _record_waiting_update(product_id: int, at: datetime) -> bool:
    product = Product.objects.select_for_update(no_key=True).filter(pk=product_id).first()
    waiting = DelayedUpdate.objects.filter(product_id=product_id, is_waiting=True)
    if product is None:
        # A former release deleted the product.
        waiting.delete()
        return False
    if not waiting.update(is_waiting=False, quiet_until=at + QUIET):
        return False
    record_secondary_events([EventInput(TOPIC, product)], actor="system", at=at)
    return True
