from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.db import sort_tables
from apps.core.rest.reading.keyset_pagination import filter_any_by_cursor, filter_by_cursor, parse_order
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.admin.changelist_search import RECENT_SCAN, build_search_condition, get_first_matches
from apps.customers.domain import search_columns
from apps.customers.domain.search_columns import rebuild_search_columns
from apps.customers.domain.search_fields import ORDERS, SEARCH
from apps.customers.models import Address, Customer
from tests.support import services
from tests.support.databases.statistics import collect_statistics, forget_statistics
from tests.support.factories.customers import NOON
from tests.support.types import JsonObject

ROWS = 8_000


def add_crowd(shop: Shop) -> None:
    """Create so many customers that the planner should never choose a sequential scan."""
    with shop_scope(shop):
        rows = [
            Customer(
                shop=shop,
                first_name=f"First{number:05d}",
                last_name=f"Last{number % 997:03d}",
                email=f"person{number:05d}@mail{number % 50}.example",
                email_key=f"person{number:05d}@mail{number % 50}.example",
                tags=f"tag{number % 500}",
                state="invited" if number % 2 else "disabled",
                note=f"word{number % 700}" if number % 3 == 0 else "",
                last_order_at=NOON + timedelta(minutes=number % 1000),
            )
            for number in range(ROWS)
        ]
        addresses = [
            {"city": f"City{n % 900}", "country_code": "DK" if n % 500 == 0 else "SE" if n % 2 else "NO"}
            for n in range(ROWS)
        ]
        for row, address in zip(rows, addresses, strict=True):
            rebuild_search_columns(row, [address])
        customers = zip(Customer.objects.bulk_create(rows, batch_size=2000), addresses, strict=True)
        Address.objects.bulk_create((Address(shop=shop, customer=row, **a) for row, a in customers), batch_size=2000)
        collect_statistics()


pytestmark = pytest.mark.shop_with(fill=add_crowd)


def explain_query(queryset: Any) -> str:
    return str(queryset.explain())


def search_customers(shop: Shop, query: str, order: str = "last_order_date desc") -> Any:
    customers = [
        Customer.objects.filter(item) for item in SEARCH.compile_alternatives(SEARCH.parse(query), zone=shop.tzinfo)
    ]
    return filter_any_by_cursor(customers, parse_order(order, ORDERS), None, 51).values_list("pk")


@pytest.mark.postgres
def test_searches_on_postgresql_read_the_trigram_indexes(shop: Shop) -> None:
    texts = ["person01234", "email:person01234", "first_name:First01234", "tag:tag123", "note:word333", "city:City123"]

    with shop_scope(shop):
        query_plans = {query: explain_query(search_customers(shop, query)) for query in texts}
        with CaptureQueriesContext(connection) as queries:
            query_plan = explain_query(search_customers(shop, "email:person01234@mail34.example"))
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {queries[0]['sql']}")
            somebody = str(cursor.fetchall())
        counts = [len(search_customers(shop, query)) for query in texts]

    assert [query for query in texts if "customers_words_search" not in query_plans[query]] == []
    assert not [query for query, text in query_plans.items() if "Seq Scan on customers" in text]
    # Both indexes contain the email address, so the planner may use either one.
    assert "customers_profile_by_email" in somebody or "customers_customer_email_is_unique" in somebody
    assert "customers_customerwords_pkey" in query_plan
    assert all(counts)


@pytest.mark.postgres
def test_searches_that_mix_customers_and_addresses_scan_and_compare_no_table(shop: Shop) -> None:
    expected = {
        # Cases: few or many matches on each side of an OR, an additional condition, and negations.
        "email:person01234 OR city:City123": "customers_words_search",
        "email:person01234 OR country:DK": "customers_words_search",
        "state:invited OR city:City123": "customers_rank_by_last_order",
        "state:invited OR country:SE": "customers_rank_by_last_order",
        "company:nobody OR tag:tag123": "customers_words_search",
        "(country:DK OR note:word333) created_at:>2020-01-01": "customers_words_search",
        "-country:SE": "customers_rank_by_last_order",
        "-(country:SE OR tag:tag123)": "customers_rank_by_last_order",
        # This OR has more alternatives than the search splits into separate queries.
        " OR ".join(
            f"email:person0{n}@mail{n % 50}.example" for n in range(1000, 1012)
        ): "customers_customerwords_pkey",
    }

    with shop_scope(shop):
        with connection.cursor() as cursor:
            # With so few rows, the planner might read the customers with a sequential scan. Only the search for
            # matching ids matters here.
            cursor.execute("SET LOCAL enable_seqscan = off")
        query_plans = {query: explain_query(search_customers(shop, query)) for query in expected}
        counts = {query: len(search_customers(shop, query)) for query in expected}

    assert [query for query, index in expected.items() if index not in query_plans[query]] == []
    assert [query for query, text in query_plans.items() if "Seq Scan" in text or "SubPlan" in text] == []
    assert all(counts.values())


