"""All that the shop knows of one person, as one document for them; it goes out, and never in."""

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
from apps.exchange.domain.kinds import Document, Exporter, Kind
from apps.exchange.domain.parts import Reached
from apps.exchange.models import Export, Format

# Rows between two reports of how far it is.
_STEP = 500
_INDENTED = orjson.OPT_INDENT_2


def _size(export: Export) -> int:
    customer = exports.rows_of(export).first()
    assert isinstance(customer, Customer | None)
    return 0 if customer is None else 1 + len(personal_data.ids_of(customer, "orders"))


def _write(export: Export, file: IO[str], begun: Reached) -> Iterator[Reached]:
    """Write row by row what ``personal_data.export`` gives at once; the section that was begun is left open till last.

    Each section's rows are read by ascending ids, so that those behind the last one are what is missing.
    """
    customer = exports.rows_of(export).get()
    assert isinstance(customer, Customer)
    reached = begun
    for name, rows_after in _sections(customer, begun.section):
        if name != begun.section:
            file.write("]" if reached.section else f'{{\n"customer": {_json(personal_data.own_data(customer))}')
            file.write(f",\n{_json(name)}: [")
            reached = Reached(0, max(reached.done, 1), name)
        for pk, row in rows_after(reached.last):
            file.write(f"{',' if reached.last else ''}\n{_json(row)}")
            reached = Reached(pk, reached.done + 1, name)
            if reached.done % _STEP == 0:
                yield reached
    yield reached
    file.write("]\n}\n")


def _sections(customer: Customer, begun: str) -> Iterator[tuple[str, personal_data.RowsAfter]]:
    """What the document holds beside the customer, from the section on that was begun; all of it, where none was."""
    return dropwhile(lambda piece: bool(begun) and piece[0] != begun, personal_data.pieces(customer))


def _json(value: object) -> str:
    return orjson.dumps(value, option=_INDENTED).decode()


@transaction.atomic
def hand_over(customer: Customer, user: AbstractBaseUser, actor: str, at: datetime) -> int:
    """Ask for the file of one person, and record who takes it; gives the export's id."""
    personal_data.note_handing_over(customer, actor=actor, at=at)
    filters = {"ids": [customer.pk]}
    return exports.start(kind=PERSON.name, format=Format.JSON, filters=filters, user=user, actor=actor, at=at).pk


PERSON = Kind(
    name="person",
    label=gettext_lazy("Records of one person"),
    singular="person",
    exporter=Exporter(
        model=Customer,
        permission="customers.change_customer",
        granted_by="customers",
        topic="customers/export_file",
        document=Document(size=_size, write=_write),
    ),
)
