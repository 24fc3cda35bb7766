"""Steps with price rules and discount codes, in a shop with the steps of orders."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from tests.model.arithmetic import PLACES, to_text
from tests.model.discount_model import CodeModel, RuleModel
from tests.model.draft_model import TaxTable
from tests.model.machine import INDEX, ORDERS, ModelMachine
from tests.support import sales_driver
from tests.support.types import JsonObject

# The currency of the shop, and a presentment currency with its rate.
SHOPS = (("USD", "EUR", "0.9123"), ("EUR", "JPY", "163.47"), ("JPY", "USD", "0.006694"), ("KWD", "JPY", "487.311"))
RULES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["across", "across", "each", "each", "buy quantity", "buy amount", "shipping"]),
        "is_percentage": st.booleans(),
        "value": st.sampled_from([1, 50, 333, 999, 1000, 3333, 10_000]),
        "entitled": st.integers(0, 3),
        "bought": st.integers(1, 3),
        "buys": st.integers(1, 3),
        "gets": st.integers(1, 2),
        "limit": st.sampled_from([None, 1, 2, 5]),
        "minimum": st.sampled_from([None, None, 2, 2000]),
        "usage_limit": st.sampled_from([None, None, 1, 2]),
        "once_per_customer": st.booleans(),
        "codes": st.integers(1, 2),
    }
)

OPENING: dict[str, Any] = {
    "currencies": st.sampled_from(SHOPS),
    "taxes_included": st.booleans(),
    "shipping_taxed": st.booleans(),
    "levels": st.lists(st.sampled_from([3, 20, 60]), min_size=6, max_size=6),
    "order": ORDERS,
    "rules": st.lists(RULES, min_size=2, max_size=2),
}


class DiscountMachine(ModelMachine):
    """A shop with price rules, two countries with taxes, and two customers. One of the customers has no taxes."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: list[CodeModel] = []
        self.rule_ids: dict[RuleModel, int] = {}

    def open(
        self,
        *,
        currencies: tuple[str, str, str],
        taxes_included: bool,
        shipping_taxed: bool,
        rules: list[dict[str, Any]],
        **shop: Any,
    ) -> None:
        self.currency, self.presentment, rate = currencies
        self.rate = Decimal(rate)
        self.taxes = TaxTable({}, shipping_taxed)
        self.taxes_included = taxes_included
        sales_driver.set_currencies(self.shop, *currencies)
        sales_driver.set_tax_settings(self.shop, taxes_included=taxes_included, shipping_taxed=shipping_taxed)
        for country, tax, province, province_tax in (("CA", "0.05", "ON", "0.08"), ("DE", "0.19", "BE", "0")):
            sales_driver.create_taxes(country, Decimal(tax), province, Decimal(province_tax))
        self.set_tax_rates("0.05", "0.19")
        self.customers = sales_driver.make_customers()
        super().open(**shop)
        for values in rules:
            self.create_rule(values)

    def set_tax_rates(self, canada: str, germany: str) -> None:
        rates = {"CA": [Decimal(canada)], "CA-ON": [Decimal(canada), Decimal("0.08")], "DE": [Decimal(germany)]}
        self.taxes = replace(self.taxes, rates=rates)

    @property
    def unit(self) -> Decimal:
        return Decimal(10) ** -PLACES[self.currency]

    def text(self, amount: Decimal) -> str:
        return to_text(amount, self.currency)

    def choose_variants(self, choice: int) -> list[int]:
        """Return the first variant, the second one, or both."""
        return [pk for index, pk in enumerate(self.items.values(), 1) if choice & index]

    # --- discounts ---

    @precondition(lambda self: len(self.codes) < 5)
    @rule(values=RULES)
    def create_rule(self, values: dict[str, Any]) -> None:
        kind, value = values["kind"], values["value"]
        has_bundles = kind.startswith("buy")
        entitled = self.choose_variants(values["entitled"] or (3 if has_bundles else 0))
        model = RuleModel(
            Decimal(value) / 100 if values["is_percentage"] else value * self.unit,
            values["is_percentage"],
            is_shipping=kind == "shipping",
            is_each=kind not in {"across", "shipping"},
            limit=values["limit"] if kind not in {"across", "shipping"} else None,
            entitled=frozenset(entitled) if entitled and kind != "shipping" else None,
            usage_limit=values["usage_limit"],
            once_per_customer=values["once_per_customer"],
        )
        if has_bundles:
            model.bought, model.gets = frozenset(self.choose_variants(values["bought"])), values["gets"]
            model.buys = values["buys"] if kind == "buy quantity" else values["buys"] * 1000 * self.unit
        elif values["minimum"] == 2:
            model.minimum_quantity = 2
        elif values["minimum"]:
            model.minimum_subtotal = values["minimum"] * self.unit
        if kind == "shipping" and values["limit"]:
            model.highest_shipping = 1000 * self.unit
        self.note(f"rule {values}")
        body = self.build_rule(model)
        self.rule_ids[model] = self.send("price_rules.json", {"price_rule": body})["price_rule"]["id"]
        for _ in range(values["codes"]):
            text = f"CODE{len(self.codes)}"
            path = f"price_rules/{self.rule_ids[model]}/discount_codes.json"
            row = self.send(path, {"discount_code": {"code": text}})["discount_code"]
            model.codes.append(CodeModel(row["id"], text, model))
            self.codes.append(model.codes[-1])

    def build_rule(self, model: RuleModel) -> JsonObject:
        body: JsonObject = {
            "title": "Rule",
            "value_type": "percentage" if model.is_percentage else "fixed_amount",
            "value": f"-{model.value:f}",
            "customer_selection": "all",
            "target_type": "shipping_line" if model.is_shipping else "line_item",
            "target_selection": "all" if model.entitled is None else "entitled",
            "allocation_method": "each" if model.is_each else "across",
            "allocation_limit": model.limit,
            "usage_limit": model.usage_limit,
            "once_per_customer": model.once_per_customer,
            "starts_at": "2020-01-01T00:00:00Z",
            "entitled_variant_ids": sorted(model.entitled or ()),
            "prerequisite_variant_ids": sorted(model.bought),
        }
        if model.minimum_subtotal is not None:
            body["prerequisite_subtotal_range"] = {"greater_than_or_equal_to": self.text(model.minimum_subtotal)}
        if model.minimum_quantity is not None:
            body["prerequisite_quantity_range"] = {"greater_than_or_equal_to": model.minimum_quantity}
        if model.highest_shipping is not None:
            most = {"less_than_or_equal_to": self.text(model.highest_shipping)}
            body["prerequisite_shipping_price_range"] = most
        if isinstance(model.buys, Decimal):
            body["prerequisite_to_entitlement_quantity_ratio"] = {"entitled_quantity": model.gets}
            body["prerequisite_to_entitlement_purchase"] = {"prerequisite_amount": self.text(model.buys)}
        elif model.buys is not None:
            ratio = {"prerequisite_quantity": model.buys, "entitled_quantity": model.gets}
            body["prerequisite_to_entitlement_quantity_ratio"] = ratio
        return body

    @precondition(lambda self: self.codes)
    @rule(index=INDEX, value=st.sampled_from([1, 250, 10_000]), is_active=st.booleans())
    def change_rule(self, index: int, value: int, is_active: bool) -> None:
        """Change the value or the end of a rule."""
        model = self.codes[index % len(self.codes)].rule
        model.value = Decimal(value) / 100 if model.is_percentage else value * self.unit
        model.is_active = is_active
        self.note(f"change rule {self.rule_ids[model]} to {model.value}, active: {is_active}")
        body = {"value": f"-{model.value:f}", "ends_at": None if is_active else "2021-01-01T00:00:00Z"}
        self.put(f"price_rules/{self.rule_ids[model]}.json", {"price_rule": body})

    @precondition(lambda self: self.codes)
    @rule(index=INDEX)
    def name_code(self, index: int) -> None:
        """Create an order that names a code. It is never refused, and counts as a use."""
        code = self.codes[index % len(self.codes)]
        self.note(f"order with {code.text}")
        line = {"title": "Card", "price": "1", "quantity": 1}
        codes = [{"code": code.text, "amount": "0", "type": "fixed_amount"}]
        self.send("orders.json", {"order": {"line_items": [line], "discount_codes": codes}})
        code.uses.append(None)

    def put(self, path: str, body: object = None) -> JsonObject:
        response = self.api.put(path, body)
        assert response.status_code == 200, (self.log, path, body, response.content)
        return dict(response.json())

    @invariant()
    def compare_codes(self) -> None:
        for code in self.codes:
            row = self.read(f"price_rules/{self.rule_ids[code.rule]}/discount_codes/{code.pk}.json")["discount_code"]
            self.expect(f"uses of {code.text}", row["usage_count"], len(code.uses))

    @rule(canada=st.sampled_from(["0.05", "0.07"]), germany=st.sampled_from(["0.19", "0.081"]))
    def change_taxes(self, canada: str, germany: str) -> None:
        """Change the tax rates. Draft orders keep their taxes until they are calculated again."""
        self.note(f"taxes {canada} {germany}")
        sales_driver.change_tax("CA", Decimal(canada))
        sales_driver.change_tax("DE", Decimal(germany))
        self.set_tax_rates(canada, germany)
