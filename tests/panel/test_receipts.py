from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.inventory.domain import locations, receipts, stock
from apps.inventory.models import InventoryItem, StockReceipt
from tests.support.api_client import Response
from tests.support.factories import make_shop
from tests.support.factories.catalog import make_product
from tests.support.factories.inventory import (
    get_available,
    get_first_location,
    make_item,
    make_location,
    make_receipt,
)
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.panel.pages import get_messages

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, ADD, CHANGE, PRINT, CANCEL, LOOKUP = (
    f"inventory_stockreceipt_{name}" for name in ("changelist", "add", "change", "print", "cancel", "lookup")
)


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("products")


def fill(shop: Shop, quantities: dict[InventoryItem, object], **values: object) -> dict[str, object]:
    fields = {f"quantity-{item.pk}": text for item, text in quantities.items()}
    return {"location": get_first_location(shop).pk, "reason": "received", "note": "", **fields, **values}


def scan(panel: Panel, shop: Shop, code: str, quantities: dict[InventoryItem, object], **values: object) -> Response:
    return panel.post(ADD, **fill(shop, quantities, code=code, step="find", **values))


def get_quantities(response: Response) -> dict[str, str]:
    return {row.item.sku: row.quantity for row in response.context["lines"].rows}


def set_barcode(item: InventoryItem, barcode: str) -> InventoryItem:
    Variant.objects.filter(inventory_item=item).update(barcode=barcode)
    return item


def make_variant_item(sku: str, barcode: str = "") -> InventoryItem:
    item = make_product(f"Product {sku}").variants.get().inventory_item
    InventoryItem.objects.filter(pk=item.pk).update(sku=sku, tracked=True)
    item.refresh_from_db()
    return set_barcode(item, barcode)


def test_each_code_adds_one_without_scripts(panel: Panel, shop: Shop) -> None:
    mug, cup = make_variant_item("MUG-1", "4006381333931"), make_variant_item("CUP-1")

    first = scan(panel, shop, "4006381333931", {})
    again = scan(panel, shop, "mug-1", {mug: "1"}, last=mug.pk)
    number = scan(panel, shop, "12", {mug: "2"}, last=mug.pk)
    added = scan(panel, shop, "+3", {mug: "12"}, last=mug.pk)
    other = scan(panel, shop, "CUP-1", {mug: "15"}, last=mug.pk)
    removed = panel.post(ADD, **fill(shop, {mug: "15", cup: "1"}, remove=mug.pk))

    pages = (first, again, number, added, other, removed)
    assert [get_quantities(page) for page in pages] == [
        {"MUG-1": "1"}, {"MUG-1": "2"}, {"MUG-1": "12"}, {"MUG-1": "15"}, {"CUP-1": "1", "MUG-1": "15"}, {"CUP-1": "1"}
    ]  # fmt: skip
    assert "Product MUG-1: 12" in number.content.decode()
    assert not StockReceipt.objects.exists()


def test_a_number_that_is_a_code_adds_the_item(panel: Panel, shop: Shop) -> None:
    mug = make_variant_item("MUG-1")
    make_variant_item("10023")
    same = [make_item(shop, sku="77") for _number in range(2)]

    added = scan(panel, shop, "10023", {mug: "4"}, last=mug.pk)
    plus = scan(panel, shop, "+10023", {mug: "4"}, last=mug.pk)
    beginning = scan(panel, shop, "100", {mug: "4"}, last=mug.pk)
    several = scan(panel, shop, "77", {mug: "4"}, last=mug.pk)

    assert get_quantities(added) == {"10023": "1", "MUG-1": "4"}
    assert [get_quantities(page) for page in (plus, beginning)] == [{"MUG-1": "10027"}, {"MUG-1": "100"}]
    assert get_quantities(several) == {"MUG-1": "4"}
    assert {row.item.pk for row in several.context["lines"].found_rows} == {item.pk for item in same}
    answers = [panel.get(LOOKUP, code=code).json() for code in ("10023", "100", "77")]
    assert [(found["exact"], found["coded"]) for found in answers] == [(True, True), (False, False), (False, True)]


