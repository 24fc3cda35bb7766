"""Report to apps that a product has changed because its stock has changed, but not at each sale of a busy product.

A change is reported in its own transaction: by an event ``products/update`` or, if the last such event is less than
``QUIET`` ago, by a waiting ``DelayedUpdate``. Each sweep turns waiting updates into events with the state at that
time. So each last state is reported, however many changes precede it, and a killed process or a lost message only
delays it. Without subscribers, nothing is recorded.

All writers lock the product before its ``DelayedUpdate``, so an update that is being reported does not miss a change.
A quiet period that ends later than ``_LONGEST_QUIET`` from now comes from a clock that was wrong, and counts as over.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from django.db import DatabaseError, connection, transaction
from django.db.models import Q, Window
from django.db.models.functions import RowNumber

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
# An update that could not be reported waits this long, so that it does not take the place of others.
_RETRY = timedelta(minutes=1)
_LONGEST_QUIET = max(QUIET, _RETRY)
_BATCH_SIZE = 1000
_UPSERT = """
INSERT INTO catalog_delayedupdate AS stored (created_at, updated_at, shop_id, product_id, quiet_until, is_waiting)
SELECT %s, %s, %s, product_id, %s, FALSE FROM (
  SELECT DISTINCT product_id FROM catalog_variant WHERE shop_id + 0 = %s AND inventory_item_id {any}
) AS changed WHERE TRUE
ON CONFLICT (product_id) DO UPDATE SET
  is_waiting = stored.quiet_until > %s AND stored.quiet_until <= %s,
  quiet_until = CASE
    WHEN stored.quiet_until > %s AND stored.quiet_until <= %s THEN stored.quiet_until ELSE excluded.quiet_until
  END
RETURNING product_id, is_waiting
"""


def report_products(item_ids: Sequence[int], batch: StatementBatch, *, actor: str, at: datetime) -> None:
    """Report the products of these items to apps, now or later. The caller has locked and updated the products."""
    if not has_audience(TOPIC):
        return
    shop_id, convert = get_current_shop().pk, connection.ops.adapt_datetimefield_value
    now, quiet_until, longest = (convert(moment) for moment in (at, at + QUIET, at + _LONGEST_QUIET))
    values = [now, now, shop_id, quiet_until, shop_id, bind_ids(item_ids)]
    statement = _UPSERT.replace("{any}", get_any_operator())
    batch.add(StatementCall(statement, [*values, *(now, longest) * 2]), partial(_record_events, actor=actor, at=at))


def _record_events(rows: Rows, *, actor: str, at: datetime) -> None:
    if ids := [pk for pk, is_waiting in rows if not is_waiting]:
        products = Product.objects.filter(pk__in=ids).order_by("pk")
        record_secondary_events([EventInput(TOPIC, product) for product in products], actor=actor, at=at)


def record_waiting_updates(at: datetime) -> int:
    """Record the events of products with stock changes since their last event, if it is long enough ago.

    All shops with waiting updates take turns, so a busy shop does not delay the others.
    """
    is_due = Q(quiet_until__lte=at) | Q(quiet_until__gt=at + _LONGEST_QUIET)
    waiting = DelayedUpdate.objects.filter(is_due, writable_shops(), is_waiting=True)
    turn = Window(RowNumber(), partition_by="shop_id", order_by=("quiet_until", "pk"))
    rows = waiting.annotate(turn=turn).order_by("turn", "quiet_until", "pk")
    ids = list(rows.values_list("shop_id", "product_id")[:_BATCH_SIZE])
    shops = Shop.objects.in_bulk({shop_id for shop_id, _ in ids})
    recorded = 0
    for shop_id, product_id in ids:
        with shop_scope(shops[shop_id]):
            try:
                recorded += _record_waiting_update(product_id, at)
            except Exception:
                # The updates of other products must not wait for this one.
                logger.exception("Could not record the update of product %s of shop %s", product_id, shop_id)
                _postpone(product_id, at)
    return recorded


def _postpone(product_id: int, at: datetime) -> None:
    try:
        DelayedUpdate.objects.filter(product_id=product_id, is_waiting=True).update(quiet_until=at + _RETRY)
    except DatabaseError:
        logger.exception("Could not postpone the update of product %s", product_id)


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
