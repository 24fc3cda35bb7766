"""Erase personal data from imports and exports: delete all files of the shop that may contain the customer's data.

The content of files is not searched, because staff can easily export the data again. A file that is being imported is
deleted after the import.
"""

from datetime import datetime
from hashlib import sha256

from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy, gettext_noop

from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.events.domain.diffs import HIDDEN_VALUE
from apps.events.domain.redaction import redact_events
from apps.exchange.models import Export, Import, ImportedRow
from apps.exchange.resources.personal_data import create_personal_data_export
from apps.ground.privacy_registry import ColumnsByModel, build_mention_filter
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.orders.models import Order

DELETE = "exchange.delete_files"
ERASED_MESSAGE = gettext_noop("The file was deleted because personal data was erased. Upload the file again.")
_HASH_PREFIX = "sha256:"
_BATCH = 1000
PERSONAL_COLUMNS: ColumnsByModel = {
    "exchange.Export": ("filters",),
    "exchange.Import": ("name", "problem", "unknown", "mapping"),
    "exchange.ImportedRow": ("label", "reason", "source_key", "changes"),
}


def get_imports_to_lock(customer: Customer) -> QuerySet[Import]:
    """Return all imports of the shop, because each import may contain the customer's data.

    An erasure locks these rows before it locks customers. Workers acquire locks in the same sequence, so no deadlock
    can occur.
    """
    rows: QuerySet[Import] = Import.objects.all()
    return rows


def redact_files(customer: Customer, actor: str, at: datetime) -> None:
    """Delete the files that may contain the customer's data, and erase the data from row results."""
    paths = [*_withdraw_exports(), *_withdraw_imports(at)]
    if paths:
        queue.enqueue(DELETE, actor=actor, places=paths)
    words = personal_data.get_identifying_words(customer)
    Import.objects.filter(build_mention_filter(("name",), words)).update(name=HIDDEN_VALUE)
    Import.objects.filter(build_mention_filter(("problem",), words)).update(problem=HIDDEN_VALUE)
    ImportedRow.objects.filter(build_mention_filter(("label", "reason"), words)).update(label="", reason="")
    _hash_source_keys(customer)


def _withdraw_exports() -> list[str]:
    """Mark waiting and ready exports as expired, and return the paths of complete and partial export files."""
    active_states, failed = (Export.State.WAITING, Export.State.READY), Export.objects.filter(state=Export.State.FAILED)
    rows = Export.objects.filter(state__in=active_states)
    paths = [row.path for row in rows if row.state == Export.State.READY]
    for row in rows | failed:
        paths += (row.parts or {}).get("places", [])
    rows.update(state=Export.State.EXPIRED, parts=None)
    failed.update(parts=None, row_count=0)
    searched = Export.objects.filter(filters__has_key="subject_label__icontains")
    redact_events(Export, list(searched.values_list("pk", flat=True)))
    searched.update(filters={})
    return paths


def _withdraw_imports(at: datetime) -> list[str]:
    """Mark imports as failed if they are unfinished and not running, and return the paths of their files."""
    unfinished = list(Import.objects.filter(finished_at=None).exclude(state=Import.State.IMPORTING))
    ImportedRow.objects.filter(dry=True).exclude(file__state=Import.State.IMPORTING).delete()
    ImportedRow.objects.exclude(changes=[]).update(changes=[])
    Import.objects.exclude(unknown=[]).update(unknown=[])
    # Keep the mapping of a running import, because the import still uses the mapping.
    Import.objects.exclude(mapping=None).exclude(state=Import.State.IMPORTING).update(mapping=None)
    Import.objects.filter(pk__in=[row.pk for row in unfinished]).update(
        state=Import.State.FAILED, problem=ERASED_MESSAGE, finished_at=at
    )
    return [row.path for row in unfinished]


def _hash_source_keys(customer: Customer) -> None:
    """Replace the source keys of the customer's imported orders with hashes."""
    names = Order.objects.filter(customer=customer).values("name")
    plain = ImportedRow.objects.exclude(source_key="").exclude(source_key__startswith=_HASH_PREFIX)
    rows, last = plain.filter(label__in=names).only("source_key").order_by("pk"), 0
    while batch := list(rows.filter(pk__gt=last)[:_BATCH]):
        for row in batch:
            row.source_key = hash_source_key(row.source_key)
        ImportedRow.objects.bulk_update(batch, ["source_key"])
        last = batch[-1].pk


def hash_source_key(source_key: str) -> str:
    """Return the hash that replaces a source key after an erasure. Equal keys have equal hashes."""
    return (
        source_key
        if source_key.startswith(_HASH_PREFIX)
        else f"{_HASH_PREFIX}{sha256(source_key.encode()).hexdigest()}"
    )


def delete_files(job: Job, **arguments: list[str]) -> None:
    """Delete the files at the paths in the argument ``places``. A missing file is not an error."""
    for path in arguments["places"]:
        default_storage.delete(path)


def register_privacy_handlers() -> None:
    """Register the functions that export and erase a customer's data in files."""
    personal_data.set_file_exporter(create_personal_data_export)
    personal_data.register_personal_data(
        "files", redact=redact_files, personal_columns=PERSONAL_COLUMNS, locked_before=get_imports_to_lock
    )
    queue.register_task(DELETE, delete_files, gettext_lazy("Delete files after a customer's data is erased"))
