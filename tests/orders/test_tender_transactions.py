from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.orders.models import MOVED_MONEY, Transaction
from tests.support import services
from tests.support.api_client import ApiClient, ClientWith
from tests.support.factories.orders import make_order
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

NOW = timezone.now().replace(microsecond=0)
PAID = {"kind": "sale", "amount": Decimal("20.00"), "authorization": "ch-1"}


def add_sale(shop: Shop, days_ago: int) -> Transaction:
    order = make_order(shop, transactions=[{**PAID, "processed_at": NOW - timedelta(days=days_ago)}])
    return order.transactions.get()


def get_ids(api: ApiClient, **query: object) -> list[int]:
    response = api.get("tender_transactions.json", **query)
    assert response.status_code == 200, response.content
    assert_fits("tender_transaction", "GET /tender_transactions.json", response.json())
    return [row["id"] for row in response.json()["tender_transactions"]]


def test_the_list_has_only_moved_money(api: ApiClient, shop: Shop) -> None:
    order = make_order(
        shop, transactions=[{"kind": "authorization", "amount": Decimal("20.00"), "authorization": "a-1"}]
    )
    path = f"orders/{order.pk}/transactions.json"
    api.post(path, {"transaction": {"kind": "capture", "amount": "20.00", "status": "failure"}})
    capture = api.post(path, {"transaction": {"kind": "capture", "amount": "15.00"}}).json()["transaction"]
    payment = {"parent_id": capture["id"], "amount": "5.00", "kind": "refund", "gateway": "manual"}
    refund = api.post(f"orders/{order.pk}/refunds.json", {"refund": {"currency": "USD", "transactions": [payment]}})

    rows = api.get("tender_transactions.json").json()["tender_transactions"]

    refund_id = refund.json()["refund"]["transactions"][0]["id"]
    assert [(row["id"], row["amount"]) for row in rows] == [(capture["id"], "15.00"), (refund_id, "-5.00")]
    assert {row["order_id"] for row in rows} == {order.pk}


def test_the_list_is_sorted_and_filtered_by_time(api: ApiClient, shop: Shop) -> None:
    newest, oldest, middle = (add_sale(shop, days).pk for days in (1, 9, 5))

    assert get_ids(api) == [newest, oldest, middle]
    assert get_ids(api, order="processed_at asc") == [oldest, middle, newest]
    assert get_ids(api, order="processed_at DESC") == [newest, middle, oldest]
    assert get_ids(api, since_id=newest) == [oldest, middle]
    bound = (NOW - timedelta(days=5)).isoformat()
    assert get_ids(api, processed_at_max=bound) == [oldest, middle]
    assert get_ids(api, processed_at_min=bound) == [middle, newest]


def test_pages_follow_the_order(api: ApiClient, shop: Shop) -> None:
    ids = [add_sale(shop, days).pk for days in (3, 2, 1)]

    first = api.get("tender_transactions.json", order="processed_at desc", limit=2)
    assert [row["id"] for row in first.json()["tender_transactions"]] == [ids[2], ids[1]]
    token = first["Link"].partition("page_info=")[2].partition(">")[0].partition("&")[0]
    assert get_ids(api, page_info=token, limit=2) == [ids[0]]


def test_each_shop_sees_its_own(api: ApiClient, other_shop_api: ApiClient, client_with: ClientWith, shop: Shop) -> None:
    add_sale(shop, 1)

    assert other_shop_api.get("tender_transactions.json").json() == {"tender_transactions": []}
    assert client_with("read_products").get("tender_transactions.json").status_code == 403


@pytest.mark.postgres
@pytest.mark.parametrize(("order", "index"), [("id", "orders_tender_by_id"), ("processed_at", "orders_tender_by_time")])
def test_the_order_comes_from_a_partial_index(shop: Shop, order: str, index: str) -> None:
    add_sale(shop, 1)
    rows = Transaction.objects.filter(MOVED_MONEY).order_by(*dict.fromkeys((order, "id")))[:50]

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    plan = rows.explain()

    assert services.is_postgres()
    assert index in plan, plan
