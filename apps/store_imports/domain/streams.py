"""Streams: the objects of one kind in a store, how they are read, and how they are written to this shop."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, ClassVar

from django.apps import apps
from django.db import IntegrityError, transaction
from django.db.models import Model, QuerySet

from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import FIELD_ERROR, Message, as_message
from apps.core.registry import Registry
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.id_map import IdMap, NewId
from apps.store_imports.domain.source_client import SourceClient, SourceObject

ACTOR = "system"
# The largest number of ids in a filter of the API, for objects with all fields.
MAX_IDS = 50
# The number of objects in a page of ids, which is also the largest number of ids in its filter.
IDS_PER_PAGE = 250


class Outcome(StrEnum):
    """The result of an object. The values are columns of ``StreamState``."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ObjectResult:
    """The result of one object of a stream.

    Attributes:
        target_id: The id of the object in this shop, or None if there is none.
        problem: Why the object was not imported, or what is missing.
        is_complete: False if the next run must import the object again, although it did not change.
        parts: The ids of its parts, such as variants.
    """

    outcome: Outcome
    target_id: int | None = None
    problem: Message | None = None
    is_complete: bool = True
    parts: Sequence[NewId] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Source:
    """The store to read: its client, its ``shop`` object, and the map of ids.

    ``keep_alive`` extends the lease during long work. ``at`` is the time at which objects are written. If
    ``changed_since`` is given, only objects that have changed since then must be read. If ``only_ids`` are given, only
    these objects. If ``is_thorough``, changes that do not show in the time of change of a listed object must be read as
    well, except metafields if ``skips_metafields``.
    ``with_variant_metafields`` also reads the metafields of variants and of product images.
    ``open_lists`` has the lists that streams are reading.
    """

    client: SourceClient
    shop: SourceObject
    ids: IdMap
    at: datetime
    keep_alive: Callable[[], None]
    changed_since: datetime | None = None
    only_ids: Sequence[int] = ()
    is_thorough: bool = False
    skips_metafields: bool = False
    with_variant_metafields: bool = False
    open_lists: dict[str, Iterator[Sequence[SourceObject]]] = field(default_factory=dict)

    @property
    def reads_all_metafields(self) -> bool:
        """Whether the metafields of all owners must be read. A store does not list changed metafields."""
        return self.changed_since is None or (self.is_thorough and not self.skips_metafields)

    @property
    def change_filter(self) -> dict[str, str]:
        """The filter of a list for objects that have changed. Lists of the API that have no such filter ignore it."""
        if self.only_ids:
            return {"ids": ",".join(map(str, self.only_ids))}
        return {} if self.changed_since is None else {"updated_at_min": self.changed_since.isoformat()}

    def without_filter(self) -> "Source":
        return replace(self, changed_since=None, only_ids=())


@dataclass(frozen=True, slots=True)
class IdList:
    """A list of the API that returns the ids of all objects of a stream: its path, its key and further parameters.

    If the list only has the objects of one status, ``statuses`` are all of them.
    """

    path: str
    name: str
    query: Mapping[str, str] = field(default_factory=dict)
    statuses: Sequence[str] = ()

    @property
    def queries(self) -> Sequence[Mapping[str, str]]:
        return [{**self.query, "status": status} for status in self.statuses] or [self.query]

    def read(self, source: Source, only: Sequence[int] = ()) -> Iterator[int]:
        """Yield the ids of all objects, or those of ``only`` that the store still has, which fit in one page."""
        filters = {"ids": ",".join(map(str, only))} if only else {}
        for query in self.queries:
            position = 0
            while page := source.client.get_page(
                self.path, self.name, since_id=position, limit=IDS_PER_PAGE, fields="id", **filters, **query
            ):
                source.keep_alive()
                position = page[-1]["id"]
                yield from (row["id"] for row in page)
                if only:
                    break


