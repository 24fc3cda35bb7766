"""Import and export product files, as JSON lines or in the CSV format of the platform that we follow.

Products are identified by handle, and ids in the file are ignored. Columns, variants, images and collections that are
not in the file stay unchanged.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy

from apps.catalog.api.parsing import GLOBAL_METAFIELDS
from apps.catalog.api.serializers import ProductSerializer
from apps.catalog.domain import products
from apps.catalog.domain.collections import collects, lifecycle
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.images import MAX_IMAGES
from apps.catalog.domain.locks import lock_stock
from apps.catalog.domain.variants import MAX_VARIANTS
from apps.catalog.models import Collection, Product, ProductImage, Variant
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import join_messages
from apps.imports_exports.domain.resources import Exporter, Importer, Resource
from apps.imports_exports.domain.rows import UNCHANGED, Body, ImportRow, RowOutcome, RowResult
from apps.imports_exports.domain.runner import import_in_savepoint
from apps.imports_exports.resources.cells import get_member_names
from apps.imports_exports.resources.column_labels import get_product_label
from apps.imports_exports.resources.column_words import PRODUCT_WORDS, merge_words
from apps.imports_exports.resources.products.existing import load_existing_products, load_referenced_rows
from apps.imports_exports.resources.products.export import read_products
from apps.imports_exports.resources.products.foreign_tables import FORMATS
from apps.imports_exports.resources.products.handles import (
    HANDLE_CHANGED,
    find_existing,
    get_handle,
    get_possible_handles,
)
from apps.imports_exports.resources.products.image_downloads import fetch_images
from apps.imports_exports.resources.products.inventory_levels import apply_counts, get_stock_moves
from apps.imports_exports.resources.products.row_changes import ProductChanges, ProductComparison
from apps.imports_exports.resources.products.table import (
    ALIASES,
    COLUMNS,
    FIELD_COLUMNS,
    HANDLE,
    UNSUPPORTED,
    convert_product_to_rows,
    parse_product_rows,
)
from apps.inventory.domain import stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import InventoryItem

# The batches are small, so that stock is only locked for a few seconds.
AT_ONCE = 100
# The maximum number of variants of new products that are created together.
VARIANTS_AT_ONCE = 2_000


def _get_keys(row: ImportRow, body: Body) -> Sequence[str]:
    return [get_handle(body) or row.digest]


def _import_product_rows(
    rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool
) -> list[RowOutcome]:
    """Import several products with one lookup and one stock change.

    The new products before the first existing product are created together. All other products, and also these if one
    of them is refused, are saved one by one, each in its own savepoint.

    A dry run also writes, so that all errors are found. The caller then rolls the changes back.
    """
    return _Batch(rows, actor=actor, at=at).import_all()


class _Batch:
    """The products of a batch, which are imported in one transaction.

    All locks are acquired at the beginning, in the same order as in the catalog app: stock, collections, products.
    """

    def __init__(self, rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime) -> None:
        self.rows, self.actor, self.at = rows, actor, at
        handles = {handle for _, body in rows for handle in get_possible_handles(body)}
        titles = {title for _, body in rows for title in _get_titles(body)}
        self.places = load_referenced_rows(titles, stock.get_primary_location().pk)
        self._lock(handles)
        self.existing = load_existing_products(handles)
        self.moves: list[StockChange] = []
        self.members: dict[str, list[int]] = {}

    def _lock(self, handles: set[str]) -> None:
        variants = Variant.objects.filter(product__handle__in=handles)
        lock_stock(variant_ids=variants.values_list("pk", flat=True), deleting=True)
        collections = Collection.objects.select_for_update(no_key=True)
        collection_ids = [row.pk for row in self.places.collections.values()]
        list(collections.filter(pk__in=collection_ids).order_by("pk").values_list("pk", flat=True))
        rows = Product.objects.select_for_update(no_key=True).filter(handle__in=handles).order_by("pk")
        list(rows.values_list("pk", flat=True))

    def import_all(self) -> list[RowOutcome]:
        created = self._create_products()
        outcomes = [created.get(row.line) or self._import_product(row, body) for row, body in self.rows]
        apply_counts(self.moves, actor=self.actor, at=self.at)
        for title, product_ids in self.members.items():
            self._add_to_collection(title, product_ids)
        return outcomes

    def _create_products(self) -> dict[int, RowOutcome]:
        """Create the new products before the first existing product together; return the outcomes by line.

        Invalid rows, and all rows if the database or the catalog refuses a product, are left to ``_import_product``.
        """
        drafts: dict[int, ProductChanges] = {}
        variant_count = 0
        for row, body in self.rows:
            variants = body.get("variants")
            variant_count += len(variants) if isinstance(variants, list) else 1
            if not self.existing.keys().isdisjoint(get_possible_handles(body)) or variant_count > VARIANTS_AT_ONCE:
                break
            if get_handle(body):
                with suppress(DomainError):
                    draft = ProductComparison(body, None, row.fetched, self.places).get_changes()
                    if draft.attrs.get("handle"):
                        drafts[row.line] = draft
        if not drafts:
            return {}
        moves: list[StockChange] = []
        try:
            with transaction.atomic():
                requests = [(draft.attrs, draft.parts) for draft in drafts.values()]
                created = products.create_products(requests, actor=self.actor, at=self.at)
                for draft, (_, new_variants) in zip(drafts.values(), created, strict=True):
                    moves += get_stock_moves(new_variants, draft.stock, {}, self.places, actor=self.actor, at=self.at)
        except (DomainError, IntegrityError):
            return {}
        self.moves += moves
        for draft, (product, _) in zip(drafts.values(), created, strict=True):
            for title in draft.collections:
                self.members.setdefault(title, []).append(product.pk)
        return {
            line: _get_outcome(draft, product)
            for (line, draft), (product, _) in zip(drafts.items(), created, strict=True)
        }

    def _import_product(self, row: ImportRow, body: Body) -> RowOutcome:
        moves: list[StockChange] = []
        titles: list[str] = []
        imported: list[Product] = []

        def apply_row() -> RowOutcome:
            existing = find_existing(body, self.existing)
            draft = ProductComparison(body, existing, row.fetched, self.places).get_changes()
            product = self._write_product(draft)
            imported.append(product)
            moves.extend(self._get_moves(product, draft))
            titles.extend(draft.collections)
            return _get_outcome(draft, product)

        outcome = import_in_savepoint(apply_row)
        if outcome.result == RowResult.FAILED:
            for image in (row.fetched or {}).values():
                if isinstance(image, StoredImage):
                    image.is_referenced = False
            return outcome
        self.moves += moves
        for title in titles:
            self.members.setdefault(title, []).append(imported[0].pk)
        return outcome

    def _write_product(self, draft: ProductChanges) -> Product:
        if draft.existing is None:
            return products.create_product(draft.attrs, draft.parts, actor=self.actor, at=self.at)
        if draft.has_catalog_changes:
            product = draft.existing.product
            return products.update_product(product, draft.attrs, draft.parts, actor=self.actor, at=self.at)
        return draft.existing.product

    def _get_moves(self, product: Product, draft: ProductChanges) -> list[StockChange]:
        if not draft.stock:
            return []
        rows = Variant.objects.filter(product=product).select_related("inventory_item").order_by("position", "id")
        levels = draft.existing.levels if draft.existing else {}
        return get_stock_moves(list(rows), draft.stock, levels, self.places, actor=self.actor, at=self.at)

    def _add_to_collection(self, title: str, product_ids: Sequence[int]) -> None:
        """Add products to a collection. Create the collection if it does not exist."""
        row = self.places.collections.get(title)
        if row is None:
            values, parts = {"title": title}, lifecycle.CollectionParts()
            row = lifecycle.create_collection(Collection.Kind.CUSTOM, values, parts, actor=self.actor, at=self.at)
        collects.append_products(row.pk, product_ids, actor=self.actor, at=self.at)


def _get_titles(body: Body) -> list[str]:
    titles = body.get("collections")
    return [title for title in titles if isinstance(title, str)] if isinstance(titles, list) else []


def _get_outcome(draft: ProductChanges, product: Product) -> RowOutcome:
    notes = list(dict.fromkeys(draft.notes))
    if draft.file_handle and draft.file_handle != product.handle:
        # The first note, because a long list of notes is cut.
        notes.insert(0, HANDLE_CHANGED(old=draft.file_handle, new=product.handle))
    reason = join_messages(notes) if notes else None
    if draft.existing is None:
        result = RowResult.NEW
    elif draft.has_catalog_changes or draft.stock or draft.collections or draft.changes:
        result = RowResult.CHANGED
    else:
        result, reason = RowResult.SKIPPED, reason or UNCHANGED
    return RowOutcome(result, product.handle, reason, changes=draft.changes)


PRODUCTS = Resource(
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
        read_objects=read_products,
        get_cells=convert_product_to_rows,
    ),
    importer=Importer(
        permission="catalog.add_product",
        granted_by="products",
        models=(Product, Variant, InventoryItem, ProductImage),
        columns=COLUMNS,
        aliases=merge_words(ALIASES, PRODUCT_WORDS),
        field_columns=FIELD_COLUMNS,
        get_label=get_product_label,
        unsupported=UNSUPPORTED,
        members=get_member_names(ProductSerializer, "metafields", "collections", *GLOBAL_METAFIELDS),
        group_by=HANDLE,
        identifying_columns=tuple(name for name in COLUMNS if name != HANDLE),
        max_rows=MAX_VARIANTS + MAX_IMAGES,
        loose_rows=True,
        body=parse_product_rows,
        keys=_get_keys,
        duplicate_result=RowResult.CHANGED,
        import_rows=_import_product_rows,
        batch_size=AT_ONCE,
        prepare=fetch_images,
        foreign_tables=FORMATS,
        find=lambda handles: {row.handle: row for row in Product.objects.filter(handle__in=handles)},
    ),
)
