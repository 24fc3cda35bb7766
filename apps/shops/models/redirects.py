"""Where an app may have people led to, after they said what it may do.

Rule: decisions, Access. The addresses are compared to the letter, so there is nothing to normalise here.
"""

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

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
        raise ValidationError(_("Enter a list of addresses."))
    if len(values) > MAX_URLS:
        raise ValidationError(_("An app has at most {limit} redirect URLs.").format(limit=MAX_URLS))
    if wrong := [f"{each[:200]}: {reason}" for each in values if (reason := _wrong(each))]:
        raise ValidationError(wrong)


def _wrong(url: str) -> str:
    """Why an address is refused; nothing where it is fine."""
    if len(url) > MAX_LENGTH:
        return _("is too long (maximum is {limit} characters).").format(limit=MAX_LENGTH)
    if not (url.isascii() and url.isprintable()) or any(character in url for character in ' "\\<>^`{|}*'):
        return _("holds a character that no address has as it is.")
    if "#" in url:
        return _("must hold no fragment (#).")
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - refuses what is not a port number
    except ValueError:
        return _("is no address.")
    return _wrong_place(parts) or _wrong_query(parts)


def _wrong_place(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if parts.scheme not in {"https", "http"} or not _HOST.fullmatch(host):
        return _("must begin with https:// and name a host.")
    if parts.scheme == "http" and not is_loopback(host):
        return _("must be secure (HTTPS); http is for addresses of this machine alone.")
    return _("must hold no user name.") if "@" in parts.netloc else ""


def _wrong_query(parts: SplitResult) -> str:
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if len(set(names)) < len(names) or any(name in OURS or name.endswith("[]") for name in names):
        return _("has a query that the callback would confuse: each name once, and none that the callback adds.")
    return ""