class Stream(ABC):
    """The objects of one kind. Streams are imported in the order of their registration.

    Attributes:
        name: The name in the report, at most 30 letters.
        resource: The name of the objects in the map of ids.
        model: The model of the imported objects.
        id_list: The list of the ids of all objects. Streams without such a list can implement ``list_ids``.
        comparison: How objects are compared with those of the store. Each registered stream must declare it.
        is_ascending: False if the objects of a page can have lower ids than those of the pages before.
        restores_deleted: False if the import does not create objects again that were deleted in this shop.
        sets_creation_time: True if new objects get the time of creation in the store after they were written.
        path_prefix: The path of an object in the online store without its handle, or "" if it has no page.
    """

    name: ClassVar[str]
    resource: ClassVar[str]
    model: ClassVar[type[Model]]
    id_list: ClassVar[IdList | None] = None
    comparison: ClassVar[Comparison | None] = None
    is_ascending: ClassVar[bool] = True
    restores_deleted: ClassVar[bool] = True
    sets_creation_time: ClassVar[bool] = False
    path_prefix: ClassVar[str] = ""

    @abstractmethod
    def count_objects(self, source: Source) -> int | None:
        """Return the number of objects in the source, or None if it is unknown."""

    @abstractmethod
    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return the next objects with ids above ``position``, in ascending order, or nothing at the end."""

    def get_position(self, page: Sequence[SourceObject]) -> int:
        """Return the position after a page. An interrupted import continues with the objects after it."""
        return max(int(row["id"]) for row in page)

    @contextmanager
    def fetch_files(self, source: Source, objects: Sequence[SourceObject]) -> Iterator[Any]:
        """Download the files of objects before the transaction, and yield them for ``write_objects``."""
        yield None

    @abstractmethod
    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        """Create or update the objects in this shop, in the current transaction. Return a result for each object."""

    def find_indirect_changes(self, source: Source) -> Collection[int]:
        """Return the ids of objects with parts that have changed since ``changed_since``, but not the objects."""
        return ()

    def read_again(self, source: Source, ids: Collection[int]) -> Iterator[Sequence[SourceObject]]:
        """Yield pages of the objects with these ids, as far as they exist.

        If the list of the API has no filter for ids, the whole list is read.
        """
        wanted = sorted(ids)
        for start in range(0, len(wanted), MAX_IDS):
            chunk = wanted[start : start + MAX_IDS]
            position, filtered = 0, replace(source, changed_since=None, only_ids=chunk)
            while (position < chunk[-1] or not self.is_ascending) and (page := self.read_page(filtered, position)):
                position = page[-1]["id"]
                if rows := [row for row in page if row["id"] in chunk]:
                    yield rows

    @property
    def finds_deletions(self) -> bool:
        """Return whether ``list_ids`` can be called, so that deletions in the store are found."""
        return self.id_list is not None or type(self).list_ids is not Stream.list_ids

    def list_ids(self, source: Source, only: Sequence[int] = ()) -> Iterator[int]:
        """Yield the ids of all objects of the store. ``only`` are the ids of interest, at most those of one page."""
        assert self.id_list is not None
        return self.id_list.read(source, only)

    def find_changed_here(self, target_ids: Collection[int]) -> set[int]:
        """Return the ids of objects that someone else than an import has created or changed, by the audit log."""
        concrete = self.model._meta.concrete_model
        labels = [other._meta.label_lower for other in apps.get_models() if other._meta.concrete_model is concrete]
        events = Event.objects.filter(subject_type__in=labels, subject_id__in=target_ids).exclude(actor=ACTOR)
        return set(events.order_by().values_list("subject_id", flat=True).distinct())

    def delete_target(self, target: Model, *, at: datetime) -> None:
        """Delete an object of this shop that was deleted in the store. Streams that find deletions implement it."""
        raise NotImplementedError

    def get_part_ids(self, target: Model) -> Mapping[str, Collection[int]]:
        """Return the ids of the parts of an object of this shop that are in the map of ids, by resource."""
        return {}

    @property
    def matched_resource(self) -> str:
        """Return the name in the map of ids of the objects that are compared."""
        return self.resource

    def get_own_objects(self) -> QuerySet[Any]:
        """Return the objects of this shop that are compared with those of the store."""
        return self.model._default_manager.all()

    def read_own(self, source: Source, target_ids: Collection[int]) -> Mapping[int, SourceObject]:
        """Return the objects of this shop by id, in the form in which ``read_page`` returns those of the store."""
        assert self.comparison is not None
        assert self.comparison.read is not None
        return self.comparison.read(target_ids, source.client.version)

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:  # noqa: B027
        """Change the two representations of an object so that members can be compared."""

    def get_comparison(self, source: Source) -> Comparison | None:
        """Return the comparison for a store. By default, it is the same for all stores."""
        return self.comparison

    def get_reason_left_out(self, row: SourceObject) -> str:
        """Return why an import leaves out an object of the store without a note, or a blank text."""
        return ""

    def find_exempt(self, target_ids: Collection[int]) -> Mapping[int, str]:
        """Return the reasons not to compare objects of this shop, by id."""
        return {}

    def get_source_path(self, row: SourceObject) -> str:
        """Return the path of an object in the store, if its stream has a ``path_prefix``."""
        return f"{self.path_prefix}{row['handle']}"

    def get_paths(self, rows: "QuerySet[Any]") -> Mapping[int, str]:
        """Return the paths of objects of this shop by ID, if their stream has a ``path_prefix``."""
        return {pk: f"{self.path_prefix}{handle}" for pk, handle in rows.values_list("pk", "handle")}


streams = Registry[str, Stream]("streams of store imports", get_key=attrgetter("name"))


def get_digest(source_object: SourceObject) -> str:
    """Return a hash that is the same for equal objects."""
    return hashlib.sha256(json.dumps(source_object, sort_keys=True, default=str).encode()).hexdigest()


def write_in_savepoint(write: Callable[[], ObjectResult]) -> ObjectResult:
    """Call a function that writes an object in a savepoint, and turn its errors into a failed result."""
    try:
        with transaction.atomic():
            return write()
    except DomainError as error:
        return ObjectResult(Outcome.FAILED, problem=error.sentence)
    except IntegrityError as error:
        violated = find_violated_constraint(error)
        if violated is None:
            raise
        problem = FIELD_ERROR(field=violated.field, error=as_message(violated.message))
        return ObjectResult(Outcome.FAILED, problem=problem)
