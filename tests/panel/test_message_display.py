"""Tests for how messages, labels and changes are displayed to staff."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from apps.bulk_edits.admin import result_display as edits
from apps.bulk_edits.models import EditedRow
from apps.core.admin.display.fields import get_field_label
from apps.core.admin.forms.error_display import SentenceErrorList, as_sentence, format_errors, format_message
from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.http.errors import ADDRESS_NOT_ALLOWED
from apps.core.i18n import formats
from apps.core.i18n.error_messages import BLANK, INVALID, TAKEN, at_least, too_large, too_long
from apps.core.i18n.messages import (
    COLUMN_ERROR,
    PART_ERROR,
    Amount,
    Message,
    get_items,
    join_errors,
    join_messages,
    translate,
)
from apps.core.jobs import queue
from apps.core.media import uploads
from apps.core.rest.exceptions import Unprocessable
from apps.core.tenancy.currency_conversion import ROUNDINGS
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.admin import result_display as imports
from apps.imports_exports.domain.rows import UNCHANGED, RowRefused, UnreadableCell
from apps.imports_exports.models import ImportedRow
from apps.imports_exports.resources.cells import IMAGE, NOT_A_NUMBER, VARIANT, convert_api_errors
from apps.imports_exports.resources.products import inventory_levels, row_changes
from apps.orders.domain.pricing import totals
from apps.orders.models import Transaction

pytestmark = pytest.mark.django_db


def _part(part: str, field: str) -> dict[str, object]:
    return PART_ERROR(part=part, error=field).to_json()


def _api_errors(errors: dict[str, list[str]]) -> Message:
    with pytest.raises(RowRefused) as refused, convert_api_errors():
        raise Unprocessable(errors)
    return refused.value.sentence


def _image_note(src: str, reason: Message) -> Message:
    return row_changes._get_image_note(src, DomainError(reason))


def test_roundings_are_translated() -> None:
    with formats.language_override("de"):
        translated = {translate(rounding) for rounding in ROUNDINGS.values()}

    assert {"Auf 0,05 genau", "Auf 0,10 genau", "Aufrunden auf den nächsten Betrag, der auf ,95 endet"} <= translated
    assert "." not in "".join(translated)
    assert translate(ROUNDINGS["0.05"]) == "To the nearest 0.05"


def test_labels_are_translated_and_names_are_not() -> None:
    transaction = Transaction(kind="refund", amount=Decimal(48), currency="USD")
    coded = Event(subject_label="Refund of 48.00 USD", coded_label=transaction.event_label)

    assert coded.label == "Refund of 48.00 USD"
    with formats.language_override("de"):
        assert coded.label == "Erstattung über 48,00 USD"
        assert Event(subject_label="Poster of 48.00 USD").label == "Poster of 48.00 USD"


def test_reasons_name_fields_as_forms_do() -> None:
    reason = join_errors({"email": [INVALID], "first_name": [BLANK]})

    assert get_field_label("addresses.0.zip") == "Addresses 1, Postal code"
    assert format_message(reason) == "Email is invalid. First name can't be blank."
    assert format_message(UNCHANGED) == "Already exists and is unchanged."
    assert format_message("") == ""


def test_import_rows_are_translated(shop: Shop) -> None:
    row = ImportedRow(
        line=2,
        kind="products",
        fate="changed",
        label="Mug",
        changes=[
            [_part("Red", "price"), "12.000", "13.500"],
            ["title", "No. 1.50", "No. 2.50"],
            ["requires_shipping", {"code": "imports.yes"}, {"code": "imports.no"}],
            [VARIANT(title="Blue / L").to_json(), "", {"code": "product_imports.new"}],
            [_part("Blue / L", row_changes.STOCK_AT(place="Shelf")), "1", "1200"],
        ],
    )

    with shop_scope(shop):
        with formats.language_override("de"):
            [displayed_row] = imports.display_rows([row])
        [english] = imports.display_rows([row])

    assert [change[1:] for change in displayed_row.changes[:2]] == [("12,00", "13,50"), ("No. 1.50", "No. 2.50")]
    assert displayed_row.changes[0][0].startswith("Red: ")
    assert english.changes[2:] == [
        ("Requires shipping", "yes", "no"),
        ("variant Blue / L", "", "new"),
        ("Blue / L: stock at Shelf", "1", "1200"),
    ]


def test_import_rows_name_fields_and_values_as_the_reader_does(shop: Shop) -> None:
    values: list[tuple[object, str]] = [
        ("metafields_global_title_tag", "Hats"),
        ("status", "active"),
        ("published_scope", "web"),
        ("published_at", "2026-11-25 14:33"),
        (_part("Red", "grams"), "1250"),
        (_part("Red", "weight"), "1.25"),
        (_part("Red", "inventory_policy"), "deny"),
        (VARIANT(title="Blue").to_json(), "19.90"),
        (_part("Blue", "sku"), "19.90"),
        (_part(IMAGE(number=1), "alt"), "1.50"),
    ]
    row = ImportedRow(line=2, kind="products", fate="changed", changes=[[name, "", new] for name, new in values])

    with shop_scope(shop), formats.language_override("de"):
        [displayed_row] = imports.display_rows([row])

    assert {name: new for name, _, new in displayed_row.changes} == {
        "Titel für Suchmaschinen": "Hats",
        "Status": "Aktiv",
        "Vertriebskanäle": "Onlineshop",
        "Veröffentlicht am": "25. Nov. 2026, 14:33",
        "Red: Gewicht in Gramm": "1.250",
        "Red: Gewicht": "1,25",
        "Red: Wenn ausverkauft": "Nicht mehr verkaufen, wenn nichts auf Lager ist",
        "Variante Blue": "19,90",
        "Blue: SKU": "19.90",
        "Bild 1: Alternativtext": "1.50",
    }


@pytest.mark.parametrize(
    ("kind", "build_reason", "english", "german"),
    [
        (
            "products",
            lambda: _api_errors({"variants.0.price": [INVALID], "variants.1.grams": [INVALID]}),
            "variant 1: price is invalid; variant 2: grams is invalid",
            "Variante 1: Preis ist ungültig. Variante 2: Gewicht in Gramm ist ungültig.",
        ),
        (
            "orders",
            lambda: _api_errors({"total_price": [totals._MUST_BE(amount=Amount("48.50"))]}),
            "total_price must be 48.50",
            "Gesamt muss 48,50 sein.",
        ),
        (
            "orders",
            lambda: UnreadableCell("line_fulfilled", NOT_A_NUMBER(value="'1,5'")).message,
            "line_fulfilled: '1,5' is not a whole number",
            "Spalte „line_fulfilled“: '1,5' ist keine ganze Zahl.",
        ),
        (
            "orders",
            lambda: UnreadableCell("order", BLANK).message,
            "order: can't be blank",
            "Spalte „order“ muss ausgefüllt werden.",
        ),
        (
            "products",
            lambda: COLUMN_ERROR(column="Variant Inventory Qty", error=inventory_levels._SEVERAL_LOCATIONS),
            "Variant Inventory Qty: the item is stocked at several locations. Use the Variant Inventory Levels column",
            (
                "Spalte „Variant Inventory Qty“: Der Artikel liegt an mehreren Standorten. "
                "Verwenden Sie die Spalte Variant Inventory Levels."
            ),
        ),
        (
            "products",
            lambda: join_messages(
                [
                    _image_note("https://a.example", uploads._NOT_DOWNLOADED(error=ADDRESS_NOT_ALLOWED)),
                    _image_note("https://b.example", too_large(20 * 2**20)),
                ]
            ),
            (
                "The image https://a.example was not imported: Could not download image: address not allowed; "
                "The image https://b.example was not imported: it is too large (maximum is 20 MB)"
            ),
            (
                "Das Bild https://a.example wurde nicht importiert: Das Bild konnte nicht heruntergeladen werden: "
                "Adresse nicht erlaubt. Das Bild https://b.example wurde nicht importiert: Es ist zu groß "
                "(höchstens 20 MB)."
            ),
        ),
    ],
)
def test_reasons_are_translated(
    shop: Shop, kind: str, build_reason: Callable[[], Message], english: str, german: str
) -> None:
    reason = build_reason()
    row = ImportedRow(line=2, kind=kind, fate="failed", reason=reason)

    with shop_scope(shop), formats.language_override("de"):
        [displayed_row] = imports.display_rows([row])

    assert displayed_row.reason == german
    assert reason == english


def test_a_cut_list_of_messages_says_how_many_are_missing() -> None:
    notes = [_image_note(f"https://{number}.example/{'x' * 400}", too_large(2**20)) for number in range(6)]

    once = join_messages(notes)
    twice = join_messages([*get_items(once), *notes])
    with formats.language_override("de"):
        german = once.localize()

    assert once == f"{notes[0]}; {notes[1]}; {notes[2]}; 3 more"
    assert twice == f"{notes[0]}; {notes[1]}; {notes[2]}; 9 more"
    assert german.endswith("; 3 weitere")
    assert join_messages(notes[:1]) == notes[0]


def test_bulk_edit_rows_are_translated() -> None:
    row = EditedRow(
        reason=DomainError(at_least(0), field="price").sentence,
        changes=[["price", ["9.00", "12.00"], ["1200.00"]], ["vendor", "9.00", ""], ["status", "draft", "active"]],
    )

    with formats.language_override("de"):
        [translated_row] = edits.translate_rows([row])

    assert [change[1:] for change in translated_row.changes[:2]] == [("9,00 – 12,00", "1.200,00"), ("9.00", "")]
    assert "price" not in translated_row.reason


@pytest.mark.parametrize(
    ("text", "expected_output"),
    [
        (BLANK, "Can't be blank."),
        (too_long(255), "Is too long (maximum is 255 characters)."),
        ("Enter a number.", "Enter a number."),
        ("api_key must not be published.", "api_key must not be published."),
        ("https://shop.example is closed", "https://shop.example is closed."),
        ("", ""),
    ],
)
def test_phrases_of_the_interface_are_shown_as_sentences(text: str, expected_output: str) -> None:
    assert as_sentence(text) == expected_output
    assert list(SentenceErrorList([text])) == [expected_output]


def test_a_refusal_names_its_fields_in_words() -> None:
    error = DomainError({"compare_at_price": [BLANK], "base": ["Order #1001 is closed"], "handle": [TAKEN]})

    text = "Compare at price can't be blank. Order #1001 is closed. Handle has already been taken."
    assert format_errors(error) == text


def test_every_task_of_the_product_has_a_name_that_people_read() -> None:
    ours = {name: str(task.title) for name, task in queue.tasks.items() if not name.startswith("test.")}

    assert len(ours) > 20
    assert [name for name, title in ours.items() if not title or "." in title] == []
    assert queue.get_task_title("somebody.elses") == "somebody.elses"
