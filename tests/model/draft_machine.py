"""Steps with draft orders, in a shop with the steps of orders and discounts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from tests.model.arithmetic import ZERO
from tests.model.comparisons import DrivenOrder
from tests.model.discount_machine import OPENING, DiscountMachine
from tests.model.discount_model import Buyer, Cart, apply_codes
from tests.model.draft_model import CalculatedDraft, DraftLine, DraftValues, ManualDiscount, calculate
from tests.model.machine import INDEX
from tests.model.order_model import Payment, Terms
from tests.model.stock_model import StockModel
from tests.support.types import JsonObject

# Regions without and with taxes. The shop itself is in a region without taxes.
REGIONS = ("", "CA", "CA-ON", "DE")
MANUAL = st.one_of(st.none(), st.tuples(st.booleans(), st.sampled_from([1, 333, 1000, 3333, 10_000])))
PRICE = st.one_of(st.sampled_from([500, 1000, 2500]), st.integers(1, 20_000))
LINE = st.tuples(PRICE, st.integers(1, 7), st.integers(0, 2), st.booleans(), MANUAL)
DRAFTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "lines": st.lists(LINE, min_size=1, max_size=3),
        "discount": MANUAL,
        "shipping": st.sampled_from([None, 0, 499, 1250]),
        "codes": st.one_of(st.just([]), st.lists(INDEX, min_size=1, max_size=2)),
        "customer": st.integers(0, 2),
        "email": st.one_of(st.just(0), INDEX),
        "tax_exempt": st.sampled_from([False, False, False, True]),
        "region": st.sampled_from(REGIONS),
        "has_presentment": st.booleans(),
    }
)

# The members of a body by the names of the values that they change.
MEMBERS = {
    "terms": "presentment_currency",
    "lines": "line_items",
    "discount": "applied_discount",
    "shipping": "shipping_line",
    "codes": "discount_codes",
    "tax_exempt": "tax_exempt",
    "buyer": "email",
    "region": "shipping_address",
}


@dataclass
class DrivenDraft:
    """A draft order of the product with its values, and with the amounts of its last calculation."""

    pk: int
    values: DraftValues
    calculated: CalculatedDraft

    @property
    def path(self) -> str:
        return f"draft_orders/{self.pk}"


class DraftMachine(DiscountMachine):
    """A shop in which staff create, change and complete draft orders with discount codes."""

    def __init__(self) -> None:
        super().__init__()
        self.drafts: list[DrivenDraft] = []

    @initialize(**OPENING, drafts=st.lists(DRAFTS, min_size=2, max_size=2))
    def open(self, *, drafts: list[dict[str, Any]], **shop: Any) -> None:
        super().open(**shop)
        for values in drafts:
            self.create_draft(values)

    def build_values(self, values: dict[str, Any]) -> DraftValues:
        has_presentment = values["has_presentment"]
        presentment, rate = (self.presentment, self.rate) if has_presentment else (self.currency, Decimal(1))
        chosen = [self.codes[index % len(self.codes)] for index in values["codes"] if self.codes]
        shipping = values["shipping"]
        return DraftValues(
            Terms(self.currency, presentment, rate, self.taxes_included),
            tuple(self.build_line(*line) for line in values["lines"]),
            self.build_discount(values["discount"]),
            None if shipping is None else shipping * self.unit,
            tuple(dict.fromkeys(chosen)),
            self.build_buyer(values["customer"], values["email"]),
            values["tax_exempt"],
            values["region"],
        )

    def build_line(
        self, price: int, quantity: int, item: int, taxable: bool, discount: tuple[bool, int] | None
    ) -> DraftLine:
        variant = self.choose_variants(item)[0] if item else None
        # A variant determines whether it is taxable, and these variants are.
        return DraftLine(price * self.unit, quantity, variant, taxable or bool(item), self.build_discount(discount))

    def build_discount(self, values: tuple[bool, int] | None) -> ManualDiscount | None:
        if values is None:
            return None
        is_percentage, value = values
        return ManualDiscount(Decimal(value) / 100 if is_percentage else value * self.unit, is_percentage)

    @precondition(lambda self: len(self.drafts) < 3)
    @rule(values=DRAFTS)
    def create_draft(self, values: dict[str, Any]) -> None:
        new = self.build_values(values)
        self.note(f"draft {values}")
        members = self.render_values(new)
        if customer := new.buyer.customer:
            members["customer"] = {"id": customer.pk}
            # Without an email address, the draft order gets that of the customer.
            if not new.buyer.email:
                new = replace(new, buyer=Buyer(customer, customer.email, customer))
        self.save(self.api.post, "draft_orders.json", members, new, None)

    @precondition(lambda self: self.drafts)
    @rule(index=INDEX, values=DRAFTS, names=st.sets(st.sampled_from(sorted(MEMBERS)), min_size=1, max_size=3))
    def change_draft(self, index: int, values: dict[str, Any], names: set[str]) -> None:
        """Change some of the values. The customer of a draft order stays, but not its email address."""
        draft = self.drafts[index % len(self.drafts)]
        built = self.build_values(values)
        built = replace(built, buyer=replace(built.buyer, customer=draft.values.buyer.customer))
        new = replace(draft.values, **{name: getattr(built, name) for name in names})
        self.note(f"change {sorted(names)} of draft {draft.pk} by {values}")
        members = self.render_values(new)
        changed = {member: members[member] for member in map(MEMBERS.__getitem__, names)}
        self.save(self.api.put, f"{draft.path}.json", changed, new, draft)

    @precondition(lambda self: self.drafts)
    @rule(index=INDEX, line=INDEX, quantity=st.integers(1, 7))
    def change_quantity(self, index: int, line: int, quantity: int) -> None:
        """Change the quantity of a line, which keeps its price and its discount."""
        draft = self.drafts[index % len(self.drafts)]
        place = line % len(draft.values.lines)
        ids = [row["id"] for row in self.read(f"{draft.path}.json")["draft_order"]["line_items"]]
        lines = list(draft.values.lines)
        lines[place] = replace(lines[place], quantity=quantity)
        self.note(f"quantity {quantity} of line {place} of draft {draft.pk}")
        members = {"line_items": [{"id": pk, "quantity": row.quantity} for pk, row in zip(ids, lines, strict=True)]}
        self.save(self.api.put, f"{draft.path}.json", members, replace(draft.values, lines=tuple(lines)), draft)

    @precondition(lambda self: self.drafts)
    @rule(index=INDEX)
    def change_note(self, index: int) -> None:
        """Change the note of a draft order, which leaves its amounts as they are."""
        draft = self.drafts[index % len(self.drafts)]
        self.note(f"note of draft {draft.pk}")
        self.put(f"{draft.path}.json", {"draft_order": {"note": f"Step {len(self.log)}"}})

    def render_values(self, values: DraftValues) -> JsonObject:
        country, _, province = values.region.partition("-")
        address = {"address1": "Main Street 1", "country_code": country, "province_code": province or None}
        shipping = values.shipping
        return {
            "line_items": [self.render_line(line) for line in values.lines],
            "applied_discount": self.render_discount(values.discount),
            "shipping_line": None if shipping is None else {"title": "Post", "price": self.text(shipping)},
            "discount_codes": [code.text for code in values.codes],
            "tax_exempt": values.tax_exempt,
            "email": values.buyer.email,
            "shipping_address": address if country else None,
            "presentment_currency": values.terms.presentment,
        }

    def render_line(self, line: DraftLine) -> JsonObject:
        row: JsonObject = {"price": self.text(line.price), "quantity": line.quantity}
        if line.discount is not None:
            row["applied_discount"] = self.render_discount(line.discount)
        if line.variant is not None:
            return {**row, "variant_id": line.variant}
        return {**row, "title": "Engraving", "taxable": line.taxable, "requires_shipping": True}

    def render_discount(self, discount: ManualDiscount | None) -> JsonObject | None:
        if discount is None:
            return None
        kind = "percentage" if discount.is_percentage else "fixed_amount"
        return {"title": "Regular", "value_type": kind, "value": f"{discount.value:f}"}

    def save(
        self,
        send: Callable[[str, object], Any],
        path: str,
        members: JsonObject,
        values: DraftValues,
        draft: DrivenDraft | None,
    ) -> None:
        """Save a draft order. The amounts are calculated again if a value changes that they depend on."""
        calculated = calculate(values, self.taxes)
        if draft is not None and values == draft.values and "line_items" not in members:
            calculated = draft.calculated
        self.compare_calculation(values, values.get_cart())
        response = send(path, {"draft_order": members})
        assert response.status_code in {200, 201, 422}, (self.log, response.content)
        self.expect(f"refusal {response.content!r}", response.status_code == 422, calculated is None)
        if calculated is None:
            return
        if draft is None:
            draft = DrivenDraft(response.json()["draft_order"]["id"], values, calculated)
            self.drafts.append(draft)
        draft.values, draft.calculated = values, calculated
        self.compare_draft(draft, response.json()["draft_order"])

    @precondition(lambda self: self.codes)
    @rule(values=DRAFTS, prices=st.lists(st.sampled_from([0, 499, 1250, 3000]), min_size=2, max_size=3))
    def calculate_cart(self, values: dict[str, Any], prices: list[int]) -> None:
        """Calculate the discounts of a cart with several shipping lines, which a draft order cannot have."""
        new = self.build_values(values)
        self.note(f"calculate {values} with shipping {prices}")
        self.compare_calculation(new, replace(new.get_cart(), shipping=[price * self.unit for price in prices]))

    def compare_calculation(self, values: DraftValues, cart: Cart) -> None:
        """Compare the discounts that apps can calculate for the items of a draft order."""
        applied = apply_codes(values.codes, cart)
        rows = [
            {
                "variant_id": line.variant,
                "quantity": line.quantity,
                "price": self.text(line.price),
                "total_discount": self.text(line.price * line.quantity - row.net),
            }
            for line, row in zip(values.lines, cart.rows, strict=True)
        ]
        body = {
            "line_items": rows,
            "shipping_lines": [{"price": self.text(price)} for price in cart.shipping],
            "discount_codes": [code.text for code in values.codes],
            "customer": cart.buyer.customer and {"id": cart.buyer.customer.pk},
            "email": cart.buyer.email,
            "country_code": cart.country,
        }
        shown = self.send("discounts/calculate.json", body)["discount_calculation"]
        self.expect("refused codes", [row["code"] for row in shown["refused_codes"]], applied.refused)
        discounts = [add_up_allocations(row) for row in shown["line_items"]]
        self.expect("calculated discounts", discounts, [applied.get_row(index) for index in range(len(rows))])
        discounts = [add_up_allocations(row) for row in shown["shipping_lines"]]
        expected = [applied.get_shipping(index) for index in range(len(cart.shipping))]
        self.expect("calculated discounts of shipping", discounts, expected)
        total = sum(applied.get_amounts().values(), ZERO)
        self.expect("sum of calculated discounts", Decimal(shown["total_discounts"]), total)

    @precondition(lambda self: self.drafts)
    @rule(index=INDEX, is_paid=st.booleans())
    def complete_draft(self, index: int, is_paid: bool) -> None:
        if len(self.orders) >= 7:
            return
        draft = self.drafts[index % len(self.drafts)]
        values, amounts = draft.values, draft.calculated.amounts
        is_paid = is_paid and not values.terms.has_two_currencies
        self.note(f"complete draft {draft.pk}, paid: {is_paid}")
        blue = next(iter(self.items.values()))
        needed = sum(line.quantity for line in values.lines if line.variant == blue)
        is_refused = needed > sum(max(self.stock[blue, location], 0) for location in self.locations)
        is_refused = is_refused or not all(code.may_be_used_by(values.buyer) for code in values.codes)
        response = self.api.put(f"{draft.path}/complete.json?payment_pending={'false' if is_paid else 'true'}")
        assert response.status_code in {200, 422}, (self.log, response.content)
        self.expect(f"refusal of completion {response.content!r}", response.status_code == 422, is_refused)
        if is_refused:
            return
        self.drafts.remove(draft)
        self.compare_draft(draft, response.json()["draft_order"])
        for code in values.codes:
            code.uses.append(values.buyer.get_names_of_use())
        if is_paid and (total := amounts.get_totals()["total_price"].shown):
            amounts.payments.append(Payment(total))
        self.add_order(draft, response.json()["draft_order"]["order_id"])

    def add_order(self, draft: DrivenDraft, pk: int) -> None:
        amounts = draft.calculated.amounts
        shown = self.read(f"orders/{pk}.json")["order"]
        ids = [row["id"] for row in shown["line_items"]]
        stock = StockModel(takes_stock=True, stock=self.stock, variants={})
        order = DrivenOrder(pk, shown["name"], amounts, stock, dict(zip(ids, amounts.lines, strict=True)))
        self.orders.append(order)
        discounts = [add_up_allocations(row) for row in shown["line_items"]]
        self.expect("discounts of line items", discounts, [line.discount for line in amounts.lines])
        shipping = sum((add_up_allocations(row) for row in shown["shipping_lines"]), ZERO)
        self.expect("discount of shipping", shipping, amounts.shipping_discount)
        codes = {row["code"]: Decimal(row["amount"]) for row in shown["discount_codes"]}
        self.expect("amounts of codes", codes, draft.calculated.codes.get_amounts())
        self.route(order)
        self.compare(order)

    @invariant()
    def compare_drafts(self) -> None:
        for draft in self.drafts:
            self.compare_draft(draft, self.read(f"{draft.path}.json")["draft_order"])

    def compare_draft(self, draft: DrivenDraft, shown: JsonObject) -> None:
        values, amounts = draft.values, draft.calculated.amounts
        for name, amount in amounts.get_totals().items():
            if f"{name}_set" in shown:
                self.expect_money(f"{name} of draft {draft.pk}", shown[f"{name}_set"], amount)
            if name in shown:
                self.expect(f"{name} of draft {draft.pk}", Decimal(shown[name]), amount.shop)
        self.expect("completion", shown["order_id"] is None, draft in self.drafts)
        self.expect("codes of the draft", shown["discount_codes"], [code.text for code in values.codes])
        rows = zip(shown["line_items"], values.lines, amounts.lines, values.get_line_discounts(), strict=True)
        for row, line, priced, discount in rows:
            self.expect("line", (Decimal(row["price"]), row["quantity"]), (line.price, line.quantity))
            self.expect("taxes", [Decimal(tax["price"]) for tax in row["tax_lines"]], priced.taxes)
            if line.discount is not None:
                self.expect("own discount", Decimal(row["applied_discount"]["amount"]), discount)


def add_up_allocations(row: JsonObject) -> Decimal:
    return sum((Decimal(part["amount"]) for part in row["discount_allocations"]), ZERO)
