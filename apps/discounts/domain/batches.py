"""Create many codes of a price rule in a background job."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK
from apps.core.i18n.messages import define_text
from apps.core.jobs.models import Job
from apps.core.jobs.queue import enqueue
from apps.core.types import Attrs
from apps.discounts.domain.codes import CodeRefused, create_code
from apps.discounts.models import CodeBatch, PriceRule

CREATED = "discount_code_creations/create"
TASK = "discounts.create_codes"
MAX_CODES = 100
_Status = CodeBatch.Status
_NOT_CREATED = define_text("discounts.not_created", "could not be created because of an internal error")


class BatchRefused(DomainError):
    """Raised when a batch has no codes."""

    field = "discount_codes"


@transaction.atomic
def create_batch(rule: PriceRule, codes: Sequence[str], *, actor: str, at: datetime) -> CodeBatch:
    """Enqueue the creation of at most ``MAX_CODES`` codes. Codes are checked one by one when the job runs."""
    if not codes:
        raise BatchRefused(BLANK)
    results = [_build_result(code) for code in codes]
    batch = CodeBatch(shop_id=rule.shop_id, rule=rule, results=results, codes_count=len(codes), created_at=at)
    batch.save(force_insert=True)
    record_event(CREATED, batch, actor=actor, at=at)
    enqueue(TASK, actor=actor, batch_id=batch.pk)
    return batch


def run_batch(job: Job, *, batch_id: int) -> None:
    """Create the codes of a batch. Refused codes do not affect the other codes."""
    started_at = timezone.now()
    waiting = CodeBatch.objects.filter(pk=batch_id, status=_Status.QUEUED)
    waiting.update(status=_Status.RUNNING, started_at=started_at, updated_at=started_at)
    with transaction.atomic():
        rule = PriceRule.objects.select_for_update(no_key=True).filter(batches=batch_id).first()
        batch = CodeBatch.objects.select_for_update().filter(pk=batch_id).first()
        if rule is None or batch is None or batch.status == _Status.COMPLETED:
            return
        results = [_create(rule, result["code"], job.actor) for result in batch.results]
        _complete(batch, results)


def fail_batch(job: Job) -> None:
    """Complete a batch with an error for each code, because the job has failed for good."""
    batch = CodeBatch.objects.filter(pk=job.arguments["batch_id"]).exclude(status=_Status.COMPLETED).first()
    if batch is not None:
        _complete(batch, [{**result, "errors": {"base": [_NOT_CREATED]}} for result in batch.results])


def _create(rule: PriceRule, code: str, actor: str) -> Attrs:
    try:
        return _build_result(code, create_code(rule, code, actor=actor, at=timezone.now()).pk)
    except CodeRefused as refusal:
        return {**_build_result(code), "errors": refusal.errors}


def _complete(batch: CodeBatch, results: Sequence[Attrs]) -> None:
    batch.results = list(results)
    batch.imported_count = sum(result["id"] is not None for result in results)
    batch.failed_count = len(results) - batch.imported_count
    batch.status, batch.completed_at = _Status.COMPLETED, timezone.now()
    batch.save(update_fields=["results", "imported_count", "failed_count", "status", "completed_at"])


def _build_result(code: str, pk: int | None = None) -> Attrs:
    return {"id": pk, "code": code, "errors": {}}
