"""Parse an app's configuration file, compare it with the database and apply it.

The file is the complete list of the app's subscriptions for all shops. Subscriptions that are not in the file are
deleted. Sections for other features, such as a storefront, are ignored.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import PART_ERROR
from apps.core.tenancy.models import App
from apps.core.tenancy.scope import all_shops_scope
from apps.core.types import Attrs
from apps.shops.domain import app_registration
from apps.shops.domain.app_installation import ScopeUnknown
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.engine.rate_limits import DEFAULT_MAX_IN_FLIGHT
from apps.webhooks.domain.errors import SubscriptionRefused
from apps.webhooks.domain.topics import COMPLIANCE_TOPICS
from apps.webhooks.models import Subscription
from apps.webhooks.models.subscriptions import decode_warnings

MAX_BYTES = 256 * 1024
DUPLICATE_MESSAGE = "You can’t have duplicate subscriptions with the exact same `topic` and `uri`"
DUPLICATE_COMPLIANCE_MESSAGE = "You can’t have duplicate privacy compliance subscriptions with the exact same `uri`"
_ENTRY = re.compile(r"\s*\[\[\s*webhooks\s*\.\s*subscriptions\s*\]\]")
# Delivery options with their defaults. These options extend the file format that existing apps use.
_DELIVERY_OPTIONS: dict[str, bool | int | None] = {
    "ordered": False,
    "max_in_flight": DEFAULT_MAX_IN_FLIGHT,
    "max_per_second": None,
}
_ENTRY_KEYS = {"topics", "compliance_topics", "uri", "filter", "include_fields", "name", *_DELIVERY_OPTIONS}
_WEBHOOKS_KEYS = {"api_version", "subscriptions", "privacy_compliance"}
# The locations of the redirect URLs and scopes in the file.
_APP_LOCATIONS = {"redirect_urls": "auth.redirect_urls", "scopes": "access_scopes.scopes"}
_TYPE_NAMES = {"str": "string", "dict": "table", "list": "list"}
# Maps each legacy key for the URI of a privacy request to the topic of the request.
_LEGACY_PRIVACY_KEYS = {
    "customer_deletion_url": "customers/redact",
    "customer_data_request_url": "customers/data_request",
    "shop_deletion_url": "shop/redact",
}


class ConfigRefused(DomainError):
    """Raised when the file cannot be applied. The message names the location in the file."""


@dataclass(frozen=True, slots=True)
class SubscriptionEntry:
    """A subscription that the file defines, with its location in the file and its field values."""

    location: str
    values: Attrs

    @property
    def key(self) -> tuple[str, str, str]:
        """Return topic, URI and filter, which together must be unique in the file."""
        return self.values["topic"], self.values["uri"], self.values["filter"]


@dataclass(frozen=True, slots=True)
class AppConfig:
    client_id: str
    app: Mapping[str, Any]
    subscription_entries: tuple[SubscriptionEntry, ...]


@dataclass(slots=True)
class ConfigChanges:
    """The changes that a file would make, as lines of text. Without changes, all lists are empty."""

    app: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        for mark, rows in (("~", self.app), ("-", self.removed), ("~", self.changed), ("+", self.added)):
            yield from (f"{mark} {row}" for row in rows)


def parse_config(text: str) -> AppConfig:
    """Parse a configuration file, or raise ``ConfigRefused``."""
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise ConfigRefused(_("The file is too large (maximum is {size} KiB).").format(size=MAX_BYTES // 1024))
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigRefused(_("This file is not valid TOML: {error}").format(error=error)) from error
    app = _app_values(document)
    webhooks = _get_typed(document, "webhooks", dict, "webhooks", {})
    if unknown := sorted(webhooks.keys() - _WEBHOOKS_KEYS):
        raise ConfigRefused(_("{place} is unknown.").format(place=f"webhooks.{unknown[0]}"))
    base = app.get("application_url", "")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _ENTRY.match(line)]
    subscriptions_in_file = tuple(_parse_subscriptions(webhooks, base, lines))
    version = _get_typed(webhooks, "api_version", str, "webhooks.api_version", "")
    if "webhooks" in document and not version:
        raise ConfigRefused(_("{place} is required.").format(place="webhooks.api_version"))
    if version and version not in (*settings.API_VERSIONS, "unstable"):
        raise ConfigRefused(_("{place} is unknown.").format(place=f"webhooks.api_version {version}"))
    _refuse_duplicates(subscriptions_in_file)
    for entry in subscriptions_in_file:
        entry.values["api_version"] = version
    return AppConfig(_get_typed(document, "client_id", str, "client_id", ""), app, subscriptions_in_file)


@transaction.atomic
def apply_config(app: App, configuration: AppConfig, *, at: datetime, actor: str = "system") -> ConfigChanges:
    """Apply a configuration file to its app in one transaction, and return the changes.

    Raises:
        ConfigRefused: The file belongs to another app, or one of its subscriptions is invalid.
    """
    if configuration.client_id and configuration.client_id != app.api_key:
        raise ConfigRefused(_("client_id belongs to another app."))
    difference = ConfigChanges()
    _update_app(app, configuration.app, difference, actor, at)
    with all_shops_scope():
        existing = list(subscriptions.get_configured_subscriptions(app).order_by("pk"))
    pairs = _match_existing(existing, configuration.subscription_entries)
    matched = {row.pk for row in pairs.values()}
    for row in existing:
        if row.pk not in matched:
            subscriptions.delete_subscription(row, actor=actor, at=at)
            difference.removed.append(str(row))
    for index, entry in enumerate(configuration.subscription_entries):
        saved = _save(app, pairs.get(index), entry, difference, actor=actor, at=at)
        difference.warnings += [
            PART_ERROR(part=entry.location, error=warning["message"]) for warning in decode_warnings(saved.warnings)
        ]
    return difference


def compare_config(app: App, configuration: AppConfig, *, at: datetime) -> ConfigChanges:
    """Return the changes that ``apply_config`` would make, without applying the file."""
    with transaction.atomic():
        difference = apply_config(app, configuration, at=at)
        transaction.set_rollback(True)
    app.refresh_from_db()
    return difference


def _save(
    app: App, row: Subscription | None, entry: SubscriptionEntry, difference: ConfigChanges, *, actor: str, at: datetime
) -> Subscription:
    try:
        if row is None:
            created = subscriptions.create_configured_subscription(app, entry.values, at=at)
            difference.added.append(str(created))
            return created
        changes = subscriptions.update_subscription(
            row, {name: value for name, value in entry.values.items() if name != "topic"}, actor=actor, at=at
        )
    except SubscriptionRefused as error:
        sentences = "; ".join(text for _, text in error.full_messages)
        raise ConfigRefused(f"{entry.location}: {sentences}") from error
    if names := sorted(changes.keys() - {"warnings"}):
        difference.changed.append(f"{row}: {', '.join(names)}")
    return row


def _match_existing(existing: list[Subscription], entries: tuple[SubscriptionEntry, ...]) -> dict[int, Subscription]:
    """Map the index of an entry to the existing subscription with the same key, or else the same topic and name."""
    unmatched = {row.pk: row for row in existing}
    matches: dict[int, Subscription] = {}
    by_key = {(row.topic, row.uri, row.filter): row for row in existing}
    by_name = {(row.topic, row.name): row for row in existing if row.name}
    for index, entry in enumerate(entries):
        if (row := by_key.get(entry.key)) is not None:
            matches[index] = unmatched.pop(row.pk)
    for index, entry in enumerate(entries):
        row = by_name.get((entry.values["topic"], entry.values["name"]))
        if index not in matches and row is not None and row.pk in unmatched:
            matches[index] = unmatched.pop(row.pk)
    return matches


def _update_app(app: App, values: Mapping[str, Any], difference: ConfigChanges, actor: str, at: datetime) -> None:
    try:
        changes = app_registration.update_registration(app, values, actor=actor, at=at)
    except ValidationError as error:
        name, texts = next(iter(error.message_dict.items()))
        raise ConfigRefused(f"{_APP_LOCATIONS.get(name, name)}: {' '.join(texts)}") from error
    except ScopeUnknown as error:
        raise ConfigRefused(f"{_APP_LOCATIONS['scopes']}: {error}.") from error
    difference.app += [f"{name}: {before} → {after}" for name, (before, after) in changes.items()]


def _app_values(document: Mapping[str, Any]) -> dict[str, Any]:
    names = ("name", "application_url", "contact_email", "distribution")
    values: dict[str, Any] = {name: _get_typed(document, name, str, name, "") for name in names if name in document}
    auth = _get_typed(document, "auth", dict, "auth", {})
    if "redirect_urls" in auth:
        values["redirect_urls"] = _get_strings(auth, "redirect_urls", _APP_LOCATIONS["redirect_urls"])
    access = _get_typed(document, "access_scopes", dict, "access_scopes", {})
    if "scopes" in access:
        values["scopes"] = _get_typed(access, "scopes", str, _APP_LOCATIONS["scopes"], "")
    return values


def _parse_subscriptions(webhooks: Mapping[str, Any], base: str, lines: list[int]) -> Iterator[SubscriptionEntry]:
    for index, entry in enumerate(_get_typed(webhooks, "subscriptions", list, "webhooks.subscriptions", [])):
        location = f"webhooks.subscriptions[{index}]" + (f" (line {lines[index]})" if index < len(lines) else "")
        if not isinstance(entry, dict):
            raise ConfigRefused(_("{place} must be a table.").format(place=location))
        yield from _parse_entry(entry, location, base)
    legacy = _get_typed(webhooks, "privacy_compliance", dict, "webhooks.privacy_compliance", {})
    for name, uri in legacy.items():
        location = f"webhooks.privacy_compliance.{name}"
        if name not in _LEGACY_PRIVACY_KEYS:
            raise ConfigRefused(_("{place} is unknown.").format(place=location))
        if uri:
            uri = _resolve_uri(_get_typed(legacy, name, str, location, ""), base, location)
            yield SubscriptionEntry(location, _default_values(_LEGACY_PRIVACY_KEYS[name], uri))


def _parse_entry(entry: Mapping[str, Any], location: str, base: str) -> Iterator[SubscriptionEntry]:
    """Yield a subscription for each topic of an entry in the file."""
    if unknown := sorted(entry.keys() - _ENTRY_KEYS):
        raise ConfigRefused(_("{place} is unknown.").format(place=f"{location}.{unknown[0]}"))
    topics = _get_strings(entry, "topics", f"{location}.topics")
    compliance = _get_strings(entry, "compliance_topics", f"{location}.compliance_topics")
    if not topics and not compliance:
        raise ConfigRefused(_("{place} must have topics or compliance_topics.").format(place=location))
    if misplaced := [topic for topic in topics if topic in COMPLIANCE_TOPICS]:
        message = _("{place}: move {topic} to compliance_topics.")
        raise ConfigRefused(message.format(place=f"{location}.topics", topic=misplaced[0]))
    if misplaced := [topic for topic in compliance if topic not in COMPLIANCE_TOPICS]:
        message = _("{place}: {topic} is not a compliance topic.")
        raise ConfigRefused(message.format(place=f"{location}.compliance_topics", topic=misplaced[0]))
    uri = _resolve_uri(_get_typed(entry, "uri", str, f"{location}.uri", ""), base, f"{location}.uri")
    event_options = {
        "filter": _get_typed(entry, "filter", str, f"{location}.filter", ""),
        "include_fields": _get_strings(entry, "include_fields", f"{location}.include_fields"),
        "name": _get_typed(entry, "name", str, f"{location}.name", None),
    }
    pace = {name: entry.get(name, default) for name, default in _DELIVERY_OPTIONS.items()}
    for topic in topics:
        yield SubscriptionEntry(location, {**_default_values(topic, uri), **event_options, **pace})
    for topic in compliance:
        yield SubscriptionEntry(location, {**_default_values(topic, uri), **pace})


def _default_values(topic: str, uri: str) -> Attrs:
    return {"topic": topic, "uri": uri, "filter": "", "include_fields": [], "name": None, **_DELIVERY_OPTIONS}


def _resolve_uri(text: str, base: str, location: str) -> str:
    """Resolve a path against the application URL, and remove a trailing slash."""
    if not text:
        raise ConfigRefused(_("{place} is required.").format(place=location))
    if text.startswith("/"):
        if not base:
            message = _("{place}: enter a full URL, or set application_url to use a path.")
            raise ConfigRefused(message.format(place=location))
        text = f"{base.rstrip('/')}{text}"
    return text.rstrip("/")


def _refuse_duplicates(entries: tuple[SubscriptionEntry, ...]) -> None:
    keys: set[tuple[str, str, str]] = set()
    names: dict[str, str] = {}
    for entry in entries:
        if entry.key in keys:
            text = DUPLICATE_COMPLIANCE_MESSAGE if entry.values["topic"] in COMPLIANCE_TOPICS else DUPLICATE_MESSAGE
            raise ConfigRefused(f"{entry.location}: {text}: {entry.values['topic']} → {entry.values['uri']}.")
        keys.add(entry.key)
        name = entry.values["name"]
        if name and names.setdefault(name, entry.location) != entry.location:
            raise ConfigRefused(f"{entry.location}.name: Name already exists, no duplicate allowed: {name}.")


def _get_typed(table: Mapping[str, Any], name: str, kind: type, location: str, default: Any) -> Any:
    value = table.get(name, default)
    if name in table and not isinstance(value, kind):
        raise ConfigRefused(f"{location} must be a {_TYPE_NAMES[kind.__name__]}.")
    return value


def _get_strings(table: Mapping[str, Any], name: str, location: str) -> list[str]:
    values = _get_typed(table, name, list, location, [])
    if not all(isinstance(entry, str) for entry in values):
        raise ConfigRefused(_("{place} must be a list of strings.").format(place=location))
    return list(values)
