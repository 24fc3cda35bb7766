"""Lists that a store may not have, for example because it is an older version, or may not let the app read."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from apps.core.i18n.messages import define_message
from apps.store_imports.domain.source_client import ObjectGone, ScopeMissing, SourceObject
from apps.store_imports.domain.streams import ObjectResult, Outcome, Source, Stream

_NO_LIST = define_message(
    "store_imports.list_missing", "The store has no list {path}, so nothing was imported from it."
)
_FORBIDDEN = define_message(
    "store_imports.list_forbidden",
    "The app of the token may not read {path}, so nothing was imported from it. Grant the app the access scope if the "
    "store offers it, and run the import again.",
)
_UNREADABLE = "unreadable"


class OptionalStream(Stream):
    """A stream with a list that the store may not have. Then the result has a note, and the import continues.

    Attributes:
        path: The path of the list.
        can_be_forbidden: True if a store may not offer the access scope. Otherwise, a missing scope ends the import.
    """

    path: ClassVar[str]
    can_be_forbidden: ClassVar[bool] = False

    def count_objects(self, source: Source) -> int | None:
        try:
            return self.count_listed(source)
        except ScopeMissing:
            if self.can_be_forbidden:
                return None
            raise

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        try:
            return self.read_list(source, position)
        except ObjectGone:
            problem = _NO_LIST(path=self.path)
        except ScopeMissing:
            if not self.can_be_forbidden:
                raise
            problem = _FORBIDDEN(path=self.path)
        return [] if position else [{"id": 1, _UNREADABLE: problem}]

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        if problem := objects[0].get(_UNREADABLE):
            return [ObjectResult(Outcome.UNCHANGED, problem=problem)]
        return self.write_listed(source, objects)

    def count_listed(self, source: Source) -> int | None:
        return source.client.count(self.path.replace(".json", "/count.json"))

    @abstractmethod
    def read_list(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return the next objects like ``read_page``."""

    @abstractmethod
    def write_listed(self, source: Source, objects: Sequence[SourceObject]) -> Sequence[ObjectResult]:
        """Write the objects like ``write_objects``."""
