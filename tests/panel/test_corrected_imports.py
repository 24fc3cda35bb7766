"""The page of a failed import says the reason first, and the corrected file keeps the column mapping."""

import io

import pytest
from django.utils import timezone
from django.utils.html import escape

from apps.catalog.models import Product
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.domain import imports
from apps.imports_exports.models import Import
from tests.panel.test_imports import CHANGE, COLUMNS, check_upload, run_import
from tests.support.api_client import Response
from tests.support.panel.client import Panel, PanelWith, read_stream
from tests.support.panel.pages import UPLOAD, get_messages, run_latest_job

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

REFUSED = "imports_exports_import_refused"
NAMES = {"column-0": "Handle", "column-1": "Title", "column-2": "Variant Price"}
FILE = b"Kennung,Bezeichnung,Preis\nmug,Tasse,9.50\njug,Krug,many\n"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("products", "customers")


def get_text(panel: Panel, import_job: Import) -> str:
    """Return the page of an import without line breaks, from its first section on."""
    return " ".join(panel.get(CHANGE, import_job.pk).content.decode().partition("<main")[2].split())


def upload_correction(panel: Panel, corrected: object, content: bytes, name: str = "again.csv") -> Response:
    file = io.BytesIO(content)
    file.name = name
    url = f"{panel.url(UPLOAD)}?corrects={corrected}"
    return panel.http.post(url, {"form_key": panel.form_key(UPLOAD), "file": file}, follow=True)


def import_mapped(panel: Panel) -> Import:
    """Import a file with a column mapping and one refused row."""
    import_job = check_upload(panel, FILE)
    key = panel.get(COLUMNS, import_job.pk, kind="products").context["form_key"]
    panel.http.post(f"{panel.url(COLUMNS, import_job.pk)}?kind=products", {"form_key": key, **NAMES})
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    import_job.refresh_from_db()
    run_import(import_job)
    import_job.refresh_from_db()
    return import_job


def test_a_partly_refused_import_begins_with_the_reason(panel: Panel) -> None:
    import_job = import_mapped(panel)

    page = get_text(panel, import_job)

    reason = escape(panel.get(CHANGE, import_job.pk).context["failures"][0].reason)
    assert page.index(f"<strong>{reason}</strong>") < page.index("Rows imported: 1. Rows refused: 1.")
    assert page.index("Rows refused: 1.") < page.index('id="state"')
    assert page.count(panel.url(REFUSED, import_job.pk)) == 1
    assert f"{panel.url(UPLOAD)}?corrects={import_job.pk}" in page


def test_the_corrected_rows_keep_the_mapping(panel: Panel, shop: Shop) -> None:
    import_job = import_mapped(panel)
    refused = read_stream(panel.get(REFUSED, import_job.pk)).replace(b"many", b"7.50")

    page = upload_correction(panel, import_job.pk, refused)
    again = Import.objects.latest("pk")
    run_latest_job(shop, imports.VALIDATE_TASK)
    again.refresh_from_db()
    run_import(again)

    assert again.pk != import_job.pk
    assert again.mapping == import_job.mapping
    assert get_messages(page) == ""
    assert sorted(Product.objects.values_list("handle", "title")) == [("jug", "Krug"), ("mug", "Tasse")]


@pytest.mark.parametrize(("content", "name"), [(b"SKU,Titel\n1,Tasse\n", "b.csv"), (b'{"handle": "mug"}\n', "b.jsonl")])
def test_a_file_with_other_columns_says_that_the_mapping_is_gone(panel: Panel, content: bytes, name: str) -> None:
    import_job = import_mapped(panel)

    page = upload_correction(panel, import_job.pk, content, name)

    assert "The file has other columns, so the column mapping of in.csv was not kept." in get_messages(page)
    assert Import.objects.latest("pk").mapping is None


def test_an_unreadable_corrected_file_fails_with_its_reason(panel: Panel, shop: Shop) -> None:
    import_job = import_mapped(panel)

    upload_correction(panel, import_job.pk, b"no workbook", "b.xlsx")
    run_latest_job(shop, imports.VALIDATE_TASK)

    failed = Import.objects.latest("pk")
    assert failed.state == Import.State.FAILED
    page = get_text(panel, failed)
    assert page.index("<strong>") < page.index("Nothing was imported.") < page.index("Upload corrected file")


def test_the_upload_names_the_file_that_is_corrected(panel: Panel) -> None:
    import_job = import_mapped(panel)

    page = panel.open(panel.url(UPLOAD), corrects=import_job.pk).content.decode()

    assert "Choose the corrected file of in.csv." in page
    assert "The column mapping is kept if the columns have the same names." in page
    assert "corrected file" not in panel.get(UPLOAD).content.decode()


@pytest.mark.parametrize("number", ["x", "0", "9" * 30, "²"])
def test_an_unknown_import_cannot_be_corrected(panel: Panel, number: str) -> None:
    assert panel.open(panel.url(UPLOAD), corrects=number).status_code == 404


def test_an_import_of_another_shop_cannot_be_corrected(panel: Panel, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        foreign = Import.objects.create(shop=other_shop, name="in.csv", format="csv", actor="system")

    assert panel.open(panel.url(UPLOAD), corrects=foreign.pk).status_code == 404
    assert upload_correction(panel, foreign.pk, b"email\n").status_code == 404


def test_a_preview_with_errors_says_so_first(panel: Panel) -> None:
    import_job = check_upload(panel, b"email\nnone\nnobody\nada@example.com\n")

    page = get_text(panel, import_job)

    assert page.index("<strong>Column “email” is invalid.</strong>") < page.index('id="state"')
    assert "Rows with errors, which will not be imported: 2 of 3." in page


def test_different_reasons_name_the_most_frequent_or_the_first(panel: Panel) -> None:
    rows = b"email,tax_exempt\nnone,no\nada@example.com,maybe\n"

    first = get_text(panel, check_upload(panel, rows))
    frequent = get_text(panel, check_upload(panel, rows + b"nobody,no\n"))

    assert "<strong>Line 2: Column “email” is invalid.</strong>" in first
    assert "<strong>The most frequent error: Column “email” is invalid.</strong>" in frequent


def test_a_file_without_known_columns_offers_to_map_them(panel: Panel) -> None:
    import_job = check_upload(panel, b"Kennung;Bezeichnung\nmug;Tasse\n")

    page = get_text(panel, import_job)

    assert "Nothing has been imported yet." in page
    assert page.count(panel.url(COLUMNS, import_job.pk)) == 1


def test_an_import_without_errors_has_no_outcome(panel: Panel) -> None:
    import_job = check_upload(panel, b"email\nada@example.com\n")
    imports.start_import(import_job, actor="system", at=timezone.now())
    running = panel.get(CHANGE, import_job.pk).context["outcome"]
    run_latest_job(panel.shop, imports.RUN_TASK)

    assert running is None
    assert panel.get(CHANGE, import_job.pk).context["outcome"] is None


def test_viewers_see_the_reason_but_upload_nothing(panel: Panel, admin_client_with: PanelWith) -> None:
    import_job = import_mapped(panel)
    viewer = admin_client_with(view_only=["products"])

    page = get_text(viewer, import_job)

    assert "Rows refused: 1." in page
    assert "Upload corrected file" not in page
