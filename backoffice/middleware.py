"""The outermost middleware, helpers for hosts and client addresses, and page compression.

The outermost middleware sets the request ID, checks the host, and serves the REST API directly. The API
skips all other middleware, because it needs no session, cookies, messages or CSRF check, and always responds in JSON.
"""

import logging
import re
import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest, DisallowedHost
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.http.request import split_domain_port, validate_host
from django.middleware.gzip import GZipMiddleware
from django.urls import resolve
from django.utils.cache import add_never_cache_headers

from apps.core.events.context import request_id as log_request_id
from apps.core.rest.exceptions import exception_handler
from apps.core.tenancy.shops import is_shop_domain
from apps.shops.public.authorize import build_authorization_url
from backoffice.observability.logs import current_request

logger = logging.getLogger(__name__)

GetResponse = Callable[[HttpRequest], HttpResponseBase]
_API_PREFIXES = ("/admin/api/", "/admin/api_permissions/", "/admin/oauth/access_")
_SLASHES = re.compile("/{2,}")
# Pages with passwords, codes and secrets.
_ACCOUNTS_PREFIX = "/accounts/"
# Prefixes of the URLs where staff log in and work.
_STAFF_PREFIXES = (_ACCOUNTS_PREFIX, "/admin/", "/s/")
# Apps redirect staff to this path on the shop's domain.
_AUTHORIZE = "/admin/oauth/authorize"
# The probes accept any host, because monitoring systems call processes by IP address.
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
# Request IDs have at most 36 characters, because the database column has this length.
_REQUEST_ID = re.compile(r"[\w.:=+/-]{8,36}", re.ASCII)


def is_api_request(request: HttpRequest) -> bool:
    """Return True for URLs of the REST API, even if they contain doubled slashes."""
    path = _SLASHES.sub("/", request.path_info)
    return (
        path.startswith(_API_PREFIXES)
        or path == "/admin/api"
        or (path.startswith("/admin/") and path.endswith(".json"))
    )


def _add_version(path: str) -> str:
    """Add the oldest API version to API URLs without a version, such as ``/admin/products.json``."""
    if path.endswith(".json") and path.startswith("/admin/") and not path.startswith(_API_PREFIXES):
        return f"/admin/api/{settings.API_VERSIONS[0]}/{path.removeprefix('/admin/')}"
    return path


def request_boundary(get_response: GetResponse) -> GetResponse:
    """Set the request ID, check the host, and serve the API or a page. This is the outermost middleware."""

    def layer(request: HttpRequest) -> HttpResponseBase:
        identity = get_request_id(request.META)
        request.request_id = identity  # type: ignore[attr-defined]
        request.META["REMOTE_ADDR"] = get_client_address(request.META)
        token = log_request_id.set(identity)
        in_work = current_request.set(request)
        try:
            response: HttpResponseBase = (
                _serve_api(request) if is_api_request(request) else _serve_page(request, get_response)
            )
        finally:
            log_request_id.reset(token)
            current_request.reset(in_work)
        response.headers["X-Request-Id"] = identity
        return response

    return layer


def _serve_page(request: HttpRequest, get_response: GetResponse) -> HttpResponseBase:
    # PostgreSQL rejects NUL characters.
    if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
        raise BadRequest("The URL contains a NUL character.")
    if request.path_info not in _PROBES:
        check_host(request)
    if request.path_info.startswith(_STAFF_PREFIXES) and hasattr(request, "host_shop_domain"):
        return _redirect_to_installation(request)
    response = get_response(request)
    if request.path_info.startswith(_ACCOUNTS_PREFIX):
        add_never_cache_headers(response)
    return response


def _redirect_to_installation(request: HttpRequest) -> HttpResponseBase:
    """Redirect staff from a shop's domain to the same page on the installation's own domain."""
    # Staff must not submit passwords to a domain that the shop controls.
    if request.method not in {"GET", "HEAD"}:
        raise Http404("Staff pages are not available on a shop's domain.")
    address = request.get_full_path()
    if request.path_info == _AUTHORIZE:
        address = build_authorization_url(address, request.host_shop_domain)  # type: ignore[attr-defined]
    return HttpResponseRedirect(f"{settings.BASE_URL}{address}")


