"""Locations over REST: read-only; staff and fulfillment services change them."""

from collections.abc import Mapping
from typing import ClassVar

from apps.api.context import Context
from apps.api.resources.fields import Column, Computed, GlobalId
from apps.api.resources.serializers import ResourceSerializer
from apps.api.viewsets import ShopViewSet
from apps.ground.rows import ShopOwned
from apps.inventory.api.levels import InventoryLevelSerializer
from apps.inventory.models import InventoryLevel, Location
from apps.shops.domain.countries import country_name, localized_country_name


def _localized_country(context: Context, code: str) -> str:
    return localized_country_name(code, context.shop.primary_locale)


class LocationSerializer(ResourceSerializer[Location]):
    """A location as the interface shows it."""

    country = Column("country_code")
    country_name = Computed(lambda _, code: country_name(code), "country_code")
    admin_graphql_api_id = GlobalId("Location")
    localized_country_name = Computed(_localized_country, "country_code")
    localized_province_name = Column("province")

    class Meta:
        model = Location
        fields = (
            "id",
            "name",
            "address1",
            "address2",
            "city",
            "zip",
            "province",
            "country",
            "phone",
            "created_at",
            "updated_at",
            "country_code",
            "country_name",
            "province_code",
            "legacy",
            "active",
            "admin_graphql_api_id",
            "localized_country_name",
            "localized_province_name",
        )
        read_only_fields = fields


class LocationViewSet(ShopViewSet):
    """``/locations``: where the shop stocks goods, inactive ones included."""

    scope = "locations"
    model = Location
    serializer_class = LocationSerializer
    singular = "location"
    plural = "locations"
    order = ("name", "id")
    versions = ("version",)


class LevelsOfLocationViewSet(ShopViewSet):
    """``/locations/{id}/inventory_levels``: what a location stocks."""

    model = InventoryLevel
    serializer_class = InventoryLevelSerializer
    singular = "inventory_level"
    plural = "inventory_levels"
    versions = ("version",)
    parents: ClassVar[Mapping[str, type[ShopOwned]]] = {"location_id": Location}

    def scopes_for(self, method: str) -> tuple[str, ...]:
        """Stock is told to whoever may read it, and to whoever may read locations."""
        return ("read_inventory", "read_locations")
