"""The background work of imports: checking a file, and taking it in."""

from contextlib import closing

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy, gettext_noop

from apps.exchange.domain.checking import check as check_file
from apps.exchange.domain.imports import CHECK, REPORT_EVERY, RUN
from apps.exchange.domain.parsing import UnreadableFile
from apps.exchange.domain.running import run as take_in
from apps.exchange.models import Import
from apps.ground.retelling import retold, tells
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job

State = Import.State
_GAVE_UP = tells(gettext_noop("{error} – try the background job again to go on."), error=retold)


def _work(job: Job, *, import_id: int, checking: bool) -> None:
    """Do it, or go on with it where it had been given up.

    Raises:
        GiveUp: The file is no longer there.
    """
    wanted = State.CHECKING if checking else State.IMPORTING
    Import.objects.filter(pk=import_id, state=State.FAILED, finished_at=None).update(state=wanted, problem="")
    kept = Import.objects.select_related("shop").filter(pk=import_id).first()
    if kept is not None and kept.state == State.FAILED:
        raise jobs.GiveUp(kept.problem)
    if kept is None or kept.state != wanted:
        return
    try:
        with closing(check_file(kept) if checking else take_in(kept)) as rows:
            reported = 0
            for _ in rows:
                if kept.done >= reported + REPORT_EVERY:
                    reported = kept.done
                    jobs.report_progress(job, done=reported, total=max(kept.total, reported))
    except UnreadableFile:
        # The import says so; trying again would find the same.
        return


def check(job: Job, **arguments: int) -> None:
    """Check a file; ``import_id`` names it."""
    _work(job, import_id=arguments["import_id"], checking=True)


def run(job: Job, **arguments: int) -> None:
    """Import a file; ``import_id`` names it."""
    _work(job, import_id=arguments["import_id"], checking=False)


@transaction.atomic
def give_up(job: Job) -> None:
    """Say that the file could not be dealt with, unless somebody else is dealing with it."""
    idle = Q(claimed_until=None) | Q(claimed_until__lt=Now())
    begun = Import.objects.filter(idle, pk=job.arguments["import_id"], state__in=(State.CHECKING, State.IMPORTING))
    begun.update(state=State.FAILED, problem=_GAVE_UP.format(error=job.error[:400]))


def register_all() -> None:
    """Add the tasks."""
    jobs.register(CHECK, check, gettext_lazy("Check of an import"), on_give_up=give_up)
    jobs.register(RUN, run, gettext_lazy("Import"), on_give_up=give_up)
