"""Convert a row of a product file to inputs of the catalog, and find the differences from the existing product."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apps.catalog.api.parsing import GLOBAL_METAFIELDS, parse_product
from apps.catalog.domain import weights
from apps.catalog.domain.fulfillment_service_choices import MANUAL
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.inputs import ImageInput, ProductParts, VariantInput
from apps.catalog.domain.presentment_prices import merge_fixed_prices
from apps.catalog.models import Product, Variant
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK
from apps.core.i18n.messages import COLUMN_ERROR, PART_ERROR, Message, define_message, define_text, pair_messages
from apps.core.rest.resources.serializers import check_body
from apps.core.rest.versions import get_latest_version
from apps.core.types import Attrs
from apps.imports_exports.domain.rows import Body, RowRefused
from apps.imports_exports.resources.cells import IMAGE, VARIANT, convert_api_errors, name_values
from apps.imports_exports.resources.products.existing import (
    ExistingProduct,
    ReferencedRows,
    get_differences,
)
from apps.imports_exports.resources.products.export import ITEM_FIELDS
from apps.imports_exports.resources.products.handles import get_file_handle, get_handle
from apps.imports_exports.resources.products.inventory_levels import NewLevels, get_new_levels
from apps.inventory.api.items import InventoryItemSerializer
from apps.inventory.models import InventoryItem

_NO_OBJECTS = define_message("product_imports.no_objects", "{name} must be a list of objects")
_DUPLICATE_VARIANT = define_message(
    "product_imports.duplicate_variant", "The variant '{title}' occurs twice in the file"
)
_SMART_COLLECTION = define_message(
    "product_imports.smart_collection", "collection {title}: the product can't be added to a smart collection"
)
_IMAGE_GONE = define_message(
    "product_imports.image_gone", "The image {src} was not imported: it no longer exists. Import the file again"
)
_INVALID_IMAGE = define_message("product_imports.invalid_image", "The image {src} was not imported: it {reason}")
_NO_IMAGE = define_message("product_imports.no_image", "The image {src} was not imported: {reason}")
_GIFT_CARD = define_text(
    "product_imports.gift_card", "Gift cards are not supported: this gift card was imported as an ordinary product"
)
_UNLISTED_STATUS = define_text(
    "product_imports.unlisted", "The status unlisted is not supported: the product was imported as a draft"
)
_UNKNOWN_SERVICE = define_message(
    "product_imports.unknown_service",
    "The shop has no fulfillment service {name}: existing variants keep their service, new ones are fulfilled manually",
)
OVERSOLD = define_message(
    "product_imports.oversold", "The stock of {quantity} is negative: more units were sold than were in stock"
)
# Labels of changes in the preview.
STOCK_AT = define_message("product_imports.stock", "stock at {place}")
_COLLECTION = define_message("product_imports.collection", "collection {title}")
_VARIANT_ORDER = define_text("product_imports.variant_order", "order of variants")
_NEW = define_text("product_imports.new", "new")
_AS_IN_FILE = define_text("product_imports.as_in_file", "as in the file")
_ADDED = define_text("product_imports.added", "added")
_UNKNOWN_VARIANT = define_text(
    "product_imports.unknown_variant", "A row does not identify a variant. Add option values or a SKU to the row"
)
_NO_TITLES = define_text("product_imports.no_titles", "expected a list of titles")

# The status of products that customers only find by their address.
_UNLISTED = "unlisted"
_OPTIONS = ("option1", "option2", "option3")
_ITEM_FIELDS = ("cost", *ITEM_FIELDS)
# Members that are handled separately, or that only make sense in the shop that the file comes from.
_SEPARATE_VARIANT_MEMBERS = frozenset(
    {"id", "image_id", "position", "image", *_ITEM_FIELDS, "inventory_levels", "inventory_quantity"}
)
_IMAGE_MEMBERS = ("position", "alt")
# Members that are handled separately, or that differ between shops, such as ids.
_SEPARATE_MEMBERS = frozenset({"id", "variants", "images", "options", "collections", *GLOBAL_METAFIELDS})


@dataclass(slots=True)
class ProductChanges:
    """The changes that a row makes to a product.

    Attributes:
        existing: The existing product, or None for a new product.
        attrs, parts: The product columns and the parts that differ.
        stock: The new available quantities, keyed by the variant's option values.
        collections: The titles of collections to add the product to.
        notes: Notes about parts that can't be imported, although the product can.
        changes: The old and the new values, keyed by field, for the preview.
        file_handle: The handle in the file, or an empty string.
    """

    existing: ExistingProduct | None
    attrs: Attrs = field(default_factory=dict)
    parts: ProductParts = field(default_factory=ProductParts)
    stock: dict[tuple[str, ...], NewLevels] = field(default_factory=dict)
    collections: list[str] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    changes: dict[str, tuple[object, object]] = field(default_factory=dict)
    file_handle: str = ""

    @property
    def has_catalog_changes(self) -> bool:
        parts = self.parts
        return bool(self.attrs or parts.options or parts.variants or parts.images or parts.metafields)


class ProductComparison:
    """Compares the body of a row with the existing product."""

    def __init__(
        self, body: Body, existing: ExistingProduct | None, fetched: Body | None, referenced_rows: ReferencedRows
    ) -> None:
        """Create a comparison. ``fetched`` are images or errors, keyed by URL, or None if no images were fetched."""
        self.body, self.known, self.fetched, self.places = body, existing, fetched, referenced_rows
        self.draft = ProductChanges(existing)
        self._added: list[str] = []

    def get_changes(self) -> ProductChanges:
        """Return the changes that the row makes. Raise a ``DomainError`` if values are invalid."""
        existing, draft = self.known, self.draft
        variant_rows = [
            self._adapt_service(
                {name: value for name, value in row.items() if name not in _OPTIONS or value not in (None, "")}
            )
            for row in _get_objects(self.body, "variants")
        ]
        matched = [self._match_variant(row, is_first=row == variant_rows[0]) for row in variant_rows]
        images, stored_images = self._collect_images(variant_rows)
        data = {name: value for name, value in self.body.items() if name not in _SEPARATE_MEMBERS}
        data |= self._adapt_states()
        data |= self._texts()
        if self.body.get("options"):
            data["options"] = self.body["options"]
        if variant_rows:
            data["variants"] = [
                {name: row[name] for name in row if name not in _SEPARATE_VARIANT_MEMBERS} for row in variant_rows
            ]
        if images:
            data["images"] = [{name: row[name] for name in ("id", *_IMAGE_MEMBERS) if name in row} for row in images]
        with convert_api_errors(data):
            product = existing.product if existing else None
            version = get_latest_version()
            attrs, parts = parse_product(version, data, instance=product, stored_images=stored_images, upload_errors={})
        draft.attrs = attrs if existing is None else get_differences(existing.product, attrs)
        draft.parts.metafields = parts.metafields
        for name, value in draft.attrs.items():
            if existing is not None or value not in (None, ""):
                draft.changes[name] = (getattr(existing.product, name) if existing else None, value)
        self._set_options(parts)
        self._set_variants(parts.variants or [], variant_rows, matched)
        self._set_images(parts.images or [])
        self._set_collections()
        if existing is None and not attrs.get("title"):
            raise RowRefused({"title": [BLANK]})
        return draft

    def _adapt_states(self) -> Attrs:
        """Return the values of the product that replace those in the file, and add a note for each.

        The handle of an existing product stays the same. Shops have states that Backoffice does not have.
        """
        product = self.known.product if self.known else None
        self.draft.file_handle = get_file_handle(self.body)
        values: Attrs = {"handle": product.handle if product else get_handle(self.body)}
        if self.body.get("gift_card"):
            self.draft.notes.append(_GIFT_CARD)
        if self.body.get("status") == _UNLISTED:
            values["status"] = Product.Status.DRAFT
            self.draft.notes.append(_UNLISTED_STATUS)
        return values

    def _adapt_service(self, row: Attrs) -> Attrs:
        """Remove a fulfillment service that the shop does not have from the row of a variant, and add a note."""
        service = row.get("fulfillment_service")
        if not isinstance(service, str) or service in {"", MANUAL} or service in self.places.services:
            return row
        self.draft.notes.append(_UNKNOWN_SERVICE(name=repr(service)))
        return {name: value for name, value in row.items() if name != "fulfillment_service"}

    def _match_variant(self, row: Attrs, *, is_first: bool) -> Variant | None:
        """Return the existing variant with the row's options, else with the row's SKU, else the only variant.

        The first variant with options replaces the variant of a product without options.
        """
        if self.known is None:
            return None
        variants = self.known.variants
        values = tuple(str(row[name]) for name in _OPTIONS if name in row)
        if values:
            matches = [variant for variant in variants if variant.options == values]
            has_only_default = len(variants) == 1 and variants[0].is_default
            return matches[0] if matches else variants[0] if has_only_default and is_first else None
        if row.get("sku"):
            matches = [variant for variant in variants if variant.inventory_item.sku == row["sku"]]
            if len(matches) == 1:
                return matches[0]
        if len(variants) > 1:
            raise RowRefused(_UNKNOWN_VARIANT)
        return variants[0]

    def _set_variants(
        self, inputs: Sequence[VariantInput], variant_rows: Sequence[Attrs], matched: Sequence[Variant | None]
    ) -> None:
        by_variant: dict[int, VariantInput] = {}
        new: list[VariantInput] = []
        for row, variant_input, variant in zip(variant_rows, inputs, matched, strict=True):
            variant_input.attrs.pop("position", None)
            variant_input.item |= self._parse_item(row, variant)
            self._set_variant_image(row, variant_input, variant)
            if variant is None:
                new.append(variant_input)
                self._preview_new_variant(variant_input)
            elif variant.pk in by_variant:
                raise RowRefused(_DUPLICATE_VARIANT(title=variant.title))
            else:
                self._remove_unchanged(variant_input, variant)
                by_variant[variant.pk] = variant_input
            self._set_stock(row, variant_input, variant)
        existing = self.known
        if existing is None:
            self.draft.parts.variants = new or None
            return
        order = [variant.pk for variant in existing.variants]
        matched_ids = [variant.pk for variant in matched if variant is not None]
        # If the file contains all variants, they are sorted as in the file.
        is_reordered = set(matched_ids) == set(order) and matched_ids != order
        changed = [
            variant_input
            for variant_input in by_variant.values()
            if variant_input.attrs or variant_input.item or variant_input.image or variant_input.metafields
        ]
        if not (new or changed or is_reordered or self.draft.parts.options):
            return
        if is_reordered:
            self.draft.changes[_VARIANT_ORDER] = (None, _AS_IN_FILE)
        existing_inputs = [by_variant.get(pk, VariantInput(id=pk)) for pk in (matched_ids if is_reordered else order)]
        self.draft.parts.variants = [*existing_inputs, *new]

    def _parse_item(self, row: Attrs, variant: Variant | None) -> Attrs:
        data = {name: row[name] for name in _ITEM_FIELDS if name in row}
        if not data:
            return {}
        item: InventoryItem | None = variant.inventory_item if variant else None
        attrs, errors = check_body(InventoryItemSerializer, get_latest_version(), data, instance=item)
        if errors:
            raise RowRefused(name_values(errors, data))
        return {name: value for name, value in attrs.items() if name in _ITEM_FIELDS}

    def _remove_unchanged(self, variant_input: VariantInput, variant: Variant) -> None:
        """Remove unchanged values from the input of an existing variant, and add the changed values to the preview."""
        variant_input.id = variant.pk
        prices, current_prices = variant_input.attrs.get("fixed_prices") or {}, variant.fixed_prices
        if merge_fixed_prices(current_prices, prices) == current_prices:
            variant_input.attrs.pop("fixed_prices", None)
        variant_input.attrs = get_differences(variant, variant_input.attrs)
        variant_input.item = get_differences(variant.inventory_item, variant_input.item)
        completed_attrs = dict(variant_input.attrs)
        weights.complete_weight(completed_attrs, weight=variant.weight, unit=variant.weight_unit, grams=variant.grams)
        part = "" if variant.is_default else variant.title
        self._preview_part(part, variant, get_differences(variant, completed_attrs))
        self._preview_part(part, variant.inventory_item, variant_input.item)

    def _preview_part(self, part: str, row: object, values: Attrs) -> None:
        for name, value in values.items():
            self.draft.changes[_name_change(part, name)] = (getattr(row, name), value)

    def _preview_new_variant(self, variant_input: VariantInput) -> None:
        options = (variant_input.attrs.get(name) for name in _OPTIONS)
        title = " / ".join(str(value) for value in options if value) or "Default Title"
        price, sku = variant_input.attrs.get("price"), variant_input.item.get("sku")
        self.draft.changes[VARIANT(title=title)] = (None, _NEW if price is None else str(price))
        if sku:
            self.draft.changes[_name_change(title, "sku")] = (None, sku)

    def _set_stock(self, row: Attrs, variant_input: VariantInput, variant: Variant | None) -> None:
        current_service = variant.fulfillment_service if variant else MANUAL
        service = variant_input.attrs.get("fulfillment_service", current_service)
        if self.known and variant and service == current_service:
            present = self.known.levels[variant.inventory_item_id]
        else:
            present = self.places.get_first_level(service)
        levels = get_new_levels(row, present, self.places)
        if not levels:
            return
        options = (variant_input.attrs.get(name) or getattr(variant, name, None) for name in _OPTIONS)
        values = tuple(str(value) for value in options if value)
        self.draft.stock[values or ("Default Title",)] = levels
        part = "" if variant and variant.is_default else " / ".join(values)
        for location_id, available in levels.items():
            stock_label = STOCK_AT(place=self.places.locations_by_id[location_id].name)
            before = present.get(location_id) if variant else None
            if available < 0:
                self.draft.notes.append(OVERSOLD(quantity=str(available)))
            self.draft.changes[_name_change(part, stock_label)] = (before, available)

    def _set_options(self, parts: ProductParts) -> None:
        if self.known is None:
            self.draft.parts.options = parts.options
            return
        names = [option.name for option in self.known.options]
        new_names = [option.name for option in parts.options or []]
        values = [option.values for option in parts.options or []]
        reordered = any(values) and values != [option.values for option in self.known.options]
        if new_names and (new_names != names or reordered):
            self.draft.parts.options = parts.options
            self.draft.changes["options"] = (", ".join(names), ", ".join(new_names))

    def _collect_images(self, variant_rows: Sequence[Attrs]) -> tuple[list[Attrs], dict[int, StoredImage]]:
        """Return a list of all images that the product will have, and the fetched images, keyed by list index."""
        rows = _get_objects(self.body, "images")
        sources = {row.get("src") for row in rows}
        # Images of variants are also images of the product.
        variant_sources = dict.fromkeys(row.get("image") for row in variant_rows)
        rows += [{"src": src} for src in variant_sources if src and src not in sources]
        entries_by_id: dict[int, Attrs] = {}
        new: list[tuple[Attrs, StoredImage]] = []
        for row in rows:
            src = row.get("src")
            image = self.known.find_image(src) if self.known and isinstance(src, str) and src else None
            if image is not None:
                entries_by_id[image.pk] = {**row, "id": image.pk}
            elif isinstance(stored_image := self._get_fetched_image(src), StoredImage):
                new.append(({name: row[name] for name in row if name != "id"}, stored_image))
        if not entries_by_id and not new:
            return [], {}
        existing_images = self.known.images if self.known else []
        entries = [entries_by_id.get(image.pk, {"id": image.pk}) for image in existing_images]
        entries += [row for row, _ in new]
        return entries, {len(existing_images) + index: stored_image for index, (_, stored_image) in enumerate(new)}

    def _get_fetched_image(self, src: object) -> StoredImage | None:
        """Return the image fetched from a URL. If the download failed, add a note with the reason and return None."""
        self._added.append(str(src))
        if self.fetched is None:
            return None
        image_or_error = self.fetched.get(str(src))
        if isinstance(image_or_error, StoredImage):
            return image_or_error
        self._added.pop()
        self.draft.notes.append(_get_image_note(str(src), image_or_error))
        return None

    def _set_variant_image(self, row: Attrs, variant_input: VariantInput, variant: Variant | None) -> None:
        src = row.get("image")
        if not isinstance(src, str) or not src:
            return
        image = self.known.find_image(src) if self.known else None
        if image is not None:
            variant_input.attrs["image_id"] = image.pk
        elif self.fetched is not None and isinstance(image_or_error := self.fetched.get(src), StoredImage):
            variant_input.image = image_or_error

    def _set_images(self, inputs: Sequence[ImageInput]) -> None:
        existing_images = {image.pk: image for image in self.known.images} if self.known else {}
        has_changes = False
        for image_input in inputs:
            image = existing_images.get(image_input.id or 0)
            if image is None:
                has_changes = True
                continue
            image_input.attrs = get_differences(image, image_input.attrs)
            self._preview_part(IMAGE(number=image.position), image, image_input.attrs)
            if image_input.position not in (None, image.position):
                self._preview_part(IMAGE(number=image.position), image, {"position": image_input.position})
                has_changes = True
            has_changes |= bool(image_input.attrs)
        if self._added:
            self.draft.changes["images"] = (len(existing_images), len(existing_images) + len(self._added))
        if has_changes:
            self.draft.parts.images = list(inputs)

    def _texts(self) -> Attrs:
        """Return the SEO title and description if they differ. A blank cell does not clear the stored value."""
        current_texts = self.known.texts if self.known else {}
        texts = {name: self.body[name] for name in GLOBAL_METAFIELDS if self.body.get(name)}
        changed_texts = {name: value for name, value in texts.items() if current_texts.get(name) != value}
        for name, value in changed_texts.items():
            self.draft.changes[name] = (current_texts.get(name), value)
        return changed_texts

    def _set_collections(self) -> None:
        titles = self.body.get("collections")
        for title in dict.fromkeys(titles if isinstance(titles, list) else ()):
            row = self.places.collections.get(title)
            if title in self.places.smart:
                if self.known is None:
                    self.draft.notes.append(_SMART_COLLECTION(title=title))
            elif not isinstance(title, str) or not title or len(title) > 255:
                raise RowRefused(COLUMN_ERROR(column="collections", error=_NO_TITLES))
            elif row is None or self.known is None or row.pk not in self.known.collections:
                self.draft.collections.append(title)
                self.draft.changes[_COLLECTION(title=title)] = (None, _ADDED)


def _get_image_note(src: str, error: object) -> Message:
    if not isinstance(error, DomainError):
        return _IMAGE_GONE(src=src)
    reason = pair_messages(message for messages in error.errors.values() for message in messages)
    return (_NO_IMAGE if reason[:1].isupper() else _INVALID_IMAGE)(src=src, reason=reason)


def _name_change(part: str, field: str) -> str:
    """Return the name of a change of a part, such as a variant. A blank part means the product itself."""
    return PART_ERROR(part=part, error=field) if part else field


def _get_objects(body: Body, name: str) -> list[Attrs]:
    rows = body.get(name)
    if rows is None:
        return []
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise RowRefused(_NO_OBJECTS(name=name))
    return [dict(row) for row in rows]
