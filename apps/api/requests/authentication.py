"""Who calls: the access token of one installation, from the brand's header.

One prepared query per request says whether the token opens a door and which versions of the shop and the installation
are current; the objects themselves are kept between requests under these versions, so they are never stale.
"""

import threading
from collections import OrderedDict
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest
from django.utils import timezone

from apps.api.errors import ApiError
from apps.ground.locks import unless_busy
from apps.ground.sql import execute
from apps.ground.tenancy import SHOP_IN_ENVIRON, every_shop
from apps.shops.domain.authorizing import narrow, shortest
from apps.shops.domain.listening import note_listening_version
from apps.shops.domain.members import member_of
from apps.shops.models import AccessToken, Installation, Shop, token_digest
from apps.shops.models import actor_of as app_actor

UNAUTHORIZED = "[API] Invalid API key or access token (unrecognized login or wrong password)"
_NOTE_USE_EVERY = timedelta(minutes=10)
_MAX_TOKEN_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Access:
    """An open door: the token, and whom it lets in where.

    Attributes:
        installation: The app at work in the shop. Where the token acts as a person, its scopes are narrowed.
        actor: How the caller is named in the audit trail.
        granted: Every scope it may use.
        app_granted: Every scope that the app itself may use.
        user_id: The staff member as whom the token acts.
        may_uninstall: Whether it may take the app off the shop.
    """

    token_id: int
    installation: Installation
    shop: Shop
    granted: frozenset[str]
    user_id: int | None
    app_granted: frozenset[str] = frozenset()
    may_uninstall: bool = True

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


# The token's id, its expiry and last use, the versions of the installation and the shop, the shop's domain, and the
# number of those who listen to it.
_Row = tuple[int, datetime | str | None, datetime | str | None, int, int, str, int]

_SQL = """
SELECT t.id, t.expires_at, t.last_used_at, i.version, s.version, s.domain, s.listening_version
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
    token_id, expires_at, last_used_at, installation_version, shop_version, domain, listening = rows[0]
    now = timezone.now()
    if expires_at is not None and _moment(expires_at) <= now:
        raise Unauthorized
    host_shop = getattr(request, "host_shop_domain", None)
    if host_shop is not None and host_shop != domain:
        raise Unauthorized
    if last_used_at is None or _moment(last_used_at) < now - _NOTE_USE_EVERY:
        _note_use(token_id, now)
    access = _remembered((token_id, installation_version, shop_version))
    request.META[SHOP_IN_ENVIRON] = access.shop.pk
    note_listening_version(access.shop, listening)
    return access if access.user_id is None else _as_member(access, access.user_id)


def _as_member(access: Access, user_id: int) -> Access:
    """The door as it is for the person behind the token now, whose permissions are kept from no earlier request.

    Raises:
        Unauthorized: They may no longer enter the shop.
    """
    member = member_of(user_id, access.shop)
    if member is None:
        raise Unauthorized
    granted = narrow(access.app_granted, member)
    installation = copy(access.installation)
    installation.scopes = shortest(granted)
    return replace(access, installation=installation, granted=granted, may_uninstall=member.may_install)


def _note_use(token_id: int, now: datetime) -> None:
    """Note when the token was used; a reader waits for no writer, so another request does it where it must wait."""
    with every_shop():
        unless_busy(lambda: AccessToken.objects.filter(pk=token_id).update(last_used_at=now))


def _first_query(digest: str) -> list[_Row]:
    """Look the token up; a connection that died while idle is replaced, once, before anything was done."""
    try:
        rows = execute(_SQL, [digest])
    except (OperationalError, InterfaceError):
        if not getattr(connection.connection, "closed", False):
            # It answered, or there is none: asking again would be as vain, and keep the client waiting twice as long.
            raise
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
    granted = installation.granted
    access = Access(token.pk, installation, installation.shop, granted, token.user_id, granted)
    if (installation.version, installation.shop.version) == key[1:]:
        with _lock:
            _access[key] = access
            while len(_access) > _MAX_REMEMBERED:
                _access.popitem(last=False)
    return access
