"""Validate the URIs that deliveries are sent to.

``https`` is always supported. For development, a host in ``OUTGOING_ALLOW`` may also use plain http. The settings
enable other schemes, which have a transport each (``engine.transports``).
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext_noop

from apps.core.http.ssrf_guard import URL_MAX_LENGTH, AddressRefused, UrlRefused, check_url
from apps.core.i18n.error_messages import BLANK, NOT_A_URL, too_long
from apps.core.i18n.messages import define_message
from apps.core.tenancy.models import App

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_GCP_PROJECT = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]")
_GCP_TOPIC = re.compile(r"(?!goog)[A-Za-z][A-Za-z0-9._~+%-]{2,254}")
_EVENT_SOURCE = re.compile(
    r"arn:aws:events:[a-z]{2}-[a-z]+-[0-9]+::event-source/aws\.partner/[A-Za-z0-9._-]+/(?P<app>[0-9]+)/[A-Za-z0-9._/-]+"
)
_AMQP = re.compile(r"amqp://(?P<broker>[a-z0-9-]{1,60})/[A-Za-z0-9._-]{1,200}")

_NOT_SUPPORTED = define_message("endpoints.not_supported", "protocol {scheme}:// is not supported")
_INTERNAL = define_message("endpoints.internal", "cannot be a {brand} or an internal domain")
_OF_ANOTHER_APP = define_message(
    "endpoints.of_another_app", "is an AWS ARN and includes api_client_id '{found}' instead of '{wanted}'"
)
_NO_BROKER = define_message("endpoints.no_broker", "refers to a broker that is not configured: {broker}")


def find_uri_error(uri: str, app: App) -> str | None:
    """Return the error in a URI as a phrase that follows the label "Address", or None if the URI is valid."""
    if not uri.strip():
        return BLANK
    if len(uri.encode(errors="replace")) > URL_MAX_LENGTH:
        return too_long(URL_MAX_LENGTH, "bytes")
    scheme = _parse_scheme(uri)
    if not scheme:
        return NOT_A_URL
    if scheme in {"https", "http"}:
        return _check_web(uri, scheme)
    return SCHEME_CHECKS[scheme](uri, app) if scheme in get_enabled_schemes() else _NOT_SUPPORTED(scheme=scheme)


def _parse_scheme(uri: str) -> str:
    """Return the scheme in lowercase (``arn`` for an Amazon Resource Name), or "" if there is none."""
    if uri.startswith("arn:"):
        return "arn"
    match = _SCHEME.match(uri)
    return match[1].lower() if match else ""


def get_host(uri: str) -> str:
    """Return the server in a URI. All endpoints on a server share a circuit breaker."""
    if uri.startswith("arn:"):
        return ":".join(uri.split(":")[:4])
    parts = urlsplit(uri)
    return (parts.netloc or parts.scheme).lower()[:255]


def get_transport_scheme(uri: str) -> str:
    """Return the scheme that selects the transport: ``https``, ``arn``, ``amqp`` …; plain http becomes ``https``."""
    return "https" if (scheme := _parse_scheme(uri)) == "http" else scheme


def get_enabled_schemes() -> list[str]:
    """Return the URI schemes that the settings enable in addition to ``https``."""
    return ["amqp"] * bool(settings.WEBHOOK_BROKERS) + ["arn"] * settings.WEBHOOK_EVENTBRIDGE


def _check_web(uri: str, scheme: str) -> str | None:
    try:
        check_url(uri, schemes=("https",))
    except AddressRefused:
        return _INTERNAL(brand=settings.BRAND.capitalize())
    except UrlRefused as error:
        return _NOT_SUPPORTED(scheme=scheme) if str(error) == "must use https" else str(error)
    return None


def _check_pubsub(uri: str, _app: App) -> str | None:
    project, colon, topic = uri.removeprefix("pubsub://").partition(":")
    if not (project and colon and topic):
        return gettext_noop("is not a valid GCP pub/sub format. Format should be pubsub://project:topic")
    if not _GCP_PROJECT.fullmatch(project):
        return gettext_noop("is not a valid GCP project id")
    return None if _GCP_TOPIC.fullmatch(topic) else gettext_noop("is not a valid GCP topic id")


def _check_event_source(uri: str, app: App) -> str | None:
    match = _EVENT_SOURCE.fullmatch(uri)
    if match is None:
        return gettext_noop("is not a valid AWS ARN")
    return None if match["app"] == str(app.pk) else _OF_ANOTHER_APP(found=match["app"], wanted=app.pk)


def _check_amqp(uri: str, _app: App) -> str | None:
    match = _AMQP.fullmatch(uri)
    if match is None:
        return gettext_noop("is not a valid AMQP address. Address should be amqp://broker/routing-key")
    return None if match["broker"] in settings.WEBHOOK_BROKERS else _NO_BROKER(broker=match["broker"])


SCHEME_CHECKS: dict[str, Callable[[str, App], str | None]] = {
    "arn": _check_event_source,
    "pubsub": _check_pubsub,
    "amqp": _check_amqp,
}
