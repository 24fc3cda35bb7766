"""Matches people, apps and configuration-file subscriptions in an archive with those of this installation."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db.models import Model, Q, QuerySet

from apps.backups.domain.shop_archive.format import Archive
from apps.backups.domain.shop_archive.schema import Table
from apps.backups.domain.shop_archive.serialization import Row, parse_row, serialize_row
from apps.core.events.models import Event
from apps.core.tenancy.models import App, Installation, User
from apps.core.tenancy.models.apps import SHOP_APP_PREFIX
from apps.webhooks.models import Subscription

PEOPLE, APPS, SUBSCRIPTIONS = "people", "apps", "subscriptions"
MODELS: dict[str, type[Model]] = {PEOPLE: User, APPS: App, SUBSCRIPTIONS: Subscription}
_ACTOR = re.compile(r"(staff|app):([0-9]{1,18})")
_ACTOR_KINDS = {"staff": PEOPLE, "app": APPS}
_ACTOR_COLUMNS = frozenset({"actor", "created_by"})
_SUBJECTS = {User._meta.label_lower: PEOPLE, App._meta.label_lower: APPS}
# Used in place of a deleted person's ID if that ID belongs to another person in this installation.
UNKNOWN_PERSON = 0
# The own apps of deleted shops. Their secrets must not sign the webhooks of an imported shop with the same ID.
_LEFT_BEHIND = Q(api_key__startswith=SHOP_APP_PREFIX, owner=None)
# The columns of the people table that are exported.
_PEOPLE_COLUMNS = frozenset(
    {"id", "email", "first_name", "last_name", "phone", "url", "bio", "locale", "language", "is_active", "date_joined"}
)


def get_exported_fields(kind: str) -> list[Any]:
    fields = MODELS[kind]._meta.concrete_fields
    return [column for column in fields if kind != PEOPLE or column.attname in _PEOPLE_COLUMNS]


@dataclass(slots=True)
class ReferenceColumns:
    """The columns of a table that refer to people, apps or subscriptions.

    Attributes:
        ids: The kind of row (people, apps or subscriptions) that a column refers to, keyed by column index.
        texts: The indexes of columns that contain an actor as a string, e.g. ``staff:1``.
        subject: The indexes of the columns that contain the type and ID of an event's subject.
    """

    ids: dict[int, str] = field(default_factory=dict)
    texts: list[int] = field(default_factory=list)
    subject: tuple[int, int] | None = None

    @classmethod
    def from_table(cls, table: Table) -> "ReferenceColumns":
        """Find the columns of a table that contain references, by their relation or name."""
        columns = cls()
        by_model = {model: kind for kind, model in MODELS.items()}
        names = [column.attname for column in table.fields]
        for index, column in enumerate(table.fields):
            if column.is_relation and column.related_model in by_model and not column.primary_key:
                columns.ids[index] = by_model[column.related_model]
            elif not column.is_relation and column.attname == "user_id":
                columns.ids[index] = PEOPLE
            elif not column.is_relation and column.attname in _ACTOR_COLUMNS:
                columns.texts.append(index)
        if table.model is Event:
            columns.subject = names.index("subject_type"), names.index("subject_id")
        return columns

    def map_references(self, row: Row, get_id: Callable[[str, int], int]) -> Row:
        """Replace the ID of each person, app or subscription in a row with the result of ``get_id(kind, ID)``."""
        values = list(row)
        for index, kind in self.ids.items():
            if values[index] is not None:
                values[index] = get_id(kind, values[index])
        for index in self.texts:
            if actor := _ACTOR.fullmatch(values[index]):
                values[index] = f"{actor[1]}:{get_id(_ACTOR_KINDS[actor[1]], int(actor[2]))}"
        if self.subject and (subject_kind := _SUBJECTS.get(values[self.subject[0]])):
            values[self.subject[1]] = get_id(subject_kind, values[self.subject[1]])
        return tuple(values)


def serialize_identities(kind: str, ids: Collection[int], shop_id: int) -> Iterator[bytes]:
    """Yield the lines of the part for people, apps or subscriptions.

    The part for subscriptions only contains subscriptions from configuration files. Other subscriptions are rows of the
    shop. An app that another shop registered has no owner in the part, because that shop is not exported.
    """
    fields = get_exported_fields(kind)
    names = [column.attname for column in fields]
    rows: QuerySet[Any] = MODELS[kind]._base_manager.filter(pk__in=ids)
    if kind == SUBSCRIPTIONS:
        installed_apps = Installation.objects.filter(shop_id=shop_id, uninstalled_at=None).values("app_id")
        live = Subscription.objects.filter(shop=None, app_id__in=installed_apps, deleted_at=None)
        rows = rows.filter(shop=None) | live
    for row in rows.order_by("pk").values(*names):
        if kind == APPS and row["owner_id"] != shop_id:
            row["owner_id"] = None
        yield serialize_row(fields, tuple(row[name] for name in names))


@dataclass(slots=True)
class IdentityMap:
    """Maps archived IDs to the IDs in this installation, and lists the identities that must be created."""

    ids: dict[str, dict[int, int]]
    missing: dict[str, list[dict[str, Any]]]

    def get_local_id(self, kind: str, pk: int) -> int:
        local_id = self.ids[kind].get(pk)
        if local_id is None:
            if kind == SUBSCRIPTIONS:
                return pk
            local_id = self.ids[kind][pk] = UNKNOWN_PERSON if MODELS[kind]._base_manager.filter(pk=pk).exists() else pk
        return local_id

    @classmethod
    def read(cls, archive: Archive) -> "IdentityMap":
        """Look up all identities of an archive in this installation. Call this within ``all_shops_scope()``."""
        identities = cls({kind: {} for kind in MODELS}, {kind: [] for kind in MODELS})
        for kind, find in ((PEOPLE, _find_person), (APPS, _find_app), (SUBSCRIPTIONS, identities._find_subscription)):
            fields = get_exported_fields(kind)
            for row in archive.read(f"{kind}.jsonl.gz", partial(parse_row, fields)):
                values = dict(zip((column.attname for column in fields), row, strict=True))
                pk = find(values)
                if pk is None:
                    identities.missing[kind].append(values)
                else:
                    identities.ids[kind][values["id"]] = pk
        return identities

    def _find_subscription(self, values: dict[str, Any]) -> int | None:
        app = self.ids[APPS].get(values["app_id"])
        if app is None:
            return None
        matches = Subscription.objects.filter(
            shop=None, app_id=app, topic=values["topic"], key_digest=values["key_digest"], name=values["name"]
        )
        is_deleted = values["deleted_at"] is not None
        return matches.filter(deleted_at__isnull=not is_deleted).order_by("pk").values_list("pk", flat=True).first()

    def get_incomplete_apps(self) -> list[str]:
        """Return the names of existing apps that lack one of the archived configuration-file subscriptions."""
        app_ids = {values["app_id"] for values in self.missing[SUBSCRIPTIONS] if values["deleted_at"] is None}
        names = App.objects.filter(pk__in=[self.ids[APPS][pk] for pk in app_ids if pk in self.ids[APPS]])
        return sorted(names.values_list("name", flat=True))

    def create_missing(self) -> None:
        """Create the missing identities, with their archived IDs if these are free. New people have no password."""
        for kind, model in MODELS.items():
            for values in self.missing[kind]:
                if kind == APPS:
                    App.objects.filter(_LEFT_BEHIND, api_key=values["api_key"]).delete()
                archived_id, is_taken = values["id"], model._base_manager.filter(pk=values["id"]).exists()
                column_values = {name: value for name, value in values.items() if name != "id"}
                if kind == SUBSCRIPTIONS:
                    column_values["app_id"] = self.get_local_id(APPS, column_values["app_id"])
                row = model(**column_values) if is_taken else model(id=archived_id, **column_values)
                if isinstance(row, User):
                    row.set_unusable_password()
                row.save(force_insert=True)
                self.ids[kind][archived_id] = row.pk
            self.missing[kind] = []


def _find_person(values: dict[str, Any]) -> int | None:
    return User.objects.filter(email=values["email"].lower()).values_list("pk", flat=True).first()


def _find_app(values: dict[str, Any]) -> int | None:
    return App.objects.filter(~_LEFT_BEHIND, api_key=values["api_key"]).values_list("pk", flat=True).first()
