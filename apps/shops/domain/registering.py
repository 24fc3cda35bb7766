"""Registering apps: what an app is called, where it is, what it asks for, and its secret.

An app is kept by the shop that registered it, whose audit trail tells what became of it, or by the operator.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import ngettext

from apps.ground.errors import DomainError
from apps.ground.locks import locked
from apps.ground.tenancy import every_shop, shop_scope
from apps.shops.domain import app_secrets, installing
from apps.shops.domain.installing import ScopeUnknown, new_key
from apps.shops.domain.records import record
from apps.shops.models import App, AuthorizationCode, Installation, RetiringSecret, Shop
from apps.shops.models.scopes import UnknownScope, parse_scopes

Changes = dict[str, list[Any]]


class StillAtWork(DomainError):
    """A shop has the app."""

    code = "app_still_at_work"


@transaction.atomic
def register(values: Mapping[str, Any], *, owner: Shop | None, actor: str, at: datetime) -> App:
    """Make an app with a fresh key and secret.

    Args:
        values: ``name``, and of ``distribution``, ``application_url``, ``redirect_urls`` and ``scopes`` what there is.
        owner: The shop that keeps it; None where the operator does.
        actor: Who does it.
        at: When.

    Raises:
        ScopeUnknown: A word names no scope.
        ValidationError: A value does not fit its field.
    """
    app = installing.create_app(owner=owner, **_checked(values))
    _record("apps/create", app, actor=actor, at=at)
    return app


@transaction.atomic
def change(app: App, values: Mapping[str, Any], *, actor: str, at: datetime) -> Changes:
    """Change what an app is; returns what changed, ``{name: [before, after]}``.

    Scopes that it asks for are granted nowhere by this: staff are asked, and those whom it asks for less keep what
    they granted until they are asked.

    Raises:
        ScopeUnknown: A word names no scope.
        ValidationError: A value does not fit its field.
    """
    held = locked(App, app.pk, no_key=True)
    wanted = _checked(values)
    before = {name: held.registered if name == "scopes" else getattr(held, name) for name in wanted}
    changes = {name: [before[name], value] for name, value in wanted.items() if before[name] != value}
    if not changes:
        return {}
    for name in changes:
        setattr(app, name, wanted[name])
        setattr(held, name, wanted[name])
    held.full_clean()
    held.save(update_fields=list(changes))
    _record("apps/update", held, actor=actor, at=at, changes=changes)
    return changes


@transaction.atomic
def retire(app: App, *, actor: str, at: datetime) -> None:
    """Remove the registration of an app that no shop has: nobody gets a token with its key any more.

    What it did stays under its name, and messages that are on their way to it are still delivered and signed.

    Raises:
        StillAtWork: A shop has it.
    """
    held = locked(App, app.pk)
    with every_shop():
        # Whoever exchanges a code at this moment has deleted it, and has the app installed by the time this goes on.
        AuthorizationCode.objects.filter(app=held).delete()
        at_work = Installation.objects.filter(app=held, uninstalled_at=None).count()
    if at_work:
        said = ngettext(
            "The app is at work in {count} shop. Uninstall it there first.",
            "The app is at work in {count} shops. Uninstall it there first.",
            at_work,
        )
        raise StillAtWork(said.format(count=at_work))
    if held.retired_at is not None:
        return
    RetiringSecret.objects.filter(app=held).delete()
    held.api_key, held.redirect_urls, held.scopes, held.retired_at = new_key(), [], [], at
    held.save(update_fields=["api_key", "redirect_urls", "scopes", "retired_at"])
    _record("apps/delete", held, actor=actor, at=at)


@transaction.atomic
def replace_secret(app: App, *, overlap: timedelta, actor: str, at: datetime) -> str:
    """Give an app a new secret, which is returned this once; the one before it counts on for the overlap."""
    secret = app_secrets.rotate_secret(app, grace=overlap, at=at)
    _record("apps/secret", app, actor=actor, at=at)
    return secret


@transaction.atomic
def end_old_secrets(app: App, *, actor: str, at: datetime) -> int:
    """Let the secrets before the present one end now; returns how many ended."""
    ended = app_secrets.confirm_secret(app, at=at)
    if ended:
        _record("apps/old_secret_ended", app, actor=actor, at=at)
    return ended


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    if "scopes" not in values:
        return dict(values)
    try:
        return {**values, "scopes": parse_scopes(values["scopes"])}
    except UnknownScope as error:
        raise ScopeUnknown(str(error)) from error


def _record(topic: str, app: App, *, actor: str, at: datetime, changes: Changes | None = None) -> None:
    """In the audit trail of the shop that keeps the app."""
    if app.owner is not None:
        with shop_scope(app.owner):
            record(topic, app, actor=actor, at=at, changes=changes)
