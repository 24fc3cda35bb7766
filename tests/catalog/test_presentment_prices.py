from decimal import Decimal

import pytest

from apps.catalog.models import Variant
from apps.core.tenancy.currency_conversion import Presentment
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.catalog import make_product
from tests.support.types import JsonObject
from tests.support.wire_tables import find_misfits

RATES: list[Attrs] = [
    {"currency": "EUR", "rate": "0.92", "rounding": "0.99"},
    {"currency": "GBP", "rate": None, "rounding": ""},
    {"currency": "JPY", "rate": "150", "rounding": ""},
]


@pytest.fixture
def priced_variant(in_shop: Shop) -> Variant:
    in_shop.presentment_currencies = RATES
    in_shop.save()
    variant: Variant = make_product(prices=("10.00",)).variants.get()
    Variant.objects.filter(pk=variant.pk).update(compare_at_price="12.50")
    return variant


def get_presentment_prices(api: ApiClient, variant: Variant) -> dict[str, tuple[str, str | None]]:
    return shorten_prices(api.get(f"variants/{variant.pk}.json").json()["variant"]["presentment_prices"])


def shorten_prices(presentment_prices: list[Attrs]) -> dict[str, tuple[str, str | None]]:
    for row in presentment_prices:
        compared = row["compare_at_price"]
        assert compared is None or compared["currency_code"] == row["price"]["currency_code"]
    return {
        price["currency_code"]: (price["amount"], compared and compared["amount"])
        for price, compared in ((row["price"], row["compare_at_price"]) for row in presentment_prices)
    }


def fix_prices(api: ApiClient, variant: Variant, *rows: JsonObject) -> Response:
    return api.put(f"variants/{variant.pk}.json", {"variant": {"fixed_prices": list(rows)}})


@pytest.mark.parametrize(
    ("amount", "rate", "rounding", "currency", "outcome"),
    [
        ("10.00", "0.92", "", "EUR", "9.20"),
        ("10.01", "0.925", "", "EUR", "9.26"),
        ("10.00", "0.92", "0.05", "EUR", "9.20"),
        ("10.03", "0.92", "0.05", "EUR", "9.25"),
        ("0.01", "0.92", "0.05", "EUR", "0.05"),
        ("10.00", "0.92", "0.90", "EUR", "9.90"),
        ("10.00", "0.99", "0.90", "EUR", "9.90"),
        ("10.00", "0.991", "0.90", "EUR", "10.90"),
        ("10.00", "0.92", "0.95", "EUR", "9.95"),
        ("10.00", "0.99", "0.99", "EUR", "9.99"),
        ("0.01", "0.92", "0.99", "EUR", "0.99"),
        ("10.00", "150.05", "1", "JPY", "1501"),
        ("10.00", "150.05", "100", "JPY", "1600"),
        ("0.00", "150", "100", "JPY", "0"),
    ],
)
def test_rounding_rules(amount: str, rate: str, rounding: str, currency: str, outcome: str) -> None:
    presentment = Presentment(currency, Decimal(rate), rounding)

    assert presentment.price(Decimal(amount)) == Decimal(outcome)


def test_prices_are_converted_and_rounded(api: ApiClient, priced_variant: Variant) -> None:
    product = f"products/{priced_variant.product_id}"
    first_body, many_body = api.get(f"{product}.json").json(), api.get("products.json").json()
    body = api.get(f"{product}/variants.json").json()

    # GBP has no exchange rate, so there is no price in GBP.
    expected = {"USD": ("10.00", "12.50"), "EUR": ("9.99", "11.99"), "JPY": ("1500", "1875")}
    assert get_presentment_prices(api, priced_variant) == expected
    assert list(get_presentment_prices(api, priced_variant)) == ["USD", "EUR", "JPY"]
    for displayed_product in (first_body["product"], many_body["products"][0]):
        assert shorten_prices(displayed_product["variants"][0]["presentment_prices"]) == expected
    assert shorten_prices(body["variants"][0]["presentment_prices"]) == expected
    wrong = find_misfits("product", "GET /products.json", many_body)
    wrong += find_misfits("variant", "GET /products/{id}/variants.json", body)
    assert [index for index in wrong if "presentment_prices" in index] == []


