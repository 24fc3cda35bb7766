"""Variants over REST: below their product, or by their own id."""

from apps.api.shapes import Attrs
from apps.api.viewsets import ShopViewSet
from apps.catalog.api.bodies import read_variant
from apps.catalog.api.resources import VariantSerializer
from apps.catalog.domain import variants
from apps.catalog.models import Product, Variant


class VariantViewSet(ShopViewSet[Variant]):
    """``/variants/{id}``."""

    scope = "products"
    model = Variant
    serializer_class = VariantSerializer
    singular = "variant"
    plural = "variants"
    versions = ("product__version",)

    def attributes(self, instance: Variant | None = None) -> Attrs:
        """The body, checked."""
        return {"wanted": read_variant(self.version, self.unwrapped("variant"))}

    def perform_update(self, instance: Variant, attrs: Attrs) -> None:
        """Values and places are settled among all variants of the product."""
        variants.update_variant(instance, attrs["wanted"], actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Variant) -> None:
        """A product keeps at least one variant."""
        variants.delete_variant(instance, actor=self.actor, at=self.at)


class ProductVariantViewSet(VariantViewSet):
    """``/products/{product_id}/variants``."""

    parents = {"product_id": Product}

    def perform_create(self, attrs: Attrs) -> Variant:
        """The variant joins the others of the product."""
        return variants.create_variant(self.kwargs["product_id"], attrs["wanted"], actor=self.actor, at=self.at)
