"""Steps with price rules and discount codes, in a shop with the steps of orders."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from tests.model.arithmetic import PLACES, to_text
from tests.model.discount_model import Buyer, CodeModel, Person, RuleModel
from tests.model.draft_model import TaxTable
from tests.model.machine import INDEX, ORDERS, ModelMachine
from tests.support import sales_driver
from tests.support.types import JsonObject

# The currency of the shop, and a presentment currency with its rate.
SHOPS = (("USD", "EUR", "0.9123"), ("EUR", "JPY", "163.47"), ("JPY", "USD", "0.006694"), ("KWD", "JPY", "487.311"))
# A discount on each shipping line, and one discount that all shipping lines share.
SHIPPING_KINDS = ("shipping", "shared shipping")
COUNTRIES = ("CA", "DE")
RULES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["across", "across", "each", "each", "buy quantity", "buy amount", *SHIPPING_KINDS]),
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
        "customers": st.sampled_from([0, 0, 0, 1, 2, 3]),
        "countries": st.sampled_from([0, 0, 1, 2, 3]),
        "codes": st.integers(1, 2),
    }
)
# The names of values that select some of two customers or countries.
SELECTIONS = ("customers", "countries")

OPENING: dict[str, Any] = {
    "currencies": st.sampled_from(SHOPS),
    "taxes_included": st.booleans(),
    "shipping_taxed": st.booleans(),
    "levels": st.lists(st.sampled_from([3, 20, 60]), min_size=6, max_size=6),
    "order": ORDERS,
    "rules": st.lists(RULES, min_size=2, max_size=2),
}


class DiscountMachine(ModelMachine):
    """A shop with price rules, two countries with taxes, and two customers. One of the customers has no taxes.

    A third email address belongs to no customer until an order with it creates the customer.
    """

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
        self.country_ids = {
            country: sales_driver.create_taxes(country, Decimal(tax), province, Decimal(province_tax))
            for country, tax, province, province_tax in (("CA", "0.05", "ON", "0.08"), ("DE", "0.19", "BE", "0"))
        }
        self.set_tax_rates("0.05", "0.19")
        emails = ("ann@example.com", "ben@example.com")
        ids = sales_driver.make_customers(*emails)
        self.people = [Person(ids[0], emails[0]), Person(ids[1], emails[1], is_tax_exempt=True)]
        self.emails = ("", emails[0], "Ann@Example.COM", emails[1], "guest@example.com", "Guest@example.com")
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

    def build_buyer(self, customer: int, email: int) -> Buyer:
        """Return one of the customers or none, with one of the email addresses or none."""
        text = self.emails[email % len(self.emails)]
        owner = next((person for person in self.people if person.email == text.lower()), None)
        return Buyer(self.people[customer - 1] if customer else None, text, owner)

    # --- discounts ---

    @precondition(lambda self: len(self.codes) < 5)
    @rule(values=RULES)
    def create_rule(self, values: dict[str, Any]) -> None:
        kind, value = values["kind"], values["value"]
        is_shipping, is_each = kind in SHIPPING_KINDS, kind not in {"across", "shared shipping"}
        customers, countries = ([index for index in range(2) if values[name] & (index + 1)] for name in SELECTIONS)
        has_bundles = kind.startswith("buy")
        entitled = self.choose_variants(values["entitled"] or (3 if has_bundles else 0))
        model = RuleModel(
            Decimal(value) / 100 if values["is_percentage"] else value * self.unit,
            values["is_percentage"],
            is_shipping=is_shipping,
            is_each=is_each,
            limit=values["limit"] if is_each else None,
            entitled=frozenset(entitled) if entitled and not is_shipping else None,
            usage_limit=values["usage_limit"],
            once_per_customer=values["once_per_customer"],
            customers=frozenset(self.people[index].pk for index in customers) or None,
            countries=frozenset(COUNTRIES[index] for index in countries if is_shipping) or None,
        )
        if has_bundles:
            model.bought, model.gets = frozenset(self.choose_variants(values["bought"])), values["gets"]
            model.buys = values["buys"] if kind == "buy quantity" else values["buys"] * 1000 * self.unit
        elif values["minimum"] == 2:
            model.minimum_quantity = 2
        elif values["minimum"]:
            model.minimum_subtotal = values["minimum"] * self.unit
        if is_shipping and values["limit"]:
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
            "customer_selection": "all" if model.customers is None else "prerequisite",
            "prerequisite_customer_ids": sorted(model.customers or ()),
            "target_type": "shipping_line" if model.is_shipping else "line_item",
            "target_selection": "all" if model.entitled is None and model.countries is None else "entitled",
            "entitled_country_ids": sorted(self.country_ids[code] for code in model.countries or ()),
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
    @rule(index=INDEX, customer=st.integers(0, 2), email=INDEX)
    def name_code(self, index: int, customer: int, email: int) -> None:
        """Create an order that names a code. It is never refused, and counts as a use."""
        code, buyer = self.codes[index % len(self.codes)], self.build_buyer(customer, email)
        self.note(f"order with {code.text} of {buyer}")
        body: JsonObject = {
            "line_items": [{"title": "Card", "price": "1", "quantity": 1}],
            "discount_codes": [{"code": code.text, "amount": "0", "type": "fixed_amount"}],
            "email": buyer.email,
        }
        if buyer.customer is not None:
            body["customer"] = {"id": buyer.customer.pk}
        self.send("orders.json", {"order": body})
        code.uses.append(buyer.get_names_of_use())

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