@pytest.mark.postgres
@pytest.mark.parametrize(
    "query",
    [
        "email:person01234 OR country:DK",
        "state:invited OR country:SE",
        "state:invited (country:SE OR tag:tag123)",
        "(country:SE OR tag:tag123) (country:NO OR note:word333)",
        " OR ".join(f"country:{code} tag:tag{number}" for number, code in enumerate(("SE", "NO", "DK", "FI", "IS"))),
    ],
)
def test_tables_without_statistics_are_not_searched_twice(shop: Shop, query: str) -> None:
    with shop_scope(shop):
        expected = sorted(search_customers(shop, query))
        with connection.cursor() as cursor:
            forget_statistics(cursor)
            in_the_panel = (
                Customer.rows().filter(build_search_condition(query, shop)).order_by("-id").values_list("pk")[:51]
            )
            for rows in (search_customers(shop, query), in_the_panel):
                sql, parameters = rows.query.sql_with_params()
                cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", parameters)
                ((plan,),) = cursor.fetchall()
                assert count_rows_read(plan[0]["Plan"]) < 8 * ROWS, rows.explain(analyze=True)

        assert sorted(search_customers(shop, query)) == expected


@pytest.mark.postgres
def test_the_palette_search_reads_newest_rows_or_the_index_by_frequency(shop: Shop) -> None:
    def explain_search(text: str) -> tuple[list[str], set[int]]:
        fits = Customer.rows().filter(build_search_condition(text, shop)).order_by()
        with CaptureQueriesContext(connection) as queries:
            keys = set(get_first_matches(fits, 100).values_list("pk", flat=True))
        with connection.cursor() as cursor:
            plans = []
            for query in queries:
                cursor.execute(f"EXPLAIN {query['sql']}")
                plans.append(str(cursor.fetchall()))
        return plans, keys

    with shop_scope(shop):
        newest = Customer.rows().order_by("-pk").values_list("pk", flat=True)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
        met, many_rows = explain_search("example person0")
        _, seldom = explain_search("person00003")
        first = Customer.rows().get(first_name="First00003").pk
        nearest = set(newest[:RECENT_SCAN])

    assert not [text for text in met if "customers_words_search" in text]
    assert (len(many_rows), many_rows <= nearest) == (100, True)
    assert (seldom, first in nearest) == ({first}, False)


def count_rows_read(node: JsonObject) -> int:
    """Return the number of rows that all nodes of a plan returned or filtered out, in all loops."""
    thrown = sum(value for name, value in node.items() if name.startswith("Rows Removed"))
    own = int((node["Actual Rows"] + thrown) * node["Actual Loops"])
    return own + sum(map(count_rows_read, node.get("Plans", ())))


def test_orders_read_their_indexes_and_sort_nothing(shop: Shop) -> None:
    expected = {
        "email asc": "customers_profile_by_email",
        "first_name desc": "customers_profile_by_first",
        "state asc": "customers_customer_by_state",
        "last_order_date desc": "customers_rank_by_last_order",
        "created_at asc": "customers_customer_by_creation",
        "updated_at desc": "customers_rank_by_update",
        "orders_count desc": "customers_rank_by_orders",
        "total_spent desc": "customers_rank_by_spending",
        "last_name asc": "customers_profile_by_name",
    }

    with shop_scope(shop):
        messages = {
            order: explain_query(
                filter_by_cursor(Customer.objects.all(), parse_order(order, ORDERS), None).values_list("pk")[:51]
            )
            for order in expected
        }

    assert {order: index for order, index in expected.items() if index not in messages[order]} == {}
    assert not [order for order, text in messages.items() if "Sort  (" in text or "TEMP B-TREE" in text]


def test_a_state_of_consent_that_few_have_reads_its_index(shop: Shop) -> None:
    with shop_scope(shop):
        few_customers = Customer.objects.filter(
            sort_tables.filter_sort_column(Customer, "email_marketing_state", "in", ["pending"])
        )
        query_plan = explain_query(few_customers.order_by("-pk").values_list("pk")[:51])
        counted = explain_query(few_customers.order_by().values_list("pk")[:51])

    assert [("customers_profile_by_consent" in text) for text in (query_plan, counted)] == [True, True]
    assert not [text for text in ("Sort  (", "TEMP B-TREE") if text in query_plan]


@pytest.mark.skipif(services.is_postgres(), reason="the full-text table is SQLite's")
def test_searches_on_sqlite_read_the_full_text_table(shop: Shop) -> None:
    queries = "person01234 email:person01234@mail34 email:*01234@mail34.example tag:tag123 note:word333 city:City123"

    with shop_scope(shop):
        rows = {query: search_customers(shop, query) for query in queries.split()}
        query_plans = {query: explain_query(found) for query, found in rows.items()}
        assert all(map(len, rows.values()))

    assert not [query for query, text in query_plans.items() if search_columns.TABLE not in text]
    assert not [query for query, text in query_plans.items() if "SCAN customers_customer" in text]


@pytest.mark.skipif(services.is_postgres(), reason="the full-text table is SQLite's")
def test_lost_triggers_come_back_with_the_next_migration(shop: Shop) -> None:
    with connection.cursor() as cursor:
        for name in ("insert", "update", "delete"):
            cursor.execute(f"DROP TRIGGER customers_search_{name}")
    with shop_scope(shop):
        row = Customer(shop=shop, first_name="Unseen")
        rebuild_search_columns(row, [])
        row.save()
        assert not list(search_customers(shop, "unseen"))

        search_columns.create_search_index()

        assert list(search_customers(shop, "unseen")) == [(row.pk,)]
