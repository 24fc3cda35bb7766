"""Hooks for the web server: body limits, the owner of a request, and the format of early errors."""

import logging
from collections.abc import Hashable
from http import HTTPStatus
from importlib import import_module
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth import get_user
from django.db import Error, close_old_connections, connections
from django.http import HttpRequest, parse_cookie

from apps.core.db.transient_errors import RETRY_AFTER
from apps.core.rest.exceptions import UNAUTHORIZED
from apps.core.rest.requests.authentication import get_credentials, get_token_header_key, is_valid_token
from apps.core.tenancy.scope import SHOP_ENVIRON_KEY
from backoffice.observability.metrics.requests import count_early_error
from backoffice.server.adapter import Hooks
from backoffice.server.wsgi import Environ, Headers
from backoffice.wsgi_validation import build_error_response, find_error_status, make_request_id_header

# Forms for anonymous visitors are short, so this limit is sufficient.
ANONYMOUS_BODY_LIMIT = 64 * 1024

# Only the REST API and the panel accept longer bodies.
_PANEL_PREFIX = "/s/"
_LARGE_BODY_PREFIXES = ("/admin/", _PANEL_PREFIX)
_MAX_REMEMBERED = 10_000

logger = logging.getLogger(__name__)


class BackofficeHooks(Hooks):
    """Backoffice's hooks for requests that the server has not passed to Django yet."""

    def __init__(self) -> None:
        self._token = get_token_header_key()
        self._session = f"{settings.SESSION_COOKIE_NAME}="
        # The shop that Django found for earlier requests, keyed by the hash of the request's token or path.
        self._shops: dict[int, tuple[str, int]] = {}

    def find_error(self, environ: Environ) -> HTTPStatus | None:
        """Check the head of a request. Requests without credentials may have only a short body."""
        if (status := find_error_status(environ)) is not None:
            return status
        is_too_long = int(environ.get("CONTENT_LENGTH") or 0) > self.get_body_limit(environ)
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if is_too_long else None

    def get_body_limit(self, environ: Environ) -> int:
        """Return the maximum size of any body; most routes have a lower limit."""
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE if self._may_be_known(environ) else ANONYMOUS_BODY_LIMIT

    def _may_be_known(self, environ: Environ) -> bool:
        """Return True if the request has credentials for its path. They are not checked yet."""
        has_credentials = self._token in environ or "HTTP_AUTHORIZATION" in environ or self._has_session(environ)
        return has_credentials and environ["PATH_INFO"].startswith(_LARGE_BODY_PREFIXES)

    def _has_session(self, environ: Environ) -> bool:
        return self._session in environ.get("HTTP_COOKIE", "")

    def find_sender_error(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """Check the token or the session of a request with a body that is too long for anonymous visitors."""
        close_old_connections()
        try:
            _api_key, token = get_credentials(environ)
            # A proxy may have a password of its own, which browsers send along with the session.
            if is_valid_token(token) or (self._has_session(environ) and self._is_staff(environ)):
                return None
            if environ["PATH_INFO"].startswith(_PANEL_PREFIX):
                return self._redirect_to_login(environ)
            return self._build_error(HTTPStatus.UNAUTHORIZED, UNAUTHORIZED)
        except Error:
            logger.warning("The sender of a large body could not be checked", exc_info=True)
            close_old_connections()
            status, headers, body = self._build_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return status, [*headers, ("Retry-After", RETRY_AFTER)], body

    def _is_staff(self, environ: Environ) -> bool:
        """Return True if the cookie of the request belongs to a session of a staff member."""
        request = HttpRequest()
        sessions = import_module(settings.SESSION_ENGINE)
        session: Any = sessions.SessionStore(self._get_session_key(environ))
        # Django renews or ends some sessions here, but only the view can send the new cookie.
        session.cycle_key = session.flush = lambda: None
        request.session = session
        return get_user(request).is_authenticated

    def _get_session_key(self, environ: Environ) -> str | None:
        return parse_cookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME)

    def _redirect_to_login(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes]:
        """Send staff with an expired session to the login, as the page itself does after a short body."""
        location = f"{settings.LOGIN_URL}?next={quote(environ['PATH_INFO'].encode('latin-1'))}"
        return HTTPStatus.FOUND, [("Location", location), make_request_id_header()], b""

    def _build_error(self, status: HTTPStatus, errors: str = "") -> tuple[HTTPStatus, Headers, bytes]:
        count_early_error(status)
        return status, *build_error_response(status, errors)

    def refusal(self, status: HTTPStatus) -> tuple[Headers, bytes]:
        """Count the rejected request, and return an error in the format of the API."""
        count_early_error(status)
        return build_error_response(status)

    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """Respond to ``/healthz`` without a thread, so that the probe works even if all threads are busy."""
        if environ["PATH_INFO"] != "/healthz" or environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return None
        return HTTPStatus.OK, [("Content-Type", "application/json"), make_request_id_header()], b'{"status": "ok"}'

    def owner(self, environ: Environ) -> Hashable:
        """Return the shop of earlier requests with the same token or path, or a hash if there were no such requests."""
        key = self._get_owner_key(environ)
        return None if key is None else self._shops.get(key, key)

    def _get_owner_key(self, environ: Environ) -> int | None:
        """Return a hash of the shop in the path or of the access token, or None if the request has neither."""
        path: str = environ["PATH_INFO"]
        if path.startswith(_PANEL_PREFIX):
            return hash(("path", path.split("/", 3)[2]))
        token = environ.get(self._token) or environ.get("HTTP_AUTHORIZATION")
        return hash(("token", token)) if token else None

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
