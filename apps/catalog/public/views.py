"""Serving pictures to shoppers' browsers: the original, or the size that its name asks for.

Nothing served here can run: the type is fixed by the content that was checked on the way in, browsers are told not to
guess another, and the answer is sandboxed.
"""

import re

from django.core.files.storage import default_storage
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from apps.catalog.domain.pictures import path_of, sizes_of
from apps.media.names import Transformation, parse_transformation
from apps.media.pictures import ImageRefused
from apps.media.renditions import rendition
from apps.media.storage import StorageFailed, read_file, reporting
from apps.media.transform import transform

HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Content-Disposition": "inline",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Access-Control-Allow-Origin": "*",
}
_TYPES = {"png": "image/png", "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg"}
_KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_@-]{0,199}\.(png|gif|jpe?g)", re.ASCII)


@require_safe
def image(request: HttpRequest, shop_id: int, key: str, name: str) -> HttpResponse:
    """A picture, or a smaller version of it, made on the first read."""
    if not _KEY.fullmatch(key) or not _NAME.fullmatch(name):
        raise Http404
    kind = _TYPES[name.rpartition(".")[2]]
    try:
        data = _read(shop_id, key, name)
        if data is None:
            asked = parse_transformation(name)
            if asked is None:
                raise Http404
            data = _sized(shop_id, key, *asked)
    except StorageFailed as failure:
        return HttpResponse(status=failure.status, headers=failure.headers)
    return HttpResponse(data, content_type=kind, headers=HEADERS)


def _read(shop_id: int, key: str, name: str) -> bytes | None:
    place = path_of(shop_id, key, name)
    with reporting(place, "read"):
        return read_file(default_storage, place)


def _sized(shop_id: int, key: str, name: str, transformation: Transformation) -> bytes:
    """The smaller version of a picture that there is."""
    if not _NAME.fullmatch(name):
        raise Http404

    def make() -> bytes:
        original = _read(shop_id, key, name)
        if original is None:
            raise Http404
        try:
            return transform(original, transformation)
        except ImageRefused:
            raise Http404 from None

    stem, _, extension = name.rpartition(".")
    return rendition(default_storage, sizes_of(shop_id, key), f"{stem}_{transformation}.{extension}", make)
