"""The OpenAPI documents, for anybody. ``apps.api.reference`` makes pages of them."""

import orjson
from django.http import HttpRequest, HttpResponse

from apps.api.errors import CONTENT_TYPE, error_response
from apps.api.shapes import Schema
from apps.api.versions import UnknownVersion, resolve
from apps.ground.phrases import NOT_FOUND


def schema(request: HttpRequest, version: str) -> HttpResponse:
    """``GET /admin/api/{version}/openapi.json``, for anybody."""
    if request.method not in {"GET", "HEAD"}:
        return error_response("Method Not Allowed", 405, headers={"Allow": "GET, HEAD"})
    try:
        body = orjson.dumps(_document(resolve(version)))
    except UnknownVersion:
        return error_response(NOT_FOUND, 404)
    return HttpResponse(body, content_type=CONTENT_TYPE, headers={"Cache-Control": "public, max-age=300"})


def _document(version: str) -> Schema:
    # The generator takes a tenth of a web process's start to import, and most processes never need it.
    from apps.api.openapi.documents import document

    return document(version)
