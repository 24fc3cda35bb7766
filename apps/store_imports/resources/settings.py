"""Import the settings and the tax rates of a store.

Settings are only imported into a shop without products, customers and orders, because they change what existing prices
and times mean. In other shops, the report lists the settings that differ.
"""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet

from apps.catalog.models import Product
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message, define_text, pair_messages
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.imports_exports.resources.cells import convert_api_errors
from apps.orders.models import Order
from apps.shops.api.countries import CountrySerializer, ProvinceSerializer
from apps.shops.domain.settings import change_settings
from apps.shops.domain.shop_countries import create_country, update_country, update_province
from apps.shops.models import ShopCountry, ShopProvince
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.id_map import NewId
from apps.store_imports.domain.report import SETTING_COLUMNS, get_own_settings, get_source_settings
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.resources.optional_lists import OptionalStream
from apps.store_imports.resources.rest_objects import create_reader

PAGE_SIZE = 50
_WITH_DATA = "settings are only imported into a shop without products, customers and orders"
_RATE_KEPT = define_text(
    "store_imports.rate_kept",
    "The tax rate of the country is 0 in the store, so the rate of this shop was kept. Check it under Settings → "
    "Taxes.",
)
_UNKNOWN_PROVINCES = define_message(
    "store_imports.unknown_provinces", "The tax rates of these provinces were not imported: {codes}"
)
_TAX = ("tax_name", "tax")
_PROVINCE_TAX = ("tax_name", "tax_type", "tax")


class SettingsStream(Stream):
    """The settings of the store, which are one object."""

    name = "settings"
    resource = "shop"
    model: ClassVar[type[Model]] = Shop
    comparison = Comparison(read=None, limits=dict.fromkeys(SETTING_COLUMNS, _WITH_DATA))

    def count_objects(self, source: Source) -> int | None:
        return 1

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        with refuse_malformed(self.name, source.shop):
            number = int(source.shop["id"])
        return [] if position else [{**get_source_settings(source.shop), "id": number}]

    def get_own_objects(self) -> QuerySet[Any]:
        return Shop.objects.filter(pk=get_current_shop().pk)

    def read_own(self, source: Source, target_ids: Collection[int]) -> Mapping[int, SourceObject]:
        shops = self.get_own_objects().filter(pk__in=target_ids)
        return {shop.pk: get_own_settings(shop) for shop in shops}

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        shop_id = get_current_shop().pk
        if any(model._default_manager.exists() for model in (Product, Customer, Order)):
            return [ObjectResult(Outcome.UNCHANGED, shop_id)]
        values = {column: objects[0][name] for name, column in SETTING_COLUMNS.items() if name in objects[0]}

        def write() -> ObjectResult:
            try:
                is_changed = change_settings(values, actor=ACTOR, at=source.at)
            except ValidationError as error:
                raise DomainError(pair_messages(error.messages)) from None
            return ObjectResult(Outcome.CHANGED if is_changed else Outcome.UNCHANGED, shop_id)

        return [write_in_savepoint(write)]


class CountryStream(OptionalStream):
    """The countries that the store sells to, with the tax rates of the countries and their provinces."""

    name = "countries"
    resource = "country"
    model: ClassVar[type[Model]] = ShopCountry
    path = "countries.json"
    comparison = Comparison(
        read=create_reader(CountrySerializer),
        ids={"provinces.id": "province", "provinces.country_id": "country"},
        not_compared={
            "*.name": "is in the language of the shop. The code is compared",
            "provinces.shipping_zone_id": "shipping zones are not imported",
            "provinces.tax_percentage": "is calculated from the tax, which is compared",
        },
        limits={
            "tax": "a country without a rate in the store keeps the rate of this shop",
            "tax_name": "a country without a name of the tax in the store keeps the name of this shop",
            "provinces": "provinces that this installation does not know are not imported",
        },
        unordered=("provinces",),
    )

    def get_own_objects(self) -> QuerySet[Any]:
        """Return nothing, because each shop has the countries of its own rates."""
        return ShopCountry.objects.none()

    def read_list(self, source: Source, position: int) -> Sequence[SourceObject]:
        return source.client.get_page(self.path, self.name, since_id=position, limit=PAGE_SIZE)

    def write_listed(self, source: Source, objects: Sequence[SourceObject]) -> Sequence[ObjectResult]:
        mapped = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = {row.code: row for row in ShopCountry.objects.all()}
        return [
            write_in_savepoint(
                partial(_write_country, source, row, existing.get(str(row.get("code"))), row["id"] in mapped)
            )
            for row in objects
        ]


def _write_country(source: Source, row: SourceObject, country: ShopCountry | None, was_imported: bool) -> ObjectResult:
    problem = None
    with refuse_malformed(CountryStream.name, row):
        provinces = {str(province["code"]): province for province in row.get("provinces") or ()}
    with convert_api_errors(row):
        attrs = validate_body(CountrySerializer, get_latest_version(), row, instance=country)
    if country is None:
        country, outcome = create_country(attrs, actor=ACTOR, at=source.at), Outcome.NEW
    elif not was_imported and country.tax and not attrs.get("tax"):
        # Stores that use a tax service have no rates of their own.
        return ObjectResult(Outcome.UNCHANGED, country.pk, _RATE_KEPT, parts=_map_provinces(country, provinces))
    else:
        before = _get_values(country, _TAX)
        values = {name: attrs[name] for name in _TAX if attrs.get(name) not in (None, "")}
        update_country(country, values, actor=ACTOR, at=source.at)
        outcome = Outcome.UNCHANGED if _get_values(country, _TAX) == before else Outcome.CHANGED
    if _update_provinces(source, country, provinces) and outcome == Outcome.UNCHANGED:
        outcome = Outcome.CHANGED
    parts = _map_provinces(country, provinces)
    known = {part.source_id for part in parts}
    if missing := [code for code, province in provinces.items() if province["id"] not in known]:
        problem = _UNKNOWN_PROVINCES(codes=", ".join(missing))
    return ObjectResult(outcome, country.pk, problem, parts=parts)


def _update_provinces(source: Source, country: ShopCountry, provinces: Mapping[str, SourceObject]) -> bool:
    """Update the provinces of a country. Return True if a rate has changed."""
    is_changed = False
    for province in country.provinces.order_by("pk"):
        if row := provinces.get(province.code):
            with convert_api_errors(row):
                attrs = validate_body(ProvinceSerializer, get_latest_version(), row, instance=province)
            before = _get_values(province, _PROVINCE_TAX)
            values: Attrs = {name: attrs[name] for name in _PROVINCE_TAX if name in attrs}
            update_province(province, values, actor=ACTOR, at=source.at)
            is_changed |= _get_values(province, _PROVINCE_TAX) != before
    return is_changed


def _get_values(row: ShopCountry | ShopProvince, names: Sequence[str]) -> list[str | Decimal | None]:
    return [getattr(row, name) for name in names]


def _map_provinces(country: ShopCountry, provinces: Mapping[str, SourceObject]) -> list[NewId]:
    ids = country.provinces.order_by("pk").values_list("code", "pk")
    return [NewId("province", int(provinces[code]["id"]), pk) for code, pk in ids if code in provinces]
