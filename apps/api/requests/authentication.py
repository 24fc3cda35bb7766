"""Who calls: the access token of one installation, from the brand's header.

One prepared query per request says whether the token opens a door and which versions of the shop and the installation
are current; the objects themselves are kept between requests under these versions, so they are never stale.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest
from django.utils import timezone

from apps.api.errors import ApiError
from apps.ground.sql import execute
from apps.ground.tenancy import every_shop
from apps.shops.models import AccessToken, Installation, Shop, token_digest
from apps.shops.models import actor_of as app_actor

UNAUTHORIZED = "[API] Invalid API key or access token (unrecognized login or wrong password)"
_NOTE_USE_EVERY = timedelta(minutes=10)
_MAX_TOKEN_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Access:
    """An open door: the token, and whom it lets in where.

    Attributes:
        actor: How the caller is named in the audit trail.
        granted: Every scope it may use.
    """

    token_id: int
    installation: Installation
    shop: Shop
    granted: frozenset[str]
    user_id: int | None

    @property
    def actor(self) -> str:
        """``app:4``, or ``staff:17`` for a per-user token."""
        return f"staff:{self.user_id}" if self.user_id else app_actor(self.installation)


class Unauthorized(ApiError):
    """No token, an unknown one, a revoked one, or one of another shop than the host's."""

    status = 401

    def __init__(self) -> None:
        """One wording for all of them."""
        super().__init__(UNAUTHORIZED)


def token_header() -> str:
    """The header's key in ``request.META``."""
    return f"HTTP_X_{settings.BRAND.upper()}_ACCESS_TOKEN"


# The token's id, its expiry and last use, the versions of the installation and the shop, and the shop's domain.
_Row = tuple[int, datetime | str | None, datetime | str | None, int, int, str]

_SQL = """
SELECT t.id, t.expires_at, t.last_used_at, i.version, s.version, s.domain
FROM shops_accesstoken t
JOIN shops_installation i ON i.id = t.installation_id
JOIN shops_shop s ON s.id = t.shop_id
WHERE t.digest = %s AND t.revoked_at IS NULL AND i.uninstalled_at IS NULL
"""


def open_door(request: HttpRequest) -> Access:
    """The access behind a request's token.

    Raises:
        Unauthorized: There is none, or the host is that of another shop.
    """
    token = request.META.get(token_header(), "")
    if not token or len(token) > _MAX_TOKEN_LENGTH:
        raise Unauthorized
    rows = _first_query(token_digest(token))
    if not rows:
        raise Unauthorized
    token_id, expires_at, last_used_at, installation_version, shop_version, domain = rows[0]
    now = timezone.now()
    if expires_at is not None and _moment(expires_at) <= now:
        raise Unauthorized
    host_shop = getattr(request, "host_shop_domain", None)
    if host_shop is not None and host_shop != domain:
        raise Unauthorized
    if last_used_at is None or _moment(last_used_at) < now - _NOTE_USE_EVERY:
        with every_shop():
            AccessToken.objects.filter(pk=token_id).update(last_used_at=now)
    return _remembered((token_id, installation_version, shop_version))


def _first_query(digest: str) -> list[_Row]:
    """Look the token up; a connection that died while idle is replaced, once, before anything was done."""
    try:
        rows = execute(_SQL, [digest])
    except (OperationalError, InterfaceError):
        connection.close()
        rows = execute(_SQL, [digest])
    # The query has just proved the connection alive; Django need not ask again in this request.
    connection.health_check_done = True  # type: ignore[attr-defined]
    return rows


def _moment(value: datetime | str) -> datetime:
    """SQLite hands time stamps out as text in UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value if value.tzinfo else value.replace(tzinfo=timezone.get_default_timezone())


_MAX_REMEMBERED = 2000
_access: OrderedDict[tuple[int, int, int], Access] = OrderedDict()
_lock = threading.Lock()


def _remembered(key: tuple[int, int, int]) -> Access:
    """The access under its versions; read again where one of them moved."""
    access = _access.get(key)
    if access is not None:
        return access
    with every_shop():
        token = AccessToken.objects.select_related("installation__app", "installation__shop").get(pk=key[0])
    installation = token.installation
    access = Access(token.pk, installation, installation.shop, installation.granted, token.user_id)
    if (installation.version, installation.shop.version) == key[1:]:
        with _lock:
            _access[key] = access
            while len(_access) > _MAX_REMEMBERED:
                _access.popitem(last=False)
    return access
