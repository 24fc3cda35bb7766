"""Make the variants and images of an imported product those of the store: their order, images and deletions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.catalog.domain.inputs import ImageInput, ProductParts, VariantInput
from apps.catalog.domain.products import update_product
from apps.imports_exports.resources.products.existing import ExistingProduct
from apps.store_imports.domain.id_map import NewId
from apps.store_imports.domain.source_client import SourceObject
from apps.store_imports.domain.streams import ACTOR, Source

VARIANT, ITEM, IMAGE = "variant", "inventory_item", "product_image"


@dataclass(frozen=True, slots=True)
class ImportedParts:
    """The variants and images of some products that were imported before, by their ids in this shop."""

    variants: Mapping[int, int]
    images: Mapping[int, int]


def find_imported_parts(source: Source, products: Sequence[ExistingProduct]) -> ImportedParts:
    variants = [row.pk for product in products for row in product.variants]
    images = [row.pk for product in products for row in product.images]
    return ImportedParts(source.ids.get_source_ids(VARIANT, variants), source.ids.get_source_ids(IMAGE, images))


def align_parts(
    source: Source, product: SourceObject, target: ExistingProduct, parts: Sequence[NewId], before: ImportedParts
) -> bool:
    """Delete the imported parts that the store no longer has, and sort the others. Return True if anything changed.

    Parts that are not from the store stay, at the end. ``parts`` are the parts that the store has now.
    """
    variants = {part.source_id: part.target_id for part in parts if part.resource == VARIANT}
    images = {part.source_id: part.target_id for part in parts if part.resource == IMAGE}
    wanted_variants = [variants[row["id"]] for row in product["variants"] if row["id"] in variants]
    wanted_images = list(dict.fromkeys(images[row["id"]] for row in product["images"] if row["id"] in images))
    deleted_variants = {row.pk for row in target.variants} & before.variants.keys() - set(wanted_variants)
    deleted_images = {row.pk for row in target.images} & before.images.keys() - set(wanted_images)
    variant_ids = _arrange([row.pk for row in target.variants], wanted_variants, deleted_variants)
    image_ids = _arrange([row.pk for row in target.images], wanted_images, deleted_images)
    image_of = {
        variants[row["id"]]: images.get(row.get("image_id"))
        for row in product["variants"]
        if row["id"] in variants and (row.get("image_id") is None or row["image_id"] in images)
    }
    has_other_images = any(row.pk in image_of and row.image_id != image_of[row.pk] for row in target.variants)
    inputs = ProductParts()
    if variant_ids != [row.pk for row in target.variants] or has_other_images:
        inputs.variants = [
            VariantInput(id=pk, attrs={"image_id": image_of[pk]} if pk in image_of else {}) for pk in variant_ids
        ]
    if image_ids != [row.pk for row in target.images]:
        inputs.images = [ImageInput(id=pk) for pk in image_ids]
    if inputs.variants is None and inputs.images is None:
        return False
    items = [row.inventory_item_id for row in target.variants if row.pk in deleted_variants]
    update_product(target.product, {}, inputs, actor=ACTOR, at=source.at)
    for resource, ids in ((VARIANT, deleted_variants), (ITEM, items), (IMAGE, deleted_images)):
        source.ids.remove_targets(resource, ids)
    return True


def _arrange(current: Sequence[int], wanted: Sequence[int], deleted: set[int]) -> list[int]:
    """Return the wanted ids in their order, followed by the others that are not deleted."""
    return [*wanted, *(pk for pk in current if pk not in deleted and pk not in wanted)]
