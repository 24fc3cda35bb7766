"""``manage.py demo``: the demo store, made once, and a fresh token to reach it."""

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

from apps.ground import statistics
from apps.ground.tenancy import shop_scope
from apps.shops.domain import demo_store, installing, opening, purchases, tokens
from apps.shops.models import App, AppPurchase, Installation, Shop
from apps.shops.models.scopes import SCOPES
from apps.staff.domain import memberships
from apps.staff.domain.permissions import NAMES
from apps.staff.models import Membership, User

DOMAIN = "demo-store.localhost"
EMAIL, VIEWER = "owner@demo-store.localhost", "viewer@demo-store.localhost"
APP_NAME = "Demo app"


class Command(BaseCommand):
    """Makes the demo store where it is missing; says how to get in."""

    help = "Make the demo store if it is absent, and print how to reach it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whether to print for people as well."""
        parser.add_argument("--json", action="store_true", help="print nothing but the JSON line")
        parser.add_argument(
            "--first", action="store_true", help="issue a token only where the store is new, and print no JSON line"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Make, then print; the last line is one JSON object."""
        now = timezone.now()
        with transaction.atomic():
            known = Shop.objects.filter(domain=DOMAIN).first()
            if known is None and not options["json"]:
                self.stdout.write("Making the demo store …")
            shop = known or _make_shop(now)
            installation = _installation(shop, now)
            password = _login(shop)
            _viewer(shop, password, now)
            token = "" if options["first"] and known else tokens.issue_token(installation, actor="system", at=now)
        if known is None:
            statistics.renew()
        result = {
            "base_url": settings.BASE_URL,
            "shop_domain": shop.domain,
            "access_token": token,
            "api_secret": installation.app.api_secret,
            "staff": {"email": EMAIL, "password": password},
        }
        if not options["json"]:
            self.stdout.write(_in_words(shop, password, token))
        if not options["first"]:
            self.stdout.write(json.dumps(result))


def _in_words(shop: Shop, password: str, token: str) -> str:
    """How to get in; a token can only be shown when it is issued."""
    lines = [
        "",
        f"  Panel         {settings.BASE_URL}/admin/",
        f"  Login         {EMAIL}  {password}",
        f"  May only view {VIEWER}  {password}",
        f"  Shop          {shop.domain}",
    ]
    if not token:
        return "\n".join([*lines, "  Access token  shown at the first start; another one: manage.py demo", ""])
    header = f"X-{settings.BRAND.capitalize()}-Access-Token"
    address = f"{settings.BASE_URL}/admin/api/{settings.API_VERSIONS[-1]}/shop.json"
    return "\n".join([*lines, f"  Access token  {token}", "", f'  curl -H "{header}: {token}" {address}', ""])


def _make_shop(at: datetime) -> Shop:
    shop = opening.create_shop(
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
        demo_store.fill(shop, at)
    return shop


def _installation(shop: Shop, at: datetime) -> Installation:
    """The demo app on the shop, with every scope that exists by now."""
    with shop_scope(shop):
        installed = Installation.objects.filter(app__name=APP_NAME, uninstalled_at=None).select_related("app").first()
    app = installed.app if installed else installing.create_app(name=APP_NAME, distribution=App.Distribution.PRIVATE)
    installation = installing.install(app, shop, scopes=SCOPES, actor="system", at=at)
    with shop_scope(shop):
        if not AppPurchase.objects.filter(installation=installation).exists():
            name, price = "Setting up the connection", Decimal("49.00")
            purchases.offer(installation, name=name, price=price, test=True, actor="system", at=at)
    return installation


def _login(shop: Shop) -> str:
    """The demo owner's password: made once, and kept beside the data so that it can be shown again."""
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


def _viewer(shop: Shop, password: str, at: datetime) -> None:
    """Somebody who may look at everything and change nothing, with the owner's password."""
    if User.objects.filter(email=VIEWER).exists():
        return
    with shop_scope(shop):
        place = memberships.invite(
            shop,
            email=VIEWER,
            first_name="Noor",
            last_name="Haddad",
            permissions=(),
            view_only=NAMES,
            by=User.objects.get(email=EMAIL),
            at=at,
        )
    place.user.set_password(password)
    place.user.save()
