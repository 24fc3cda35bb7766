"""All rows of a shop, without what differs from one shop to another: ids, moments, and what is drawn by lot."""

import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import models

from apps.ground.base_models import ShopOwned, VersionField
from apps.ground.tenancy import shop_scope
from apps.orders.models import LineItem, Order, Transaction
from apps.shops.models import Shop

# Drawn by lot, or of the file and its worker alone.
_LEFT_OUT = {"id", "shop", "token", "confirmation_number", "key", "digest", "claim", "group", "secret"}
_DRAWN = re.compile(r"(^|_)(id|at|date|token|tokens|group_id|url|number|api_id)$")
# Ids of tests begin at a million.
_ID = re.compile(r"(?<!\+)\b1\d{6}\b")


def nameless(text: str) -> str:
    """A text without the ids that it names."""
    return _ID.sub("an id", text)


class Tables:
    """The tables of a shop's rows; a row is called by its place among those of the shop."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.places: dict[type[models.Model], dict[int, int]] = {}

    def dump(self) -> dict[str, list[str]]:
        """By table, its rows as sorted texts."""
        with shop_scope(self.shop):
            found = {model._meta.label: sorted(map(self._row, model.rows())) for model in _models()}
        return {label: rows for label, rows in found.items() if rows}

    def _row(self, row: models.Model) -> str:
        told = {}
        for field in row._meta.concrete_fields:
            if field.name in _LEFT_OUT or isinstance(field, models.DateTimeField | VersionField):
                continue
            value = getattr(row, field.attname)
            if isinstance(field, models.ForeignKey):
                value = self._called(field.related_model, value)
            elif field.name == "last_order_id":
                value = self._called(Order, value)
            elif field.name == "subject_id":
                value = self._called(apps.get_model(getattr(row, "subject_type")), value)  # noqa: B009
            elif field.name == "arguments":
                value = {**value, "order_id": self._called(Order, value.get("order_id"))}
            told[field.name] = nameless(str(_plain(value)))
        return str(sorted(told.items()))

    def _called(self, model: Any, pk: int | None) -> object:
        """A row by what it is in both shops: its order and its place there, else its place in the shop."""
        if pk is None:
            return None
        if model in (LineItem, Transaction):
            row = model.objects.get(pk=pk)
            place = row.position if model is LineItem else row.sequence
            return model.__name__, self._called(Order, row.order_id), place
        if not issubclass(model, ShopOwned):
            return model.__name__
        if model._meta.label == "events.Event":
            return self._row(model.objects.get(pk=pk))
        if model not in self.places:
            pks = model.rows().order_by("pk").values_list("pk", flat=True)
            self.places[model] = {known: place for place, known in enumerate(pks)}
        return model.__name__, self.places[model].get(pk)


def _models() -> Iterator[Any]:
    yield from (model for model in apps.get_models() if issubclass(model, ShopOwned) and not model._meta.proxy)


def _plain(value: Any) -> Any:
    """A document without its ids and moments."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if not _DRAWN.search(name)}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
