"""The shop, the calling app and its installation, in GraphQL."""

from datetime import datetime

import strawberry
from django.conf import settings

from apps.graphql import registry
from apps.graphql.ids import Node, global_id, number_of
from apps.graphql.info import Info
from apps.graphql.scalars import URL
from apps.ground.tenancy import every_shop
from apps.shops.api.resources import country_name, money_format
from apps.shops.models import App, Installation, Shop
from apps.shops.models.scopes import SCOPES

_WEIGHT_UNITS = {"g": "GRAMS", "kg": "KILOGRAMS", "oz": "OUNCES", "lb": "POUNDS"}


@strawberry.type(name="Domain", description="A host name of the shop.")
class DomainType:
    """A host name of the shop."""

    host: str
    ssl_enabled: bool
    url: URL


@strawberry.type(name="ShopPlan", description="What the shop pays for.")
class ShopPlanType:
    """The shop's plan."""

    display_name: str
    public_display_name: str
    partner_development: bool


@strawberry.type(name="ShopAddress", description="Where the shop is.")
class ShopAddressType:
    """The shop's address."""

    address1: str | None
    address2: str | None
    city: str | None
    zip: str | None
    province: str | None
    province_code: str | None
    country: str
    country_code_v2: str
    phone: str | None


@strawberry.type(name="CurrencyFormats", description="How prices are written.")
class CurrencyFormatsType:
    """How prices are written."""

    money_format: str


@strawberry.type(name="Shop", description="The shop that the token belongs to.")
class ShopType(Node):
    """The shop that the token belongs to."""

    row: strawberry.Private[Shop]

    name: str
    email: str
    created_at: datetime
    updated_at: datetime
    taxes_included: bool

    @strawberry.field
    def contact_email(self) -> str:
        """Where customers write to."""
        return self.row.customer_email or self.row.email

    @strawberry.field
    def shop_owner_name(self) -> str:
        """Whose shop it is."""
        return self.row.owner_name or self.row.name

    @strawberry.field(name=f"my{settings.BRAND}Domain")
    def own_domain(self) -> str:
        """The host name by which the interface knows the shop."""
        return self.row.domain

    @strawberry.field
    def primary_domain(self) -> DomainType:
        """The host name that customers see."""
        return DomainType(host=self.row.domain, ssl_enabled=True, url=URL(f"https://{self.row.domain}"))

    @strawberry.field
    def url(self) -> URL:
        """The address of the storefront."""
        return URL(f"https://{self.row.domain}")

    @strawberry.field
    def currency_code(self) -> str:
        """The currency of the books."""
        return self.row.currency

    @strawberry.field
    def currency_formats(self) -> CurrencyFormatsType:
        """How prices are written."""
        return CurrencyFormatsType(money_format=money_format(self.row.currency))

    @strawberry.field
    def enabled_presentment_currencies(self) -> list[str]:
        """The currencies that prices are shown in."""
        further = [each["currency"] for each in self.row.presentment_currencies]
        return list(dict.fromkeys([self.row.currency, *further]))

    @strawberry.field
    def iana_timezone(self) -> str:
        """The time zone by its IANA name."""
        return self.row.timezone

    @strawberry.field
    def timezone_offset(self, info: Info) -> str:
        """The time zone's distance from UTC now, e.g. ``-0500``."""
        return info.context.at.astimezone(self.row.tzinfo).strftime("%z")

    @strawberry.field
    def weight_unit(self) -> str:
        """In what goods are weighed."""
        return _WEIGHT_UNITS[self.row.weight_unit]

    @strawberry.field
    def plan(self) -> ShopPlanType:
        """What the shop pays for."""
        label = str(Shop.Plan(self.row.plan).label)
        return ShopPlanType(
            display_name=label,
            public_display_name=label,
            partner_development=self.row.plan == Shop.Plan.DEVELOPMENT,
        )

    @strawberry.field
    def shop_address(self) -> ShopAddressType:
        """Where the shop is."""
        return _address(self.row)

    @strawberry.field(deprecation_reason="Use `shopAddress` instead.")
    def billing_address(self) -> ShopAddressType:
        """Where bills go."""
        return _address(self.row)


