"""Where an app may have people led to, after they said what it may do.

Rule: decisions, Access. The addresses are compared to the letter, so there is nothing to normalise here.
"""

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from django.core.exceptions import ValidationError

MAX_URLS = 20
MAX_LENGTH = 2048
# A name or an address; the host also stands in a policy of ours, where other characters would have a meaning.
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]+")
# What the callback adds.
OURS = frozenset({"code", "hmac", "host", "shop", "state", "timestamp", "error", "error_description"})


def is_loopback(host: str) -> bool:
    """Whether a host is the machine of whoever follows the address: there http is fine, and apps are developed."""
    return host in {"localhost", "127.0.0.1", "::1"} or host.endswith(".localhost")


def check_redirect_urls(values: object) -> None:
    """Refuse a list in which an address could lead a code to where it does not belong.

    Raises:
        ValidationError: A sentence for each address that is refused.
    """
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise ValidationError("Enter a list of addresses.")
    if len(values) > MAX_URLS:
        raise ValidationError(f"An app has at most {MAX_URLS} redirect URLs.")
    if wrong := [f"{each[:200]}: {reason}" for each in values if (reason := _wrong(each))]:
        raise ValidationError(wrong)


def _wrong(url: str) -> str:
    """Why an address is refused; nothing where it is fine."""
    if len(url) > MAX_LENGTH:
        return f"is too long (maximum is {MAX_LENGTH} characters)."
    if not (url.isascii() and url.isprintable()) or any(character in url for character in ' "\\<>^`{|}*'):
        return "holds a character that no address has as it is."
    if "#" in url:
        return "must hold no fragment (#)."
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is no address."
    return _wrong_place(parts) or _wrong_query(parts)


def _wrong_place(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if parts.scheme not in {"https", "http"} or not _HOST.fullmatch(host):
        return "must begin with https:// and name a host."
    if parts.scheme == "http" and not is_loopback(host):
        return "must be secure (HTTPS); http is for addresses of this machine alone."
    return "must hold no user name." if "@" in parts.netloc else ""


def _wrong_query(parts: SplitResult) -> str:
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if len(set(names)) < len(names) or any(name in OURS or name.endswith("[]") for name in names):
        return "has a query that the callback would confuse: each name once, and none that the callback adds."
    return ""
