"""Tests for how stored English texts are displayed to staff: amounts, names, reasons and changes."""

import pytest

from apps.bulk.admin import result_display as edits
from apps.bulk.models import EditedRow
from apps.exchange.admin import result_display as imports
from apps.exchange.models import ImportedRow
from apps.ground import languages
from apps.ground.error_messages import at_most, between
from apps.ground.stored_messages import translate_label, translate_stored
from apps.ground.tenancy import shop_scope
from apps.panel.error_display import format_stored_error
from apps.panel.field_display import get_field_label
from apps.shops.domain.presentment import ROUNDINGS
from apps.shops.models import Shop

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("stored_value", "english", "german"),
    [
        ("48.00 USD", "48.00 USD", "48,00 USD"),
        ("-1234.5", "-1,234.5", "-1.234,5"),
        ("1200", "1,200", "1.200"),
        ("2026.11.25", "2026.11.25", "2026.11.25"),
        ("V1.5", "V1.5", "V1.5"),
        ("", "", ""),
    ],
)
def test_amounts_of_stored_texts_are_written_as_in_the_language(stored_value: str, english: str, german: str) -> None:
    assert languages.localize_stored_amount(stored_value) == english
    with languages.language_override("de"):
        assert languages.localize_stored_amount(stored_value) == german


@pytest.mark.parametrize(
    "stored_value",
    [
        "Refunded 48.00 USD through manual",
        "Refunded 48.00 USD through bogus and 5.00 EUR through this and that",
        "Refund of 48.00 USD through bogus: success",
        "Capture of 48.00 USD (Success)",
        "Edited: 48.00 USD off Mug; 2 × Mug removed",
        at_most("48.00"),
        between("48.00", "1200"),
    ],
)
def test_messages_hold_their_amounts_in_the_readers_language(stored_value: str) -> None:
    with languages.language_override("de"):
        translated = translate_stored(stored_value)

    assert "48,00" in translated
    assert "48.00" not in translated


def test_what_prices_are_rounded_to_is_written_as_in_the_language() -> None:
    with languages.language_override("de"):
        translated = [translate_stored(words) for words in ROUNDINGS.values()]

    assert {"Auf 0,05 genau", "Auf 0,10 genau", "Aufrunden auf den nächsten Betrag, der auf ,95 endet"} <= set(
        translated
    )
    assert "." not in "".join(translated)
    assert translate_stored(ROUNDINGS["0.05"]) == "To the nearest 0.05"


def test_product_names_are_translated_and_personal_names_are_not() -> None:
    with languages.language_override("de"):
        assert translate_label("Refund of 48.00 USD").endswith(" 48,00 USD")
        assert translate_label("Poster of 48.00 USD") == "Poster of 48.00 USD"
        assert translate_label("Customer Service") == "Customer Service"
        assert translate_label("Orders") == "Orders"


def test_reasons_name_fields_as_forms_do() -> None:
    fields = {"email", "addresses", "first_name"}

    assert get_field_label("addresses.0.zip") == "Addresses 1, Postal code"
    assert format_stored_error("email is invalid; first_name can't be blank", fields) == (
        "Email is invalid. First name can't be blank."
    )
    assert format_stored_error("already exists and is unchanged", fields) == "Already exists and is unchanged."
    assert format_stored_error("", fields) == ""


def test_import_rows_are_translated(shop: Shop) -> None:
    row = ImportedRow(
        line=2,
        kind="products",
        fate="changed",
        label="Mug",
        changes=[
            ["Red: price", "12.000", "13.500"],
            ["title", "No. 1.50", "No. 2.50"],
            ["requires_shipping", "yes", "no"],
            ["variant Blue / L", "", "new"],
        ],
    )

    with shop_scope(shop):
        with languages.language_override("de"):
            [displayed_row] = imports.display_rows([row])
        [english] = imports.display_rows([row])

    assert [change[1:] for change in displayed_row.changes[:2]] == [("12,00", "13,50"), ("No. 1.50", "No. 2.50")]
    assert displayed_row.changes[0][0].startswith("Red: ")
    assert english.changes[2:] == [("Requires shipping", "yes", "no"), ("Variant Blue / L", "", "new")]


