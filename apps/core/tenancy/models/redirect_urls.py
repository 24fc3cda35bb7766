"""Validation of an app's redirect URLs.

Redirect URLs are not normalized, because they are compared character by character.
"""

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

MAX_URLS = 20
MAX_LENGTH = 2048
# Matches a host name or IP address that contains no characters with a special meaning in the CSP header.
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]+")
# Query parameters that are added to a redirect URL for the callback.
CALLBACK_PARAMETERS = frozenset({"code", "hmac", "host", "shop", "state", "timestamp", "error", "error_description"})


def is_loopback(host: str) -> bool:
    """Return True if a host is the local machine. Apps in development may use HTTP on the local machine."""
    return host in {"localhost", "127.0.0.1", "::1"} or host.endswith(".localhost")


def check_redirect_urls(values: object) -> None:
    """Refuse redirect URLs that could leak an authorization code, with a ``ValidationError`` with a text per URL."""
    if not isinstance(values, list) or not all(isinstance(url, str) for url in values):
        raise ValidationError(_("Enter a list of URLs."))
    if len(values) > MAX_URLS:
        raise ValidationError(_("Enter at most {limit} redirect URLs.").format(limit=MAX_URLS))
    if errors := [f"{url[:200]}: {reason}" for url in values if (reason := _find_problem(url))]:
        raise ValidationError(errors)


def _find_problem(url: str) -> str:
    if len(url) > MAX_LENGTH:
        return _("is too long (maximum is {limit} characters).").format(limit=MAX_LENGTH)
    if not (url.isascii() and url.isprintable()) or any(character in url for character in ' "\\<>^`{|}*'):
        return _("contains a character that is not allowed in URLs.")
    if "#" in url:
        return _("must not contain a fragment (#).")
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError for an invalid port
    except ValueError:
        return _("is not a valid URL.")
    return _find_host_problem(parts) or _find_query_problem(parts)


def _find_host_problem(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if parts.scheme not in {"https", "http"} or not _HOST.fullmatch(host):
        return _("must begin with https:// and contain a host name.")
    if parts.scheme == "http" and not is_loopback(host):
        return _("must use HTTPS. HTTP is only allowed for localhost.")
    return _("must not contain a user name.") if "@" in parts.netloc else ""


def _find_query_problem(parts: SplitResult) -> str:
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if len(set(names)) < len(names) or any(name in CALLBACK_PARAMETERS or name.endswith("[]") for name in names):
        return _("has a query parameter that occurs twice or is reserved.")
    return ""
