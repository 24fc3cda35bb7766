"""Fetch the images of product rows from their URLs, several at a time and outside of any transaction."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from django.db import connection

from apps.catalog.domain import image_files
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.images import MAX_IMAGES
from apps.catalog.models import ProductImage
from apps.core.exceptions import DomainError
from apps.core.tenancy.scope import get_current_shop
from apps.imports_exports.domain.rows import Body, ImportRow
from apps.imports_exports.resources.products.existing import find_image
from apps.imports_exports.resources.products.handles import get_possible_handles

# The time limit of a download, and the number of concurrent downloads. The number is small, because each image is in
# memory while it is validated.
TIMEOUT_SECONDS, MAX_CONCURRENT = 10.0, 4
# Seconds between two heartbeats. Must be less than the lease of an import, which lasts a minute.
HEARTBEAT_SECONDS = 5.0
# The image at a URL, or the error of its download.
ImageOrError: TypeAlias = StoredImage | DomainError


def _get_image_urls(body: Body) -> list[str]:
    """Return the image URLs in a body, without duplicates and limited to the maximum number of images per product."""
    urls = [
        row.get(name)
        for rows, name in ((body.get("images"), "src"), (body.get("variants"), "image"))
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, Mapping)
    ]
    return list(dict.fromkeys(src for src in urls if isinstance(src, str) and src))[:MAX_IMAGES]


@contextmanager
def fetch_images(rows: Sequence[ImportRow], *, alive: Callable[[], None]) -> Iterator[list[ImportRow]]:
    """Yield the rows with their fetched images. On exit, delete the images that no product uses."""
    missing = _find_missing(rows)
    fetched: dict[tuple[int, str], ImageOrError] = {}
    try:
        # Add each image as soon as it is fetched, so that it is deleted if a later download fails.
        fetched.update(_fetch_all(missing, alive))
        yield [
            replace(row, fetched={src: fetched[line, src] for line, src in fetched if line == row.line}) for row in rows
        ]
    finally:
        image_files.discard_images(
            image for image in fetched.values() if isinstance(image, StoredImage) and not image.is_referenced
        )


def _find_missing(rows: Sequence[ImportRow]) -> list[tuple[int, str]]:
    """Return the line and URL of each image that the products do not have yet."""
    urls_by_row = [(row.line, get_possible_handles(row.body), _get_image_urls(row.body)) for row in rows if row.body]
    handles = {handle for _, possible_handles, addresses in urls_by_row if addresses for handle in possible_handles}
    if not handles:
        return []
    existing_images: dict[str, list[ProductImage]] = {}
    for image in ProductImage.objects.filter(product__handle__in=handles).select_related("product"):
        existing_images.setdefault(image.product.handle, []).append(image)
    return [
        (line, src)
        for line, possible_handles, addresses in urls_by_row
        for src in addresses
        if not any(find_image(existing_images.get(handle, []), src) for handle in possible_handles)
    ]


def _fetch_all(
    missing: Iterable[tuple[int, str]], alive: Callable[[], None]
) -> Iterator[tuple[tuple[int, str], ImageOrError]]:
    shop_id = get_current_shop().pk
    with ThreadPoolExecutor(MAX_CONCURRENT, "pictures") as threads:
        pending: dict[Future[ImageOrError], tuple[int, str]] = {
            threads.submit(_fetch_image, shop_id, key[1]): key for key in missing
        }
        try:
            while pending:
                finished, _ = wait(pending, HEARTBEAT_SECONDS, FIRST_COMPLETED)
                alive()
                for future in finished:
                    yield pending.pop(future), future.result()
        finally:
            for future in pending:
                future.cancel()


def _fetch_image(shop_id: int, src: str) -> ImageOrError:
    try:
        return image_files.store_image_from_url(shop_id, src, seconds=TIMEOUT_SECONDS)
    except DomainError as error:
        return error
    finally:
        # The URL check may have opened a database connection for this thread.
        connection.close()
