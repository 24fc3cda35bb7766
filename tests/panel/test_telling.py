"""What is stored in English, as staff read it: amounts, names of things, reasons and what changes."""

import pytest

from apps.bulk.admin import telling as edits
from apps.bulk.models import EditedRow
from apps.exchange.admin import telling as imports
from apps.exchange.models import ImportedRow
from apps.ground import languages
from apps.ground.phrases import at_most, between
from apps.ground.retelling import renamed, retold
from apps.ground.tenancy import shop_scope
from apps.panel.wording import name_of, reason
from apps.shops.models import Shop

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("stored", "english", "german"),
    [
        ("48.00 USD", "48.00 USD", "48,00 USD"),
        ("-1234.5", "-1,234.5", "-1.234,5"),
        ("1200", "1,200", "1.200"),
        ("2026.11.25", "2026.11.25", "2026.11.25"),
        ("V1.5", "V1.5", "V1.5"),
        ("", "", ""),
    ],
)
def test_amounts_of_stored_texts_are_written_as_in_the_language(stored: str, english: str, german: str) -> None:
    assert languages.retold_amount(stored) == english
    with languages.speaking("de"):
        assert languages.retold_amount(stored) == german


@pytest.mark.parametrize(
    "stored",
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
def test_messages_hold_their_amounts_in_the_readers_language(stored: str) -> None:
    with languages.speaking("de"):
        told = retold(stored)

    assert "48,00" in told
    assert "48.00" not in told


def test_names_that_the_product_gave_are_told_and_those_of_people_stay() -> None:
    with languages.speaking("de"):
        assert renamed("Refund of 48.00 USD").endswith(" 48,00 USD")
        assert renamed("Poster of 48.00 USD") == "Poster of 48.00 USD"
        assert renamed("Customer Service") == "Customer Service"
        assert renamed("Orders") == "Orders"


def test_reasons_name_fields_as_forms_do() -> None:
    fields = {"email", "addresses", "first_name"}

    assert name_of("addresses.0.zip") == "Addresses 1, Postal code"
    assert reason("email is invalid; first_name can't be blank", fields) == (
        "E-mail is invalid. First name can't be blank."
    )
    assert reason("is known already, and nothing differs", fields) == "Is known already, and nothing differs."
    assert reason("", fields) == ""


def test_rows_of_an_import_are_told(shop: Shop) -> None:
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
        with languages.speaking("de"):
            [told] = imports.told([row])
        [english] = imports.told([row])

    assert [change[1:] for change in told.changes[:2]] == [("12,00", "13,50"), ("No. 1.50", "No. 2.50")]
    assert told.changes[0][0].startswith("Red: ")
    assert english.changes[2:] == [("Has to be sent", "yes", "no"), ("Variant Blue / L", "", "new")]


def test_rows_of_a_bulk_edit_are_told() -> None:
    row = EditedRow(
        reason="price must be greater than or equal to 0",
        changes=[["Price", "9.00 – 12.00", "1200.00"], ["Vendor", "9.00", ""], ["Status", "draft", "active"]],
    )

    with languages.speaking("de"):
        [told] = edits.told([row])

    assert [change[1:] for change in told.changes[:2]] == [["9,00 – 12,00", "1.200,00"], ["9.00", ""]]
    assert "price" not in told.reason
