"""Import the script tags and webhooks of the app that reads the store.

In this shop, they belong to an app that the import creates, because a token of the store's app is not valid here. Its
developers get a new token and secret. Uninstalling the app removes the imported script tags and webhooks, and later
runs don't import them again.
"""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Model, QuerySet

from apps.content.api.script_tags import ScriptTagSerializer
from apps.content.domain.script_tags import create_script_tag, delete_script_tag, update_script_tag
from apps.content.models import ScriptTag
from apps.core.i18n.messages import define_text
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.models import App, Installation
from apps.core.tenancy.scope import get_current_shop
from apps.imports_exports.resources.cells import convert_api_errors
from apps.shops.domain.app_installation import create_app, install_app
from apps.store_imports.domain.comparison import CREATED_NOW, Comparison
from apps.store_imports.domain.id_map import NewId
from apps.store_imports.domain.source_client import SourceObject, read_creation_time, refuse_malformed
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.models import MappedId
from apps.store_imports.resources.rest_objects import create_reader
from apps.webhooks.api.webhooks import WebhookSerializer
from apps.webhooks.domain import topics
from apps.webhooks.domain.subscriptions import (
    create_subscription,
    delete_subscription,
    pause_subscription,
    update_subscription,
)
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
            write_in_savepoint(partial(self.write_object, source, row, existing.get(known.get(row["id"], 0))))
            for row in objects
        ]

    def get_own_objects(self) -> QuerySet[Any]:
        """Return the objects of the import's app, because the other apps of this shop have their own."""
        imported = MappedId.objects.filter(resource=_INSTALLATION).values("target_id")
        apps = Installation.objects.filter(pk__in=imported).values("app_id")
        return self.model._default_manager.filter(app_id__in=apps)

    @abstractmethod
    def write_object(self, source: Source, row: SourceObject, target: Any) -> ObjectResult:
        """Create an object, or update an object that was imported before."""


class ScriptTagStream(_AppDataStream):
    name = "script_tags"
    resource = "script_tag"
    model: ClassVar[type[Model]] = ScriptTag
    id_list = IdList("script_tags.json", "script_tags")
    comparison = Comparison(read=create_reader(ScriptTagSerializer))

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, ScriptTag)
        delete_script_tag(target, actor=ACTOR, at=at)

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
    id_list = IdList("webhooks.json", "webhooks")
    comparison = Comparison(
        read=create_reader(WebhookSerializer),
        not_compared={
            "created_at": CREATED_NOW,
            **dict.fromkeys(("state", "state_reason", "state_changed_at"), "imported webhooks are paused"),
            "warnings": "are those of this installation",
        },
        limits={"api_version": "a version that this installation does not serve is replaced with the latest"},
    )

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Subscription)
        if target.deleted_at is None:
            delete_subscription(target, actor=ACTOR, at=at)

    def get_own_objects(self) -> QuerySet[Any]:
        return super().get_own_objects().filter(deleted_at=None)

    def find_exempt(self, target_ids: Collection[int]) -> Mapping[int, str]:
        deleted = Subscription.objects.filter(pk__in=target_ids).exclude(deleted_at=None)
        return dict.fromkeys(deleted.values_list("pk", flat=True), "the webhook was deleted in this shop")

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
