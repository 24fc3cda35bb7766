"""The public pages about the interface: its OpenAPI documents, a page to read them, and the deprecations."""

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from apps.api.errors import CONTENT_TYPE, error_response
from apps.api.requests.deprecations import REASONS
from apps.api.shapes import Schema, Shown
from apps.api.versions import UnknownVersion, newest, resolve, served_versions
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


@require_safe
def browser(request: HttpRequest) -> HttpResponse:
    """``/docs/api/``: every operation of a version, with its parameters and fields."""
    asked = request.GET.get("version", newest())
    if asked not in served_versions():
        raise Http404
    described = _document(asked)
    context = {
        "version": asked,
        "versions": served_versions(),
        "groups": _groups(described),
        "schemas": [
            {"name": name, "fields": _fields(schema), "slug": slugify(name)}
            for name, schema in sorted(described["components"].get("schemas", {}).items())
        ],
    }
    return render(request, "api/browser.html", context)


@require_safe
def deprecations(request: HttpRequest) -> HttpResponse:
    """``/docs/api/deprecations/``: what is deprecated, since when, and what to use instead."""
    return render(request, "api/deprecations.html", {"reasons": REASONS})


def _document(version: str) -> Schema:
    # The generator takes a tenth of a web process's start to import, and most processes never need it.
    from apps.api.openapi.documents import document

    return document(version)


def _groups(described: Schema) -> list[Shown]:
    """The operations by resource."""
    groups: dict[str, list[Shown]] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            entry = {
                "method": method.upper(),
                "path": path,
                "summary": operation["summary"].partition(": ")[2].capitalize(),
                "deprecated": operation.get("deprecated", False),
                "scopes": operation["x-scopes"],
                "parameters": [p["name"] for p in operation["parameters"] if p["in"] == "query"],
                "anchor": operation["operationId"],
            }
            groups.setdefault(operation["tags"][0], []).append(entry)
    return [{"name": name, "operations": groups[name], "slug": slugify(name)} for name in sorted(groups)]


def _fields(schema: Schema) -> list[Shown]:
    return [
        {"name": name, "type": _type_of(field), "required": name in schema.get("required", ())}
        for name, field in schema.get("properties", {}).items()
    ]


def _type_of(field: Schema) -> str:
    kind = field.get("type", "")
    if isinstance(kind, list):
        kind = " or ".join(kind)
    if field.get("enum"):
        return f"{kind}: {', '.join(map(str, field['enum']))}"
    return str(field.get("format") or kind or "any")
