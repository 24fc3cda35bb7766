"""All that the shop knows of one person, as one document for them; it goes out, and never in."""

from collections.abc import Iterator
from datetime import datetime
from typing import IO

import orjson
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext_lazy

from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.exchange.domain import exports
from apps.exchange.domain.kinds import Document, Exporter, Kind
from apps.exchange.models import Export, Format

# Rows between two reports of how far it is.
_STEP = 500
_INDENTED = orjson.OPT_INDENT_2


def _size(export: Export) -> int:
    customer = exports.rows_of(export).first()
    assert isinstance(customer, Customer | None)
    return 0 if customer is None else 1 + len(personal_data.ids_of(customer, "orders"))


def _write(export: Export, file: IO[str]) -> Iterator[int]:
    """Write row by row what ``personal_data.export`` gives at once."""
    customer = exports.rows_of(export).get()
    assert isinstance(customer, Customer)
    file.write(f'{{\n"customer": {_json(personal_data.own_data(customer))}')
    done = 1
    for name, rows in personal_data.pieces(customer):
        file.write(f",\n{_json(name)}: [")
        for place, row in enumerate(rows):
            file.write(f"{',' if place else ''}\n{_json(row)}")
            done += 1
            if done % _STEP == 0:
                yield done
        file.write("]")
    file.write("\n}\n")
    yield done


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
