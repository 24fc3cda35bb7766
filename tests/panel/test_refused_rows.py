"""Tests for the file of refused rows: it has the columns of the imported file, and can be imported when corrected."""

import csv
import io
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management.base import CommandError
from django.utils import timezone

from apps.catalog.models import Product, Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import erasure
from apps.customers.models import Customer
from apps.imports_exports.domain import files, imports
from apps.imports_exports.models import Import
from apps.orders.models import Order
from tests.support.factories.customers import make_customer
from tests.support.files.import_export import get_row_results, import_bytes
from tests.support.files.workbooks import build_workbook, read_workbook
from tests.support.panel.client import Panel, PanelWith, read_stream
from tests.support.panel.pages import run_latest_job, upload_file

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

CHANGE, REFUSED = "imports_exports_import_change", "imports_exports_import_refused"
REASON = "Import error"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    names = ("customers", "edit_orders", "products", "pages", "links", "preferences", "gift_cards", "marketing")
    return admin_client_with(*names)


def import_through_panel(panel: Panel, content: bytes, name: str) -> Import:
    upload_file(panel, content, name)
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    import_job = Import.objects.latest("pk")
    imports.start_import(import_job, actor="system", at=timezone.now())
    run_latest_job(panel.shop, imports.RUN_TASK)
    import_job.refresh_from_db()
    return import_job


def download(panel: Panel, import_job: Import) -> bytes:
    assert panel.url(REFUSED, import_job.pk) in panel.get(CHANGE, import_job.pk).content.decode()
    return read_stream(panel.get(REFUSED, import_job.pk))


