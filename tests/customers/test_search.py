from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.domain.search_columns import build_search_text, fold_text
from apps.customers.models import Customer
from tests.support.api_client import ApiClient
from tests.support.factories.customers import NOON, make_address, make_customer

PEOPLE: dict[str, Attrs] = {
    "anna": {
        "first_name": "Anna-Maria",
        "last_name": "Lindqvist",
        "email": "anna.lind@example.com",
        "phone": "+14155550123",
        "tags": "vip, Knitter",
        "note": "Likes green wool",
        "verified_email": True,
        "password": "secret",
    },
    "bo": {
        "first_name": "Bo",
        "last_name": "O'Brien",
        "email": "bo_b@shop.example",
        "tags": "vipera",
        "tax_exempt": True,
    },
    "zoe": {"first_name": "Zoë", "last_name": "Müller", "email": "z+news@example.com", "phone": "+46812345678"},
    "li": {"first_name": "小明", "last_name": "王", "email": "li@example.org", "note": "100% silk_scarf"},
}


def add_people(shop: Shop) -> dict[str, int]:
    """Create all customers of ``PEOPLE``, with their addresses and orders, and return their ids by name."""
    with shop_scope(shop):
        rows = {
            name: make_customer(**attrs, at=NOON + timedelta(days=day))
            for day, (name, attrs) in enumerate(PEOPLE.items())
        }
        make_address(rows["anna"], company="Garn & Tråd AB", city="Lund", province="M", zip="222 22")
        make_address(rows["bo"], city="New York", province="NY", country="US", zip="10001")
        make_address(rows["bo"], city="Toronto", province="Ontario", country="Canada", zip="M5V")
        for name, count, spent, month in (("bo", 3, "99.50", 5), ("zoe", 1, "10", 4)):
            Customer.objects.filter(pk=rows[name].pk).update(
                orders_count=count, total_spent=spent, last_order_at=datetime(2026, month, 1, tzinfo=UTC)
            )
    return {name: customer.pk for name, customer in rows.items()}


among_people = pytest.mark.shop_with(fill=add_people)


def search_names(api: ApiClient, people: dict[str, int], query: str, **more: object) -> list[str]:
    response = api.get("customers/search.json", query=query, **more)
    assert response.status_code == 200, response.content
    names = {pk: name for name, pk in people.items()}
    return [names[row["id"]] for row in response.json()["customers"]]


# Queries by the names of the customers that they find.
QUERIES = {
    "anna": [
        "anna", "ANNA", "maria", "lind", '"anna-maria lindq"', "anna.lind@example.com", "garn", "trad", "4155550123",
        "email:anna.lind@example.com", "email:ANNA*", 'phone:"(415) 555-0123"', "phone:+1415*", "tag:vip",
        "customer_tag:knitter", "state:enabled", "country:Sweden", "country:se", "company:garn", "company:*",
        "tag:KNITTER", "company:TRÅD", "city:Lund anna", "company:Garn & Tråd", "state:enabled anna",
        "phone:+1 415 555", "note:wool", "verified_email:true",
    ],
    "": [
        "indqvist", "zip:1000", "email:*@example", "country:United Kingdom", "city:New AND York", 'city:"New" York',
        "city:New York anna", "(city:lund OR city:New) York", "unknown_field:x", "%", "_", "first_name:%", '"\\\\"',
        "😀",
    ],
    "bo": [
        "brien", "email:shop.example", "last_name:Brien", "country:United*", "country:can*", "province:ont",
        'city:"new york"', "city:york", "zip:10001", "zip:1000*", "email:*.example", "country:United States",
        "country:United States orders_count:3", "city:New York", "city:New York bo", "orders_count:3",
        "tax_exempt:true", "created_at:2026-03-03",
    ],
    "anna zoe": ["example.com", "phone:*", "email:*@example.com", "email:*@EXAMPLE.com", "email:*example.com"],
    "zoe": [
        "zoe muller", "ZOË", "+46812", "news", "first_name:zoë", "first_name:ZOË", "first_name:zoe", "last_name:MÜL",
        "total_spent:>=10 total_spent:<99.5", "last_order_date:<2026-04-15", "example.com NOT anna",
    ],
    "li": ["小", "last_name:王", "email:*ple.org", "note:100%", "note:silk_"],
    "anna bo": [
        "tag:vip*", "city:*", '-city:""', "city:lund OR city:New York", "anna OR bo", "city:lund OR tag:vipera",
    ],
    "bo zoe li": ["-tag:vip", "state:DISABLED", "-company:garn"],
    "bo li": ["-email:*@example.com"],
    "bo zoe": ["orders_count:>0", "last_order_date:*"],
    "zoe li": ["created_at:>=2026-03-04"],
    "anna bo zoe li": ["updated_at:>2020-01-01", ""],
    "anna li": ["-last_order_date:*"],
}  # fmt: skip


