from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from apps.catalog.models import Product
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.timestamps import InvalidDate, parse_timestamp
from apps.customers.models import Customer
from tests.support.api_client import ApiClient

NEW_YORK = ZoneInfo("America/New_York")


MOMENTS = {
    "2025-07-02T11:38:15-05:00": "2025-07-02T16:38:15Z",
    "2025-07-02T11:38:15Z": "2025-07-02T11:38:15Z",
    "2025-07-02T11:38:15": "2025-07-02T15:38:15Z",
    "2025-07-02T11:38:15.123456789+0200": "2025-07-02T09:38:15.123456Z",
    "2025-07-02": "2025-07-02T04:00:00Z",
    "2025-07-02 11:38": "2025-07-02T15:38:00Z",
    "2025-07-02 11:38:15 UTC": "2025-07-02T11:38:15Z",
    "Wed, 02 Jul 2025 11:38:15 -0500": "2025-07-02T16:38:15Z",
    "2 Jul 2025 11:38:15 GMT": "2025-07-02T11:38:15Z",
    "2 Jul 2025 11:38:15 -0000": "2025-07-02T11:38:15Z",
    "Thu Mar 24 15:45:47 UTC 2011": "2011-03-24T15:45:47Z",
    "Thu Mar 24 15:45:47 -0500 2011": "2011-03-24T20:45:47Z",
    "Thu Mar 24 15:45:47 2011": "2011-03-24T19:45:47Z",
    "Tue Mar  1 15:45:47 UTC 2011": "2011-03-01T15:45:47Z",
    "March 24, 2011": "2011-03-24T04:00:00Z",
    "Mar 4, 2011": "2011-03-04T05:00:00Z",
}


def test_moments_are_read_in_every_form() -> None:
    assert {text: parse_timestamp(text, NEW_YORK) for text in MOMENTS} == {
        text: datetime.fromisoformat(moment) for text, moment in MOMENTS.items()
    }


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "2026-02-30", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"),
        *("1969-12-31T23:59:59Z", "10000-01-01", "2026-06-30T23:59:60Z", "1700000000", "２０２６-01-01", "1" * 1000),
        *("Mon, 99 Foo 2026 00:00:00 GMT", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00+99:99"),
        *("Thu Foo 24 15:45:47 UTC 2011", "Thu Mar 99 15:45:47 UTC 2011", "Thu Mar 24 99:45:47 UTC 2011"),
        *("Brumaire 24, 2011", "March 32, 2011"),
    ],
)
def test_invalid_timestamps_are_refused(text: str) -> None:
    with pytest.raises(InvalidDate):
        parse_timestamp(text, NEW_YORK)


PUBLISHED = [
    "Thu Mar 24 15:45:47 UTC 2011",
    "Thu Mar 24 10:45:47 -0500 2011",
    "Thu, 24 Mar 2011 15:45:47 +0000",
    "2011-03-24T15:45:47Z",
]


@pytest.mark.parametrize("text", PUBLISHED)
def test_timestamps_in_bodies_and_filters_accept_the_formats_of_old_clients(api: ApiClient, text: str) -> None:
    blog = api.post("blogs.json", {"blog": {"title": "News"}}).json()["blog"]["id"]
    created_response = api.post(f"blogs/{blog}/articles.json", {"article": {"title": "Old", "published_at": text}})

    assert created_response.status_code == 201, created_response.content
    published_at = datetime.fromisoformat(created_response.json()["article"]["published_at"])
    assert published_at == datetime(2011, 3, 24, 15, 45, 47, tzinfo=UTC)
    for name in ("published_at_min", "published_at_max"):
        filtered_response = api.get(f"blogs/{blog}/articles.json", **{name: text})
        assert [article["title"] for article in filtered_response.json()["articles"]] == ["Old"]
    assert api.get(f"blogs/{blog}/articles.json", published_at_max="March 24, 2011").json()["articles"] == []


MOMENT = datetime(2025, 7, 2, 11, 38, 15, 700_000, tzinfo=UTC)
SHOWN = "2025-07-02T11:38:15Z"


@pytest.mark.parametrize("name", ["created_at_min", "created_at_max", "updated_at_min", "updated_at_max"])
def test_a_row_is_found_by_the_moments_that_it_shows(api: ApiClient, shop: Shop, name: str) -> None:
    created_response = api.post("products.json", {"product": {"title": "Mug"}}).json()["product"]
    with shop_scope(shop):
        Product.objects.filter(pk=created_response["id"]).update(created_at=MOMENT, updated_at=MOMENT)
    product = api.get(f"products/{created_response['id']}.json").json()["product"]

    for text in (product[name[:-4]], SHOWN, "2025-07-02T11:38:15.2Z"):
        filtered_response = api.get("products.json", **{name: text}).json()["products"]
        assert [row["id"] for row in filtered_response] == [created_response["id"]], text
    other = "2025-07-02T11:38:14Z" if name.endswith("max") else "2025-07-02T11:38:16Z"
    assert api.get("products.json", **{name: other}).json()["products"] == []


@pytest.mark.parametrize("query", [f"created_at:<={SHOWN}", f"created_at:>={SHOWN}", f"created_at:{SHOWN}"])
def test_a_customer_is_found_by_the_second_that_the_search_names(api: ApiClient, shop: Shop, query: str) -> None:
    created_response = api.post("customers.json", {"customer": {"first_name": "Ann"}}).json()["customer"]
    with shop_scope(shop):
        Customer.objects.filter(pk=created_response["id"]).update(created_at=MOMENT)

    filtered_response = api.get("customers/search.json", query=query).json()["customers"]

    assert [row["id"] for row in filtered_response] == [created_response["id"]]
