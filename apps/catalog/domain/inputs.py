"""What the faces hand to the services: checked values, not yet held against the rows that exist."""

from dataclasses import dataclass, field

from apps.catalog.domain.pictures import Picture
from apps.ground.attrs import Attrs
from apps.metafields.domain.setting import Draft

__all__ = ["Attrs", "ImageInput", "OptionInput", "Parts", "VariantInput"]


@dataclass(slots=True)
class OptionInput:
    """An option as it should be; without values it keeps those that the variants use."""

    name: str
    values: list[str] = field(default_factory=list)
    id: int | None = None


@dataclass(slots=True)
class VariantInput:
    """A variant as it should be.

    Attributes:
        attrs: Columns of ``Variant``; what is not named stays, or takes its default.
        item: Columns of its ``InventoryItem``.
        id: The variant to change; None for a new one.
        metafields: To be set on it.
        picture: A new picture among the images of the same body, which it is to show.
    """

    attrs: Attrs = field(default_factory=dict)
    item: Attrs = field(default_factory=dict)
    id: int | None = None
    metafields: list[Draft] = field(default_factory=list)
    picture: Picture | None = None


@dataclass(slots=True)
class ImageInput:
    """An image as it should be.

    Attributes:
        picture: The stored file of a new image.
        id: The image to keep; None for a new one.
        attrs: ``alt``, where named.
        position: Where it should stand; None for where it is named.
        variant_ids: The variants that it should show; None for as they are.
        metafields: To be set on it.
    """

    picture: Picture | None = None
    id: int | None = None
    attrs: Attrs = field(default_factory=dict)
    position: int | None = None
    variant_ids: list[int] | None = None
    metafields: list[Draft] = field(default_factory=list)


@dataclass(slots=True)
class Parts:
    """The parts of a product that a body names; None for those it does not name."""

    options: list[OptionInput] | None = None
    variants: list[VariantInput] | None = None
    images: list[ImageInput] | None = None
    metafields: list[Draft] = field(default_factory=list)
