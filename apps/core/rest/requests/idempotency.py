"""Support ``Idempotency-Key``: a repeated request makes no further changes and returns the first response.

The key is inserted in the same transaction as the request's changes. A second request with the same key waits at the
unique index until the first transaction ends. After a commit, the second request returns the stored response. After a
rollback, the second request runs normally. If it has to wait longer than 5 seconds, it returns a 409. Error responses
are not stored.
"""

import hashlib
import re
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from django.db import OperationalError, transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from apps.core.db.row_locks import set_lock_timeout
from apps.core.db.transient_errors import RETRY_AFTER, is_lock_timeout
from apps.core.events.context import get_event_context
from apps.core.events.models import Event
from apps.core.rest.exceptions import CONTENT_TYPE, BadRequest, Conflict, Unprocessable
from apps.core.rest.models import IdempotencyKey
from apps.core.rest.requests.authentication import Access

IDEMPOTENCY_HEADER = "HTTP_IDEMPOTENCY_KEY"
KEY_LIFETIME = timedelta(hours=24)
WAIT_SECONDS = 5
MAX_LENGTH = 255
# Matches a path that begins with a resource and an id.
_RESOURCE_AND_ID = re.compile(r"/([a-z_]+)/([0-9]+)(?=[/.])")

Rewrite = Callable[[bytes], bytes]


class _ErrorResponse(Exception):
    """Raised to roll back the transaction, including the key, and return an error response."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.response = response


def replay_or_run(
    request: HttpRequest,
    access: Access,
    prepare: Callable[[], None],
    work: Callable[[], HttpResponse],
    *,
    at: datetime,
    keep: Rewrite = bytes,
    restore: Rewrite = bytes,
) -> HttpResponse:
    """Run the work of a request, or replay its stored response. Each caller has separate keys.

    ``prepare`` loads the objects in the path and does slow work before the transaction begins. Replays skip this step,
    because the parent or a file to download may no longer exist. ``keep`` converts the response body to the bytes to
    store, without secrets, and ``restore`` converts the stored bytes to a body. A key that was used with another body,
    path or query is an error.
    """
    key = request.META[IDEMPOTENCY_HEADER]
    if not 0 < len(key) <= MAX_LENGTH or not key.isprintable():
        raise BadRequest({"idempotency_key": f"must have 1 to {MAX_LENGTH} printable characters"})
    # The NUL prevents collisions of a staff member's keys with the printable keys of an app.
    prefix = f"{access.user_id}\0" if access.user_id else ""
    # Only the digest is stored, because a client may use personal data such as an email address as the key.
    key = hashlib.sha256(f"{prefix}{key}".encode()).hexdigest()
    fingerprint = _fingerprint(request)
    own_keys = IdempotencyKey.objects.filter(installation=access.installation, key=key)
    if row := own_keys.filter(created_at__gte=at - KEY_LIFETIME).first():
        return _replay(row, fingerprint, restore)
    prepare()
    try:
        with transaction.atomic():
            if not _claim(access, key, fingerprint, request.path, at):
                return _replay(own_keys.get(), fingerprint, restore)
            response = work()
            if response.status_code >= 300:
                raise _ErrorResponse(response)
            IdempotencyKey.objects.filter(installation=access.installation, key=key).update(
                status=response.status_code, location=response.get("Location", ""), body=bytes(keep(response.content))
            )
            return response
    except _ErrorResponse as error:
        return error.response


def _fingerprint(request: HttpRequest) -> str:
    """Return a hash of the method, path, query and body."""
    query = request.META.get("QUERY_STRING", "")
    url = f"{request.path}?{query}" if query else request.path
    return hashlib.sha256(f"{request.method} {url}\n".encode() + request.body).hexdigest()


def _claim(access: Access, key: str, fingerprint: str, path: str, at: datetime) -> bool:
    """Insert the key unless an unexpired row exists; wait for other transactions that are inserting the key.

    Only PostgreSQL waits here. On SQLite, writers already wait before their transaction begins.
    """
    set_lock_timeout(f"{WAIT_SECONDS}s")
    try:
        is_mine = _insert(access, key, fingerprint, path, at)
    except OperationalError as error:
        if is_lock_timeout(error):
            raise Conflict("Conflict", headers={"Retry-After": RETRY_AFTER}) from error
        raise
    set_lock_timeout("DEFAULT")
    return is_mine


def _insert(access: Access, key: str, fingerprint: str, path: str, at: datetime) -> bool:
    IdempotencyKey.objects.filter(installation=access.installation, key=key, created_at__lt=at - KEY_LIFETIME).delete()
    row = IdempotencyKey(
        shop=access.shop,
        installation=access.installation,
        key=key,
        fingerprint=fingerprint,
        created_at=at,
        path=path[:2048],
        request_id=get_event_context().request_id,
    )
    IdempotencyKey.objects.bulk_create([row], ignore_conflicts=True)
    # With ``ignore_conflicts``, ``bulk_create`` does not report whether the row was inserted. A row inserted by this
    # transaction still has status 0, while a committed row always has an HTTP status.
    return IdempotencyKey.objects.filter(installation=access.installation, key=key, status=0).exists()


def _replay(row: IdempotencyKey, fingerprint: str, restore: Rewrite) -> HttpResponse:
    if row.fingerprint != fingerprint:
        raise Unprocessable({"base": ["Idempotency-Key was used with another request"]})
    response = HttpResponse(restore(bytes(row.body)), status=row.status, content_type=CONTENT_TYPE)
    response["Idempotent-Replayed"] = "true"
    if row.location:
        response["Location"] = row.location
    return response


def redact_stored_responses(model: type[Model], ids: Collection[int], events: QuerySet[Event]) -> None:
    """Replace each stored response with an empty object if its request created or changed one of these rows.

    Rows that are about to be deleted are included, because later no erasure would find them.
    """
    plural, row_ids = str(model._meta.verbose_name_plural).replace(" ", "_"), {str(pk) for pk in ids}
    # Compare a single ID in the database, because a shop may have many stored responses.
    beginning = f"/{plural}/{next(iter(row_ids)) if len(row_ids) == 1 else ''}"
    responses = IdempotencyKey.objects.filter(path__contains=beginning).exclude(status=0).values_list("pk", "path")
    affected = [
        pk
        for pk, path in responses
        if row_ids & {match[1] for match in _RESOURCE_AND_ID.findall(path) if match[0] == plural}
    ]
    affected += IdempotencyKey.objects.filter(
        request_id__in=events.exclude(request_id="").values("request_id")
    ).values_list("pk", flat=True)
    IdempotencyKey.objects.filter(pk__in=affected).exclude(status=0).update(body=b"{}")


def delete_expired_keys(at: datetime) -> int:
    count = 0
    expired = IdempotencyKey.objects.filter(created_at__lt=at - KEY_LIFETIME).order_by("created_at")
    while ids := list(expired.values_list("pk", flat=True)[:1000]):
        count += IdempotencyKey.objects.filter(pk__in=ids).delete()[0]
    return count
