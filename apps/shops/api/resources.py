"""The shop resource of the REST API.

Fields for features that this product does not have return constant values.
"""

from babel.core import UnknownLocaleError
from babel.numbers import get_currency_symbol
from django.conf import settings

from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import ComputedField, ConstantField, ModelDerivedField, ReadOnlyColumn
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.tenancy.models import Shop
from apps.shops.domain.countries import get_country_name


def get_money_format(currency: str) -> str:
    """Return the price format with ``{{amount}}`` as the placeholder, e.g. ``${{amount}}``."""
    try:
        symbol = get_currency_symbol(currency, "en")
    except UnknownLocaleError:
        symbol = currency
    return f"{symbol}{{{{amount}}}}" if len(symbol) == 1 else f"{{{{amount}}}} {symbol}"


def _format_timezone(context: RenderContext, name: str) -> str:
    moment = context.shop.created_at.astimezone(context.tz)
    offset = moment.strftime("%z")
    return f"(GMT{offset[:3]}:{offset[3:5]}) {name}"


def _format_with_code(_: RenderContext, currency: str) -> str:
    return f"{get_money_format(currency)} {currency}".replace(f" {currency} {currency}", f" {currency}")


class ShopSerializer(ResourceSerializer[Shop]):
    name = ModelDerivedField(read_only=True)
    email = ModelDerivedField(read_only=True)
    domain = ModelDerivedField(read_only=True)
    province = ModelDerivedField(read_only=True)
    country = ReadOnlyColumn("country_code")
    address1 = ModelDerivedField(read_only=True)
    zip = ModelDerivedField(read_only=True)
    city = ModelDerivedField(read_only=True)
    source = ConstantField(None)  # type: ignore[assignment]
    phone = ModelDerivedField(read_only=True)
    latitude = ModelDerivedField(read_only=True)
    longitude = ModelDerivedField(read_only=True)
    primary_locale = ModelDerivedField(read_only=True)
    address2 = ModelDerivedField(read_only=True)
    created_at = ModelDerivedField(read_only=True)
    updated_at = ModelDerivedField(read_only=True)
    country_code = ModelDerivedField(read_only=True)
    country_name = ComputedField(lambda _, code: get_country_name(code), "country_code")
    currency = ModelDerivedField(read_only=True)
    customer_email = ComputedField(lambda _, own, shop: own or shop, "customer_email", "email")
    timezone = ComputedField(_format_timezone, "timezone")
    iana_timezone = ReadOnlyColumn("timezone")
    shop_owner = ComputedField(lambda _, owner, name: owner or name, "owner_name", "name")
    money_format = ComputedField(lambda _, currency: get_money_format(currency), "currency")
    money_with_currency_format = ComputedField(_format_with_code, "currency")
    weight_unit = ModelDerivedField(read_only=True)
    province_code = ModelDerivedField(read_only=True)
    # Existing clients expect null instead of false.
    taxes_included = ComputedField(
        lambda _, included: included or None, "taxes_included", schema={"type": ["boolean", "null"]}
    )
    auto_configure_tax_inclusivity = ConstantField(None)
    tax_shipping = ConstantField(None)
    county_taxes = ConstantField(True)
    plan_display_name = ComputedField(lambda _, plan: str(Shop.Plan(plan).label), "plan")
    plan_name = ReadOnlyColumn("plan")
    has_discounts = ConstantField(False)
    has_gift_cards = ConstantField(False)
    # Assign the field through ``locals()``, because the brand in the field name is a setting.
    locals()[f"my{settings.BRAND}_domain"] = ReadOnlyColumn("domain")
    google_apps_domain = ConstantField(None)
    google_apps_login_enabled = ConstantField(None)
    money_in_emails_format = ComputedField(lambda _, currency: get_money_format(currency), "currency")
    money_with_currency_in_emails_format = ComputedField(_format_with_code, "currency")
    eligible_for_payments = ConstantField(False)
    requires_extra_payments_agreement = ConstantField(False)
    password_enabled = ConstantField(False)
    has_storefront = ConstantField(True)
    finances = ConstantField(True)
    primary_location_id = ReadOnlyColumn()
    checkout_api_supported = ConstantField(False)
    multi_location_enabled = ConstantField(True)
    setup_required = ConstantField(False)
    pre_launch_enabled = ConstantField(False)
    enabled_presentment_currencies = ComputedField(
        lambda _, further, own: [own, *(row["currency"] for row in further if row["currency"] != own)],
        "presentment_currencies",
        "currency",
        schema={"type": "array", "items": {"type": "string"}},
    )
    marketing_sms_consent_enabled_at_checkout = ConstantField(False)
    transactional_sms_disabled = ConstantField(True)
