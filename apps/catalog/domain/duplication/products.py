from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.catalog.domain import products
from apps.catalog.domain.collections import collects
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.inputs import ImageInput, OptionInput, ProductParts, VariantInput
from apps.catalog.domain.locks import lock_product
from apps.catalog.domain.options import get_options
from apps.catalog.models import Product, ProductImage, Variant
from apps.core.events.messages import DUPLICATED
from apps.core.types import Attrs
from apps.metafields.domain.copying import read_metafields_to_copy
from apps.metafields.domain.write import set_metafields_of_owners

PRODUCT_COLUMNS = ("body_html", "vendor", "product_type", "tags", "template_suffix", "published_scope")
VARIANT_COLUMNS = (
    *("option1", "option2", "option3", "price", "compare_at_price", "taxable", "tax_code", "inventory_policy"),
    *("fulfillment_service", "weight", "weight_unit"),
)
ITEM_COLUMNS = (
    *("tracked", "requires_shipping", "cost", "country_code_of_origin", "province_code_of_origin"),
    *("harmonized_system_code", "country_harmonized_system_codes"),
)


@dataclass(frozen=True, slots=True)
class ProductCopy:
    """A requested copy of a product.

    Attributes:
        title: The title of the copy. The handle is derived from the title.
        status: The status of the copy.
        images: True to copy the images with their alternative texts.
        codes: True to copy the SKUs and barcodes of the variants.
        metafields: True to copy the metafields of the product, its variants and images, except those of type ``id``.
        collections: True to append the copy to the custom collections of the product.
    """

    title: str
    status: str = Product.Status.DRAFT
    images: bool = True
    codes: bool = False
    metafields: bool = True
    collections: bool = True


@transaction.atomic
def duplicate_product(product: Product, requested: ProductCopy, *, actor: str, at: datetime) -> Product:
    """Create a copy of a product with its options and variants, but without inventory.

    The product is locked, so that none of its images is deleted before the copy refers to the same files.

    Raises:
        RowDeleted: The product has been deleted.
    """
    collection_ids = collects.lock_collections_of_product(product.pk) if requested.collections else []
    source = lock_product(product.pk)
    images = list(ProductImage.objects.filter(product=source).order_by("position", "id")) if requested.images else []
    copy = products.create_product(
        _copy_attrs(source, requested, at),
        _copy_parts(source, images, requested),
        actor=actor,
        at=at,
        message=DUPLICATED(name=source.title),
    )
    if requested.metafields:
        _copy_image_metafields(images, copy, actor=actor, at=at)
    collects.append_to_collections(copy, collection_ids, actor=actor, at=at)
    return copy


def _copy_attrs(source: Product, requested: ProductCopy, at: datetime) -> Attrs:
    """Return the columns of the copy. A product that is published later is duplicated with the same date."""
    published_at = max(source.published_at, at) if source.published_at else None
    columns = {name: getattr(source, name) for name in PRODUCT_COLUMNS}
    return columns | {"title": requested.title, "status": requested.status, "published_at": published_at}


def _copy_parts(source: Product, images: list[ProductImage], requested: ProductCopy) -> ProductParts:
    stored = {
        row.pk: StoredImage(row.shop_id, row.key, row.name, row.width, row.height, source=row.source) for row in images
    }
    variants = list(Variant.objects.filter(product=source).select_related("inventory_item").order_by("position", "id"))
    metafields = read_metafields_to_copy(variants) if requested.metafields else {}
    return ProductParts(
        options=[OptionInput(option.name, list(option.values)) for option in get_options(source)] or None,
        variants=[
            VariantInput(
                attrs=_copy_variant(variant, requested),
                item=_copy_item(variant, requested),
                metafields=metafields.get(variant.pk, []),
                image=stored.get(variant.image_id or 0),
            )
            for variant in variants
        ],
        images=[ImageInput(image=stored[row.pk], attrs={"alt": row.alt}) for row in images],
        metafields=read_metafields_to_copy([source]).get(source.pk, []) if requested.metafields else [],
    )


def _copy_variant(variant: Variant, requested: ProductCopy) -> Attrs:
    attrs: Attrs = {name: getattr(variant, name) for name in VARIANT_COLUMNS}
    if variant.fixed_prices:
        attrs["fixed_prices"] = variant.fixed_prices
    if requested.codes:
        attrs["barcode"] = variant.barcode
    return attrs


def _copy_item(variant: Variant, requested: ProductCopy) -> Attrs:
    columns = (*ITEM_COLUMNS, "sku") if requested.codes else ITEM_COLUMNS
    return {name: getattr(variant.inventory_item, name) for name in columns}


def _copy_image_metafields(images: list[ProductImage], copy: Product, *, actor: str, at: datetime) -> None:
    copied = read_metafields_to_copy(images)
    if not copied:
        return
    rows = ProductImage.objects.filter(product=copy).order_by("position", "id")
    drafts = [(row, copied[image.pk]) for image, row in zip(images, rows, strict=True) if image.pk in copied]
    set_metafields_of_owners(drafts, actor=actor, at=at)
