from collections.abc import Mapping
from typing import ClassVar

from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import ComputedField, ModelDerivedField, ReadOnlyColumn, global_id_field
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.shop_owned import ShopOwned
from apps.inventory.api.levels import InventoryLevelSerializer
from apps.inventory.models import InventoryLevel, Location
from apps.shops.domain.countries import get_country_name, get_localized_country_name


def _localized_country(context: RenderContext, code: str) -> str:
    return get_localized_country_name(code, context.shop.primary_locale)


class LocationSerializer(ResourceSerializer[Location]):
    name = ModelDerivedField(read_only=True)
    address1 = ModelDerivedField(read_only=True)
    address2 = ModelDerivedField(read_only=True)
    city = ModelDerivedField(read_only=True)
    zip = ModelDerivedField(read_only=True)
    province = ModelDerivedField(read_only=True)
    country = ReadOnlyColumn("country_code")
    phone = ModelDerivedField(read_only=True)
    created_at = ModelDerivedField(read_only=True)
    updated_at = ModelDerivedField(read_only=True)
    country_code = ModelDerivedField(read_only=True)
    country_name = ComputedField(lambda _, code: get_country_name(code), "country_code")
    province_code = ModelDerivedField(read_only=True)
    legacy = ModelDerivedField(read_only=True)
    active = ModelDerivedField(read_only=True)
    admin_graphql_api_id = global_id_field("Location")
    localized_country_name = ComputedField(_localized_country, "country_code")
    localized_province_name = ReadOnlyColumn("province")


class LocationViewSet(ShopViewSet[Location]):
    """Views for ``/locations``. Inactive locations are also listed."""

    scope = "locations"
    serializer_class = LocationSerializer
    singular = "location"
    order = ("name", "id")
    version_columns = ("version",)


class LevelsOfLocationViewSet(ShopViewSet[InventoryLevel]):
    serializer_class = InventoryLevelSerializer
    singular = "inventory_level"
    version_columns = ("version",)
    parents: ClassVar[Mapping[str, type[ShopOwned]]] = {"location_id": Location}

    def get_scopes(self, method: str) -> tuple[str, ...]:
        """Accept either the inventory scope or the locations scope, because each allows reading levels."""
        return ("read_inventory", "read_locations")
