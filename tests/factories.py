"""Data for tests; each domain's factories stand in ``tests/<domain>/factories.py``."""

import json
from collections.abc import Iterable
from typing import Any

from django.utils import timezone
from factory.declarations import Sequence
from factory.django import DjangoModelFactory

from apps.content.models import ScriptTag
from apps.ground.tenancy import shop_scope
from apps.shops.domain import app_installation, shop_creation, tokens
from apps.shops.models import App, Installation, Shop
from apps.shops.models.scopes import SCOPES
from apps.staff.models import Membership, User

ALL_SCOPES = tuple(sorted(SCOPES))


def make_shop(**settings: Any) -> Shop:
    """A shop as ``create_shop`` opens it."""
    number = Shop.objects.count() + 1
    values = {"domain": f"shop-{number}.example", "name": f"Shop {number}", "email": "owner@shop.example", **settings}
    return shop_creation.create_shop(actor="system", at=timezone.now(), **values)


def make_installation(shop: Shop, scopes: Any = ALL_SCOPES, **app: Any) -> Installation:
    """An app of its own, installed on a shop."""
    made = app_installation.create_app(name=app.pop("name", f"App {App.objects.count() + 1}"), **app)
    return app_installation.install_app(made, shop, scopes=scopes, actor="system", at=timezone.now())


def make_token(installation: Installation) -> str:
    """An access token of an installation."""
    return tokens.issue_token(installation, actor="system", at=timezone.now())


class UserFactory(DjangoModelFactory[User]):
    """A staff member of no shop yet."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    email = Sequence(lambda number: f"staff-{number}@example.com")
    first_name = "Sam"


def make_member(shop: Shop, *permissions: str, view_only: Iterable[str] = (), owner: bool = False, **user: Any) -> User:
    """A staff member with a place in a shop."""
    made = UserFactory.create(**user)
    with shop_scope(shop):
        Membership.objects.create(
            shop=shop, user=made, account_owner=owner, permissions=list(permissions), view_only=list(view_only)
        )
    return made


class ScriptTagFactory(DjangoModelFactory[ScriptTag]):
    """A script tag; give it ``shop`` and ``app``."""

    class Meta:
        model = ScriptTag

    src = Sequence(lambda number: f"https://scripts.example/{number}.js")


def to_json(value: Any) -> bytes:
    """A body as clients send it."""
    return json.dumps(value).encode()
