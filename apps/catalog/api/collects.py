"""Collects over REST: which products are in which custom collections."""

from apps.api.resources.fields import Computed, FromModel, IntegerField
from apps.api.resources.filters import IdFilter, ResourceFilter
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs
from apps.api.viewsets import ShopViewSet
from apps.catalog.domain.collections import collects
from apps.catalog.models import Collect


class CollectSerializer(ResourceSerializer[Collect]):
    """A collect."""

    collection_id = IntegerField(min_value=1)
    product_id = IntegerField(min_value=1)
    created_at = FromModel()
    updated_at = FromModel()
    position = IntegerField(required=False, allow_null=True, min_value=1)
    sort_value = Computed(lambda _context, position: f"{position:010d}", "position")

    class Meta:
        model = Collect


class CollectFilter(ResourceFilter):
    """How a list of collects is narrowed."""

    collection_id = IdFilter("collection_id")
    product_id = IdFilter("product_id")


class CollectViewSet(ShopViewSet[Collect]):
    """``/collects``."""

    scope = "products"
    model = Collect
    serializer_class = CollectSerializer
    filterset_class = CollectFilter
    singular = "collect"
    plural = "collects"
    versions = ("collection__version",)

    def perform_create(self, attrs: Attrs) -> Collect:
        """The product joins the others of the collection."""
        return collects.add_collect(
            collection_id=attrs["collection_id"],
            product_id=attrs["product_id"],
            position=attrs.get("position"),
            actor=self.actor,
            at=self.at,
        )

    def perform_destroy(self, instance: Collect) -> None:
        """Those behind it move up."""
        collects.remove_collect(instance, actor=self.actor, at=self.at)