def test_rows_of_an_import_name_fields_and_values_as_the_reader_does(shop: Shop) -> None:
    stored_value = {
        "metafields_global_title_tag": "Hats",
        "status": "active",
        "published_scope": "web",
        "published_at": "2026-11-25 14:33",
        "Red: grams": "1250",
        "Red: weight": "1.25",
        "Red: inventory_policy": "deny",
        "variant Blue": "19.90",
        "Blue: sku": "19.90",
        "image 1: alt": "1.50",
    }
    row = ImportedRow(
        line=2, kind="products", fate="changed", changes=[[name, "", new] for name, new in stored_value.items()]
    )

    with shop_scope(shop), languages.language_override("de"):
        [displayed_row] = imports.display_rows([row])

    assert {name: new for name, _, new in displayed_row.changes} == {
        "Titel für Suchmaschinen": "Hats",
        "Status": "Aktiv",
        "Vertriebskanäle": "Onlineshop",
        "Veröffentlicht am": "25. Nov 2026, 14:33",
        "Red: Gewicht in Gramm": "1.250",
        "Red: Gewicht": "1,25",
        "Red: Wenn ausverkauft": "Nicht mehr verkaufen, wenn nichts auf Lager ist",
        "Variante Blue": "19,90",
        "Blue: SKU": "19.90",
        "Bild 1: Alternativtext": "1.50",
    }


@pytest.mark.parametrize(
    ("kind", "stored_value", "german"),
    [
        (
            "products",
            "variant 1: price is invalid; variant 2: grams is invalid",
            "Variante 1: Preis ist ungültig. Variante 2: Gewicht in Gramm ist ungültig.",
        ),
        ("orders", "total_price must be 48.50", "Gesamt muss 48,50 sein."),
        ("orders", "line_fulfilled: enter a whole number", "Spalte line_fulfilled: Geben Sie eine ganze Zahl ein."),
        ("orders", "order: can't be blank", "Spalte order: muss ausgefüllt werden."),
        ("customers", "addresses.0.country is not valid", "Adressen 1, Land ist nicht gültig."),
        (
            "products",
            (
                "Variant Inventory Qty: the item is stocked at several locations. "
                "Use the Variant Inventory Levels column"
            ),
            (
                "Spalte Variant Inventory Qty: Der Artikel liegt an mehreren Standorten. Verwenden Sie die Spalte "
                "Variant Inventory Levels."
            ),
        ),
        (
            "products",
            (
                "The image https://a.example/x was not imported: Could not download image: address not allowed; "
                "The image https://a.example/y was not imported: it is too large (maximum is 20 MB)"
            ),
            (
                "Das Bild https://a.example/x wurde nicht importiert: Das Bild konnte nicht heruntergeladen werden: "
                "Adresse nicht erlaubt. "
                "Das Bild https://a.example/y wurde nicht importiert: Es ist zu groß (höchstens 20 MB)."
            ),
        ),
    ],
)
def test_reasons_of_import_rows_are_translated(shop: Shop, kind: str, stored_value: str, german: str) -> None:
    row = ImportedRow(line=2, kind=kind, fate="failed", reason=stored_value)

    with shop_scope(shop), languages.language_override("de"):
        [displayed_row] = imports.display_rows([row])

    assert displayed_row.reason == german


def test_bulk_edit_rows_are_translated() -> None:
    row = EditedRow(
        reason="price must be greater than or equal to 0",
        changes=[["Price", "9.00 – 12.00", "1200.00"], ["Vendor", "9.00", ""], ["Status", "draft", "active"]],
    )

    with languages.language_override("de"):
        [translated_row] = edits.translate_rows([row])

    assert [change[1:] for change in translated_row.changes[:2]] == [["9,00 – 12,00", "1.200,00"], ["9.00", ""]]
    assert "price" not in translated_row.reason
