from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
from tests.support.factories.catalog import make_product
from tests.support.factories.discounts import make_batch, make_code, make_rule

RULE = {
    "price_rule": {
        "title": "Summer",
        "value_type": "percentage",
        "value": "-10.0",
        "customer_selection": "all",
        "target_type": "line_item",
        "target_selection": "all",
        "allocation_method": "across",
        "starts_at": "2026-06-01T00:00:00Z",
        "ends_at": "2026-09-01T00:00:00Z",
        "usage_limit": 100,
        "once_per_customer": True,
        "prerequisite_subtotal_range": {"greater_than_or_equal_to": "40.0"},
    }
}
CHANGE = {"price_rule": {"title": "Autumn", "value": "-15.0"}}
CODE = {"discount_code": {"code": "AUTUMN"}}
BATCH = {"discount_codes": [{"code": "SUMMER1"}, {"code": "SUMMER2"}, {"code": ""}]}


def make_rule_id(world: SampleContext) -> Attrs:
    return {"id": make_rule().pk}


def make_rule_of_path(world: SampleContext) -> Attrs:
    return {"rule_id": make_rule().pk}


def make_code_ids(world: SampleContext) -> Attrs:
    code = make_code()
    return {"rule_id": code.rule_id, "id": code.pk, "code": code.code}


def make_batch_ids(world: SampleContext) -> Attrs:
    batch = make_batch()
    return {"rule_id": batch.rule_id, "id": batch.pk, "batch_id": batch.pk}


def make_cart(world: SampleContext) -> Attrs:
    return {"variant_id": make_product().variants.get().pk, "code": make_code().code}


def build_cart(arguments: Attrs) -> Attrs:
    return {
        "currency": "USD",
        "line_items": [{"variant_id": arguments["variant_id"], "quantity": 2, "price": "19.99"}],
        "shipping_lines": [{"price": "5.00"}],
        "email": "ada@example.com",
        "country_code": "DE",
        "discount_codes": [arguments["code"].lower(), "WINTER"],
    }


register_sample("GET price_rules.json", arrange=make_rule_id)
register_sample("POST price_rules.json", RULE, status=201)
register_sample("GET price_rules/count.json", arrange=make_rule_id)
register_sample("GET price_rules/<id>.json", arrange=make_rule_id)
register_sample("PUT price_rules/<id>.json", CHANGE, arrange=make_rule_id)
register_sample("DELETE price_rules/<id>.json", arrange=make_rule_id)
register_sample("GET price_rules/<rule_id>/discount_codes.json", arrange=make_code_ids)
register_sample("POST price_rules/<rule_id>/discount_codes.json", CODE, arrange=make_rule_of_path, status=201)
register_sample("GET price_rules/<rule_id>/discount_codes/<id>.json", arrange=make_code_ids)
register_sample("PUT price_rules/<rule_id>/discount_codes/<id>.json", CODE, arrange=make_code_ids)
register_sample("DELETE price_rules/<rule_id>/discount_codes/<id>.json", arrange=make_code_ids)
register_sample("POST price_rules/<rule_id>/batch.json", BATCH, arrange=make_rule_of_path, status=201)
register_sample("GET price_rules/<rule_id>/batch/<id>.json", arrange=make_batch_ids)
register_sample("GET price_rules/<rule_id>/batch/<batch_id>/discount_codes.json", arrange=make_batch_ids)
register_sample("GET discount_codes/count.json", arrange=make_code_ids)
register_sample(
    "GET discount_codes/lookup.json",
    arrange=make_code_ids,
    status=303,
    query=lambda arguments: {"code": arguments["code"].lower()},
)
register_sample("POST discounts/calculate.json", build_cart, arrange=make_cart)
