"""The products that there are, as far as files tell of them: read for many together, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection as Some
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from apps.catalog.api.bodies import GLOBAL
from apps.catalog.domain.pictures import served_at, source_of
from apps.catalog.models import Collect, Collection, Product, ProductImage, ProductOption, Variant
from apps.ground.attrs import Attrs
from apps.ground.dates import whole_second
from apps.inventory.models import InventoryLevel, Location
from apps.metafields.models import Metafield

_KEYS = {key: name for name, key in GLOBAL.items()}


@dataclass(slots=True)
class Known:
    """A product with what hangs on it.

    Attributes:
        product: Itself.
        variants: In their order, with their items.
        options: In their order.
        images: In their order.
        levels: By item, how many are available where.
        texts: For search engines, by their names in bodies.
        collections: The ids of the custom collections that it is in.
    """

    product: Product
    variants: list[Variant] = field(default_factory=list)
    options: list[ProductOption] = field(default_factory=list)
    images: list[ProductImage] = field(default_factory=list)
    levels: dict[int, dict[int, int]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    collections: set[int] = field(default_factory=set)

    def image_at(self, src: str) -> ProductImage | None:
        """The image that has an address here, or came from there."""
        return image_at(self.images, src)


def image_at(images: Sequence[ProductImage], src: str) -> ProductImage | None:
    """That of the images which has an address here, or came from there."""
    served, source = served_at(src), source_of(src)
    key = served[1] if served else None
    return next((image for image in images if image.source == source or image.key == key), None)


def known_by_handle(handles: Some[str]) -> dict[str, Known]:
    """The products with these handles, whole."""
    found = {product.pk: Known(product) for product in Product.objects.filter(handle__in=handles)}
    if not found:
        return {}
    rows = Variant.objects.filter(product_id__in=found).select_related("inventory_item").order_by("position", "id")
    owners = {}
    for variant in rows:
        known = found[variant.product_id]
        known.variants.append(variant)
        variant.product = known.product
        owners[variant.inventory_item_id] = known
        known.levels[variant.inventory_item_id] = {}
    for option in ProductOption.objects.filter(product_id__in=found).order_by("position", "id"):
        found[option.product_id].options.append(option)
    for image in ProductImage.objects.filter(product_id__in=found).order_by("position", "id"):
        found[image.product_id].images.append(image)
    for level in InventoryLevel.objects.filter(item_id__in=owners):
        owners[level.item_id].levels[level.item_id][level.location_id] = level.available
    for pk, texts in texts_of(list(found)).items():
        found[pk].texts = texts
    for product_id, collection_id in Collect.objects.filter(product_id__in=found).values_list(
        "product_id", "collection_id"
    ):
        found[product_id].collections.add(collection_id)
    return {known.product.handle: known for known in found.values()}


def texts_of(product_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """What search engines show of products, by their names in bodies."""
    rows = Metafield.objects.filter(
        owner_resource="product", owner_id__in=product_ids, namespace="global", key__in=list(_KEYS)
    )
    texts: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for row in rows:
        texts[row.owner_id][_KEYS[row.key]] = row.value
    return texts


@dataclass
class Places:
    """The locations and collections that the rows of a batch name."""

    primary: int
    locations: Mapping[str, Sequence[Location]]
    collections: dict[str, Collection]
    smart: frozenset[str]

    @cached_property
    def by_id(self) -> dict[int, Location]:
        """The locations."""
        return {place.pk: place for places in self.locations.values() for place in places}


def places_named(titles: Some[str], primary: int) -> Places:
    """The shop's locations, and its collections of these titles; of several of one title the oldest."""
    locations: defaultdict[str, list[Location]] = defaultdict(list)
    for location in Location.objects.filter(active=True):
        locations[location.name].append(location)
    found = Collection.objects.filter(title__in=titles).order_by("-pk") if titles else ()
    rows = list(found)
    custom = {row.title: row for row in rows if not row.is_smart}
    return Places(primary, locations, custom, frozenset(row.title for row in rows if row.is_smart) - custom.keys())


def same(before: object, after: object) -> bool:
    """Whether two values are shown alike: blank is blank, and moments are shown in whole seconds."""
    if isinstance(before, datetime) and isinstance(after, datetime):
        return whole_second(before) == whole_second(after)
    return (before if before is not None else "") == (after if after is not None else "")


def differing(row: object, values: Attrs) -> Attrs:
    """The values that a row does not have yet."""
    return {name: value for name, value in values.items() if not same(getattr(row, name), value)}
