"""What the rows of an import are about, as staff call it, with the way there."""

from collections.abc import Iterable

from django.http import HttpRequest
from django.urls import reverse

from apps.exchange.domain.kinds import importers
from apps.exchange.models import ImportedRow
from apps.panel.access import may

# By what a new object is called that is not there yet, of what it is to be made of.
_CALLED = (("first_name", "last_name"), ("email",), ("phone",), ("order",), ("title",))


def named_rows(rows: Iterable[ImportedRow], request: HttpRequest) -> list[ImportedRow]:
    """The rows with ``label`` as what they are about is called now, and ``link`` to it where the person may see it."""
    found = list(rows)
    for kind in {row.kind for row in found if row.kind in importers()}:
        mine = [row for row in found if row.kind == kind]
        there = importers()[kind].find({row.label for row in mine if row.label})
        for row in mine:
            if (thing := there.get(row.label)) is None:
                row.label = row.label or _to_be(row)
                continue
            app, model = thing._meta.app_label, thing._meta.model_name
            row.label = str(thing)
            if may(request, f"{app}.view_{model}"):
                row.link = reverse(f"admin:{app}_{model}_change", args=[thing.pk])
    return found


def _to_be(row: ImportedRow) -> str:
    """What a row that is only checked says of the object that it would make."""
    told = {name: new for name, _, new in row.changes}
    called = (" ".join(filter(None, map(told.get, names))) for names in _CALLED)
    return next(filter(None, called), "")
