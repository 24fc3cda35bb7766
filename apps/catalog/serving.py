"""Serving pictures to shoppers' browsers: the original, or the size that its name asks for.

Nothing served here can run: the type is fixed by the content that was checked on the way in, browsers are told not to
guess another, and the answer is sandboxed.
"""

import re

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from apps.catalog.pictures import folder_of, path_of
from apps.media.images import ImageRefused
from apps.media.names import Transformation, parse_transformation
from apps.media.transform import transform

# Versions of one picture that are kept; more are made anew each time, so that nobody can fill the storage.
MAX_SIZES = 50
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
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_@-]{0,254}\.(png|gif|jpe?g)", re.ASCII)


@require_safe
def image(request: HttpRequest, shop_id: int, key: str, name: str) -> HttpResponse:
    """A picture, or a smaller version of it, made on the first read."""
    if not _KEY.fullmatch(key) or not _NAME.fullmatch(name):
        raise Http404
    original = path_of(shop_id, key, name)
    kind = _TYPES[name.rpartition(".")[2]]
    if default_storage.exists(original):
        return HttpResponse(_read(original), content_type=kind, headers=HEADERS)
    asked = parse_transformation(name)
    if asked is None:
        raise Http404
    base, transformation = asked
    return HttpResponse(_sized(shop_id, key, base, transformation), content_type=kind, headers=HEADERS)


def _sized(shop_id: int, key: str, name: str, transformation: Transformation) -> bytes:
    """The smaller version; made and kept where it does not exist yet."""
    if not _NAME.fullmatch(name):
        raise Http404
    place = f"{folder_of(shop_id, key)}/sizes/{transformation}.{name.rpartition('.')[2]}"
    if default_storage.exists(place):
        return _read(place)
    try:
        data = transform(_read(path_of(shop_id, key, name)), transformation)
    except (FileNotFoundError, ImageRefused):
        raise Http404 from None
    if _count(shop_id, key) < MAX_SIZES:
        saved = default_storage.save(place, ContentFile(data))
        if saved != place:
            # Another request made the same version meanwhile, and storage never overwrites.
            default_storage.delete(saved)
    return data


def _count(shop_id: int, key: str) -> int:
    """How many versions of a picture are kept."""
    try:
        return len(default_storage.listdir(f"{folder_of(shop_id, key)}/sizes")[1])
    except FileNotFoundError:
        return 0


def _read(place: str) -> bytes:
    with default_storage.open(place) as file:
        data: bytes = file.read()
    return data
