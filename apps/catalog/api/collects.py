"""Views for collects, the memberships of products in custom collections."""

from apps.catalog.domain.collections import collects
from apps.catalog.models import Collect
from apps.core.rest.resources.fields import ComputedField, IntegerField, ModelDerivedField
from apps.core.rest.resources.filters import IdFilter, ResourceFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs


class CollectSerializer(ResourceSerializer[Collect]):
    collection_id = IntegerField(min_value=1)
    product_id = IntegerField(min_value=1)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    position = IntegerField(required=False, allow_null=True, min_value=1)
    sort_value = ComputedField(lambda _context, position: f"{position:010d}", "position")


class CollectFilter(ResourceFilter):
    collection_id = IdFilter("collection_id")
    product_id = IdFilter("product_id")


class CollectViewSet(ShopViewSet[Collect]):
    scope = "products"
    serializer_class = CollectSerializer
    filterset_class = CollectFilter
    singular = "collect"
    version_columns = ("collection__version",)

    def perform_create(self, attrs: Attrs) -> Collect:
        return collects.add_collect(
            collection_id=attrs["collection_id"],
            product_id=attrs["product_id"],
            position=attrs.get("position"),
            actor=self.actor,
            at=self.at,
        )

    def perform_destroy(self, instance: Collect) -> None:
        collects.remove_collect(instance, actor=self.actor, at=self.at)
