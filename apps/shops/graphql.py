from datetime import datetime

import strawberry
from django.conf import settings

from apps.core.graphql import registry
from apps.core.graphql.types import URL, Info, Node, build_global_id, parse_number_of_type
from apps.core.tenancy.access_scopes import SCOPES
from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.shops.api.resources import get_money_format
from apps.shops.domain.countries import get_country_name

_WEIGHT_UNITS = {"g": "GRAMS", "kg": "KILOGRAMS", "oz": "OUNCES", "lb": "POUNDS"}


@strawberry.type(name="Domain", description="A host name of the shop.")
class DomainType:
    host: str
    ssl_enabled: bool
    url: URL


@strawberry.type(name="ShopPlan", description="The plan of the shop.")
class ShopPlanType:
    display_name: str
    public_display_name: str
    partner_development: bool


@strawberry.type(name="ShopAddress", description="The address of the shop.")
class ShopAddressType:
    address1: str | None
    address2: str | None
    city: str | None
    zip: str | None
    province: str | None
    province_code: str | None
    country: str
    country_code_v2: str
    phone: str | None


@strawberry.type(name="CurrencyFormats", description="The price format of the shop currency.")
class CurrencyFormatsType:
    money_format: str


@strawberry.type(name="Shop", description="The shop that the token belongs to.")
class ShopType(Node):
    row: strawberry.Private[Shop]

    name: str
    email: str
    created_at: datetime
    updated_at: datetime
    taxes_included: bool

    @strawberry.field
    def contact_email(self) -> str:
        return self.row.customer_email or self.row.email

    @strawberry.field
    def shop_owner_name(self) -> str:
        return self.row.owner_name or self.row.name

    @strawberry.field(name=f"my{settings.BRAND}Domain")
    def own_domain(self) -> str:
        return self.row.domain

    @strawberry.field
    def primary_domain(self) -> DomainType:
        return DomainType(host=self.row.domain, ssl_enabled=True, url=URL(f"https://{self.row.domain}"))

    @strawberry.field
    def url(self) -> URL:
        return URL(f"https://{self.row.domain}")

    @strawberry.field
    def currency_code(self) -> str:
        return self.row.currency

    @strawberry.field
    def currency_formats(self) -> CurrencyFormatsType:
        return CurrencyFormatsType(money_format=get_money_format(self.row.currency))

    @strawberry.field
    def enabled_presentment_currencies(self) -> list[str]:
        presentment_codes = [row["currency"] for row in self.row.presentment_currencies]
        return list(dict.fromkeys([self.row.currency, *presentment_codes]))

    @strawberry.field
    def iana_timezone(self) -> str:
        return self.row.timezone

    @strawberry.field
    def timezone_offset(self, info: Info) -> str:
        return info.context.at.astimezone(self.row.tzinfo).strftime("%z")

    @strawberry.field
    def weight_unit(self) -> str:
        return _WEIGHT_UNITS[self.row.weight_unit]

    @strawberry.field
    def plan(self) -> ShopPlanType:
        label = str(Shop.Plan(self.row.plan).label)
        return ShopPlanType(
            display_name=label,
            public_display_name=label,
            partner_development=self.row.plan == Shop.Plan.DEVELOPMENT,
        )

    @strawberry.field
    def shop_address(self) -> ShopAddressType:
        return _build_address(self.row)

    @strawberry.field(deprecation_reason="Use `shopAddress` instead.")
    def billing_address(self) -> ShopAddressType:
        return _build_address(self.row)


@strawberry.type(name="AccessScope", description="An access scope that a shop grants to an app.")
class AccessScopeType:
    handle: str
    description: str


