"""Export all personal data of one customer as a JSON document, for privacy requests."""

from collections.abc import Iterator
from datetime import datetime
from itertools import dropwhile
from typing import IO

import orjson
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext_lazy

from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.exchange.domain import exports
from apps.exchange.domain.resources import Document, Exporter, Resource
from apps.exchange.domain.resumable_file import ExportCheckpoint
from apps.exchange.models import Export, Format

# Number of rows between two checkpoints.
_CHECKPOINT_EVERY = 500
_INDENTED = orjson.OPT_INDENT_2


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
    for name, rows_after in _get_sections(customer, start.section):
        if name != start.section:
            file.write(
                "]"
                if checkpoint.section
                else f'{{\n"customer": {_format_json(personal_data.get_customer_data(customer))}'
            )
            file.write(f",\n{_format_json(name)}: [")
            checkpoint = ExportCheckpoint(0, max(checkpoint.done, 1), name)
        for pk, row in rows_after(checkpoint.last):
            file.write(f"{',' if checkpoint.last else ''}\n{_format_json(row)}")
            checkpoint = ExportCheckpoint(pk, checkpoint.done + 1, name)
            if checkpoint.done % _CHECKPOINT_EVERY == 0:
                yield checkpoint
    yield checkpoint
    file.write("]\n}\n")


def _get_sections(customer: Customer, first_section: str) -> Iterator[tuple[str, personal_data.RowsAfter]]:
    """Return the sections of the document, starting with ``first_section`` unless it is blank."""
    return dropwhile(
        lambda section: bool(first_section) and section[0] != first_section, personal_data.iter_parts(customer)
    )


def _format_json(value: object) -> str:
    return orjson.dumps(value, option=_INDENTED).decode()


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