@strawberry.type(name="AccessScope", description="What an app may do.")
class AccessScopeType:
    """What an app may do."""

    handle: str
    description: str


@strawberry.type(name="App", description="A program that works for the shop.")
class AppType(Node):
    """The calling app."""

    row: strawberry.Private[Installation]

    title: str
    api_key: str
    embedded: bool

    @strawberry.field
    def handle(self) -> str | None:
        """Its name in addresses; apps have none here."""
        return None

    @strawberry.field
    def launch_url(self) -> URL | None:
        """Where it is opened."""
        return URL(self.row.app.application_url) if self.row.app.application_url else None

    @strawberry.field
    def installation(self) -> "AppInstallationType | None":
        """What it may do in this shop."""
        return _installation(self.row)


@strawberry.type(name="AppInstallation", description="An app at work in the shop.")
class AppInstallationType(Node):
    """The calling app's installation."""

    row: strawberry.Private[Installation]

    @strawberry.field
    def app(self) -> AppType:
        """Which app it is."""
        return _app(self.row)

    @strawberry.field
    def access_scopes(self) -> list[AccessScopeType]:
        """What the shop granted."""
        return [AccessScopeType(handle=scope, description=SCOPES[scope]) for scope in self.row.scopes]

    @strawberry.field
    def launch_url(self) -> URL | None:
        """Where it is opened."""
        return URL(self.row.app.application_url) if self.row.app.application_url else None

    @strawberry.field
    def uninstall_url(self) -> URL | None:
        """Where it is taken off; staff do that in the panel."""
        return None


@registry.query
@strawberry.type
class CallerQueries:
    """What a client asks first: where it is, and as whom."""

    @strawberry.field(description="The shop that the token belongs to.")
    def shop(self, info: Info) -> ShopType:
        """The shop."""
        return _shop(info.context.shop)

    @strawberry.field(description="The calling app, or the app of an id.")
    def app(self, info: Info, id: strawberry.ID | None = None) -> AppType | None:
        """The calling app; no other can be seen."""
        here = _own(info)
        return _app(here) if id is None or number_of(id, "App") == here.app_id else None

    @strawberry.field(description="The calling app at work in the shop.")
    def current_app_installation(self, info: Info) -> AppInstallationType:
        """The calling app's installation."""
        return _installation(_own(info))

    @strawberry.field(description="The calling app at work in the shop, or the installation of an id.")
    def app_installation(self, info: Info, id: strawberry.ID | None = None) -> AppInstallationType | None:
        """The calling app's installation; no other can be seen."""
        here = _own(info)
        return _installation(here) if id is None or number_of(id, "AppInstallation") == here.pk else None


def _own(info: Info) -> Installation:
    """The caller's installation, with its app."""
    access = info.context.access
    with every_shop():
        found: Installation = Installation.objects.select_related("app").get(pk=access.installation.pk)
    return found


def _shop(row: Shop) -> ShopType:
    return ShopType(
        id=global_id("Shop", row.pk),
        row=row,
        name=row.name,
        email=row.email,
        created_at=row.created_at,
        updated_at=row.updated_at,
        taxes_included=row.taxes_included,
    )


def _app(row: Installation) -> AppType:
    app: App = row.app
    return AppType(id=global_id("App", app.pk), row=row, title=app.name, api_key=app.api_key, embedded=False)


def _installation(row: Installation) -> AppInstallationType:
    return AppInstallationType(id=global_id("AppInstallation", row.pk), row=row)


def _address(row: Shop) -> ShopAddressType:
    return ShopAddressType(
        address1=row.address1 or None,
        address2=row.address2 or None,
        city=row.city or None,
        zip=row.zip or None,
        province=row.province or None,
        province_code=row.province_code or None,
        country=country_name(row.country_code),
        country_code_v2=row.country_code,
        phone=row.phone or None,
    )


registry.node("Shop", ShopType, lambda info, pk: _shop(info.context.shop) if pk == info.context.shop.pk else None)
registry.node("App", AppType, lambda info, pk: _app(_own(info)) if pk == _own(info).app_id else None)
registry.node(
    "AppInstallation",
    AppInstallationType,
    lambda info, pk: _installation(_own(info)) if pk == info.context.access.installation.pk else None,
)
