"""The secrets of apps: what signs what we send, and by which an app proves that it is the one.

A secret is replaced without a moment in which an app's servers and we disagree: the one before goes on for a grace, or
until the app confirms. What is signed once is signed with the old one, which receivers surely know; both are taken.
"""

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext_noop

from apps.ground.errors import DomainError
from apps.ground.locks import locked
from apps.shops.models import App, RetiringSecret

GRACE = timedelta(hours=24)
MAX_GRACE = timedelta(days=7)


class GraceRefused(DomainError):
    """The old secret cannot live on for so long."""

    code = "grace_refused"
    field = "grace"


def new_secret() -> str:
    """A fresh secret."""
    return f"bks_{secrets.token_urlsafe(32)}"


@transaction.atomic
def rotate_secret(app: App, *, grace: timedelta = GRACE, at: datetime) -> str:
    """Give an app a new secret; the one before it counts on for the grace. Returns the new one, this once.

    Args:
        app: Whose secret; its object gets the new one.
        grace: From nothing to seven days. Without any, all secrets before the new one end.
        at: When.

    Raises:
        GraceRefused: The grace is outside of that.
    """
    if not timedelta(0) <= grace <= MAX_GRACE:
        raise GraceRefused(gettext_noop("must be between 0 and 7 days"))
    held = locked(App, app.pk, no_key=True)
    if grace:
        RetiringSecret.objects.create(app=held, secret=held.api_secret, until=at + grace, created_at=at)
    else:
        confirm_secret(held, at=at)
    app.api_secret = held.api_secret = new_secret()
    held.save(update_fields=["api_secret"])
    return app.api_secret


def confirm_secret(app: App, *, at: datetime) -> int:
    """Let the old secrets go: the app's servers know the new one. Returns how many went."""
    return RetiringSecret.objects.filter(app=app, until__gt=at).update(until=at)


def secrets_of(app: App, at: datetime) -> list[str]:
    """The secrets that count at a moment: the one that receivers surely know first, the newest last."""
    retiring = RetiringSecret.objects.filter(app=app, until__gt=at).order_by("created_at", "id")
    return [*(row.secret for row in retiring), app.api_secret]


def is_secret_of(app: App, given: str, at: datetime) -> bool:
    """Whether a text is one of an app's secrets; how long that takes tells nothing of how near it is."""
    digest = hashlib.sha256(given.encode(errors="replace")).digest()
    # Each is compared, and by digests: neither which one it is nor its length shows in the time.
    found = [hmac.compare_digest(digest, hashlib.sha256(secret.encode()).digest()) for secret in secrets_of(app, at)]
    return any(found)
