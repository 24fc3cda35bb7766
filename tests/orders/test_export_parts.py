import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.db.models.functions import Now
from django.test import override_settings
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop, User
from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.imports_exports.domain import exports, files, imports
from apps.imports_exports.domain.files import delete_orphan_files
from apps.imports_exports.domain.resources import get_exporters
from apps.imports_exports.models import Export, Import, ImportedRow
from apps.imports_exports.resources import privacy as person
from apps.refunds.models import Refund
from backoffice.configuration.storages import get_storage_settings
from tests.support import factories
from tests.support.factories.customers import make_address, make_customer
from tests.support.factories.orders import make_order
from tests.support.files.import_export import export_bytes, export_text, to_json_lines
from tests.support.files.workbooks import read_workbook
from tests.support.servers.live import get_database_url
from tests.support.timing import wait_until
from tests.support.types import Json

# Run a job with two rows per batch and one batch per part. At the third progress report, print the progress and wait to
# be killed.
WORKS = """
import sys, time, uuid
import django
django.setup()
from apps.imports_exports import tasks
from apps.imports_exports.domain import exports, files, runner
from apps.imports_exports.resources import privacy
from apps.core.jobs import queue  # noqa: E402
tasks.REPORT_EVERY = 1
files.PART_BYTES = 1
exports.BATCH = runner.BATCH_SIZE = 2
privacy._CHECKPOINT_EVERY = 1
report, told = queue.report_progress, 0
def reported(job, *, completed, total):
    global told
    report(job, completed=completed, total=total)
    told += 1
    if told == 3:
        print(completed, flush=True)
        time.sleep(600)
queue.report_progress = reported
queue.run_job(uuid.UUID(sys.argv[1]))
"""


class WorkerKilled(Exception):
    """Simulates the death of a worker."""


@pytest.fixture
def user(shop: Shop) -> User:
    return factories.make_member(shop, "orders", "export_orders", "export_customers")


