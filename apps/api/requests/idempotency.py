"""``Idempotency-Key``: the same request, sent again, has no second effect and gets the first answer.

The key is claimed by an insert in the transaction of the work. A second request with the key waits at the unique index
until the first commits (then it replays the stored answer) or rolls back (then it does the work itself); after 5
seconds it is told 409. Refusals are not stored.
Rule: decisions, Idempotency.
"""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse

from apps.api.errors import CONTENT_TYPE, BadRequest, Conflict, Unprocessable
from apps.api.models import IdempotencyKey
from apps.api.requests.authentication import Access

HEADER = "HTTP_IDEMPOTENCY_KEY"
LIFETIME = timedelta(hours=24)
WAIT_SECONDS = 5
MAX_LENGTH = 255


class _Refused(Exception):
    """Carries a refusal out of the transaction, which must not keep the key."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.response = response


def once(
    request: HttpRequest,
    access: Access,
    prepare: Callable[[], None],
    work: Callable[[], HttpResponse],
    *,
    at: datetime,
) -> HttpResponse:
    """Do the work of a request, or replay its answer.

    Args:
        request: What was sent.
        access: Whose key it is.
        prepare: The slow part of the work, done before the transaction opens, and not at all for a replay: what it
            would download may be gone by then.
        work: The work.
        at: When the request came.

    Raises:
        BadRequest: The key is too long or not plain text.
        Conflict: The same key is still being worked on after 5 seconds.
        Unprocessable: The key was used with another body or path.
    """
    key = request.META[HEADER]
    if not 0 < len(key) <= MAX_LENGTH or not key.isprintable():
        raise BadRequest({"idempotency_key": f"must have 1 to {MAX_LENGTH} printable characters"})
    fingerprint = hashlib.sha256(f"{request.method} {request.path}\n".encode() + request.body).hexdigest()
    mine = IdempotencyKey.objects.filter(installation=access.installation, key=key)
    if row := mine.filter(created_at__gte=at - LIFETIME).first():
        return _replay(row, fingerprint)
    prepare()
    try:
        with transaction.atomic():
            _wait_at_most(WAIT_SECONDS)
            if not _claim(access, key, fingerprint, at):
                return _replay(mine.get(), fingerprint)
            response = work()
            if response.status_code >= 300:
                raise _Refused(response)
            IdempotencyKey.objects.filter(installation=access.installation, key=key).update(
                status=response.status_code, location=response.get("Location", ""), body=bytes(response.content)
            )
            return response
    except _Refused as refused:
        return refused.response
    except OperationalError as error:
        if _is_waiting_over(error):
            raise Conflict("Conflict", headers={"Retry-After": "2.0"}) from error
        raise


def _claim(access: Access, key: str, fingerprint: str, at: datetime) -> bool:
    """Insert the key, unless a living one is there; waits for another transaction that is inserting it."""
    IdempotencyKey.objects.filter(installation=access.installation, key=key, created_at__lt=at - LIFETIME).delete()
    row = IdempotencyKey(
        shop=access.shop, installation=access.installation, key=key, fingerprint=fingerprint, created_at=at
    )
    IdempotencyKey.objects.bulk_create([row], ignore_conflicts=True)
    # A bulk create that ignores conflicts does not say whether it inserted; a claimed row has no status yet, and a
    # committed one always has.
    return IdempotencyKey.objects.filter(installation=access.installation, key=key, status=0).exists()


def _replay(row: IdempotencyKey, fingerprint: str) -> HttpResponse:
    if row.fingerprint != fingerprint:
        raise Unprocessable({"base": ["Idempotency-Key was used with another request"]})
    response = HttpResponse(bytes(row.body), status=row.status, content_type=CONTENT_TYPE)
    response["Idempotent-Replayed"] = "true"
    if row.location:
        response["Location"] = row.location
    return response


def _wait_at_most(seconds: int) -> None:
    """Bound the wait at the unique index; SQLite's writers queue at BEGIN, bounded by the driver's timeout."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{int(seconds)}s'")


def _is_waiting_over(error: OperationalError) -> bool:
    state = getattr(error.__cause__, "sqlstate", None)
    return state == "55P03" or "database is locked" in str(error)


def clear_expired(at: datetime) -> int:
    """Delete keys after their 24 hours, in batches."""
    cleared = 0
    expired = IdempotencyKey.objects.filter(created_at__lt=at - LIFETIME).order_by("created_at")
    while ids := list(expired.values_list("pk", flat=True)[:1000]):
        cleared += IdempotencyKey.objects.filter(pk__in=ids).delete()[0]
    return cleared
