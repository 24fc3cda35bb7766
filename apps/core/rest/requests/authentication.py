"""Authenticate requests with the access token in the ``X-<Brand>-Access-Token`` header or in HTTP Basic.

One prepared query per request checks the token and reads the current versions of the shop and the app installation.
These versions are part of the cache key of both objects, so cached objects are never stale.
"""

import threading
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from apps.core.db.prepared_sql import execute_prepared
from apps.core.db.row_locks import run_unless_locked
from apps.core.rest.exceptions import CHALLENGE, UNAUTHORIZED, ApiError
from apps.core.tenancy.access_scopes import drop_implied_scopes
from apps.core.tenancy.models import AccessToken, Installation, Shop, get_app_actor, hash_token
from apps.core.tenancy.scope import SHOP_ENVIRON_KEY, all_shops_scope
from apps.core.tenancy.staff_access import find_member
from apps.core.tenancy.subscriber_version import set_subscriber_version

_LAST_USED_INTERVAL = timedelta(minutes=10)
_MAX_TOKEN_LENGTH = 200
_MAX_CREDENTIALS_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Access:
    """An authenticated token with its installation, shop and access scopes.

    A per-user token has a ``user_id``. The scopes of its ``installation`` are limited to the staff member's
    permissions, while ``app_scopes`` are the scopes of the app itself.
    """

    token_id: int
    installation: Installation
    shop: Shop
    granted_scopes: frozenset[str]
    user_id: int | None
    app_scopes: frozenset[str] = frozenset()
    may_uninstall: bool = True
    may_redirect: bool = True

    @property
    def actor(self) -> str:
        """Return the actor for the audit log: ``app:4``, or ``staff:17`` for a per-user token."""
        return f"staff:{self.user_id}" if self.user_id else get_app_actor(self.installation)


class Unauthorized(ApiError):
    """Raised when the token is missing, unknown or revoked, or when the host belongs to another shop."""

    status = 401

    def __init__(self) -> None:
        super().__init__(UNAUTHORIZED, headers=CHALLENGE)


def get_token_header_key() -> str:
    """Return the key of the token header in ``request.META``."""
    return f"HTTP_X_{settings.BRAND.upper()}_ACCESS_TOKEN"


# The result of the token query: the token's id, expiry and last use, the versions of the installation and the shop, the
# shop's domain, and ``listening_version``, which changes with the shop's webhook subscriptions.
_TokenRow = tuple[int, datetime | str | None, datetime | str | None, int, int, str, int]

_SQL = """
SELECT t.id, t.expires_at, t.last_used_at, i.version, s.version, s.domain, s.listening_version
FROM shops_accesstoken t
JOIN shops_installation i ON i.id = t.installation_id
JOIN shops_shop s ON s.id = t.shop_id
WHERE t.digest = %s AND t.revoked_at IS NULL AND i.uninstalled_at IS NULL
"""


def authenticate_token(request: HttpRequest) -> Access:
    """Authenticate a request, or raise ``Unauthorized``. The token must belong to the shop of the host."""
    api_key, token = get_credentials(request.META)
    now = timezone.now()
    row = _find_token(token, now)
    if row is None:
        raise Unauthorized
    token_id, _, last_used_at, installation_version, shop_version, domain, listening = row
    host_shop = getattr(request, "host_shop_domain", None)
    if host_shop is not None and host_shop != domain:
        raise Unauthorized
    access = _get_cached_access((token_id, installation_version, shop_version))
    if api_key is not None and not constant_time_compare(api_key, access.installation.app.api_key):
        raise Unauthorized
    if last_used_at is None or _parse_timestamp(last_used_at) < now - _LAST_USED_INTERVAL:
        _update_last_used(token_id, now)
    request.META[SHOP_ENVIRON_KEY] = access.shop.pk
    set_subscriber_version(access.shop, listening)
    return access if access.user_id is None else _restrict_to_member(access, access.user_id)


