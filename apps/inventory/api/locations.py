"""Locations over REST: read-only; staff and fulfillment services change them."""

from collections.abc import Mapping
from typing import ClassVar

from apps.api.context import Context
from apps.api.resources.fields import Column, Computed, FromModel, GlobalId
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

    name = FromModel(read_only=True)
    address1 = FromModel(read_only=True)
    address2 = FromModel(read_only=True)
    city = FromModel(read_only=True)
    zip = FromModel(read_only=True)
    province = FromModel(read_only=True)
    country = Column("country_code")
    phone = FromModel(read_only=True)
    created_at = FromModel(read_only=True)
    updated_at = FromModel(read_only=True)
    country_code = FromModel(read_only=True)
    country_name = Computed(lambda _, code: country_name(code), "country_code")
    province_code = FromModel(read_only=True)
    legacy = FromModel(read_only=True)
    active = FromModel(read_only=True)
    admin_graphql_api_id = GlobalId("Location")
    localized_country_name = Computed(_localized_country, "country_code")
    localized_province_name = Column("province")

    class Meta:
        model = Location


class LocationViewSet(ShopViewSet[Location]):
    """``/locations``: where the shop stocks goods, inactive ones included."""

    scope = "locations"
    model = Location
    serializer_class = LocationSerializer
    singular = "location"
    plural = "locations"
    order = ("name", "id")
    versions = ("version",)


class LevelsOfLocationViewSet(ShopViewSet[InventoryLevel]):
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
