"""Tests of imports in the panel: columns, previews, samples, errors and progress."""

import csv
import io
import re
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from apps.bulk_edits.domain import edits
from apps.bulk_edits.models import BulkEdit
from apps.catalog.models import Product
from apps.core.jobs import metrics
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop, shop_scope
from apps.customers.domain import erasure, merge
from apps.customers.models import Customer
from apps.imports_exports.domain import exports, imports
from apps.imports_exports.models import Export, Import
from apps.orders.models import Order
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith, read_stream
from tests.support.panel.pages import run_latest_job, upload_file

pytestmark = pytest.mark.usefixtures("media_root")


def check_upload(panel: Panel, content: bytes, name: str = "in.csv") -> Import:
    upload_file(panel, content, name)
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    with shop_scope(panel.shop):
        return Import.objects.latest("pk")


@pytest.mark.parametrize(
    ("rows", "message"), [(b"", "The file has no rows."), (b"ada\n", "There are no rows to import.")]
)
def test_files_without_rows_offer_no_import(admin_client_with: PanelWith, rows: bytes, message: str) -> None:
    panel = admin_client_with("customers")
    row = check_upload(panel, b"email\n" + rows)

    page = panel.get("imports_exports_import_change", row.pk).content.decode()

    assert message in page
    assert panel.url("imports_exports_import_confirm", row.pk) not in page


