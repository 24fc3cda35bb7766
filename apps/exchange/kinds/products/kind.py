"""Products in files: the table of the platform that the interface comes from, or lines of JSON; known by their handle.

Ids of the file mean nothing here. What a file does not name stays as it is: columns, variants, images, collections.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.db import IntegrityError
from django.utils.translation import gettext_lazy, gettext_noop

from apps.catalog.api.bodies import GLOBAL
from apps.catalog.api.resources import ProductSerializer
from apps.catalog.domain import products
from apps.catalog.domain.collections import collects, lifecycle
from apps.catalog.domain.images import MAX_IMAGES
from apps.catalog.domain.locks import lock_stock
from apps.catalog.domain.pictures import Picture
from apps.catalog.domain.variants import MAX_VARIANTS
from apps.catalog.models import Collection, Product, ProductImage, Variant
from apps.exchange.domain.kinds import Exporter, Importer, Kind
from apps.exchange.domain.rows import Body, Fate, Outcome, RawRow, failed
from apps.exchange.domain.taking import by_itself
from apps.exchange.kinds.interface import members_of
from apps.exchange.kinds.products.columns import ALIASES, COLUMNS, HANDLE, PASSED_OVER
from apps.exchange.kinds.products.drafts import Drafted, Drafting
from apps.exchange.kinds.products.known import Known, known_by_handle, places_named
from apps.exchange.kinds.products.pictures import prepared
from apps.exchange.kinds.products.reading import read_products
from apps.exchange.kinds.products.stock import count, moves_of
from apps.exchange.kinds.products.tables import product_body, product_cells
from apps.exchange.kinds.samples import SAMPLE_PRODUCTS
from apps.ground.errors import DomainError
from apps.ground.handles import as_handle
from apps.inventory.domain import stock
from apps.inventory.domain.movements import Move
from apps.inventory.models import InventoryItem

# Some seconds of work at most, in which others wait for the stock of these products.
AT_ONCE = 25


def _handle(body: Body) -> str:
    given = body.get("handle")
    return as_handle(given) if isinstance(given, str) else ""


def _keys(row: RawRow, body: Body) -> Sequence[str]:
    """By what a product is known again within a file."""
    return [_handle(body) or row.digest]


def _take_in(row: RawRow, body: Body, *, actor: str, at: datetime) -> Outcome:
    """Make a product, or change the one with the same handle."""
    return _Batch([(row, body)], actor=actor, at=at).done()[0]


def _take_in_many(rows: Sequence[tuple[RawRow, Body]], *, actor: str, at: datetime, dry: bool) -> list[Outcome]:
    """The same of many: looked up together, with one movement of stock for all, each in a savepoint of its own.

    A dry run does it, too, and is rolled back by who asked for it: so it finds what the services refuse.
    """
    try:
        return _Batch(rows, actor=actor, at=at).done()
    except DomainError as refusal:
        if len(rows) == 1:
            return [failed(refusal)]
        # Of all together: each by itself shows whose it is.
        raise IntegrityError(refusal.sentence) from refusal


class _Batch:
    """Products of a file that are dealt with in one transaction.

    Locks are taken in the catalog's order for all of them at once: stock, collections, products.
    """

    def __init__(self, rows: Sequence[tuple[RawRow, Body]], *, actor: str, at: datetime) -> None:
        self.rows, self.actor, self.at = rows, actor, at
        handles = {_handle(body) for _, body in rows} - {""}
        titles = {title for _, body in rows for title in _titles(body)}
        self.places = places_named(titles, stock.primary_location().pk)
        self._lock(handles)
        self.known = known_by_handle(handles)
        self.moves: list[Move] = []
        self.members: dict[str, list[int]] = {}

    def _lock(self, handles: set[str]) -> None:
        variants = Variant.objects.filter(product__handle__in=handles)
        lock_stock(variant_ids=variants.values_list("pk", flat=True), going=True)
        collections = Collection.objects.select_for_update(no_key=True)
        held = collections.filter(pk__in=[row.pk for row in self.places.collections.values()]).order_by("pk")
        list(held.values_list("pk", flat=True))
        rows = Product.objects.select_for_update(no_key=True).filter(handle__in=handles).order_by("pk")
        list(rows.values_list("pk", flat=True))

    def done(self) -> list[Outcome]:
        """Do it all.

        Raises:
            DomainError: What all have together does not go.
        """
        outcomes = [self._each(row, body) for row, body in self.rows]
        count(self.moves, actor=self.actor, at=self.at)
        for title, product_ids in self.members.items():
            self._fill(title, product_ids)
        return outcomes

    def _each(self, row: RawRow, body: Body) -> Outcome:
        moves: list[Move] = []
        titles: list[str] = []
        made: list[Product] = []

        def take_in() -> Outcome:
            draft = Drafting(body, self.known.get(_handle(body)), row.fetched, self.places).read()
            product = self._written(draft)
            made.append(product)
            moves.extend(self._moves(product, draft))
            titles.extend(draft.collections)
            return _outcome(draft, product)

        outcome = by_itself(take_in)
        if outcome.fate == Fate.FAILED:
            for picture in (row.fetched or {}).values():
                if isinstance(picture, Picture):
                    picture.kept = False
            return outcome
        self.moves += moves
        for title in titles:
            self.members.setdefault(title, []).append(made[0].pk)
        return outcome

    def _written(self, draft: Drafted) -> Product:
        if draft.known is None:
            return products.create_product(draft.attrs, draft.parts, actor=self.actor, at=self.at)
        if draft.writes:
            return products.update_product(draft.known.product, draft.attrs, draft.parts, actor=self.actor, at=self.at)
        return draft.known.product

    def _moves(self, product: Product, draft: Drafted) -> list[Move]:
        if not draft.stock:
            return []
        rows = Variant.objects.filter(product=product).select_related("inventory_item").order_by("position", "id")
        levels = draft.known.levels if draft.known else {}
        return moves_of(list(rows), draft.stock, levels, self.places, actor=self.actor, at=self.at)

    def _fill(self, title: str, product_ids: Sequence[int]) -> None:
        """Put products in a collection, which is made where there is none."""
        row = self.places.collections.get(title)
        if row is None:
            parts = lifecycle.CollectionParts()
            row = lifecycle.create_collection(
                Collection.Kind.CUSTOM, {"title": title}, parts, actor=self.actor, at=self.at
            )
        collects.append(row.pk, product_ids, actor=self.actor, at=self.at)


def _titles(body: Body) -> list[str]:
    titles = body.get("collections")
    return [title for title in titles if isinstance(title, str)] if isinstance(titles, list) else []


def _outcome(draft: Drafted, product: Product) -> Outcome:
    known: Known | None = draft.known
    reason = "; ".join(draft.notes)
    if known is None:
        return Outcome(Fate.NEW, product.handle, reason, changes=draft.changes)
    if draft.writes or draft.stock or draft.collections:
        return Outcome(Fate.CHANGED, product.handle, reason, changes=draft.changes)
    unfetched = Fate.CHANGED if draft.changes else Fate.SKIPPED
    told = Outcome(unfetched, product.handle, reason, changes=draft.changes)
    return (
        told if reason or draft.changes else replace(told, reason=gettext_noop("is known already, and nothing differs"))
    )


PRODUCTS = Kind(
    name="products",
    label=gettext_lazy("Products"),
    singular="product",
    exporter=Exporter(
        model=Product,
        permission="catalog.export_product",
        granted_by="export_products",
        topic="products/export",
        filters=("status",),
        columns=COLUMNS,
        read=read_products,
        cells=product_cells,
    ),
    importer=Importer(
        permission="catalog.add_product",
        granted_by="products",
        models=(Product, Variant, InventoryItem, ProductImage),
        columns=COLUMNS,
        aliases=ALIASES,
        passed_over=PASSED_OVER,
        members=members_of(ProductSerializer, "metafields", "collections", *GLOBAL),
        group_by=HANDLE,
        known_by=tuple(name for name in COLUMNS if name != HANDLE),
        most_rows=MAX_VARIANTS + MAX_IMAGES,
        sample=SAMPLE_PRODUCTS,
        body=product_body,
        keys=_keys,
        repeated=Fate.CHANGED,
        take_in=_take_in,
        take_in_many=_take_in_many,
        at_once=AT_ONCE,
        prepare=prepared,
        find=lambda handles: {row.handle: row for row in Product.objects.filter(handle__in=handles)},
    ),
)
