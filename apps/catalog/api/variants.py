"""Views for variants, with and without the product in the URL."""

from collections.abc import Mapping

from apps.catalog.api.parsing import parse_variant
from apps.catalog.api.prices import CurrenciesFilter, PresentmentPricesViewSet
from apps.catalog.api.serializers import VariantSerializer
from apps.catalog.domain import variants
from apps.catalog.models import Product, Variant
from apps.core.rest.resources.filters import ResourceFilter
from apps.core.types import Attrs, Schema
from apps.metafields.api.metafields import METAFIELDS_SCHEMA


class VariantFilter(ResourceFilter):
    presentment_currencies = CurrenciesFilter()


class VariantViewSet(PresentmentPricesViewSet[Variant]):
    scope = "products"
    serializer_class = VariantSerializer
    filterset_class = VariantFilter
    singular = "variant"
    locks_in_service = True
    version_columns = ("product__version",)

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        return {"metafields": METAFIELDS_SCHEMA}

    def get_validated_attributes(self, instance: Variant | None = None) -> Attrs:
        return {"wanted": parse_variant(self.version, self.unwrap_body("variant"))}

    def perform_update(self, instance: Variant, attrs: Attrs) -> None:
        variants.update_variant(instance, attrs["wanted"], actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Variant) -> None:
        variants.delete_variant(instance, actor=self.actor, at=self.at)


class ProductVariantViewSet(VariantViewSet):
    parents = {"product_id": Product}

    def perform_create(self, attrs: Attrs) -> Variant:
        return variants.create_variant(self.kwargs["product_id"], attrs["wanted"], actor=self.actor, at=self.at)
