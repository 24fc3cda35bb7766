"""``manage.py demo``: create the demo shop once and issue an access token."""

import json
import secrets
from argparse import ArgumentParser
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import transaction
from django.utils import timezone

from apps.catalog.domain.sales_channels import listings
from apps.catalog.models import Collection, Product
from apps.core.db import planner_statistics
from apps.core.tenancy.access_scopes import SCOPES
from apps.core.tenancy.models import App, Installation, Membership, Shop, User
from apps.core.tenancy.permissions import NAMES
from apps.core.tenancy.scope import shop_scope
from apps.demo.data import create_demo_data
from apps.shops.domain import app_installation, charges, purchases, shop_creation, tokens
from apps.shops.models import AppPurchase, RecurringCharge
from apps.staff.domain import memberships

DOMAIN = "demo-store.localhost"
EMAIL, VIEWER = "owner@demo-store.localhost", "viewer@demo-store.localhost"
APP_NAME = "Demo app"


class Command(BaseCommand):
    help = "Create the demo shop if it does not exist and print its credentials."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="only print the JSON line")
        parser.add_argument(
            "--first", action="store_true", help="issue a token only for a new demo shop, and print no JSON line"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the shop and print the credentials. Without ``--first``, the last line is a JSON object."""
        now = timezone.now()
        with transaction.atomic():
            existing_shop = Shop.objects.filter(domain=DOMAIN).first()
            if existing_shop is None and not (options["json"] or options["first"]):
                self.stdout.write("Creating the demo shop …")
            shop = existing_shop or _make_shop(now)
            installation = _ensure_installation(shop, now)
            password = _ensure_owner(shop)
            _ensure_viewer(shop, now)
            token = (
                "" if options["first"] and existing_shop else tokens.issue_token(installation, actor="system", at=now)
            )
        if existing_shop is None:
            planner_statistics.refresh_statistics()
        result = {
            "base_url": settings.BASE_URL,
            "shop_domain": shop.domain,
            "access_token": token,
            "api_secret": installation.app.api_secret,
            "staff": {"email": EMAIL, "password": password},
        }
        if not options["json"]:
            self.stdout.write(_format_credentials(shop, password, token))
        if not options["first"]:
            self.stdout.write(json.dumps(result))


def _format_credentials(shop: Shop, password: str, token: str) -> str:
    lines = [
        "",
        f"  Panel         {settings.BASE_URL}/admin/",
        f"  Login         {EMAIL}  {password}",
        f"  View only     {VIEWER}  {password}",
        f"  Shop          {shop.domain}",
    ]
    if not token:
        return "\n".join([*lines, "  Access token  shown only at the first start. For a new token: manage.py demo", ""])
    header = f"X-{settings.BRAND.capitalize()}-Access-Token"
    address = f"{settings.BASE_URL}/admin/api/{settings.API_VERSIONS[-1]}/shop.json"
    return "\n".join([*lines, f"  Access token  {token}", "", f'  curl -H "{header}: {token}" {address}', ""])


def _make_shop(at: datetime) -> Shop:
    shop = shop_creation.create_shop(
        domain=DOMAIN,
        name="Demo Store",
        email="hello@demo-store.localhost",
        owner_name="Robin Meyer",
        phone="+1 212 555 0142",
        address1="48 Mercer Street",
        city="New York",
        zip="10013",
        province="New York",
        province_code="NY",
        country_code="US",
        latitude=40.7209,
        longitude=-74.0021,
        currency="USD",
        timezone="America/New_York",
        plan=Shop.Plan.PREMIUM,
        actor="system",
        at=at,
    )
    with shop_scope(shop):
        create_demo_data(shop, at)
    return shop


def _ensure_installation(shop: Shop, at: datetime) -> Installation:
    """Install the demo app with all current scopes and return the installation."""
    with shop_scope(shop):
        existing_installation = (
            Installation.objects.filter(app__name=APP_NAME, uninstalled_at=None).select_related("app").first()
        )
    app = (
        existing_installation.app
        if existing_installation
        else app_installation.create_app(name=APP_NAME, distribution=App.Distribution.PRIVATE)
    )
    installation = app_installation.install_app(app, shop, scopes=SCOPES, actor="system", at=at)
    with shop_scope(shop):
        if not AppPurchase.objects.filter(installation=installation).exists():
            name, price = "Setting up the connection", Decimal("49.00")
            purchases.create_purchase(installation, name=name, price=price, test=True, actor="system", at=at)
        if not RecurringCharge.objects.filter(installation=installation).exists():
            attrs = {"name": "Emails", "price": Decimal("9.00"), "capped_amount": Decimal("50.00"), "test": True}
            charges.create_charge(installation, attrs, actor="system", at=at)
        _publish_first_rows(installation, at)
    return installation


def _publish_first_rows(installation: Installation, at: datetime) -> None:
    """Publish the first product and collection to the sales channel of the demo app."""
    product = Product.objects.filter(status=Product.Status.ACTIVE).order_by("pk").first()
    collection = Collection.objects.order_by("pk").first()
    if product is not None:
        listings.publish_product(installation, product.pk, actor="system", at=at)
    if collection is not None:
        listings.publish_collection(installation, collection.pk, actor="system", at=at)


def _ensure_owner(shop: Shop) -> str:
    """Create the demo owner if missing and return the password, which is stored in the data directory."""
    path = Path(settings.DATA_DIR) / "demo-password"
    user = User.objects.filter(email=EMAIL).first()
    if user is None:
        user = User.objects.create_superuser(EMAIL, None, first_name="Robin", last_name="Meyer")
    with shop_scope(shop):
        Membership.objects.get_or_create(shop=shop, user=user, defaults={"account_owner": True})
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(12))
    password = path.read_text()
    if not user.check_password(password):
        user.set_password(password)
        user.save()
    return password


def _ensure_viewer(shop: Shop, at: datetime) -> None:
    """Create the view-only demo user if missing. The user has the same password as the owner."""
    if User.objects.filter(email=VIEWER).exists():
        return
    owner = User.objects.get(email=EMAIL)
    with shop_scope(shop):
        membership = memberships.invite_member(
            shop,
            email=VIEWER,
            first_name="Noor",
            last_name="Haddad",
            permissions=(),
            view_only=NAMES,
            by=owner,
            at=at,
        )
    membership.user.password = owner.password
    membership.user.save()
