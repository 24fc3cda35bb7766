"""Serve the public OpenAPI documents. ``apps.core.rest.reference`` renders them as pages."""

import orjson
from django.http import HttpRequest, HttpResponse

from apps.core.i18n.error_messages import NOT_FOUND
from apps.core.rest.exceptions import CONTENT_TYPE, render_error
from apps.core.rest.versions import UnknownVersion, resolve_version


def openapi_document(request: HttpRequest, version: str) -> HttpResponse:
    """Return the OpenAPI document (``GET /admin/api/{version}/openapi.json``, public)."""
    if request.method not in {"GET", "HEAD"}:
        return render_error("Method Not Allowed", 405, headers={"Allow": "GET, HEAD"})
    # Import the generator here, because the import is rarely needed and slows the start of a web process by 10%.
    from apps.core.rest.openapi.generators import get_document

    try:
        body = orjson.dumps(get_document(resolve_version(version)))
    except UnknownVersion:
        return render_error(NOT_FOUND, 404)
    return HttpResponse(body, content_type=CONTENT_TYPE, headers={"Cache-Control": "public, max-age=300"})