def _serve_api(request: HttpRequest) -> HttpResponse:
    """Serve the REST API, with all errors in JSON."""
    try:
        check_host(request)
        match = resolve(_add_version(request.path_info))
        request.resolver_match = match
        response = match.func(request, *match.args, **match.kwargs)
        if getattr(request, "undone", False):
            # A concurrent transaction caused a rollback. That transaction has finished, so call the view again.
            logger.info("Retrying a request after a database rollback")
            response = match.func(request, *match.args, **match.kwargs)
    except Exception as error:
        # Views handle their own errors, so this error was raised outside a view.
        response = exception_handler(error)
    headers = response.headers
    brand = settings.BRAND.capitalize()
    headers.setdefault(f"X-{brand}-API-Version", settings.API_VERSIONS[-1])
    headers.setdefault(f"X-{brand}-Shop-Api-Call-Limit", f"0/{settings.RATE_LIMIT_BURST}")
    headers["X-Content-Type-Options"] = "nosniff"
    if "Cache-Control" not in headers:
        # Clients may keep a response with a validator, but must check it before each use.
        headers["Cache-Control"] = "private, no-cache" if "ETag" in headers else "no-store"
        headers["Vary"] = f"X-{brand}-Access-Token, Authorization"
    if response.status_code != HTTPStatus.NOT_MODIFIED:
        headers["Content-Length"] = str(len(response.content))
    if request.method == "HEAD":
        response.content = b""
    return response


def get_request_id(meta: Mapping[str, Any]) -> str:
    """Return the ``X-Request-Id`` of a trusted proxy, so that all logs contain the same ID, or a new request ID."""
    request_id: str = meta.get("HTTP_X_REQUEST_ID", "")
    is_trusted = _REQUEST_ID.fullmatch(request_id) and is_trusted_proxy(meta.get("REMOTE_ADDR", ""))
    return request_id if is_trusted else str(uuid.uuid4())


def get_client_address(meta: Mapping[str, Any]) -> str:
    """Return the client's IP address, which is used for login throttling, sessions, the audit log and events.

    If the peer is not a trusted proxy, the peer is the client. Otherwise, the client is the last address in
    ``X-Forwarded-For`` that is not a trusted proxy. Proxies append addresses to the header, so all earlier addresses
    may be forged and are ignored.
    """
    address: str = meta.get("REMOTE_ADDR", "")
    if not settings.TRUSTED_PROXIES or not is_trusted_proxy(address):
        return address
    for hop in reversed(meta.get("HTTP_X_FORWARDED_FOR", "").split(",")):
        hop = _without_port(hop.strip())
        if not _is_address(hop):
            break
        address = hop
        if not is_trusted_proxy(hop):
            break
    return address


def _without_port(hop: str) -> str:
    """Remove the port from an address such as ``[::1]:80`` or ``192.0.2.1:80``."""
    return hop.partition(":")[0] if hop.count(":") == 1 else hop.removeprefix("[").partition("]")[0]


def is_trusted_proxy(address: str) -> bool:
    return _is_address(address) and any(ip_address(address) in network for network in settings.TRUSTED_PROXIES)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


# A cache of accepted Host headers. The size is limited, because clients can send any number of different headers.
_MAX_ACCEPTED = 1000
_accepted_hosts: set[str | None] = set()


def check_host(request: HttpRequest) -> None:
    """Raise ``DisallowedHost`` if the host is unknown. If it is a shop's domain, store it on the request."""
    raw = request.META.get("HTTP_HOST")
    if raw in _accepted_hosts:
        return
    host = split_domain_port(request.get_host())[0]
    if validate_host(host, settings.HOSTS):
        if len(_accepted_hosts) < _MAX_ACCEPTED:
            _accepted_hosts.add(raw)
    elif is_shop_domain(host):
        request.host_shop_domain = host  # type: ignore[attr-defined]
    else:
        raise DisallowedHost("Unknown host.")


def compress_pages(get_response: GetResponse) -> GetResponse:
    """Compress a page only if its compressed length cannot reveal secrets.

    An attacker who sees the lengths of compressed responses and can inject guesses could learn a secret that every
    response contains (the BREACH attack). Django protects against this by masking the CSRF token differently for each
    page and by varying the length at random. Pages under ``/accounts/`` are never compressed, because they repeat the
    same codes and secrets on each request.
    """
    gzip = GZipMiddleware(get_response)

    def layer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if response.streaming or not is_page or request.path_info.startswith(_ACCOUNTS_PREFIX):
            return response
        return gzip.process_response(request, response)

    return layer