def get_credentials(environ: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return the API key, or None without HTTP Basic credentials, and the access token of a request."""
    token = environ.get(get_token_header_key(), "")
    if not token and "HTTP_AUTHORIZATION" in environ:
        return _parse_basic_credentials(environ["HTTP_AUTHORIZATION"])
    return None, token


def is_valid_token(token: str) -> bool:
    """Return True if a token opens the API of its shop. ``authenticate_token`` checks more."""
    return _find_token(token, timezone.now()) is not None


def _find_token(token: str, now: datetime) -> _TokenRow | None:
    """Return the row of a token that has not expired, or None."""
    if not token or len(token) > _MAX_TOKEN_LENGTH:
        return None
    rows = _query_token(hash_token(token))
    if not rows or ((expires_at := rows[0][1]) is not None and _parse_timestamp(expires_at) <= now):
        return None
    return rows[0]


def _parse_basic_credentials(header: str) -> tuple[str, str]:
    """Return the API key and the access token of HTTP Basic credentials, or empty strings if they are malformed."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic" or len(encoded) > _MAX_CREDENTIALS_LENGTH:
        return "", ""
    try:
        api_key, _, token = b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return api_key, token


def _restrict_to_member(access: Access, user_id: int) -> Access:
    """Limit a token's access to the staff member's current permissions, which are never cached."""
    member = find_member(user_id, access.shop)
    if member is None:
        raise Unauthorized
    granted = member.limit_scopes(access.app_scopes)
    installation = copy(access.installation)
    installation.scopes = drop_implied_scopes(granted)
    return replace(
        access,
        installation=installation,
        granted_scopes=granted,
        may_uninstall=member.may_install,
        may_redirect=member.may_redirect,
    )


def _update_last_used(token_id: int, now: datetime) -> None:
    """Record the token's last use, unless the row is locked because another request is updating it."""
    with all_shops_scope():
        run_unless_locked(lambda: AccessToken.objects.filter(pk=token_id).update(last_used_at=now))


def _query_token(digest: str) -> list[_TokenRow]:
    """Look up the token; reconnect once if the connection died while it was idle."""
    try:
        rows = execute_prepared(_SQL, [digest])
    except (OperationalError, InterfaceError):
        if not getattr(connection.connection, "closed", False):
            # Do not retry if the connection is still open or could not be opened. A second attempt would also fail and
            # would double the wait.
            raise
        connection.close()
        rows = execute_prepared(_SQL, [digest])
    # The query proved that the connection works; Django can skip its own health check in this request.
    connection.health_check_done = True  # type: ignore[attr-defined]
    return rows


def _parse_timestamp(value: datetime | str) -> datetime:
    """Parse a timestamp; SQLite returns timestamps as text in UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value if value.tzinfo else value.replace(tzinfo=timezone.get_default_timezone())


_MAX_CACHED = 2000
access_cache: OrderedDict[tuple[int, int, int], Access] = OrderedDict()
_lock = threading.Lock()


def _get_cached_access(key: tuple[int, int, int]) -> Access:
    """Return the access for a token id and its versions; load the access if it is not in the cache."""
    access = access_cache.get(key)
    if access is not None:
        return access
    with all_shops_scope():
        token = AccessToken.objects.select_related("installation__app", "installation__shop").get(pk=key[0])
    installation = token.installation
    granted = installation.all_scopes
    access = Access(token.pk, installation, installation.shop, granted, token.user_id, granted)
    if (installation.version, installation.shop.version) == key[1:]:
        with _lock:
            access_cache[key] = access
            while len(access_cache) > _MAX_CACHED:
                access_cache.popitem(last=False)
    return access


SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class ScopeMissing(ApiError):
    """Raised when the app was not granted the scope."""

    status = 403

    def __init__(self, scope: str) -> None:
        super().__init__(f"[API] This action requires merchant approval for {scope} scope.")


def check_scope(access: Access, needed: tuple[str, ...]) -> None:
    """Check that the caller has at least one of the required scopes, if any scope is required."""
    if needed and not any(scope in access.granted_scopes for scope in needed):
        raise ScopeMissing(needed[0])
