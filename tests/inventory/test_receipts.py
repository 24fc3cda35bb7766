"""Stock receipts: drafts, receiving, and what is refused."""

from datetime import UTC, datetime
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.inventory.domain import locations, receipts, stock
from apps.inventory.domain.documents import DocumentChanged, DocumentClosed, LinesRefused, LocationRefused
from apps.inventory.models import (
    MAX_AVAILABLE,
    MAX_LINES,
    MAX_QUANTITY,
    InventoryLevel,
    StockMovement,
    StockReceipt,
    StockReceiptLine,
)
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted
from tests.support.factories import make_shop
from tests.support.factories.inventory import (
    get_available,
    get_first_location,
    get_ledger,
    get_topics,
    make_item,
    make_location,
    make_receipt,
    set_stock,
)

pytestmark = pytest.mark.usefixtures("in_shop")

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: Attrs = {"actor": "staff:17", "at": NOON}


def receive(receipt: StockReceipt) -> Any:
    return receipts.receive_receipt(receipt, **BY)


def test_a_draft_changes_no_stock(shop: Shop) -> None:
    item = make_item(shop)

    receipt = make_receipt(item, 12, note="Delivery note 7")

    assert (str(receipt), receipt.state, receipt.note) == ("R1", "draft", "Delivery note 7")
    assert get_available(item, get_first_location(shop)) == 0
    assert get_topics(shop, "stock_receipts/") == ["stock_receipts/create"]


def test_receiving_adds_the_quantities_once_and_names_the_document(shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, 3)
    receipt = make_receipt(item, 12)

    receive(receipt)
    with pytest.raises(DocumentClosed, match="R1 was already received"):
        receive(receipt)

    assert get_available(item, first) == 15
    assert get_ledger(item, first)[-1] == (12, 15, "received")
    assert StockMovement.objects.latest("id").reference == "R1"
    receipt.refresh_from_db()
    assert (receipt.state, receipt.closed_at, receipt.closed_by) == ("received", NOON, "staff:17")
    assert get_topics(shop, "stock_receipts/") == ["stock_receipts/create", "stock_receipts/receive"]
    call_command("check_stock", stdout=StringIO())


def test_receiving_records_the_same_events_as_an_adjustment(shop: Shop) -> None:
    item, other = make_item(shop), make_item(shop, sku="MUG-2")
    set_stock(item, get_first_location(shop), 3)
    receipt = receipts.create_receipt(
        location_id=get_first_location(shop).pk, quantities={item.pk: 2, other.pk: 4}, reason="restock", **BY
    )
    before = Event.objects.latest("id").pk

    receive(receipt)

    topics = list(Event.objects.filter(pk__gt=before).order_by("id").values_list("topic", flat=True))
    assert topics == ["inventory_levels/update", "inventory_levels/update", "stock_receipts/receive"]
    assert set(StockMovement.objects.filter(reference="R1").values_list("reason", flat=True)) == {"restock"}


def test_items_are_connected_to_the_location(shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)

    new_items = receive(make_receipt(item, 4, location_id=depot.pk))

    assert new_items == [item]
    assert get_available(item, depot) == 4
    assert "inventory_levels/connect" in get_topics(shop, "inventory_levels/")


def test_a_location_that_shares_no_items_is_refused(shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop, permits_sku_sharing=False)
    receipt = make_receipt(item, 4, location_id=depot.pk)

    with pytest.raises(LinesRefused) as refused:
        receive(receipt)

    assert "can't be stocked at Depot as well" in refused.value.lines[item.pk]
    assert not InventoryLevel.objects.filter(location=depot).exists()
    receipt.refresh_from_db()
    assert receipt.state == "draft"


def test_a_refused_receipt_books_no_line(shop: Shop) -> None:
    item, full, first = make_item(shop), make_item(shop, sku="FULL"), get_first_location(shop)
    set_stock(full, first, MAX_AVAILABLE)
    receipt = receipts.create_receipt(
        location_id=first.pk, quantities={item.pk: 2, full.pk: 1}, reason="received", **BY
    )

    with pytest.raises(LinesRefused) as refused:
        receive(receipt)

    assert list(refused.value.lines) == [full.pk]
    assert get_available(item, first) == 0


def test_an_inactive_location_is_refused(shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)
    receipt = make_receipt(item, 4, location_id=depot.pk)
    locations.deactivate_location(depot, **BY)

    with pytest.raises(LocationRefused, match="Depot is inactive"):
        receive(receipt)

    assert not StockMovement.objects.filter(location=depot).exists()


def test_a_location_of_a_service_or_of_another_shop_is_refused(shop: Shop) -> None:
    item = make_item(shop)
    foreign = get_first_location(make_shop())

    with pytest.raises(LocationRefused, match="fulfillment service"):
        make_receipt(item, 4, location_id=make_location(shop, legacy=True).pk)
    with pytest.raises(LocationRefused, match="Choose a location"):
        make_receipt(item, 4, location_id=foreign.pk)

    assert not StockReceipt.objects.exists()


def test_a_deleted_item_stays_on_the_document_and_is_named(shop: Shop) -> None:
    item, kept = make_item(shop, sku="GONE"), make_item(shop, sku="KEPT")
    done, draft = make_receipt(item, 4), make_receipt(item, 5)
    receive(done)

    stock.delete_items([item.pk], **BY)

    line = done.lines.get()
    assert (line.item_id, line.name, line.sku, line.quantity) == (None, "GONE", "GONE", 4)
    with pytest.raises(DomainError, match="These items were deleted: GONE"):
        receive(draft)
    values: Attrs = {"location_id": draft.location_id, "reason": draft.reason}
    receipts.update_receipt(draft, quantities={kept.pk: 1}, **values, **BY)
    receive(draft)
    assert get_available(kept, get_first_location(shop)) == 1


