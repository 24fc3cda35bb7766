"""A state machine that drives orders over REST, and compares each response with the models after each step."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.model.arithmetic import PLACES, ZERO, to_money, to_text
from tests.model.comparisons import ComparedShop, DrivenOrder
from tests.model.order_model import LineModel, OrderModel, Payment, Suggestion, Terms
from tests.model.stock_model import StockModel
from tests.support import order_driver
from tests.support.types import JsonObject

CURRENCIES = (
    ("USD", "USD", "1"),
    ("EUR", "EUR", "1"),
    ("JPY", "JPY", "1"),
    ("KWD", "KWD", "1"),
    ("JPY", "USD", "0.006694"),
    ("USD", "EUR", "0.9123"),
    ("KWD", "JPY", "487.311"),
    ("USD", "KWD", "0.307"),
)
RATES = ("0.05", "0.09975", "0.19", "0.081")
BEHAVIORS = ("decrement_obeying_policy", "decrement_ignoring_policy", "bypass")
RESTOCK_TYPES = ("cancel", "return", "no_restock", "legacy")
INDEX = st.integers(0, 11)
# A price, a quantity, a discount in percent and tax rates.
LINES = st.lists(
    st.tuples(
        st.integers(1, 20_000),
        st.integers(1, 7),
        st.sampled_from([0, 0, 10, 33, 100]),
        st.lists(st.sampled_from(RATES), max_size=2, unique=True),
    ),
    min_size=1,
    max_size=2,
)

ORDERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "currencies": st.sampled_from(CURRENCIES),
        "taxes_included": st.booleans(),
        "behavior": st.sampled_from(BEHAVIORS),
        "lines": LINES,
        "shipping": st.tuples(st.sampled_from([0, 0, 499, 1250]), st.lists(st.sampled_from(RATES), max_size=1)),
        "tip": st.sampled_from([0, 0, 0, 250]),
    }
)


class ModelMachine(ComparedShop):
    """A shop with three locations and two tracked variants."""

    def pick(self, index: int) -> DrivenOrder | None:
        """Choose an order that is not canceled."""
        orders = [order for order in self.orders if not order.amounts.is_cancelled]
        return orders[index % len(orders)] if orders else None

    def note(self, step: str) -> None:
        self.figures.steps[step.partition(" ")[0]] += 1
        self.log.append(step)

    # --- the shop ---

    @initialize(levels=st.lists(st.sampled_from([3, 20, 60]), min_size=6, max_size=6), order=ORDERS)
    def open(self, levels: list[int], order: dict[str, Any]) -> None:
        self.locations = order_driver.make_locations(self.shop)
        variants = [
            {"option1": "Blue", "price": "1.00", "inventory_management": "own"},
            {"option1": "Red", "price": "1.00", "inventory_management": "own", "inventory_policy": "continue"},
        ]
        product = self.send("products.json", {"product": {"title": "Mug", "variants": variants}})["product"]
        self.items = {row["inventory_item_id"]: row["id"] for row in product["variants"]}
        places = [(item, location) for item in self.items for location in self.locations]
        for (item, location), available in zip(places, levels, strict=True):
            body = {"inventory_item_id": item, "location_id": location, "available": available}
            self.send("inventory_levels/set.json", body)
            self.stock[self.items[item], location] = available
        self.order(order)

    @rule(values=ORDERS)
    def order(self, values: dict[str, Any]) -> None:
        lines, shipping, behavior = values["lines"], values["shipping"], values["behavior"]
        if len(self.orders) == 4:
            return
        currency, presentment, rate = values["currencies"]
        terms = Terms(currency, presentment, Decimal(rate), values["taxes_included"])
        unit = Decimal(10) ** -PLACES[terms.currency]
        models = []
        for price, quantity, percent, rates in lines:
            discount = to_money(price * unit * quantity * percent / 100, terms.currency)
            models.append(LineModel(terms, price * unit, quantity, discount, [Decimal(rate) for rate in rates]))
        amounts = OrderModel(
            terms, models, shipping[0] * unit, [Decimal(rate) for rate in shipping[1]], values["tip"] * unit
        )
        needed = dict(zip(self.items.values(), (model.quantity for model in models), strict=False))
        body = self.build_order(amounts, needed, behavior)
        response = self.api.post("orders.json", {"order": body})
        if response.status_code == 422 and behavior == "decrement_obeying_policy":
            # Only the first variant must not be oversold.
            blue = next(iter(needed))
            available = sum(max(self.stock[blue, location], 0) for location in self.locations)
            self.expect("items in stock", available < needed[blue], True)
            return
        assert response.status_code == 201, (body, response.content)
        self.note(f"order {values}")
        shown = response.json()["order"]
        stock = StockModel(takes_stock=behavior != "bypass", stock=self.stock, variants={})
        ids = [row["id"] for row in shown["line_items"]]
        order = DrivenOrder(shown["id"], shown["name"], amounts, stock, dict(zip(ids, models, strict=True)))
        self.orders.append(order)
        self.route(order)
        self.compare(order)

    def build_order(self, amounts: OrderModel, needed: dict[int, int], behavior: str) -> JsonObject:
        terms = amounts.terms

        def text(amount: Decimal) -> str:
            return to_text(amount, terms.currency)

        def list_taxes(rates: Sequence[Decimal]) -> list[JsonObject]:
            return [{"title": f"Tax {rate}", "rate": str(rate)} for rate in rates]

        body: JsonObject = {
            "currency": terms.currency,
            "presentment_currency": terms.presentment,
            "taxes_included": terms.taxes_included,
            "inventory_behaviour": behavior,
            "total_tip_received": text(amounts.tip),
            "line_items": [
                {
                    "variant_id": variant,
                    "price": text(line.price),
                    "quantity": line.quantity,
                    "total_discount": text(line.discount),
                    "tax_lines": list_taxes(line.rates),
                }
                for variant, line in zip(needed, amounts.lines, strict=True)
            ],
            "shipping_lines": [
                {
                    "title": "Post",
                    "price": text(amounts.shipping_price),
                    "tax_lines": list_taxes(amounts.shipping_rates),
                }
            ],
        }
        return body | ({"exchange_rate": str(terms.rate)} if terms.has_two_currencies else {})

    def route(self, order: DrivenOrder) -> None:
        """Route new items. The product chooses their locations."""
        order_driver.route_items(order.pk)
        variants = {row["id"]: row["variant_id"] for row in self.read_order(order)["line_items"]}
        for row in self.read_fulfillment_orders(order):
            for line in row["line_items"] if row["id"] not in order.stock.locations else ():
                pk, count = line["line_item_id"], line["fulfillable_quantity"]
                order.stock.order(pk, variants[pk], row["id"], row["assigned_location_id"], count)

    # --- steps ---

    @rule(index=INDEX, tenths=st.sampled_from([3, 10, 10]))
    def pay(self, index: int, tenths: int) -> None:
        order = self.pick(index)
        if order is None or len(order.amounts.payments) == 3:
            return
        currency = order.terms.presentment
        amount = to_money(order.amounts.outstanding * tenths / 10, currency)
        if amount <= 0:
            return
        self.note(f"pay {amount}")
        payment = {"kind": "sale", "amount": to_text(amount, currency), "currency": currency}
        self.send(f"{order.path}/transactions.json", {"transaction": payment})
        order.amounts.payments.append(Payment(amount))
        self.compare(order)

    @rule(index=INDEX, line=INDEX, quantity=st.integers(1, 3))
    def edit_out(self, index: int, line: int, quantity: int) -> None:
        if (order := self.pick(index)) is None:
            return
        pk = self.pick_line(order, line)
        model = order.lines[pk]
        count = min(quantity, model.current, order.stock.count_waiting(pk))
        if not count:
            return
        self.note(f"edit out {count} of {pk}")
        assert order_driver.edit_quantity(order.pk, pk, model.current - count), self.log
        model.current -= count
        model.removed += count
        order.stock.edit_out(pk, count)
        self.compare(order)

    @rule(index=INDEX, line=INDEX, quantity=st.integers(1, 2))
    def edit_in(self, index: int, line: int, quantity: int) -> None:
        """Add items, which is refused if there are not enough of a variant that must not be oversold."""
        if (order := self.pick(index)) is None or len(order.lines) == 4:
            return
        pk = self.pick_line(order, line)
        model = order.lines[pk]
        if not order_driver.edit_quantity(order.pk, pk, model.current + quantity):
            return
        self.note(f"edit in {quantity} of {pk}")
        added = LineModel(order.terms, model.price, quantity, rates=model.rates)
        order.amounts.add_line(added)
        order.lines[max(row["id"] for row in self.read_order(order)["line_items"])] = added
        self.route(order)
        self.compare(order)

    def pick_line(self, order: DrivenOrder, index: int) -> int:
        return list(order.lines)[index % len(order.lines)]

    def pick_waiting(self, order: DrivenOrder, action: str, index: int) -> tuple[JsonObject, JsonObject] | None:
        pairs = [
            (row, line)
            for row in self.read_fulfillment_orders(order)
            for line in row["line_items"]
            if action in row["supported_actions"] and line["fulfillable_quantity"]
        ]
        return pairs[index % len(pairs)] if pairs else None

    @rule(index=INDEX, choice=INDEX, quantity=st.integers(1, 3))
    def fulfill(self, index: int, choice: int, quantity: int) -> None:
        order = self.pick(index)
        if order is None or not (chosen := self.pick_waiting(order, "create_fulfillment", choice)):
            return
        row, line = chosen
        count = min(quantity, line["fulfillable_quantity"])
        self.note(f"fulfill {count} of {line['line_item_id']}")
        units = [{"id": line["id"], "quantity": count}]
        part = {"fulfillment_order_id": row["id"], "fulfillment_order_line_items": units}
        body = {"fulfillment": {"line_items_by_fulfillment_order": [part]}}
        fulfillment = self.send("fulfillments.json", body)["fulfillment"]["id"]
        order.stock.fulfill(row["id"], line["line_item_id"], count, fulfillment)
        self.compare(order)

    @rule(index=INDEX, choice=INDEX)
    def cancel_parcel(self, index: int, choice: int) -> None:
        order = self.pick(index)
        if order is None or not order.stock.sent:
            return
        fulfillment = sorted(order.stock.sent)[choice % len(order.stock.sent)]
        self.note(f"cancel parcel {fulfillment}")
        known = {row["id"] for row in self.read_fulfillment_orders(order)}
        self.send(f"fulfillments/{fulfillment}/cancel.json")
        new = [row["id"] for row in self.read_fulfillment_orders(order) if row["id"] not in known]
        order.stock.take_back(fulfillment, new[0] if new else 0)
        self.compare(order)

    @rule(index=INDEX, choice=INDEX, quantity=st.integers(1, 3), place=st.integers(0, 1))
    def move(self, index: int, choice: int, quantity: int, place: int) -> None:
        order = self.pick(index)
        if order is None or not (chosen := self.pick_waiting(order, "move", choice)):
            return
        row, line = chosen
        count = min(quantity, line["fulfillable_quantity"])
        target = [pk for pk in self.locations if pk != row["assigned_location_id"]][place]
        self.note(f"move {count} of {line['line_item_id']} to {target}")
        units = [{"id": line["id"], "quantity": count}]
        body = {"fulfillment_order": {"new_location_id": target, "fulfillment_order_line_items": units}}
        moved = self.send(f"fulfillment_orders/{row['id']}/move.json", body)["moved_fulfillment_order"]["id"]
        order.stock.move(row["id"], line["line_item_id"], count, target, moved)
        self.compare(order)

    @rule(
        index=INDEX,
        choices=st.lists(st.tuples(INDEX, st.integers(1, 4)), max_size=2, unique_by=lambda choice: choice[0] % 4),
        kind=st.sampled_from(RESTOCK_TYPES),
        place=st.integers(0, 2),
        shipping=st.sampled_from([0, 0, 4, 10]),
        money=st.sampled_from(["suggested", "suggested", "none", "less", "all"]),
    )
    def refund(
        self, *, index: int, choices: list[tuple[int, int]], kind: str, place: int, shipping: int, money: str
    ) -> None:
        if (order := self.pick(index)) is None:
            return
        items = self.choose_items(order, choices, kind)
        model, terms = order.amounts, order.terms
        left = model.shipping_net - model.shipping_refunded
        # An amount of shipping in the presentment currency is converted, so only all of it is known here.
        tenths = 10 if terms.has_two_currencies and shipping else shipping
        part = to_money(left * tenths / 10, terms.currency)
        units = [(order.lines[pk], count) for pk, count in items]
        suggested = model.calculate(units, part)
        shares = self.choose_money(model, suggested, "suggested" if terms.has_two_currencies else money)
        if not items and not part and not any(shares):
            return
        self.note(f"refund {kind} {items} shipping {part} money {shares}")
        body: JsonObject = {"currency": terms.presentment, "refund_line_items": []}
        for pk, count in items:
            row: JsonObject = {"line_item_id": pk, "quantity": count}
            if kind != "legacy":
                row["restock_type"] = kind
            if kind in {"cancel", "return"}:
                row["location_id"] = self.locations[place]
            body["refund_line_items"].append(row)
        if kind == "legacy":
            body["restock"] = True
        if part:
            body["shipping"] = {"full_refund": True} if part == left else {"amount": to_text(part, terms.currency)}
        calculated = self.send(f"{order.path}/refunds/calculate.json", {"refund": body})["refund"]
        self.compare_suggestion(order, calculated, suggested)
        payments = self.read(f"{order.path}/transactions.json")["transactions"]
        ids = [row["id"] for row in payments if row["kind"] in {"sale", "capture"}]
        gateways = [self.choose_gateway(payment) for payment in model.payments]
        body["transactions"] = [
            {"parent_id": pk, "amount": to_text(share, terms.presentment), "kind": "refund", "gateway": gateway}
            for pk, share, gateway in zip(ids, shares, gateways, strict=True)
            if share
        ]
        shown = self.send(f"{order.path}/refunds.json", {"refund": body})["refund"]
        _, withheld = model.refund(units, part, shares)
        self.compare_refund(order, shown, suggested, withheld, shares)
        self.apply_restocking(order, items, kind, shown["refund_line_items"])
        self.settle_refund(order, shares)
        self.compare(order)

    def choose_gateway(self, payment: Payment) -> str:
        """Return the gateway that refunds a payment."""
        return "manual"

    def may_refund_all(self, order: DrivenOrder) -> bool:
        """Return False if the gateway of a payment refuses refunds."""
        return True

    def settle_refund(self, order: DrivenOrder, shares: Sequence[Decimal]) -> None:
        """Let the gateways move the refunded money."""

    def choose_items(self, order: DrivenOrder, choices: list[tuple[int, int]], kind: str) -> list[tuple[int, int]]:
        items: dict[int, int] = {}
        for line, quantity in choices:
            pk = self.pick_line(order, line)
            limits = {"cancel": order.stock.count_waiting(pk), "return": order.stock.count_at_customer(pk)}
            refundable = order.lines[pk].current + order.lines[pk].removed
            if count := min(quantity, refundable, limits.get(kind, quantity)):
                items[pk] = count
        return list(items.items())

    def choose_money(self, model: OrderModel, suggested: Suggestion, money: str) -> list[Decimal]:
        lefts = [payment.left for payment in model.payments]
        if money == "none":
            return [ZERO for _ in lefts]
        if money == "all":
            return lefts
        if money == "less":
            return [to_money(share / 2, model.terms.presentment) for share in suggested.shares]
        return list(suggested.shares)

    def apply_restocking(
        self, order: DrivenOrder, items: list[tuple[int, int]], kind: str, rows: list[JsonObject]
    ) -> None:
        """Restock the items in the model. Without a restock type, the product chooses the locations."""
        kinds: Counter[tuple[int, str]] = Counter()
        for row in rows:
            kinds[row["line_item_id"], row["restock_type"]] += row["quantity"]
        expected: Counter[tuple[int, str]] = Counter()
        for pk, count in items:
            if kind != "legacy":
                expected[pk, kind] = count
                continue
            waiting = min(count, order.stock.count_waiting(pk))
            back = min(count - waiting, order.stock.count_at_customer(pk))
            expected.update({(pk, "cancel"): waiting, (pk, "return"): back, (pk, "no_restock"): count - waiting - back})
        self.expect("restock types", kinds, +expected)
        if kind == "legacy" and order.stock.takes_stock:
            self.compare_restock_locations(order, rows)
        for row in sorted(rows, key=lambda row: row["restock_type"] != "cancel"):
            order.stock.refund(row["line_item_id"], row["quantity"], row["restock_type"], row["location_id"] or 0)

    @rule(index=INDEX, restock=st.booleans(), with_money=st.booleans(), chance=st.integers(0, 1))
    def cancel(self, index: int, restock: bool, with_money: bool, chance: int) -> None:
        order = self.pick(index)
        if order is None or chance or order.stock.sent or not order.stock.may_restock_all():
            return
        model, terms = order.amounts, order.terms
        lefts = [payment.left for payment in model.payments]
        body: JsonObject = {"restock": restock}
        with_money = with_money and any(lefts) and self.may_refund_all(order)
        if with_money:
            body |= {"amount": to_text(sum(lefts, ZERO), terms.presentment), "currency": terms.presentment}
        self.note(f"cancel {order.pk} {body}")
        self.send(f"{order.path}/cancel.json", body)
        model.is_cancelled = True
        model.release_authorizations()
        if with_money:
            units = [(line, line.current + line.removed) for line in order.lines.values()]
            model.refund(units, model.shipping_net - model.shipping_refunded, lefts)
            self.settle_refund(order, lefts)
            self.restock_everything(order, restock=restock)
        model.cancel(restock=restock)
        order.stock.cancel(restock=restock)
        self.compare(order)

    def restock_everything(self, order: DrivenOrder, *, restock: bool) -> None:
        stock = order.stock
        for pk in order.lines:
            for row in sorted(stock.waiting) if restock else ():
                if count := min(stock.waiting[row][pk], stock.refundable[pk]):
                    stock.refund(pk, count, "cancel", stock.locations[row])
            if stock.refundable[pk]:
                stock.refund(pk, stock.refundable[pk], "no_restock", 0)
