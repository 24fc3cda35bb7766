"""Match the handles in product files with the products of the shop.

A handle in a file is kept, so that the addresses of the old shop stay the same. A handle that a URL can't contain is
converted like a title. The same applies to handles that earlier releases converted, although a URL can contain them.
"""

import re
import unicodedata
from collections.abc import Mapping

from apps.core.handles import MAX_LENGTH, build_handle, fold_handle, normalize_handle
from apps.core.i18n.messages import define_message
from apps.imports_exports.domain.rows import Body, RowRefused
from apps.imports_exports.resources.products.existing import ExistingProduct

HANDLE_CHANGED = define_message("product_imports.handle_changed", "the handle {old} was changed to {new}")
_TAKEN = define_message(
    "product_imports.handle_taken",
    "The handle {old} can't be used in URLs, and {new} is the handle of another product. Change the handle",
)
_PLAIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)


def get_file_handle(body: Body) -> str:
    handle = body.get("handle")
    return unicodedata.normalize("NFC", handle.strip()) if isinstance(handle, str) else ""


def get_handle(body: Body) -> str:
    """Return the handle that a new product gets, or an empty string if the handle is derived from the title."""
    handle = get_file_handle(body)
    if _PLAIN.fullmatch(handle) and len(handle) <= MAX_LENGTH:
        return handle
    handle = normalize_handle(handle)
    return handle if len(handle) <= MAX_LENGTH else handle[:MAX_LENGTH].strip("-")


def get_possible_handles(body: Body) -> set[str]:
    """Return the handles that the product of a row may have in the shop."""
    handle = get_handle(body)
    converted = "" if _PLAIN.fullmatch(handle) else build_handle(get_file_handle(body))
    return {handle, converted} - {""}


def find_existing(body: Body, existing: Mapping[str, ExistingProduct]) -> ExistingProduct | None:
    """Return the product of a row, or None if the product is new.

    A product with a converted handle must also have the title in the file, because different handles may be converted
    to the same handle.

    Raises:
        RowRefused: If the converted handle belongs to a product that may be another one.
    """
    handle, old = get_handle(body), get_file_handle(body)
    is_kept = handle == fold_handle(old)
    if is_kept and handle in existing:
        return existing[handle]
    for candidate in sorted(get_possible_handles(body)):
        product = existing.get(candidate)
        if product is None:
            continue
        title = body.get("title")
        if product.product.title == title or (not title and not is_kept):
            return product
        if not title or not is_kept:
            raise RowRefused(_TAKEN(old=old, new=candidate))
    return None
