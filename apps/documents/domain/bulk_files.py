"""Write the documents of many orders as one PDF file, with the jobs and the storage of exports."""

from collections.abc import Iterator
from typing import IO

from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.i18n.messages import define_text
from apps.core.jobs import queue
from apps.documents.domain.files import write_document_files, write_packing_slip_files
from apps.documents.domain.issue import get_invoice_ids
from apps.imports_exports.domain.files import ExportCheckpoint
from apps.imports_exports.domain.resources import Document, Exporter, Resource
from apps.imports_exports.models import Export
from apps.orders.models import Order

INVOICES, PACKING_SLIPS = "invoices", "slips"
_NOTHING = define_text("documents.nothing", "These orders have no documents to print.")


def _get_order_ids(export: Export) -> list[int]:
    ids: list[int] = export.filters["ids"]
    return ids


def _write_ids(export: Export, file: IO[str], start: ExportCheckpoint) -> Iterator[ExportCheckpoint]:
    """Write the ids of the orders. ``convert`` writes the PDF file once all ids are known."""
    ids = _get_order_ids(export)
    if start.done < len(ids):
        file.writelines(f"{pk}\n" for pk in ids)
    yield ExportCheckpoint(0, len(ids))


def _convert_to_invoices(ids_file: IO[bytes], file: IO[bytes]) -> None:
    documents = get_invoice_ids([int(line) for line in ids_file])
    _write(file, write_document_files(documents) if documents else None)


def _convert_to_packing_slips(ids_file: IO[bytes], file: IO[bytes]) -> None:
    _write(file, write_packing_slip_files([int(line) for line in ids_file], at=timezone.now()))


def _write(file: IO[bytes], content: bytes | None) -> None:
    if content is None:
        raise queue.GiveUp(_NOTHING)
    file.write(content)


RESOURCES = (
    Resource(
        name=INVOICES,
        label=gettext_lazy("Invoices (PDF)"),
        singular="invoice",
        exporter=Exporter(
            model=Order,
            permission="documents.view_issueddocument",
            granted_by="orders",
            topic="documents/invoices_file",
            document=Document(
                size=lambda export: len(_get_order_ids(export)), write=_write_ids, convert=_convert_to_invoices
            ),
        ),
    ),
    Resource(
        name=PACKING_SLIPS,
        label=gettext_lazy("Packing slips (PDF)"),
        singular="packing_slip",
        exporter=Exporter(
            model=Order,
            permission="fulfillment.view_fulfillmentorder",
            granted_by="orders",
            topic="documents/packing_slips_file",
            document=Document(
                size=lambda export: len(_get_order_ids(export)), write=_write_ids, convert=_convert_to_packing_slips
            ),
        ),
    ),
)