def test_a_code_that_was_not_entered_is_not_lost(panel: Panel, shop: Shop) -> None:
    mug, _cup = make_variant_item("MUG-1"), make_variant_item("CUP-1")

    known = panel.post(ADD, **fill(shop, {mug: "4"}, code="CUP-1", step="receive"))
    unknown = panel.post(ADD, **fill(shop, {mug: "4"}, code="NO-SUCH", step="save"))

    for page in (known, unknown):
        assert "Nothing was saved yet, because the field for codes had text." in get_messages(page)
    assert get_quantities(known) == {"CUP-1": "1", "MUG-1": "4"}
    assert 'value="NO-SUCH"' in unknown.content.decode()
    assert not StockReceipt.objects.exists()


def test_a_sku_in_another_case_is_found(panel: Panel, shop: Shop) -> None:
    mug = make_variant_item("MUG")
    for number in range(11):
        make_item(shop, sku=f"MUG-{number}")

    assert get_quantities(scan(panel, shop, "mug", {})) == {mug.sku: "1"}


def test_an_unknown_code_is_named_and_stays_in_the_field(panel: Panel, shop: Shop) -> None:
    mug, foreign = make_variant_item("MUG-1"), make_item(make_shop(), sku="FOREIGN")

    for code in ("NO-SUCH", foreign.sku, "12345", "99999999999999999999999"):
        page = scan(panel, shop, code, {mug: "4"})

        html = page.content.decode()
        assert f"No item has the SKU or barcode “{code}”." in html
        assert f'value="{code}"' in html
        assert get_quantities(page) == {"MUG-1": "4"}


def test_several_items_are_offered(panel: Panel, shop: Shop) -> None:
    items = [make_item(shop, sku="SAME"), make_item(shop, sku="SAME")]

    page = scan(panel, shop, "SAME", {})
    chosen = panel.post(ADD, **fill(shop, {}, add=items[0].pk))
    found = panel.get(LOOKUP, code="SAME").json()

    assert "matches several items. Choose one." in page.content.decode()
    assert get_quantities(chosen) == {"SAME": "1"}
    assert (found["exact"], [row["id"] for row in found["items"]]) == (False, [item.pk for item in items])


def test_the_script_finds_one_item_by_code(panel: Panel, shop: Shop) -> None:
    mug = make_variant_item("MUG-1", "4006381333931")

    for code in ("4006381333931", "MUG-1", "mug-1"):
        expected = {"id": mug.pk, "name": "Product MUG-1", "sku": "MUG-1", "tracked": True}
        assert panel.get(LOOKUP, code=code).json() == {"items": [expected], "exact": True, "coded": True}
    assert panel.get(LOOKUP).json() == {"items": [], "exact": False, "coded": False}


def test_staff_receive_items_as_one_document(panel: Panel, shop: Shop) -> None:
    mug, depot = make_variant_item("MUG-1"), make_location(shop)
    values = fill(shop, {mug: "+12"}, location=depot.pk, note="Delivery note 7", step="receive")

    received = panel.http.post(panel.url(ADD), {**values, "form_key": panel.form_key(ADD)}, follow=True)

    receipt = StockReceipt.objects.get()
    page = received.content.decode()
    assert get_messages(received) == (
        "R1 received. The stock at Depot is updated. "
        "Product MUG-1 was not stocked at Depot before and is now stocked there."
    )
    assert [
        text for text in ("Stock receipt R1", "Product MUG-1", "MUG-1", "Delivery note 7") if text not in page
    ] == []
    assert get_available(mug, depot) == 12
    assert "R1" in panel.get("inventory_stockmovement_changelist", q="R1").content.decode()
    assert "Delivery note 7" in panel.get(PRINT, receipt.pk).content.decode()


