"""Variants over REST: below their product, or by their own id."""

from collections.abc import Mapping

from apps.api.resources.filters import ResourceFilter
from apps.api.shapes import Attrs, Schema
from apps.catalog.api.bodies import read_variant
from apps.catalog.api.prices import CurrenciesFilter, ShowsPrices
from apps.catalog.api.resources import VariantSerializer
from apps.catalog.domain import variants
from apps.catalog.models import Product, Variant
from apps.metafields.api.bodies import METAFIELDS


class VariantFilter(ResourceFilter):
    """How a list of variants is narrowed."""

    presentment_currencies = CurrenciesFilter()


class VariantViewSet(ShowsPrices[Variant]):
    """``/variants/{id}``."""

    scope = "products"
    model = Variant
    serializer_class = VariantSerializer
    filterset_class = VariantFilter
    singular = "variant"
    plural = "variants"
    versions = ("product__version",)

    def further(self, version: str) -> Mapping[str, Schema]:
        """Its metafields."""
        return {"metafields": METAFIELDS}

    def attributes(self, instance: Variant | None = None) -> Attrs:
        """The body, checked."""
        return {"wanted": read_variant(self.version, self.unwrapped("variant"))}

    def hold(self, instance: Variant) -> None:
        """The body is compared with nothing; the service holds the product."""

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
