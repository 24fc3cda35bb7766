"""Serve a shop's public files: script loader, theme files, images and app association files.

The files are untrusted content and must not run in this origin. Therefore the media types are fixed, ``nosniff`` is
set, and a content security policy sandboxes files that are opened directly.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone

from apps.content.domain import article_images, blob_store, mobile_apps, script_tags, store_files
from apps.content.domain.media_types import get_served_type
from apps.content.domain.public_urls import get_image_version
from apps.content.domain.theme_files.keys import normalize_key
from apps.content.models import Article, Asset, FileContent, ScriptTag
from apps.core.media.image_validation import ImageRefused
from apps.core.media.names import parse_transformation
from apps.core.media.storage import StorageFailed
from apps.core.public_pages import accept_only_reads
from apps.core.rest.reading.pages import build_etag
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope

SHORT_CACHE = timedelta(minutes=1)
LONG_CACHE = timedelta(days=365)
JAVASCRIPT = "application/javascript; charset=utf-8"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

View = Callable[..., HttpResponse]


def _in_scope_of_domain(view: View) -> View:
    """Run a view in the scope of the shop with the domain in the path or, if there is none, in the Host header."""

    @accept_only_reads
    @wraps(view)
    def scoped(request: HttpRequest, domain: str | None = None, **kwargs: object) -> HttpResponse:
        host_domain = getattr(request, "host_shop_domain", "")
        shop = Shop.objects.filter(domain=host_domain if domain is None else domain).first()
        if shop is None:
            raise Http404
        with shop_scope(shop):
            try:
                return view(request, **kwargs)
            except StorageFailed as failure:
                return HttpResponse(status=failure.status, headers=failure.headers)

    return scoped


@_in_scope_of_domain
def serve_script_loader(request: HttpRequest) -> HttpResponse:
    scope = request.GET.get("scope", script_tags.SCOPES[0])
    if scope not in script_tags.SCOPES:
        return HttpResponse("scope must be online_store or order_status", status=400, content_type="text/plain")
    return _serve_text(request, script_tags.render_script_loader(scope).encode(), JAVASCRIPT)


@_in_scope_of_domain
def serve_script(request: HttpRequest, tag_id: int) -> HttpResponse:
    tag = ScriptTag.objects.filter(pk=tag_id, cache=True).first()
    if tag is None:
        raise Http404
    try:
        body = script_tags.get_cached_script(tag, at=timezone.now())
    except script_tags.ScriptUnavailable:
        return HttpResponse(status=503, headers={"Retry-After": str(script_tags.RETRY_DELAY.seconds)})
    return _serve_text(request, body, JAVASCRIPT)


@_in_scope_of_domain
def serve_asset(request: HttpRequest, theme_id: int, key: str) -> HttpResponse:
    key = normalize_key(f"assets/{key}")
    theme_file = Asset.objects.select_related("content").filter(theme_id=theme_id, key=key).first()
    if theme_file is None:
        raise Http404
    content_type = get_served_type(theme_file.key)
    return _serve_content(
        request, theme_file.content, content_type, current=request.GET.get("v") == theme_file.content.md5[:12]
    )


@_in_scope_of_domain
def serve_article_image(request: HttpRequest, article_id: int, name: str) -> HttpResponse:
    article = Article.objects.select_related("image").filter(pk=article_id).exclude(image=None).first()
    if article is None or article.image is None:
        raise Http404
    return _serve_image(request, article.image, article.image_name, name)


@_in_scope_of_domain
def serve_store_file(request: HttpRequest, name: str) -> HttpResponse:
    file = store_files.find_store_file(name)
    if file is None:
        raise Http404
    return _serve_image(request, file.content, file.name, name)


def _serve_image(request: HttpRequest, content: FileContent, original: str, name: str) -> HttpResponse:
    """Serve the original image if ``name`` equals ``original``, otherwise the requested resized version."""
    content_type = article_images.get_image_format(original).content_type
    current = request.GET.get("v") == get_image_version(content.sha256)
    if name == original:
        return _serve_content(request, content, content_type, current=current)
    parsed = parse_transformation(name)
    if parsed is None or parsed[0] != original:
        raise Http404
    etag = build_etag((content.sha256, str(parsed[1])))
    max_age = LONG_CACHE if current else SHORT_CACHE
    if _has_matching_etag(request, etag):
        return _create_not_modified_response(etag, max_age)
    try:
        body = article_images.get_image_rendition(content, parsed[1])
    except ImageRefused:
        raise Http404 from None
    return _create_response(request, body, content_type, etag=etag, max_age=max_age)


@_in_scope_of_domain
def serve_apple_app_site_association(request: HttpRequest) -> HttpResponse:
    return _serve_text(request, orjson.dumps(mobile_apps.build_apple_app_site_association()), "application/json")


@_in_scope_of_domain
def serve_asset_links(request: HttpRequest) -> HttpResponse:
    return _serve_text(request, orjson.dumps(mobile_apps.build_asset_links()), "application/json")


def _serve_text(request: HttpRequest, body: bytes, content_type: str) -> HttpResponse:
    return _create_response(request, body, content_type, etag=build_etag(body), max_age=SHORT_CACHE)


def _serve_content(request: HttpRequest, content: FileContent, content_type: str, *, current: bool) -> HttpResponse:
    etag, max_age = build_etag(content.sha256), LONG_CACHE if current else SHORT_CACHE
    if _has_matching_etag(request, etag):
        return _create_not_modified_response(etag, max_age)
    return _create_response(request, blob_store.read_blob(content), content_type, etag=etag, max_age=max_age)


def _has_matching_etag(request: HttpRequest, etag: str) -> bool:
    return request.headers.get("If-None-Match") == etag


def _create_not_modified_response(etag: str, max_age: timedelta) -> HttpResponse:
    """Return a 304 response with cache headers that extend the lifetime of the cached response."""
    return HttpResponse(status=304, headers=_get_cache_headers(etag, max_age))


def _get_cache_headers(etag: str, max_age: timedelta) -> dict[str, str]:
    return {"ETag": etag, "Cache-Control": f"public, max-age={int(max_age.total_seconds())}"}


def _create_response(
    request: HttpRequest, body: bytes, content_type: str, *, etag: str, max_age: timedelta
) -> HttpResponse:
    if _has_matching_etag(request, etag):
        return _create_not_modified_response(etag, max_age)
    headers = _get_cache_headers(etag, max_age) | {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Access-Control-Allow-Origin": "*",
    }
    return HttpResponse(body, content_type=content_type, headers=headers)