def test_prices_are_fixed_and_let_go(api: ApiClient, priced_variant: Variant) -> None:
    pounds = {"currency_code": "GBP", "price": "8.50"}
    euros = {"currency_code": "EUR", "price": "9.00", "compare_at_price": "11.00"}

    response = fix_prices(api, priced_variant, euros, pounds)
    assert response.status_code == 200, response.content
    assert "fixed_prices" not in response.json()["variant"]
    fixed = {"USD": ("10.00", "12.50"), "EUR": ("9.00", "11.00"), "GBP": ("8.50", None), "JPY": ("1500", "1875")}
    assert get_presentment_prices(api, priced_variant) == fixed
    body = api.get(f"products/{priced_variant.product_id}.json").json()
    api.put(f"products/{priced_variant.product_id}.json", body)
    assert get_presentment_prices(api, priced_variant) == fixed
    api.put(f"variants/{priced_variant.pk}.json", {"variant": {"price": "20.00"}})
    assert get_presentment_prices(api, priced_variant)["EUR"] == ("9.00", "11.00")
    assert get_presentment_prices(api, priced_variant)["JPY"] == ("3000", "1875")

    fix_prices(api, priced_variant, {"currency_code": "EUR", "price": None})

    assert get_presentment_prices(api, priced_variant)["EUR"] == ("18.99", "11.99")
    assert get_presentment_prices(api, priced_variant)["GBP"] == ("8.50", None)


def test_a_product_brings_its_fixed_prices(api: ApiClient, priced_variant: Variant) -> None:
    variant = {"price": "5.00", "fixed_prices": [{"currency_code": "GBP", "price": "4.20"}]}

    product = api.post("products.json", {"product": {"title": "Cup", "variants": [variant]}}).json()["product"]

    output = shorten_prices(product["variants"][0]["presentment_prices"])
    assert output == {"USD": ("5.00", None), "EUR": ("4.99", None), "GBP": ("4.20", None), "JPY": ("750", None)}


@pytest.mark.parametrize(
    ("row", "field", "message"),
    [
        ({"price": "1.00"}, "currency_code", "can't be blank"),
        ({"currency_code": "SEK", "price": "1.00"}, "currency_code", "is not included in the list"),
        ({"currency_code": "USD", "price": "1.00"}, "currency_code", "is not included in the list"),
        ({"currency_code": "EUR"}, "price", "can't be blank"),
        ({"currency_code": "EUR", "price": "-1"}, "price", "must be greater than or equal to 0"),
        ({"currency_code": "JPY", "price": "1.5"}, "price", "is invalid"),
        ({"currency_code": "EUR", "price": "1.555"}, "price", "is invalid"),
        ({"currency_code": "EUR", "price": "1.00", "compare_at_price": "x"}, "compare_at_price", "is invalid"),
    ],
)
def test_invalid_prices_are_refused(
    api: ApiClient, priced_variant: Variant, row: JsonObject, field: str, message: str
) -> None:
    before = get_presentment_prices(api, priced_variant)

    refused = fix_prices(api, priced_variant, row)

    assert get_errors(refused) == {f"fixed_prices.0.{field}": [message]}
    assert get_presentment_prices(api, priced_variant) == before


@pytest.mark.parametrize("expected", [{}, "EUR", [1], [{"currency_code": "EUR", "price": "1"}] * 2])
def test_fixed_prices_contain_each_currency_once(api: ApiClient, priced_variant: Variant, expected: object) -> None:
    refused = api.put(f"variants/{priced_variant.pk}.json", {"variant": {"fixed_prices": expected}})

    assert all(name.startswith("fixed_prices") for name in get_errors(refused))


