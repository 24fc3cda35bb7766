"""Serve product images publicly, in the original size or in the size that the file name requests.

The files cannot execute scripts: the content type was checked on upload, ``nosniff`` keeps browsers from guessing
another type, and the response is sandboxed.
"""

import re

from django.core.files.storage import default_storage
from django.http import Http404, HttpRequest, HttpResponse

from apps.catalog.domain.image_files import get_image_path, get_sizes_folder
from apps.core.media.image_validation import ImageRefused
from apps.core.media.names import Transformation, parse_transformation
from apps.core.media.storage import StorageFailed, convert_storage_errors, read_file
from apps.core.media.transform import get_or_create_rendition, transform_image
from apps.core.public_pages import accept_only_reads

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


@accept_only_reads
def serve_image(request: HttpRequest, shop_id: int, key: str, name: str) -> HttpResponse:
    if not _KEY.fullmatch(key) or not _NAME.fullmatch(name):
        raise Http404
    kind = _TYPES[name.rpartition(".")[2]]
    try:
        data = _read(shop_id, key, name)
        if data is None:
            requested = parse_transformation(name)
            if requested is None:
                raise Http404
            data = _read_resized(shop_id, key, *requested)
    except StorageFailed as failure:
        return HttpResponse(status=failure.status, headers=failure.headers)
    return HttpResponse(data, content_type=kind, headers=HEADERS)


def _read(shop_id: int, key: str, name: str) -> bytes | None:
    path = get_image_path(shop_id, key, name)
    with convert_storage_errors(path, "read"):
        return read_file(default_storage, path)


def _read_resized(shop_id: int, key: str, name: str, transformation: Transformation) -> bytes:
    if not _NAME.fullmatch(name):
        raise Http404

    def render() -> bytes:
        original = _read(shop_id, key, name)
        if original is None:
            raise Http404
        try:
            return transform_image(original, transformation)
        except ImageRefused:
            raise Http404 from None

    stem, _, extension = name.rpartition(".")
    return get_or_create_rendition(
        default_storage, get_sizes_folder(shop_id, key), f"{stem}_{transformation}.{extension}", render
    )
