"""Normalize the paths and targets of redirects, and build the keys by which paths are compared.

A path is stored as it was entered, without the host. Two paths are the same if they differ only in case, in a final
``/`` or in percent encoding.
"""

import hashlib
import unicodedata
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

from apps.content.models.redirects import MAX_LENGTH
from apps.core.i18n.error_messages import BLANK, INVALID, too_long
from apps.core.i18n.messages import define_text
from apps.core.tenancy.models import Shop

HOME_PAGE = define_text("redirects.home_page", "can't be the home page")
NOT_A_TARGET = define_text("redirects.not_a_target", "must begin with /, http:// or https://")
_SCHEMES = ("http", "https")
_is_url = URLValidator(schemes=list(_SCHEMES))


class InvalidRedirectPath(ValueError):
    """Raised when a text is no path or target. The argument is the error message."""


def normalize_path(text: str) -> str:
    """Return a path with a leading ``/``, without host, fragment and final ``/``.

    Raises:
        InvalidRedirectPath: The text is blank, no path, too long, or the home page.
    """
    parts = _split(text)
    if parts.scheme not in {"", *_SCHEMES}:
        raise InvalidRedirectPath(INVALID)
    path = f"/{parts.path.strip('/')}{f'?{parts.query}' if parts.query else ''}"
    if path == "/":
        raise InvalidRedirectPath(HOME_PAGE)
    if len(path) > MAX_LENGTH:
        raise InvalidRedirectPath(too_long(MAX_LENGTH))
    return path


def normalize_target(text: str) -> str:
    """Return a path with a leading ``/``, or a URL.

    Raises:
        InvalidRedirectPath: The text is blank, too long, or neither a path nor a URL. Browsers treat two slashes, and a
            slash with a backslash, as the beginning of another host, so such paths are refused.
    """
    target = text.strip()
    parts = _split(target)
    if len(target) > MAX_LENGTH:
        raise InvalidRedirectPath(too_long(MAX_LENGTH))
    if target.startswith("/") and not target.startswith("//") and "\\" not in target:
        return target
    if parts.scheme not in _SCHEMES:
        raise InvalidRedirectPath(NOT_A_TARGET)
    try:
        _is_url(target)
    except ValidationError:
        raise InvalidRedirectPath(INVALID) from None
    return target


def build_path_key(path: str) -> str:
    """Return the digest by which paths are compared."""
    plain, _mark, query = path.partition("?")
    words = unicodedata.normalize("NFC", unquote(plain)).casefold().strip("/")
    return hashlib.sha256(f"{words}?{query}".encode()).hexdigest()


def get_shop_path(target: str, shop: Shop) -> str | None:
    """Return the path and query of a target in the shop's online store, or None if the target is another site."""
    parts = urlsplit(target)
    if parts.netloc and (parts.hostname or "") != shop.domain.lower():
        return None
    return f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"


def build_target_key(target: str, shop: Shop) -> str:
    """Return the digest of the target's path, or "" if the target is another site."""
    path = get_shop_path(target, shop)
    return "" if path is None else build_path_key(path)


def _split(text: str) -> SplitResult:
    stripped = text.strip()
    if not stripped:
        raise InvalidRedirectPath(BLANK)
    if not stripped.isprintable():
        raise InvalidRedirectPath(INVALID)
    try:
        parts = urlsplit(stripped)
        # A host with an invalid port is only detected when the port is read.
        _ = parts.port
    except ValueError:
        raise InvalidRedirectPath(INVALID) from None
    return parts
