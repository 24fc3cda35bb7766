"""Refused rows of all resources and formats must name the column as it is in the imported file."""

import json

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.imports_exports.domain import imports
from tests.panel.test_imports import CHANGE, COLUMNS, REPORT, check_upload, run_import
from tests.support.factories.orders import make_variant
from tests.support.files.workbooks import build_workbook
from tests.support.panel.client import Panel, PanelWith, read_stream
from tests.support.panel.pages import run_latest_job
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

REFUSED = "imports_exports_import_refused"
# The header and a row of a file with names of columns that are not ours, and the name of the wrong cell.
FILES = {
    "customers": ("Vorname,E-Mail,PLZ", "Ada,none,1", "E-Mail"),
    "address": ("E-Mail,Ort,Land", "ada@example.com,Bonn,Narnia", "Land"),
    "orders": ("Bestellnr.,Artikel,Einzelpreis", "#1,Tasse,cheap", "Einzelpreis"),
    "order addresses": ("Bestellnr.,Artikel,Einzelpreis,Land (Versand)", "#1,Tasse,1,Narnia", "Land (Versand)"),
    "products": ("Slug,Titel,Verkaufspreis", "mug,Tasse,many", "Verkaufspreis"),
    "items": ("Slug,Titel,EK", "mug,Tasse,many", "EK"),
    "stock": ("Slug,Titel,Lagerbestand", "mug,Tasse,many", "Lagerbestand"),
    "flags": ("Slug,Titel,Steuerpflichtig", "mug,Tasse,perhaps", "Steuerpflichtig"),
    "inventory": ("Variant SKU,Location,Stock", "M-1,Nowhere,3", "Location"),
    "quantities": ("Variant SKU,Location,Stock", "M-1,Shop location,many", "Stock"),
    "pages": ("Page: Handle,Page title,Published on", "about,About,someday", "Published on"),
    "redirects": ("Old path,New path", "/a,", "New path"),
    "gift cards": ("Gutscheincode,Startguthaben", "ABCD-EFGH-1234,many", "Startguthaben"),
    "metafields": (
        "Owner resource,Owner handle,Namespace,Key,Value type,Value",
        "product,product-1,custom,size,number_integer,big",
        "Value",
    ),
}
# Files of other systems. Their columns are converted to ours.
CONVERTED = {
    "woocommerce": ("Typ,Name,Regulärer Preis,Veröffentlicht", "simple,Tasse,viel,1", "Regulärer Preis"),
    "magento": ("sku,product_type,name,product_online,price", "T-1,simple,Tasse,1,viel", "price"),
    "prestashop": ("Product ID,Name *,Price tax excluded,Wholesale price", "1,Tasse,2,viel", "Wholesale price"),
    "bigcommerce": ("Item,Name,SKU,Price,Inventory Tracking", "Product,Tasse,T-1,viel,none", "Price"),
}


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("customers", "edit_orders", "products", "pages", "links", "preferences", "gift_cards")


def build_file(header: str, row: str, name: str) -> bytes:
    text = f"{header}\n{row}\n"
    return text.encode() if name.endswith("csv") else build_workbook([line.split(",") for line in text.splitlines()])


@pytest.mark.parametrize("name", ["in.csv", "in.xlsx"])
@pytest.mark.parametrize("resource", FILES)
def test_a_refused_cell_is_named_like_the_column_of_the_file(
    panel: Panel, shop: Shop, resource: str, name: str
) -> None:
    header, row, column = FILES[resource]
    make_variant(shop, sku="M-1")

    import_job = check_upload(panel, build_file(header, row, name), name)

    failures = panel.get(CHANGE, import_job.pk).context["failures"]
    assert [f"Column “{column}”" in failure.reason for failure in failures] == [True], [
        failure.reason for failure in failures
    ]


@pytest.mark.parametrize("name", ["in.csv", "in.xlsx"])
@pytest.mark.parametrize("system", CONVERTED)
def test_a_refused_cell_of_another_system_is_named_like_its_column(panel: Panel, system: str, name: str) -> None:
    header, row, column = CONVERTED[system]

    import_job = check_upload(panel, build_file(header, row, name), name)

    [failure] = panel.get(CHANGE, import_job.pk).context["failures"]
    assert f"Column “{column}”" in failure.reason


def test_mapped_columns_are_named_on_the_page_and_in_both_files(panel: Panel) -> None:
    import_job = check_upload(panel, b"Kennung,Bezeichnung,Betrag\nmug,Tasse,many\n")
    key = panel.get(COLUMNS, import_job.pk, kind="products").context["form_key"]
    names = {"column-0": "Handle", "column-1": "Title", "column-2": "Variant Price"}
    panel.http.post(f"{panel.url(COLUMNS, import_job.pk)}?kind=products", {"form_key": key, **names})
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    import_job.refresh_from_db()
    run_import(import_job)

    page = panel.get(CHANGE, import_job.pk)
    report = read_stream(panel.get(REPORT, import_job.pk)).decode("utf-8-sig").splitlines()
    refused = read_stream(panel.get(REFUSED, import_job.pk)).decode("utf-8-sig").splitlines()

    assert "Column “Betrag” " in page.context["outcome"].reason
    assert report[0] == "line,fate,reason,kind,label"
    assert report[1].startswith("2,failed,Variant 1: Column “Betrag” ")
    assert refused[0] == "Import error,Kennung,Bezeichnung,Betrag"
    assert refused[1].startswith("variant 1: Betrag: ")
    assert refused[1].endswith(",mug,Tasse,many")


def test_the_corrected_file_has_reasons_in_the_language_of_the_staff_member(panel: Panel) -> None:
    panel.user.language = "de"
    panel.user.save()
    import_job = check_upload(panel, b"E-Mail\nnone\n")
    imports.start_import(import_job, actor=f"staff:{panel.user.pk}", at=timezone.now())
    run_latest_job(panel.shop, imports.RUN_TASK)

    refused = read_stream(panel.get(REFUSED, import_job.pk)).decode("utf-8-sig").splitlines()

    assert refused == ["Import error,E-Mail", "E-Mail: ist ungültig,none"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"customer": {"email": "none"}}, "Field email: is invalid"),
        ({"order": {"name": "#1", "line_items": [{"title": "Mug", "price": "cheap"}]}}, "Line item 1: Field price: "),
        ({"product": {"title": "Mug", "variants": [{"price": "many"}]}}, "Variant 1: Field price: "),
        ({"product": {"title": "Mug", "variants": [{"inventory_quantity": "many"}]}}, "Field inventory_quantity: "),
    ],
)
def test_a_refused_member_of_a_json_line_has_its_own_name(panel: Panel, line: JsonObject, reason: str) -> None:
    import_job = check_upload(panel, json.dumps(line).encode(), "in.jsonl")

    [failure] = panel.get(CHANGE, import_job.pk).context["failures"]
    assert reason in failure.reason


def test_a_column_with_the_name_of_another_field_keeps_its_name(panel: Panel) -> None:
    """An error of a workbook names the column of the file, which is mapped to another column of ours."""
    import_job = check_upload(panel, build_workbook([["email", "phone"], ["ada@example.com", "none"]]), "in.xlsx")
    key = panel.get(COLUMNS, import_job.pk, kind="customers").context["form_key"]
    names = {"column-0": "note", "column-1": "email"}
    panel.http.post(f"{panel.url(COLUMNS, import_job.pk)}?kind=customers", {"form_key": key, **names})
    run_latest_job(panel.shop, imports.VALIDATE_TASK)

    [failure] = panel.get(CHANGE, import_job.pk).context["failures"]
    assert failure.reason == "Column “phone” is invalid."