def test_lists_show_the_currencies_that_are_asked_for(api: ApiClient, priced_variant: Variant) -> None:
    for number in range(2):
        make_product(f"Cup {number}", prices=("1.00",))
    plain = api.get("products.json")
    response = api.get("products.json", presentment_currencies="eur, JPY,GBP", limit="1")
    variants = api.get(f"products/{priced_variant.product_id}/variants.json", presentment_currencies="USD")
    path = response["Link"].split(">")[0].strip("<").partition("/admin")[2]
    following = api.http.get(f"/admin{path}").json()

    def codes(body: JsonObject) -> list[list[str]]:
        return [list(shorten_prices(row["variants"][0]["presentment_prices"])) for row in body["products"]]

    assert codes(plain.json()) == [["USD", "EUR", "JPY"]] * 3
    assert codes(response.json()) == [["EUR", "JPY"]]
    assert codes(following) == [["EUR", "JPY"]]
    assert codes(api.get("products.json").json()) == [["USD", "EUR", "JPY"]] * 3
    assert list(shorten_prices(variants.json()["variants"][0]["presentment_prices"])) == ["USD"]
    assert plain["ETag"] != api.get("products.json", presentment_currencies="USD")["ETag"]
    assert api.get("products/count.json", presentment_currencies="EUR").json() == {"count": 3}
    nonsense = api.get("products.json", presentment_currencies="euro")
    assert (nonsense.status_code, list(nonsense.json()["errors"])) == (400, ["presentment_currencies"])


def test_new_rates_are_shown_at_once(api: ApiClient, priced_variant: Variant, shop: Shop) -> None:
    assert get_presentment_prices(api, priced_variant)["JPY"] == ("1500", "1875")
    shop.presentment_currencies = [{"currency": "JPY", "rate": "200", "rounding": ""}]
    shop.save()

    assert get_presentment_prices(api, priced_variant) == {"USD": ("10.00", "12.50"), "JPY": ("2000", "2500")}


def test_currencies_are_listed_with_their_rates(api: ApiClient, priced_variant: Variant) -> None:
    currencies = [{"enabled": True, **row} for row in ({"currency": "USD", "rate": "1", "rounding": ""}, *RATES)]
    listed = api.get("currencies.json").json()["currencies"]
    assert [{name: row[name] for name in currencies[0]} for row in listed] == currencies
    assert all("rate_updated_at" in row for row in listed)
    assert api.get("shop.json").json()["shop"]["enabled_presentment_currencies"] == ["USD", "EUR", "GBP", "JPY"]


def post_order(api: ApiClient, variant: Variant, **fields: object) -> Response:
    lines = [{"variant_id": variant.pk, "quantity": 2}]
    return api.post("orders.json", {"order": {"email": "ada@example.com", "line_items": lines, **fields}})


def test_an_order_in_a_further_currency_takes_the_shops_rate(api: ApiClient, priced_variant: Variant) -> None:
    order = post_order(api, priced_variant, presentment_currency="JPY").json()["order"]

    assert (order["currency"], order["presentment_currency"]) == ("USD", "JPY")
    assert order["total_price_set"] == {
        "shop_money": {"amount": "20.00", "currency_code": "USD"},
        "presentment_money": {"amount": "3000", "currency_code": "JPY"},
    }
    misfits = find_misfits("order", "POST /orders.json", {"order": order})
    assert [misfit for misfit in misfits if "_set" in misfit] == []


def test_the_buyer_pays_the_price_that_was_shown(api: ApiClient, priced_variant: Variant) -> None:
    fix_prices(api, priced_variant, *({"currency_code": c, "price": p} for c, p in (("EUR", "8.00"), ("GBP", "7.50"))))

    presentment = post_order(api, priced_variant, presentment_currency="EUR").json()["order"]
    order = post_order(api, priced_variant, currency="GBP").json()["order"]
    no_rate = post_order(api, priced_variant, presentment_currency="GBP")
    input_order = post_order(api, priced_variant, presentment_currency="GBP", exchange_rate="0.75").json()["order"]

    assert presentment["line_items"][0]["price_set"] == {
        "shop_money": {"amount": "8.70", "currency_code": "USD"},
        "presentment_money": {"amount": "8.00", "currency_code": "EUR"},
    }
    assert (order["currency"], order["total_price"]) == ("GBP", "15.00")
    assert no_rate.json() == {"errors": {"exchange_rate": ["can't be blank"]}}
    assert input_order["line_items"][0]["price_set"]["shop_money"]["amount"] == "10.00"
    assert input_order["line_items"][0]["price_set"]["presentment_money"]["amount"] == "7.50"
