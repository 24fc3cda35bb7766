"""An app that copies a store by webhooks alone, and the comparison of its copy with what the REST API returns."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apps.core.tenancy.models import Installation
from tests.support.types import JsonObject
from tests.support.webhooks import make_subscription

# The copied resources, with the verbs of their topics.
TOPICS = {
    "products": ("create", "update", "delete"),
    "inventory_levels": ("connect", "update", "disconnect"),
    "inventory_items": ("create", "update", "delete"),
    "collections": ("create", "update", "delete"),
    "customers": ("create", "update", "delete"),
    "orders": ("create", "updated", "delete"),
    "fulfillments": ("create", "update"),
    "refunds": ("create",),
    "product_metafields": ("create", "update", "delete"),
    "customer_metafields": ("create", "update", "delete"),
    "order_metafields": ("create", "update", "delete"),
}
_DELETIONS = ("delete", "disconnect")
# The owners of metafields, which are deleted with their owner.
_OWNERS = {"product_metafields": "products", "customer_metafields": "customers", "order_metafields": "orders"}
# These resources are deleted with their order.
_PARTS_OF_ORDERS = {"fulfillments", "refunds"}
# Objects inside of other resources. Their later changes are reported only with their own resource.
_INNER_OBJECTS = {
    "refunds": {"refund_line_items", "transactions"},
    "orders": {"customer"},
}

Key = tuple[str, object]
Store = dict[Key, JsonObject]
Get = Callable[[str], JsonObject]


def subscribe(installation: Installation, uri: str) -> None:
    """Subscribe the app to all topics that it needs for its copy."""
    for resource, verbs in TOPICS.items():
        for verb in verbs:
            make_subscription(installation, uri, topic=f"{resource}/{verb}")


class CopyingApp:
    """Keeps a copy of each resource as of the event with the highest sequence. The deliveries may come in any order."""

    def __init__(self) -> None:
        self._last: dict[Key, tuple[int, JsonObject | None]] = {}

    def receive(self, topic: str, sequence: int, payload: JsonObject) -> None:
        resource, verb = topic.split("/")
        key = (resource, _get_id(resource, payload))
        if key not in self._last or self._last[key][0] < sequence:
            self._last[key] = (sequence, None if verb in _DELETIONS else payload)

    def get_copy(self) -> Store:
        present = {key: payload for key, (_, payload) in self._last.items() if payload is not None}
        return {key: payload for key, payload in present.items() if _has_owner(key[0], payload, present)}


def _get_id(resource: str, payload: Mapping[str, Any]) -> object:
    if resource == "inventory_levels":
        return payload["inventory_item_id"], payload["location_id"]
    return payload["id"]


def _has_owner(resource: str, payload: Mapping[str, Any], present: Store) -> bool:
    if resource in _OWNERS:
        return (_OWNERS[resource], payload["owner_id"]) in present
    return resource not in _PARTS_OF_ORDERS or ("orders", payload["order_id"]) in present


def read_store(get: Get) -> Store:
    """Read all copied resources over REST. ``get`` returns the response to a path after the version."""
    return {(resource, _get_id(resource, row)): row for resource, row in _iterate_store(get)}


def _iterate_store(get: Get) -> Iterator[tuple[str, JsonObject]]:
    for resource, plural in _OWNERS.items():
        for row in _read_list(get, plural, "&status=any" if plural == "orders" else ""):
            (whole_row,) = get(f"{plural}/{row['id']}.json").values()
            yield plural, whole_row
            yield from ((resource, part) for part in get(f"{plural}/{row['id']}/metafields.json")["metafields"])
            yield from _iterate_parts(get, plural, row)
    for kind in ("custom_collections", "smart_collections"):
        for row in _read_list(get, kind):
            yield "collections", get(f"collections/{row['id']}.json")["collection"]


def _iterate_parts(get: Get, plural: str, row: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for variant in row["variants"] if plural == "products" else ():
        item_id = variant["inventory_item_id"]
        yield "inventory_items", get(f"inventory_items/{item_id}.json")["inventory_item"]
        levels = get(f"inventory_levels.json?inventory_item_ids={item_id}")["inventory_levels"]
        yield from (("inventory_levels", level) for level in levels)
    for part in sorted(_PARTS_OF_ORDERS) if plural == "orders" else ():
        yield from ((part, nested) for nested in get(f"orders/{row['id']}/{part}.json")[part])


def _read_list(get: Get, plural: str, query: str = "") -> Iterator[JsonObject]:
    last = 0
    while rows := get(f"{plural}.json?limit=250&since_id={last}{query}")[plural]:
        yield from rows
        last = rows[-1]["id"]


def find_differences(copy: Store, store: Store, before: Store) -> list[str]:
    """Return what is missing, left over or stale in a copy. Unchanged rows of ``before`` may be absent."""
    differences = []
    for key in sorted({*copy, *store}, key=str):
        ours, theirs = copy.get(key), store.get(key)
        if ours is None:
            ours = before.get(key)
        if ours is None or theirs is None:
            differences.append(f"{key[0]} {key[1]} is {'missing' if ours is None else 'left over'}")
        elif fields := _get_different_fields(key[0], ours, theirs):
            differences.append(f"{key[0]} {key[1]} is stale: {', '.join(fields)}")
    return differences


def _get_different_fields(resource: str, ours: JsonObject, theirs: JsonObject) -> list[str]:
    names = {*ours, *theirs} - _INNER_OBJECTS.get(resource, set())
    return sorted(name for name in names if ours.get(name) != theirs.get(name))
