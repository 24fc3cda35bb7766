from typing import Any

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.inventory.domain import locations, stock, transfers
from apps.inventory.models import InventoryItem, Location, StockTransfer
from tests.support.factories.inventory import (
    get_available,
    get_first_location,
    make_item,
    make_location,
    make_transfer,
    set_stock,
)
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.panel.pages import GRID, get_messages

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, ADD, CHANGE, PRINT, CANCEL, RECEIVE = (
    f"inventory_stocktransfer_{name}" for name in ("changelist", "add", "change", "print", "cancel", "receive")
)


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("products")


@pytest.fixture
def item(shop: Shop) -> InventoryItem:
    row = make_item(shop)
    set_stock(row, get_first_location(shop), 8)
    return row


def fill(shop: Shop, depot: Location, item: InventoryItem, quantity: object, **values: object) -> dict[str, object]:
    places = {"origin": get_first_location(shop).pk, "destination": depot.pk}
    return {**places, f"quantity-{item.pk}": quantity, "note": "", **values}


def test_staff_send_items_and_receive_them_in_parts(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    depot = make_location(shop)
    sent = panel.http.post(panel.url(ADD), fill(shop, depot, item, 5, note="Pallet", step="send"), follow=True)
    transfer = StockTransfer.objects.get()
    assert get_messages(sent) == "T1 sent. The items are in transit to Depot."
    assert "5 in transit" in panel.get(GRID).content.decode()
    item_page = panel.get("inventory_inventoryitem_change", item.pk).content.decode()
    assert "5 in transit to Depot, not available yet." in item_page

    data = {"seen_version": transfer.version, f"quantity-{item.pk}": "2"}
    part = panel.http.post(panel.url(RECEIVE, transfer.pk), data, follow=True)
    again = panel.http.post(panel.url(RECEIVE, transfer.pk), data)

    assert get_messages(part) == (
        "2 received. The stock at Depot is updated. MUG-1 was not stocked at Depot before and is now stocked there."
    )
    assert "Someone else changed this in the meantime." in get_messages(again)
    transfer.refresh_from_db()
    shown = get_form(again.content, "seen_version").data
    assert (shown["seen_version"], shown[f"quantity-{item.pk}"]) == ([str(transfer.version)], ["2"])
    assert get_available(item, depot) == 2
    canceled = panel.http.post(panel.url(CANCEL, transfer.pk), follow=True)
    assert get_messages(canceled) == "Stock transfer T1 canceled. 3 returned to Shop location."
    assert get_available(item, get_first_location(shop)) == 6
    assert "Pallet" in panel.get(PRINT, transfer.pk).content.decode()


def test_too_much_is_marked_and_keeps_the_input(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    depot = make_location(shop)
    refused = panel.post(ADD, **fill(shop, depot, item, 9, step="send")).content.decode()
    assert ("Only 8 available at the origin." in refused, 'value="9"' in refused) == (True, True)
    assert not StockTransfer.objects.exists()
    transfer = make_transfer(item, depot, 5)
    transfers.send_transfer(transfer, actor="system", at=transfer.created_at)

    for text, error in (("6", "Enter a number from 0 to 5."), ("x", "Enter a whole number from 0 to 1000000.")):
        data: dict[str, Any] = {"seen_version": transfer.version, f"quantity-{item.pk}": text}
        page = panel.post(RECEIVE, transfer.pk, **data).content.decode()

        assert (error in page, f'value="{text}"' in page) == (True, True)
    assert transfers.get_incoming([item.pk]) == {(item.pk, depot.pk): 5}


def test_a_refused_reception_leaves_the_transfer_in_transit(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    transfer = make_transfer(item, make_location(shop, permits_sku_sharing=False), 5)
    transfers.send_transfer(transfer, actor="system", at=transfer.created_at)
    data: dict[str, Any] = {"seen_version": transfer.version, f"quantity-{item.pk}": "5"}

    page = panel.post(RECEIVE, transfer.pk, **data)

    assert "In transit" in page.content.decode()
    assert "can&#x27;t be stocked at Depot as well." in page.content.decode()
    shown = get_form(page.content, "seen_version").data
    assert (shown["seen_version"], shown[f"quantity-{item.pk}"]) == ([str(transfer.version)], ["5"])


def test_a_refused_cancellation_names_the_items(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    transfer, service = make_transfer(item, make_location(shop), 5), make_location(shop, permits_sku_sharing=False)
    transfers.send_transfer(transfer, actor="system", at=transfer.created_at)
    stock.connect_item(item, service, relocate=True, actor="system", at=transfer.created_at)

    refused = panel.http.post(panel.url(CANCEL, transfer.pk), follow=True)

    assert get_messages(refused) == (
        "Stock transfer T1 was not canceled. "
        "MUG-1: The item is stocked at Depot and can't be stocked at Shop location as well."
    )


def test_a_transfer_whose_items_were_deleted_is_closed(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    transfer = make_transfer(item, make_location(shop), 5)
    transfers.send_transfer(transfer, actor="system", at=transfer.created_at)
    assert "Close this transfer" not in panel.get(CHANGE, transfer.pk).content.decode()
    stock.delete_items([item.pk], actor="system", at=transfer.created_at)
    page = panel.get(CHANGE, transfer.pk)
    assert "Close this transfer" in page.content.decode()

    closed = panel.http.post(panel.url(RECEIVE, transfer.pk), get_form(page.content, "seen_version").data, follow=True)

    assert get_messages(closed) == "Stock transfer T1 closed."
    transfer.refresh_from_db()
    assert transfer.state == "closed"


def test_a_draft_of_inactive_locations_selects_no_other(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    depot, shed = make_location(shop), make_location(shop, name="Shed")
    transfer = make_transfer(item, shed, origin_id=depot.pk)
    for location in (depot, shed):
        locations.deactivate_location(location, actor="system", at=transfer.created_at)

    data = get_form(panel.get(CHANGE, transfer.pk).content, "seen_version").data

    assert (data["origin"], data["destination"]) == ([""], [""])


def test_the_same_location_is_refused_at_its_field(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    page = panel.post(ADD, **fill(shop, get_first_location(shop), item, 1, step="save"))

    assert page.context["form"].errors == {"destination": ["Choose two different locations."]}


def test_a_draft_is_saved_and_sent(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    depot = make_location(shop)
    panel.post(ADD, **fill(shop, depot, item, 5, step="save"))
    transfer = StockTransfer.objects.get()
    seen = panel.get(CHANGE, transfer.pk).context["seen"]

    panel.post(CHANGE, transfer.pk, **fill(shop, depot, item, 4, step="send", seen_version=seen))

    transfer.refresh_from_db()
    assert (transfer.state, transfer.lines.get().quantity) == ("in_transit", 4)


def test_transfers_are_found_and_filtered_by_either_location(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    depot, shed = make_location(shop), make_location(shop, name="Shed")
    make_transfer(item, depot, note="Spring pallet")
    make_transfer(item, shed)

    def find(**query: Any) -> list[str]:
        return [str(row) for row in panel.get(LIST, **query).context["cl"].result_list]

    assert find(place=depot.pk) == ["T1"]
    assert find(place=get_first_location(shop).pk) == ["T2", "T1"]
    assert [find(q=term) for term in ("T2", "spring", "MUG-1", "nothing")] == [["T2"], ["T1"], ["T2", "T1"], []]


def test_viewers_cannot_receive(admin_client_with: PanelWith, shop: Shop, item: InventoryItem) -> None:
    transfer = make_transfer(item, make_location(shop))
    transfers.send_transfer(transfer, actor="system", at=transfer.created_at)
    viewer = admin_client_with(view_only=["products"])

    assert "Received now" not in viewer.get(CHANGE, transfer.pk).content.decode()
    assert viewer.post(RECEIVE, transfer.pk).status_code == 403
    assert viewer.post(CANCEL, transfer.pk).status_code == 403


def test_scanned_codes_count_what_has_arrived(panel: Panel, shop: Shop, item: InventoryItem) -> None:
    other, unlisted = make_item(shop, sku="CUP-1"), make_item(shop, sku="PEN-1")
    set_stock(other, get_first_location(shop), 4)
    transfer = transfers.create_transfer(
        origin_id=get_first_location(shop).pk,
        destination_id=make_location(shop).pk,
        quantities={item.pk: 3, other.pk: 4},
        actor="system",
        at=timezone.now(),
    )
    transfers.send_transfer(transfer, actor="system", at=transfer.created_at)
    data = get_form(panel.get(CHANGE, transfer.pk).content, "seen_version").data
    mug, cup = f"quantity-{item.pk}", f"quantity-{other.pk}"
    assert (data[mug], data[cup]) == (["3"], ["4"])

    for code, counted in (
        ("MUG-1", ("1", "0")),
        ("mug-1", ("2", "0")),
        ("CUP-1", ("2", "1")),
        ("4", ("2", "4")),
        (unlisted.sku, ("2", "4")),
        ("", ("2", "4")),
    ):
        page = panel.http.post(panel.url(RECEIVE, transfer.pk), {**data, "code": code, "step": "find"})
        data = get_form(page.content, "seen_version").data
        assert (data[mug], data[cup]) == ([counted[0]], [counted[1]])
        assert ("PEN-1 is not missing from this transfer." in page.content.decode()) == (code == unlisted.sku)
    assert StockTransfer.objects.get().state == StockTransfer.State.IN_TRANSIT

    # A code that was not entered must not be lost.
    panel.http.post(panel.url(RECEIVE, transfer.pk), {**data, "code": "MUG-1", "step": "receive"})
    assert StockTransfer.objects.get().state == StockTransfer.State.IN_TRANSIT
    panel.http.post(panel.url(RECEIVE, transfer.pk), {**data, mug: "3", "code": "", "step": "receive"})
    assert StockTransfer.objects.get().state == StockTransfer.State.CLOSED
