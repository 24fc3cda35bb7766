"""Public views for the published schemas and for the payment handlers of a shop's checkout.

All responses may be cached publicly. They depend only on the URL, including the host, which identifies the shop. No
response depends on a request header.
"""

from datetime import timedelta

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response

from apps.core.i18n.error_messages import NOT_FOUND
from apps.core.public_pages import accept_only_reads
from apps.core.rest.exceptions import render_error
from apps.core.rest.reading.pages import build_etag
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.payments.domain import discovery, schemas

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


@accept_only_reads
def serve_document(request: HttpRequest, name: str) -> HttpResponse:
    try:
        body_bytes = schemas.render_document(name, settings.SCHEMAS_URL)
    except KeyError:
        return render_error(NOT_FOUND, 404)
    return _respond(request, body_bytes, schemas.get_media_type(name), max_age=_DAY)


@accept_only_reads
def list_schema_versions(request: HttpRequest) -> HttpResponse:
    rows = [
        {
            "version": version,
            "schema": schemas.get_schema_url(version),
            "spec": schemas.get_spec_url(version),
        }
        for version in schemas.get_schema_versions()
    ]
    return _respond(request, orjson.dumps({"versions": rows}), "application/json", max_age=_MINUTE)


@accept_only_reads
def serve_profile(request: HttpRequest) -> HttpResponse:
    shop = Shop.objects.filter(domain=getattr(request, "host_shop_domain", "")).first()
    if shop is None:
        return render_error(NOT_FOUND, 404)
    with shop_scope(shop):
        body = orjson.dumps(discovery.build_profile())
    return _respond(request, body, "application/json", max_age=_MINUTE)


def _respond(request: HttpRequest, body: bytes, kind: str, *, max_age: timedelta) -> HttpResponse:
    etag = build_etag(body)
    headers = {
        "ETag": etag,
        "Cache-Control": f"public, max-age={int(max_age.total_seconds())}",
        "Access-Control-Allow-Origin": "*",
        "X-Content-Type-Options": "nosniff",
    }
    response = HttpResponse(body, content_type=kind, headers=headers)
    # A 304 response from Django has only the headers that HTTP requires, so build a response with all headers.
    conditional_response = get_conditional_response(request, etag=etag, response=response)
    return (
        response
        if conditional_response is None or conditional_response is response
        else HttpResponse(status=conditional_response.status_code, headers=headers)
    )
