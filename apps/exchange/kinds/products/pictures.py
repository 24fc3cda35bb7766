"""The pictures that rows of products name by address: fetched before the transaction, several at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from apps.catalog.domain import pictures
from apps.catalog.domain.images import MAX_IMAGES
from apps.catalog.domain.pictures import Picture
from apps.catalog.models import ProductImage
from apps.exchange.domain.rows import Body, RawRow
from apps.exchange.kinds.products.known import image_at
from apps.ground.errors import DomainError
from apps.ground.handles import as_handle
from apps.ground.tenancy import current_shop

# Of one picture, and how many at a time: each is held in memory while it is checked.
SECONDS, AT_ONCE = 10.0, 4
# The claim of who works on the file lasts a minute.
SIGN_OF_LIFE = 5.0
# A picture, or why there is none.
Fetched: TypeAlias = Picture | DomainError


def addresses_in(body: Body) -> list[str]:
    """The addresses of pictures that a body names, each once, as many as a product can have."""
    images, variants = body.get("images"), body.get("variants")
    named = [
        *(image.get("src") for image in (images if isinstance(images, list) else ()) if isinstance(image, Mapping)),
        *(one.get("image") for one in (variants if isinstance(variants, list) else ()) if isinstance(one, Mapping)),
    ]
    return list(dict.fromkeys(src for src in named if isinstance(src, str) and src))[:MAX_IMAGES]


@contextmanager
def prepared(rows: Sequence[RawRow], *, alive: Callable[[], None]) -> Iterator[list[RawRow]]:
    """The rows with their pictures, of which those that no product came to show are deleted at the end."""
    wanted = _missing(rows)
    taken: dict[tuple[int, str], Fetched] = {}
    try:
        # As they come, so that what came before a failure is put away.
        taken.update(_fetched(wanted, alive))
        yield [replace(row, fetched={src: taken[line, src] for line, src in taken if line == row.line}) for row in rows]
    finally:
        pictures.discard(each for each in taken.values() if isinstance(each, Picture) and not each.kept)


def _missing(rows: Sequence[RawRow]) -> list[tuple[int, str]]:
    """By line, the addresses whose pictures products do not show yet."""
    named = [
        (row.line, as_handle(str(row.body.get("handle") or "")), addresses_in(row.body)) for row in rows if row.body
    ]
    handles = {handle for _, handle, addresses in named if addresses}
    if not handles:
        return []
    shown: dict[str, list[ProductImage]] = {}
    for image in ProductImage.objects.filter(product__handle__in=handles).select_related("product"):
        shown.setdefault(image.product.handle, []).append(image)
    return [
        (line, src)
        for line, handle, addresses in named
        for src in addresses
        if not image_at(shown.get(handle, []), src)
    ]


def _fetched(wanted: Iterable[tuple[int, str]], alive: Callable[[], None]) -> Iterator[tuple[tuple[int, str], Fetched]]:
    shop_id = current_shop().pk
    with ThreadPoolExecutor(AT_ONCE, "pictures") as threads:
        waiting: dict[Future[Fetched], tuple[int, str]] = {
            threads.submit(_take, shop_id, key[1]): key for key in wanted
        }
        try:
            while waiting:
                done, _ = wait(waiting, SIGN_OF_LIFE, FIRST_COMPLETED)
                alive()
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:
            for future in waiting:
                future.cancel()


def _take(shop_id: int, src: str) -> Fetched:
    try:
        return pictures.take_from(shop_id, src, seconds=SECONDS)
    except DomainError as refusal:
        return refusal
