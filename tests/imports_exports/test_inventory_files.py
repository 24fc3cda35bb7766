"""Tests for imports and exports of stock by SKU and location."""

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.models import Import, ImportedRow
from apps.inventory.domain.consistency_checks import find_differences
from apps.inventory.models import InventoryItem, InventoryLevel, Location, StockMovement
from tests.support import factories
from tests.support.factories.catalog import make_product
from tests.support.factories.inventory import make_location
from tests.support.files.import_export import export_text, import_text

pytestmark = pytest.mark.django_db
LONG = (
    "Handle,Title,Option1 Name,Option1 Value,SKU,HS Code,COO,Location,Incoming,Unavailable,Committed,Available,On hand"
)
PRODUCTS = (
    "Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Inventory Tracker,Variant Inventory Qty,Variant Price"
)
NEW = (
    "Handle,Title,Option1 Name,Option1 Value,SKU,HS Code,COO,Location,Bin name,Incoming (not editable),"
    "Unavailable (not editable),Committed (not editable),Available (not editable),On hand (current),On hand (new)"
)


@pytest.fixture
def stocked_shop(in_shop: Shop, tmp_path: Path) -> Shop:
    """Return a shop with two locations and three variants. Two products have the same SKU."""
    Location.objects.update(name="Berlin")
    make_location(in_shop, name="Hamburg")
    import_text(
        in_shop,
        f"{PRODUCTS}\n"
        "socks,Socks,Size,38,SOCK-38,yes,5,9\nsocks,,,42,SOCK-42,yes,7,9\nmug,Mug,,,DUP,yes,1,4\njug,Jug,,,DUP,,,4\n",
        tmp_path,
        "products.csv",
    )
    return in_shop


def import_table(shop: Shop, tmp_path: Path, *lines: str, **options: object) -> str:
    return import_text(shop, "\n".join([*lines, ""]), tmp_path, "in.csv", **options)


def get_stock() -> dict[tuple[str, str], int]:
    levels = InventoryLevel.objects.order_by("item_id", "location_id")
    rows = levels.values_list("item__variant__product__handle", "item__sku", "location__name", "available")
    return {(f"{handle} {sku}", location): available for handle, sku, location, available in rows}


def test_a_long_table_only_writes_changed_levels(stocked_shop: Shop, tmp_path: Path) -> None:
    before = StockMovement.objects.count()
    mug = InventoryItem.objects.get(variant__product__handle="mug")

    report = import_table(
        stocked_shop,
        tmp_path,
        LONG,
        "socks,Socks,Size,38,SOCK-38,,,Berlin,0,0,0,5,5",
        "socks,Socks,Size,38,SOCK-38,,,Hamburg,0,0,0,3,3",
        "socks,Socks,Size,42,SOCK-42,,,Berlin,0,1,2,4,7",
        "mug,Mug,Title,Default Title,,,,Berlin,0,0,0,-2,-2",
        "socks,Socks,Size,42,SOCK-42,,,Hamburg,not stocked,not stocked,not stocked,not stocked,not stocked",
    )

    assert report.splitlines()[1:] == [
        f"line 5: changed – item:{mug.pk} The stock of -2 is negative: more units were sold than were in stock",
        "Done: 0 new, 3 changed, 2 skipped, 0 failed.",
    ]
    assert get_stock() == {
        ("socks SOCK-38", "Berlin"): 5,
        ("socks SOCK-38", "Hamburg"): 3,
        ("socks SOCK-42", "Berlin"): 4,
        ("mug DUP", "Berlin"): -2,
        ("jug DUP", "Berlin"): 0,
    }
    movements = StockMovement.objects.order_by("pk")[before:]
    assert [(row.delta, row.reason, row.reference) for row in movements] == [
        (3, "count", "Import"),
        (-3, "count", "Import"),
        (-3, "count", "Import"),
    ]
    assert list(Variant.objects.order_by("pk").values_list("inventory_quantity", flat=True)) == [8, 4, -2, 0]
    assert list(find_differences()) == []


def test_a_wide_table_has_a_column_per_location(stocked_shop: Shop, tmp_path: Path) -> None:
    report = import_table(
        stocked_shop,
        tmp_path,
        "Handle,Title,Option1 Name,Option1 Value,SKU,HS Code,COO,Berlin,hamburg ,Atlantis",
        "socks,Socks,Size,38,SOCK-38,,,6,2,9",
        "socks,Socks,Size,42,SOCK-42,,,,not stocked,9",
        ignore_unknown=True,
    )

    assert "Done: 0 new, 1 changed, 1 skipped, 0 failed." in report
    assert get_stock()["socks SOCK-38", "Berlin"] == 6
    assert get_stock()["socks SOCK-38", "Hamburg"] == 2
    assert ("socks SOCK-42", "Hamburg") not in get_stock()
    import_job = Import.objects.latest("pk")
    assert (import_job.unknown, import_job.passed_over) == (["Atlantis"], ["HS Code", "COO"])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",,,,NONE,,,Berlin,,,,1,", "SKU: there is no variant with the SKU 'NONE'"),
        (",,,,SOCK-38,,,Atlantis,,,,1,", "Location: there is no active location named 'Atlantis'"),
        (",,,,DUP,,,Berlin,,,,1,", "SKU: 2 variants have this SKU. Add the handle and the option values"),
        ("none,,,,,,,Berlin,,,,1,", "Handle: there is no product with the handle 'none'"),
        ("socks,,,,,,,Berlin,,,,1,", "Handle: the product has several variants. Add a SKU or the option values"),
        ("socks,,,40,,,,Berlin,,,,1,", "Handle: the product has no variant with the options 40"),
        (",,,,,,,Berlin,,,,1,", "Handle: is blank. Enter a SKU or a handle"),
        (",,,,SOCK-38,,,Berlin,,,,2.5,", "Available: '2.5' is not a whole number"),
        (",,,,SOCK-38,,,Berlin,,,,9999999999,", "Available: 9999999999 must be between -1000000000 and 1000000000"),
        (
            ",,,,SOCK-38,,,Berlin,,,,1,2",
            (
                "On hand: 2 on hand and 1 available contradict each other, and the current stock is 5. "
                "Clear one of the two cells"
            ),
        ),
    ],
)
def test_a_row_without_a_clear_level_fails_alone(stocked_shop: Shop, tmp_path: Path, row: str, reason: str) -> None:
    import_table(stocked_shop, tmp_path, LONG, row, ",,,,SOCK-42,,,Berlin,,,,9,")

    rows = ImportedRow.objects.filter(file=Import.objects.latest("pk")).order_by("line")
    assert [(row.fate, str(row.reason)) for row in rows] == [("failed", reason), ("changed", "")]
    assert get_stock()["socks SOCK-38", "Berlin"] == 5
    assert get_stock()["socks SOCK-42", "Berlin"] == 9