@among_people
@pytest.mark.parametrize("names", QUERIES)
def test_queries_find_their_customers(api: ApiClient, shared_rows: dict[str, int], names: str) -> None:
    hits = {query: set(search_names(api, shared_rows, query)) for query in QUERIES[names]}

    assert hits == {query: {*names.split()} for query in QUERIES[names]}


@among_people
def test_ids_find_their_customers(api: ApiClient, shared_rows: dict[str, int]) -> None:
    assert [search_names(api, shared_rows, f"id:{pk}") for pk in shared_rows.values()] == [[name] for name in PEOPLE]


@among_people
@pytest.mark.parametrize(
    ("order", "names"),
    [
        (None, ["bo", "zoe", "li", "anna"]),
        ("last_order_date asc", ["anna", "li", "zoe", "bo"]),
        ("total_spent desc", ["bo", "zoe", "li", "anna"]),
        ("ORDERS_COUNT ASC", ["anna", "li", "zoe", "bo"]),
        ("id", ["anna", "bo", "zoe", "li"]),
        ("id desc", ["li", "zoe", "bo", "anna"]),
        ("created_at desc", ["li", "zoe", "bo", "anna"]),
        ("email asc", ["anna", "bo", "li", "zoe"]),
    ],
)
@pytest.mark.parametrize("text", ["", "city:lund OR tag:vipera OR -city:york", "verified_email:false OR country:SE"])
def test_order_pages_through_everybody_once_and_back(
    api: ApiClient, shared_rows: dict[str, int], order: str | None, names: list[str], text: str
) -> None:
    params = {"order": order} if order else {}

    full = search_names(api, shared_rows, text, **params)
    pages, last = walk_pages(api, {"query": text, **params}, "next")
    back, _ = walk_pages(api, last, "previous")

    assert full == names
    assert pages == [shared_rows[name] for name in names]
    assert back == pages[::-1]