@pytest.fixture(autouse=True)
def _small_parts(media_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PART_BYTES", 1)
    monkeypatch.setattr(exports, "BATCH", 2)


def create_export_job(user: User, form: str) -> tuple[Export, Job]:
    at = timezone.now()
    export = exports.create_export(kind="customers", format=form, filters={}, user=user, actor="system", at=at)
    return export, Job.objects.get(task=exports.EXPORT, arguments={"export_id": export.pk})


def run_until_killed(job: Job, monkeypatch: pytest.MonkeyPatch, *, done_count: int) -> None:
    """Run a job until ``done_count`` objects are done, then stop as if the worker were killed."""
    report = queue.report_progress

    def interrupted(job: Job, **messages: Any) -> None:
        report(job, **messages)
        if messages["completed"] == done_count:
            raise WorkerKilled

    with monkeypatch.context() as patched:
        patched.setattr(queue, "report_progress", interrupted)
        assert queue.run_job(job.key)
    Job.objects.filter(pk=job.pk).update(due_at=Now())


def get_export_files(shop: Shop, suffix: str = "") -> list[str]:
    folder = f"exports/{shop.pk}"
    names = default_storage.listdir(folder)[1] if default_storage.exists(folder) else []
    return [name for name in names if name.endswith(suffix)]


@pytest.mark.parametrize("form", ["csv", "xlsx", "jsonl"])
def test_exports_continue_after_the_last_part(
    in_shop: Shop, user: User, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    people = [make_customer(first_name=f"=Ada {number}") for number in range(7)]
    full_export = export_bytes(in_shop, user, "customers", form)
    export, job = create_export_job(user, form)
    read_objects, request = get_exporters()["customers"].read_objects, list[int]()

    def noted(ids: Sequence[int]) -> Any:
        request.extend(ids)
        return read_objects(ids)

    run_until_killed(job, monkeypatch, done_count=6)
    watched = {**get_exporters(), "customers": replace(get_exporters()["customers"], read_objects=noted)}
    monkeypatch.setattr(exports, "get_exporters", lambda: watched)
    assert queue.run_job(job.key)

    export.refresh_from_db()
    assert (export.state, export.row_count, export.parts) == (Export.State.READY, 7, None)
    # The worker wrote the third batch but did not commit it, so the next worker repeats it.
    assert request == [row.pk for row in people[4:]]
    with default_storage.open(export.path) as file:
        content = file.read()
    if form == "xlsx":
        assert read_workbook(content) == read_workbook(full_export)
    else:
        assert content == full_export
    assert get_export_files(in_shop, ".part") == []


def test_an_export_with_missing_parts_starts_over(in_shop: Shop, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(7):
        make_customer()
    full_export = export_text(in_shop, user, "customers", "jsonl")
    export, job = create_export_job(user, "jsonl")
    run_until_killed(job, monkeypatch, done_count=6)
    export.refresh_from_db()
    assert export.parts is not None
    default_storage.delete(export.parts["places"][1])

    assert queue.run_job(job.key)

    export.refresh_from_db()
    with default_storage.open(export.path) as file:
        assert file.read().decode() == full_export
    assert get_export_files(in_shop, ".part") == []


def test_an_erasure_stops_the_export(in_shop: Shop, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    people = [make_customer() for _ in range(7)]
    export, job = create_export_job(user, "jsonl")
    report = queue.report_progress

    def erased(job: Job, **messages: Any) -> None:
        report(job, **messages)
        if messages["completed"] == 4:
            personal_data.redact_customer(people[0], actor="system", at=timezone.now())

    with monkeypatch.context() as patched:
        patched.setattr(queue, "report_progress", erased)
        assert queue.run_job(job.key)
    assert queue.run_job(Job.objects.get(task="imports_exports.delete_files").key)

    job.refresh_from_db()
    export.refresh_from_db()
    assert (job.state, export.state, export.parts) == (Job.State.DONE, Export.State.EXPIRED, None)
    assert get_export_files(in_shop) == []


def test_parts_of_a_running_export_are_kept(in_shop: Shop, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(7):
        make_customer()
    _, job = create_export_job(user, "jsonl")
    run_until_killed(job, monkeypatch, done_count=6)
    tomorrow = timezone.now() + timedelta(days=2)

    while_made = delete_orphan_files(tomorrow)
    Export.objects.update(state=Export.State.FAILED)

    assert (while_made, delete_orphan_files(tomorrow), get_export_files(in_shop)) == (0, 2, [])


def create_large_customer(shop: Shop) -> Customer:
    customer = make_customer(email="ada@example.com", note="=Ada")
    for number in range(2):
        make_address(customer, address1=f"Storgatan {number}")
    for number in range(4):
        order = make_order(shop, email="ada@example.com", note=f"note {number}")
        Refund.objects.create(shop=shop, order=order, note=f"back {number}")
    customer.refresh_from_db()
    return customer


def create_data_export(customer: Customer, user: User) -> tuple[Export, Job]:
    number = person.create_personal_data_export(customer, user, "system", timezone.now())
    return Export.objects.get(pk=number), Job.objects.get(task=exports.EXPORT)


def read_export(export: Export) -> Json:
    export.refresh_from_db()
    assert (export.state, export.parts) == (Export.State.READY, None)
    with default_storage.open(export.path) as file:
        return json.loads(file.read())


# Row 1 is the customer, rows 2 and 3 are addresses, 4 to 7 orders, and 8 to 11 refund notes.
@pytest.mark.parametrize("result", range(2, 12))
def test_a_persons_file_continues_after_its_last_part(
    in_shop: Shop, monkeypatch: pytest.MonkeyPatch, result: int
) -> None:
    monkeypatch.setattr(person, "_CHECKPOINT_EVERY", 1)
    customer = create_large_customer(in_shop)
    data = json.loads(json.dumps(personal_data.collect_data(customer)))
    export, job = create_data_export(customer, factories.make_member(in_shop, "customers"))

    run_until_killed(job, monkeypatch, done_count=result)
    export.refresh_from_db()
    row_count = export.row_count
    notifications = list[object]()

    def noted(value: object) -> str:
        notifications.append(value)
        return json.dumps(value)

    with monkeypatch.context() as patched:
        patched.setattr(person, "_format_json", noted)
        assert queue.run_job(job.key)

    assert read_export(export) == data
    # The last reported part was not stored. Parts stored before it are not written a second time.
    assert row_count == (result - 1 if result > 2 else 0)
    rows = [data["customer"], *(row for name in list(data)[1:] for row in data[name])]
    assert [value for value in notifications if isinstance(value, dict)] == rows[row_count:]
    assert export.row_count == 11
    assert get_export_files(in_shop, ".part") == []


@pytest.fixture
def killed(transactional_db: None, in_shop: Shop, tmp_path: Path) -> Iterator[Shop]:
    """Store files where the workers that are killed store theirs."""
    with override_settings(STORAGES={**settings.STORAGES, **get_storage_settings("", tmp_path / "media")}):
        yield in_shop


@pytest.mark.slow
def test_a_killed_worker_only_delays_a_persons_file(killed: Shop, tmp_path: Path) -> None:
    customer = create_large_customer(killed)
    data = json.loads(json.dumps(personal_data.collect_data(customer)))
    export, job = create_data_export(customer, factories.make_member(killed, "customers"))

    finish_killed_job(job, tmp_path)

    assert read_export(export) == data


@pytest.mark.slow
def test_workers_that_are_killed_cost_nothing_but_time(killed: Shop, tmp_path: Path) -> None:
    emails = [f"p{number}@example.com" for number in range(9)]
    text = to_json_lines(*({"customer": {"email": email, "note": "n"}} for email in emails))
    import_job = imports.save_upload(io.BytesIO(text.encode()), "in.jsonl", actor="system", at=timezone.now())
    imports.enqueue_validation(import_job, actor="system")
    finish_killed_job(Job.objects.get(task=imports.VALIDATE_TASK), tmp_path)
    imports.start_import(Import.objects.get(), actor="system", at=timezone.now())
    finish_killed_job(Job.objects.get(task=imports.RUN_TASK), tmp_path)
    assert (Import.objects.get().state, Customer.objects.count()) == (Import.State.DONE, 9)
    assert Event.objects.filter(topic="customers/create").count() == 9
    assert Counter(ImportedRow.objects.filter(dry=False).values_list("fate", flat=True)) == {"new": 9}
    export, job = create_export_job(factories.make_member(killed, "export_customers"), "jsonl")

    finish_killed_job(job, tmp_path)

    export.refresh_from_db()
    with default_storage.open(export.path) as output:
        assert [json.loads(line)["customer"]["email"] for line in output.read().splitlines()] == emails


def finish_killed_job(job: Job, folder: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKS, str(job.key)],
        cwd=settings.BASE_DIR,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "backoffice.settings",
            "DATABASE_URL": get_database_url(),
            "BACKOFFICE_DATA_DIR": str(folder),
            "BACKOFFICE_SECRET_KEY": settings.SECRET_KEY,
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    try:
        reached = worker.stdout.readline()
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait(30)
        worker.stdout.close()
    assert reached.strip() in {"3", "4", "6"}
    past = timezone.now() - timedelta(seconds=1)
    Job.objects.filter(pk=job.pk).update(lease_until=past, due_at=past)
    Import.objects.update(claimed_until=past)
    wait_until(lambda: queue.run_job(job.key), bool, seconds=30)
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.DONE, "")
