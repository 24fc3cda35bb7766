"""Tests of ``import_store --verify``: planted differences of each kind, and the report."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db.models import F

from apps.catalog.models import Collect, Collection, Product, ProductImage, Variant
from apps.content.models import Page, Redirect
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Address, Customer
from apps.inventory.models import InventoryItem, InventoryLevel, Location
from apps.metafields.models import Metafield
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.streams import Stream, streams
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.old_store import fill_store, post


def test_each_stream_declares_how_its_objects_are_compared() -> None:
    undeclared = [stream.name for stream in streams.values() if not isinstance(stream.comparison, Comparison)]
    assert undeclared == []
    # A stream without a serializer reads the objects of this shop by itself.
    for stream in streams.values():
        assert stream.comparison is not None
        assert stream.comparison.read is not None or type(stream).read_own is not Stream.read_own


def test_each_stream_that_finds_deletions_can_delete() -> None:
    names = [stream.name for stream in streams.values() if stream.finds_deletions]

    assert names
    assert [name for name in names if type(streams[name]).delete_target is Stream.delete_target] == []


def read_report(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_imported_store_is_equal_and_planted_differences_are_found(importer: StoreImporter, tmp_path: Path) -> None:
    fill_store(importer.source)
    importer.run()
    report = tmp_path / "report.jsonl"

    output = importer.run("--verify", "--report", str(report))

    assert "products: 5 equal, 0 differing, 0 missing here, 0 deleted here, 0 more here, 0 listed limits" in output
    assert "customers: not compared: state: passwords can't be read" in output
    assert "The shop is equal to the store" in output
    # The published theme is imported as a draft, and the token has no scope for staff.
    rows = read_report(report)
    assert [row for row in rows if not row["is_limit"]] == []
    assert {row["stream"] for row in rows if row["kind"] != "not compared"} == {"themes", "staff"}
    assert report.stat().st_mode & 0o777 == 0o600

    with shop_scope(importer.shop):
        product = Product.objects.order_by("pk")[1]
        Product.objects.filter(pk=product.pk).update(title="Other", published_at=None, template_suffix="wide")
        variant = Variant.objects.filter(product=product).order_by("position")[0]
        Variant.objects.filter(pk=variant.pk).update(price=F("price") + 1, image=None)
        other = Variant.objects.filter(product=product).order_by("position")[1]
        Variant.objects.filter(pk=other.pk).update(image=None)
        InventoryItem.objects.filter(pk=variant.inventory_item_id).update(cost=None)
        InventoryLevel.objects.filter(item_id=other.inventory_item_id).update(available=99)
        ProductImage.objects.filter(product=product).update(alt="Other")
        best = Collection.objects.get(handle="best")
        first, second = Collect.objects.filter(collection=best).order_by("position")[:2]
        Collect.objects.filter(pk=first.pk).update(position=100)
        Collection.objects.filter(handle="oak").update(disjunctive=False)
        customer = Customer.objects.get(email="ada-0@example.com")
        Customer.objects.filter(pk=customer.pk).update(note="Secret note")
        Address.objects.filter(customer=customer, address1="Side Street").update(city="Bonn")
        Page.objects.filter(handle="imprint").delete()
        Redirect.objects.filter(path="/old-about").update(target="/elsewhere")
        Metafield.objects.filter(owner_resource="customer").update(value='{"size":[9]}')
        Location.objects.update(city="Ulm")
        source_id = second.pk
    post(importer.target, "pages", "page", {"title": "Only here"})

    with pytest.raises(CommandError, match="objects differ"):
        importer.run("--verify", "--report", str(report))

    found = {(row["stream"], row["kind"], row["field"]) for row in read_report(report) if not row["is_limit"]}
    assert source_id
    assert found == {
        ("locations", "differs", "city"),
        ("products", "differs", "title"),
        ("products", "differs", "published_at"),
        ("products", "differs", "template_suffix"),
        ("products", "differs", "variants[0].price"),
        ("products", "differs", "variants[0].inventory_item.cost"),
        ("products", "differs", "variants[1].image_id"),
        ("products", "differs", "variants[1].levels[0].available"),
        ("products", "differs", "images[0].alt"),
        ("products", "differs", "images[0].variant_ids"),
        ("custom_collections", "differs", "product_ids[0]"),
        ("custom_collections", "differs", "product_ids[1]"),
        ("custom_collections", "differs", "product_ids[2]"),
        ("smart_collections", "differs", "disjunctive"),
        ("customers", "differs", "note"),
        ("customers", "differs", "addresses[1].city"),
        ("pages", "deleted in this shop", ""),
        ("pages", "more here", ""),
        ("redirects", "differs", "target"),
        ("customer_metafields", "differs", "metafields[0].value"),
    }
    note = next(row for row in read_report(report) if row["field"] == "note")
    assert (note["theirs"], note["ours"]) == ("Rings twice", "Secret note")
    assert "Secret note" not in importer.output.getvalue()
    assert f"customers {note['source_id']}: differs in note" in importer.output.getvalue()

    table = tmp_path / "report.csv"
    with pytest.raises(CommandError, match="objects differ"):
        importer.run("--verify", "--report", str(table))
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert ("Rings twice", "Secret note") in {(row["theirs"], row["ours"]) for row in rows}
