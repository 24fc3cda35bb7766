import pytest
from django.db import connection

from apps.core.db import sort_tables
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from apps.customers.models import SEARCH_COLUMNS, Customer, CustomerWords
from tests.support.api_client import ApiClient
from tests.support.factories.customers import make_address, make_customer, post_customer

pytestmark = pytest.mark.postgres
COLUMNS = ("pk", "shop", *SEARCH_COLUMNS)


def find_stale_words() -> set[tuple[object, ...]]:
    """Return the rows with outdated search words."""
    with all_shops_scope():
        rows = set(Customer.objects.values_list(*COLUMNS))
    return rows ^ set(CustomerWords.objects.values_list(*COLUMNS))


def count_updates(table: str) -> tuple[int, int]:
    """Return how many rows of a table this transaction has updated, in all and by heap-only updates."""
    functions = ("pg_stat_get_xact_tuples_updated", "pg_stat_get_xact_tuples_hot_updated")
    with connection.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f"{name}('{table}'::regclass)" for name in functions))
        updates, hot = cursor.fetchone()
        return updates, hot


def test_words_follow_their_rows(api: ApiClient, shop: Shop) -> None:
    body: Attrs = {"email": "ann@mail.example", "addresses": [{"city": "Lund", "country": "Sweden"}]}
    pk = post_customer(api, **body)["id"]
    assert (CustomerWords.objects.count(), find_stale_words()) == (1, set())

    assert api.put(f"customers/{pk}.json", {"customer": {"note": "Waits", "tags": "vip"}}).status_code == 200
    with shop_scope(shop):
        make_address(Customer.objects.get(pk=pk), company="Garn")
        Customer.objects.bulk_create([Customer(shop=shop, search_text=f" n{number}") for number in range(3)])
        Customer.objects.filter(search_text=" n1").update(search_own="\x05moved")
    assert find_stale_words() == set()

    assert api.delete(f"customers/{pk}.json").status_code == 200
    with shop_scope(shop):
        Customer.objects.filter(search_text=" n2").delete()
    assert (CustomerWords.objects.count(), find_stale_words()) == (2, set())


def test_changes_of_search_words_and_customers_leave_each_others_indexes_alone(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        # Fill the free space that other tests left, so that the next customer is on a page with space for its updates.
        Customer.objects.bulk_create([Customer(shop=shop, note="n" * 200) for _ in range(2_000)])
    pk = post_customer(api, email="ann@mail.example")["id"]
    before, words = count_updates("customers_customer"), count_updates("customers_customerwords")[0]

    for number in range(3):
        for change in ({"note": f"Visit {number}"}, {"tags": f"visit-{number}"}, {"first_name": f"Ann {number}"}):
            assert api.put(f"customers/{pk}.json", {"customer": change}).status_code == 200
    after = count_updates("customers_customer")
    assert after[0] - before[0] == 9
    # Some updates move the row to the next page and are not heap-only. With an index on the words, no update would be.
    assert after[1] > before[1]
    assert count_updates("customers_customerwords")[0] - words == 9

    assert api.put(f"customers/{pk}.json", {"customer": {"tax_exempt": True}}).status_code == 200
    assert count_updates("customers_customerwords")[0] - words == 9


def test_a_new_customer_is_entered_among_the_words_once(api: ApiClient, shop: Shop) -> None:
    before = count_updates("customers_customerwords")[0]

    post_customer(api, email="ann@mail.example", addresses=[{"city": "Lund", "country": "Sweden"}])

    assert count_updates("customers_customerwords")[0] == before


def test_triggers_are_created_with_the_words_of_existing_customers(api: ApiClient, shop: Shop) -> None:
    with connection.cursor() as cursor:
        for event in ("insert", "update", "delete"):
            cursor.execute(f"DROP TRIGGER customers_customerwords_{event} ON customers_customer")
    CustomerWords.objects.all().delete()
    with shop_scope(shop):
        customers = [make_customer(first_name=f"Ann{number}") for number in range(3)]
    assert find_stale_words()

    sort_tables.create_sort_triggers(CustomerWords, "default")

    assert find_stale_words() == set()
    displayed_customers = api.get("customers/search.json", query="ann1").json()["customers"]
    assert [row["id"] for row in displayed_customers] == [customers[1].pk]
    CustomerWords.objects.filter(pk=customers[0].pk).delete()
    sort_tables.create_sort_triggers(CustomerWords, "default")
    assert find_stale_words() == set()