def test_unknown_and_foreign_items_are_refused(shop: Shop) -> None:
    foreign, first = make_item(make_shop()), get_first_location(shop)

    with pytest.raises(LinesRefused) as refused:
        receipts.create_receipt(location_id=first.pk, quantities={foreign.pk: 1}, reason="received", **BY)

    assert refused.value.lines == {foreign.pk: "This item was deleted. Remove the line."}
    assert not StockReceipt.objects.exists()


@pytest.mark.parametrize("quantity", [0, -1, MAX_QUANTITY + 1])
def test_quantities_are_bounded(shop: Shop, quantity: int) -> None:
    item = make_item(shop)

    with pytest.raises(LinesRefused):
        make_receipt(item, quantity)
    receipt = make_receipt(item, 1)
    with pytest.raises(IntegrityError), transaction.atomic():
        StockReceiptLine.objects.filter(receipt=receipt).update(quantity=quantity)

    assert StockReceipt.objects.count() == 1


def test_the_database_refuses_a_second_line_and_an_unknown_state(shop: Shop) -> None:
    item = make_item(shop)
    receipt = make_receipt(item)
    line = StockReceiptLine(shop=shop, receipt=receipt, item=item, name="Mug", quantity=1)

    with pytest.raises(IntegrityError), transaction.atomic():
        line.save()
    with pytest.raises(IntegrityError), transaction.atomic():
        StockReceipt.objects.filter(pk=receipt.pk).update(state="lost", closed_at=NOON)
    with pytest.raises(IntegrityError), transaction.atomic():
        StockReceipt.objects.filter(pk=receipt.pk).update(state="received")


def test_lists_are_bounded_and_not_empty(shop: Shop) -> None:
    first = get_first_location(shop)

    for quantities in ({}, dict.fromkeys(range(1, MAX_LINES + 2), 1)):
        with pytest.raises(DomainError):
            receipts.create_receipt(location_id=first.pk, quantities=quantities, reason="received", **BY)
    with pytest.raises(DomainError, match="Choose a reason"):
        make_receipt(make_item(shop), reason="sale")


def test_numbers_are_not_used_again(shop: Shop) -> None:
    item = make_item(shop)
    receipts.cancel_receipt(make_receipt(item), **BY)

    receipt = make_receipt(item)

    other_shop = make_shop()
    assert (str(receipt), str(make_receipt(make_item(other_shop)))) == ("R2", "R1")
    assert StockReceipt.objects.get(number=1).state == "canceled"
    with pytest.raises(DocumentClosed, match="R1 is canceled"):
        receive(StockReceipt.objects.get(number=1))


def test_an_edited_draft_keeps_the_other_users_changes(shop: Shop) -> None:
    item = make_item(shop)
    receipt = make_receipt(item, 1)
    seen = receipt.version
    values: Attrs = {"location_id": receipt.location_id, "reason": "received"}
    receipts.update_receipt(receipt, quantities={item.pk: 2}, seen_version=seen, **values, **BY)

    with pytest.raises(DocumentChanged):
        receipts.update_receipt(receipt, quantities={item.pk: 9}, seen_version=seen, **values, **BY)

    assert receipt.lines.get().quantity == 2
    update = Event.objects.get(topic="stock_receipts/update")
    assert update.changes == {"quantity": [1, 2]}


@pytest.mark.both_databases
def test_the_number_of_statements_does_not_depend_on_the_lines(shop: Shop) -> None:
    first, counts = get_first_location(shop), []
    for lines in (10, 40):
        quantities = {make_item(shop, sku=f"{lines}-{number}").pk: 1 for number in range(lines)}
        with CaptureQueriesContext(connection) as queries:
            receipt = receipts.create_receipt(location_id=first.pk, quantities=quantities, reason="received", **BY)
            receive(receipt)
        # SQLite changes one level per statement.
        counts.append(sum("UPDATE" not in query["sql"] for query in queries))

    assert counts[0] == counts[1]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_a_receipt_is_booked_twice_without_the_lock")
def test_a_receipt_received_twice_at_once_is_booked_once(shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    receipt = make_receipt(item, 5)

    results = run_concurrently(
        shop, *[partial(receive, StockReceipt.objects.get(pk=receipt.pk)) for _number in range(4)]
    )

    assert sum(isinstance(result, DocumentClosed) for result in results) == 3
    assert get_available(item, first) == 5
    call_command("check_stock", stdout=StringIO())


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_receipt_is_booked_twice_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: both calls read a draft."""
    item, first = make_item(shop), get_first_location(shop)
    receipt = make_receipt(item, 5)

    run_unguarded(
        shop,
        partial(receive, StockReceipt.objects.get(pk=receipt.pk)),
        partial(receive, StockReceipt.objects.get(pk=receipt.pk)),
        locks=("inventory_stockreceipt", "inventory_inventoryitem"),
    )

    assert get_available(item, first) == 10


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(no_guard="the unique constraint refuses a number that is used twice")
def test_receipts_created_at_once_have_different_numbers(shop: Shop) -> None:
    item = make_item(shop)

    results = run_concurrently(shop, *[partial(make_receipt, item)] * 4)

    assert sorted(receipt.number for receipt in results) == [1, 2, 3, 4]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(no_guard="foreign keys and the lock on the item refuse the deletion of a line's item")
def test_an_item_deleted_meanwhile_is_named(shop: Shop) -> None:
    item = make_item(shop)

    def create() -> object:
        try:
            return make_receipt(item)
        except LinesRefused as error:
            return error.lines

    refused = run_while_uncommitted(shop, partial(stock.delete_items, [item.pk], **BY), create)

    assert refused == {item.pk: "This item was deleted. Remove the line."}
