"""What the product says at the server's door: how large bodies may be, how refusals look, and that it lives."""

from http import HTTPStatus
from uuid import uuid4

import orjson
from django.conf import settings
from django.db import connections

from backoffice.metrics.requests import refused
from backoffice.server import Door
from backoffice.server.door import Environ, Headers

# What people without a login fill in is short.
ANONYMOUS_BODY_LIMIT = 64 * 1024

_INTERFACE = ("/admin/api/", "/admin/api_permissions/", "/admin/oauth/")
_PANEL = ("/admin/", "/s/")


class ProductDoor(Door):
    """The product's wishes."""

    def __init__(self) -> None:
        brand = settings.BRAND.upper()
        self._token = f"HTTP_X_{brand}_ACCESS_TOKEN"
        self._session = f"{settings.SESSION_COOKIE_NAME}="

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

    def leave(self) -> None:
        """Hang up the thread's database connection."""
        connections.close_all()


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