@contextmanager
def limit_file_size() -> Iterator[None]:
    """Limit the size of files to 4 KiB, as if the disk were full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch, media_root: Path) -> None:
    """Simulate a full disk for stored files, but not for the database."""
    once = default_storage.save

    def save(*args: Any, **options: Any) -> str:
        with limit_file_size():
            return once(*args, **options)

    monkeypatch.setattr(default_storage, "save", save)


def test_uploads_to_a_full_disk_are_refused(admin_client_with: PanelWith, media_root: Path, full_disk: None) -> None:
    panel = admin_client_with("customers")

    response = upload_file(panel, b"email\n" + b"x@example.com\n" * 9_000, "in.csv")

    assert response.status_code == 200
    assert "be stored right now" in response.content.decode()
    assert [path for path in media_root.glob("[ei]*ports/**/*") if path.is_file()] == []
    with shop_scope(panel.shop):
        assert not Import.objects.exists()


def test_an_export_fails_clearly_on_a_full_disk_and_succeeds_later(
    admin_client_with: PanelWith,
    shop: Shop,
    media_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    panel = admin_client_with("export_orders")
    for _ in range(12):
        make_order(shop)
    with shop_scope(shop):
        export = exports.create_export(
            kind="orders", format="jsonl", filters={}, user=panel.user, actor="system", at=timezone.now()
        )
        job = Job.objects.get(task=exports.EXPORT)
        Job.objects.update(attempts=jobs.MAX_ATTEMPTS - 1)
    request.getfixturevalue("full_disk")

    jobs.run_job(job.key)
    job.refresh_from_db()
    failed = job.state, job.error
    page = panel.get("imports_exports_export_change", export.pk).content.decode()
    remaining_files = [path for path in media_root.glob("[ei]*ports/**/*") if path.is_file()]
    monkeypatch.undo()
    with shop_scope(shop):
        jobs.retry_job(job)
    jobs.run_job(job.key)

    assert failed == ("failed", "can't be stored right now. Try again later")
    assert "The export failed" in page
    assert remaining_files == []
    with shop_scope(shop):
        export.refresh_from_db()
    assert (export.state, export.row_count) == ("ready", 12)


def test_the_preview_shows_old_and_new_values(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("customers", "edit_orders")
    first = check_upload(panel, b"email,first_name,tax_exempt\nada@example.com,Ada,no\n")
    with shop_scope(shop):
        imports.start_import(first, actor="system", at=timezone.now())
    run_latest_job(shop, imports.RUN_TASK)

    import_job = check_upload(
        panel, b"email,first_name,tax_exempt\nada@example.com,<b>Eve</b>,yes\nbo@example.com,Bo,\n"
    )
    page = panel.get("imports_exports_import_change", import_job.pk).content.decode()

    with shop_scope(shop):
        existing, new = import_job.fates.order_by("line")
    assert sorted(existing.changes) == [
        ["first_name", "Ada", "<b>Eve</b>"],
        ["tax_exempt", {"code": "imports.no"}, {"code": "imports.yes"}],
    ]
    assert ["first_name", "", "Bo"] in new.changes
    text = re.sub(r"\s+", " ", page)
    assert "<del>Ada</del> → <ins>&lt;b&gt;Eve&lt;/b&gt;</ins>" in text
    assert "<ins>Bo</ins>" in text
    with shop_scope(shop):
        imports.start_import(import_job, actor="system", at=timezone.now())
    run_latest_job(shop, imports.RUN_TASK)
    with shop_scope(shop):
        result, created_row = import_job.fates.order_by("line")
        customer = Customer.objects.get(email="bo@example.com")
    # The first results match the preview and link to the customers.
    assert sorted(result.changes) == [
        ["first_name", "Ada", "<b>Eve</b>"],
        ["tax_exempt", {"code": "imports.no"}, {"code": "imports.yes"}],
    ]
    assert ["first_name", "", "Bo"] in created_row.changes
    after = re.sub(r"\s+", " ", panel.get("imports_exports_import_change", import_job.pk).content.decode())
    assert "<del>Ada</del> → <ins>&lt;b&gt;Eve&lt;/b&gt;</ins>" in after
    assert f'<a href="{panel.url("customers_customer_change", customer.pk)}">Bo</a>' in after
    report = panel.get("imports_exports_import_report", import_job.pk)
    assert [row["label"] for row in csv.DictReader(io.StringIO(b"".join(report).decode("utf-8-sig")))] == [
        "<b>Eve</b>",
        "Bo",
    ]


def test_the_page_says_what_becomes_of_how_many_rows(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("customers", "edit_orders")
    with shop_scope(shop):
        make_customer(first_name="Ada", email="ada@example.com")
        make_customer(first_name="Cy", email="cy@example.com")
    import_job = check_upload(
        panel, b"email,first_name\nada@example.com,Eve\nbo@example.com,Bo\ncy@example.com,Cy\nnobody,No\n"
    )

    text = re.sub(r"\s+", " ", panel.get("imports_exports_import_change", import_job.pk).content.decode())

    reported_text = "1 new, 1 changed, 1 skipped, 1 with errors."
    assert f"4 rows: {reported_text}" in text
    assert "> Import 2 rows </button>" in text


def test_an_unsupported_address_is_reported(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("customers", "edit_orders")
    with shop_scope(shop):
        make_customer(first_name="Ada", email="ada@example.com")
        make_customer(first_name="Cy", email="cy@example.com")
    import_job = check_upload(
        panel, b"email,first_name,city\nada@example.com,Eve,Bonn\nbo@example.com,Bo,Bonn\ncy@example.com,Cy,Bonn\n"
    )

    with shop_scope(shop):
        changed, new, skipped = import_job.fates.order_by("line").values_list("fate", "reason")
    assert changed == ("changed", "The address is ignored: addresses are only imported for new customers.")
    assert new == ("new", "")
    assert skipped[0] == "skipped"
    assert skipped[1].startswith("Already exists and is unchanged. The address is ignored")


def test_columns_are_mapped_with_their_first_values_in_sight(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("customers", "edit_orders")
    import_job = check_upload(
        panel, b"email,first_name,note\na@example.com,Ada,\nb@example.com,Ada,\nc@example.com,Cy,\n"
    )

    text = re.sub(r"\s+", " ", panel.get("imports_exports_import_columns", import_job.pk).content.decode())

    assert "<q>a@example.com</q>, <q>b@example.com</q>, <q>c@example.com</q> </p>" in text
    assert "<q>Ada</q>, <q>Cy</q> </p>" in text
    assert "Blank in the first rows" in text


def test_unknown_columns_are_shown_and_need_a_yes(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("customers")
    import_job = check_upload(panel, b"Email,Shoe size,<i>\nada@example.com,38,x\n")

    page = panel.get("imports_exports_import_change", import_job.pk)
    panel.post("imports_exports_import_confirm", import_job.pk, form_key=page.context["form_key"])
    with shop_scope(shop):
        import_job.refresh_from_db()
        without = import_job.state
    second_response = panel.get("imports_exports_import_change", import_job.pk)
    panel.post(
        "imports_exports_import_confirm",
        import_job.pk,
        form_key=second_response.context["form_key"],
        without_unknown="on",
    )
    run_latest_job(shop, imports.RUN_TASK)

    text = page.content.decode()
    assert "<code>Shoe size</code>" in text
    assert "<code>&lt;i&gt;</code>" in text
    assert 'name="without_unknown"' in text
    assert without == "checked"
    assert "Confirm that these columns will be ignored" in second_response.content.decode()
    with shop_scope(shop):
        assert Customer.objects.count() == 1


def test_unknown_columns_are_named_and_skipped_without_a_question(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("products", "customers")
    import_job = check_upload(panel, b"Handle,Title,product_category,Option1 Linked To\nhat,Hat,Headwear,\n")
    of_customers = check_upload(panel, b"email,Product Category\nada@example.com,x\n")

    page = panel.get("imports_exports_import_change", import_job.pk)
    panel.post("imports_exports_import_confirm", import_job.pk, form_key=page.context["form_key"])
    run_latest_job(shop, imports.RUN_TASK)

    text = " ".join(page.content.decode().split())
    assert "2 columns are not supported and will be ignored:" in text
    assert "<code>product_category</code>, <code>Option1 Linked To</code>" in text
    assert 'name="without_unknown"' not in text
    with shop_scope(shop):
        assert Product.objects.get().title == "Hat"
    assert of_customers.unknown == ["Product Category"]


@pytest.mark.parametrize("kind", ["customers", "orders", "products"])
def test_the_samples_of_the_upload_page_are_imported(admin_client_with: PanelWith, shop: Shop, kind: str) -> None:
    panel = admin_client_with("customers", "edit_orders", "products")
    page = panel.get("imports_exports_import_upload").content.decode()
    sample = panel.get("imports_exports_import_sample", kind=kind)

    import_job = check_upload(panel, sample.content, "sample.csv")

    assert f"imports_exports/import/sample/?kind={kind}" in page
    header = next(csv.reader(io.StringIO(sample.content.decode("utf-8-sig"))))
    assert all(f"<code>{name}</code>" in page for name in header)
    assert sample["Content-Disposition"] == f'attachment; filename="{kind}-sample.csv"'
    with shop_scope(shop):
        assert (import_job.unknown, import_job.counts) == ([], {"new": 2})
        imports.start_import(import_job, actor="system", at=timezone.now())
    run_latest_job(shop, imports.RUN_TASK)
    with shop_scope(shop):
        assert {"customers": Customer, "orders": Order, "products": Product}[kind].objects.count() == 2
    assert panel.get("imports_exports_import_sample", kind="events").status_code == 404


def test_staff_map_unknown_columns(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("customers", "products")
    import_job = check_upload(panel, b"Kennung;Bezeichnung;Preis\nmug;Tasse;9.50\n")
    waiting = panel.get("imports_exports_import_change", import_job.pk).content.decode()
    with shop_scope(shop), pytest.raises(imports.ImportNotValidated):
        imports.start_import(import_job, actor="system", at=timezone.now())
    page = panel.get("imports_exports_import_columns", import_job.pk, kind="products")

    def say(*meanings: str) -> Response:
        key = panel.get("imports_exports_import_columns", import_job.pk, kind="products").context["form_key"]
        selected = {f"column-{number}": name for number, name in enumerate(meanings)}
        address = f"{panel.url('imports_exports_import_columns', import_job.pk)}?kind=products"
        return panel.http.post(address, {"form_key": key, **selected})

    refused = say("", "Title", "Title").content.decode()
    say("Handle", "Title", "Variant Price")
    run_latest_job(shop, imports.VALIDATE_TASK)
    with shop_scope(shop):
        import_job.refresh_from_db()
        imports.start_import(import_job, actor="system", at=timezone.now())
    run_latest_job(shop, imports.RUN_TASK)

    assert "contains no known column" in waiting
    assert "Map columns" in waiting
    assert page.content.decode().count("<select") >= 3
    assert "Only one column can be mapped to Title" in refused
    assert import_job.counts == {"new": 1}
    with shop_scope(shop):
        assert list(Product.objects.values_list("handle", "title", "lowest_price")) == [
            ("mug", "Tasse", Decimal("9.5"))
        ]


def test_files_of_others_are_not_found(admin_client_with: PanelWith, shop: Shop, other_shop: Shop) -> None:
    panel, colleague = admin_client_with("export_orders", "customers"), admin_client_with("export_orders", "customers")
    stranger = admin_client_with("export_orders", "customers", shop=other_shop)
    import_job = check_upload(panel, b"email\nada@example.com\n")
    with shop_scope(shop):
        export = exports.create_export(
            kind="orders", format="csv", filters={}, user=panel.user, actor="system", at=timezone.now()
        )
    run_latest_job(shop, exports.EXPORT)

    def answers(who: Panel) -> list[int]:
        return [
            who.get("imports_exports_export_change", export.pk).status_code,
            who.get("imports_exports_export_file", export.pk, export.key).status_code,
            who.get("imports_exports_export_history", export.pk).status_code,
        ]

    assert answers(panel) == [200] * 3
    assert answers(colleague) == [404] * 3
    assert answers(stranger) == [404] * 3
    for name in ("change", "report", "history"):
        assert stranger.get(f"imports_exports_import_{name}", import_job.pk).status_code == 404
    with shop_scope(shop):
        export.refresh_from_db()
        keys = [*Export.objects.values_list("key", flat=True), *Import.objects.values_list("key", flat=True)]
    # Each key has 43 characters with 256 random bits. The file name has another 64 random bits.
    assert all(re.fullmatch(r"[\w-]{43}", key) for key in keys)
    assert re.fullmatch(rf"exports/{shop.pk}/{re.escape(export.key)}-[0-9a-f]{{16}}\.csv", export.path)


def test_downloads_are_files_that_nothing_keeps_or_runs(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("export_orders", "customers")
    import_job = check_upload(panel, b"email\nada@example.com\n", "a\u202e;'..csv")
    with shop_scope(shop):
        export = exports.create_export(
            kind="orders", format="csv", filters={}, user=panel.user, actor="system", at=timezone.now()
        )
    run_latest_job(shop, exports.EXPORT)

    for response in (
        panel.get("imports_exports_export_file", export.pk, export.key),
        panel.get("imports_exports_import_report", import_job.pk),
        panel.get("imports_exports_import_sample"),
    ):
        assert response["Content-Type"].startswith("text/csv")
        assert re.fullmatch(r'attachment; filename="[\w-]+\.csv"', response["Content-Disposition"])
        assert response["X-Content-Type-Options"] == "nosniff"
        assert "no-store" in response["Cache-Control"]
        assert "private" in response["Cache-Control"]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"email,first_name,phone\nno-mail,Bob,\n,Eve,many\n", ["no-mail", "many"]),
        (b"order,line_title,line_quantity,line_price\n#7,Mug,0,5\n#8,Mug,many,5\n", ["#7", "#8"]),
        (b"Handle,Title,Variant Price\nmug,Red mug,-1\nhat,Felt hat,cheap\n", ["Red mug", "Felt hat"]),
    ],
)
def test_a_row_that_fails_says_its_name(admin_client_with: PanelWith, content: bytes, names: list[str]) -> None:
    panel = admin_client_with("customers", "edit_orders", "products")

    page = panel.get("imports_exports_import_change", check_upload(panel, content).pk)

    assert [row.label for row in page.context["failures"]] == names
    failed = page.content.decode().split('id="failed"')[1].split("</table>")[0]
    assert all(f">{name}<" in failed for name in names)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b'{"customer": {"email": "a\\u200bda@example.com", "orders_count": {}, "phone": []}}', "ada@example.com"),
        (b'{"product": {"title": ["no title"], "handle": "mug"}}', "mug"),
        (b'{"order": {"name": 7, "email": "ada@example.com", "line_items": 3}}', "ada@example.com"),
        (b'{"order": {"line_items": 3}}', ""),
        (b'{"nothing": {"title": "Mug"}}', ""),
    ],
)
def test_a_line_of_json_that_fails_says_its_name(admin_client_with: PanelWith, body: bytes, name: str) -> None:
    panel = admin_client_with("customers", "edit_orders", "products")

    page = panel.get("imports_exports_import_change", check_upload(panel, body, "in.jsonl").pk)

    assert [row.label for row in page.context["failures"]] == [name]


def test_rows_of_products_lead_to_the_product(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("products")
    with shop_scope(shop):
        make_product("Mug", handle="old")
        mug = make_product("Mug", handle="mug")
    import_job = check_upload(panel, b"Handle,Title,Variant Price\nmug,Great mug,5\nhat,Felt hat,9\n")
    preview = {
        row.label: row.link for row in panel.get("imports_exports_import_change", import_job.pk).context["preview"]
    }
    with shop_scope(shop):
        imports.start_import(import_job, actor="system", at=timezone.now())
    run_latest_job(shop, imports.RUN_TASK)
    with shop_scope(shop):
        hat = Product.objects.get(handle="hat")

    report = panel.get("imports_exports_import_change", import_job.pk)

    assert preview == {"Mug": panel.url("catalog_product_change", mug.pk), "Felt hat": ""}
    links = {row.label: row.link for row in report.context["preview"]}
    assert links == {
        "Great mug": panel.url("catalog_product_change", mug.pk),
        "Felt hat": panel.url("catalog_product_change", hat.pk),
    }
    assert f'<a href="{links["Felt hat"]}">Felt hat</a>' in report.content.decode()
    assert "Felt hat" in read_stream(panel.get("imports_exports_import_report", import_job.pk)).decode()


def test_ignored_columns_are_listed_before_customer_imports(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("customers", "products")
    never = "These columns are not imported, because they are calculated from orders:"
    import_job = check_upload(panel, b"email,orders_count,total_spent\nada@example.com,5,90\n")
    of_products = check_upload(panel, b"Handle,Title\nmug,Mug\n")
    pages = {
        "upload": panel.get("imports_exports_import_upload"),
        "columns": panel.get("imports_exports_import_columns", import_job.pk),
        "preview": panel.get("imports_exports_import_change", import_job.pk),
        "products": panel.get("imports_exports_import_change", of_products.pk),
    }

    counts = {name: page.content.decode().count(never) for name, page in pages.items()}

    assert counts == {"upload": 1, "columns": 1, "preview": 1, "products": 0}
    assert import_job.unknown == []
    text = pages["upload"].content.decode()
    assert all(text.count(f"<code>{name}</code>") == 1 for name in ("orders_count", "total_spent"))


WAITS = "Waiting for a worker since"
LONG = metrics.EXPECTED_START + timedelta(seconds=5)
Page = tuple[Any, ...]


def _job(task: str, **arguments: int) -> Job:
    job: Job = Job.objects.create(shop=get_current_shop(), task=task, arguments=arguments)
    return job


def _import(panel: Panel) -> Page:
    saved_import = Import.objects.create(
        shop=panel.shop, name="in.csv", format="csv", digest="0" * 64, actor="system", state="importing"
    )
    _job(imports.RUN_TASK, import_id=saved_import.pk)
    return ("imports_exports_import_change", saved_import.pk)


def _export(panel: Panel) -> Page:
    export = Export.objects.create(shop=panel.shop, kind="orders", format="csv", user=panel.user)
    _job(exports.EXPORT, export_id=export.pk)
    return ("imports_exports_export_change", export.pk)


def _bulk(panel: Panel) -> Page:
    edit = BulkEdit.objects.create(
        shop=panel.shop, kind="products", ids=[1], total=1, actor="system", state=BulkEdit.State.RUNNING
    )
    _job(edits.RUN_TASK, edit_id=edit.pk)
    return ("bulk_edits_bulkedit_change", edit.pk)


def _merging(panel: Panel) -> Page:
    keep, other = make_customer(), make_customer()
    _job(merge.MERGE_TASK, keep_id=keep.pk, other_id=other.pk)
    return ("customers_customer_merge", keep.pk)


def _erasing(panel: Panel) -> Page:
    customer = make_customer()
    Customer.objects.filter(pk=customer.pk).update(erasing_at=timezone.now())
    _job(erasure.ERASE_TASK, customer_id=customer.pk)
    return ("customers_customer_data", customer.pk)


def _any_job(panel: Panel) -> Page:
    return ("jobs_job_change", _job(edits.RUN_TASK, edit_id=0).pk)


PAGES = (_import, _export, _bulk, _merging, _erasing, _any_job)


@pytest.fixture(params=PAGES, ids=lambda make: make.__name__[1:])
def load_progress_page(request: pytest.FixtureRequest, owner_client: Panel, shop: Shop) -> Callable[[], str]:
    """Return a function that loads a job's progress page."""
    with shop_scope(shop):
        address = request.param(owner_client)

    def get_page() -> str:
        return owner_client.get(*address).content.decode()

    return get_page


