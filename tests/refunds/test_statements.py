"""Tests that the number of SQL statements in a refund does not depend on the number of line items."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import ApiClient
from tests.orders.factories import MUG, make_order

pytestmark = pytest.mark.django_db


def test_units_that_were_taken_from_nowhere_ask_once_where_they_belong(api: ApiClient) -> None:
    counts = []
    for lines in (2, 20):
        order = make_order(api.installation.shop, lines=[MUG] * lines)
        units = [{"line_item_id": line["id"], "quantity": 1} for line in get_order(api, order.pk)]
        body = {"refund": {"restock": True, "refund_line_items": units}}
        with CaptureQueriesContext(connection) as statements:
            assert api.post(f"orders/{order.pk}/refunds.json", body).status_code == 201
        counts.append(len(statements))

    assert counts[1] <= counts[0] + 3


def get_order(api: ApiClient, pk: int) -> list[dict[str, int]]:
    lines: list[dict[str, int]] = api.get(f"orders/{pk}.json").json()["order"]["line_items"]
    return lines
