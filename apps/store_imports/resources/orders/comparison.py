"""Compare orders with their payments, refunds, fulfillments and open fulfillment orders."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.db.models import Model, Q

from apps.core.rest.resources.serializers import Resource
from apps.fulfillment.api.fulfillment_orders import FulfillmentOrderSerializer
from apps.fulfillment.models import FulfillmentOrder
from apps.fulfillment.models.orders import UNFINISHED
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.transactions import TransactionSerializer
from apps.orders.models import Order, Transaction
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.source_client import SourceObject
from apps.store_imports.domain.streams import Source
from apps.store_imports.resources.customers import ERASED_REASON
from apps.store_imports.resources.orders.source_orders import shorten_order
from apps.store_imports.resources.rest_objects import create_reader, read_objects

_RENAMED = "an order gets a new number if the shop already has its number, which the import notes"
_OTHER_STAFF = "the staff and apps of the store have other IDs"
_FULFILLMENT_ORDER = ("id", "status", "request_status", "fulfill_at", "assigned_location_id", "fulfillment_holds")
COMPARISON = Comparison(
    read=create_reader(OrderSerializer),
    ids={
        "customer_id": "customer",
        "line_items.id": "line_item",
        "line_items.product_id": "product",
        "line_items.variant_id": "variant",
        "shipping_lines.id": "shipping_line",
        "transactions.id": "transaction",
        "transactions.order_id": "order",
        "transactions.parent_id": "transaction",
        "transactions.receipt.gift_card_id": "gift_card",
        "refunds.id": "refund",
        "refunds.order_id": "order",
        "refunds.refund_line_items.line_item_id": "line_item",
        "refunds.refund_line_items.location_id": "location",
        "refunds.refund_shipping_lines.shipping_line_id": "shipping_line",
        "refunds.order_adjustments.order_id": "order",
        "refunds.order_adjustments.refund_id": "refund",
        "refunds.transactions.id": "transaction",
        "fulfillments.id": "fulfillment",
        "fulfillments.order_id": "order",
        "fulfillments.location_id": "location",
        "fulfillments.line_items.id": "line_item",
        "fulfillment_orders.id": "fulfillment_order",
        "fulfillment_orders.assigned_location_id": "location",
        "fulfillment_orders.line_items.line_item_id": "line_item",
    },
    not_compared={
        "*.user_id": _OTHER_STAFF,
        "line_items.product_exists": "products that were not imported do not exist in this shop",
        "refunds.duties.duty_id": "duties get new IDs",
        "transactions.payment_details": "card data can't be read",
    },
    limits=dict.fromkeys(("name", "number", "order_number", "transactions.payment_id", "fulfillments.name"), _RENAMED),
    unordered=("fulfillments.line_items", "fulfillment_orders.line_items"),
)


def read_own_orders(target_ids: Collection[int], version: str) -> Mapping[int, SourceObject]:
    """Return orders of this shop in the form in which the orders of a store are read."""
    transactions = _read_parts(Transaction, TransactionSerializer, target_ids, version)
    waiting = _read_parts(FulfillmentOrder, FulfillmentOrderSerializer, target_ids, version)
    return {
        pk: {**shorten_order(row), "transactions": transactions[pk], "fulfillment_orders": waiting[pk]}
        for pk, row in read_objects(OrderSerializer, target_ids, version).items()
    }


def _read_parts(
    model: type[Model], serializer: Resource, order_ids: Collection[int], version: str
) -> Mapping[int, list[SourceObject]]:
    """Return the rows of a model that belong to orders, by order id, in the order of their ids."""
    pks = model._default_manager.filter(order_id__in=order_ids).order_by().values_list("pk", flat=True)
    by_order: defaultdict[int, list[SourceObject]] = defaultdict(list)
    for row in sorted(read_objects(serializer, list(pks), version).values(), key=itemgetter("id")):
        by_order[row["order_id"]].append(row)
    return by_order


def find_erased_orders(target_ids: Collection[int]) -> Mapping[int, str]:
    erased = Q(redacted_at__isnull=False) | Q(customer__redacted_at__isnull=False)
    return dict.fromkeys(Order.objects.filter(erased, pk__in=target_ids).values_list("pk", flat=True), ERASED_REASON)


def normalize_orders(source: Source, theirs: SourceObject, ours: SourceObject) -> None:
    """Leave out what an import can't keep: products and locations that were not imported.

    The items of finished fulfillment orders are in the fulfillments, which are compared.
    """
    for order in (theirs, ours):
        _normalize_order(order, source.client.brand)
    _leave_out_unknown(theirs)
    # Unfulfilled items that are in no fulfillment order of the store are in an additional one.
    known = {row["id"] for row in theirs["fulfillment_orders"]}
    ours["fulfillment_orders"] = [row for row in ours["fulfillment_orders"] if row["id"] in known]


def _normalize_order(order: SourceObject, brand: str) -> None:
    for line in order["line_items"]:
        if line.get("variant_inventory_management") in {brand.lower(), settings.BRAND}:
            line["variant_inventory_management"] = "this platform"
    for refund in order["refunds"]:
        refund["transactions"] = [{"id": row["id"]} for row in refund["transactions"]]
    for fulfillment in order["fulfillments"]:
        fulfillment["line_items"] = _add_up(fulfillment["line_items"], "id", "quantity")
    order["fulfillment_orders"] = _shorten_fulfillment_orders(order["fulfillment_orders"])


def _leave_out_unknown(order: SourceObject) -> None:
    """Leave out the references of an order of the store to products and locations that were not imported."""
    for line in order["line_items"]:
        for name in ("product_id", "variant_id"):
            if isinstance(line.get(name), str):
                line[name] = None
    refunded = [line for refund in order["refunds"] for line in refund["refund_line_items"]]
    for row in (*order["fulfillments"], *refunded):
        if not isinstance(row.get("location_id"), int):
            row.pop("location_id", None)
    for row in order["fulfillment_orders"]:
        if not isinstance(row.get("assigned_location_id"), int):
            for name in ("assigned_location_id", "status", "request_status"):
                row.pop(name, None)


def _shorten_fulfillment_orders(rows: Sequence[SourceObject]) -> list[SourceObject]:
    return [
        {
            **{name: row.get(name) for name in _FULFILLMENT_ORDER},
            "line_items": _add_up(row["line_items"], "line_item_id", "fulfillable_quantity"),
        }
        for row in rows
        if row["status"] in UNFINISHED and any(line["fulfillable_quantity"] for line in row["line_items"])
    ]


def _add_up(rows: Sequence[SourceObject], key: str, quantity: str) -> list[dict[str, Any]]:
    """Return one row for each line item, because lines can be split by fulfillment order."""
    counts: Counter[Any] = Counter()
    for row in rows:
        counts[row[key]] += row[quantity]
    return [{key: pk, quantity: count} for pk, count in counts.items() if count]
