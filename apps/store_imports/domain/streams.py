"""Streams: the objects of one kind in a store, how they are read, and how they are written to this shop."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, ClassVar

from django.db import IntegrityError, transaction
from django.db.models import Model

from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import FIELD_ERROR, Message, as_message
from apps.core.registry import Registry
from apps.store_imports.domain.id_map import IdMap, NewId
from apps.store_imports.domain.source_client import SourceClient, SourceObject

ACTOR = "system"


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

    ``keep_alive`` extends the lease during long work. ``at`` is the time of the run. If ``changed_since`` is given,
    only objects that have changed since then must be read. ``open_lists`` has the lists that streams are reading.
    """

    client: SourceClient
    shop: SourceObject
    ids: IdMap
    at: datetime
    keep_alive: Callable[[], None]
    changed_since: datetime | None = None
    open_lists: dict[str, Iterator[Sequence[SourceObject]]] = field(default_factory=dict)

    @property
    def change_filter(self) -> dict[str, str]:
        """The filter of a list for objects that have changed. Lists of the API that have no such filter ignore it."""
        return {} if self.changed_since is None else {"updated_at_min": self.changed_since.isoformat()}


class Stream(ABC):
    """The objects of one kind. Streams are imported in the order of their registration.

    Attributes:
        name: The name in the report, at most 30 letters.
        resource: The name of the objects in the map of ids.
        model: The model of the imported objects.
    """

    name: ClassVar[str]
    resource: ClassVar[str]
    model: ClassVar[type[Model]]

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
