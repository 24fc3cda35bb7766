"""Compare the rows of a shop before and after a write with the changes that its events name."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from django.apps import apps

from apps.core.db.row_changes import RowKey, get_owner_keys, get_recorded_fields
from apps.core.events.changed_rows import ROWS
from apps.core.events.models import Event
from apps.core.events.values import HIDDEN_VALUE, to_plain_pair
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.timestamps import truncate_to_second

# Tables of workflows that are no objects of staff, such as jobs, and copies of other rows.
UNRELATED = {"jobs", "webhooks", "imports_exports", "bulk_edits", "events", "api"}
Rows: TypeAlias = dict[RowKey, ShopOwned]


def read_rows(shop: Shop) -> Rows:
    """Return the rows of a shop that have a history, and the shop itself."""
    with shop_scope(shop):
        rows: list[Any] = [
            row
            for model in apps.get_models()
            if issubclass(model, ShopOwned) and not model._meta.proxy and model._meta.app_label not in UNRELATED
            for row in model.objects.all()
        ]
    rows.append(Shop.objects.get(pk=shop.pk))
    return {RowKey(row._meta.label_lower, row.pk): row for row in rows}


def find_unrecorded(
    before: Rows, after: Rows, events: Iterable[Event], names: Iterable[str] | None = None
) -> list[str]:
    """Return the changes that no event names with both values. ``names`` limits the columns of changed rows."""
    recorded: dict[RowKey, dict[str, Any]] = {}
    for event in events:
        recorded.setdefault(RowKey(event.subject_type, event.subject_id), {}).update(event.changes)
        for row in event.changes.get(ROWS, {}).get("rows", ()):
            recorded.setdefault(RowKey(row["type"], row["id"]), {}).update(row["changes"] | {"": row["action"]})
    missing = [
        f"{key.label}.{name}: {pair}, recorded: {recorded.get(key, {}).get(name)}"
        for key in before.keys() & after.keys()
        for name, pair in _find_changed_columns(before[key], after[key])
        if (names is None or name in names or name.removesuffix("_id") in names)
        and not _is_recorded(pair, name, recorded.get(key, {}))
    ]
    for rows, others, action in ((after, before, "created"), (before, after, "deleted")):
        missing += [
            f"{key.label} {action}"
            for key in rows.keys() - others.keys()
            if any(owner in before and owner in after for owner in get_owner_keys(rows[key]))
            and recorded.get(key, {}).get("") != action
        ]
    return sorted(missing)


def _find_changed_columns(before: ShopOwned, after: ShopOwned) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for column in get_recorded_fields(type(after)):
        pair = getattr(before, column.attname), getattr(after, column.attname)
        if pair[0] != pair[1]:
            yield column.attname, pair


def _is_recorded(pair: tuple[Any, Any], name: str, changes: dict[str, Any]) -> bool:
    change = changes.get(name, changes.get(name.removesuffix("_id")))
    if not isinstance(change, list):
        return False
    return HIDDEN_VALUE in change or [*map(_normalize, change)] == [*map(_normalize, to_plain_pair(*map(_cut, pair)))]


def _cut(value: object) -> object:
    return truncate_to_second(value) if isinstance(value, datetime) else value


def _normalize(value: object) -> object:
    """Return a value in a form in which ``12.5`` and ``12.50`` are equal, and times have whole seconds."""
    try:
        return Decimal(str(value)).normalize()
    except InvalidOperation:
        pass
    try:
        return truncate_to_second(datetime.fromisoformat(str(value)))
    except ValueError:
        return value or None