@strawberry.type(name="App", description="A program that uses the API.")
class AppType(Node):
    row: strawberry.Private[Installation]

    title: str
    api_key: str
    embedded: bool

    @strawberry.field
    def handle(self) -> str | None:
        """Return None, because apps have no handle in this product."""
        return None

    @strawberry.field
    def launch_url(self) -> URL | None:
        return URL(self.row.app.application_url) if self.row.app.application_url else None

    @strawberry.field
    def installation(self) -> "AppInstallationType | None":
        return _build_installation(self.row)


@strawberry.type(name="AppInstallation", description="An app installed in the shop.")
class AppInstallationType(Node):
    row: strawberry.Private[Installation]

    @strawberry.field
    def app(self) -> AppType:
        return _build_app(self.row)

    @strawberry.field
    def access_scopes(self) -> list[AccessScopeType]:
        return [AccessScopeType(handle=scope, description=SCOPES[scope]) for scope in self.row.scopes]

    @strawberry.field
    def launch_url(self) -> URL | None:
        return URL(self.row.app.application_url) if self.row.app.application_url else None

    @strawberry.field
    def uninstall_url(self) -> URL | None:
        """Return None, because staff uninstall apps in the panel."""
        return None


@registry.queries.add
@strawberry.type
class CallerQueries:
    @strawberry.field(description="The shop that the token belongs to.")
    def shop(self, info: Info) -> ShopType:
        return _build_shop(info.context.shop)

    @strawberry.field(description="The calling app, or the app with the given ID.")
    def app(self, info: Info, id: strawberry.ID | None = None) -> AppType | None:
        """Return the calling app. Other apps are not visible."""
        row = _load_installation(info)
        return _build_app(row) if id is None or parse_number_of_type(id, "App") == row.app_id else None

    @strawberry.field(description="The installation of the calling app.")
    def current_app_installation(self, info: Info) -> AppInstallationType:
        return _build_installation(_load_installation(info))

    @strawberry.field(description="The installation of the calling app, or the installation with the given ID.")
    def app_installation(self, info: Info, id: strawberry.ID | None = None) -> AppInstallationType | None:
        """Return the calling app's installation. Other installations are not visible."""
        row = _load_installation(info)
        is_own = id is None or parse_number_of_type(id, "AppInstallation") == row.pk
        return _build_installation(row) if is_own else None


def _load_installation(info: Info) -> Installation:
    access = info.context.access
    with all_shops_scope():
        installation: Installation = Installation.objects.select_related("app").get(pk=access.installation.pk)
    return installation


def _build_shop(row: Shop) -> ShopType:
    return ShopType(
        id=build_global_id("Shop", row.pk),
        row=row,
        name=row.name,
        email=row.email,
        created_at=row.created_at,
        updated_at=row.updated_at,
        taxes_included=row.taxes_included,
    )


def _build_app(row: Installation) -> AppType:
    app: App = row.app
    return AppType(id=build_global_id("App", app.pk), row=row, title=app.name, api_key=app.api_key, embedded=False)


def _build_installation(row: Installation) -> AppInstallationType:
    return AppInstallationType(id=build_global_id("AppInstallation", row.pk), row=row)


def _build_address(row: Shop) -> ShopAddressType:
    return ShopAddressType(
        address1=row.address1 or None,
        address2=row.address2 or None,
        city=row.city or None,
        zip=row.zip or None,
        province=row.province or None,
        province_code=row.province_code or None,
        country=get_country_name(row.country_code),
        country_code_v2=row.country_code,
        phone=row.phone or None,
    )


registry.nodes.register(
    "Shop",
    registry.Node(ShopType, lambda info, pk: _build_shop(info.context.shop) if pk == info.context.shop.pk else None),
)
registry.nodes.register(
    "App",
    registry.Node(
        AppType,
        lambda info, pk: _build_app(_load_installation(info)) if pk == _load_installation(info).app_id else None,
    ),
)
registry.nodes.register(
    "AppInstallation",
    registry.Node(
        AppInstallationType,
        lambda info, pk: (
            _build_installation(_load_installation(info)) if pk == info.context.access.installation.pk else None
        ),
    ),
)
