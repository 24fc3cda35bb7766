"""Import the script tags and webhooks of the app that reads the store.

In this shop, they belong to an app that the import creates, because a token of the store's app is not valid here. Its
developers get a new token and secret. Uninstalling the app removes the imported script tags and webhooks, and later
runs don't import them again.
"""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Model

from apps.content.api.script_tags import ScriptTagSerializer
from apps.content.domain.script_tags import create_script_tag, update_script_tag
from apps.content.models import ScriptTag
from apps.core.i18n.messages import define_text
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.models import App, Installation
from apps.core.tenancy.scope import get_current_shop
from apps.imports_exports.resources.cells import convert_api_errors
from apps.shops.domain.app_installation import create_app, install_app
from apps.store_imports.domain.id_map import NewId
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.resources.moments import read_creation_time
from apps.webhooks.domain import topics
from apps.webhooks.domain.subscriptions import create_subscription, pause_subscription, update_subscription
from apps.webhooks.models import Subscription

PAGE_SIZE = 100
_INSTALLATION = "installation"
_UNINSTALLED = define_text(
    "store_imports.app_uninstalled", "The app of the imported script tags and webhooks was uninstalled in this shop."
)
_PAUSED = define_text(
    "store_imports.webhook_paused",
    "Imported from another store, which still sends events to this address. Resume it after the move.",
)
_SCRIPT_SCOPES = frozenset({"read_script_tags", "write_script_tags"})
_SCRIPT_FIELDS = ("src", "event", "display_scope", "cache")
# The members of a webhook, with the columns of a subscription.
_WEBHOOK_FIELDS = {
    "topic": "topic",
    "address": "uri",
    "format": "format",
    "fields": "include_fields",
    "metafield_namespaces": "metafield_namespaces",
    "private_metafield_namespaces": "private_metafield_namespaces",
    "filter": "filter",
    "name": "name",
}


class _AppDataStream(Stream):
    def count_objects(self, source: Source) -> int | None:
        return source.client.count(f"{self.name}/count.json")

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        return source.client.get_page(
            f"{self.name}.json", self.name, since_id=position, limit=PAGE_SIZE, **source.change_filter
        )

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        if _find_installation(source, is_active=False):
            return [ObjectResult(Outcome.UNCHANGED, problem=_UNINSTALLED) for _ in objects]
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = self.model._default_manager.in_bulk(list(known.values()))
        return [
            write_in_savepoint(
                lambda row=row: self.write_object(source, row, existing.get(known.get(row["id"], 0)))  # type: ignore[misc]
            )
            for row in objects
        ]

    @abstractmethod
    def write_object(self, source: Source, row: SourceObject, target: Any) -> ObjectResult:
        """Create an object, or update an object that was imported before."""


class ScriptTagStream(_AppDataStream):
    name = "script_tags"
    resource = "script_tag"
    model: ClassVar[type[Model]] = ScriptTag

    def write_object(self, source: Source, row: SourceObject, target: ScriptTag | None) -> ObjectResult:
        body = {name: row[name] for name in _SCRIPT_FIELDS if row.get(name) is not None}
        with convert_api_errors(body):
            attrs = validate_body(ScriptTagSerializer, get_latest_version(), body, instance=target)
        if target is None:
            installation = _get_installation(source, _SCRIPT_SCOPES)
            attrs |= read_creation_time(row, source.at)
            return ObjectResult(Outcome.NEW, create_script_tag(installation, attrs, actor=ACTOR, at=source.at).pk)
        before = target.version
        update_script_tag(target, attrs, actor=ACTOR, at=source.at)
        return ObjectResult(Outcome.UNCHANGED if target.version == before else Outcome.CHANGED, target.pk)


class WebhookStream(_AppDataStream):
    """Webhooks. They are paused, so that an app does not receive the events of two stores.

    The row of a webhook that was deleted in this shop still exists, so the webhook is not imported again.
    """

    name = "webhooks"
    resource = "webhook"
    model: ClassVar[type[Model]] = Subscription

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return webhooks without their state in the store, which changes with the results of deliveries."""
        names = ("id", "api_version", *_WEBHOOK_FIELDS)
        return [{name: row[name] for name in names if name in row} for row in super().read_page(source, position)]

    def write_object(self, source: Source, row: SourceObject, target: Subscription | None) -> ObjectResult:
        values = {column: row[name] for name, column in _WEBHOOK_FIELDS.items() if row.get(name) is not None}
        version = row.get("api_version")
        values["api_version"] = version if version in settings.API_VERSIONS else get_latest_version()
        with refuse_malformed(self.name, row):
            topic = str(row["topic"])
        if target is not None and target.deleted_at is not None:
            return ObjectResult(Outcome.UNCHANGED, target.pk)
        if target is None:
            scope = topics.get_missing_scope(topic, ()) if topics.is_offered(topic) else ""
            installation = _get_installation(source, {scope} - {""})
            subscription = create_subscription(installation, values, actor=ACTOR, at=source.at)
            pause_subscription(subscription, reason=_PAUSED, actor=ACTOR, at=source.at)
            return ObjectResult(Outcome.NEW, subscription.pk)
        if values.get("uri") == target.uri:
            # A subscription with a URI would be resumed.
            del values["uri"]
        changes = update_subscription(target, values, actor=ACTOR, at=source.at)
        return ObjectResult(Outcome.CHANGED if changes else Outcome.UNCHANGED, target.pk)


def _find_installation(source: Source, *, is_active: bool) -> Installation | None:
    """Return the installation of the import's app if it is installed, or if it was uninstalled."""
    known = source.ids.get_target_ids(_INSTALLATION, [source.shop["id"]])
    rows = Installation.objects.select_related("app", "shop").filter(pk__in=known.values())
    return rows.filter(uninstalled_at__isnull=is_active).first()


def _get_installation(source: Source, scopes: Collection[str]) -> Installation:
    """Return the installation of the import's app with at least the given scopes. Create the app if there is none."""
    shop = get_current_shop()
    installation = _find_installation(source, is_active=True)
    if installation is not None:
        missing = set(scopes) - set(installation.scopes)
        if not missing:
            return installation
        return install_app(installation.app, shop, scopes=[*installation.scopes, *missing], actor=ACTOR, at=source.at)
    host = urlsplit(source.client.url).hostname
    app = create_app(name=f"Imported from {host}"[:255], distribution=App.Distribution.PRIVATE, owner=shop)
    installation = install_app(app, shop, scopes=sorted(scopes), actor=ACTOR, at=source.at)
    source.ids.save_entries([NewId(_INSTALLATION, source.shop["id"], installation.pk)])
    return installation