def test_a_full_email_address_matches_only_its_customer(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        ann, mary = (make_customer(email=email) for email in ("ann@example.com", "mary.ann@example.com"))

    def find_names(query: str) -> set[int]:
        return {row["id"] for row in api.get("customers/search.json", query=query).json()["customers"]}

    assert find_names("email:ann@example.com") == find_names('email:"ANN@Example.COM"') == {ann.pk}
    assert find_names("email:ann@example.co") == find_names("email:ann@example.com*") == {ann.pk, mary.pk}
    assert find_names("-email:ann@example.com") == {mary.pk}
    api.delete(f"customers/{ann.pk}.json")
    assert find_names("email:ann@example.com") == {mary.pk}


def test_the_order_by_email_has_those_without_one_too(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        customers = [make_customer(email=email, first_name="A") for email in ("", "b@example.com", "", "a@example.com")]

    pages, last = walk_pages(api, {"order": "email asc"}, "next")
    back, _ = walk_pages(api, last, "previous")

    assert pages == [customers[0].pk, customers[2].pk, customers[3].pk, customers[1].pk]
    assert back == pages[::-1]


def walk_pages(api: ApiClient, query: dict[str, str], direction: str) -> tuple[list[int], dict[str, str]]:
    """Follow the links in one direction with one row per page. Return all ids and the query of the last page."""
    ids = []
    while True:
        page = api.get("customers/search.json", **{"limit": "1", **query})
        ids += [row["id"] for row in page.json()["customers"]]
        links = [part for part in page.get("Link", "").split(", ") if f'rel="{direction}"' in part]
        if not links:
            return ids, query
        query = {"page_info": links[0].split("page_info=")[1].split(">")[0]}


REFUSED = {
    "query": [
        ":::", "(((((", "a" * 10_000, '"open', "id:abc", "orders_count:>x", "state:unheard", "created_at:soon",
        "phone:abc",
    ],
    "order": ["password", "shop__id desc", "id down", ""],
}  # fmt: skip


@pytest.mark.parametrize("parameter", REFUSED)
def test_invalid_searches_return_400(api: ApiClient, parameter: str) -> None:
    answers = [api.get("customers/search.json", **{parameter: value}) for value in REFUSED[parameter]]

    assert [(answer.status_code, *answer.json()["errors"]) for answer in answers] == [(400, parameter)] * len(answers)


@pytest.mark.parametrize(
    ("query", "message"), [("tag:vip (a", "(position 8)"), ("anna city:*york", "'*york' is a suffix")]
)
def test_a_refused_search_says_why(api: ApiClient, query: str, message: str) -> None:
    response = api.get("customers/search.json", query=query)

    assert response.status_code == 400
    assert message in response.json()["errors"]["query"]


@among_people
@pytest.mark.parametrize("query", ["*", "(a+)+$", "'; DROP TABLE customers_customer; --", "a" * 4000, "\u202eabc"])
def test_odd_texts_are_just_texts(api: ApiClient, shared_rows: dict[str, int], query: str) -> None:
    response = api.get("customers/search.json", query=query)

    assert response.status_code in {200, 400}
    assert api.get("customers/count.json").json() == {"count": 4}


def test_the_search_follows_every_change(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        customer = make_customer(first_name="Before", email="before@example.com")
        address = make_address(customer, company="Oldco")
    names = {"it": customer.pk}

    api.put(f"customers/{customer.pk}.json", {"customer": {"first_name": "After", "tags": "fresh"}})
    api.put(f"customers/{customer.pk}/addresses/{address.pk}.json", {"address": {"company": "Newco"}})

    hits = {
        query: search_names(api, names, query)
        for query in ("after", "newco", "tag:fresh", "first_name:before", "oldco")
    }
    assert hits == {"after": ["it"], "newco": ["it"], "tag:fresh": ["it"], "first_name:before": [], "oldco": []}
    api.delete(f"customers/{customer.pk}.json")
    assert search_names(api, names, "after") == []


def test_search_text_is_bounded() -> None:
    hostile = Customer(first_name=". " * 127, last_name="a-" * 127, email="a.b." * 60 + "c@example.com")

    assert len(build_search_text(hostile, ["x y " * 60] * 20)) <= 4000


def test_the_end_of_the_longest_names_is_found(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        words = " ".join(f"w{number}" for number in range(84))[:255]
        customer = make_customer(first_name=words, last_name=words, email="last@far.example", phone="+46812345678")
        for number in range(25):
            make_address(customer, company=f"Company{number} {words}"[:255], city=f"Town{number}")

    for query in ("last", "last@far.example", "far.example", "0812345678"[1:], "w40", "company24", "city:town24"):
        assert search_names(api, {"it": customer.pk}, query) == ["it"], query


def test_case_counts_in_no_script(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        customer = make_customer(first_name="ZOË", last_name="Straße", note="Likes ΣΟΦΟΣ", tags="ÄPFEL, Žluťoučký kůň")
        make_address(customer, city="Ærø", company="Øl & Brød", province="Östergötland")
        make_customer(first_name="Other", tags="Birnen")

    queries = [
        "first_name:zoë", "zoË", "last_name:STRASSE", "straße", "note:σοφος", "tag:äpfel", "tag:Äpfel", "tag:ÄP*",
        "tag:'ŽLUŤOUČKÝ KŮŇ'", "tag:žluťoučký Kůň", "city:ÆRØ", "company:øl", "company:BRØD", "province:öSTER",
    ]  # fmt: skip
    for query in queries:
        assert search_names(api, {"it": customer.pk}, query) == ["it"], query


def test_fold_takes_case_accents_and_runs_of_blanks_away() -> None:
    assert fold_text("  Ångström   STRASSE ß ﬁ ") == "angstrom strasse ss fi"


CHARACTERS = st.characters(exclude_categories=["Cs"])
WORDS = (" OR ", " AND ", "NOT ", "tag:", "city:")
ALPHABET = st.sampled_from([*"abz09 :()\"'\\*<>=-+@.%_,éß小😀\u0301\u202e\n", *WORDS])


@among_people
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(ALPHABET, max_size=40).map("".join) | st.text(CHARACTERS, max_size=60))
def test_any_text_is_answered(api: ApiClient, shared_rows: dict[str, int], text: str) -> None:
    response = api.http.get(f"/admin/api/2026-10/customers/search.json?{urlencode({'query': text})}")

    assert response.status_code in {200, 400}, (text, response.content)
    assert response.status_code == 200 or response.json()["errors"]
