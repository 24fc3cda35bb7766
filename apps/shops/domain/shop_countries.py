"""Create, update and delete the countries that a shop sells to, and the tax rates of countries and provinces.

The shipping zones of a shop follow from its countries: the shop's own country, and all other countries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

from django.db import models, transaction
from django.utils import timezone

from apps.core.db.row_locks import get_for_update, refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.events.values import Changes
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID
from apps.core.money import format_plain
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.shops.domain.countries import find_country, get_country_name, get_zones
from apps.shops.models import ShopCountry, ShopProvince

P = TypeVar("P", bound=models.Model)
# The code and the name of all countries that a shop does not list.
REST_OF_WORLD = "*"
_REST_NAME = "Rest of World"
ZONE_NAMES = ("Domestic", "International")
# The usual names of taxes. Most countries have a value-added tax.
_TAX_NAMES: Mapping[str, str] = {
    "US": "Federal Tax",
    **dict.fromkeys(("AU", "CA", "IN", "NZ", "SG"), "GST"),
    "JP": "CT",
}
_USUAL_TAX_NAME = "VAT"
# The names and types of the taxes of provinces that have taxes of their own.
_CANADIAN_TAXES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("NB", "NL", "NS", "ON", "PE"), ("HST", ShopProvince.TaxType.HARMONIZED.value)),
    **dict.fromkeys(("BC", "MB", "SK"), ("PST", ShopProvince.TaxType.NORMAL.value)),
    "QC": ("QST", ShopProvince.TaxType.NORMAL.value),
}


class UnknownCode(DomainError):
    """Raised when a country code is unknown."""

    field = "code"


@dataclass(frozen=True, slots=True)
class ProvinceTax:
    tax: Decimal
    tax_type: str


def get_shop_country_name(code: str) -> str:
    return _REST_NAME if code == REST_OF_WORLD else get_country_name(code)


def get_tax_name(code: str) -> str:
    """Return the usual name of the tax of a country."""
    return _TAX_NAMES.get(code, _USUAL_TAX_NAME)


def get_province_tax(country_code: str, code: str) -> tuple[str, str | None]:
    """Return the usual name and the type of the tax of a province. The type is None if it has no tax of its own."""
    if country_code == "US":
        return "State Tax", None
    if country_code == "CA" and code in _CANADIAN_TAXES:
        return _CANADIAN_TAXES[code]
    return get_tax_name(country_code), None


def build_provinces(model: type[P], country_code: str, **columns: object) -> list[P]:
    """Return unsaved provinces of a country. ``model`` may be the historical model of a migration."""
    provinces: list[P] = []
    for zone in get_zones(country_code):
        tax_name, tax_type = get_province_tax(country_code, zone.code)
        provinces.append(model(code=zone.code, name=zone.name, tax_name=tax_name, tax_type=tax_type, **columns))
    return provinces


def get_shipping_zones(shop: Shop) -> dict[int, str]:
    """Return the names of the shop's shipping zones by id. There is no table, so the ids follow from the shop's."""
    return dict(enumerate(ZONE_NAMES, 2 * shop.pk - 1))


def get_shipping_zone_id(shop: Shop, country_code: str) -> int:
    """Return the id of a country's shipping zone."""
    domestic, international = get_shipping_zones(shop)
    return domestic if country_code == shop.country_code else international


@transaction.atomic
def create_country(
    attrs: Attrs, *, actor: str, at: datetime, province_taxes: Mapping[str, ProvinceTax] | None = None
) -> ShopCountry:
    """Add a country to the shop, with its provinces.

    Args:
        attrs: ``code``, and optionally ``tax`` and ``tax_name``.
        actor: The actor of the event.
        at: The time of the event.
        province_taxes: The taxes of provinces by code. Other provinces have no rate.

    Raises:
        UnknownCode: No country has this code.
    """
    code = attrs["code"].strip()
    if code != REST_OF_WORLD:
        country = find_country(code) if len(code) == 2 else None
        if country is None:
            raise UnknownCode(INVALID)
        code = country.code
    row = _store_country(get_current_shop(), code, attrs, at, province_taxes)
    record_event("countries/create", row, actor=actor, at=at)
    return row


def create_own_country(shop: Shop, at: datetime) -> None:
    """Create the country of a new shop, if it is known. The event of the new shop covers it."""
    if find_country(shop.country_code):
        _store_country(shop, shop.country_code, {}, at)


def add_own_country(actor: str) -> None:
    """Add the new country of the current shop to its countries, if it is known and missing."""
    code = Shop.objects.values_list("country_code", flat=True).get(pk=get_current_shop().pk)
    if find_country(code) and not ShopCountry.objects.filter(code=code).exists():
        create_country({"code": code}, actor=actor, at=timezone.now())


def _store_country(
    shop: Shop, code: str, attrs: Attrs, at: datetime, province_taxes: Mapping[str, ProvinceTax] | None = None
) -> ShopCountry:
    tax_name, tax = attrs.get("tax_name") or get_tax_name(code), attrs.get("tax") or Decimal(0)
    row: ShopCountry = ShopCountry.objects.create(shop=shop, code=code, tax_name=tax_name, tax=tax, created_at=at)
    provinces = build_provinces(ShopProvince, code, shop=shop, country=row, created_at=at)
    for province in provinces:
        if province_tax := (province_taxes or {}).get(province.code):
            province.tax, province.tax_type = province_tax.tax, province_tax.tax_type
    ShopProvince.objects.bulk_create(provinces)
    return row


def _apply_tax_changes(row: ShopCountry | ShopProvince, attrs: Attrs) -> Changes:
    """Set new values, and return the changes with rates such as 0.19 instead of all decimals of the column."""
    changes = apply_changes(row, attrs)
    if "tax" in changes:
        changes["tax"] = [format_plain(Decimal(str(rate))) for rate in changes["tax"]]
    return changes


@transaction.atomic
def update_country(country: ShopCountry, attrs: Attrs, *, actor: str, at: datetime) -> None:
    refresh_for_update(country, no_key=True)
    if changes := _apply_tax_changes(country, attrs):
        country.save(update_fields=list(changes))
        record_event("countries/update", country, actor=actor, at=at, changes=changes)


@transaction.atomic
def update_province(province: ShopProvince, attrs: Attrs, *, actor: str, at: datetime) -> None:
    get_for_update(ShopCountry, province.country_id)
    refresh_for_update(province, no_key=True)
    if changes := _apply_tax_changes(province, attrs):
        province.save(update_fields=list(changes))
        record_event("provinces/update", province, actor=actor, at=at, changes=changes)


@transaction.atomic
def delete_country(country: ShopCountry, *, actor: str, at: datetime) -> None:
    """Delete a country with its provinces."""
    get_for_update(ShopCountry, country.pk)
    record_event("countries/delete", country, actor=actor, at=at)
    ShopProvince.objects.filter(country=country).delete()
    country.delete()
