"""Tests for .xlsx files: an import reads the same values as from a CSV file, and an export stores texts as texts."""

import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest
from django.core.management import CommandError
from django.core.serializers import serialize
from django.utils import timezone

from apps.catalog.models import Product, Variant
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop, User
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.imports_exports.domain import exports
from apps.imports_exports.domain.formats import xlsx_reader, xlsx_writer
from apps.imports_exports.models import Export, Import
from apps.orders.models import Order
from tests.support import factories
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.files.import_export import export_bytes, get_row_results, import_bytes
from tests.support.files.workbooks import Formula, build_workbook, read_workbook, replace_part

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture
def user(shop: Shop) -> User:
    return factories.UserFactory.create()


def test_cells_are_read_as_in_a_csv_file(shop: Shop, tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["Handle", "Title", "Published", "Variant SKU", "Variant Barcode", "Variant Price", "Variant Grams", "Tags"],
        ["mug", "Mug\r\n\x07x", True, "00501", 4006381333931, Formula("=19/2"), 250, "'=vip"],
        [],
        ["jug", 1984, False, (501, "00000"), "'0012", 19.989999999999998, 28.349523125, 1e21],
    ]

    report = import_bytes(shop, build_workbook(rows), tmp_path, "in.xlsx")

    assert "2 new" in report, report
    mug, jug = Variant.objects.select_related("product", "inventory_item").order_by("pk")
    assert (mug.product.title, mug.product.tags) == ("Mug\r\n\x07x", "=vip")
    assert (mug.inventory_item.sku, mug.barcode, float(mug.price), mug.grams) == ("00501", "4006381333931", 9.5, 250)
    assert mug.product.published_at is not None
    assert jug.product.published_at is None
    assert (jug.product.title, jug.product.tags) == ("1984", "1000000000000000000000")
    assert (jug.inventory_item.sku, jug.barcode, float(jug.price), jug.grams) == ("00501", "0012", 19.99, 28)
    assert [line for line, _, _ in get_row_results(shop)] == [2, 4]


def test_dates_are_read_in_iso_format(shop: Shop, tmp_path: Path) -> None:
    Shop.objects.update(timezone="UTC")
    shop.refresh_from_db()
    moments = [datetime(2026, 3, 2), datetime(2026, 3, 2, 15, 4, 59)]  # noqa: DTZ001 - workbooks have no time zones
    rows: list[list[object]] = [
        ["order", "created_at", "line_title", "line_price"],
        *(["#1", at, "Mug", 1] for at in moments[:1]),
    ]
    rows.append(["#2", moments[1], "Mug", 1])

    report = import_bytes(shop, build_workbook(rows), tmp_path, "in.xlsx")

    assert "2 new" in report, report
    created = [f"{order.created_at:%Y-%m-%d %H:%M:%S}" for order in Order.objects.order_by("pk")]
    assert created == ["2026-03-02 00:00:00", "2026-03-02 15:04:59"]


def test_the_first_visible_sheet_with_rows_is_read(shop: Shop, tmp_path: Path) -> None:
    rows = [["email"], ["ada@example.com"]]
    content = build_workbook(rows, others={"Notes": [["email"], ["bo@example.com"]], "Empty": []})
    shown, hidden = b'name="Notes" sheetId="1"', b'name="Notes" sheetId="1" state="hidden"'
    content = replace_part(content, "xl/workbook.xml", shown, hidden)

    report = import_bytes(shop, content, tmp_path, "in.xlsx")

    assert report.startswith("Only the sheet Data is read. Other sheets with rows: Notes\n")
    assert Customer.objects.get().email == "ada@example.com"
    assert Import.objects.get().reading_note == "Only the sheet Data is read. Other sheets with rows: Notes"


def test_the_rows_of_a_sheet_may_start_anywhere(shop: Shop, tmp_path: Path) -> None:
    rows: list[list[object]] = [[], ["", "email", ""], [], ["", "ada@example.com"], ["", "bo@example.com", "", "", "x"]]

    import_bytes(shop, build_workbook(rows), tmp_path, "in.xlsx")

    assert get_row_results(shop) == [(4, "new", ""), (5, "failed", "has 5 cells, but the file has 2 columns")]


def test_a_formula_with_an_error_refuses_its_row(shop: Shop, tmp_path: Path) -> None:
    content = build_workbook([["email", "note"], ["ada@example.com", Formula("=1/0")], ["bo@example.com", "x"]])
    content = replace_part(content, SHEET, b"><f>1/0</f><v>9.5<", b' t="e"><f>1/0</f><v>#DIV/0!<')

    import_bytes(shop, content, tmp_path, "in.xlsx")

    assert get_row_results(shop) == [(2, "failed", "note: contains the error #DIV/0! of a formula"), (3, "new", "")]


