"""Stock transfers: sending, receiving in whole or part, canceling, and what is refused."""

from datetime import UTC, datetime
from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction

from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.inventory.domain import locations, stock, transfers
from apps.inventory.domain.documents import DocumentChanged, DocumentClosed, LinesRefused, LocationRefused
from apps.inventory.domain.locations import LocationInUse
from apps.inventory.models import (
    InventoryItem,
    InventoryLevel,
    Location,
    StockMovement,
    StockTransfer,
    StockTransferLine,
)
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted
from tests.support.factories.inventory import (
    get_available,
    get_first_location,
    get_ledger,
    get_topics,
    make_item,
    make_location,
    make_transfer,
    set_stock,
)

pytestmark = pytest.mark.usefixtures("in_shop")

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: Attrs = {"actor": "staff:17", "at": NOON}


@pytest.fixture
def first(shop: Shop) -> Location:
    return get_first_location(shop)


@pytest.fixture
def depot(shop: Shop) -> Location:
    return make_location(shop)


@pytest.fixture
def item(shop: Shop, first: Location) -> InventoryItem:
    row = make_item(shop)
    set_stock(row, first, 8)
    return row


def send(item: InventoryItem, depot: Location, quantity: int = 5) -> StockTransfer:
    transfer = make_transfer(item, depot, quantity)
    transfers.send_transfer(transfer, **BY)
    return transfer


def test_items_in_transit_are_available_nowhere(
    shop: Shop, item: InventoryItem, first: Location, depot: Location
) -> None:
    draft = make_transfer(item, depot, 5)
    assert get_available(item, first) == 8

    transfers.send_transfer(draft, **BY)

    assert (str(draft), draft.state, draft.sent_at, draft.sent_by) == ("T1", "in_transit", NOON, "staff:17")
    assert get_available(item, first) == 3
    assert not InventoryLevel.objects.filter(location=depot).exists()
    assert transfers.get_incoming([item.pk]) == {(item.pk, depot.pk): 5}
    assert get_ledger(item, first)[-1] == (-5, 3, "transfer")
    assert StockMovement.objects.latest("id").reference == "T1"


def test_a_transfer_is_received_in_parts(shop: Shop, item: InventoryItem, first: Location, depot: Location) -> None:
    transfer = send(item, depot)

    new_items = transfers.receive_transfer(transfer, {item.pk: 2}, **BY)

    assert (new_items, transfer.state, get_available(item, depot)) == ([item], "in_transit", 2)
    assert transfers.get_incoming([item.pk]) == {(item.pk, depot.pk): 3}
    transfers.receive_transfer(transfer, {item.pk: 3}, **BY)
    assert (transfer.state, transfer.closed_by, get_available(item, depot)) == ("closed", "staff:17", 5)
    assert transfers.get_incoming([item.pk]) == {}
    assert get_ledger(item, depot) == [(2, 2, "transfer"), (3, 5, "transfer")]
    assert get_topics(shop, "stock_transfers/") == [
        "stock_transfers/create", "stock_transfers/send", "stock_transfers/receive", "stock_transfers/receive"
    ]  # fmt: skip
    updates = Event.objects.filter(topic="inventory_levels/update", actor="staff:17")
    assert updates.count() == 3
    call_command("check_stock", stdout=StringIO())


def test_canceling_returns_what_was_not_received(item: InventoryItem, first: Location, depot: Location) -> None:
    transfer = send(item, depot)
    transfers.receive_transfer(transfer, {item.pk: 2}, **BY)

    returned = transfers.cancel_transfer(transfer, **BY)

    assert (returned, transfer.state) == (3, "canceled")
    assert (get_available(item, first), get_available(item, depot)) == (6, 2)
    assert transfers.get_incoming([item.pk]) == {}
    with pytest.raises(DocumentClosed, match="T1 is canceled"):
        transfers.cancel_transfer(transfer, **BY)


def test_a_canceled_draft_changes_no_stock(item: InventoryItem, first: Location, depot: Location) -> None:
    transfer = make_transfer(item, depot)

    assert transfers.cancel_transfer(transfer, **BY) == 0

    assert get_available(item, first) == 8


def test_more_than_available_is_not_sent(shop: Shop, item: InventoryItem, first: Location, depot: Location) -> None:
    scarce, absent = make_item(shop, sku="SCARCE"), make_item(shop, sku="ABSENT")
    InventoryLevel.objects.filter(item=absent).delete()
    quantities = {item.pk: 1, scarce.pk: 2, absent.pk: 1}
    transfer = transfers.create_transfer(
        origin_id=first.pk, destination_id=depot.pk, quantities=quantities, actor="system", at=NOON
    )

    with pytest.raises(LinesRefused) as refused:
        transfers.send_transfer(transfer, **BY)

    assert refused.value.lines == {
        scarce.pk: "Only 0 available at the origin.",
        absent.pk: "The item is not stocked at this location.",
    }
    assert get_available(item, first) == 8
    transfer.refresh_from_db()
    assert transfer.state == "draft"


def test_untracked_items_are_sent_without_stock(shop: Shop, first: Location, depot: Location) -> None:
    item = make_item(shop, tracked=False)

    transfer = send(item, depot, 2)
    transfers.receive_transfer(transfer, {item.pk: 2}, **BY)

    assert (get_available(item, first), get_available(item, depot)) == (-2, 2)


@pytest.mark.parametrize("quantity", [6, -1])
def test_no_more_is_received_than_was_sent(item: InventoryItem, depot: Location, quantity: int) -> None:
    transfer = send(item, depot)

    with pytest.raises(LinesRefused) as refused:
        transfers.receive_transfer(transfer, {item.pk: quantity}, **BY)
    with pytest.raises(IntegrityError), transaction.atomic():
        StockTransferLine.objects.filter(transfer=transfer).update(received=quantity)

    assert refused.value.lines == {item.pk: "Enter a number from 0 to 5."}
    assert not InventoryLevel.objects.filter(location=depot).exists()


