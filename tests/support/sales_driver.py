"""Settings and steps of sales that the REST API does not have, for tests that drive a shop from outside."""

from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.gift_cards.domain.liability_report import get_liabilities
from apps.gift_cards.models import GiftCard
from apps.refunds.domain.refund_report import RefundReportRange
from apps.shops.domain import shop_countries
from apps.shops.models import ShopCountry, ShopProvince
from tests.support.factories import refunds
from tests.support.factories.customers import make_customer


def set_currencies(shop: Shop, currency: str, presentment: str, rate: str) -> None:
    shop.currency = currency
    shop.presentment_currencies = [{"currency": presentment, "rate": rate, "rounding": ""}]
    shop.save()


def set_tax_settings(shop: Shop, *, taxes_included: bool, shipping_taxed: bool) -> None:
    shop.taxes_included, shop.shipping_taxed = taxes_included, shipping_taxed
    shop.save()


def create_taxes(country: str, rate: Decimal, province: str, province_rate: Decimal) -> int:
    """Add a country, and a province with a rate that applies in addition to that of the country. Return its id."""
    at = timezone.now()
    row = shop_countries.create_country({"code": country, "tax": rate}, actor="system", at=at)
    ShopProvince.objects.filter(code=province).update(tax=province_rate, tax_type=ShopProvince.TaxType.NORMAL)
    return row.pk


def change_tax(country: str, rate: Decimal) -> None:
    row = ShopCountry.objects.get(code=country)
    shop_countries.update_country(row, {"tax": rate}, actor="system", at=timezone.now())


def make_customers(email: str, exempt_email: str) -> tuple[int, int]:
    """Create a customer, and a customer without taxes."""
    return make_customer(email=email).pk, make_customer(email=exempt_email, tax_exempt=True).pk


def expire_card(pk: int) -> None:
    """Let a gift card expire. New expiry dates must not be in the past, so time seems to have passed."""
    GiftCard.objects.filter(pk=pk).update(expires_on=timezone.localdate() - timedelta(days=2))


def run_refund_jobs(shop: Shop) -> None:
    """Let the gateways move refunded money as the worker does."""
    refunds.run_refund_jobs(shop)


def get_liability(currency: str) -> tuple[int, Decimal, Decimal, Decimal, Decimal, Decimal, Decimal]:
    """Return the liability report of gift cards of the last days, in the order of the columns of ``LiabilityModel``."""
    today = timezone.localdate()
    span = RefundReportRange(today - timedelta(days=2), today + timedelta(days=2), "day")
    found = get_liabilities(span)[currency]
    moved = found.movements
    return moved.cards, moved.issued, moved.added, moved.subtracted, found.disabled, found.expired, found.closing
