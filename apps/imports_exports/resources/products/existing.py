"""Load existing products with all data that product files contain, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection as Some
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from apps.catalog.api.parsing import GLOBAL_METAFIELDS
from apps.catalog.domain.fulfillment_service_choices import get_all_service_locations
from apps.catalog.domain.image_files import hash_source_url, parse_image_url
from apps.catalog.models import Collect, Collection, Product, ProductImage, ProductOption, Variant
from apps.core.timestamps import truncate_to_second
from apps.core.types import Attrs
from apps.inventory.models import InventoryLevel, Location
from apps.metafields.models import Metafield

_KEYS = {key: name for name, key in GLOBAL_METAFIELDS.items()}


@dataclass(slots=True)
class ExistingProduct:
    """A product with its parts, sorted by position.

    Attributes:
        levels: The available quantities, keyed by inventory item id and then by location id.
        texts: The SEO title and description, keyed by REST field name.
        collections: The ids of the custom collections that contain the product.
    """

    product: Product
    variants: list[Variant] = field(default_factory=list)
    options: list[ProductOption] = field(default_factory=list)
    images: list[ProductImage] = field(default_factory=list)
    levels: dict[int, dict[int, int]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    collections: set[int] = field(default_factory=set)

    def find_image(self, src: str) -> ProductImage | None:
        return find_image(self.images, src)


def find_image(images: Sequence[ProductImage], src: str) -> ProductImage | None:
    """Return the first image that has this URL, or was imported from this URL."""
    served, source = parse_image_url(src), hash_source_url(src)
    key = served[1] if served else None
    return next((image for image in images if image.source == source or image.key == key), None)


def load_existing_products(handles: Some[str]) -> dict[str, ExistingProduct]:
    """Return a dict of the products with these handles and all their parts, keyed by handle."""
    products_by_id = {product.pk: ExistingProduct(product) for product in Product.objects.filter(handle__in=handles)}
    if not products_by_id:
        return {}
    variants = Variant.objects.filter(product_id__in=products_by_id).select_related("inventory_item")
    owners = {}
    for variant in variants.order_by("position", "id"):
        existing = products_by_id[variant.product_id]
        existing.variants.append(variant)
        variant.product = existing.product
        owners[variant.inventory_item_id] = existing
        existing.levels[variant.inventory_item_id] = {}
    for option in ProductOption.objects.filter(product_id__in=products_by_id).order_by("position", "id"):
        products_by_id[option.product_id].options.append(option)
    for image in ProductImage.objects.filter(product_id__in=products_by_id).order_by("position", "id"):
        products_by_id[image.product_id].images.append(image)
    for level in InventoryLevel.objects.filter(item_id__in=owners):
        owners[level.item_id].levels[level.item_id][level.location_id] = level.available
    for pk, texts in get_search_texts(list(products_by_id)).items():
        products_by_id[pk].texts = texts
    collects = Collect.objects.filter(product_id__in=products_by_id)
    for product_id, collection_id in collects.values_list("product_id", "collection_id"):
        products_by_id[product_id].collections.add(collection_id)
    return {existing.product.handle: existing for existing in products_by_id.values()}


def get_search_texts(product_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """Return the SEO titles and descriptions, keyed by product id and then by REST field name."""
    texts: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for row in Metafield.objects.filter(
        owner_resource="product", owner_id__in=product_ids, namespace="global", key__in=list(_KEYS)
    ):
        texts[row.owner_id][_KEYS[row.key]] = row.value
    return texts


@dataclass
class ReferencedRows:
    """The locations and collections that the rows of a batch refer to."""

    primary: int
    services: Mapping[str, int]
    locations: Mapping[str, Sequence[Location]]
    collections: dict[str, Collection]
    smart: frozenset[str]

    def get_first_level(self, fulfillment_service: object) -> dict[int, int]:
        """Return the level of a new variant with a fulfillment service."""
        return {self.services.get(str(fulfillment_service), self.primary): 0}

    @cached_property
    def locations_by_id(self) -> dict[int, Location]:
        return {location.pk: location for locations in self.locations.values() for location in locations}


def load_referenced_rows(titles: Some[str], primary: int) -> ReferencedRows:
    """Load the shop's active locations, and the collections with these titles.

    If several custom collections have the same title, the oldest is used.
    """
    locations: defaultdict[str, list[Location]] = defaultdict(list)
    for location in Location.objects.filter(active=True):
        locations[location.name].append(location)
    rows = list(Collection.objects.filter(title__in=titles).order_by("-pk")) if titles else []
    custom = {row.title: row for row in rows if not row.is_smart}
    smart = frozenset(row.title for row in rows if row.is_smart) - custom.keys()
    return ReferencedRows(primary, get_all_service_locations(), locations, custom, smart)


def is_same_value(before: object, after: object) -> bool:
    """Return True if two values look the same to people: None and an empty string, or times in the same second."""
    if isinstance(before, datetime) and isinstance(after, datetime):
        return truncate_to_second(before) == truncate_to_second(after)
    return (before if before is not None else "") == (after if after is not None else "")


def get_differences(row: object, values: Attrs) -> Attrs:
    return {name: value for name, value in values.items() if not is_same_value(getattr(row, name), value)}
