"""What everybody may read of a shop: its script loader, theme files, pictures, and app association files.

All of it is content from outside, so nothing is served as a document that could act in this origin: fixed media types,
no sniffing, and a policy that sandboxes whatever is opened by itself.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.api.rows.pages import tag_of
from apps.content.domain import contents, mobile, pictures, scripts, store_files
from apps.content.domain.addresses import picture_version
from apps.content.domain.media_types import served_type
from apps.content.models import Article, Asset, FileContent, ScriptTag
from apps.ground.tenancy import shop_scope
from apps.media.names import parse_transformation
from apps.media.pictures import ImageRefused
from apps.media.storage import StorageFailed
from apps.shops.models import Shop

SHORT = timedelta(minutes=1)
LONG = timedelta(days=365)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

View = Callable[..., HttpResponse]


def of_shop(view: View) -> View:
    """Run a view inside the scope of the shop that the path names by its domain."""

    @require_safe
    @wraps(view)
    def scoped(request: HttpRequest, domain: str, **kwargs: object) -> HttpResponse:
        shop = Shop.objects.filter(domain=domain).first()
        if shop is None:
            raise Http404
        with shop_scope(shop):
            try:
                return view(request, **kwargs)
            except StorageFailed as failure:
                return HttpResponse(status=failure.status, headers=failure.headers)

    return scoped


def _of_host(view: View) -> View:
    """Run a view inside the scope of the shop that the request's host names."""

    @require_safe
    @wraps(view)
    def scoped(request: HttpRequest) -> HttpResponse:
        shop = Shop.objects.filter(domain=getattr(request, "host_shop_domain", "")).first()
        if shop is None:
            raise Http404
        with shop_scope(shop):
            return view(request)

    return scoped


@of_shop
def script_loader(request: HttpRequest) -> HttpResponse:
    """The script that loads a shop's script tags."""
    scope = request.GET.get("scope", scripts.SCOPES[0])
    if scope not in scripts.SCOPES:
        return HttpResponse("scope must be online_store or order_status", status=400, content_type="text/plain")
    body = scripts.loader(scope).encode()
    return _answer(request, body, "application/javascript; charset=utf-8", etag=tag_of(body), fresh=SHORT)


@of_shop
def script(request: HttpRequest, tag_id: int) -> HttpResponse:
    """Our copy of a script whose tag asks for one."""
    tag = ScriptTag.objects.filter(pk=tag_id, cache=True).first()
    if tag is None:
        raise Http404
    try:
        body = scripts.cached_script(tag, at=timezone.now())
    except scripts.ScriptUnavailable:
        return HttpResponse(status=503, headers={"Retry-After": str(scripts.RETRY.seconds)})
    return _answer(request, body, "application/javascript; charset=utf-8", etag=tag_of(body), fresh=SHORT)


@of_shop
def asset(request: HttpRequest, theme_id: int, key: str) -> HttpResponse:
    """A theme file under ``assets/``."""
    found = Asset.objects.select_related("content").filter(theme_id=theme_id, key=f"assets/{key}").first()
    if found is None:
        raise Http404
    kind = served_type(found.key)
    return _content(request, found.content, kind, current=request.GET.get("v") == found.content.md5[:12])


@of_shop
def article_image(request: HttpRequest, article_id: int, name: str) -> HttpResponse:
    """An article's picture, or a smaller version of it."""
    article = Article.objects.select_related("image").filter(pk=article_id).exclude(image=None).first()
    if article is None or article.image is None:
        raise Http404
    return _picture(request, article.image, article.image_name, name)


@of_shop
def store_file(request: HttpRequest, name: str) -> HttpResponse:
    """A picture that staff keep for texts, or a smaller version of it."""
    found = store_files.named(name)
    if found is None:
        raise Http404
    return _picture(request, found.content, found.name, name)


def _picture(request: HttpRequest, content: FileContent, original: str, name: str) -> HttpResponse:
    """A picture by its own name, or a version of it whose name says how large."""
    kind = pictures.format_of(original).content_type
    current = request.GET.get("v") == picture_version(content.sha256)
    if name == original:
        return _content(request, content, kind, current=current)
    parsed = parse_transformation(name)
    if parsed is None or parsed[0] != original:
        raise Http404
    etag = tag_of((content.sha256, str(parsed[1])))
    fresh = LONG if current else SHORT
    if _is_known(request, etag):
        return _unchanged(etag, fresh)
    try:
        body = pictures.rendition(content, parsed[1])
    except ImageRefused:
        raise Http404 from None
    return _answer(request, body, kind, etag=etag, fresh=fresh)


@_of_host
def apple_app_site_association(request: HttpRequest) -> HttpResponse:
    """Which iOS apps may open the shop's links."""
    return _json(request, mobile.apple_app_site_association())


@_of_host
def asset_links(request: HttpRequest) -> HttpResponse:
    """Which Android apps may open the shop's links."""
    return _json(request, mobile.asset_links())


def _json(request: HttpRequest, value: object) -> HttpResponse:
    body = orjson.dumps(value)
    return _answer(request, body, "application/json", etag=tag_of(body), fresh=SHORT)


def _content(request: HttpRequest, content: FileContent, kind: str, *, current: bool) -> HttpResponse:
    etag, fresh = tag_of(content.sha256), LONG if current else SHORT
    if _is_known(request, etag):
        return _unchanged(etag, fresh)
    return _answer(request, contents.read(content), kind, etag=etag, fresh=fresh)


def _is_known(request: HttpRequest, etag: str) -> bool:
    return request.headers.get("If-None-Match") == etag


def _unchanged(etag: str, fresh: timedelta) -> HttpResponse:
    """What a reader has is still right, for as long again."""
    return HttpResponse(status=304, headers=_validity(etag, fresh))


def _validity(etag: str, fresh: timedelta) -> dict[str, str]:
    return {"ETag": etag, "Cache-Control": f"public, max-age={int(fresh.total_seconds())}"}


def _answer(request: HttpRequest, body: bytes, kind: str, *, etag: str, fresh: timedelta) -> HttpResponse:
    if _is_known(request, etag):
        return _unchanged(etag, fresh)
    headers = _validity(etag, fresh) | {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Access-Control-Allow-Origin": "*",
    }
    return HttpResponse(body, content_type=kind, headers=headers)
