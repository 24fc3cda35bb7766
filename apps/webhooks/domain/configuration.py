"""An app's configuration file: what it says of webhooks, checked, compared with what is there, and applied.

Rule: design, Webhooks (App configuration TOML). The file is the whole truth of the app's subscriptions for all shops:
what it does not name ends. Other parts of the file, such as those for a storefront, are nobody's business here.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.ground.attrs import Attrs
from apps.ground.errors import DomainError
from apps.ground.tenancy import every_shop
from apps.shops.domain import registering
from apps.shops.domain.installing import ScopeUnknown
from apps.shops.models import App
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.engine.pacing import AT_ONCE
from apps.webhooks.domain.refusals import SubscriptionRefused
from apps.webhooks.domain.topics import COMPLIANCE
from apps.webhooks.models import Subscription

MAX_BYTES = 256 * 1024
DUPLICATE = "You can’t have duplicate subscriptions with the exact same `topic` and `uri`"
DUPLICATE_COMPLIANCE = "You can’t have duplicate privacy compliance subscriptions with the exact same `uri`"
_ENTRY = re.compile(r"\s*\[\[\s*webhooks\s*\.\s*subscriptions\s*\]\]")
# How it is delivered, which the file may say beside what the reference platform knows; what holds where it does not.
_PACE: dict[str, bool | int | None] = {"ordered": False, "max_in_flight": AT_ONCE, "max_per_second": None}
_ENTRY_KEYS = {"topics", "compliance_topics", "uri", "filter", "include_fields", "name", *_PACE}
_WEBHOOKS_KEYS = {"api_version", "subscriptions", "privacy_compliance"}
# Where in the file what the app itself keeps stands.
_PLACES = {"redirect_urls": "auth.redirect_urls", "scopes": "access_scopes.scopes"}
_KINDS = {"str": "text", "dict": "table", "list": "list"}
# The older way to say where requests about people's data go.
_LEGACY = {
    "customer_deletion_url": "customers/redact",
    "customer_data_request_url": "customers/data_request",
    "shop_deletion_url": "shop/redact",
}


class ConfigurationRefused(DomainError):
    """The file cannot be applied; the message names the place in it."""

    code = "configuration_refused"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One subscription that the file asks for.

    Attributes:
        place: Where in the file it stands, for messages.
        values: By the service's names.
    """

    place: str
    values: Attrs

    @property
    def key(self) -> tuple[str, str, str]:
        """What may stand once."""
        return self.values["topic"], self.values["uri"], self.values["filter"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a file says, as far as it is about webhooks and the app itself."""

    client_id: str
    app: Mapping[str, Any]
    wanted: tuple[Wanted, ...]


@dataclass(slots=True)
class Difference:
    """What a file changes, in lines for people; nothing where the app is as the file says."""

    app: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """One line for each change."""
        for mark, rows in (("~", self.app), ("-", self.removed), ("~", self.changed), ("+", self.added)):
            yield from (f"{mark} {row}" for row in rows)


def read_configuration(text: str) -> Configuration:
    """Read a file.

    Raises:
        ConfigurationRefused: It is no TOML, or a value in it does not fit.
    """
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise ConfigurationRefused(_("The file is too large (maximum is {size} KiB).").format(size=MAX_BYTES // 1024))
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationRefused(_("The file is no TOML: {error}").format(error=error)) from error
    app = _app_values(document)
    webhooks = _typed(document, "webhooks", dict, "webhooks", {})
    if unknown := sorted(webhooks.keys() - _WEBHOOKS_KEYS):
        raise ConfigurationRefused(_("{place} is not known.").format(place=f"webhooks.{unknown[0]}"))
    base = app.get("application_url", "")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _ENTRY.match(line)]
    wanted = tuple(_all_wanted(webhooks, base, lines))
    if wanted and not webhooks.get("api_version"):
        raise ConfigurationRefused(_("{place} is required.").format(place="webhooks.api_version"))
    version = _typed(webhooks, "api_version", str, "webhooks.api_version", "")
    _refuse_duplicates(wanted)
    for each in wanted:
        each.values["api_version"] = version
    return Configuration(_typed(document, "client_id", str, "client_id", ""), app, wanted)


@transaction.atomic
def apply_configuration(app: App, configuration: Configuration, *, at: datetime, actor: str = "system") -> Difference:
    """Make an app as its file says; all of it or nothing.

    Raises:
        ConfigurationRefused: The file is another app's, or a subscription in it is refused.
    """
    if configuration.client_id and configuration.client_id != app.api_key:
        raise ConfigurationRefused(_("client_id is that of another app."))
    told = Difference()
    _set_app(app, configuration.app, told, actor, at)
    with every_shop():
        kept = list(subscriptions.configured_for(app).order_by("pk"))
    pairs = _paired(kept, configuration.wanted)
    matched = {row.pk for row in pairs.values()}
    for row in kept:
        if row.pk not in matched:
            subscriptions.delete_subscription(row, actor=actor, at=at)
            told.removed.append(str(row))
    for index, wanted in enumerate(configuration.wanted):
        saved = _save(app, pairs.get(index), wanted, told, actor=actor, at=at)
        told.warnings += [f"{wanted.place}: {each['message']}" for each in saved.warnings]
    return told


def compare(app: App, configuration: Configuration, *, at: datetime) -> Difference:
    """What applying a file would change; nothing is changed.

    Raises:
        ConfigurationRefused: It could not be applied.
    """
    with transaction.atomic():
        told = apply_configuration(app, configuration, at=at)
        transaction.set_rollback(True)
    app.refresh_from_db()
    return told


def _save(
    app: App, row: Subscription | None, wanted: Wanted, told: Difference, *, actor: str, at: datetime
) -> Subscription:
    try:
        if row is None:
            made = subscriptions.create_configured(app, wanted.values, at=at)
            told.added.append(str(made))
            return made
        changes = subscriptions.update_subscription(
            row, {name: value for name, value in wanted.values.items() if name != "topic"}, actor=actor, at=at
        )
    except SubscriptionRefused as error:
        sentences = "; ".join(text for _, text in error.full_messages)
        raise ConfigurationRefused(f"{wanted.place}: {sentences}") from error
    names = sorted(changes.keys() - {"warnings"})
    if names:
        told.changed.append(f"{row}: {', '.join(names)}")
    return row


def _paired(kept: list[Subscription], wanted: tuple[Wanted, ...]) -> dict[int, Subscription]:
    """By place in the file, the subscription that is meant: of the same key, else of the same name and topic."""
    free = {row.pk: row for row in kept}
    found: dict[int, Subscription] = {}
    by_key = {(row.topic, row.uri, row.filter): row for row in kept}
    by_name = {(row.topic, row.name): row for row in kept if row.name}
    for index, each in enumerate(wanted):
        if (row := by_key.get(each.key)) is not None:
            found[index] = free.pop(row.pk)
    for index, each in enumerate(wanted):
        row = by_name.get((each.values["topic"], each.values["name"]))
        if index not in found and row is not None and row.pk in free:
            found[index] = free.pop(row.pk)
    return found


def _set_app(app: App, values: Mapping[str, Any], told: Difference, actor: str, at: datetime) -> None:
    try:
        changes = registering.change(app, values, actor=actor, at=at)
    except ValidationError as error:
        name, texts = next(iter(error.message_dict.items()))
        raise ConfigurationRefused(f"{_PLACES.get(name, name)}: {' '.join(texts)}") from error
    except ScopeUnknown as error:
        raise ConfigurationRefused(f"{_PLACES['scopes']}: {error}.") from error
    told.app += [f"{name}: {before} → {after}" for name, (before, after) in changes.items()]


def _app_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Those values of the file that the app itself keeps."""
    names = ("name", "application_url", "distribution")
    found: dict[str, Any] = {name: _typed(document, name, str, name, "") for name in names if name in document}
    auth = _typed(document, "auth", dict, "auth", {})
    if "redirect_urls" in auth:
        found["redirect_urls"] = _texts(auth, "redirect_urls", _PLACES["redirect_urls"])
    access = _typed(document, "access_scopes", dict, "access_scopes", {})
    if "scopes" in access:
        found["scopes"] = _typed(access, "scopes", str, _PLACES["scopes"], "")
    return found


def _all_wanted(webhooks: Mapping[str, Any], base: str, lines: list[int]) -> Iterator[Wanted]:
    for index, entry in enumerate(_typed(webhooks, "subscriptions", list, "webhooks.subscriptions", [])):
        place = f"webhooks.subscriptions[{index}]" + (f" (line {lines[index]})" if index < len(lines) else "")
        if not isinstance(entry, dict):
            raise ConfigurationRefused(_("{place} must be a table.").format(place=place))
        yield from _wanted(entry, place, base)
    legacy = _typed(webhooks, "privacy_compliance", dict, "webhooks.privacy_compliance", {})
    for name, uri in legacy.items():
        place = f"webhooks.privacy_compliance.{name}"
        if name not in _LEGACY:
            raise ConfigurationRefused(_("{place} is not known.").format(place=place))
        if uri:
            yield Wanted(place, _values(_LEGACY[name], _uri(_typed(legacy, name, str, place, ""), base, place)))


def _wanted(entry: Mapping[str, Any], place: str, base: str) -> Iterator[Wanted]:
    """One subscription for each topic of an entry."""
    if unknown := sorted(entry.keys() - _ENTRY_KEYS):
        raise ConfigurationRefused(_("{place} is not known.").format(place=f"{place}.{unknown[0]}"))
    topics = _texts(entry, "topics", f"{place}.topics")
    compliance = _texts(entry, "compliance_topics", f"{place}.compliance_topics")
    if not topics and not compliance:
        raise ConfigurationRefused(_("{place} must have topics or compliance_topics.").format(place=place))
    for topic in topics:
        if topic in COMPLIANCE:
            raise ConfigurationRefused(
                _("{place}: {topic} belongs into compliance_topics.").format(place=f"{place}.topics", topic=topic)
            )
    for topic in compliance:
        if topic not in COMPLIANCE:
            raise ConfigurationRefused(
                _("{place}: {topic} is no compliance topic.").format(place=f"{place}.compliance_topics", topic=topic)
            )
    uri = _uri(_typed(entry, "uri", str, f"{place}.uri", ""), base, f"{place}.uri")
    chosen = {
        "filter": _typed(entry, "filter", str, f"{place}.filter", ""),
        "include_fields": _texts(entry, "include_fields", f"{place}.include_fields"),
        "name": _typed(entry, "name", str, f"{place}.name", None),
    }
    pace = {name: entry.get(name, missing) for name, missing in _PACE.items()}
    for topic in topics:
        yield Wanted(place, {**_values(topic, uri), **chosen, **pace})
    for topic in compliance:
        yield Wanted(place, {**_values(topic, uri), **pace})


def _values(topic: str, uri: str) -> Attrs:
    return {"topic": topic, "uri": uri, "filter": "", "include_fields": [], "name": None, **_PACE}


def _uri(text: str, base: str, place: str) -> str:
    """A URI, or a path below the application's; without a slash at its end."""
    if not text:
        raise ConfigurationRefused(_("{place} is required.").format(place=place))
    if text.startswith("/"):
        if not base:
            raise ConfigurationRefused(
                _("{place}: a path needs application_url, to which it is joined.").format(place=place)
            )
        text = f"{base.rstrip('/')}{text}"
    return text.rstrip("/")


def _refuse_duplicates(wanted: tuple[Wanted, ...]) -> None:
    seen: set[tuple[str, str, str]] = set()
    names: dict[str, str] = {}
    for each in wanted:
        if each.key in seen:
            text = DUPLICATE_COMPLIANCE if each.values["topic"] in COMPLIANCE else DUPLICATE
            raise ConfigurationRefused(f"{each.place}: {text}: {each.values['topic']} → {each.values['uri']}.")
        seen.add(each.key)
        name = each.values["name"]
        if name and names.setdefault(name, each.place) != each.place:
            raise ConfigurationRefused(f"{each.place}.name: Name already exists, no duplicate allowed: {name}.")


def _typed(table: Mapping[str, Any], name: str, kind: type, place: str, missing: Any) -> Any:
    """A value of a table, of the kind that it must be."""
    value = table.get(name, missing)
    if name in table and not isinstance(value, kind):
        raise ConfigurationRefused(f"{place} must be a {_KINDS[kind.__name__]}.")
    return value


def _texts(table: Mapping[str, Any], name: str, place: str) -> list[str]:
    values = _typed(table, name, list, place, [])
    if not all(isinstance(each, str) for each in values):
        raise ConfigurationRefused(_("{place} must be a list of texts.").format(place=place))
    return list(values)