def test_the_quantity_that_staff_changed_counts(stocked_shop: Shop, tmp_path: Path) -> None:
    import_table(
        stocked_shop,
        tmp_path,
        LONG,
        ",,,,SOCK-38,,,Berlin,,,,5,8",
        ",,,,SOCK-42,,,Berlin,,1,1,3,9",
        "mug,,,,DUP,,,Berlin,,2,3,,10",
    )

    stock = get_stock()
    assert (stock["socks SOCK-38", "Berlin"], stock["socks SOCK-42", "Berlin"]) == (8, 3)
    assert stock["mug DUP", "Berlin"] == 5


def test_new_counts_never_overwrite_sales(stocked_shop: Shop, tmp_path: Path) -> None:
    report = import_table(
        stocked_shop,
        tmp_path,
        NEW,
        ",,,,SOCK-38,,,Berlin,,0,0,2,5,7,10",
        ",,,,SOCK-42,,,Berlin,,0,0,0,8,8,10",
        "mug,,,,DUP,,,Berlin,,0,0,0,1,1,",
    )

    assert "On hand (new): the current stock is 7, not 8. Export the file again" in report
    stock = get_stock()
    assert (stock["socks SOCK-38", "Berlin"], stock["socks SOCK-42", "Berlin"], stock["mug DUP", "Berlin"]) == (8, 7, 1)


def test_an_export_goes_in_again_and_edits_are_taken(stocked_shop: Shop, tmp_path: Path) -> None:
    import_table(stocked_shop, tmp_path, LONG, ",,,,SOCK-38,,,Hamburg,,,,3,")

    text = export_text(stocked_shop, factories.UserFactory.create(), "inventory", "csv")
    unchanged = import_text(stocked_shop, text, tmp_path, "export.csv")
    edited = text.replace("Hamburg,,,,3,3", "Hamburg,,,,3,8").replace("Berlin,,,,7,7", "Berlin,,,,6,7")
    changed = import_text(stocked_shop, edited, tmp_path, "edited.csv")
    json_lines = export_text(stocked_shop, factories.UserFactory.create(), "inventory", "jsonl")
    from_json = import_text(stocked_shop, json_lines.replace('"available":8', '"available":1'), tmp_path)

    assert "0 new, 0 changed, 5 skipped, 0 failed" in unchanged
    assert "0 new, 2 changed, 3 skipped, 0 failed" in changed
    assert "0 new, 1 changed, 4 skipped, 0 failed" in from_json
    assert get_stock()["socks SOCK-38", "Hamburg"] == 1
    assert get_stock()["socks SOCK-42", "Berlin"] == 6


def test_more_rows_take_no_more_statements(stocked_shop: Shop, tmp_path: Path) -> None:
    rows = [f"item-{number},Item,,,ITEM-{number},yes,1,1" for number in range(60)]
    import_table(stocked_shop, tmp_path, PRODUCTS, *rows)
    counts = []
    for count, quantity in ((3, 4), (60, 5)):
        lines = [
            f",,,,ITEM-{number},,,{place},,,,{quantity}," for number in range(count) for place in ("Berlin", "Hamburg")
        ]
        with CaptureQueriesContext(connection) as queries:
            report = import_table(stocked_shop, tmp_path, LONG, *lines)
        assert f"{2 * count} changed" in report
        counts.append(len([query for query in queries if not query["sql"].startswith("UPDATE")]))

    # SQLite splits long lists of values, so a few statements are repeated.
    assert counts[1] - counts[0] < 10


def test_another_shops_variants_and_locations_are_unknown(stocked_shop: Shop, tmp_path: Path) -> None:
    other = factories.make_shop(domain="other.example")
    with shop_scope(other):
        make_product(title="Other", handle="other")
        InventoryItem.objects.update(sku="OTHER")
        make_location(other, name="Bremen")

    report = import_table(
        stocked_shop,
        tmp_path,
        LONG,
        ",,,,OTHER,,,Berlin,,,,9,",
        ",,,,SOCK-38,,,Bremen,,,,9,",
        "other,,,,,,,Berlin,,,,9,",
    )

    assert "0 new, 0 changed, 0 skipped, 3 failed" in report
