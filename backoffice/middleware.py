"""The layers around every request.

The outermost gives the request an id and checks its host. The REST interface needs no session, cookies, messages or
CSRF check: its requests are answered right there, without passing the panel's layers, and always in JSON.
"""

import logging
import uuid
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import BadRequest, DisallowedHost
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.http.request import split_domain_port, validate_host
from django.urls import resolve

from apps.api.errors import error_response, reason
from apps.shops.domain.hosts import is_shop_domain
from backoffice.logs import request_id as log_request_id

logger = logging.getLogger(__name__)

GetResponse = Callable[[HttpRequest], HttpResponseBase]
_INTERFACE = ("/admin/api/", "/admin/api_permissions/", "/admin/oauth/access_")
_PROBES = frozenset({"/healthz", "/readyz"})


def is_interface(request: HttpRequest) -> bool:
    """Whether a path belongs to the REST interface, where every answer is JSON."""
    return request.path_info.startswith(_INTERFACE) or request.path_info == "/admin/api"


def boundary(get_response: GetResponse) -> GetResponse:
    """Give the request an id, check its host, and answer the interface."""

    def layer(request: HttpRequest) -> HttpResponseBase:
        identity = str(uuid.uuid4())
        request.request_id = identity  # type: ignore[attr-defined]
        token = log_request_id.set(identity)
        try:
            response: HttpResponseBase = _interface(request) if is_interface(request) else _page(request, get_response)
        finally:
            log_request_id.reset(token)
        response.headers["X-Request-Id"] = identity
        return response

    return layer


def _page(request: HttpRequest, get_response: GetResponse) -> HttpResponseBase:
    """A page of the panel or a public one; the probes answer under any host.

    Raises:
        BadRequest: The address holds a NUL character, which no database keeps and PostgreSQL does not even take.
    """
    if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
        raise BadRequest("The address holds a NUL character.")
    if request.path_info not in _PROBES:
        check_host(request)
    return get_response(request)


def _interface(request: HttpRequest) -> HttpResponse:
    """An answer of the interface; what Django itself would answer as a page becomes JSON."""
    try:
        check_host(request)
        match = resolve(request.path_info)
        request.resolver_match = match
        response = match.func(request, *match.args, **match.kwargs)
    except DisallowedHost:
        response = error_response(reason(400), 400)
    except Http404:
        response = error_response("Not Found", 404)
    except Exception:
        # The views answer their own errors; this is a defect around them.
        logger.exception("A request failed outside of its view")
        response = error_response(reason(500), 500)
    headers = response.headers
    brand = settings.BRAND.capitalize()
    headers.setdefault(f"X-{brand}-API-Version", settings.API_VERSIONS[-1])
    headers.setdefault(f"X-{brand}-Shop-Api-Call-Limit", f"0/{settings.RATE_LIMIT_SIZE}")
    headers["X-Content-Type-Options"] = "nosniff"
    if response.status_code != HTTPStatus.NOT_MODIFIED:
        headers["Content-Length"] = str(len(response.content))
    if request.method == "HEAD":
        response.content = b""
    return response


# Host headers that were found good; bounded, as clients make them up.
_MAX_GOOD = 1000
_good: set[str] = set()


def check_host(request: HttpRequest) -> None:
    """Serve only hosts of this installation and the shops' own domains; note which shop the host names.

    Raises:
        DisallowedHost: The host is neither.
    """
    raw = request.META.get("HTTP_HOST", "")
    if raw in _good:
        return
    host = split_domain_port(request.get_host())[0]
    if validate_host(host, settings.HOSTS):
        if len(_good) < _MAX_GOOD:
            _good.add(raw)
    elif is_shop_domain(host):
        request.host_shop_domain = host  # type: ignore[attr-defined]
    else:
        raise DisallowedHost("The host is none of ours.")
