"""Files hold what they held when they were made: an erasure takes those of the shop that may name the person.

Nobody looks into a file to find out. An export is quickly asked for again; a file that is being imported stays until it
is done, a minute later, and is deleted then.
"""

from datetime import datetime
from hashlib import sha256

from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy, gettext_noop

from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.events.domain.changes import HIDDEN
from apps.events.domain.forgetting import forget
from apps.exchange.kinds.person import hand_over
from apps.exchange.models import Export, Import, ImportedRow
from apps.ground.personal import Places, mentions
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.orders.models import Order

DELETE = "exchange.delete_files"
GONE = gettext_noop("Deleted, since personal data was erased. Upload it again.")
_ERASED = "sha256:"
_BATCH = 1000
PLACES: Places = {
    "exchange.Export": ("filters",),
    "exchange.Import": ("name", "problem", "unknown", "mapping"),
    "exchange.ImportedRow": ("label", "reason", "source_key", "changes"),
}


def files_of(customer: Customer) -> QuerySet[Import]:
    """The imports, all of which may hold a person; whoever works on one locks it before customers."""
    rows: QuerySet[Import] = Import.objects.all()
    return rows


def redact(customer: Customer, actor: str, at: datetime) -> None:
    """Let the shop's files go that may hold a person, and what was noted of their rows."""
    places = [*_exports(), *_imports(at)]
    if places:
        queue.enqueue(DELETE, actor=actor, places=places)
    words = personal_data.words_of(customer)
    Import.objects.filter(mentions(("name",), words)).update(name=HIDDEN)
    Import.objects.filter(mentions(("problem",), words)).update(problem=HIDDEN)
    ImportedRow.objects.filter(mentions(("label", "reason"), words)).update(label="", reason="")
    _sources(customer)


def _exports() -> list[str]:
    """Withdraw the exports that can be fetched or are being made; gives where their files lie."""
    made, failed = (Export.State.WAITING, Export.State.READY), Export.objects.filter(state=Export.State.FAILED)
    rows = Export.objects.filter(state__in=made)
    places = [row.place for row in rows if row.state == Export.State.READY]
    for row in rows | failed:
        places += (row.parts or {}).get("places", [])
    rows.update(state=Export.State.EXPIRED, parts=None)
    failed.update(parts=None, row_count=0)
    searched = Export.objects.filter(filters__has_key="subject_label__icontains")
    forget(Export, list(searched.values_list("pk", flat=True)))
    searched.update(filters={})
    return places


def _imports(at: datetime) -> list[str]:
    """Withdraw the files that wait for a confirmation or could not be read; gives where they lie."""
    left = list(Import.objects.filter(finished_at=None).exclude(state=Import.State.IMPORTING))
    ImportedRow.objects.filter(dry=True).exclude(file__state=Import.State.IMPORTING).delete()
    ImportedRow.objects.exclude(changes=[]).update(changes=[])
    Import.objects.exclude(unknown=[]).update(unknown=[])
    # One that is being imported is read by it.
    Import.objects.exclude(mapping=None).exclude(state=Import.State.IMPORTING).update(mapping=None)
    Import.objects.filter(pk__in=[row.pk for row in left]).update(
        state=Import.State.FAILED, problem=GONE, finished_at=at
    )
    return [row.place for row in left]


def _sources(customer: Customer) -> None:
    """Keep of the imported orders' numbers elsewhere only what knows them again."""
    names = Order.objects.filter(customer=customer).values("name")
    plain = ImportedRow.objects.exclude(source_key="").exclude(source_key__startswith=_ERASED)
    rows, last = plain.filter(label__in=names).only("source_key").order_by("pk"), 0
    while some := list(rows.filter(pk__gt=last)[:_BATCH]):
        for row in some:
            row.source_key = erased(row.source_key)
        ImportedRow.objects.bulk_update(some, ["source_key"])
        last = some[-1].pk


def erased(source_key: str) -> str:
    """A source's key as it stands after an erasure: two that are equal stay so."""
    return source_key if source_key.startswith(_ERASED) else f"{_ERASED}{sha256(source_key.encode()).hexdigest()}"


def delete_files(job: Job, **arguments: list[str]) -> None:
    """Delete the files at ``places``; those that are gone already are no obstacle."""
    for place in arguments["places"]:
        default_storage.delete(place)


def register_all() -> None:
    """Take part in handing over and in erasures."""
    personal_data.use_files(hand_over)
    personal_data.register("files", redact=redact, places=PLACES, locked_before=files_of)
    queue.register(DELETE, delete_files, gettext_lazy("Deleting files of an erased customer"))
