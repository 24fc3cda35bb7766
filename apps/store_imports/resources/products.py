"""Import products with variants, options, images, inventory items and levels, through the import of product files."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import ClassVar

from django.conf import settings
from django.db.models import Model

from apps.catalog.domain.products import delete_product
from apps.catalog.models import Product, ProductImage, Variant
from apps.core.i18n.messages import Message, define_message
from apps.imports_exports.domain.resources import get_importers
from apps.imports_exports.domain.rows import ImportRow, RowOutcome, RowResult
from apps.imports_exports.resources.products.existing import ExistingProduct, load_existing_products
from apps.imports_exports.resources.products.export import ITEM_FIELDS
from apps.inventory.models import Location
from apps.store_imports.domain.id_map import NewId
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed
from apps.store_imports.domain.streams import (
    ACTOR,
    IdList,
    ObjectResult,
    Outcome,
    Source,
    Stream,
    write_in_savepoint,
)
from apps.store_imports.resources.file_rows import OUTCOMES, import_file_rows
from apps.store_imports.resources.handles import find_taken_handles
from apps.store_imports.resources.product_details.changed_stock import find_products_with_changed_stock
from apps.store_imports.resources.product_details.comparison import COMPARISON, normalize_products, read_products
from apps.store_imports.resources.product_details.parts import (
    IMAGE,
    ITEM,
    VARIANT,
    ImportedParts,
    align_parts,
    find_imported_parts,
)
from apps.store_imports.resources.product_details.removed_levels import clear_removed_levels

PRODUCTS = "products"
# The products of a page, and the items of a request. Small pages keep stock locked only for a short time.
PAGE_SIZE, ITEMS_PER_REQUEST = 50, 50
_PRODUCT_FIELDS = (
    *("title", "body_html", "vendor", "product_type", "handle", "tags", "status", "published_at", "published_scope"),
    "template_suffix",
)
_VARIANT_FIELDS = (
    *("option1", "option2", "option3", "price", "compare_at_price", "sku", "barcode", "weight", "weight_unit", "grams"),
    *("inventory_policy", "fulfillment_service", "requires_shipping", "taxable", "tax_code"),
)
_LEVEL_SKIPPED = define_message(
    "store_imports.level_skipped",
    "{count} inventory levels are at locations that are inactive or were not imported. Their stock is missing.",
)


class ProductStream(Stream):
    name = PRODUCTS
    resource = "product"
    path_prefix = "/products/"
    model: ClassVar[type[Model]] = Product
    id_list = IdList("products.json", PRODUCTS)
    comparison = COMPARISON
    sets_creation_time = True

    def count_objects(self, source: Source) -> int | None:
        return source.client.count("products/count.json", **source.change_filter)

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return products with the items and levels of their variants as ``inventory_item`` and ``levels``."""
        page = source.client.get_page(
            "products.json", PRODUCTS, since_id=position, limit=PAGE_SIZE, **source.change_filter
        )
        variants: list[SourceObject] = []
        item_ids: list[int] = []
        for product in page:
            with refuse_malformed(self.name, product):
                variants += product["variants"]
                item_ids += [variant["inventory_item_id"] for variant in product["variants"]]
        items: dict[int, SourceObject] = {}
        levels: defaultdict[int, list[SourceObject]] = defaultdict(list)
        for start in range(0, len(item_ids), ITEMS_PER_REQUEST):
            ids = ",".join(map(str, item_ids[start : start + ITEMS_PER_REQUEST]))
            for row in source.client.iterate_pages("inventory_items.json", "inventory_items", ids=ids):
                with refuse_malformed("inventory_items", row):
                    items[row["id"]] = row
            for row in source.client.iterate_pages("inventory_levels.json", "inventory_levels", inventory_item_ids=ids):
                with refuse_malformed("inventory_levels", row):
                    row["location_id"] = int(row["location_id"])
                    levels[row["inventory_item_id"]].append(row)
        for variant in variants:
            item_id = variant["inventory_item_id"]
            variant["inventory_item"] = items.get(item_id, {})
            variant["levels"] = sorted(levels[item_id], key=itemgetter("location_id"))
        return page

    @contextmanager
    def fetch_files(
        self, source: Source, objects: Sequence[SourceObject]
    ) -> Iterator[tuple[Sequence[ImportRow], Mapping[int, Message]]]:
        """Yield the rows of the products with the images that are new. Unused images are deleted afterwards.

        The line of a row is the number of its product. Products with a taken handle have no row, but a reason.
        """
        taken = find_taken_handles(source, self.name, self.resource, Product, objects)
        rows = [
            row
            for row, product in zip(_build_rows(source, objects), objects, strict=True)
            if product["id"] not in taken
        ]
        prepare = get_importers()[PRODUCTS].prepare
        assert prepare is not None
        with prepare(rows, alive=source.keep_alive) as ready:
            yield ready, taken

    def write_objects(
        self,
        source: Source,
        objects: Sequence[SourceObject],
        files: tuple[Sequence[ImportRow], Mapping[int, Message]],
    ) -> Sequence[ObjectResult]:
        rows, taken = files
        outcomes = import_file_rows(PRODUCTS, rows)
        handles = {outcome.label for outcome in outcomes.values() if outcome.result != RowResult.FAILED}
        existing = load_existing_products(handles)
        before = find_imported_parts(source, list(existing.values()))
        notes = {row.line: row.notes for row in rows}
        results: list[ObjectResult] = []
        for line, product in enumerate(objects, 1):
            if (outcome := outcomes.get(line)) is None:
                results.append(ObjectResult(Outcome.FAILED, problem=taken[product["id"]]))
            else:
                target = existing.get(outcome.label)
                with refuse_malformed(self.name, product):
                    result = _get_result(product, outcome, target, notes[line])
                    if target is not None and result.target_id is not None:
                        result = _align(source, product, target, result, before)
                results.append(result)
        return clear_removed_levels(source, objects, results)

    def find_indirect_changes(self, source: Source) -> Collection[int]:
        return find_products_with_changed_stock(source)

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Product)
        delete_product(target, actor=ACTOR, at=at)

    def get_part_ids(self, target: Model) -> Mapping[str, Collection[int]]:
        variants = dict(Variant.objects.filter(product_id=target.pk).values_list("pk", "inventory_item_id"))
        images = list(ProductImage.objects.filter(product_id=target.pk).values_list("pk", flat=True))
        return {VARIANT: list(variants), ITEM: list(variants.values()), IMAGE: images}

    def read_own(self, source: Source, target_ids: Collection[int]) -> Mapping[int, SourceObject]:
        return read_products(target_ids, source.client.version)

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:
        normalize_products(source, theirs, ours)