def build_csv(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def read_csv(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def read_texts(content: bytes) -> list[list[str]]:
    return [["" if cell is None else str(cell) for cell in row] for row in read_workbook(content)]


Table = tuple[str, Callable[[list[list[str]]], bytes], Callable[[bytes], list[list[str]]]]
TABLES: list[Table] = [("in.csv", build_csv, read_csv), ("in.xlsx", build_workbook, read_texts)]


@pytest.mark.parametrize("table", TABLES, ids=["csv", "xlsx"])
def test_refused_products_are_corrected_and_imported(panel: Panel, table: Table) -> None:
    name, build, read = table
    rows = [
        ["Handle", "Title", "", "Option1 Value", "Variant SKU", "Variant Price", "Anything"],
        ["mug", "Mug", "x", "S", "0012", "1", "=y"],
        ["jug", "Jug", "", "S", "J-S", "2", ""],
        ["mug", "", "", "M", "M-M", "many", "z"],
        ["mug", "", "", "L", "M-L", "3", ""],
    ]
    upload_file(panel, build(rows), name)
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    import_job = Import.objects.get()
    imports.start_import(import_job, without_unknown=True, actor="system", at=timezone.now())
    run_latest_job(panel.shop, imports.RUN_TASK)
    import_job.refresh_from_db()

    refused = read(download(panel, import_job))
    imported_first = list(Product.objects.values_list("handle", flat=True))
    reason = refused[1][0]
    refused[2][6] = "2.50"
    again = import_bytes(panel.shop, build(refused), Path(default_storage.path("")), name, ignore_unknown=True)

    assert imported_first == ["jug"]
    assert refused[0] == [REASON, *rows[0]]
    assert [row[1:6] for row in refused[1:]] == [row[:5] for row in (rows[1], rows[3], rows[4])]
    assert "Variant Price: " in reason
    assert {row[0] for row in refused[1:]} == {reason}
    assert "1 new, 0 changed, 0 skipped, 0 failed" in again
    variants = Variant.objects.filter(product__handle="mug").order_by("position")
    prices = [(sku, float(price)) for sku, price in variants.values_list("inventory_item__sku", "price")]
    assert prices == [("0012", 1.0), ("M-M", 2.5), ("M-L", 3.0)]


def test_refused_customers_are_corrected_twice(panel: Panel, tmp_path: Path) -> None:
    rows = [["email", "tax_exempt"], ["ada@example.com", "no"], ["none", "no"], ["bo@example.com", "maybe"]]
    import_job = import_through_panel(panel, build_csv([*rows, ["cy@example.com", "no", "extra"]]), "in.csv")

    first = read_csv(download(panel, import_job))
    second_import = import_through_panel(
        panel, build_csv([first[0], ["", "eve@example.com", "no"], *first[2:]]), "b.csv"
    )
    second = read_csv(download(panel, second_import))
    report = import_bytes(
        panel.shop, build_csv([second[0], ["x", "bo@example.com", "yes"], second[2][:3]]), tmp_path, "c.csv"
    )

    flag = "tax_exempt: 'maybe' is neither yes nor no. Write true or false"
    assert first == [
        [REASON, "email", "tax_exempt"],
        ["email: is invalid", "none", "no"],
        [flag, "bo@example.com", "maybe"],
        ["has 3 cells, but the file has 2 columns", "cy@example.com", "no", "extra"],
    ]
    assert second[0] == [REASON, "email", "tax_exempt"]
    assert second[1] == [flag, "bo@example.com", "maybe"]
    assert second[2] == ["has 4 cells, but the file has 3 columns", "cy@example.com", "no", "extra"]
    assert "2 new, 0 changed, 0 skipped, 0 failed" in report
    assert Customer.objects.count() == 4


def test_refused_json_lines_are_corrected_and_imported(panel: Panel, tmp_path: Path) -> None:
    line = {"title": "Mug", "price": "1.50"}
    good = json.dumps({"order": {"name": "#1", "line_items": [line]}})
    bad = '{"order": {"name": "#2", "note": "\\"}", "line_items": [{"title": "Jug", "price": "cheap"}]} }'
    import_job = import_through_panel(panel, f"{good}\n{bad}\nno json\n[]\n".encode(), "in.jsonl")

    lines = download(panel, import_job).decode().splitlines()
    second_import = import_through_panel(panel, "\n".join(lines).encode(), "in.jsonl")
    again = download(panel, second_import).decode().splitlines()
    corrected = lines[0].replace("cheap", "2.00")
    report = import_bytes(panel.shop, corrected.encode(), tmp_path, "in.jsonl")

    assert json.loads(lines[0])["order"] == json.loads(bad)["order"]
    assert "price" in json.loads(lines[0])["import_error"]
    assert json.loads(lines[1])["import_error"].startswith("is not valid JSON")
    assert json.loads(lines[3])["import_error"].startswith("the line must be")
    assert (lines[2], lines[4]) == ("no json", "[]")
    assert again == lines
    assert report == "Done: 1 new, 0 changed, 0 skipped, 0 failed.\n"
    assert set(Order.objects.values_list("name", flat=True)) == {"#1", "#2"}


def test_complete_imports_have_no_file_of_refused_rows(panel: Panel) -> None:
    import_job = import_through_panel(panel, b"email\nada@example.com\n", "in.csv")

    assert import_job.refused_file == ""
    assert "Download refused rows" not in panel.get(CHANGE, import_job.pk).content.decode()
    assert panel.get(REFUSED, import_job.pk).status_code == 404


def test_refused_rows_need_the_permission_to_import_them(
    panel: Panel, admin_client_with: PanelWith, other_shop: Shop
) -> None:
    import_job = import_through_panel(panel, b"email\nnone\n", "in.csv")
    merchandiser = admin_client_with("products")
    with shop_scope(other_shop):
        stranger = admin_client_with("customers", shop=other_shop)

    assert merchandiser.get(REFUSED, import_job.pk).status_code == 403
    assert "Download refused rows" not in merchandiser.get(CHANGE, import_job.pk).content.decode()
    assert stranger.get(REFUSED, import_job.pk).status_code == 404


def test_files_of_refused_rows_are_deleted_after_a_week(panel: Panel) -> None:
    import_job = import_through_panel(panel, b"email\nnone\n", "in.csv")
    path, now = import_job.refused_file, timezone.now()

    files.delete_orphan_files(now + timedelta(days=6))
    kept = imports.delete_refused_files(now + timedelta(days=6)), default_storage.exists(path)
    deleted = imports.delete_refused_files(now + timedelta(days=8)), default_storage.exists(path)

    assert (kept, deleted) == ((0, True), (1, False))
    assert panel.get(REFUSED, import_job.pk).status_code == 404


def test_erasing_a_customer_deletes_the_files_of_refused_rows(panel: Panel) -> None:
    import_job = import_through_panel(panel, b"email\nnone\n", "in.csv")
    customer = make_customer(email="ada@example.com")

    erasure.erase_customer(customer, actor="system", at=timezone.now())
    run_latest_job(panel.shop, "imports_exports.delete_files")

    assert not default_storage.exists(import_job.refused_file)
    import_job.refresh_from_db()
    assert import_job.refused_file == ""


def test_the_command_writes_the_refused_rows_to_a_file(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "refused.csv"

    report = import_bytes(shop, b"email\nnone\n", tmp_path, "in.csv", refused=target)

    assert f"Refused rows: {target}\n" in report
    assert read_csv(target.read_bytes()) == [[REASON, "email"], ["email: is invalid", "none"]]


def test_a_dry_run_writes_no_refused_rows(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--refused needs an import"):
        import_bytes(shop, b"email\nnone\n", tmp_path, "in.csv", refused=tmp_path / "refused.csv", dry_run=True)


def test_shortened_numbers_in_the_grouping_column_refuse_all_rows(shop: Shop, tmp_path: Path) -> None:
    rows = "1.2E+11,Mug,1\n1.2E+11,Jug,2\n#3,Pot,3\n1.2E+11,Cup,4\n"

    import_bytes(shop, f"order,line_title,line_price\n{rows}".encode(), tmp_path, "in.csv")

    reason = (
        "order: a spreadsheet shortened the number 1.2E+11, which may stand for several entries. Enter all its digits"
    )
    assert get_row_results(shop) == [(2, "failed", reason), (4, "new", ""), (5, "failed", reason)]
    assert list(Order.objects.values_list("name", flat=True)) == ["#3"]


def test_the_page_lists_all_errors_of_a_row(panel: Panel) -> None:
    content = b"email,phone,first_name\nnot-an-email,not-a-phone,Ada\n"

    import_job = import_through_panel(panel, content, "customers.csv")

    page = panel.get(CHANGE, import_job.pk)
    (failure,) = page.context["failures"]
    assert len(failure.reasons) == 2
    assert all(f"<li>{reason}</li>" in page.content.decode() for reason in failure.reasons)
