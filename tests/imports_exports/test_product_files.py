"""Tests for product files: importing an export creates equal products, and does not change existing products."""

import csv
import io
import json
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from apps.catalog.domain import products
from apps.catalog.models import Collect, Product, ProductImage, Variant
from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.domain import imports, runner
from apps.imports_exports.models import Import
from apps.imports_exports.resources.products.export import read_products
from apps.inventory.domain.consistency_checks import find_differences
from apps.inventory.models import InventoryItem, InventoryLevel, StockMovement
from tests.support import factories
from tests.support.compare_shops import ShopTables
from tests.support.factories.catalog import PNG, make_custom, make_image, make_product, make_smart
from tests.support.files.import_export import export_bytes, get_row_results, import_bytes, import_text
from tests.support.servers.http import Server, send_response

pytestmark = pytest.mark.usefixtures("media_root")

# Fields that differ between the exporting and the importing shop.
OWN = {"id", "product_id", "image_id", "inventory_item_id", "variant_ids", "admin_graphql_api_id", "created_at",
       "updated_at", "published_at", "src", "image", "inventory_levels", "spread"}  # fmt: skip
HEADER = "Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price,Variant Inventory Qty,Tags\n"


def remove_own_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: remove_own_values(inner) for name, inner in value.items() if name not in OWN}
    return [remove_own_values(inner) for inner in value] if isinstance(value, list) else value


def get_products(shop: Shop) -> list[Any]:
    with shop_scope(shop):
        return read_products(list(Product.objects.order_by("handle").values_list("pk", flat=True)))


def import_product_text(shop: Shop, text: str, tmp_path: Path, name: str = "in.csv", **options: Any) -> str:
    return import_text(shop, text, tmp_path, name, **options)


def create_products(shop: Shop, tmp_path: Path) -> None:
    """Create two products with nearly every value that a file can contain."""
    text = io.StringIO()
    rows = [
        {"Handle": "socks", "Title": "=Socks", "Body (HTML)": "<p>a, b</p>", "Vendor": "Acme", "Type": "Socks",
         "Tags": "warm, =x", "Published": "true", "Option1 Name": "Size", "Option1 Value": "38", "Option2 Name": "Ink",
         "Option2 Value": "Red", "Variant SKU": "S-38", "Variant Weight": "1.5", "Variant Weight Unit": "lb",
         "Variant Inventory Tracker": "yes", "Variant Inventory Qty": "5", "Variant Price": "9.90",
         "Variant Compare At Price": "12", "Cost per item": "4.2", "Variant HS Code": "610300", "Status": "active",
         "Variant Country of Origin": "SE", "Variant Requires Shipping": "false", "Variant Taxable": "false",
         "Variant Inventory Policy": "continue", "SEO Title": "Warm socks", "SEO Description": "Buy",
         "Collection": r"Win\;ter; Feet"},
        {"Handle": "socks", "Option1 Value": "42", "Option2 Value": "Red", "Variant Price": "10",
         "Variant Barcode": "0012"},
        {"Handle": "card", "Title": "Card", "Published": "false", "Status": "draft", "Variant Price": "1",
         "Cost per item": "0"},
    ]  # fmt: skip
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    report = import_product_text(shop, text.getvalue(), tmp_path)
    assert "2 new" in report, report
    with shop_scope(shop):
        costs = list(InventoryItem.objects.order_by("pk").values_list("cost", flat=True))
        assert costs == [Decimal("4.2"), None, Decimal(0)]
        socks = Product.objects.get(handle="socks")
        for alt in ("Front", "Back"):
            image = make_image(socks, alt=alt)
        Variant.objects.filter(product=socks, option1="42").update(image=image)


