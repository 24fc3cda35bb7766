"""What everybody may read: the published schemas, and what a shop's checkout takes.

Caches may keep all of it. Nothing in it depends on who asks but for the shop, whom the host names and by which caches
keep answers apart, so no answer varies by a header.
"""

from datetime import timedelta

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from apps.api.errors import error_response
from apps.api.rows.pages import tag_of
from apps.ground.phrases import NOT_FOUND
from apps.ground.tenancy import shop_scope
from apps.payments.domain import discovery, publishing
from apps.shops.models import Shop

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


@require_safe
def document(request: HttpRequest, name: str) -> HttpResponse:
    """A published document."""
    try:
        body = publishing.served(name, settings.SCHEMAS_URL)
    except KeyError:
        return error_response(NOT_FOUND, 404)
    return _answer(request, body, publishing.media_type(name), fresh=_DAY)


@require_safe
def versions(request: HttpRequest) -> HttpResponse:
    """The versions of the handler's schema, newest first."""
    found = [
        {"version": version, "schema": publishing.schema_url(version), "spec": publishing.spec_url(version)}
        for version in publishing.versions()
    ]
    return _answer(request, orjson.dumps({"versions": found}), "application/json", fresh=_MINUTE)


@require_safe
def profile(request: HttpRequest) -> HttpResponse:
    """What the shop of the request's host takes in its checkout."""
    shop = Shop.objects.filter(domain=getattr(request, "host_shop_domain", "")).first()
    if shop is None:
        return error_response(NOT_FOUND, 404)
    with shop_scope(shop):
        body = orjson.dumps(discovery.profile())
    return _answer(request, body, "application/json", fresh=_MINUTE)


def _answer(request: HttpRequest, body: bytes, kind: str, *, fresh: timedelta) -> HttpResponse:
    etag = tag_of(body)
    headers = {
        "ETag": etag,
        "Cache-Control": f"public, max-age={int(fresh.total_seconds())}",
        "Access-Control-Allow-Origin": "*",
        "X-Content-Type-Options": "nosniff",
    }
    response = HttpResponse(body, content_type=kind, headers=headers)
    # Answers of 304 keep these headers, where Django passes on only those that HTTP asks for.
    answered = get_conditional_response(request, etag=etag, response=response)
    return (
        response
        if answered is None or answered is response
        else HttpResponse(status=answered.status_code, headers=headers)
    )
