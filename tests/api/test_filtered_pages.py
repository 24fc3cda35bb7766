"""Filtered lists return the same pages with both query plans: index scan and sort."""

import random

import pytest

from apps.core.rest.reading import pages
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.models import Order
from tests.support.api_client import ApiClient, parse_links
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order
from tests.support.types import JsonObject

QUERIES: tuple[dict[str, str], ...] = (
    {"status": "closed"},
    {"status": "any", "created_at_max": "2020-06-01T00:00:00Z"},
    {"status": "any", "since_id": "1"},
    {"status": "closed", "since_id": "1"},
    {"status": "open"},
)


def read_pages(api: ApiClient, query: JsonObject, path: str = "orders.json", name: str = "orders") -> list[list[int]]:
    """Return the ids of each page, forward to the end and then back to the start."""
    id_lists: list[list[int]] = []
    for direction in ("next", "previous"):
        while True:
            response = api.get(path, **query, limit=3, fields="id")
            id_lists.append([row["id"] for row in response.json()[name]])
            links = parse_links(response)
            if direction not in links:
                break
            query = {"page_info": links[direction].partition("page_info=")[2].partition("&")[0]}
    return id_lists


def test_a_filtered_list_has_the_same_pages_wherever_the_walk_ends(
    api: ApiClient, shop: Shop, other_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(7)
    for number in range(24):
        order = make_order(shop)
        make_order(other_shop)
        closed = {"status": "closed", "closed_at": order.created_at} if dice.random() < 0.4 else {}
        with shop_scope(shop):
            Order.objects.filter(pk=order.pk).update(
                created_at=f"20{19 + number % 3}-05-01T00:00:00Z" if number < 6 else order.created_at, **closed
            )

    results = [read_pages(api, query) for query in QUERIES]
    for walked in (0, 1, 4, 11):
        monkeypatch.setattr(pages, "MAX_WALK", walked)
        assert [read_pages(api, query) for query in QUERIES] == results, walked

    assert all(len(result) > 1 for result in results[:4])
    assert len({pk for page in results[2] for pk in page}) == 24


def test_a_search_has_the_same_pages_wherever_the_walk_ends(
    api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop_scope(shop):
        for number in range(14):
            tags = "vip" if number % 3 else "late"
            make_customer(first_name="Ada" if number < 4 else "Eve", last_name=f"Bo{number % 2}", tags=tags)
    queries = [
        {"query": query, "order": order}
        for query in ("first_name:ada", "tag:vip OR first_name:ada")
        for order in ("last_name asc", "last_name desc", "id desc", "orders_count asc", "email asc")
    ]

    results = [read_pages(api, query, "customers/search.json", "customers") for query in queries]
    for walked in (0, 1, 5):
        monkeypatch.setattr(pages, "MAX_WALK", walked)
        assert [read_pages(api, query, "customers/search.json", "customers") for query in queries] == results, walked

    assert [len({pk for page in result for pk in page}) for result in results] == [4] * 5 + [11] * 5
