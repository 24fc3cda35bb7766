"""``Idempotency-Key``: the same request, sent again, has no second effect and gets the first answer.

The key is claimed by an insert in the transaction of the work. A second request with the key waits at the unique index
until the first commits (then it replays the stored answer) or rolls back (then it does the work itself); after 5
seconds it is told 409. Refusals are not stored.
Rule: decisions, Idempotency.
"""

import hashlib
import re
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from django.db import OperationalError, transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from apps.api.errors import CONTENT_TYPE, BadRequest, Conflict, Unprocessable
from apps.api.models import IdempotencyKey
from apps.api.requests.authentication import Access
from apps.events.domain.context import current_cause
from apps.events.models import Event
from apps.ground.locks import wait_at_most
from apps.ground.outages import RETRY_AFTER, is_wait_over

HEADER = "HTTP_IDEMPOTENCY_KEY"
LIFETIME = timedelta(hours=24)
WAIT_SECONDS = 5
MAX_LENGTH = 255
# What a path names: a resource and an id.
_NAMED = re.compile(r"/([a-z_]+)/([0-9]+)(?=[/.])")

Rewrite = Callable[[bytes], bytes]


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
    keep: Rewrite = bytes,
    restore: Rewrite = bytes,
) -> HttpResponse:
    """Do the work of a request, or replay its answer.

    Args:
        request: What was sent.
        access: Whose key it is.
        prepare: What comes before the work: finding what the path names, and the slow part, done before the
            transaction opens. Not for a replay: the parent, or what it would download, may be gone by then.
        work: The work.
        at: When the request came.
        keep: What of the answer's bytes is stored, for answers that hold a secret.
        restore: The answer out of what was stored.

    Raises:
        BadRequest: The key is too long or not plain text.
        Conflict: The same key is still being worked on after 5 seconds.
        Unprocessable: The key was used with another body, path or query.
    """
    key = request.META[HEADER]
    if not 0 < len(key) <= MAX_LENGTH or not key.isprintable():
        raise BadRequest({"idempotency_key": f"must have 1 to {MAX_LENGTH} printable characters"})
    # Clients make keys of whatever they have, an e-mail for one: only the digest is kept.
    key = hashlib.sha256(f"{_owner(access)}{key}".encode()).hexdigest()
    fingerprint = _fingerprint(request)
    mine = IdempotencyKey.objects.filter(installation=access.installation, key=key)
    if row := mine.filter(created_at__gte=at - LIFETIME).first():
        return _replay(row, fingerprint, restore)
    prepare()
    try:
        with transaction.atomic():
            if not _claim(access, key, fingerprint, request.path, at):
                return _replay(mine.get(), fingerprint, restore)
            response = work()
            if response.status_code >= 300:
                raise _Refused(response)
            IdempotencyKey.objects.filter(installation=access.installation, key=key).update(
                status=response.status_code, location=response.get("Location", ""), body=bytes(keep(response.content))
            )
            return response
    except _Refused as refused:
        return refused.response


def _owner(access: Access) -> str:
    """What sets the keys of a person's tokens apart from the app's own; no key can begin so, which is printable."""
    return f"{access.user_id}\0" if access.user_id else ""


def _fingerprint(request: HttpRequest) -> str:
    """What makes a request the same: method, path, query and body."""
    query = request.META.get("QUERY_STRING", "")
    where = f"{request.path}?{query}" if query else request.path
    return hashlib.sha256(f"{request.method} {where}\n".encode() + request.body).hexdigest()


def _claim(access: Access, key: str, fingerprint: str, path: str, at: datetime) -> bool:
    """Insert the key, unless a living one is there; waits for another transaction that is inserting it.

    SQLite's writers queue before their transaction begins, whatever it is that they wait for.

    Raises:
        Conflict: It has not ended after 5 seconds.
    """
    wait_at_most(f"{WAIT_SECONDS}s")
    try:
        is_mine = _insert(access, key, fingerprint, path, at)
    except OperationalError as error:
        if is_wait_over(error):
            raise Conflict("Conflict", headers={"Retry-After": RETRY_AFTER}) from error
        raise
    wait_at_most("DEFAULT")
    return is_mine


def _insert(access: Access, key: str, fingerprint: str, path: str, at: datetime) -> bool:
    IdempotencyKey.objects.filter(installation=access.installation, key=key, created_at__lt=at - LIFETIME).delete()
    row = IdempotencyKey(
        shop=access.shop,
        installation=access.installation,
        key=key,
        fingerprint=fingerprint,
        created_at=at,
        path=path[:2048],
        request_id=current_cause().request_id,
    )
    IdempotencyKey.objects.bulk_create([row], ignore_conflicts=True)
    # A bulk create that ignores conflicts does not say whether it inserted; a claimed row has no status yet, and a
    # committed one always has.
    return IdempotencyKey.objects.filter(installation=access.installation, key=key, status=0).exists()


def _replay(row: IdempotencyKey, fingerprint: str, restore: Rewrite) -> HttpResponse:
    if row.fingerprint != fingerprint:
        raise Unprocessable({"base": ["Idempotency-Key was used with another request"]})
    response = HttpResponse(restore(bytes(row.body)), status=row.status, content_type=CONTENT_TYPE)
    response["Idempotent-Replayed"] = "true"
    if row.location:
        response["Location"] = row.location
    return response


def forget_answers(model: type[Model], ids: Collection[int], events: QuerySet[Event]) -> None:
    """Empty the answers of requests that were made on these rows or changed them; a replay then shows an empty object.

    Follows ``apps.events.domain.forgetting``.
    """
    plural, wanted = str(model._meta.verbose_name_plural).replace(" ", "_"), {str(pk) for pk in ids}
    stored = IdempotencyKey.objects.filter(path__contains=f"/{plural}/").exclude(status=0).values_list("pk", "path")
    touched = [pk for pk, path in stored if wanted & {found[1] for found in _NAMED.findall(path) if found[0] == plural}]
    touched += IdempotencyKey.objects.filter(
        request_id__in=events.exclude(request_id="").values("request_id")
    ).values_list("pk", flat=True)
    IdempotencyKey.objects.filter(pk__in=touched).exclude(status=0).update(body=b"{}")


def clear_expired(at: datetime) -> int:
    """Delete keys after their 24 hours, in batches."""
    cleared = 0
    expired = IdempotencyKey.objects.filter(created_at__lt=at - LIFETIME).order_by("created_at")
    while ids := list(expired.values_list("pk", flat=True)[:1000]):
        cleared += IdempotencyKey.objects.filter(pk__in=ids).delete()[0]
    return cleared
