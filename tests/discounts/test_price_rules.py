from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.discounts.domain.price_rules import check_amount_decimals
from apps.discounts.models import PriceRule, PriceRuleItem
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.catalog import make_product
from tests.support.factories.countries import make_country
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

TABLE = "price_rule"
RULE = {
    "title": "Summer",
    "value_type": "percentage",
    "value": "-10.0",
    "customer_selection": "all",
    "target_type": "line_item",
    "target_selection": "all",
    "allocation_method": "across",
    "starts_at": "2026-06-01T00:00:00Z",
}
BUY_X_GET_Y = {
    "target_selection": "entitled",
    "allocation_method": "each",
    "prerequisite_to_entitlement_quantity_ratio": {"prerequisite_quantity": 2, "entitled_quantity": 1},
}


def test_rules_fit_the_wire_table(api: ApiClient) -> None:
    product = make_product()
    values = {
        **RULE,
        **BUY_X_GET_Y,
        "value": "-100",
        "allocation_limit": 3,
        "usage_limit": 20,
        "prerequisite_product_ids": [product.pk],
        "entitled_variant_ids": [product.variants.get().pk],
        "prerequisite_subtotal_range": {"greater_than_or_equal_to": "50"},
    }

    response = api.post("price_rules.json", {"price_rule": values})
    assert response.status_code == 201, response.content
    rule = response.json()["price_rule"]
    changed = api.put(f"price_rules/{rule['id']}.json", {"price_rule": {"title": "Winter"}}).json()
    listed = api.get("price_rules.json").json()

    assert_fits(TABLE, "POST /price_rules.json", response.json())
    assert_fits(TABLE, "GET /price_rules.json", {"price_rules": [api_rule(api)]})
    assert_fits(TABLE, "GET /price_rules/{id}.json", {"price_rule": api_rule(api)})
    assert_fits(TABLE, "PUT /price_rules/{id}.json", {"price_rule": api_rule(api)})
    assert_fits(TABLE, "GET /price_rules/count.json", api.get("price_rules/count.json").json())
    assert changed["price_rule"] == {**rule, "title": "Winter", "updated_at": changed["price_rule"]["updated_at"]}
    assert listed["price_rules"][0] == changed["price_rule"]
    assert (rule["value"], rule["allocation_limit"], rule["usage_limit"]) == ("-100.0", 3, 20)
    assert rule["prerequisite_subtotal_range"] == {"greater_than_or_equal_to": "50.0"}
    assert rule["prerequisite_to_entitlement_quantity_ratio"] == {"prerequisite_quantity": 2, "entitled_quantity": 1}
    assert rule["prerequisite_to_entitlement_purchase"] == {"prerequisite_amount": None}
    assert (rule["prerequisite_product_ids"], rule["entitled_product_ids"]) == ([product.pk], [])
    assert rule["starts_at"] == "2026-05-31T20:00:00-04:00"
    assert rule["admin_graphql_api_id"] == f"gid://platform/PriceRule/{rule['id']}"


def api_rule(api: ApiClient) -> Attrs:
    """Return a rule with only the values that the examples of the wire table have."""
    values = {**RULE, "ends_at": "2026-07-01T00:00:00Z"}
    return api.post("price_rules.json", {"price_rule": values}).json()["price_rule"]


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ({"value": "10"}, {"value": ["must be less than or equal to 0"]}),
        ({"value": "-100.1"}, {"value": ["must be greater than or equal to -100"]}),
        ({"value": "-1.0001"}, {"value": ["is invalid"]}),
        ({"value_type": "fixed_amount", "value": "-1.001"}, {"value": ["is invalid"]}),
        ({"value_type": "gift"}, {"value_type": ["is not included in the list"]}),
        ({"title": " "}, {"title": ["can't be blank"]}),
        ({"starts_at": None}, {"starts_at": ["can't be blank"]}),
        ({"ends_at": "2026-06-01T00:00:00Z"}, {"ends_at": ["must be after the start"]}),
        ({"usage_limit": 0}, {"usage_limit": ["must be greater than or equal to 1"]}),
        ({"allocation_limit": 2}, {"allocation_limit": ["can only be set if allocation_method is each"]}),
        ({"target_selection": "entitled"}, {"entitled_product_ids": ["can't be blank"]}),
        (
            {"target_selection": "entitled", "target_type": "shipping_line"},
            {"entitled_country_ids": ["can't be blank"]},
        ),
        ({"customer_selection": "prerequisite"}, {"prerequisite_customer_ids": ["can't be blank"]}),
        ({"target_selection": "entitled", "entitled_product_ids": [7]}, {"entitled_product_ids": ["must exist"]}),
        (
            {"prerequisite_product_ids": [7]},
            {
                "prerequisite_product_ids": [
                    "can only be set together with a quantity or an amount that the customer must buy"
                ]
            },
        ),
        (
            {"prerequisite_to_entitlement_quantity_ratio": {"prerequisite_quantity": 2}},
            {
                "prerequisite_to_entitlement_quantity_ratio": [
                    "needs entitled_quantity, and either prerequisite_quantity or prerequisite_amount"
                ]
            },
        ),
        (
            {"prerequisite_shipping_price_range": {"less_than_or_equal_to": "5"}},
            {"prerequisite_shipping_price_range": ["can only be set if target_type is shipping_line"]},
        ),
        (
            {"prerequisite_subtotal_range": {"greater_than_or_equal_to": "-5"}},
            {"prerequisite_subtotal_range.greater_than_or_equal_to": ["must be greater than or equal to 0"]},
        ),
    ],
)
def test_contradictions_are_refused(api: ApiClient, values: Attrs, errors: Attrs) -> None:
    response = api.post("price_rules.json", {"price_rule": {**RULE, **values}})

    assert response.status_code == 422
    assert get_errors(response) == errors
    assert not PriceRule.objects.exists()


