"""Validated input of services; references to existing rows are not checked yet."""

from dataclasses import dataclass, field

from apps.catalog.domain.image_files import StoredImage
from apps.ground.types import Attrs
from apps.metafields.domain.write import MetafieldInput

__all__ = ["Attrs", "ImageInput", "OptionInput", "ProductParts", "VariantInput"]


@dataclass(slots=True)
class OptionInput:
    """A requested option; without values, the option keeps the values that variants use."""

    name: str
    values: list[str] = field(default_factory=list)
    id: int | None = None


@dataclass(slots=True)
class VariantInput:
    """A requested variant.

    Attributes:
        attrs: Columns of ``Variant``; omitted columns keep their value or get the default.
        item: Columns of its ``InventoryItem``.
        id: The variant to update; None for a new variant.
        metafields: Metafields to set on the variant.
        image: A new image of the same request that the variant uses.
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
        image: The stored file of a new image.
        id: The image to keep; None for a new image.
        attrs: ``alt``, if it is in the request.
        position: The requested position; None for the order of the list.
        variant_ids: The variants of the image; None to leave them unchanged.
        metafields: Metafields to set on the image.
    """

    image: StoredImage | None = None
    id: int | None = None
    attrs: Attrs = field(default_factory=dict)
    position: int | None = None
    variant_ids: list[int] | None = None
    metafields: list[MetafieldInput] = field(default_factory=list)


@dataclass(slots=True)
class ProductParts:
    """The parts of a product in a request; a part that is None stays unchanged."""

    options: list[OptionInput] | None = None
    variants: list[VariantInput] | None = None
    images: list[ImageInput] | None = None
    metafields: list[MetafieldInput] = field(default_factory=list)
