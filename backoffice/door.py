"""What the product says at the server's door: how large bodies may be, whose requests are, how refusals look."""

from collections.abc import Hashable
from http import HTTPStatus
from uuid import uuid4

import orjson
from django.conf import settings
from django.db import connections

from apps.ground.tenancy import SHOP_IN_ENVIRON
from backoffice.metrics.requests import refused
from backoffice.server import Door
from backoffice.server.door import Environ, Headers

# What people without a login fill in is short.
ANONYMOUS_BODY_LIMIT = 64 * 1024

_INTERFACE = ("/admin/api/", "/admin/api_permissions/", "/admin/oauth/")
_PANEL = ("/admin/", "/s/")
_REMEMBERED = 10_000


class ProductDoor(Door):
    """The product's wishes."""

    def __init__(self) -> None:
        brand = settings.BRAND.upper()
        self._token = f"HTTP_X_{brand}_ACCESS_TOKEN"
        self._session = f"{settings.SESSION_COOKIE_NAME}="
        # By what requests show of it, the shop that they were found to be in.
        self._shops: dict[int, tuple[str, int]] = {}

    def body_limit(self, environ: Environ) -> int:
        """Large bodies only come from who shows a token or a session, to where they are taken."""
        path: str = environ["PATH_INFO"]
        if path.startswith(_INTERFACE):
            known = self._token in environ or "HTTP_AUTHORIZATION" in environ
        else:
            known = path.startswith(_PANEL) and self._session in environ.get("HTTP_COOKIE", "")
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE if known else ANONYMOUS_BODY_LIMIT

    def refusal(self, status: HTTPStatus) -> tuple[Headers, bytes]:
        """As the interface refuses."""
        refused(status)
        return refusal(status)

    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """That the process lives, which must not wait for a thread."""
        if environ["PATH_INFO"] != "/healthz" or environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return None
        return HTTPStatus.OK, [("Content-Type", "application/json"), _request_id()], b'{"status": "ok"}'

    def whose(self, environ: Environ) -> Hashable:
        """The shop's that its token or path led to before; until then, that of whoever shows the same."""
        shown = self._shown(environ)
        return None if shown is None else self._shops.get(shown, shown)

    def _shown(self, environ: Environ) -> int | None:
        """Stands for what tells shops apart, the token or the shop in the path; None where there is neither."""
        if token := environ.get(self._token):
            return hash(("token", token))
        path: str = environ["PATH_INFO"]
        return hash(("path", path.split("/", 3)[2])) if path.startswith("/s/") else None

    def answered(self, environ: Environ) -> None:
        """Remember the shop that the request was in."""
        shop, shown = environ.get(SHOP_IN_ENVIRON), self._shown(environ)
        if shop is None or shown is None:
            return
        if len(self._shops) >= _REMEMBERED:
            self._shops.clear()
        self._shops[shown] = ("shop", shop)

    def leave(self) -> None:
        """Hang up the thread's database connection; the process may be about to end."""
        connections.close_all()
        if settings.TRACES_ENDPOINT:
            from backoffice.traces import flush

            flush()


def refusal(status: HTTPStatus) -> tuple[Headers, bytes]:
    """A refusal from before Django, with every header that answers of the interface have."""
    brand = settings.BRAND.capitalize()
    headers = [
        ("Content-Type", "application/json; charset=utf-8"),
        _request_id(),
        (f"X-{brand}-API-Version", settings.API_VERSIONS[-1]),
        (f"X-{brand}-Shop-Api-Call-Limit", f"0/{settings.RATE_LIMIT_SIZE}"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    return headers, orjson.dumps({"errors": status.phrase})


def _request_id() -> tuple[str, str]:
    return "X-Request-Id", str(uuid4())
