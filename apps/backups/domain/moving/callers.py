"""People, apps and subscriptions of apps' configuration files that a shop's rows name, and who they are elsewhere."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, QuerySet

from apps.backups.domain.moving.archives import Archive
from apps.backups.domain.moving.tables import Table
from apps.backups.domain.moving.values import Row, line_of, row_of
from apps.events.models import Event
from apps.shops.models import App, Installation
from apps.staff.models import User
from apps.webhooks.models import Subscription

PEOPLE, APPS, SUBSCRIPTIONS = "people", "apps", "subscriptions"
MODELS: dict[str, type[Model]] = {PEOPLE: User, APPS: App, SUBSCRIPTIONS: Subscription}
_ACTOR = re.compile(r"(staff|app):([0-9]{1,18})")
_KINDS = {"staff": PEOPLE, "app": APPS}
_TEXTS = frozenset({"actor", "created_by"})
# Nobody has this id: who was gone already, and whose id is another's here.
NOBODY = 0
# What of a person moves.
_OF_PEOPLE = frozenset(
    {"id", "email", "first_name", "last_name", "phone", "url", "bio", "locale", "language", "is_active", "date_joined"}
)


def fields_of(kind: str) -> list[Any]:
    """The columns that stand in the archive."""
    fields = MODELS[kind]._meta.concrete_fields
    return [one for one in fields if kind != PEOPLE or one.attname in _OF_PEOPLE]


@dataclass(slots=True)
class Columns:
    """Where a table's rows name somebody: by index of the column, whom; and columns that hold an actor's text."""

    ids: dict[int, str] = field(default_factory=dict)
    texts: list[int] = field(default_factory=list)
    subject: tuple[int, int] | None = None

    @classmethod
    def of(cls, table: Table) -> "Columns":
        """Found by what a column refers to, or by its name."""
        found = cls()
        by_model = {model: kind for kind, model in MODELS.items()}
        names = [one.attname for one in table.fields]
        for place, one in enumerate(table.fields):
            if one.is_relation and one.related_model in by_model and not one.primary_key:
                found.ids[place] = by_model[one.related_model]
            elif not one.is_relation and one.attname == "user_id":
                found.ids[place] = PEOPLE
            elif not one.is_relation and one.attname in _TEXTS:
                found.texts.append(place)
        if table.model is Event:
            found.subject = names.index("subject_type"), names.index("subject_id")
        return found

    def named(self, row: Row) -> Iterator[tuple[str, int]]:
        """Whom a row names: kind and id."""
        for place, kind in self.ids.items():
            if row[place] is not None:
                yield kind, row[place]
        for place in self.texts:
            if actor := _ACTOR.fullmatch(row[place]):
                yield _KINDS[actor[1]], int(actor[2])
        if self.subject and (about := _SUBJECTS.get(row[self.subject[0]])):
            yield about, row[self.subject[1]]

    def renamed(self, row: Row, known: "Known") -> Row:
        """The row as it names them here."""
        values = list(row)
        for place, kind in self.ids.items():
            if values[place] is not None:
                values[place] = known.id_of(kind, values[place])
        for place in self.texts:
            if found := _ACTOR.fullmatch(values[place]):
                values[place] = f"{found[1]}:{known.id_of(_KINDS[found[1]], int(found[2]))}"
        if self.subject and (about := _SUBJECTS.get(values[self.subject[0]])):
            values[self.subject[1]] = known.id_of(about, values[self.subject[1]])
        return tuple(values)


_SUBJECTS = {User._meta.label_lower: PEOPLE, App._meta.label_lower: APPS}


@dataclass(slots=True)
class Named:
    """Whom the rows of a shop name, gathered while they pass."""

    ids: dict[str, set[int]] = field(default_factory=lambda: {kind: set() for kind in MODELS})

    def gather(self, columns: Columns, row: Row) -> None:
        """Note whom one row names."""
        for kind, pk in columns.named(row):
            self.ids[kind].add(pk)

    def lines(self, kind: str, shop_id: int) -> Iterator[bytes]:
        """What the archive holds of them; of subscriptions those of configuration files, which no shop owns."""
        fields = fields_of(kind)
        found: QuerySet[Any] = MODELS[kind]._base_manager.filter(pk__in=self.ids[kind])
        if kind == SUBSCRIPTIONS:
            here = Installation.objects.filter(shop_id=shop_id, uninstalled_at=None).values("app_id")
            live = Subscription.objects.filter(shop=None, app_id__in=here, deleted_at=None)
            found = found.filter(shop=None) | live
        for row in found.order_by("pk").values_list(*[one.attname for one in fields]):
            yield line_of(fields, _without_owner(fields, row, shop_id) if kind == APPS else row)


def _without_owner(fields: list[Any], row: Row, shop_id: int) -> Row:
    """An app that another shop registered has no owner where that shop is not."""
    return tuple(
        None if one.attname == "owner_id" and value != shop_id else value
        for one, value in zip(fields, row, strict=True)
    )


@dataclass(slots=True)
class Known:
    """Who they are here: by kind, ids there to ids here; and who must be made."""

    ids: dict[str, dict[int, int]]
    missing: dict[str, list[dict[str, Any]]]

    def id_of(self, kind: str, pk: int) -> int:
        """An id here."""
        found = self.ids[kind].get(pk)
        if found is None:
            if kind == SUBSCRIPTIONS:
                return pk
            found = self.ids[kind][pk] = NOBODY if MODELS[kind]._base_manager.filter(pk=pk).exists() else pk
        return found

    @classmethod
    def read(cls, archive: Archive) -> "Known":
        """Look everybody up; call it with every shop in sight."""
        known = cls({kind: {} for kind in MODELS}, {kind: [] for kind in MODELS})
        for kind, find in ((PEOPLE, _person), (APPS, _app), (SUBSCRIPTIONS, known._subscription)):
            fields = fields_of(kind)
            for line in archive.read(f"{kind}.jsonl.gz"):
                values = dict(zip((one.attname for one in fields), row_of(fields, line), strict=True))
                pk = find(values)
                if pk is None:
                    known.missing[kind].append(values)
                else:
                    known.ids[kind][values["id"]] = pk
        return known

    def _subscription(self, values: dict[str, Any]) -> int | None:
        app = self.ids[APPS].get(values["app_id"])
        if app is None:
            return None
        same = Subscription.objects.filter(
            shop=None, app_id=app, topic=values["topic"], key_digest=values["key_digest"], name=values["name"]
        )
        ended = values["deleted_at"] is not None
        return same.filter(deleted_at__isnull=not ended).order_by("pk").values_list("pk", flat=True).first()

    def unapplied(self) -> Iterable[str]:
        """Apps that are here and lack a live subscription of their configuration file."""
        here = self.ids[APPS]
        lacking = {one["app_id"] for one in self.missing[SUBSCRIPTIONS] if one["deleted_at"] is None}
        names = App.objects.filter(pk__in=[here[pk] for pk in lacking if pk in here])
        return sorted(names.values_list("name", flat=True))

    def make(self) -> None:
        """Make those who are missing, under their ids where these are free; people without a password."""
        for kind, model in MODELS.items():
            for values in self.missing[kind]:
                there, taken = values["id"], model._base_manager.filter(pk=values["id"]).exists()
                given = {name: value for name, value in values.items() if name != "id"}
                if kind == SUBSCRIPTIONS:
                    given["app_id"] = self.id_of(APPS, given["app_id"])
                row = model(**given) if taken else model(id=there, **given)
                if isinstance(row, User):
                    row.set_unusable_password()
                row.save(force_insert=True)
                self.ids[kind][there] = row.pk
            self.missing[kind] = []


def _person(values: dict[str, Any]) -> int | None:
    return User.objects.filter(email=values["email"].lower()).values_list("pk", flat=True).first()


def _app(values: dict[str, Any]) -> int | None:
    return App.objects.filter(api_key=values["api_key"]).values_list("pk", flat=True).first()