def replace_in_sheet(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda content: replace_part(content, SHEET, old, new)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-40], "can't be read as an .xlsx workbook"),
        (lambda content: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096), "Remove a password"),
        (replace_in_sheet(b"</sheetData>", b"</sheet"), "is damaged"),
        (replace_in_sheet(b"<v>9.5</v>", b""), "formulas without values"),
        (replace_in_sheet(b"<v>9.5</v>", b"<v />"), "formulas without values"),
        (replace_in_sheet(b"<worksheet", b'<!DOCTYPE a [<!ENTITY b "c">]><worksheet'), "too many cells"),
        (replace_in_sheet(b'<row r="2"', b'<row r="99999999999"'), "too many cells"),
        (replace_in_sheet(b'r="B2"', b'r="ZZZ2"'), "too many cells"),
        (replace_in_sheet(b"<sheetData>", b"<sheetData>" + b" " * (201 * 1024 * 1024)), "unpacks to more than"),
        (replace_in_sheet(b"</row></sheetData>", b"<c/>" * 5_000_000 + b"</row></sheetData>"), "too many cells"),
        (lambda content: replace_part(content, "xl/workbook.xml", b"sheetId", b"sheet-Id"), "is damaged"),
        (lambda content: build_workbook([["", ""]]), "no sheet with rows"),
        (lambda content: build_workbook([["x" * 32_767], ["email"]]), "no known column"),
    ],
    ids=map(str, range(13)),
)
def test_unsafe_and_damaged_workbooks_are_refused(
    shop: Shop, tmp_path: Path, change: Callable[[bytes], bytes], message: str
) -> None:
    content = change(build_workbook([["email", "note"], ["ada@example.com", Formula("=19/2")]]))

    with pytest.raises(CommandError, match=message):
        import_bytes(shop, content, tmp_path, "in.xlsx")

    assert not Customer.objects.exists()


def test_a_formula_with_an_empty_text_is_a_blank_cell(shop: Shop, tmp_path: Path) -> None:
    content = build_workbook([["email", "note"], ["ada@example.com", Formula('=""')]])
    content = replace_part(content, SHEET, b'"B2"><f>""</f><v>9.5</v>', b'"B2" t="str"><f>""</f><v></v>')

    report = import_bytes(shop, content, tmp_path, "in.xlsx")

    assert "1 new" in report, report
    assert Customer.objects.get().note == ""


def test_many_blank_cells_do_not_exhaust_memory(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx_reader, "_MAX_CELLS", 20)
    rows = [["email"], *([f"ada{number}@example.com"] for number in range(20))]

    with pytest.raises(CommandError, match="too many cells"):
        import_bytes(shop, build_workbook(rows), tmp_path, "in.xlsx")


def test_an_export_stores_texts_as_texts(shop: Shop, user: User) -> None:
    make_customer(first_name="=1+1", last_name="'x", phone="+14155550100", note="00501")

    workbook = openpyxl.load_workbook(io.BytesIO(export_bytes(shop, user, "customers", "xlsx")))

    [sheet] = workbook.worksheets
    header, row = sheet.iter_rows()
    cells = {name.value: cell for name, cell in zip(header, row, strict=True)}
    names = ("first_name", "last_name", "phone", "note")
    assert [cells[name].value for name in names] == ["=1+1", "''x", "+14155550100", "00501"]
    assert {cells[name].data_type for name in names} == {"s"}
    assert (cells["orders_count"].value, cells["orders_count"].data_type) == (0, "n")
    assert sheet.freeze_panes == "A2"


@pytest.mark.parametrize("kind", ["customers", "products", "orders", "refunds", "events"])
def test_every_list_can_be_exported_as_a_workbook(shop: Shop, user: User, kind: str) -> None:
    content = export_bytes(shop, user, kind, "xlsx")

    [header, *rows] = export_bytes(shop, user, kind, "csv").decode("utf-8-sig").splitlines()
    assert read_workbook(content)[0] == header.split(",")
    assert len(read_workbook(content)) >= 1 + bool(rows)


def test_numbers_that_a_workbook_would_round_are_texts() -> None:
    target = io.BytesIO()

    xlsx_writer.write_workbook(["a", "b", "c", "d"], [xlsx_writer.encode_cells([10**15, 10**14, -1.5, True])], target)

    assert read_workbook(target.getvalue())[1] == ["1000000000000000", 10**14, -1.5, "True"]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"MAX_CELL": 20}, "mug-of-ada: the value of Body (HTML) has more than 20 characters"),
        ({"MAX_ROWS": 2}, "An .xlsx workbook can't contain more than 2 rows"),
    ],
)
def test_an_export_that_no_workbook_can_contain_fails_with_the_reason(
    user: User, monkeypatch: pytest.MonkeyPatch, media_root: Path, limits: dict[str, int], message: str
) -> None:
    make_product(title="Mug", handle="mug-of-ada", body_html="<p>" + "x" * 20)
    make_product(title="Jug", handle="jug")
    for name, limit in limits.items():
        monkeypatch.setattr(xlsx_writer, name, limit)
    values: Attrs = {"kind": "products", "format": "xlsx", "filters": {}, "user": user, "actor": "system"}
    export = exports.create_export(**values, at=timezone.now())
    job = Job.objects.get(task=exports.EXPORT)

    jobs.run_job(job.key)

    job.refresh_from_db()
    export.refresh_from_db()
    assert (job.state, export.state) == (Job.State.FAILED, Export.State.FAILED)
    assert message in job.error
    assert [path for path in media_root.glob("exports/**/*") if path.is_file()] == []


def test_a_workbook_that_an_export_wrote_is_imported_unchanged(shop: Shop, user: User, tmp_path: Path) -> None:
    make_product(title="_x000D_", handle="mug", body_html="two\r\nlines\x0b'x", tags="'a, 'b c")
    before = serialize("python", Product.objects.all())

    report = import_bytes(shop, export_bytes(shop, user, "products", "xlsx"), tmp_path, "in.xlsx")

    assert "0 changed, 1 skipped" in report, report
    assert serialize("python", Product.objects.all()) == before
