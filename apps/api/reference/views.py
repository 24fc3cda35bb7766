"""The public pages of the reference. They ask no database, are made once in each process, and may be kept by caches."""

import hashlib
from functools import lru_cache

import orjson
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from apps.api.errors import CONTENT_TYPE
from apps.api.reference import errors
from apps.api.reference.pages import Resource, resources_of, search_index, slugs
from apps.api.requests.deprecations import REASONS
from apps.api.shapes import Shown
from apps.api.versions import newest, served_versions

_HTML = "text/html; charset=utf-8"


@require_safe
def entrance(request: HttpRequest) -> HttpResponse:
    """``/docs/`` and ``/docs/api/``: lead to the newest version, or to the one that is asked for."""
    asked = request.GET.get("version", newest())
    return redirect("api-docs", _served(asked))


@require_safe
def index(request: HttpRequest, version: str) -> HttpResponse:
    """``/docs/api/{version}/``: how to call, and every resource."""
    return _page(request, "index", version=_served(version))


@require_safe
def resource(request: HttpRequest, version: str, slug: str) -> HttpResponse:
    """``/docs/api/{version}/{resource}/``: what can be done with a resource, with examples."""
    if slug not in slugs():
        raise Http404
    if slug not in resources_of(_served(version)):
        # One that other versions have: whoever changes the version stays among the pages.
        return redirect("api-docs", version)
    return _page(request, "resource", version=version, slug=slug)


@require_safe
def search(request: HttpRequest, version: str) -> HttpResponse:
    """``/docs/api/{version}/search.json``: what the search looks through."""
    return _kept(request, _search_body(_served(version)), CONTENT_TYPE)


@require_safe
def mistakes(request: HttpRequest) -> HttpResponse:
    """``/docs/api/errors/``: every error, its cause and its cure."""
    return _page(request, "errors")


@require_safe
def deprecations(request: HttpRequest) -> HttpResponse:
    """``/docs/api/deprecations/``: what is deprecated, since when, and what to use instead."""
    return _page(request, "deprecations")


def _served(version: str) -> str:
    if version not in served_versions():
        raise Http404
    return version


def _page(request: HttpRequest, name: str, *, version: str = "", slug: str = "") -> HttpResponse:
    return _kept(request, _html(name, version or newest(), slug), _HTML)


def _kept(request: HttpRequest, body: bytes, content_type: str) -> HttpResponse:
    """An answer that caches may keep for five minutes, and that is not sent to who has it."""
    etag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    response = HttpResponse(body, content_type=content_type, headers={"ETag": etag})
    response["Cache-Control"] = "public, max-age=300"
    answer: HttpResponse = get_conditional_response(request, etag=etag, response=response) or response
    return answer


@lru_cache(maxsize=512)
def _html(name: str, version: str, slug: str) -> bytes:
    """A page; nothing in it depends on who asks."""
    pages = resources_of(version)
    context: Shown = {
        "version": version,
        "versions": [(each, _elsewhere(each, slug)) for each in reversed(served_versions())],
        "groups": _groups(pages),
        "page": pages.get(slug),
        "header": f"X-{settings.BRAND.capitalize()}-Access-Token",
        "is_versioned": name in {"index", "resource"},
    }
    if name == "errors":
        context |= {
            "answers": errors.answers(),
            "messages": errors.messages(),
            "rules": [(page, errors.rules_of(page.slug)) for page in pages.values()],
        }
    if name == "deprecations":
        context["reasons"] = REASONS
    return render_to_string(f"api/{name}.html", context).encode()


def _groups(pages: dict[str, Resource]) -> dict[str, list[Resource]]:
    """The pages by their groups."""
    found: dict[str, list[Resource]] = {}
    for page in pages.values():
        found.setdefault(page.group, []).append(page)
    return found


def _elsewhere(version: str, slug: str) -> str:
    """The same page in another version."""
    return reverse("api-docs-resource", args=(version, slug)) if slug else reverse("api-docs", args=(version,))


@lru_cache(maxsize=16)
def _search_body(version: str) -> bytes:
    return orjson.dumps(search_index(version))