def test_receptions_without_items_are_refused(shop: Shop, item: InventoryItem, depot: Location) -> None:
    transfer, other = send(item, depot), make_item(shop, sku="OTHER")

    with pytest.raises(DomainError, match="at least one item"):
        transfers.receive_transfer(transfer, {item.pk: 0}, **BY)
    with pytest.raises(LinesRefused):
        transfers.receive_transfer(transfer, {other.pk: 1}, **BY)


def test_steps_in_the_wrong_order_are_refused(item: InventoryItem, first: Location, depot: Location) -> None:
    transfer = make_transfer(item, depot)
    with pytest.raises(DocumentClosed, match="T1 was not sent yet"):
        transfers.receive_transfer(transfer, {item.pk: 1}, **BY)
    transfers.send_transfer(transfer, **BY)
    with pytest.raises(DocumentClosed, match="T1 was already sent"):
        transfers.send_transfer(transfer, **BY)
    transfers.receive_transfer(transfer, {item.pk: 5}, **BY)
    with pytest.raises(DocumentClosed, match="T1 was already received in full"):
        transfers.cancel_transfer(transfer, **BY)

    assert (get_available(item, first), get_available(item, depot)) == (3, 5)


def test_two_locations_of_the_shop_are_needed(shop: Shop, item: InventoryItem, first: Location) -> None:
    with pytest.raises(LocationRefused, match="two different locations"):
        make_transfer(item, first)
    with pytest.raises(LocationRefused):
        make_transfer(item, make_location(shop, legacy=True))
    transfer = make_transfer(item, make_location(shop))
    with pytest.raises(IntegrityError), transaction.atomic():
        StockTransfer.objects.filter(pk=transfer.pk).update(destination=first)
    with pytest.raises(IntegrityError), transaction.atomic():
        StockTransfer.objects.filter(pk=transfer.pk).update(state="closed")


def test_locations_with_items_in_transit_stay_active(item: InventoryItem, depot: Location) -> None:
    transfer = send(item, depot)

    with pytest.raises(LocationInUse) as refused:
        locations.deactivate_location(depot, **BY)

    assert refused.value.errors == {"base": ["1 stock transfer from or to this location is in transit."]}
    transfers.cancel_transfer(transfer, **BY)
    locations.deactivate_location(depot, **BY)
    with pytest.raises(LocationRefused, match="Depot is inactive"):
        make_transfer(item, depot)


def test_items_deleted_in_transit_do_not_keep_the_transfer_open(
    shop: Shop, item: InventoryItem, first: Location, depot: Location
) -> None:
    other = make_item(shop, sku="GONE")
    set_stock(other, first, 1)
    transfer = transfers.create_transfer(
        origin_id=first.pk, destination_id=depot.pk, quantities={item.pk: 2, other.pk: 1}, actor="system", at=NOON
    )
    transfers.send_transfer(transfer, **BY)

    stock.delete_items([other.pk], **BY)
    transfers.receive_transfer(transfer, {item.pk: 2}, **BY)

    assert transfer.state == "closed"
    assert transfer.lines.get(item=None).name == "GONE"


def test_a_form_of_an_earlier_version_is_refused(item: InventoryItem, depot: Location) -> None:
    transfer = send(item, depot)
    seen = transfer.version
    transfers.receive_transfer(transfer, {item.pk: 2}, seen_version=seen, **BY)

    with pytest.raises(DocumentChanged):
        transfers.receive_transfer(transfer, {item.pk: 2}, seen_version=seen, **BY)

    assert get_available(item, depot) == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_items_are_received_twice_without_the_lock")
def test_items_received_twice_at_once_are_booked_once(shop: Shop, item: InventoryItem, depot: Location) -> None:
    transfer = send(item, depot)
    receive = partial(transfers.receive_transfer, quantities={item.pk: 2}, seen_version=transfer.version, **BY)

    results = run_concurrently(
        shop, *[partial(receive, StockTransfer.objects.get(pk=transfer.pk)) for _number in range(4)]
    )

    assert sum(isinstance(result, DocumentChanged) for result in results) == 3
    assert get_available(item, depot) == 2
    call_command("check_stock", stdout=StringIO())


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_items_are_received_twice_without_the_lock(shop: Shop, item: InventoryItem, depot: Location) -> None:
    """Show what goes wrong without the lock: both calls read the same version."""
    set_stock(item, depot, 0)
    transfer = send(item, depot)
    receive = partial(transfers.receive_transfer, quantities={item.pk: 2}, seen_version=transfer.version, **BY)

    run_unguarded(
        shop,
        partial(receive, StockTransfer.objects.get(pk=transfer.pk)),
        partial(receive, StockTransfer.objects.get(pk=transfer.pk)),
        locks=("inventory_stocktransfer", "inventory_inventoryitem"),
    )

    assert get_available(item, depot) == 4


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_items_are_received_twice_without_the_lock")
def test_a_transfer_canceled_while_it_is_received_returns_only_the_rest(
    shop: Shop, item: InventoryItem, first: Location, depot: Location
) -> None:
    transfer = send(item, depot)

    returned = run_while_uncommitted(
        shop,
        lambda: transfers.receive_transfer(StockTransfer.objects.get(pk=transfer.pk), {item.pk: 2}, **BY),
        lambda: transfers.cancel_transfer(StockTransfer.objects.get(pk=transfer.pk), **BY),
    )

    assert (returned, get_available(item, first), get_available(item, depot)) == (3, 6, 2)
    call_command("check_stock", stdout=StringIO())
