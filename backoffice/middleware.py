"""The layers around every request.

The outermost gives the request an id and checks its host. The REST interface needs no session, cookies, messages or
CSRF check: its requests are answered right there, without passing the panel's layers, and always in JSON.
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

from apps.api.errors import exception_handler
from apps.shops.domain.hosts import is_shop_domain
from apps.shops.public.authorize import with_shop
from backoffice.logs import request_id as log_request_id
from backoffice.logs import request_in_work

logger = logging.getLogger(__name__)

GetResponse = Callable[[HttpRequest], HttpResponseBase]
_INTERFACE = ("/admin/api/", "/admin/api_permissions/", "/admin/oauth/access_")
_SLASHES = re.compile("/{2,}")
# Where staff log in and work.
_STAFF = ("/accounts/", "/admin/", "/s/")
# Where apps send staff; they name the shop by its domain.
_AUTHORIZE = "/admin/oauth/authorize"
# They answer under any host: what watches the processes calls them by their address.
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
# As long as the tables keep it.
_REQUEST_ID = re.compile(r"[\w.:=+/-]{8,36}", re.ASCII)


def is_interface(request: HttpRequest) -> bool:
    """Whether a path belongs to the REST interface, where every answer is JSON; doubled slashes hide it from nobody."""
    path = request.path_info
    if "//" in path:
        path = _SLASHES.sub("/", path)
    return (
        path.startswith(_INTERFACE) or path == "/admin/api" or (path.startswith("/admin/") and path.endswith(".json"))
    )


def _with_version(path: str) -> str:
    """An address of the interface that names no version is served by the oldest: ``/admin/products.json``."""
    if path.endswith(".json") and path.startswith("/admin/") and not path.startswith(_INTERFACE):
        return f"/admin/api/{settings.API_VERSIONS[0]}/{path.removeprefix('/admin/')}"
    return path


def boundary(get_response: GetResponse) -> GetResponse:
    """Give the request an id, check its host, and answer the interface."""

    def layer(request: HttpRequest) -> HttpResponseBase:
        identity = identity_of(request.META)
        request.request_id = identity  # type: ignore[attr-defined]
        request.META["REMOTE_ADDR"] = client_address(request.META)
        token = log_request_id.set(identity)
        in_work = request_in_work.set(request)
        try:
            response: HttpResponseBase = _interface(request) if is_interface(request) else _page(request, get_response)
        finally:
            log_request_id.reset(token)
            request_in_work.reset(in_work)
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
    if request.path_info.startswith(_STAFF) and hasattr(request, "host_shop_domain"):
        return _at_own_address(request)
    return get_response(request)


def _at_own_address(request: HttpRequest) -> HttpResponseBase:
    """Lead from a shop's domain, which is the shop's to run, to the address where staff log in.

    Raises:
        Http404: It is a form that was sent: nobody types a password under a shop's domain.
    """
    if request.method not in {"GET", "HEAD"}:
        raise Http404("Staff are served at the installation's own address.")
    address = request.get_full_path()
    if request.path_info == _AUTHORIZE:
        address = with_shop(address, request.host_shop_domain)  # type: ignore[attr-defined]
    return HttpResponseRedirect(f"{settings.BASE_URL}{address}")


def _interface(request: HttpRequest) -> HttpResponse:
    """An answer of the interface; what Django itself would answer as a page becomes JSON."""
    try:
        check_host(request)
        match = resolve(_with_version(request.path_info))
        request.resolver_match = match
        response = match.func(request, *match.args, **match.kwargs)
        if getattr(request, "undone", False):
            # Another transaction was in the way, and is over now: from the beginning, by a new view.
            logger.info("A request is served again, as the database undid it")
            response = match.func(request, *match.args, **match.kwargs)
    except Exception as error:
        # The views answer their own errors; this is one around them.
        response = exception_handler(error)
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


def identity_of(meta: Mapping[str, Any]) -> str:
    """The request's id: the one that a trusted proxy gave it (``X-Request-Id``), so that it is the same in all logs."""
    given: str = meta.get("HTTP_X_REQUEST_ID", "")
    if given and settings.TRUSTED_PROXIES and _REQUEST_ID.fullmatch(given) and is_trusted(meta.get("REMOTE_ADDR", "")):
        return given
    return str(uuid.uuid4())


def client_address(meta: Mapping[str, Any]) -> str:
    """Who is asking, for login throttling, sessions, audit rows and events.

    It is the peer, unless that is a trusted proxy: then the last address of ``X-Forwarded-For`` that is none. What a
    client wrote into the header stands before what the proxies added, so it is never reached.
    """
    address: str = meta.get("REMOTE_ADDR", "")
    if not settings.TRUSTED_PROXIES or not is_trusted(address):
        return address
    for hop in reversed(meta.get("HTTP_X_FORWARDED_FOR", "").split(",")):
        hop = _without_port(hop.strip())
        if not _is_address(hop):
            break
        address = hop
        if not is_trusted(hop):
            break
    return address


def _without_port(hop: str) -> str:
    """An address without its port: ``[::1]:80``, ``192.0.2.1:80``."""
    return hop.partition(":")[0] if hop.count(":") == 1 else hop.removeprefix("[").partition("]")[0]


def is_trusted(address: str) -> bool:
    """Whether an address is a proxy's of ours, which is believed what it says of a request."""
    return _is_address(address) and any(ip_address(address) in network for network in settings.TRUSTED_PROXIES)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


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


def compressed(get_response: GetResponse) -> GetResponse:
    """Send pages compressed, as long as that tells nobody what they hold.

    Who sees only the length of compressed answers and can put guesses into them could learn a secret that stands in
    each of them (BREACH). The one that does, the token of forms, is masked anew in every page, and Django varies the
    length at random. Pages below ``/accounts/`` show codes and secrets again when asked again: they go out as they are.
    """
    gzip = GZipMiddleware(get_response)

    def layer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if response.streaming or not is_page or request.path_info.startswith("/accounts/"):
            return response
        return gzip.process_response(request, response)

    return layer
