"""Create, update and delete redirects.

Every change locks the shop first, so that two concurrent changes cannot create a loop together.
"""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from apps.content.domain.online_store.redirect_paths import (
    InvalidRedirectPath,
    build_path_key,
    build_target_key,
    get_shop_path,
    normalize_path,
    normalize_target,
)
from apps.content.models import Redirect
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import TAKEN
from apps.core.i18n.messages import define_message
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shops import lock_shop
from apps.core.types import Attrs, Errors

_LOOP = define_message("redirects.loop", "creates a loop: {path}")
_TOO_MANY_STEPS = define_message(
    "redirects.too_many_steps", "leads through more than {limit} redirects. Enter the last target instead"
)
# Browsers follow at most this many redirects.
MAX_STEPS = 20


class RedirectRefused(DomainError):
    """Raised when a path is already redirected, or when a target leads back to the path."""


def clean_redirect(attrs: Attrs) -> Errors:
    """Normalize the path and the target in place, and return the error messages."""
    errors: Errors = {}
    for name, normalize in (("path", normalize_path), ("target", normalize_target)):
        if name in attrs:
            try:
                attrs[name] = normalize(attrs[name] or "")
            except InvalidRedirectPath as error:
                errors[name] = [error.args[0]]
    return errors


@transaction.atomic
def create_redirect(*, path: str, target: str, actor: str, at: datetime) -> Redirect:
    """Create a redirect from a normalized path to a normalized target.

    Raises:
        RedirectRefused: The path is already redirected, or the target leads back to the path.
    """
    shop = lock_shop()
    redirect = Redirect(shop=shop, created_at=at, path=path, target=target)
    _set_keys(redirect, shop)
    redirect.save()
    record_event("redirects/create", redirect, actor=actor, at=at)
    return redirect


@transaction.atomic
def update_redirect(redirect: Redirect, attrs: Attrs, *, actor: str, at: datetime) -> None:
    """Update a redirect in place. Raises ``RedirectRefused`` like ``create_redirect``."""
    shop = lock_shop()
    refresh_for_update(redirect, no_key=True)
    if changes := apply_changes(redirect, attrs):
        _set_keys(redirect, shop)
        redirect.save()
        record_event("redirects/update", redirect, actor=actor, at=at, changes=changes)


@transaction.atomic
def delete_redirect(redirect: Redirect, *, actor: str, at: datetime) -> None:
    lock_shop()
    refresh_for_update(redirect)
    record_event("redirects/delete", redirect, actor=actor, at=at)
    redirect.delete()


@transaction.atomic
def redirect_renamed_path(old: str, new: str, *, actor: str, at: datetime) -> None:
    """Redirect the old path of a renamed object to its new path.

    Redirects to the old path get the new path as their target. A redirect from the new path is deleted, because the new
    path now exists.
    """
    shop = lock_shop()
    old_path, target = normalize_path(old), normalize_target(new)
    for existing in Redirect.objects.filter(path_key=build_path_key(new)):
        delete_redirect(existing, actor=actor, at=at)
    for existing in Redirect.objects.filter(target_key=build_target_key(old_path, shop)):
        update_redirect(existing, {"target": target}, actor=actor, at=at)
    same_path = Redirect.objects.filter(path_key=build_path_key(old_path)).first()
    if same_path is None:
        create_redirect(path=old_path, target=target, actor=actor, at=at)
    else:
        update_redirect(same_path, {"target": target}, actor=actor, at=at)


def is_loop(*, path: str, target: str) -> bool:
    """Return True if a redirect from a path to a target would lead back to the path through other redirects."""
    redirect = Redirect(shop=get_current_shop(), path=path, path_key=build_path_key(path), target=target)
    try:
        _check_target(redirect)
    except RedirectRefused:
        return True
    return False


def find_redirects(path_keys: Collection[str]) -> dict[str, Redirect]:
    """Return the redirects with the given path keys, keyed by path key."""
    return {row.path_key: row for row in Redirect.objects.filter(path_key__in=path_keys)}


def _set_keys(redirect: Redirect, shop: Shop) -> None:
    redirect.path_key = build_path_key(redirect.path)
    redirect.target_key = build_target_key(redirect.target, shop)
    others = Redirect.objects.exclude(pk=redirect.pk)
    if others.filter(path_key=redirect.path_key).exists():
        raise RedirectRefused(TAKEN, field="path")
    _check_target(redirect)


def _check_target(redirect: Redirect) -> None:
    """Follow the target through the other redirects, and refuse a target that leads back to the path."""
    shop, steps, target = get_current_shop(), [redirect.path], redirect.target
    for _step in range(MAX_STEPS):
        path = get_shop_path(target, shop)
        if path is None:
            return
        steps.append(path)
        # A redirect from a path without a query also applies to the path with a query, unless that has its own.
        keys = (build_path_key(path), build_path_key(path.partition("?")[0]))
        rows = {row.path_key: row for row in Redirect.objects.exclude(pk=redirect.pk).filter(path_key__in=keys)}
        rows[redirect.path_key] = redirect
        following = next((rows[key] for key in keys if key in rows), None)
        if following is redirect:
            raise RedirectRefused(_LOOP(path=" → ".join(steps)), field="target")
        if following is None:
            return
        target = following.target
    raise RedirectRefused(_TOO_MANY_STEPS(limit=MAX_STEPS), field="target")
