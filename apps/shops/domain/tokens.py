from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import TOKEN_PREFIX, AccessToken, Installation, generate_token, hash_token
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain.app_installation import NotInstalled


@transaction.atomic
def issue_token(
    installation: Installation,
    *,
    actor: str,
    at: datetime,
    user_id: int | None = None,
    expires_at: datetime | None = None,
) -> str:
    """Create and return an access token. Only a digest is stored, so the token cannot be shown again.

    The token acts as the staff member with ``user_id``, with only the scopes that this member's permissions allow.

    Raises:
        NotInstalled: The app was uninstalled.
        DomainError: The app is the shop's own app.
    """
    if installation.uninstalled_at is not None:
        raise NotInstalled(_("The app is not installed."))
    if installation.app.is_shop_app:
        raise DomainError(_("This app only owns the webhooks of the shop. It can't have tokens."))
    token = generate_token()
    with shop_scope(installation.shop):
        row = AccessToken.objects.create(
            shop=installation.shop,
            installation=installation,
            digest=hash_token(token),
            prefix=token[: len(TOKEN_PREFIX) + 4],
            created_by=actor,
            created_at=at,
            user_id=user_id,
            expires_at=expires_at,
        )
        record_event("access_tokens/create", row, actor=actor, at=at)
    return token


@transaction.atomic
def rotate_tokens(installation: Installation, *, overlap: timedelta, actor: str, at: datetime) -> str:
    """Create and return a new token. The installation's other tokens expire after ``overlap``."""
    with shop_scope(installation.shop):
        usable = AccessToken.objects.filter(
            # Do not extend the lifetime of tokens that expire sooner.
            Q(expires_at=None) | Q(expires_at__gt=at + overlap),
            installation=installation,
            installation__uninstalled_at=None,
            revoked_at=None,
        )
        usable.update(expires_at=at + overlap)
    return issue_token(installation, actor=actor, at=at)


@transaction.atomic
def revoke_token(token: AccessToken, *, actor: str, at: datetime) -> bool:
    """Revoke a token. Return False if the token was already revoked."""
    updated = AccessToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=at)
    if updated:
        record_event("access_tokens/revoke", token, actor=actor, at=at)
    return bool(updated)
