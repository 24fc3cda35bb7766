"""Making apps, installing them on shops, and uninstalling them.

``uninstall`` also takes away what each domain registered with ``on_uninstall``, in the same transaction.
"""

import secrets
from collections.abc import Callable, Iterable
from datetime import datetime

from django.db import transaction

from apps.ground.errors import DomainError
from apps.ground.tenancy import shop_scope
from apps.shops.domain.records import record
from apps.shops.models import AccessToken, App, Installation, Shop
from apps.shops.models.scopes import UnknownScope, parse_scopes

Cleaner = Callable[[Installation, datetime], None]

_cleaners: dict[str, Cleaner] = {}


class ScopeUnknown(DomainError):
    """A word names no scope."""

    code = "scope_unknown"
    field = "scopes"


class NotInstalled(DomainError):
    """The app is not (or no longer) installed on the shop."""

    code = "not_installed"


def on_uninstall(name: str, clean: Cleaner) -> None:
    """Register what goes with an app; called in the shop's scope, in the transaction of the uninstallation."""
    _cleaners[name] = clean


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