def test_a_form_that_is_sent_twice_is_booked_once(panel: Panel, shop: Shop) -> None:
    item = make_item(shop)
    values = fill(shop, {item: "5"}, step="receive", form_key=panel.form_key(ADD))

    first, second = (panel.post(ADD, **values) for _number in range(2))

    assert first["Location"] == second["Location"]
    assert get_available(item, get_first_location(shop)) == 5


def test_a_draft_is_saved_changed_and_received(panel: Panel, shop: Shop) -> None:
    mug, cup = make_item(shop, sku="MUG-1"), make_item(shop, sku="CUP-1")
    saved = panel.post(ADD, **fill(shop, {mug: "5", cup: ""}, step="save"))
    receipt = StockReceipt.objects.get()
    assert saved["Location"] == panel.url(CHANGE, receipt.pk)

    page = panel.get(CHANGE, receipt.pk)
    assert get_quantities(page) == {"MUG-1": "5"}
    values = fill(shop, {mug: "6", cup: "2"}, seen_version=page.context["seen"])
    panel.post(CHANGE, receipt.pk, **values, step="receive")

    first = get_first_location(shop)
    assert (get_available(mug, first), get_available(cup, first)) == (6, 2)
    again = panel.post(CHANGE, receipt.pk, **values, step="receive")
    assert "Your input was not saved, because R1 is no longer a draft. Status: received." in get_messages(again)
    assert get_available(mug, first) == 6


def test_another_users_changes_are_not_overwritten_unnoticed(panel: Panel, shop: Shop) -> None:
    item = make_item(shop)
    receipt = make_receipt(item, 1)
    seen = panel.get(CHANGE, receipt.pk).context["seen"]
    values: Attrs = {"location_id": receipt.location_id, "reason": "received"}
    receipts.update_receipt(receipt, quantities={item.pk: 2}, actor="system", at=receipt.created_at, **values)

    scanned = panel.post(CHANGE, receipt.pk, **fill(shop, {item: "9"}, code="MUG-1", step="find", seen_version=seen))
    refused = panel.post(
        CHANGE, receipt.pk, **fill(shop, {item: "9"}, step="save", seen_version=scanned.context["seen"])
    )

    assert "Someone else changed this in the meantime." in refused.content.decode()
    assert receipt.lines.get().quantity == 2
    panel.post(CHANGE, receipt.pk, **fill(shop, {item: "9"}, step="save", seen_version=refused.context["seen"]))
    assert receipt.lines.get().quantity == 9


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x", "Enter a whole number from 0 to 1000000."),
        ("-3", "Enter a whole number from 0 to 1000000."),
        ("1000001", "Enter a whole number from 0 to 1000000."),
        ("0", "Add at least one item."),
    ],
)
def test_wrong_quantities_are_marked_and_keep_the_input(panel: Panel, shop: Shop, text: str, error: str) -> None:
    item = make_item(shop)

    page = panel.post(ADD, **fill(shop, {item: text}, note="Kept", step="receive"))

    data = get_form(page.content, "seen_version").data
    assert (data[f"quantity-{item.pk}"], [line.strip() for line in data["note"]]) == ([text], ["Kept"])
    assert error in page.content.decode()
    assert not StockReceipt.objects.exists()
    assert get_available(item, get_first_location(shop)) == 0


def test_refused_locations_are_named(panel: Panel, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)
    receipt = make_receipt(item, 2, location_id=depot.pk)
    locations.deactivate_location(depot, actor="system", at=receipt.created_at)

    opened = panel.get(CHANGE, receipt.pk).content
    assert get_form(opened, "seen_version").data["location"] == [""]
    page = panel.post(CHANGE, receipt.pk, **fill(shop, {item: "2"}, location=depot.pk, step="receive"))

    assert "Select a valid choice." in page.content.decode()
    assert get_form(page.content, "seen_version").data["location"] == [""]
    receipt.refresh_from_db()
    assert receipt.state == "draft"


