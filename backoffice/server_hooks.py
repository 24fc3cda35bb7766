"""Hooks for the web server: body limits, the owner of a request, and the format of early errors."""

from collections.abc import Hashable
from http import HTTPStatus
from uuid import uuid4

import orjson
from django.conf import settings
from django.db import connections

from apps.core.tenancy.scope import SHOP_ENVIRON_KEY
from backoffice.observability.metrics.requests import count_early_error
from backoffice.server import Door
from backoffice.server.door import Environ, Headers

# Forms for anonymous visitors are short, so this limit is sufficient.
ANONYMOUS_BODY_LIMIT = 64 * 1024

_API_PREFIXES = ("/admin/api/", "/admin/api_permissions/", "/admin/oauth/")
_PANEL_PREFIXES = ("/admin/", "/s/")
_MAX_REMEMBERED = 10_000


class BackofficeHooks(Door):
    """Backoffice's hooks for requests that the server has not passed to Django yet."""

    def __init__(self) -> None:
        brand = settings.BRAND.upper()
        self._token = f"HTTP_X_{brand}_ACCESS_TOKEN"
        self._session = f"{settings.SESSION_COOKIE_NAME}="
        # The shop that Django found for earlier requests, keyed by the hash of the request's token or path.
        self._shops: dict[int, tuple[str, int]] = {}

    def body_limit(self, environ: Environ) -> int:
        """Return the large limit for panel and API requests with credentials, otherwise the small limit."""
        path: str = environ["PATH_INFO"]
        if path.startswith(_API_PREFIXES):
            has_credentials = self._token in environ or "HTTP_AUTHORIZATION" in environ
        else:
            has_credentials = path.startswith(_PANEL_PREFIXES) and self._session in environ.get("HTTP_COOKIE", "")
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE if has_credentials else ANONYMOUS_BODY_LIMIT

    def refusal(self, status: HTTPStatus) -> tuple[Headers, bytes]:
        """Count the rejected request, and return an error in the format of the API."""
        count_early_error(status)
        return build_error_response(status)

    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """Respond to ``/healthz`` without a thread, so that the probe works even if all threads are busy."""
        if environ["PATH_INFO"] != "/healthz" or environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return None
        return HTTPStatus.OK, [("Content-Type", "application/json"), _make_request_id_header()], b'{"status": "ok"}'

    def owner(self, environ: Environ) -> Hashable:
        """Return the shop of earlier requests with the same token or path, or a hash if there were no such requests."""
        key = self._get_owner_key(environ)
        return None if key is None else self._shops.get(key, key)

    def _get_owner_key(self, environ: Environ) -> int | None:
        """Return a hash of the access token or of the shop in the path, or None if the request has neither."""
        if token := environ.get(self._token):
            return hash(("token", token))
        path: str = environ["PATH_INFO"]
        return hash(("path", path.split("/", 3)[2])) if path.startswith("/s/") else None

    def answered(self, environ: Environ) -> None:
        """Store the shop that Django found for the request."""
        shop, key = environ.get(SHOP_ENVIRON_KEY), self._get_owner_key(environ)
        if shop is None or key is None:
            return
        if len(self._shops) >= _MAX_REMEMBERED:
            self._shops.clear()
        self._shops[key] = ("shop", shop)

    def leave(self) -> None:
        """Close the thread's database connections and send pending traces, because the process may be about to end."""
        connections.close_all()
        if settings.TRACES_ENDPOINT:
            from backoffice.observability.tracing import flush_traces

            flush_traces()


def build_error_response(status: HTTPStatus) -> tuple[Headers, bytes]:
    """Build an error response without Django, with all headers of API responses."""
    brand = settings.BRAND.capitalize()
    headers = [
        ("Content-Type", "application/json; charset=utf-8"),
        _make_request_id_header(),
        (f"X-{brand}-API-Version", settings.API_VERSIONS[-1]),
        (f"X-{brand}-Shop-Api-Call-Limit", f"0/{settings.RATE_LIMIT_BURST}"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    return headers, orjson.dumps({"errors": status.phrase})


def _make_request_id_header() -> tuple[str, str]:
    return "X-Request-Id", str(uuid4())
