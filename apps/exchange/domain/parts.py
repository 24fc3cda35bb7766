"""What is written of an export so far, kept in the storage, so that another worker goes on where one was killed.

The file is kept in parts of some megabytes. The export's row knows where they lie, which object was the last in them
(of a document: in which section), and how many there are. Whoever goes on copies them and writes behind; what a killed
worker wrote after its last part is written again. Parts go once the whole file is there. Those of an export that failed
are strays after a day (``files``); an export whose parts are gone begins anew.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from shutil import copyfileobj
from typing import IO

from django.core.files.storage import default_storage

from apps.exchange.domain.files import remove, store
from apps.exchange.models import EXPORTS, Export

PART_BYTES = 8 * 1024 * 1024


class Overtaken(Exception):
    """Somebody else writes the export by now, or nobody wants it any more."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a file goes.

    Attributes:
        last: The id of the last object in it, or in its section; 0 where there is none.
        done: How many objects there are.
        section: Which section of a document is being written; blank for a sequence of objects of one kind.
    """

    last: int = 0
    done: int = 0
    section: str = ""


class Parts:
    """The parts of one export, beside the file that one writer makes of it."""

    def __init__(self, export: Export, file: IO[bytes]) -> None:
        """Copy what there is into the file, which is empty."""
        self._export, self._file = export, file
        self._places: list[str] = []
        self.reached = Reached()
        if export.parts is not None:
            known = Reached(export.parts["last"], export.row_count, export.parts.get("section", ""))
            self._copy(export.parts["places"], known)
        self._kept = file.tell()

    def _copy(self, places: list[str], reached: Reached) -> None:
        try:
            for place in places:
                with default_storage.open(place) as part:
                    copyfileobj(part, self._file)
        except FileNotFoundError:
            self._file.seek(0)
            self._file.truncate()
            self._note(Reached(), [], before=reached)
            discard(places)
        else:
            self._places, self.reached = places, reached

    def keep(self, reached: Reached) -> None:
        """Keep what was written since the last part, where that is enough for one; the file stands at its end.

        Raises:
            Overtaken: Nothing more is to be written.
            NotStored: The storage does not take it.
        """
        end = self._file.tell()
        if end - self._kept < PART_BYTES:
            return
        self._file.seek(self._kept)
        name = f"{EXPORTS}/{self._export.shop_id}/{self._export.key}-{secrets.token_hex(8)}.part"
        place = store(name, BytesIO(self._file.read(end - self._kept)))
        try:
            self._note(reached, [*self._places, place], before=self.reached)
        except BaseException:
            remove(place)
            raise
        self._places, self.reached, self._kept = [*self._places, place], reached, end

    def _note(self, reached: Reached, places: list[str], *, before: Reached) -> None:
        parts = {"places": places, "last": reached.last, "section": reached.section} if places else None
        ours = Export.objects.filter(pk=self._export.pk, state=Export.State.WAITING, row_count=before.done)
        if not ours.update(parts=parts, row_count=reached.done):
            raise Overtaken

    def discard(self) -> None:
        """Delete them: the whole file is there."""
        discard(self._places)


def discard(places: Iterable[str]) -> None:
    """Delete parts."""
    for place in places:
        remove(place)