@pytest.mark.django_db
def test_an_export_fills_an_empty_shop_equally_and_changes_nothing_at_home(shop: Shop, tmp_path: Path) -> None:
    create_products(shop, tmp_path)
    user = factories.UserFactory.create()
    for form in ("csv", "xlsx", "jsonl"):
        other = factories.make_shop(domain=f"{form}.example", name="Other")
        content = export_bytes(shop, user, "products", form)
        with shop_scope(shop):
            told_of = Event.objects.exclude(topic__startswith="imports/").exclude(topic="products/export")
            before = told_of.count(), list(Product.objects.order_by("pk").values_list("version", flat=True))

        report, second_report, third = (
            import_bytes(target, content, tmp_path, f"{form}.{form}") for target in (other, shop, other)
        )

        assert "2 new, 0 changed" in report, report
        assert "0 new, 0 changed, 2 skipped, 0 failed" in second_report, second_report
        assert "0 new, 0 changed, 2 skipped, 0 failed" in third, third
        assert remove_own_values(get_products(other)) == remove_own_values(get_products(shop)), form
        with shop_scope(other):
            assert ProductImage.objects.count() == 2
            assert Variant.objects.values_list("image__alt", flat=True).get(option1="42") == "Back"
        with shop_scope(shop):
            told_of = Event.objects.exclude(topic__startswith="imports/").exclude(topic="products/export")
            assert told_of.count() == before[0]
            assert list(Product.objects.order_by("pk").values_list("version", flat=True)) == before[1]
    assert not list(find_differences())


def build_product_lines(count: int) -> str:
    """Return JSON lines with different kinds of new products, and with a product that the catalog refuses."""
    sizes = [{"option1": size, "price": "12.50", "sku": f"M-{size}", "inventory_quantity": 3} for size in "SML"]
    kinds: list[dict[str, Any]] = [
        {"options": [{"name": "Size"}], "variants": sizes, "tags": "blue, warm", "metafields_global_title_tag": "Mug"},
        {"variants": [{"price": "2.00", "inventory_quantity": 4}], "collections": ["Mugs", "New"], "vendor": "Smithy"},
        {"status": "draft", "collections": ["Mugs"], "tags": "blue"},
        {"options": [{"name": "Size"}], "variants": [sizes[0], sizes[0]]},
        {"variants": [{"price": "2.00", "inventory_quantity": 2 * 10**9}]},
    ]
    rows = [{"handle": f"mug-{number}", "title": "Mug", **kinds[number % 5]} for number in range(count)]
    return "".join(json.dumps({"product": row}) + "\n" for row in rows)


@pytest.mark.django_db
def test_new_products_come_after_the_existing_products_of_earlier_rows(tmp_path: Path) -> None:
    shop = factories.make_shop(domain="mixed.example", name="Shop")
    import_product_text(shop, '{"product": {"handle": "a", "title": "A"}}\n', tmp_path, "in.jsonl")
    rows = [{"handle": handle, "title": handle, "collections": ["Winter"]} for handle in ("new-1", "a", "new-2")]
    lines = "".join(json.dumps({"product": row}) + "\n" for row in rows)

    report = import_product_text(shop, lines, tmp_path, "in.jsonl")

    with shop_scope(shop):
        members = list(Collect.objects.order_by("position").values_list("product__handle", flat=True))
    assert "2 new" in report, report
    assert members == ["new-1", "a", "new-2"]


