"""Inventory items over REST: listed by ids, read, changed; they come and go with their variants."""

from decimal import Decimal

from rest_framework import serializers

from apps.api.resources.fields import ApiField, FromModel, GlobalId, TextField
from apps.api.resources.fields.money import PriceField
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs, Errors
from apps.api.viewsets import ShopViewSet
from apps.ground.phrases import INVALID
from apps.inventory.domain import stock
from apps.inventory.models import HS_CODE, InventoryItem
from apps.shops.domain.countries import find_country, find_province

MAX_CODES = 250


class CountryCodesField(ApiField, serializers.JSONField):
    """The item's customs numbers by country: a list of ``{country_code, harmonized_system_code}``."""

    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["country_code", "harmonized_system_code"],
            "properties": {key: {"type": "string"} for key in ("country_code", "harmonized_system_code")},
        },
    }

    def to_internal_value(self, data: object) -> list[dict[str, str]]:
        """The list; one number per country."""
        if not isinstance(data, list) or len(data) > MAX_CODES:
            self.fail("invalid")
        found: dict[str, str] = {}
        for entry in data:
            code = entry.get("country_code") if isinstance(entry, dict) else None
            number = entry.get("harmonized_system_code") if isinstance(entry, dict) else None
            country = find_country(code) if isinstance(code, str) and len(code) == 2 else None
            if country is None or not isinstance(number, str) or not HS_CODE.fullmatch(number):
                self.fail("invalid")
            found[country.code] = number
        return [{"country_code": code, "harmonized_system_code": found[code]} for code in sorted(found)]


class InventoryItemSerializer(ResourceSerializer[InventoryItem]):
    """An inventory item as the interface shows it."""

    sku = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    created_at = FromModel()
    updated_at = FromModel()
    requires_shipping = FromModel()
    cost = PriceField(allow_null=True)
    country_code_of_origin = FromModel()
    province_code_of_origin = FromModel()
    harmonized_system_code = FromModel()
    tracked = FromModel()
    country_harmonized_system_codes = CountryCodesField(required=False)
    admin_graphql_api_id = GlobalId("InventoryItem")

    class Meta:
        model = InventoryItem

    def check(self, attrs: Attrs, instance: InventoryItem | None, errors: Errors) -> None:
        """Origins are real places; what is none is no code at all."""
        attrs |= {
            name: neutral for name, neutral in (("sku", ""), ("cost", Decimal(0))) if attrs.get(name, neutral) is None
        }
        country = attrs.get("country_code_of_origin")
        if country is not None:
            known = find_country(country) if len(country) == 2 else None
            if known is None:
                errors["country_code_of_origin"] = [INVALID]
            else:
                attrs["country_code_of_origin"] = known.code
        former = instance.country_code_of_origin if instance else None
        if attrs.get("country_code_of_origin", former) != former:
            # The province of another country is no province of this one.
            attrs.setdefault("province_code_of_origin", None)
        province = attrs.get("province_code_of_origin")
        if province is not None:
            of = attrs.get("country_code_of_origin", former)
            part = find_province(of, province) if of else None
            if part is None:
                errors["province_code_of_origin"] = [INVALID]
            else:
                attrs["province_code_of_origin"] = part.code
        number = attrs.get("harmonized_system_code")
        if number is not None and not HS_CODE.fullmatch(number):
            errors["harmonized_system_code"] = [INVALID]


class InventoryItemViewSet(ShopViewSet[InventoryItem]):
    """``/inventory_items``: what the variants are in the warehouse."""

    scope = "inventory"
    model = InventoryItem
    serializer_class = InventoryItemSerializer
    singular = "inventory_item"
    plural = "inventory_items"
    versions = ("version",)

    def perform_update(self, instance: InventoryItem, attrs: Attrs) -> None:
        """Whatever shows the item's data is told."""
        stock.update_item(instance, attrs, actor=self.actor, at=self.at)