def test_deleted_items_are_named(panel: Panel, shop: Shop) -> None:
    item, kept = make_item(shop, sku="GONE"), make_item(shop, sku="KEPT")
    receipt = make_receipt(item, 2)
    stock.delete_items([item.pk], actor="system", at=receipt.created_at)

    assert "GONE was deleted. The line is removed when you save." in panel.get(CHANGE, receipt.pk).content.decode()
    panel.post(CHANGE, receipt.pk, **fill(shop, {kept: "1"}, step="receive"))

    assert get_available(kept, get_first_location(shop)) == 1


def test_deleted_items_of_an_open_form_are_named(panel: Panel, shop: Shop) -> None:
    mug, cup = make_item(shop, sku="MUG-1"), make_item(shop, sku="CUP-1")
    data = get_form(scan(panel, shop, "CUP-1", {mug: "2"}).content, "code").data
    stock.delete_items([cup.pk], actor="system", at=timezone.now())

    refused = panel.post(ADD, **{**data, "step": "receive"})

    assert "CUP-1 was deleted. The line is removed when you save." in refused.content.decode()
    assert not StockReceipt.objects.exists()
    panel.post(ADD, **{**get_form(refused.content, "code").data, "step": "receive"})
    assert get_available(mug, get_first_location(shop)) == 2


def test_the_history_of_a_receipt_shows_no_other_receipt(panel: Panel, shop: Shop) -> None:
    item, location = make_item(shop), get_first_location(shop)
    receipt = make_receipt(item)
    for reference in ("R1", "R10"):
        stock.adjust_available(item.pk, location.pk, 1, reference=reference, actor="system", at=receipt.created_at)

    receipts.receive_receipt(receipt, actor="system", at=receipt.created_at)
    page = panel.open(panel.get(CHANGE, receipt.pk).context["history"])

    assert [row.reference for row in page.context["cl"].result_list] == ["R1", "R1"]


def test_a_draft_is_canceled(panel: Panel, shop: Shop) -> None:
    receipt = make_receipt(make_item(shop))

    canceled = panel.http.post(panel.url(CANCEL, receipt.pk), follow=True)
    again = panel.http.post(panel.url(CANCEL, receipt.pk), follow=True)

    assert get_messages(canceled) == "Stock receipt R1 canceled."
    assert get_messages(again) == "R1 is canceled."


@pytest.mark.parametrize(
    "term", ["R2", "2", "#2", "CUP-1", "cup", "Product CUP", "4006381333931", "spring", "Delivery"]
)
def test_receipts_are_found(panel: Panel, shop: Shop, term: str) -> None:
    make_receipt(make_variant_item("MUG-1"))
    make_receipt(make_variant_item("CUP-1", "4006381333931"), note="Spring delivery")

    page = panel.get(LIST, q=term)

    assert [str(row) for row in page.context["cl"].result_list] == ["R2"]


def test_receipts_are_filtered(panel: Panel, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)
    make_receipt(item)
    make_receipt(item, 7, location_id=depot.pk)

    def find(**query: Any) -> list[str]:
        return [str(row) for row in panel.get(LIST, **query).context["cl"].result_list]

    assert find(location__id__exact=depot.pk) == ["R2"]
    assert find(state__exact="received") == []
    assert find(created_from="2001-01-01", created_to="2001-01-02") == []
    assert find() == ["R2", "R1"]


@pytest.mark.parametrize("count", [1, 3])
def test_the_list_costs_the_same_queries(
    panel: Panel, shop: Shop, count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _number in range(count):
        make_receipt(make_item(shop))
    panel.get(LIST)

    with django_assert_num_queries(13):
        panel.get(LIST)


def test_viewers_see_a_draft_without_a_form(admin_client_with: PanelWith, shop: Shop) -> None:
    viewer, receipt = admin_client_with(view_only=["products"]), make_receipt(make_item(shop))

    page = viewer.get(CHANGE, receipt.pk).content.decode()

    assert "Stock receipt R1" in page
    assert 'name="code"' not in page
    assert viewer.post(CHANGE, receipt.pk, step="receive").status_code == 403
    assert viewer.get(ADD).status_code == 403
    assert viewer.get(LOOKUP, code="MUG-1").status_code == 403
