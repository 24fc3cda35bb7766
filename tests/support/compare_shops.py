"""Compare all rows of two shops, without ids, times and random values."""

import re
from collections.abc import Iterator

from django.apps import apps
from django.db import models

from apps.core.models import VersionField
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.tenancy.shop_owned import ShopOwned
from apps.notifications.domain.recording import LOW_STOCK, NEW_ORDER
from apps.notifications.models import Notification
from apps.orders.models import LineItem, Order, Transaction

# Random values, and values that depend on the file or the worker.
_LEFT_OUT = {"id", "shop", "token", "confirmation_number", "key", "digest", "claim", "group", "secret", "refused_file"}
_DRAWN = re.compile(r"(^|_)(id|at|date|token|tokens|group_id|url|number|api_id)$")
# In tests, ids start at 1,000,000.
_ID = re.compile(r"(?<!\+)\b1\d{6}\b")


def remove_ids(text: str) -> str:
    return _ID.sub("an id", text)


def _get_subject_type(row: models.Model) -> str:
    """Return the model of the object that an event or notification is about."""
    if isinstance(row, Notification):
        return {NEW_ORDER: "orders.order", LOW_STOCK: "inventory.inventoryitem"}[row.kind]
    return str(getattr(row, "subject_type"))  # noqa: B009


class ShopTables:
    """The tables of a shop. References to a row use the row's position in the shop instead of its id."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.places: dict[type[models.Model], dict[int, int]] = {}

    def dump(self) -> dict[str, list[str]]:
        with shop_scope(self.shop):
            tables = {model._meta.label: sorted(map(self._row, model.rows())) for model in _models()}
        return {label: rows for label, rows in tables.items() if rows}

    def _row(self, row: models.Model) -> str:
        messages = {}
        for field in row._meta.concrete_fields:
            if field.name in _LEFT_OUT or isinstance(field, models.DateTimeField | VersionField):
                continue
            value = getattr(row, field.attname)
            if isinstance(field, models.ForeignKey):
                value = self._called(field.related_model, value)
            elif field.name == "last_order_id":
                value = self._called(Order, value)
            elif field.name == "subject_id":
                value = self._called(apps.get_model(_get_subject_type(row)), value)
            elif field.name == "arguments":
                value = {**value, "order_id": self._called(Order, value.get("order_id"))}
            messages[field.name] = remove_ids(str(_plain(value)))
        return str(sorted(messages.items()))

    def _called(self, model: type[models.Model], pk: int | None) -> object:
        """Return an identifier that is equal in both shops: the row's position in its order, or else in the shop."""
        if pk is None:
            return None
        if model in (LineItem, Transaction):
            row = model.objects.get(pk=pk)
            position = row.position if isinstance(row, LineItem) else row.sequence
            return model.__name__, self._called(Order, row.order_id), position
        if not issubclass(model, ShopOwned):
            return model.__name__
        if model._meta.label == "events.Event":
            return self._row(model.objects.get(pk=pk))
        if model not in self.places:
            pks = model.rows().order_by("pk").values_list("pk", flat=True)
            self.places[model] = {existing_pk: position for position, existing_pk in enumerate(pks)}
        return model.__name__, self.places[model].get(pk)


def _models() -> Iterator[type[ShopOwned]]:
    yield from (model for model in apps.get_models() if issubclass(model, ShopOwned) and not model._meta.proxy)


def _plain(value: object) -> object:
    """Return a JSON value without ids, times and other values that differ between shops."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if not _DRAWN.search(name)}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
