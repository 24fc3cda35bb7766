import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from apps.core.tenancy.models import Shop
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.orders import make_variant
from tests.support.types import JsonObject

AMOUNTS = st.sampled_from(["0", "0.01", "1.00", "33.33", "999999999999", "999999999999.99", "500000000000"])
COUNTS = st.sampled_from([1, 2, 1000, 1_000_000])
GRAMS = st.sampled_from([0, 1, 10**9])
RATES = st.sampled_from(["0.000001", "0.5", "151.27", "1000000", "999999999999"])
TAX = {"title": "VAT", "rate": "10"}
TAXES = st.lists(
    st.fixed_dictionaries(
        {"title": st.sampled_from(["VAT", "Duty"]), "rate": st.sampled_from(["0", "0.2", "0.200", "10"])},
        optional={"price": AMOUNTS},
    ),
    max_size=3,
)
LINES = st.lists(
    st.fixed_dictionaries(
        {"title": st.just("Gold"), "price": AMOUNTS, "quantity": COUNTS, "grams": GRAMS},
        optional={"total_discount": AMOUNTS, "tax_lines": TAXES},
    ),
    min_size=1,
    max_size=4,
)
SHIPPING = st.builds(
    lambda price, count, taxes: [{"title": "Post", "price": price, "tax_lines": taxes}] * count,
    AMOUNTS,
    st.sampled_from([0, 1, 100]),
    TAXES,
)
CODES = st.lists(
    st.fixed_dictionaries(
        {
            "code": st.just("A"),
            "amount": st.sampled_from(["0", "33.33", "100", "999999999999"]),
            "type": st.sampled_from(["percentage", "fixed_amount", "shipping"]),
        }
    ),
    max_size=2,
)
PAYMENTS = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["sale", "authorization"])},
        optional={"amount": AMOUNTS, "currency": st.sampled_from(["USD", "JPY"])},
    ),
    max_size=2,
)
ORDERS = st.fixed_dictionaries(
    {"email": st.just("ada@example.com"), "line_items": LINES},
    optional={
        "shipping_lines": SHIPPING,
        "discount_codes": CODES,
        "tax_lines": TAXES,
        "taxes_included": st.booleans(),
        "total_tip_received": AMOUNTS,
        "transactions": PAYMENTS,
        "currencies": RATES,
    },
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ORDERS)
@example(
    {
        "email": "ada@example.com",
        "line_items": [{"title": "Gold", "price": "999999999999", "quantity": 10**6, "tax_lines": [TAX]}] * 2,
        "currencies": "999999999999",
    }
)
def test_extreme_orders_never_make_the_server_fail(api: ApiClient, fields: JsonObject) -> None:
    if rate := fields.pop("currencies", None):
        fields |= {"presentment_currency": "JPY", "exchange_rate": rate}

    response = api.post("orders.json", {"order": fields})

    assert response.status_code in {201, 422}, response.content
    if response.status_code == 201:
        pk = response.json()["order"]["id"]
        answers = [api.get("orders.json"), api.get(f"orders/{pk}/transactions.json"), api.delete(f"orders/{pk}.json")]
        assert [server_response.status_code for server_response in answers] == [200, 200, 200]


def test_shipping_beyond_any_amount_is_refused_at_any_rate(api: ApiClient) -> None:
    fields = {
        "email": "ada@example.com",
        "line_items": [{"title": "Mug", "price": "1"}],
        "shipping_lines": [{"title": "Post", "price": "999999999999"}] * 100,
        "discount_codes": [{"code": "FREE", "amount": "999999999999", "type": "shipping"}],
        "presentment_currency": "JPY",
        "exchange_rate": "999999999999",
    }

    refused = api.post("orders.json", {"order": fields})
    small = fields | {"shipping_lines": [], "line_items": [{"title": "Mug", "price": "2"}]}

    assert refused.json() == {"errors": {"total_price": ["must be less than 1000000000000"]}}
    errors = get_errors(api.post("orders.json", {"order": small}))
    assert errors == {"exchange_rate": ["results in amounts of 1000000000000 or more"]}


def test_a_weight_that_no_column_holds_is_refused(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop, grams=10**12)
    line = {"variant_id": variant.pk, "quantity": 1_000_000}

    refused = api.post("orders.json", {"order": {"email": "ada@example.com", "line_items": [line] * 10}})

    assert refused.json()["errors"]["total_weight"] == ["must be less than or equal to 9223372036854775807"]


@pytest.mark.parametrize("included", [False, True])
def test_taxes_are_grouped_by_their_rate_however_it_is_written(api: ApiClient, included: bool) -> None:
    lines = [
        {"title": "Mug", "price": "10.00", "tax_lines": [{"title": "VAT", "rate": rate}]}
        for rate in ("0.2", "0.200", 0.2, "0.20000")
    ]
    body = {"email": "ada@example.com", "line_items": lines, "taxes_included": included}

    order = api.post("orders.json", {"order": body}).json()["order"]

    total = "6.68" if included else "8.00"
    assert [(tax["title"], tax["rate"], tax["price"]) for tax in order["tax_lines"]] == [("VAT", 0.2, total)]


def test_lists_of_an_order_have_an_end(api: ApiClient) -> None:
    """Check that the lists in an order have a maximum length, which limits the time for calculations."""
    line = {"title": "Mug", "price": "1"}
    taxes = [{"title": f"T{number}", "rate": 0.001} for number in range(21)]
    codes = [{"code": f"C{number}", "amount": "0.01", "type": "fixed_amount"} for number in range(101)]

    too_long: JsonObject = {
        "line_items": {"line_items": [line] * 501},
        "line_items.0.tax_lines": {"line_items": [line | {"tax_lines": taxes}]},
        "shipping_lines": {"shipping_lines": [{"title": "Post", "price": "1"}] * 101},
        "discount_codes": {"discount_codes": codes},
    }
    for field, fields in too_long.items():
        assert list(get_errors(api.post("orders.json", {"order": {"line_items": [line], **fields}}))) == [field]
    accepted = {"line_items": [line | {"tax_lines": taxes[1:]}], "discount_codes": codes[1:]}
    assert api.post("orders.json", {"order": accepted}).status_code == 201