def _build_rows(source: Source, objects: Sequence[SourceObject]) -> list[ImportRow]:
    """Convert products to rows of a product file. A product that was imported before keeps its handle."""
    known = source.ids.get_target_ids("product", [row["id"] for row in objects])
    handles = dict(Product.objects.filter(pk__in=known.values()).values_list("pk", "handle"))
    location_ids = {
        level["location_id"] for row in objects for variant in row["variants"] for level in variant["levels"]
    }
    targets = source.ids.get_target_ids("location", location_ids)
    active = dict(Location.objects.filter(pk__in=targets.values(), active=True).values_list("pk", "name"))
    names = {source_id: active[pk] for source_id, pk in targets.items() if pk in active}
    rows = []
    for line, row in enumerate(objects, 1):
        with refuse_malformed(PRODUCTS, row):
            rows.append(_build_row(line, row, names, handles.get(known.get(row["id"], 0), "")))
    return rows


def _build_row(line: int, product: SourceObject, names: Mapping[int, str], handle: str) -> ImportRow:
    sources = {image["id"]: image["src"] for image in product["images"]}
    body = {name: product[name] for name in _PRODUCT_FIELDS if name in product}
    if handle:
        body["handle"] = handle
    body["options"] = [{"name": row["name"], "values": row["values"]} for row in product["options"]]
    body["images"] = [{"src": row["src"], "alt": row.get("alt")} for row in product["images"]]
    skipped = 0
    variants = []
    for variant in product["variants"]:
        row = {name: variant[name] for name in _VARIANT_FIELDS if name in variant}
        item = variant["inventory_item"]
        row |= {name: item[name] for name in ("cost", *ITEM_FIELDS) if name in item}
        row["inventory_management"] = settings.BRAND if variant.get("inventory_management") else None
        row["image"] = sources.get(variant.get("image_id"))
        levels = [level for level in variant["levels"] if level.get("available") is not None]
        skipped += sum(level["location_id"] not in names for level in levels)
        row["inventory_levels"] = [
            {"location": names[level["location_id"]], "available": level["available"]}
            for level in levels
            if level["location_id"] in names
        ]
        variants.append(row)
    body["variants"] = variants
    return ImportRow(line, PRODUCTS, body, notes=(_LEVEL_SKIPPED(count=skipped),) if skipped else ())


def _align(
    source: Source, product: SourceObject, target: ExistingProduct, result: ObjectResult, before: ImportedParts
) -> ObjectResult:
    """Make the variants and images those of the store. A refusal is a note, and the next run tries again."""
    has_changed = False

    def write() -> ObjectResult:
        nonlocal has_changed
        has_changed = align_parts(source, product, target, result.parts, before)
        return result

    aligned = write_in_savepoint(write)
    if aligned.outcome == Outcome.FAILED:
        return replace(result, problem=aligned.problem, is_complete=False)
    return replace(result, outcome=Outcome.CHANGED) if has_changed and result.outcome != Outcome.NEW else result


def _get_result(
    product: SourceObject, outcome: RowOutcome, target: ExistingProduct | None, notes: Sequence[Message]
) -> ObjectResult:
    if outcome.result == RowResult.FAILED or target is None:
        return ObjectResult(Outcome.FAILED, problem=outcome.reason)
    parts: list[NewId] = []
    by_options = {tuple(variant.options): variant for variant in target.variants}
    for variant in product["variants"]:
        options = tuple(str(variant[name]) for name in ("option1", "option2", "option3") if variant.get(name))
        if row := by_options.get(options):
            parts.append(NewId(VARIANT, variant["id"], row.pk))
            parts.append(NewId(ITEM, variant["inventory_item_id"], row.inventory_item_id))
    images = [(image["id"], target.find_image(image["src"])) for image in product["images"]]
    parts += [NewId(IMAGE, source_id, row.pk) for source_id, row in images if row is not None]
    # Without an image or a location, the next run tries again.
    is_complete = all(row is not None for _, row in images) and not notes
    problem = outcome.reason if outcome.result != RowResult.SKIPPED or not is_complete else None
    return ObjectResult(OUTCOMES[outcome.result], target.product.pk, problem, is_complete, parts)
