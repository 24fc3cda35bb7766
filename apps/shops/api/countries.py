"""Views for the countries that a shop sells to, their provinces, and the shipping zones that follow from them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import ClassVar, TypedDict

from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import ComputedField, DecimalField, ModelDerivedField, Render, TextField
from apps.core.rest.resources.nested_rows import NestedRows
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ApiView, ShopViewSet
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs, Rendered, Schema
from apps.shops.domain import shop_countries
from apps.shops.models import ShopCountry, ShopProvince
from apps.shops.models.countries import RATE_DECIMALS

_NUMBER: Schema = {"type": "number"}
_INTEGER: Schema = {"type": "integer"}


class RateField(DecimalField):
    """A tax rate such as 0.19, rendered as a number. Decimals that can't be stored are rounded."""

    rounds = True
    schema = _NUMBER

    def get_renderer(self) -> Render:
        return lambda _context, rate: float(rate)


class _RateOptions(TypedDict):
    max_digits: int
    decimal_places: int
    max_value: int
    required: bool


_RATE: _RateOptions = {
    "max_digits": RATE_DECIMALS + 1,
    "decimal_places": RATE_DECIMALS,
    "max_value": 1,
    "required": False,
}


def _render_percentage(_context: RenderContext, rate: Decimal) -> float:
    return float(rate * 100)


def _render_zone_id(context: RenderContext, code: str) -> int:
    return shop_countries.get_shipping_zone_id(context.shop, code)


class ProvinceSerializer(ResourceSerializer[ShopProvince]):
    country_id = ComputedField(lambda _context, pk: pk, "country_id", schema=_INTEGER)
    name = ModelDerivedField(read_only=True)
    code = ModelDerivedField(read_only=True)
    tax_name = TextField(max_length=255, required=False, allow_null=True, allow_blank=True)
    tax_type = ModelDerivedField()
    shipping_zone_id = ComputedField(_render_zone_id, "country__code", schema=_INTEGER)
    tax = RateField(**_RATE)
    tax_percentage = ComputedField(_render_percentage, "tax", schema=_NUMBER)


class CountrySerializer(ResourceSerializer[ShopCountry]):
    name = ComputedField(lambda _context, code: shop_countries.get_shop_country_name(code), "code")
    code = TextField(max_length=2)
    tax_name = TextField(max_length=255, required=False)
    tax = RateField(**_RATE)
    provinces = NestedRows(ProvinceSerializer, "provinces")


class ZoneCountrySerializer(CountrySerializer):
    """A country in a shipping zone."""

    shipping_zone_id = ComputedField(_render_zone_id, "code", schema=_INTEGER)


class CountryViewSet(ShopViewSet[ShopCountry]):
    scope = "shipping"
    serializer_class = CountrySerializer
    singular = "country"
    locks_in_service = True
    plural = "countries"

    def perform_create(self, attrs: Attrs) -> ShopCountry:
        return shop_countries.create_country(attrs, actor=self.actor, at=self.at)

    def perform_update(self, instance: ShopCountry, attrs: Attrs) -> None:
        """Update the tax. Clients send the whole country back, so its code is ignored."""
        values: Attrs = {name: attrs[name] for name in ("tax", "tax_name") if name in attrs}
        shop_countries.update_country(instance, values, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: ShopCountry) -> None:
        shop_countries.delete_country(instance, actor=self.actor, at=self.at)


class ProvinceViewSet(ShopViewSet[ShopProvince]):
    scope = "shipping"
    serializer_class = ProvinceSerializer
    singular = "province"
    locks_in_service = True
    parents: ClassVar[Mapping[str, type[ShopOwned]]] = {"country_id": ShopCountry}

    def perform_update(self, instance: ShopProvince, attrs: Attrs) -> None:
        shop_countries.update_province(instance, attrs, actor=self.actor, at=self.at)


class ShippingZoneView(ApiView):
    """``GET /shipping_zones.json``: the shop's own country, and the other countries."""

    scope = "shipping"
    responses = {
        "list": {
            "type": "object",
            "required": ["shipping_zones"],
            "properties": {
                "shipping_zones": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": _INTEGER,
                            **{
                                name: {"type": "string"}
                                for name in ("name", "profile_id", "location_group_id", "admin_graphql_api_id")
                            },
                            "countries": {"type": "array", "items": {"type": "object"}},
                            **{
                                name: {"type": "array", "items": {"type": "object"}}
                                for name in (
                                    "weight_based_shipping_rates",
                                    "price_based_shipping_rates",
                                    "carrier_shipping_rate_providers",
                                )
                            },
                        },
                    },
                }
            },
        }
    }

    def list(self, request: Request) -> HttpResponse:
        """Return the shipping zones that have countries. Rates are empty, because checkouts calculate them."""
        ids = list(ShopCountry.objects.order_by("pk").values_list("pk", flat=True))
        rendered = get_read_plan(ZoneCountrySerializer, self.version).read_ids(ids, self.context)
        countries = [rendered[pk] for pk in ids if pk in rendered]
        shop_zones = shop_countries.get_shipping_zones(self.shop)
        zones = [self._render_zone(pk, name, countries) for pk, name in shop_zones.items()]
        return self.json_response({"shipping_zones": [zone for zone in zones if zone["countries"]]})

    def _render_zone(self, zone_id: int, name: str, countries: Sequence[Rendered]) -> Rendered:
        brand = self.context.brand
        return {
            "id": zone_id,
            "name": name,
            "profile_id": f"gid://{brand}/DeliveryProfile/{self.shop.pk}",
            "location_group_id": f"gid://{brand}/DeliveryLocationGroup/{self.shop.pk}",
            "admin_graphql_api_id": f"gid://{brand}/DeliveryZone/{zone_id}",
            "countries": [country for country in countries if country["shipping_zone_id"] == zone_id],
            "weight_based_shipping_rates": [],
            "price_based_shipping_rates": [],
            "carrier_shipping_rate_providers": [],
        }
