"""The shop as the interface shows it.

Source: ``wire/shop.json``; fields of parts that this product does not have carry their neutral values.
"""

from babel import Locale
from babel.core import UnknownLocaleError
from babel.numbers import get_currency_symbol
from django.conf import settings

from apps.api.context import Context
from apps.api.resources.fields import Column, Computed, Constant, FromModel
from apps.api.resources.serializers import ResourceSerializer
from apps.shops.models import Shop

_ENGLISH = Locale("en")


def country_name(code: str) -> str:
    """The English name of a country, e.g. ``Germany`` for ``DE``; the code itself where it is unknown."""
    return str(_ENGLISH.territories.get(code, code))


def money_format(currency: str) -> str:
    """How prices are written, with ``{{amount}}`` in place of the number, e.g. ``${{amount}}``."""
    try:
        symbol = get_currency_symbol(currency, "en")
    except UnknownLocaleError:
        symbol = currency
    return f"{symbol}{{{{amount}}}}" if len(symbol) == 1 else f"{{{{amount}}}} {symbol}"


def _zone_label(context: Context, name: str) -> str:
    moment = context.shop.created_at.astimezone(context.tz)
    offset = moment.strftime("%z")
    return f"(GMT{offset[:3]}:{offset[3:5]}) {name}"


def _with_code(_: Context, currency: str) -> str:
    return f"{money_format(currency)} {currency}".replace(f" {currency} {currency}", f" {currency}")


class ShopSerializer(ResourceSerializer[Shop]):
    """The shop that a token belongs to."""

    name = FromModel(read_only=True)
    email = FromModel(read_only=True)
    domain = FromModel(read_only=True)
    province = FromModel(read_only=True)
    country = Column("country_code")
    address1 = FromModel(read_only=True)
    zip = FromModel(read_only=True)
    city = FromModel(read_only=True)
    source = Constant(None)  # type: ignore[assignment]
    phone = FromModel(read_only=True)
    latitude = FromModel(read_only=True)
    longitude = FromModel(read_only=True)
    primary_locale = FromModel(read_only=True)
    address2 = FromModel(read_only=True)
    created_at = FromModel(read_only=True)
    updated_at = FromModel(read_only=True)
    country_code = FromModel(read_only=True)
    country_name = Computed(lambda _, code: country_name(code), "country_code")
    currency = FromModel(read_only=True)
    customer_email = Computed(lambda _, own, shop: own or shop, "customer_email", "email")
    timezone = Computed(_zone_label, "timezone")
    iana_timezone = Column("timezone")
    shop_owner = Computed(lambda _, owner, name: owner or name, "owner_name", "name")
    money_format = Computed(lambda _, currency: money_format(currency), "currency")
    money_with_currency_format = Computed(_with_code, "currency")
    weight_unit = FromModel(read_only=True)
    province_code = FromModel(read_only=True)
    # True or unset, as clients know it.
    taxes_included = Computed(
        lambda _, included: included or None, "taxes_included", schema={"type": ["boolean", "null"]}
    )
    auto_configure_tax_inclusivity = Constant(None)
    tax_shipping = Constant(None)
    county_taxes = Constant(True)
    plan_display_name = Computed(lambda _, plan: str(Shop.Plan(plan).label), "plan")
    plan_name = Column("plan")
    has_discounts = Constant(False)
    has_gift_cards = Constant(False)
    # The one field whose name carries the brand.
    locals()[f"my{settings.BRAND}_domain"] = Column("domain")
    google_apps_domain = Constant(None)
    google_apps_login_enabled = Constant(None)
    money_in_emails_format = Computed(lambda _, currency: money_format(currency), "currency")
    money_with_currency_in_emails_format = Computed(_with_code, "currency")
    eligible_for_payments = Constant(False)
    requires_extra_payments_agreement = Constant(False)
    password_enabled = Constant(False)
    has_storefront = Constant(True)
    finances = Constant(True)
    primary_location_id = Column()
    checkout_api_supported = Constant(False)
    multi_location_enabled = Constant(True)
    setup_required = Constant(False)
    pre_launch_enabled = Constant(False)
    enabled_presentment_currencies = Computed(
        lambda _, further, own: [own, *(row["currency"] for row in further if row["currency"] != own)],
        "presentment_currencies",
        "currency",
        schema={"type": "array", "items": {"type": "string"}},
    )
    marketing_sms_consent_enabled_at_checkout = Constant(False)
    transactional_sms_disabled = Constant(True)

    class Meta:
        model = Shop
