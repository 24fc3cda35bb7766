"""Where deliveries can go: the kinds of URIs, and what is wrong with one.

``https`` is always there (a host of ``OUTGOING_ALLOW`` may also be reached by plain http, for development). Every other
scheme is there once ``enable`` was called with it: where the operator set up what it leads to.
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext_noop

from apps.ground.phrases import BLANK, NOT_A_URL, too_long
from apps.ground.retelling import tells
from apps.outgoing.addresses import URL_MAX_LENGTH, AddressRefused, UrlRefused, vet_url
from apps.shops.models import App

# What is wrong with a URI, in words that follow "Address"; None where nothing is.
Check = Callable[[str, App], str | None]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_GCP_PROJECT = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]")
_GCP_TOPIC = re.compile(r"(?!goog)[A-Za-z][A-Za-z0-9._~+%-]{2,254}")
_EVENT_SOURCE = re.compile(
    r"arn:aws:events:[a-z]{2}-[a-z]+-[0-9]+::event-source/aws\.partner/[A-Za-z0-9._-]+/(?P<app>[0-9]+)/[A-Za-z0-9._/-]+"
)
_KAFKA_TOPIC = re.compile(r"kafka://[A-Za-z0-9._-]{1,249}")
_AMQP = re.compile(r"amqp://(?P<broker>[a-z0-9-]{1,60})/[A-Za-z0-9._-]{1,200}")

_NOT_SUPPORTED = tells(gettext_noop("protocol {scheme}:// is not supported"))
_INTERNAL = tells(gettext_noop("cannot be a {brand} or an internal domain"))
_OF_ANOTHER_APP = tells(gettext_noop("is an AWS ARN and includes api_client_id '{found}' instead of '{wanted}'"))
_NO_BROKER = tells(gettext_noop("names no broker that is set up: {broker}"))


def misfit(uri: str, app: App) -> str | None:
    """What is wrong with a URI, in words that follow "Address"; None where nothing is."""
    if not uri.strip():
        return BLANK
    if len(uri.encode(errors="replace")) > URL_MAX_LENGTH:
        return too_long(URL_MAX_LENGTH, "bytes")
    scheme = _scheme_as_written(uri)
    if not scheme:
        return NOT_A_URL
    if scheme in {"https", "http"}:
        return _check_web(uri, scheme)
    return CHECKS[scheme](uri, app) if scheme in _enabled else _NOT_SUPPORTED.format(scheme=scheme)


def _scheme_as_written(uri: str) -> str:
    """The scheme of a URI in small letters, ``arn`` for a name of Amazon's; blank where there is none."""
    if uri.startswith("arn:"):
        return "arn"
    found = _SCHEME.match(uri)
    return found[1].lower() if found else ""


def host_of(uri: str) -> str:
    """The server behind a URI, by which failures are counted."""
    if uri.startswith("arn:"):
        return ":".join(uri.split(":")[:4])
    parts = urlsplit(uri)
    return (parts.netloc or parts.scheme).lower()[:255]


def scheme_of(uri: str) -> str:
    """The transport that a URI takes: ``https``, ``arn``, ``amqp`` …; plain http goes with https."""
    scheme = _scheme_as_written(uri)
    return {"http": "https"}.get(scheme, scheme)


def enable(*schemes: str) -> None:
    """Say that a transport takes URIs of these schemes."""
    _enabled.update(schemes)


def _check_web(uri: str, scheme: str) -> str | None:
    try:
        vet_url(uri, schemes=("https",))
    except AddressRefused:
        return _INTERNAL.format(brand=settings.BRAND.capitalize())
    except UrlRefused as error:
        return _NOT_SUPPORTED.format(scheme=scheme) if str(error) == "must use https" else str(error)
    return None


def _check_pubsub(uri: str, _app: App) -> str | None:
    project, colon, topic = uri.removeprefix("pubsub://").partition(":")
    if not (project and colon and topic):
        return gettext_noop("is not a valid GCP pub/sub format. Format should be pubsub://project:topic")
    if not _GCP_PROJECT.fullmatch(project):
        return gettext_noop("is not a valid GCP project id")
    return None if _GCP_TOPIC.fullmatch(topic) else gettext_noop("is not a valid GCP topic id")


def _check_event_source(uri: str, app: App) -> str | None:
    found = _EVENT_SOURCE.fullmatch(uri)
    if found is None:
        return gettext_noop("is not a valid AWS ARN")
    if found["app"] != str(app.pk):
        return _OF_ANOTHER_APP.format(found=found["app"], wanted=app.pk)
    return None


def _check_kafka(uri: str, _app: App) -> str | None:
    return None if _KAFKA_TOPIC.fullmatch(uri) else gettext_noop("is not a valid kafka topic")


def _check_amqp(uri: str, _app: App) -> str | None:
    found = _AMQP.fullmatch(uri)
    if found is None:
        return gettext_noop("is not a valid AMQP address. Address should be amqp://broker/routing-key")
    return None if found["broker"] in settings.WEBHOOK_BROKERS else _NO_BROKER.format(broker=found["broker"])


CHECKS: dict[str, Check] = {
    "arn": _check_event_source,
    "pubsub": _check_pubsub,
    "kafka": _check_kafka,
    "amqp": _check_amqp,
}
_enabled: set[str] = set()
