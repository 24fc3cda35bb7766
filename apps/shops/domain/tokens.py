"""Access tokens: issued, exchanged for new ones, revoked."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from apps.ground.tenancy import shop_scope
from apps.shops.domain.installing import NotInstalled
from apps.shops.domain.records import record
from apps.shops.models import TOKEN_PREFIX, AccessToken, Installation, new_token, token_digest


@transaction.atomic
def issue_token(
    installation: Installation,
    *,
    actor: str,
    at: datetime,
    user_id: int | None = None,
    expires_at: datetime | None = None,
) -> str:
    """Make an access token; it is returned this once and cannot be read again.

    Args:
        installation: What it opens.
        actor: Who makes it.
        at: When.
        user_id: The staff member as whom it acts, and within whose permissions.
        expires_at: When it ends.

    Raises:
        NotInstalled: The app was uninstalled.
    """
    if installation.uninstalled_at is not None:
        raise NotInstalled(_("The app is not installed."))
    token = new_token()
    with shop_scope(installation.shop):
        row = AccessToken.objects.create(
            shop=installation.shop,
            installation=installation,
            digest=token_digest(token),
            prefix=token[: len(TOKEN_PREFIX) + 4],
            created_by=actor,
            created_at=at,
            user_id=user_id,
            expires_at=expires_at,
        )
        record("access_tokens/create", row, actor=actor, at=at)
    return token


@transaction.atomic
def rotate_tokens(installation: Installation, *, overlap: timedelta, actor: str, at: datetime) -> str:
    """Make a new token and let the others live for the overlap at most; returns the new one, this once."""
    with shop_scope(installation.shop):
        usable = AccessToken.objects.filter(
            # One that ends sooner anyway does not live longer by this.
            Q(expires_at=None) | Q(expires_at__gt=at + overlap),
            installation=installation,
            installation__uninstalled_at=None,
            revoked_at=None,
        )
        usable.update(expires_at=at + overlap)
    return issue_token(installation, actor=actor, at=at)


@transaction.atomic
def revoke_token(token: AccessToken, *, actor: str, at: datetime) -> bool:
    """Make a token useless at once; returns whether it was usable."""
    moved = AccessToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=at)
    if moved:
        record("access_tokens/revoke", token, actor=actor, at=at)
    return bool(moved)
