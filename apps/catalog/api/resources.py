"""Products, variants, options and images as the interface shows and takes them.

Source: ``wire/product.json``, ``wire/variant.json``, ``wire/image.json``.
"""

from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from apps.api.context import Context
from apps.api.resources.fields import (
    BooleanField,
    ChoiceField,
    Column,
    Computed,
    FromModel,
    GlobalId,
    IntegerField,
    TagsField,
    TextField,
)
from apps.api.resources.fields.money import PriceField
from apps.api.resources.related import Rows
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs, Errors, Shown
from apps.catalog.api.fields import (
    HandleField,
    HtmlField,
    IdsField,
    ManagementField,
    SkuField,
    WeightField,
)
from apps.catalog.api.prices import FixedPricesField, shown_prices
from apps.catalog.domain.fulfillers import MANUAL, known_handles
from apps.catalog.domain.pictures import address_of
from apps.catalog.models import Product, ProductImage, ProductOption, Variant
from apps.ground.phrases import NOT_IN_LIST, at_most
from apps.shops.models import Shop

_INTEGER = {"type": "integer"}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
MAX_GRAMS = 10**12
# Where they decide the weight, which may be kept in grams, too.
MAX_GRAMS_ALONE = 10**9 - 1
_OBJECT_OR_NULL = {"type": ["object", "null"]}


def settle_publication(attrs: Attrs, published_at: datetime | None) -> None:
    """Turn ``published`` into the moment of publication.

    Args:
        attrs: The checked body; completed in place.
        published_at: The moment so far; None for what is hidden or new.
    """
    published = attrs.pop("published", None)
    if published is False:
        attrs["published_at"] = None
    elif published and attrs.get("published_at", published_at) is None:
        attrs["published_at"] = timezone.now()


def _image_src(context: Context, key: str, name: str) -> str:
    return address_of(context.shop.pk, key, name)


def _first(_: Context, shown: Sequence[Shown]) -> Shown | None:
    return shown[0] if shown else None


class VariantSerializer(ResourceSerializer[Variant]):
    """A variant; what it says of the stock and of shipping is kept with its inventory item."""

    product_id = Column()
    title = Column()
    price = PriceField()
    position = IntegerField(required=False, allow_null=True, min_value=1)
    inventory_policy = ChoiceField(choices=Variant.InventoryPolicy.choices, required=False)
    compare_at_price = PriceField(allow_null=True)
    option1 = TextField(max_length=255, required=False, allow_null=True)
    option2 = TextField(max_length=255, required=False, allow_null=True)
    option3 = TextField(max_length=255, required=False, allow_null=True)
    created_at = FromModel()
    updated_at = FromModel()
    taxable = FromModel()
    barcode = FromModel()
    fulfillment_service = TextField(max_length=255, required=False)
    grams = IntegerField(required=False, min_value=0, max_value=MAX_GRAMS)
    inventory_management = ManagementField(source="inventory_item.tracked")
    requires_shipping = BooleanField(source="inventory_item.requires_shipping", required=False)
    sku = SkuField(source="inventory_item.sku")
    weight = WeightField()
    weight_unit = ChoiceField(choices=Shop.WeightUnit.choices, required=False)
    inventory_item_id = Column()
    inventory_quantity = Column()
    old_inventory_quantity = Column("inventory_quantity")
    presentment_prices = Computed(shown_prices, "price", "compare_at_price", "fixed_prices", schema=_OBJECTS)
    fixed_prices = FixedPricesField()
    tax_code = TextField(max_length=255, required=False, allow_blank=True)
    admin_graphql_api_id = GlobalId("ProductVariant")
    image_id = IntegerField(required=False, allow_null=True, min_value=1)

    class Meta:
        model = Variant

    def check(self, attrs: Attrs, instance: Variant | None, errors: Errors) -> None:
        """A service that is named exists; a first option that is null is left to the product."""
        if "weight" not in attrs and attrs.get("grams", 0) > MAX_GRAMS_ALONE:
            errors.setdefault("grams", [at_most(MAX_GRAMS_ALONE)])
        if attrs.get("option1", "") is None:
            del attrs["option1"]
        service = attrs.get("fulfillment_service")
        kept = MANUAL if instance is None else instance.fulfillment_service
        # Of thousands of variants in one body nearly all name what needs no look.
        if service not in {None, MANUAL, kept} and service not in known_handles():
            errors["fulfillment_service"] = [NOT_IN_LIST]


