"""Opening shops; making, installing and uninstalling apps; issuing and revoking tokens.

``create_shop`` also makes what each domain registered with ``starter``. ``uninstall`` also takes away what each domain
registered with ``on_uninstall``, in the same transaction.
"""

import secrets
import zoneinfo
from collections.abc import Callable, Container, Iterable
from datetime import datetime, timedelta

import pycountry
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.text import slugify

from apps.ground.errors import DomainError
from apps.ground.phrases import TAKEN
from apps.ground.tenancy import shop_scope
from apps.shops.domain.records import record
from apps.shops.models import TOKEN_PREFIX, AccessToken, App, Installation, Shop, new_token, token_digest
from apps.shops.models.scopes import UnknownScope, parse_scopes

Starter = Callable[[Shop, datetime], None]
Cleaner = Callable[[Installation, datetime], None]

_starters: dict[str, Starter] = {}
_cleaners: dict[str, Cleaner] = {}


class DomainTaken(DomainError):
    """Another shop has the domain."""

    code = "domain_taken"
    field = "domain"


class ScopeUnknown(DomainError):
    """A word names no scope."""

    code = "scope_unknown"
    field = "scopes"


class NotInstalled(DomainError):
    """The app is not (or no longer) installed on the shop."""

    code = "not_installed"


def starter(name: str, make: Starter) -> None:
    """Register what a new shop starts with; called in the shop's scope, in the order of registration."""
    _starters[name] = make


def on_uninstall(name: str, clean: Cleaner) -> None:
    """Register what goes with an app; called in the shop's scope, in the transaction of the uninstallation."""
    _cleaners[name] = clean


@transaction.atomic
def create_shop(*, domain: str, name: str, email: str, actor: str, at: datetime, **settings: object) -> Shop:
    """Open a shop with everything that a shop starts with.

    Args:
        domain: Its domain, e.g. ``shop.example``; unique.
        name: What people call it.
        email: Where the owner is reached.
        actor: Who opens it.
        at: When.
        settings: Further fields of ``Shop``.

    Raises:
        DomainTaken: Another shop has the domain.
        ValidationError: A value does not fit its field.
    """
    if Shop.objects.filter(domain=domain).exists():
        raise DomainTaken(TAKEN)
    shop = Shop(domain=domain, name=name, email=email, handle=_free_handle(domain), created_at=at, **settings)
    shop.full_clean()
    _check_codes(shop)
    shop.save()
    with shop_scope(shop):
        for make in _starters.values():
            make(shop, at)
        record("shop/create", shop, actor=actor, at=at)
    shop.refresh_from_db()
    return shop


def _check_codes(shop: Shop) -> None:
    """Standard codes must exist: a shop in an unknown time zone, for one, could not be shown at all."""
    standards: dict[str, tuple[str, Container[str]]] = {
        "timezone": ("IANA time zone", zoneinfo.available_timezones()),
        "currency": ("ISO 4217 currency", {currency.alpha_3 for currency in pycountry.currencies}),
        "country_code": ("ISO 3166 country", {country.alpha_2 for country in pycountry.countries}),
    }
    given = {name: getattr(shop, name) for name in standards}
    if wrong := {
        name: f"{given[name]} is no {kind}." for name, (kind, codes) in standards.items() if given[name] not in codes
    }:
        raise ValidationError(wrong)


def _free_handle(domain: str) -> str:
    """The domain's first label, numbered where another shop has it."""
    base = slugify(domain.split(".", maxsplit=1)[0])[:50] or "shop"
    taken = set(Shop.objects.filter(handle__startswith=base).values_list("handle", flat=True))
    return next(handle for handle in _numbered(base) if handle not in taken)


def _numbered(base: str) -> Iterable[str]:
    yield base
    number = 1
    while True:
        yield f"{base}-{number}"
        number += 1


def create_app(*, name: str, distribution: str = App.Distribution.CUSTOM, application_url: str = "") -> App:
    """Make an app with a fresh key and secret; it is installed nowhere yet."""
    app = App(
        name=name,
        api_key=secrets.token_hex(16),
        api_secret=f"bks_{secrets.token_urlsafe(32)}",
        distribution=distribution,
        application_url=application_url,
    )
    app.full_clean()
    app.save()
    return app


@transaction.atomic
def install(app: App, shop: Shop, *, scopes: str | Iterable[str], actor: str, at: datetime) -> Installation:
    """Install an app on a shop, or change what an installed app may do.

    Raises:
        ScopeUnknown: A word names no scope.
    """
    try:
        granted = parse_scopes(scopes)
    except UnknownScope as error:
        raise ScopeUnknown(str(error)) from error
    with shop_scope(shop):
        installation = Installation.objects.filter(app=app, uninstalled_at=None).first()
        if installation is None:
            installation = Installation.objects.create(shop=shop, app=app, scopes=granted, created_at=at)
            record("app/installed", installation, actor=actor, at=at)
        elif installation.scopes != granted:
            changes = {"scopes": [installation.scopes, granted]}
            installation.scopes = granted
            installation.save()
            record("app/scopes_update", installation, actor=actor, at=at, changes=changes)
    return installation


@transaction.atomic
def uninstall(installation: Installation, *, actor: str, at: datetime) -> None:
    """Take an app off a shop: its tokens are useless at once, and what domains hold for it goes.

    Raises:
        NotInstalled: It is uninstalled already.
    """
    with shop_scope(installation.shop):
        moved = Installation.objects.filter(pk=installation.pk, uninstalled_at=None).update(uninstalled_at=at)
        if not moved:
            raise NotInstalled("The app is not installed.")
        AccessToken.objects.filter(installation=installation, revoked_at=None).update(revoked_at=at)
        for clean in _cleaners.values():
            clean(installation, at)
        installation.refresh_from_db()
        record("app/uninstalled", installation, actor=actor, at=at)


@transaction.atomic
def issue_token(installation: Installation, *, actor: str, at: datetime) -> str:
    """Make an access token; it is returned this once and cannot be read again.

    Raises:
        NotInstalled: The app was uninstalled.
    """
    if installation.uninstalled_at is not None:
        raise NotInstalled("The app is not installed.")
    token = new_token()
    with shop_scope(installation.shop):
        row = AccessToken.objects.create(
            shop=installation.shop,
            installation=installation,
            digest=token_digest(token),
            prefix=token[: len(TOKEN_PREFIX) + 4],
            created_by=actor,
            created_at=at,
        )
        record("access_tokens/create", row, actor=actor, at=at)
    return token


@transaction.atomic
def rotate_tokens(installation: Installation, *, overlap: timedelta, actor: str, at: datetime) -> str:
    """Make a new token and let the others live for the overlap only; returns the new one, this once."""
    with shop_scope(installation.shop):
        AccessToken.objects.filter(installation=installation).usable().update(expires_at=at + overlap)
    return issue_token(installation, actor=actor, at=at)


@transaction.atomic
def revoke_token(token: AccessToken, *, actor: str, at: datetime) -> bool:
    """Make a token useless at once; returns whether it was usable."""
    moved = AccessToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=at)
    if moved:
        record("access_tokens/revoke", token, actor=actor, at=at)
    return bool(moved)
