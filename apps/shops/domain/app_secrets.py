"""App secrets, which sign outgoing requests and authenticate apps.

After a rotation, the old and the new secret are valid until the grace period ends or the app confirms the new secret.
Until then, outgoing requests are signed with the old secret, because the app's servers may not know the new secret yet.
"""

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext_noop

from apps.core.db.row_locks import get_for_update
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import App
from apps.shops.models import RetiringSecret

GRACE = timedelta(hours=24)
MAX_GRACE = timedelta(days=7)


def generate_secret() -> str:
    return f"bks_{secrets.token_urlsafe(32)}"


@transaction.atomic
def rotate_secret(app: App, *, grace: timedelta = GRACE, at: datetime) -> str:
    """Replace an app's secret and return the new secret. The old secret expires after the grace period.

    The function also updates ``app``. A grace period of zero revokes all old secrets immediately.

    Raises:
        DomainError: The grace period is not between zero and seven days.
    """
    if not timedelta(0) <= grace <= MAX_GRACE:
        raise DomainError(gettext_noop("must be between 0 and 7 days"), field="grace")
    locked_app = get_for_update(App, app.pk, no_key=True)
    if grace:
        RetiringSecret.objects.create(app=locked_app, secret=locked_app.api_secret, until=at + grace, created_at=at)
    else:
        revoke_old_secrets(locked_app, at=at)
    app.api_secret = locked_app.api_secret = generate_secret()
    locked_app.save(update_fields=["api_secret"])
    return app.api_secret


def revoke_old_secrets(app: App, *, at: datetime) -> int:
    return RetiringSecret.objects.filter(app=app, until__gt=at).update(until=at)


def get_valid_secrets(app: App, at: datetime) -> list[str]:
    retiring = RetiringSecret.objects.filter(app=app, until__gt=at).order_by("created_at", "id")
    return [*(row.secret for row in retiring), app.api_secret]


def is_valid_secret(app: App, submitted: str, at: datetime) -> bool:
    """Return True if a string is one of an app's valid secrets. The comparison takes constant time."""
    digest = hashlib.sha256(submitted.encode(errors="replace")).digest()
    # Compare digests, and always compare all secrets, so that the timing reveals neither the length of a secret nor
    # which secret matches.
    comparisons = [
        hmac.compare_digest(digest, hashlib.sha256(candidate.encode()).digest())
        for candidate in get_valid_secrets(app, at)
    ]
    return any(comparisons)