def _moved(shop: Shop, **values: Any) -> None:
    with shop_scope(shop):
        assert Job.objects.filter(state__in=("waiting", "running")).update(**values)


def test_the_page_goes_on_by_itself(load_progress_page: Callable[[], str]) -> None:
    page_text = load_progress_page()

    assert "data-progress" in page_text
    assert "panel/progress" in page_text
    assert WAITS not in page_text


def test_the_page_says_that_no_worker_runs_the_job(load_progress_page: Callable[[], str], shop: Shop) -> None:
    now = timezone.now()
    _moved(shop, due_at=now - LONG)
    assert WAITS in load_progress_page()
    # A worker runs the job.
    _moved(shop, state="running", lease_until=now + timedelta(minutes=1))
    assert WAITS not in load_progress_page()
    # The worker was killed.
    _moved(shop, lease_until=now - LONG)
    assert WAITS in load_progress_page()
    # The job is waiting for a later retry.
    _moved(shop, state="waiting", due_at=now + timedelta(minutes=5))
    assert WAITS not in load_progress_page()


def test_the_page_of_a_finished_job_does_not_reload(owner_client: Panel, shop: Shop) -> None:
    with shop_scope(shop):
        job = _job(edits.RUN_TASK, edit_id=0)
        Job.objects.filter(pk=job.pk).update(state="done", due_at=timezone.now() - LONG)

    html = owner_client.get("jobs_job_change", job.pk).content.decode()

    assert "data-progress" not in html
    assert WAITS not in html
