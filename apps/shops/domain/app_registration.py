"""Register apps: name, URLs, requested scopes and API secret.

An app belongs to the operator or to the shop that registered the app. The audit log of the owning shop contains the
app's events.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import ngettext

from apps.core.db.row_locks import get_for_update
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.tenancy.access_scopes import UnknownScope, parse_scopes
from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.shops.domain import app_installation, app_secrets
from apps.shops.domain.app_installation import ScopeUnknown, generate_api_key
from apps.shops.models import AuthorizationCode, RetiringSecret

Changes = dict[str, list[Any]]


@transaction.atomic
def register_app(values: Mapping[str, Any], *, owner: Shop | None, actor: str, at: datetime) -> App:
    """Register an app of a shop or, without an owner, of the operator.

    Raises:
        ScopeUnknown: A scope name is unknown.
        ValidationError: A value is invalid.
    """
    app = app_installation.create_app(owner=owner, **_parse_values(values))
    _record_for_owner("apps/create", app, actor=actor, at=at)
    return app


@transaction.atomic
def update_registration(app: App, values: Mapping[str, Any], *, actor: str, at: datetime) -> Changes:
    """Change the registration of an app and return the changes as ``{name: [before, after]}``.

    New scopes are not granted until a shop approves them. Removed scopes remain granted until the shop's next approval.

    Raises:
        ScopeUnknown: A scope name is unknown.
        ValidationError: A value is invalid.
    """
    locked_app = get_for_update(App, app.pk, no_key=True)
    new_values = _parse_values(values)
    old_values = {
        name: locked_app.requested_scopes if name == "scopes" else getattr(locked_app, name) for name in new_values
    }
    changes = {name: [old_values[name], value] for name, value in new_values.items() if old_values[name] != value}
    if not changes:
        return {}
    for name in changes:
        setattr(app, name, new_values[name])
        setattr(locked_app, name, new_values[name])
    locked_app.full_clean()
    locked_app.save(update_fields=list(changes))
    _record_for_owner("apps/update", locked_app, actor=actor, at=at, changes=changes)
    return changes


@transaction.atomic
def delete_registration(app: App, *, actor: str, at: datetime) -> None:
    """Delete the registration of an app that is not installed anywhere, so that its API key stops working.

    Past events still show the app's name, and pending webhooks are still signed and delivered.

    Raises:
        DomainError: A shop has the app installed.
    """
    locked_app = get_for_update(App, app.pk)
    with all_shops_scope():
        # A concurrent code exchange also deletes the code, so this query waits until the new installation is committed.
        AuthorizationCode.objects.filter(app=locked_app).delete()
        installation_count = Installation.objects.filter(app=locked_app, uninstalled_at=None).count()
    if installation_count:
        template = ngettext(
            "The app is installed in {count} shop. Uninstall it there first.",
            "The app is installed in {count} shops. Uninstall it there first.",
            installation_count,
        )
        raise DomainError(template.format(count=installation_count))
    if locked_app.retired_at is not None:
        return
    RetiringSecret.objects.filter(app=locked_app).delete()
    locked_app.api_key, locked_app.retired_at = generate_api_key(), at
    locked_app.redirect_urls, locked_app.scopes = [], []
    locked_app.save(update_fields=["api_key", "redirect_urls", "scopes", "retired_at"])
    _record_for_owner("apps/delete", locked_app, actor=actor, at=at)


@transaction.atomic
def replace_secret(app: App, *, overlap: timedelta, actor: str, at: datetime) -> str:
    secret = app_secrets.rotate_secret(app, grace=overlap, at=at)
    _record_for_owner("apps/secret", app, actor=actor, at=at)
    return secret


@transaction.atomic
def end_old_app_secrets(app: App, *, actor: str, at: datetime) -> int:
    revoked_count = app_secrets.revoke_old_secrets(app, at=at)
    if revoked_count:
        _record_for_owner("apps/old_secret_ended", app, actor=actor, at=at)
    return revoked_count


def _parse_values(values: Mapping[str, Any]) -> dict[str, Any]:
    if "scopes" not in values:
        return dict(values)
    try:
        return {**values, "scopes": parse_scopes(values["scopes"])}
    except UnknownScope as error:
        raise ScopeUnknown(str(error)) from error


def _record_for_owner(topic: str, app: App, *, actor: str, at: datetime, changes: Changes | None = None) -> None:
    if app.owner is not None:
        with shop_scope(app.owner):
            record_event(topic, app, actor=actor, at=at, changes=changes)
