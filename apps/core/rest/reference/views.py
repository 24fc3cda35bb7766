"""Serve the public pages of the API reference.

Each process renders a page once, without database access. HTTP caches may store the pages.
"""

import hashlib
from functools import lru_cache

import orjson
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import get_conditional_response

from apps.core.public_pages import accept_only_reads
from apps.core.rest.exceptions import CONTENT_TYPE
from apps.core.rest.reference import errors
from apps.core.rest.reference.pages import ResourcePage, build_search_index, get_resources, get_slugs
from apps.core.rest.requests.deprecations import REASONS
from apps.core.rest.versions import get_latest_version, get_served_versions
from apps.core.types import Rendered

_HTML = "text/html; charset=utf-8"


@accept_only_reads
def redirect_to_version(request: HttpRequest) -> HttpResponse:
    """Redirect ``/docs/`` and ``/docs/api/`` to the newest version, or to the requested version."""
    version = request.GET.get("version", get_latest_version())
    return redirect("api-docs", _require_served(version))


@accept_only_reads
def index(request: HttpRequest, version: str) -> HttpResponse:
    """Show ``/docs/api/{version}/``: how to call the API, and a list of all resources."""
    return _page(request, "index", version=_require_served(version))


@accept_only_reads
def resource(request: HttpRequest, version: str, slug: str) -> HttpResponse:
    """Show ``/docs/api/{version}/{resource}/``: the operations of a resource, with examples."""
    if slug not in get_slugs():
        raise Http404
    if slug not in get_resources(_require_served(version)):
        # The resource exists only in other versions. Redirect to the list of resources instead of returning a 404.
        return redirect("api-docs", version)
    return _page(request, "resource", version=version, slug=slug)


@accept_only_reads
def search(request: HttpRequest, version: str) -> HttpResponse:
    """Return ``/docs/api/{version}/search.json``: the search index."""
    return _cacheable_response(request, _search_body(_require_served(version)), CONTENT_TYPE)


@accept_only_reads
def error_list(request: HttpRequest) -> HttpResponse:
    """Show ``/docs/api/errors/``: every error with its cause and fix."""
    return _page(request, "errors")


@accept_only_reads
def deprecations(request: HttpRequest) -> HttpResponse:
    """Show ``/docs/api/deprecations/``: each deprecated route, its alternative, and the version that deprecated it."""
    return _page(request, "deprecations")


def _require_served(version: str) -> str:
    if version not in get_served_versions():
        raise Http404
    return version


def _page(request: HttpRequest, name: str, *, version: str = "", slug: str = "") -> HttpResponse:
    return _cacheable_response(request, _render_page(name, version or get_latest_version(), slug), _HTML)


def _cacheable_response(request: HttpRequest, body: bytes, content_type: str) -> HttpResponse:
    """Return a response that caches may store for five minutes, or a 304 if the client's copy is current."""
    etag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    response = HttpResponse(body, content_type=content_type, headers={"ETag": etag})
    response["Cache-Control"] = "public, max-age=300"
    return get_conditional_response(request, etag=etag, response=response) or response


@lru_cache(maxsize=512)
def _render_page(name: str, version: str, slug: str) -> bytes:
    pages = get_resources(version)
    context: Rendered = {
        "version": version,
        "versions": [(item, _page_url(item, slug)) for item in reversed(get_served_versions())],
        "groups": _group_pages(pages),
        "page": pages.get(slug),
        "header": f"X-{settings.BRAND.capitalize()}-Access-Token",
        "is_versioned": name in {"index", "resource"},
    }
    if name == "errors":
        context |= {
            "answers": errors.list_error_responses(),
            "messages": errors.list_error_messages(),
            "rules": [
                (page, [rule for rule in errors.list_rules() if rule.resource == page.slug]) for page in pages.values()
            ],
        }
    if name == "deprecations":
        context["reasons"] = REASONS
    return render_to_string(f"api/{name}.html", context).encode()


def _group_pages(pages: dict[str, ResourcePage]) -> dict[str, list[ResourcePage]]:
    groups: dict[str, list[ResourcePage]] = {}
    for page in pages.values():
        groups.setdefault(page.group, []).append(page)
    return groups


def _page_url(version: str, slug: str) -> str:
    return reverse("api-docs-resource", args=(version, slug)) if slug else reverse("api-docs", args=(version,))


@lru_cache(maxsize=16)
def _search_body(version: str) -> bytes:
    return orjson.dumps(build_search_index(version))
