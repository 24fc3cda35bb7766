"""Large pages are read in batches, without a change in the response. Pages above the size limit are rejected early."""

from collections.abc import Iterator
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.rest.reading import query_plans, render_cache
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_product
from tests.support.factories.fulfillment import make_fulfillment_order, make_service

MOST = 12
# Variants per product: some products fit into one batch together, others exceed the limit together, and two exceed the
# limit on their own.
VARIANTS = (1, 5, 5, 5, 2, 20, 1, 7, 1, 1, 1, 1, 1, 1, 3, 1, 13)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lower the number of related rows per batch, and clear the cached statements that contain the number."""
    monkeypatch.setattr(query_plans, "MAX_RELATED_ROWS", MOST)
    query_plans.get_read_plan.cache_clear()
    yield
    query_plans.get_read_plan.cache_clear()


@pytest.fixture
def products(shop: Shop) -> None:
    with shop_scope(shop):
        for count in VARIANTS:
            make_product(prices=tuple(f"{number}.00" for number in range(1, count + 1)))


def read_unlimited(api: ApiClient, path: str) -> bytes:
    """Return a page that is read without a limit on related rows."""
    render_cache.cache.clear()
    response = api.get(path).content
    render_cache.cache.clear()
    return response


def test_a_page_with_many_variants_is_the_same_in_pieces(
    api: ApiClient, products: None, request: pytest.FixtureRequest
) -> None:
    expected = read_unlimited(api, "products.json")
    request.getfixturevalue("small_batches")

    with CaptureQueriesContext(connection) as statements:
        response = api.get("products.json")

    assert response.status_code == 200
    assert response.content == expected
    variant_queries = [statement["sql"] for statement in statements if 'FROM "catalog_variant"' in statement["sql"]]
    assert len(variant_queries) > 3
    # A single product is read with all variants, without a LIMIT.
    assert sum("LIMIT" not in sql for sql in variant_queries) <= len(VARIANTS)
    assert api.get("products.json").content == expected


def test_a_page_that_is_too_large_is_refused_before_it_is_read(
    api: ApiClient, products: None, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.get("products.json").status_code == 200
    monkeypatch.setattr(render_cache, "MAX_RESPONSE_BYTES", 8_000)

    with_cache = api.get("products.json")
    render_cache.cache.clear()
    without_cache = api.get("products.json")

    message = "makes the response larger than 8000 bytes; request fewer rows or fields"
    for refused in (with_cache, without_cache):
        assert (refused.status_code, refused.json()) == (400, {"errors": {"limit": message}})
    assert 0 < len(render_cache.cache) < len(VARIANTS) / 2
    assert api.get("products.json?fields=id,title").status_code == 200


def test_a_page_of_rows_without_versions_is_read_in_pieces_too(
    api: ApiClient, shop: Shop, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop_scope(shop):
        service = make_service(api.installation.app)
        for _ in range(4):
            make_fulfillment_order(service, lines=[{"title": "Mug", "price": Decimal(1), "quantity": 1}] * 5)
    expected = read_unlimited(api, "assigned_fulfillment_orders.json")
    request.getfixturevalue("small_batches")

    assert api.get("assigned_fulfillment_orders.json").content == expected
    monkeypatch.setattr(render_cache, "MAX_RESPONSE_BYTES", 4_000)
    assert api.get("assigned_fulfillment_orders.json").status_code == 400
    assert api.get("assigned_fulfillment_orders.json?limit=1").status_code == 200
