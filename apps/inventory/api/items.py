from rest_framework import serializers
from rest_framework.fields import empty

from apps.core.i18n.error_messages import INVALID
from apps.core.rest.resources.fields import ApiField, ModelDerivedField, PriceField, TextField, global_id_field
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Errors
from apps.inventory.domain import stock
from apps.inventory.models import HS_CODE, InventoryItem
from apps.shops.domain.countries import find_country, find_province

MAX_CODES = 250


class CountryCodesField(ApiField, serializers.JSONField):
    """HS codes by country, as a list of ``{country_code, harmonized_system_code}``."""

    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["country_code", "harmonized_system_code"],
            "properties": {key: {"type": "string"} for key in ("country_code", "harmonized_system_code")},
        },
    }

    def run_validation(self, data: object = empty) -> object:
        return super().run_validation([] if data in (None, "") else data)

    def to_internal_value(self, data: object) -> list[dict[str, str]]:
        """Parse the list. If a country occurs twice, the last code is used."""
        if not isinstance(data, list) or len(data) > MAX_CODES:
            self.fail("invalid")
        codes: dict[str, str] = {}
        for entry in data:
            code = entry.get("country_code") if isinstance(entry, dict) else None
            number = entry.get("harmonized_system_code") if isinstance(entry, dict) else None
            country = find_country(code) if isinstance(code, str) and len(code) == 2 else None
            if country is None or not isinstance(number, str) or not HS_CODE.fullmatch(number):
                self.fail("invalid")
            codes[country.code] = number
        return [{"country_code": code, "harmonized_system_code": codes[code]} for code in sorted(codes)]


class InventoryItemSerializer(ResourceSerializer[InventoryItem]):
    sku = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    requires_shipping = ModelDerivedField()
    cost = PriceField(allow_null=True)
    country_code_of_origin = ModelDerivedField()
    province_code_of_origin = ModelDerivedField()
    harmonized_system_code = ModelDerivedField()
    tracked = ModelDerivedField()
    country_harmonized_system_codes = CountryCodesField(required=False)
    admin_graphql_api_id = global_id_field("InventoryItem")

    def validate_across_fields(self, attrs: Attrs, instance: InventoryItem | None, errors: Errors) -> None:
        """Normalize and check the country, province and HS code. Store no SKU as an empty text, and no code as null."""
        if attrs.get("sku", "") is None:
            attrs["sku"] = ""
        for name in ("country_code_of_origin", "province_code_of_origin", "harmonized_system_code"):
            if attrs.get(name) == "":
                attrs[name] = None
        country = attrs.get("country_code_of_origin")
        if country is not None:
            match = find_country(country) if len(country) == 2 else None
            if match is None:
                errors["country_code_of_origin"] = [INVALID]
            else:
                attrs["country_code_of_origin"] = match.code
        current = instance.country_code_of_origin if instance else None
        if attrs.get("country_code_of_origin", current) != current:
            # Clear the province, because it belongs to the previous country.
            attrs.setdefault("province_code_of_origin", None)
        province = attrs.get("province_code_of_origin")
        if province is not None:
            country_code = attrs.get("country_code_of_origin", current)
            match_province = find_province(country_code, province) if country_code else None
            if match_province is None:
                errors["province_code_of_origin"] = [INVALID]
            else:
                attrs["province_code_of_origin"] = match_province.code
        number = attrs.get("harmonized_system_code")
        if number is not None and not HS_CODE.fullmatch(number):
            errors["harmonized_system_code"] = [INVALID]


class InventoryItemViewSet(ShopViewSet[InventoryItem]):
    scope = "inventory"
    serializer_class = InventoryItemSerializer
    singular = "inventory_item"
    version_columns = ("version",)

    def perform_update(self, instance: InventoryItem, attrs: Attrs) -> None:
        stock.update_item(instance, attrs, actor=self.actor, at=self.at)
