"""Validated input of the catalog's services. The services check references to existing rows."""

from dataclasses import dataclass, field

from apps.catalog.domain.image_files import StoredImage
from apps.catalog.models import Product, ProductTag
from apps.core.db.case_folding import casefold_text
from apps.core.types import Attrs
from apps.metafields.domain.write import MetafieldInput


@dataclass(slots=True)
class OptionInput:
    """A requested option. If ``values`` is empty, the option keeps the values that the variants use."""

    name: str
    values: list[str] = field(default_factory=list)
    id: int | None = None


@dataclass(slots=True)
class VariantInput:
    """A requested variant.

    Attributes:
        attrs: Columns of ``Variant``. Missing columns keep their value, or get the default in a new variant.
        item: Columns of the variant's ``InventoryItem``.
        id: The id of the variant to update, or None for a new variant.
        image: A new image from the same request that is assigned to the variant.
    """

    attrs: Attrs = field(default_factory=dict)
    item: Attrs = field(default_factory=dict)
    id: int | None = None
    metafields: list[MetafieldInput] = field(default_factory=list)
    image: StoredImage | None = None


@dataclass(slots=True)
class ImageInput:
    """A requested image.

    Attributes:
        id: The id of the image to update, or None for a new image.
        attrs: The alternative text as ``alt``, if the request contains it.
        position: The requested position. If None, the order of the list determines the position.
        variant_ids: The ids of the variants that use the image, or None to keep the current variants.
    """

    image: StoredImage | None = None
    id: int | None = None
    attrs: Attrs = field(default_factory=dict)
    position: int | None = None
    variant_ids: list[int] | None = None
    metafields: list[MetafieldInput] = field(default_factory=list)


@dataclass(slots=True)
class ProductParts:
    """The options, variants and images of a product in a request. If a part is None, it is not changed."""

    options: list[OptionInput] | None = None
    variants: list[VariantInput] | None = None
    images: list[ImageInput] | None = None
    metafields: list[MetafieldInput] = field(default_factory=list)


def write_tags(product: Product) -> None:
    """Update the tag rows to match ``Product.tags``."""
    names = {casefold_text(name): name for name in product.tags.split(", ") if name}
    rows = {tag.key: tag for tag in ProductTag.objects.filter(product=product)}
    obsolete_ids = [tag.pk for key, tag in rows.items() if names.get(key) != tag.name]
    if obsolete_ids:
        ProductTag.objects.filter(pk__in=obsolete_ids).delete()
    ProductTag.objects.bulk_create(
        tag for tag in build_tags(product) if tag.key not in rows or rows[tag.key].name != tag.name
    )


def build_tags(product: Product) -> list[ProductTag]:
    """Return unsaved tag rows for ``Product.tags``."""
    names = {casefold_text(name): name for name in product.tags.split(", ") if name}
    return [ProductTag(shop_id=product.shop_id, product=product, name=name, key=key) for key, name in names.items()]
