import json
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from factory.declarations import Sequence
from factory.django import DjangoModelFactory

from apps.content.models import ScriptTag
from apps.core.rest.models import DeprecatedCall
from apps.core.tenancy.access_scopes import SCOPES
from apps.core.tenancy.models import App, Installation, Membership, Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain import app_installation, charges, purchases, shop_creation, tokens
from apps.shops.domain.app_records import app_credits, marketing
from apps.shops.models import ApplicationCredit, AppPurchase, MarketingEvent, RecurringCharge, UsageCharge

ALL_SCOPES = tuple(sorted(SCOPES))


def make_shop(**settings: Any) -> Shop:
    number = Shop.objects.count() + 1
    values = {"domain": f"shop-{number}.example", "name": f"Shop {number}", "email": "owner@shop.example", **settings}
    return shop_creation.create_shop(actor="system", at=timezone.now(), **values)


def make_installation(shop: Shop, scopes: Iterable[str] = ALL_SCOPES, **app: Any) -> Installation:
    app_row = app_installation.create_app(name=app.pop("name", f"App {App.objects.count() + 1}"), **app)
    return app_installation.install_app(app_row, shop, scopes=scopes, actor="system", at=timezone.now())


def make_token(installation: Installation) -> str:
    return tokens.issue_token(installation, actor="system", at=timezone.now())


class UserFactory(DjangoModelFactory[User]):
    class Meta:
        model = User
        skip_postgeneration_save = True

    email = Sequence(lambda number: f"staff-{number}@example.com")
    first_name = "Sam"


def make_member(shop: Shop, *permissions: str, view_only: Iterable[str] = (), owner: bool = False, **user: Any) -> User:
    user_row = UserFactory.create(**user)
    with shop_scope(shop):
        Membership.objects.create(
            shop=shop, user=user_row, account_owner=owner, permissions=list(permissions), view_only=list(view_only)
        )
    return user_row


class ScriptTagFactory(DjangoModelFactory[ScriptTag]):
    """A factory for script tags. ``shop`` and ``app`` are required."""

    class Meta:
        model = ScriptTag

    src = Sequence(lambda number: f"https://scripts.example/{number}.js")


def to_json(value: object) -> bytes:
    return json.dumps(value).encode()


def make_purchase(installation: Installation, *, at: datetime | None = None, **values: Any) -> AppPurchase:
    attributes = {"name": "Setting up", "price": Decimal("49.00"), "actor": "system", **values}
    return purchases.create_purchase(installation, at=at or timezone.now(), **attributes)


def make_charge(installation: Installation, *, approved: bool = False, **values: Any) -> RecurringCharge:
    attrs = {"name": "Pro", "price": Decimal("9.50"), "capped_amount": Decimal("100.00"), **values}
    charge = charges.create_charge(installation, attrs, actor="system", at=timezone.now())
    if not approved:
        return charge
    return charges.decide_charge(charge, approve=True, actor="system", at=timezone.now())


def make_usage(charge: RecurringCharge, price: str = "1.00") -> UsageCharge:
    return charges.create_usage_charge(
        charge, description="1000 emails", price=Decimal(price), actor="system", at=timezone.now()
    )


def make_marketing_event(installation: Installation, **values: Any) -> MarketingEvent:
    attrs = {
        "event_type": "newsletter",
        "started_at": timezone.now(),
        "marketing_channel": "email",
        "paid": False,
        "utm_campaign": "spring",
        **values,
    }
    return marketing.create_marketing_event(installation, attrs, actor="system", at=timezone.now())


def add_deprecated_call(installation: Installation, path: str) -> DeprecatedCall:
    return DeprecatedCall.objects.get_or_create(
        installation=installation,
        endpoint=f"GET {path}",
        version="2026-10",
        defaults={"shop": installation.shop, "anchor": "product-images", "last_call_at": timezone.now()},
    )[0]


def make_credit(installation: Installation) -> ApplicationCredit:
    attrs = {"description": "Refund of May", "amount": Decimal("5.00")}
    return app_credits.create_credit(installation, attrs, actor="system", at=timezone.now())
