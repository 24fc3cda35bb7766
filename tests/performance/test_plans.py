"""PostgreSQL must read few pages and rows for every prepared statement, however the rows are distributed over shops.

The generic plan of each statement is compared with the plan for its parameters (``benchmarks.million.plans``), after
reads of all routes without filters, and frequent writes.
"""

from typing import NamedTuple

import pytest
from django.db import connection

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from benchmarks import copies
from benchmarks.million import plans
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.databases.statistics import collect_statistics

pytestmark = pytest.mark.postgres
MIN_STATEMENTS = 50


class Originals(NamedTuple):
    token: str
    ids: dict[str, int]


def create_originals(shop: Shop) -> Originals:
    with shop_scope(shop):
        installation = factories.make_installation(shop, factories.ALL_SCOPES)
        token = factories.make_token(installation)
    return Originals(token, plans.create_originals(ApiClient(token, installation).http, shop))


def compare_plans(shop: Shop, originals: Originals, layout: str, rows: int) -> list[plans.Comparison]:
    """Multiply the rows, send the requests, and compare the plans of the statements that they prepare."""
    client = plans.create_client(originals.token)
    copies.copy_rows(shop.pk, 1, rows, shop_offset=plans.LAYOUTS[layout])
    collect_statistics()
    with plans.record_prepared_statements() as statements:
        assert plans.send_requests(client, shop.pk, originals.ids) == []
    return plans.compare_plans(statements)


@pytest.mark.shop_with(fill=create_originals)
@pytest.mark.parametrize(
    ("layout", "rows"),
    [
        ("one shop", 300),
        ("one shop", 1_000),
        ("fifty equal shops", 1_000),
        ("large shop of fifty", 2_000),
        ("small shop of fifty", 1_000),
    ],
)
def test_prepared_statements_read_no_more_than_statements_with_parameters(
    shop: Shop, shared_rows: Originals, layout: str, rows: int
) -> None:
    comparisons = compare_plans(shop, shared_rows, layout, rows)

    over = [(item.sql, item.ratio, [*plans.find_scans(item.generic.plan)]) for item in comparisons if item.is_over]
    assert over == []
    assert len({item.sql for item in comparisons}) >= MIN_STATEMENTS


@pytest.mark.shop_with(fill=create_originals)
def test_related_rows_are_read_by_their_parents(shop: Shop, shared_rows: Originals) -> None:
    """Check this with an index on the shop alone, and statistics that make this index look useful."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("CREATE INDEX tests_by_shop ON customers_address (shop_id)")
        cursor.execute("ALTER TABLE customers_address ALTER COLUMN shop_id SET (n_distinct = 1000000)")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")

    comparisons = compare_plans(shop, shared_rows, "one shop", 300)

    scans = {
        scan
        for item in comparisons
        if 'FROM "customers_address"' in item.sql and "ANY" in item.sql
        for scan in plans.find_scans(item.generic.plan)
        if "address" in scan or "by_shop" in scan
    }
    assert scans == {"Index Scan customers_address_recent", "Index Scan customers_address_pkey"}
