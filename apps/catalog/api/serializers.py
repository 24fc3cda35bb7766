"""Serializers for products, variants, options and images."""

from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from apps.catalog.api.fields import GramsField, HandleField, HtmlField, IdsField, ManagementField, SkuField, WeightField
from apps.catalog.api.prices import FixedPricesField, render_presentment_prices
from apps.catalog.domain.image_files import get_image_url
from apps.catalog.models import Product, ProductImage, ProductOption, Variant
from apps.core.i18n.error_messages import at_most
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    BooleanField,
    ChoiceField,
    ComputedField,
    IntegerField,
    ModelDerivedField,
    PriceField,
    ReadOnlyColumn,
    TagsField,
    TextField,
    global_id_field,
)
from apps.core.rest.resources.nested_rows import NestedRows
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs, Errors, Rendered

_INTEGER = {"type": "integer"}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
MAX_GRAMS = 10**12
# A stricter limit for ``grams`` if ``weight`` is missing, because the weight is then derived from the grams.
MAX_GRAMS_ALONE = 10**9 - 1
_OBJECT_OR_NULL = {"type": ["object", "null"]}


def set_published_at(attrs: Attrs, published_at: datetime | None) -> None:
    """Replace ``published`` with ``published_at`` in the validated body. ``published_at`` is the current value."""
    published = attrs.pop("published", None)
    if published is False:
        attrs["published_at"] = None
    elif published and attrs.get("published_at", published_at) is None:
        attrs["published_at"] = timezone.now()


def _image_src(context: RenderContext, key: str, name: str) -> str:
    return get_image_url(context.shop.pk, key, name)


def _first(_: RenderContext, rows: Sequence[Rendered]) -> Rendered | None:
    return rows[0] if rows else None


class VariantSerializer(ResourceSerializer[Variant]):
    """A variant. The SKU, tracking and shipping fields are stored on the inventory item."""

    product_id = ReadOnlyColumn()
    title = ReadOnlyColumn()
    price = PriceField()
    position = IntegerField(required=False, allow_null=True, min_value=1)
    inventory_policy = ChoiceField(choices=Variant.InventoryPolicy.choices, required=False)
    compare_at_price = PriceField(allow_null=True)
    option1 = TextField(max_length=255, required=False, allow_null=True)
    option2 = TextField(max_length=255, required=False, allow_null=True)
    option3 = TextField(max_length=255, required=False, allow_null=True)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    taxable = ModelDerivedField()
    barcode = ModelDerivedField()
    fulfillment_service = TextField(max_length=255, required=False)
    grams = GramsField(required=False, min_value=0, max_value=MAX_GRAMS)
    inventory_management = ManagementField(source="inventory_item.tracked")
    requires_shipping = BooleanField(source="inventory_item.requires_shipping", required=False)
    sku = SkuField(source="inventory_item.sku")
    weight = WeightField()
    weight_unit = ChoiceField(choices=Shop.WeightUnit.choices, required=False)
    inventory_item_id = ReadOnlyColumn()
    inventory_quantity = ReadOnlyColumn()
    old_inventory_quantity = ReadOnlyColumn("inventory_quantity")
    presentment_prices = ComputedField(
        render_presentment_prices, "price", "compare_at_price", "fixed_prices", schema=_OBJECTS
    )
    fixed_prices = FixedPricesField()
    tax_code = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    admin_graphql_api_id = global_id_field("ProductVariant")
    image_id = IntegerField(required=False, allow_null=True, min_value=1)

    def validate_across_fields(self, attrs: Attrs, instance: Variant | None, errors: Errors) -> None:
        """Check the weight, and remove a null ``tax_code`` or ``option1``.

        If ``option1`` is missing, the value is derived from the product's options.
        """
        if attrs.get("tax_code", "") is None:
            del attrs["tax_code"]
        if "weight" not in attrs and attrs.get("grams", 0) > MAX_GRAMS_ALONE:
            errors.setdefault("grams", [at_most(MAX_GRAMS_ALONE)])
        if attrs.get("option1", "") is None:
            del attrs["option1"]


class OptionSerializer(ResourceSerializer[ProductOption]):
    product_id = ReadOnlyColumn()
    name = ModelDerivedField()
    position = ModelDerivedField()
    values = ReadOnlyColumn()


class OptionSummarySerializer(ResourceSerializer[ProductOption]):
    """An option without its values, for the products of a collection."""

    product_id = ReadOnlyColumn()
    name = ModelDerivedField()
    position = ModelDerivedField()


class ImageSummarySerializer(ResourceSerializer[ProductImage]):
    """An image without its variants, for the products of a collection."""

    alt = TextField(max_length=512, required=False, allow_blank=True, allow_null=True)
    position = IntegerField(required=False, allow_null=True, min_value=1)
    product_id = ReadOnlyColumn()
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    admin_graphql_api_id = global_id_field("ProductImage")
    width = ModelDerivedField()
    height = ModelDerivedField()
    src = ComputedField(_image_src, "key", "name")
    variant_ids = NestedRows(None, "variants", flat="pk", schema={"type": "array", "items": _INTEGER}, until="2025-01")


class ImageSerializer(ImageSummarySerializer):
    variant_ids = NestedRows(None, "variants", flat="pk", schema={"type": "array", "items": _INTEGER})


class ImageBody(ResourceSerializer[ProductImage]):
    """The columns of an image that a request body can set. The file is parsed separately."""

    id = None
    alt = TextField(max_length=512, required=False, allow_blank=True, allow_null=True)
    position = IntegerField(required=False, allow_null=True, min_value=1)
    variant_ids = IdsField(required=False, allow_null=True)


class _BaseProductSerializer(ResourceSerializer[Product]):
    title = ModelDerivedField()
    body_html = HtmlField()
    vendor = TextField(max_length=255, required=False, allow_blank=True)
    product_type = TextField(max_length=255, required=False, allow_blank=True)
    created_at = ModelDerivedField()
    handle = HandleField()
    updated_at = ModelDerivedField()
    published_at = ModelDerivedField()
    template_suffix = TextField(max_length=255, required=False, allow_null=True)
    published_scope = ModelDerivedField()
    tags = TagsField()
    status = ModelDerivedField()
    admin_graphql_api_id = global_id_field("Product")


class ProductSummarySerializer(_BaseProductSerializer):
    options = NestedRows(OptionSummarySerializer, "options", order=("position", "pk"))
    images = NestedRows(ImageSummarySerializer, "images", order=("position", "pk"))
    image = NestedRows(
        ImageSummarySerializer, "images", order=("position", "pk"), derive=_first, schema=_OBJECT_OR_NULL
    )


class ProductSerializer(_BaseProductSerializer):
    variants = NestedRows(VariantSerializer, "variants", order=("position", "pk"))
    options = NestedRows(OptionSerializer, "options", order=("position", "pk"))
    images = NestedRows(ImageSerializer, "images", order=("position", "pk"))
    image = NestedRows(ImageSerializer, "images", order=("position", "pk"), derive=_first, schema=_OBJECT_OR_NULL)
    published = BooleanField(write_only=True, required=False)

    def validate_across_fields(self, attrs: Attrs, instance: Product | None, errors: Errors) -> None:
        """Set ``published_at`` from ``published``, and ignore a blank handle of an existing product."""
        set_published_at(attrs, instance.published_at if instance else None)
        if instance is not None and attrs.get("handle") == "":
            del attrs["handle"]
