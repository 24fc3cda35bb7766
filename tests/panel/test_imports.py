import csv
import io
import re
import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db.models.functions import Now
from django.utils import timezone

from apps.catalog.models import Product
from apps.content import models as content
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.discounts.models import PriceRule
from apps.gift_cards.models import GiftCard
from apps.imports_exports.domain import exports, imports
from apps.imports_exports.models import Export, Import
from apps.orders.models import Order
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith, read_stream
from tests.support.panel.pages import run_latest_job, upload_file

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

CHANGE, COLUMNS = "imports_exports_import_change", "imports_exports_import_columns"
CONFIRM, REPORT = "imports_exports_import_confirm", "imports_exports_import_report"
REDIRECTS = "imports_exports_import_redirects"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with(
        "customers", "edit_orders", "products", "export_orders", "pages", "links", "gift_cards", "marketing"
    )


def check_upload(panel: Panel, content: bytes, name: str = "in.csv") -> Import:
    upload_file(panel, content, name)
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    return Import.objects.latest("pk")


def run_import(import_job: Import) -> None:
    imports.start_import(import_job, actor="system", at=timezone.now())
    run_latest_job(import_job.shop, imports.RUN_TASK)


def create_export(panel: Panel, format: str = "csv") -> Export:
    values: Attrs = {"kind": "orders", "filters": {}, "user": panel.user, "actor": "system"}
    return exports.create_export(format=format, at=timezone.now(), **values)


def read_page(panel: Panel, name: str, import_job: Import) -> str:
    return " ".join(panel.get(name, import_job.pk).content.decode().split())


@pytest.mark.parametrize(
    ("rows", "message"), [(b"", "The file has no rows."), (b"ada\n", "There are no rows to import.")]
)
def test_files_without_rows_offer_no_import(panel: Panel, rows: bytes, message: str) -> None:
    row = check_upload(panel, b"email\n" + rows)

    page = panel.get(CHANGE, row.pk).content.decode()

    assert message in page
    assert panel.url(CONFIRM, row.pk) not in page


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


def test_notes_and_redirects_are_shown_before_and_after_the_import(panel: Panel) -> None:
    plain = "".join(f"p-{number},P,\n" for number in range(60))
    rows = f"Handle,Title,Gift Card\n{plain}blue mug,Mug,\nSkin™ & Co,Skin,\ncard,Card,WAHR\n"

    import_job = check_upload(panel, rows.encode())
    preview, preview_redirects = read_page(panel, CHANGE, import_job), read_stream(panel.get(REDIRECTS, import_job.pk))
    run_import(import_job)
    page, report = read_page(panel, CHANGE, import_job), read_stream(panel.get(REPORT, import_job.pk)).decode()

    for html in (preview, page):
        assert "The handle blue mug was changed to blue-mug." in html
        assert "Gift cards are not supported: this gift card was imported as an ordinary product." in html
        assert "Download redirects" in html
    redirects = b"\xef\xbb\xbfRedirect from,Redirect to\r\n"
    redirects += (
        b"/products/blue%20mug,/products/blue-mug\r\n/products/Skin%E2%84%A2%20%26%20Co,/products/skintm-co\r\n"
    )
    assert preview_redirects == read_stream(panel.get(REDIRECTS, import_job.pk)) == redirects
    assert "62,new,The handle blue mug was changed to blue-mug" in report
    assert "64,new,Gift cards are not supported" in report
    assert "Download redirects" not in read_page(panel, CHANGE, check_upload(panel, b"Handle,Title\nzig,Z\n"))


def test_skipped_rows_with_notes_are_shown_and_have_redirects(panel: Panel) -> None:
    plain = "".join(f"p-{number},P\n" for number in range(60))
    rows = f"Handle,Title\n{plain}blue mug,Mug\n".encode()
    run_import(check_upload(panel, rows))

    import_job = check_upload(panel, rows)
    preview = read_page(panel, CHANGE, import_job)
    run_import(import_job)
    page = read_page(panel, CHANGE, import_job)

    assert import_job.counts == {"skipped": 61}
    for html in (preview, page):
        assert "The handle blue mug was changed to blue-mug." in html
        assert "Download redirects" in html