@pytest.mark.django_db
def test_products_created_together_equal_single_products(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise DomainError("no")

    results = []
    for alone in (True, False):
        shop = factories.make_shop(domain=f"alone-{alone}.example".lower(), name="Shop")
        with monkeypatch.context() as patch:
            if alone:
                patch.setattr(products, "create_products", refuse)
            else:
                patch.delattr(products, "create_product")
            patch.setattr(runner, "BATCH_SIZE", 4)
            lines = build_product_lines(15).splitlines(keepends=True)
            valid = "".join(line for number, line in enumerate(lines) if number % 5 < 3)
            report = import_product_text(shop, valid, tmp_path, "in.jsonl")
        results.append((report, ShopTables(shop).dump()))

    (report, tables), (report_together, tables_together) = results
    assert "9 new" in report, report
    assert report_together == report
    assert tables_together.keys() == tables.keys()
    for label, rows in tables.items():
        assert (label, sorted(tables_together[label])) == (label, sorted(rows))


@pytest.mark.django_db
def test_a_refused_product_fails_alone(in_shop: Shop, tmp_path: Path) -> None:
    report = import_product_text(in_shop, build_product_lines(10), tmp_path, "in.jsonl")

    assert "6 new, 0 changed, 0 skipped, 4 failed" in report, report
    assert sorted(Product.objects.values_list("handle", flat=True)) == [f"mug-{n}" for n in (0, 1, 2, 5, 6, 7)]
    assert not list(find_differences())


@pytest.mark.django_db
def test_more_new_products_take_no_more_statements(in_shop: Shop, tmp_path: Path) -> None:
    counts = []
    for size in (5, 50):
        rows = [{"handle": f"mug-{size}-{n}", "title": "Mug", "tags": "blue"} for n in range(size)]
        text = "".join(json.dumps({"product": row}) + "\n" for row in rows)
        with CaptureQueriesContext(connection) as statements:
            assert f"{size} new" in import_product_text(in_shop, text, tmp_path, f"{size}.jsonl")
        counts.append(len(statements))

    few_count, many_count = counts
    assert many_count <= few_count + 4, counts


@pytest.mark.django_db
def test_an_existing_product_takes_the_files_values_and_stock_is_counted(shop: Shop, tmp_path: Path) -> None:
    with shop_scope(shop):
        mug = make_product("Mug", prices=("1", "2"), tags="old", vendor="Acme")
        smart = make_smart("Cheap", ("title", "equals", "x"))
        make_custom("Kitchen", mug)
    import_product_text(
        shop, "Handle,Variant SKU,Option1 Value,Variant Inventory Qty,Collection\nmug,A,1,4,Kitchen; Cheap\n", tmp_path
    )
    rows = (
        "mug,Cup,Size,2,B,3.50,7,new\n"
        "mug,,,3,C,5,2,\n"
        "mug-2,,,,,,,\n"
        "odd,Odd,Size,1,,x,,\n"
        "twice,Twice,Size,1,,1,,\ntwice,,,1,,2,,\n"
    )

    report = import_product_text(shop, HEADER + rows, tmp_path)

    assert "0 new, 1 changed, 0 skipped, 3 failed" in report, report
    with shop_scope(shop):
        [product] = Product.objects.all()
        matching_rows = Variant.objects.order_by("position").values_list(
            "option1", "inventory_item__sku", "price", "inventory_quantity"
        )
        assert (product.title, product.tags, product.vendor, smart.title) == ("Cup", "new", "Acme", "Cheap")
        assert [(a, b, int(c * 10), d) for a, b, c, d in matching_rows] == [
            ("1", "A", 10, 4),
            ("2", "B", 35, 7),
            ("3", "C", 50, 2),
        ]
        assert set(StockMovement.objects.values_list("reason", "reference")) == {("count", "Import")}
    assert not list(find_differences())
    reasons = [reason for _, fate, reason in get_row_results(shop) if fate == "failed"]
    assert ["Title: " in reasons[0], "Variant Price: " in reasons[1], "already exists" in reasons[2]] == [True] * 3, (
        reasons
    )


# The header of the reference platform's CSV template. Imports do not support categories, links and measures.
REFERENCE = (
    "Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 Value,"
    "Option1 Linked To,Option2 Name,Option2 Value,Option2 Linked To,Option3 Name,Option3 Value,Option3 Linked To,"
    "Variant SKU,Variant Grams,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,"
    "Variant Fulfillment Service,Variant Price,Variant Compare At Price,Variant Requires Shipping,Variant Taxable,"
    "Unit Price Total Measure,Unit Price Total Measure Unit,Unit Price Base Measure,Unit Price Base Measure Unit,"
    "Variant Barcode,Image Src,Image Position,Image Alt Text,Gift Card,SEO Title,SEO Description,"
    "Google Shopping / Google Product Category,Google Shopping / Gender,Google Shopping / Age Group,"
    "Google Shopping / MPN,Google Shopping / Condition,Google Shopping / Custom Product,Variant Image,"
    "Variant Weight Unit,Variant Tax Code,Cost per item,Status"
)


@pytest.mark.django_db
def test_the_reference_platforms_table_comes_in_as_it_is(shop: Shop, tmp_path: Path) -> None:
    report = import_product_text(shop, f"{REFERENCE}\nhat,Hat,,Acme,Apparel > Hats,Headwear\n", tmp_path)

    assert "Ignored unsupported columns: Product Category, Option1 Linked To," in report
    assert "1 new, 0 changed, 0 skipped, 0 failed" in report
    with shop_scope(shop):
        assert Product.objects.get().product_type == "Headwear"


@pytest.mark.django_db
def test_columns_that_cannot_be_kept_are_named_and_gift_cards_noted(shop: Shop, tmp_path: Path) -> None:
    text = "Handle,Title,Gift Card,Season\na,A,false,Toys\nb,B,true,\n"

    with pytest.raises(Exception, match="Season"):
        import_product_text(shop, text, tmp_path)
    report = import_product_text(shop, text, tmp_path, ignore_unknown=True)

    note = "Gift cards are not supported: this gift card was imported as an ordinary product"
    assert report.endswith(f"line 3: new – b {note}\nDone: 2 new, 0 changed, 0 skipped, 0 failed.\n")
    assert get_row_results(shop)[1] == (3, "new", note)


@pytest.mark.django_db
def test_missing_images_are_reported_and_existing_recognized(shop: Shop, tmp_path: Path, settings: Settings) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    server = Server(send_response(PNG))
    try:
        text = (
            "Handle,Title,Image Src,Image Alt Text,Variant Price,Variant Image\n"
            f"mug,Mug,{server.url}a.png,Front,1,{server.url}a.png\nmug,,http://169.254.169.254/b.png,,,\n"
        )
        for expected in ("1 new", "1 skipped"):
            assert expected in import_product_text(shop, text, tmp_path), expected
            tmp_path = tmp_path / "again"
            tmp_path.mkdir()
            text += "\n"
    finally:
        server.close()

    assert len(server.requests) == 1
    reported_text = (
        "The image http://169.254.169.254/b.png was not imported: Could not download image: address not allowed"
    )
    assert all(reason == reported_text for _, _, reason in get_row_results(shop))
    with shop_scope(shop):
        image = ProductImage.objects.get()
        assert (image.alt, Variant.objects.get().image_id) == ("Front", image.pk)


@pytest.mark.django_db
def test_an_import_that_was_cut_off_goes_on_with_whole_products(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr("apps.imports_exports.domain.runner.BATCH_SIZE", 2)
    rows = "".join(
        f"p{number},{f'P{number}' if size == 1 else ''},Size,{size},S{number}-{size},1,{size},\n"
        for number in range(5)
        for size in (1, 2, 3)
    )
    with shop_scope(shop):
        import_job = imports.save_upload(
            io.BytesIO((HEADER + rows).encode()), "in.csv", actor="system", at=timezone.now()
        )
        imports.skip_validation(import_job)
        with closing(runner.run_import(Import.objects.get(pk=import_job.pk))) as connection:
            next(connection)
        first = Product.objects.count()
        with (
            closing(runner.run_import(Import.objects.get(pk=import_job.pk))) as connection,
            django_assert_max_num_queries(45 * 3 + 60),
        ):
            count = len(list(connection))

        assert (first, count) == (2, 3)
        assert set(Product.objects.values_list("handle", flat=True)) == {f"p{number}" for number in range(5)}
        assert Variant.objects.count() == 15
        assert sorted(InventoryLevel.objects.values_list("available", flat=True)) == [1] * 5 + [2] * 5 + [3] * 5
    assert json.dumps([fate for _, fate, _ in get_row_results(shop)]) == json.dumps(["new"] * 5)


@pytest.mark.django_db
def test_unreadable_cells_do_not_hide_errors_of_other_cells(shop: Shop, tmp_path: Path) -> None:
    header = "Handle,Title,Variant Price,Variant Taxable,Status\n"
    text = f"{header}mug,Mug,-1,perhaps,nowhere\npot,Pot,2,perhaps,\n"

    report = import_product_text(shop, text, tmp_path)

    assert "0 new, 0 changed, 0 skipped, 2 failed" in report
    (_, _, reason), (_, _, other_reason) = get_row_results(shop)
    assert "Variant Taxable: " in reason
    assert "Status: " in reason
    assert "Variant Price: " in reason
    assert reason.count("Variant Taxable") == 1
    assert other_reason.startswith("Variant Taxable: ")
    assert "Status: " not in other_reason
    with shop_scope(shop):
        assert not Product.objects.exists()
        assert not Event.objects.filter(topic__startswith="products/").exists()
