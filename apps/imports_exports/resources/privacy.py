"""Export all personal data of one customer as a JSON document, and erase the data in stored files.

The content of files is not searched, because staff can easily export the data again. A file that is being imported is
deleted after the import.
"""

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from itertools import dropwhile
from typing import IO

import orjson
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from apps.core.events.redaction import redact_events
from apps.core.events.values import HIDDEN_VALUE
from apps.core.i18n.messages import define_text
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.privacy import build_mention_filter
from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.imports_exports.domain import exports
from apps.imports_exports.domain.files import ExportCheckpoint
from apps.imports_exports.domain.resources import Document, Exporter, Resource
from apps.imports_exports.models import Export, Format, Import, ImportedRow, SavedMapping
from apps.orders.models import Order

# Number of rows between two checkpoints.
_CHECKPOINT_EVERY = 500


def _estimate_count(export: Export) -> int:
    customer = exports.get_rows(export).first()
    assert isinstance(customer, Customer | None)
    return 0 if customer is None else 1 + len(personal_data.get_part_ids(customer, "orders"))


def _write_document(export: Export, file: IO[str], start: ExportCheckpoint) -> Iterator[ExportCheckpoint]:
    """Write the sections of ``personal_data.iter_parts`` row by row, and yield checkpoints.

    The closing bracket of a section is written when the next section begins. The rows of each section are sorted by id,
    so that the export can continue after the last row.
    """
    customer = exports.get_rows(export).get()
    assert isinstance(customer, Customer)
    checkpoint = start
    sections = personal_data.iter_parts(customer)
    if start.section:
        sections = dropwhile(lambda section: section[0] != start.section, sections)
    else:
        file.write(f'{{\n"customer": {_format_json(personal_data.get_customer_data(customer))}')
    for name, rows_after in sections:
        if name != start.section:
            file.write(f"{']' if checkpoint.section else ''},\n{_format_json(name)}: [")
            checkpoint = ExportCheckpoint(0, max(checkpoint.done, 1), name)
        for pk, row in rows_after(checkpoint.last):
            file.write(f"{',' if checkpoint.last else ''}\n{_format_json(row)}")
            checkpoint = ExportCheckpoint(pk, checkpoint.done + 1, name)
            if checkpoint.done % _CHECKPOINT_EVERY == 0:
                yield checkpoint
    yield checkpoint
    file.write("]\n}\n")


def _format_json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


@transaction.atomic
def create_personal_data_export(customer: Customer, user: AbstractBaseUser, actor: str, at: datetime) -> int:
    """Create the export of a customer's data, record who requested it, and return the id of the export."""
    personal_data.record_data_export(customer, actor=actor, at=at)
    filters = {"ids": [customer.pk]}
    return exports.create_export(
        kind=PERSONAL_DATA.name, format=Format.JSON, filters=filters, user=user, actor=actor, at=at
    ).pk


PERSONAL_DATA = Resource(
    name="person",
    label=gettext_lazy("Personal data of a customer"),
    singular="person",
    exporter=Exporter(
        model=Customer,
        permission="customers.change_customer",
        granted_by="customers",
        topic="customers/export_file",
        document=Document(size=_estimate_count, write=_write_document),
    ),
)


DELETE = "imports_exports.delete_files"
ERASED_MESSAGE = define_text(
    "imports.erased", "The file was deleted because personal data was erased. Upload the file again."
)
_HASH_PREFIX = "sha256:"
_BATCH = 1000


def get_imports_to_lock(customer: Customer) -> QuerySet[Import]:
    """Return all imports of the shop, because each may contain the customer's data.

    An erasure locks these rows before customers, as workers do, so that no deadlock can occur.
    """
    return Import.objects.all()


def redact_files(customer: Customer, actor: str, at: datetime) -> None:
    """Delete the files that may contain the customer's data, and erase the data from row results."""
    paths = [*_withdraw_exports(), *_withdraw_imports(at)]
    if paths:
        queue.enqueue(DELETE, actor=actor, places=paths)
    words = personal_data.get_identifying_words(customer)
    SavedMapping.objects.filter(build_mention_filter(("name", "mapping"), words)).delete()
    Import.objects.filter(build_mention_filter(("name",), words)).update(name=HIDDEN_VALUE)
    Import.objects.filter(build_mention_filter(("problem",), words)).update(problem=HIDDEN_VALUE)
    Import.objects.filter(build_mention_filter(("reading_note",), words)).update(reading_note="")
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
    """Mark imports as failed if they are unfinished and not running, and return the paths of their files.

    The files with the refused rows of finished imports are also deleted.
    """
    refused = Import.objects.exclude(refused_file="")
    refused_paths = list(refused.values_list("refused_file", flat=True))
    refused.update(refused_file="")
    unfinished = list(Import.objects.filter(finished_at=None).exclude(state=Import.State.IMPORTING))
    ImportedRow.objects.filter(dry=True).exclude(file__state=Import.State.IMPORTING).delete()
    ImportedRow.objects.exclude(changes=[]).update(changes=[])
    Import.objects.exclude(unknown=[]).update(unknown=[])
    # Keep the mapping of a running import, because the import still uses the mapping.
    Import.objects.exclude(mapping=None).exclude(state=Import.State.IMPORTING).update(mapping=None)
    Import.objects.filter(pk__in=[row.pk for row in unfinished]).update(
        state=Import.State.FAILED, problem=ERASED_MESSAGE, finished_at=at
    )
    return [*refused_paths, *(row.path for row in unfinished)]


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
    is_hashed = source_key.startswith(_HASH_PREFIX)
    return source_key if is_hashed else f"{_HASH_PREFIX}{sha256(source_key.encode()).hexdigest()}"


def delete_files(job: Job, **arguments: list[str]) -> None:
    """Delete the files at the paths in the argument ``places``. A missing file is not an error."""
    for path in arguments["places"]:
        default_storage.delete(path)
