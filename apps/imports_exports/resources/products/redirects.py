"""Find the products that could not keep the handle in their file, for a file of redirects."""

from collections.abc import Iterator
from urllib.parse import quote

from apps.core.i18n.messages import Message, get_items
from apps.imports_exports.models import Import, ImportedRow
from apps.imports_exports.resources.products.handles import HANDLE_CHANGED

_BATCH_SIZE = 500


def find_changed_paths(import_job: Import) -> Iterator[tuple[str, str]]:
    """Yield the old and the new path of each product with another handle than in the file."""
    is_preview = import_job.state in {Import.State.CHECKING, Import.State.CHECKED}
    rows = ImportedRow.objects.filter(file=import_job, dry=is_preview, reason__contains=HANDLE_CHANGED.code)
    for row in rows.order_by("line").only("reason").iterator(chunk_size=_BATCH_SIZE):
        for note in _find_notes(row):
            yield _build_path(note.get_text("old")), _build_path(note.get_text("new"))


def has_changed_paths(import_job: Import) -> bool:
    return next(find_changed_paths(import_job), None) is not None


def _find_notes(row: ImportedRow) -> list[Message]:
    notes = get_items(row.reason) if isinstance(row.reason, Message) else []
    return [note for note in notes if note.code == HANDLE_CHANGED.code]


def _build_path(handle: str) -> str:
    return f"/products/{quote(handle, safe='')}"