def test_a_report_on_a_full_disk_is_refused_and_leaves_no_file(
    panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_job = check_upload(panel, b"email\n" + b"none\n" * 400)
    folder = tmp_path / "temporary"
    folder.mkdir()
    opened: list[Any] = []
    create_file = tempfile.TemporaryFile

    def create_in_folder() -> Any:
        opened.append(create_file(dir=folder))
        return opened[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", create_in_folder)
    panel.http.raise_request_exception = False
    with limit_file_size():
        response = panel.get(REPORT, import_job.pk)
    refused = response.status_code, opened[0].closed, list(folder.iterdir())
    report = read_stream(panel.get(REPORT, import_job.pk))

    assert refused == (503, True, [])
    assert report.count(b"failed") == 400
    assert list(folder.iterdir()) == []


def test_refused_rows_wait_for_space_on_a_full_disk(
    panel: Panel, media_root: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    import_job = check_upload(panel, b"email\nada@example.com\n" + b"none\n" * 400)
    imports.start_import(import_job, actor="system", at=timezone.now())
    job = Job.objects.get(task=imports.RUN_TASK)
    request.getfixturevalue("full_disk")

    jobs.run_job(job.key)
    import_job.refresh_from_db()
    during = import_job.state, import_job.refused_file, len(list(media_root.glob("imports/*/*")))
    monkeypatch.undo()
    Job.objects.filter(pk=job.pk).update(due_at=Now())
    jobs.run_job(job.key)
    import_job.refresh_from_db()

    assert during == ("importing", "", 1)
    assert import_job.state == "done"
    with default_storage.open(import_job.refused_file) as file:
        assert file.read().count(b"none") == 400
    assert Customer.objects.count() == 1


def test_uploads_to_a_full_disk_are_refused(panel: Panel, media_root: Path, full_disk: None) -> None:
    response = upload_file(panel, b"email\n" + b"x@example.com\n" * 9_000, "in.csv")

    assert response.status_code == 200
    assert "be stored right now" in response.content.decode()
    assert [path for path in media_root.glob("[ei]*ports/**/*") if path.is_file()] == []
    assert not Import.objects.exists()


def test_an_export_fails_clearly_on_a_full_disk_and_succeeds_later(
    panel: Panel, shop: Shop, media_root: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    for _ in range(12):
        make_order(shop)
    export = create_export(panel, "jsonl")
    job = Job.objects.get(task=exports.EXPORT)
    Job.objects.update(attempts=jobs.MAX_ATTEMPTS - 1)
    request.getfixturevalue("full_disk")

    jobs.run_job(job.key)
    job.refresh_from_db()
    failed = job.state, job.error
    page = panel.get("imports_exports_export_change", export.pk).content.decode()
    remaining_files = [path for path in media_root.glob("[ei]*ports/**/*") if path.is_file()]
    monkeypatch.undo()
    jobs.retry_job(job)
    jobs.run_job(job.key)

    assert failed == ("failed", "can't be stored right now. Try again later")
    assert "The export failed" in page
    assert remaining_files == []
    export.refresh_from_db()
    assert (export.state, export.row_count) == ("ready", 12)


def test_the_preview_shows_old_and_new_values(panel: Panel) -> None:
    run_import(check_upload(panel, b"email,first_name,tax_exempt\nada@example.com,Ada,no\n"))
    import_job = check_upload(
        panel, b"email,first_name,tax_exempt\nada@example.com,<b>Eve</b>,yes\nbo@example.com,Bo,\n"
    )

    def check_changes() -> str:
        existing, new = import_job.fates.order_by("line")
        assert sorted(existing.changes) == [
            ["first_name", "Ada", "<b>Eve</b>"],
            ["tax_exempt", {"code": "imports.no"}, {"code": "imports.yes"}],
        ]
        assert ["first_name", "", "Bo"] in new.changes
        text = read_page(panel, CHANGE, import_job)
        assert "<del>Ada</del> → <ins>&lt;b&gt;Eve&lt;/b&gt;</ins>" in text
        return text

    assert "<ins>Bo</ins>" in check_changes()
    run_import(import_job)
    customer = Customer.objects.get(email="bo@example.com")
    # The first results match the preview and link to the customers.
    assert f'<a href="{panel.url("customers_customer_change", customer.pk)}">Bo</a>' in check_changes()
    report = b"".join(panel.get(REPORT, import_job.pk)).decode("utf-8-sig")
    assert [row["label"] for row in csv.DictReader(io.StringIO(report))] == ["<b>Eve</b>", "Bo"]


def test_the_page_says_what_becomes_of_how_many_rows(panel: Panel) -> None:
    make_customer(first_name="Ada", email="ada@example.com")
    make_customer(first_name="Cy", email="cy@example.com")
    rows = b"ada@example.com,Eve,Bonn\nbo@example.com,Bo,Bonn\ncy@example.com,Cy,Bonn\nnobody,No,\n"
    import_job = check_upload(panel, b"email,first_name,city\n" + rows)

    text = read_page(panel, CHANGE, import_job)

    assert "4 rows: 1 new, 1 changed, 1 skipped, 1 with errors." in text
    assert "> Import 2 rows </button>" in text
    changed, new, skipped, _ = import_job.fates.order_by("line").values_list("fate", "reason")
    assert changed == ("changed", "The address is ignored: addresses are only imported for new customers.")
    assert new == ("new", "")
    assert skipped[0] == "skipped"
    assert skipped[1].startswith("Already exists and is unchanged. The address is ignored")


def test_columns_are_mapped_with_their_first_values_in_sight(panel: Panel) -> None:
    import_job = check_upload(
        panel, b"email,first_name,note\na@example.com,Ada,\nb@example.com,Ada,\nc@example.com,Cy,\n"
    )

    text = read_page(panel, COLUMNS, import_job)

    assert "<q>a@example.com</q>, <q>b@example.com</q>, <q>c@example.com</q> </p>" in text
    assert "<q>Ada</q>, <q>Cy</q> </p>" in text
    assert "Blank in the first rows" in text


def test_unknown_columns_are_shown_and_need_a_yes(panel: Panel, shop: Shop) -> None:
    import_job = check_upload(panel, b"Email,Shoe size,<i>\nada@example.com,38,x\n")

    page = panel.get(CHANGE, import_job.pk)
    panel.post(CONFIRM, import_job.pk, form_key=page.context["form_key"])
    import_job.refresh_from_db()
    assert import_job.state == "checked"
    second = panel.get(CHANGE, import_job.pk)
    panel.post(CONFIRM, import_job.pk, form_key=second.context["form_key"], without_unknown="on")
    run_latest_job(shop, imports.RUN_TASK)

    expected = ("<code>Shoe size</code>", "<code>&lt;i&gt;</code>", 'name="without_unknown"')
    assert [text for text in expected if text not in page.content.decode()] == []
    assert "Confirm that these columns will be ignored" in second.content.decode()
    assert Customer.objects.count() == 1


def test_unknown_columns_are_named_and_skipped_without_a_question(panel: Panel, shop: Shop) -> None:
    import_job = check_upload(panel, b"Handle,Title,product_category,Option1 Linked To\nhat,Hat,Headwear,\n")
    of_customers = check_upload(panel, b"email,Product Category\nada@example.com,x\n")

    page = panel.get(CHANGE, import_job.pk)
    panel.post(CONFIRM, import_job.pk, form_key=page.context["form_key"])
    run_latest_job(shop, imports.RUN_TASK)

    text = " ".join(page.content.decode().split())
    assert "2 columns are not supported and will be ignored:" in text
    assert "<code>product_category</code>, <code>Option1 Linked To</code>" in text
    assert 'name="without_unknown"' not in text
    assert Product.objects.get().title == "Hat"
    assert of_customers.unknown == ["Product Category"]


@pytest.mark.parametrize("kind", ["customers", "discounts", "giftcards", "orders", "pages", "products", "redirects"])
def test_the_samples_of_the_upload_page_are_imported(panel: Panel, kind: str) -> None:
    page = panel.get("imports_exports_import_upload").content.decode()
    sample = panel.get("imports_exports_import_sample", kind=kind)

    import_job = check_upload(panel, sample.content, "sample.csv")

    assert f"imports_exports/import/sample/?kind={kind}" in page
    header = next(csv.reader(io.StringIO(sample.content.decode("utf-8-sig"))))
    assert all(f"<code>{name}</code>" in page for name in header)
    assert sample["Content-Disposition"] == f'attachment; filename="{kind}-sample.csv"'
    assert (import_job.unknown, import_job.counts) == ([], {"new": 2})
    run_import(import_job)
    models: dict[str, Any] = {"customers": Customer, "orders": Order, "products": Product}
    models |= {"pages": content.Page, "redirects": content.Redirect, "giftcards": GiftCard, "discounts": PriceRule}
    assert models[kind].objects.count() == 2
    assert panel.get("imports_exports_import_sample", kind="events").status_code == 404


def test_abbreviations_in_labels_stay_in_upper_case(panel: Panel) -> None:
    page = " ".join(panel.get("imports_exports_import_upload").content.decode().split())

    assert "Sample file for URL redirects" in page
    assert "Sample file for gift cards" in page


def test_staff_map_unknown_columns(panel: Panel, shop: Shop) -> None:
    import_job = check_upload(panel, b"Kennung;Bezeichnung;Preis\nmug;Tasse;9.50\n")
    waiting = panel.get(CHANGE, import_job.pk).content.decode()
    with pytest.raises(imports.ImportNotValidated):
        imports.start_import(import_job, actor="system", at=timezone.now())
    page = panel.get(COLUMNS, import_job.pk, kind="products")

    def say(*meanings: str) -> Response:
        key = panel.get(COLUMNS, import_job.pk, kind="products").context["form_key"]
        selected = {f"column-{number}": name for number, name in enumerate(meanings)}
        return panel.http.post(f"{panel.url(COLUMNS, import_job.pk)}?kind=products", {"form_key": key, **selected})

    refused = say("", "Title", "Title").content.decode()
    say("Handle", "Title", "Variant Price")
    run_latest_job(shop, imports.VALIDATE_TASK)
    import_job.refresh_from_db()
    run_import(import_job)

    assert "contains no known column" in waiting
    assert "What is in the file?" in waiting
    assert "Columns of the file" in waiting
    assert "Map columns" in waiting
    assert page.content.decode().count("<select") >= 3
    assert "Only one column can be mapped to Title" in refused
    assert import_job.counts == {"new": 1}
    assert list(Product.objects.values_list("handle", "title", "lowest_price")) == [("mug", "Tasse", Decimal("9.5"))]


def test_files_of_others_are_not_found(
    panel: Panel, admin_client_with: PanelWith, shop: Shop, other_shop: Shop
) -> None:
    colleague = admin_client_with("export_orders", "customers")
    stranger = admin_client_with("export_orders", "customers", shop=other_shop)
    check_upload(panel, b"email\nada@example.com\n")
    export = create_export(panel)
    run_latest_job(shop, exports.EXPORT)

    def answers(who: Panel) -> list[int]:
        pages = [("change", export.pk), ("file", export.pk, export.key), ("history", export.pk)]
        return [who.get(f"imports_exports_export_{name}", *args).status_code for name, *args in pages]

    assert [answers(who) for who in (panel, colleague, stranger)] == [[200] * 3, [404] * 3, [404] * 3]
    export.refresh_from_db()
    keys = [*Export.objects.values_list("key", flat=True), *Import.objects.values_list("key", flat=True)]
    # Each key has 43 characters with 256 random bits. The file name has another 64 random bits.
    assert all(re.fullmatch(r"[\w-]{43}", key) for key in keys)
    assert re.fullmatch(rf"exports/{shop.pk}/{re.escape(export.key)}-[0-9a-f]{{16}}\.csv", export.path)


def test_downloads_are_files_that_nothing_keeps_or_runs(panel: Panel, shop: Shop) -> None:
    import_job = check_upload(panel, b"email\nada@example.com\n", "a\u202e;'..csv")
    export = create_export(panel)
    run_latest_job(shop, exports.EXPORT)

    for response in (
        panel.get("imports_exports_export_file", export.pk, export.key),
        panel.get(REPORT, import_job.pk),
        panel.get("imports_exports_import_sample"),
    ):
        assert response["Content-Type"].startswith("text/csv")
        assert re.fullmatch(r'attachment; filename="[\w-]+\.csv"', response["Content-Disposition"])
        assert response["X-Content-Type-Options"] == "nosniff"
        assert {"no-store", "private"} <= set(response["Cache-Control"].split(", "))


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"email,first_name,phone\nno-mail,Bob,\n,Eve,many\n", ["no-mail", "many"]),
        (b"order,line_title,line_quantity,line_price\n#7,Mug,0,5\n#8,Mug,many,5\n", ["#7", "#8"]),
        (b"Handle,Title,Variant Price\nmug,Red mug,-1\nhat,Felt hat,cheap\n", ["Red mug", "Felt hat"]),
        (b'{"customer": {"email": "a\\u200bda@example.com", "orders_count": {}, "phone": []}}', ["ada@example.com"]),
        (b'{"product": {"title": ["no title"], "handle": "mug"}}', ["mug"]),
        (b'{"order": {"name": 7, "email": "ada@example.com", "line_items": 3}}', ["ada@example.com"]),
        (b'{"order": {"line_items": 3}}', [""]),
        (b'{"nothing": {"title": "Mug"}}', [""]),
    ],
)
def test_a_row_that_fails_says_its_name(panel: Panel, content: bytes, names: list[str]) -> None:
    file_name = "in.jsonl" if content.startswith(b"{") else "in.csv"

    page = panel.get(CHANGE, check_upload(panel, content, file_name).pk)

    assert [row.label for row in page.context["failures"]] == names
    failed = page.content.decode().split('id="failed"')[1].split("</table>")[0]
    assert all(f">{name}<" in failed for name in names if name)


def test_rows_of_products_lead_to_the_product(panel: Panel) -> None:
    make_product("Mug", handle="old")
    mug = make_product("Mug", handle="mug")
    import_job = check_upload(panel, b"Handle,Title,Variant Price\nmug,Great mug,5\nhat,Felt hat,9\n")
    preview = {row.label: row.link for row in panel.get(CHANGE, import_job.pk).context["preview"]}
    run_import(import_job)
    to_mug, to_hat = (panel.url("catalog_product_change", pk) for pk in (mug.pk, Product.objects.get(handle="hat").pk))

    report = panel.get(CHANGE, import_job.pk)

    assert preview == {"Mug": to_mug, "Felt hat": ""}
    assert {row.label: row.link for row in report.context["preview"]} == {"Great mug": to_mug, "Felt hat": to_hat}
    assert f'<a href="{to_hat}">Felt hat</a>' in report.content.decode()
    assert "Felt hat" in read_stream(panel.get(REPORT, import_job.pk)).decode()


def test_ignored_columns_are_listed_before_customer_imports(panel: Panel) -> None:
    never = "These columns are not imported, because they are calculated from orders:"
    import_job = check_upload(panel, b"email,orders_count,total_spent\nada@example.com,5,90\n")
    of_products = check_upload(panel, b"Handle,Title\nmug,Mug\n")
    pages = {
        "upload": panel.get("imports_exports_import_upload"),
        "columns": panel.get(COLUMNS, import_job.pk),
        "preview": panel.get(CHANGE, import_job.pk),
        "without": panel.get(CHANGE, check_upload(panel, b"email\nada@example.com\n").pk),
        "products": panel.get(CHANGE, of_products.pk),
    }

    counts = {name: page.content.decode().count(never) for name, page in pages.items()}

    assert counts == {"upload": 1, "columns": 1, "preview": 1, "without": 0, "products": 0}
    assert import_job.unknown == []
    text = pages["upload"].content.decode()
    assert all(text.count(f"<code>{name}</code>") == 1 for name in ("orders_count", "total_spent"))