class OptionSerializer(ResourceSerializer[ProductOption]):
    """An option with the values that variants have."""

    product_id = Column()
    name = FromModel()
    position = FromModel()
    values = Column()

    class Meta:
        model = ProductOption


class OptionSummarySerializer(ResourceSerializer[ProductOption]):
    """An option as collections show it."""

    product_id = Column()
    name = FromModel()
    position = FromModel()

    class Meta:
        model = ProductOption


class ImageSummarySerializer(ResourceSerializer[ProductImage]):
    """An image as the products of a collection show it."""

    alt = TextField(max_length=512, required=False, allow_blank=True, allow_null=True)
    position = IntegerField(required=False, allow_null=True, min_value=1)
    product_id = Column()
    created_at = FromModel()
    updated_at = FromModel()
    admin_graphql_api_id = GlobalId("ProductImage")
    width = FromModel()
    height = FromModel()
    src = Computed(_image_src, "key", "name")
    variant_ids = Rows(None, "variants", flat="pk", schema={"type": "array", "items": _INTEGER}, until="2025-01")

    class Meta:
        model = ProductImage


class ImageSerializer(ImageSummarySerializer):
    """An image with the variants that show it."""

    variant_ids = Rows(None, "variants", flat="pk", schema={"type": "array", "items": _INTEGER})


class ImageBody(ResourceSerializer[ProductImage]):
    """What a body says of an image, besides its file."""

    id = None
    alt = TextField(max_length=512, required=False, allow_blank=True, allow_null=True)
    position = IntegerField(required=False, allow_null=True, min_value=1)
    variant_ids = IdsField(required=False, allow_null=True)

    class Meta:
        model = ProductImage


class _ProductItself(ResourceSerializer[Product]):
    """A product without its parts."""

    title = FromModel()
    body_html = HtmlField()
    vendor = TextField(max_length=255, required=False, allow_blank=True)
    product_type = TextField(max_length=255, required=False, allow_blank=True)
    created_at = FromModel()
    handle = HandleField()
    updated_at = FromModel()
    published_at = FromModel()
    template_suffix = TextField(max_length=255, required=False, allow_null=True)
    published_scope = FromModel()
    tags = TagsField()
    status = FromModel()
    admin_graphql_api_id = GlobalId("Product")

    class Meta:
        model = Product


class ProductSummarySerializer(_ProductItself):
    """A product as collections show it: without its variants. Source: ``wire/collection.json``."""

    options = Rows(OptionSummarySerializer, "options", order=("position", "pk"))
    images = Rows(ImageSummarySerializer, "images", order=("position", "pk"))
    image = Rows(ImageSummarySerializer, "images", order=("position", "pk"), derive=_first, schema=_OBJECT_OR_NULL)


class ProductSerializer(_ProductItself):
    """A product with its variants, options and images."""

    variants = Rows(VariantSerializer, "variants", order=("position", "pk"))
    options = Rows(OptionSerializer, "options", order=("position", "pk"))
    images = Rows(ImageSerializer, "images", order=("position", "pk"))
    image = Rows(ImageSerializer, "images", order=("position", "pk"), derive=_first, schema=_OBJECT_OR_NULL)
    published = BooleanField(write_only=True, required=False)

    def check(self, attrs: Attrs, instance: Product | None, errors: Errors) -> None:
        """``published`` sets or takes the moment of publication; a handle that is blank stays what it is."""
        settle_publication(attrs, instance.published_at if instance else None)
        if instance is not None and attrs.get("handle") == "":
            del attrs["handle"]