@pytest.mark.parametrize("name", ["product", "customer", "country"])
def test_ids_of_another_shop_are_refused(api: ApiClient, other_shop: Shop, name: str) -> None:
    with shop_scope(other_shop):
        row = make_product() if name == "product" else make_customer() if name == "customer" else make_country()
        foreign = row.pk
    values = {
        "product": {"target_selection": "entitled", "entitled_product_ids": [foreign]},
        "customer": {"customer_selection": "prerequisite", "prerequisite_customer_ids": [foreign]},
        "country": {
            "target_type": "shipping_line",
            "target_selection": "entitled",
            "entitled_country_ids": [foreign],
        },
    }[name]

    response = api.post("price_rules.json", {"price_rule": {**RULE, **values}})

    assert list(get_errors(response).values()) == [["must exist"]]


def test_lists_of_ids_are_replaced_and_recorded(api: ApiClient) -> None:
    products = [make_product().pk for _ in range(3)]
    rule = make_rule(target_selection="entitled", entitled_product_ids=products[:2])

    response = api.put(f"price_rules/{rule.pk}.json", {"price_rule": {"entitled_product_ids": products[1:]}})

    assert response.json()["price_rule"]["entitled_product_ids"] == products[1:]
    assert Event.objects.filter(topic="price_rules/update", subject_id=rule.pk).count() == 1
    api.put(f"price_rules/{rule.pk}.json", {"price_rule": {"entitled_product_ids": products[1:]}})
    assert Event.objects.filter(topic="price_rules/update", subject_id=rule.pk).count() == 1


def test_a_deleted_product_leaves_its_rules(api: ApiClient) -> None:
    product = make_product()
    rule = make_rule(target_selection="entitled", entitled_product_ids=[product.pk])

    assert api.delete(f"products/{product.pk}.json").status_code == 200

    body = api.put(f"price_rules/{rule.pk}.json", {"price_rule": {"title": "Other"}}).json()["price_rule"]
    assert (body["title"], body["target_selection"], body["entitled_product_ids"]) == ("Other", "entitled", [])


def test_rules_are_filtered(api: ApiClient) -> None:
    now = timezone.now()
    old = make_rule(starts_at=now - timedelta(days=9), ends_at=now - timedelta(days=5))
    new = make_rule(starts_at=now, ends_at=now + timedelta(days=5))
    code = make_code(rule=new)
    code.usage_count = 3
    code.save(update_fields=["usage_count"])

    def find(**query: str) -> list[int]:
        return [row["id"] for row in api.get("price_rules.json", **query).json()["price_rules"]]

    assert find(starts_at_min=(now - timedelta(days=1)).isoformat()) == [new.pk]
    assert find(ends_at_max=now.isoformat()) == [old.pk]
    assert find(times_used="3") == [new.pk]
    assert find(times_used="0") == [old.pk]
    assert find(since_id=str(old.pk)) == [new.pk]


def test_deleting_a_rule_deletes_its_codes(api: ApiClient) -> None:
    code = make_code()

    assert api.delete(f"price_rules/{code.rule_id}.json").json() == {}

    assert api.get("discount_codes/count.json").json() == {"count": 0}


@pytest.mark.parametrize(
    "values",
    [
        {"value": Decimal(1)},
        {"value": Decimal(-101)},
        {"title": ""},
        {"usage_limit": 0},
        {"allocation_limit": 1},
        {"entitled_quantity_ratio": 1},
        {"prerequisite_subtotal": Decimal(-1)},
        {"ends_at": timezone.now() - timedelta(days=99)},
    ],
)
def test_the_database_refuses_impossible_rules(values: Attrs) -> None:
    make_rule()

    with pytest.raises(IntegrityError), transaction.atomic():
        PriceRule.objects.update(**values)


def test_an_item_links_exactly_one_row() -> None:
    rule, product = make_rule(), make_product()

    for links in ({}, {"product": product, "variant": product.variants.get()}):
        with pytest.raises(IntegrityError), transaction.atomic():
            PriceRuleItem.objects.create(shop_id=rule.shop_id, rule=rule, role="entitled", **links)


def test_the_currency_must_support_the_amounts(api: ApiClient, in_shop: Shop) -> None:
    make_rule("-1.50", value_type="fixed_amount")

    assert check_amount_decimals(in_shop, "EUR") is None
    assert check_amount_decimals(in_shop, "JPY") == "discounts have amounts with more decimals than the currency"
