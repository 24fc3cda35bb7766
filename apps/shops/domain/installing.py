"""Making apps, installing them on shops, and uninstalling them.

``uninstall`` also takes away what each domain registered with ``on_uninstall``, in the same transaction.
"""

import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.ground.errors import DomainError
from apps.ground.locks import reread
from apps.ground.tenancy import shop_scope
from apps.shops.domain.app_secrets import new_secret
from apps.shops.domain.records import record
from apps.shops.models import AccessToken, App, AuthorizationCode, Installation, Shop
from apps.shops.models.scopes import UnknownScope, parse_scopes

Cleaner = Callable[[Installation, datetime], None]
Grantee = Callable[[Installation], None]

_cleaners: dict[str, Cleaner] = {}
_grantees: list[Grantee] = []


class ScopeUnknown(DomainError):
    """A word names no scope."""

    code = "scope_unknown"
    field = "scopes"


class AppRetired(DomainError):
    """The registration of the app was removed."""

    code = "app_retired"


class NotInstalled(DomainError):
    """The app is not (or no longer) installed on the shop."""

    code = "not_installed"


def on_uninstall(name: str, clean: Cleaner) -> None:
    """Register what goes with an app; called in the shop's scope, in the transaction of the uninstallation."""
    _cleaners[name] = clean


def on_grant(follow: Grantee) -> None:
    """Register what follows when an app comes to a shop, or may do more or less there; called as ``on_uninstall``."""
    _grantees.append(follow)


def new_key() -> str:
    """A fresh public name of an app, by which it asks."""
    return secrets.token_hex(16)


def create_app(
    *,
    name: str,
    distribution: str = App.Distribution.CUSTOM,
    application_url: str = "",
    redirect_urls: Sequence[str] = (),
    scopes: Sequence[str] = (),
    owner: Shop | None = None,
) -> App:
    """Make an app with a fresh key and secret; it is installed nowhere yet.

    Args:
        name: What staff call it.
        distribution: For whom it is.
        application_url: Where it is reached itself.
        redirect_urls: Where staff may be led back to.
        scopes: What it asks for, known words.
        owner: The shop that keeps it; None where the operator does.

    Raises:
        ValidationError: A value does not fit its field.
    """
    app = App(
        name=name,
        api_key=new_key(),
        api_secret=new_secret(),
        distribution=distribution,
        application_url=application_url,
        redirect_urls=list(redirect_urls),
        scopes=list(scopes),
        owner=owner,
    )
    app.full_clean()
    app.save()
    return app


@transaction.atomic
def install(app: App, shop: Shop, *, scopes: str | Iterable[str], actor: str, at: datetime) -> Installation:
    """Install an app on a shop, or change what an installed app may do.

    Raises:
        AppRetired: There is no such registration any more.
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
            # The new row holds the app's: who removes the registration waits, or has done so by now.
            if App.objects.filter(pk=app.pk).exclude(retired_at=None).exists():
                raise AppRetired(_("The app was removed meanwhile."))
            record("app/installed", installation, actor=actor, at=at)
            _tell(installation)
        elif installation.scopes != granted:
            changes = {"scopes": [installation.scopes, granted]}
            installation.previous_scopes, installation.scopes = installation.scopes, granted
            installation.save()
            record("app/scopes_update", installation, actor=actor, at=at, changes=changes)
            _tell(installation)
    return installation


def _tell(installation: Installation) -> None:
    for follow in _grantees:
        follow(installation)


@transaction.atomic
def uninstall(installation: Installation, *, actor: str, at: datetime) -> None:
    """Take an app off a shop: its tokens are useless at once, and what domains hold for it goes.

    The event is recorded first, while the app may still be told of it.

    Raises:
        NotInstalled: It is uninstalled already.
    """
    with shop_scope(installation.shop):
        # What was approved and not fetched yet would bring the app back.
        AuthorizationCode.objects.filter(app_id=installation.app_id).delete()
        reread(installation, no_key=True)
        if installation.uninstalled_at is not None:
            raise NotInstalled(_("The app is not installed."))
        record("app/uninstalled", installation, actor=actor, at=at)
        installation.uninstalled_at = at
        installation.save(update_fields=["uninstalled_at"])
        AccessToken.objects.filter(installation=installation, revoked_at=None).update(revoked_at=at)
        for clean in _cleaners.values():
            clean(installation, at)
