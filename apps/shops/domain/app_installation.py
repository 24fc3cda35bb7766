"""Create, install and uninstall apps.

``uninstall_app`` also runs the registered ``uninstall_cleaners``, in the same transaction.

The shop's own app is an internal app that owns the webhooks that staff add, because a subscription always belongs to an
installed app. Its secret signs the deliveries. The first such webhook creates the app. The app is in no list of apps,
cannot get tokens or codes, and cannot be uninstalled or changed. Its API key contains the ID of the shop, so the unique
key allows one such app for each shop.
"""

import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import record_event
from apps.core.exceptions import AccessEnded, DomainError
from apps.core.registry import Registry
from apps.core.tenancy.access_scopes import SCOPES, UnknownScope, parse_scopes
from apps.core.tenancy.models import AccessToken, App, Installation, Shop
from apps.core.tenancy.models.apps import SHOP_APP_PREFIX
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain.app_secrets import generate_secret, rotate_secret
from apps.shops.models import AuthorizationCode

# Functions that delete an app's rows. ``uninstall_app`` calls them in the shop scope.
uninstall_cleaners = Registry[str, Callable[[Installation, datetime], None]]("uninstall cleaners")
# Callbacks for new installations and changed scopes. They run in the shop scope and in the transaction of the change.
grant_callbacks = Registry[str, Callable[[Installation], None]]("grant callbacks")

_SHOP_APP_NAME = "Backoffice"
# The shop's own app only receives webhooks, so it needs no scopes for writing.
_SHOP_APP_SCOPES = sorted(scope for scope in SCOPES if scope.startswith("read_"))


class ScopeUnknown(DomainError):
    field = "scopes"


class AppRetired(DomainError):
    pass


class NotInstalled(AccessEnded):
    pass


def generate_api_key() -> str:
    return secrets.token_hex(16)


def create_app(
    *,
    name: str,
    distribution: str = App.Distribution.CUSTOM,
    application_url: str = "",
    contact_email: str = "",
    redirect_urls: Sequence[str] = (),
    scopes: Sequence[str] = (),
    owner: Shop | None = None,
) -> App:
    """Create an app with a new API key and secret. The app is not installed anywhere yet.

    Without an owner, the app belongs to the operator. Invalid values raise a ``ValidationError``.
    """
    app = App(
        name=name,
        api_key=generate_api_key(),
        api_secret=generate_secret(),
        distribution=distribution,
        application_url=application_url,
        contact_email=contact_email,
        redirect_urls=list(redirect_urls),
        scopes=list(scopes),
        owner=owner,
    )
    app.full_clean()
    app.save()
    return app


@transaction.atomic
def install_app(app: App, shop: Shop, *, scopes: str | Iterable[str], actor: str, at: datetime) -> Installation:
    """Install an app in a shop, or change the scopes of an installed app.

    Raises:
        AppRetired: The app's registration was deleted.
        ScopeUnknown: A scope name is unknown.
    """
    try:
        scope_names = parse_scopes(scopes)
    except UnknownScope as error:
        raise ScopeUnknown(str(error)) from error
    with shop_scope(shop):
        installation, is_new = _get_or_create_installation(app, shop, scope_names, at)
        if is_new:
            record_event("app/installed", installation, actor=actor, at=at)
            _notify_grant_callbacks(installation)
        elif installation.scopes != scope_names:
            changes = {"scopes": [installation.scopes, scope_names]}
            installation.previous_scopes, installation.scopes = installation.scopes, scope_names
            installation.save()
            record_event("app/scopes_update", installation, actor=actor, at=at, changes=changes)
            _notify_grant_callbacks(installation)
    return installation


def _get_or_create_installation(app: App, shop: Shop, scopes: Sequence[str], at: datetime) -> tuple[Installation, bool]:
    """Lock the app's installation or create it, and return True for a new row.

    The lock prevents that a row is saved as installed after a concurrent uninstallation. A concurrent installation
    waits for the unique key and then finds the other row.
    """
    active = Installation.objects.select_for_update(no_key=True, of=("self",)).select_related("app", "shop")
    installation, is_new = active.get_or_create(
        app=app, uninstalled_at=None, defaults={"shop": shop, "scopes": scopes, "created_at": at}
    )
    # The new row's foreign key locks the app. A concurrent deletion of the app waits or has already committed.
    if is_new and App.objects.filter(pk=app.pk).exclude(retired_at=None).exists():
        raise AppRetired(_("The app was deleted in the meantime."))
    return installation, is_new


@transaction.atomic
def ensure_shop_app(shop: Shop, *, at: datetime) -> Installation:
    """Return the locked installation of the shop's own app, and create the app if the shop has none.

    The installation gets scopes that a new release has added. Call this function in the shop's scope.
    """
    app, _is_new = App.objects.get_or_create(
        api_key=f"{SHOP_APP_PREFIX}{shop.pk}",
        defaults={
            "name": _SHOP_APP_NAME,
            "api_secret": generate_secret(),
            "distribution": App.Distribution.PRIVATE,
            "owner": shop,
        },
    )
    if app.owner_id != shop.pk:
        _take_over(app, shop, at)
    installation, _is_new = _get_or_create_installation(app, shop, _SHOP_APP_SCOPES, at)
    if installation.scopes != _SHOP_APP_SCOPES:
        installation.scopes = _SHOP_APP_SCOPES
        installation.save()
    return installation


def _take_over(app: App, shop: Shop, at: datetime) -> None:
    """Assign the app of a deleted shop to the imported shop with the same ID, and replace the deleted shop's secret."""
    refresh_for_update(app, no_key=True)
    if app.owner_id != shop.pk:
        app.owner = shop
        app.save(update_fields=["owner"])
        rotate_secret(app, grace=timedelta(0), at=at)


def lock_active(app_id: int) -> None:
    """Lock the installation of an app in the current shop until the transaction ends.

    Call this function before adding rows that ``uninstall_app`` deletes. Otherwise a concurrent uninstallation could
    miss the new rows.

    Raises:
        NotInstalled: The app is not installed.
    """
    rows = Installation.objects.select_for_update(no_key=True).filter(app_id=app_id, uninstalled_at=None)
    # Without an order by the app's name, the query does not lock the app.
    if not rows.order_by("pk").values_list("pk", flat=True).first():
        raise NotInstalled(_("The app is not installed."))


def _notify_grant_callbacks(installation: Installation) -> None:
    for callback in grant_callbacks.values():
        callback(installation)


@transaction.atomic
def uninstall_app(installation: Installation, *, actor: str, at: datetime) -> None:
    """Uninstall an app: revoke the app's tokens and run all cleaners.

    The event is recorded first, so that the app still receives the webhook.

    Raises:
        NotInstalled: The app is already uninstalled.
    """
    with shop_scope(installation.shop):
        # Delete unused codes, because the exchange of a code would reinstall the app.
        AuthorizationCode.objects.filter(app_id=installation.app_id).delete()
        refresh_for_update(installation, no_key=True)
        if installation.uninstalled_at is not None:
            raise NotInstalled(_("The app is not installed."))
        record_event("app/uninstalled", installation, actor=actor, at=at)
        installation.uninstalled_at = at
        installation.save(update_fields=["uninstalled_at"])
        AccessToken.objects.filter(installation=installation, revoked_at=None).update(revoked_at=at)
        for clean in uninstall_cleaners.values():
            clean(installation, at)
