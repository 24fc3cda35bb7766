"""Requests for orders with lists of the maximum length, and for transactions and refunds."""

from benchmarks.bodies.runner import ROOT, Bench, Body
from benchmarks.bodies.shop_data import BenchRows, build_metafields, build_tags
from benchmarks.scale import scale

LINES, SHIPPING, CODES, TAXES, MEMBERS, PAYBACKS = map(scale, (500, 100, 100, 20, 250, 100))
DUTIES, DUTY_TAXES = 5, 3
_PAID = {"financial_status": "paid", "inventory_behaviour": "decrement_obeying_policy"}


def send_orders(bench: Bench, goods: BenchRows) -> dict[str, int]:
    """Send all requests; return the ids of objects that can own metafields."""
    counted = [{"variant_id": pk, "quantity": 2} for pk in goods.variants]
    for name, body in {
        f"{LINES} products with stock, paid": {"line_items": counted, **_PAID},
        f"{LINES} lines, {SHIPPING} shipping lines, {TAXES} taxes each": _taxed(),
        f"{LINES} lines, {DUTIES} duties with {DUTY_TAXES} taxes each": _declared(),
        f"{LINES} lines, {CODES} discount codes": _discounted(),
        f"{MEMBERS} transactions": _paid(),
        f"{LINES} lines with 10 properties, {MEMBERS} metafields": _described(),
    }.items():
        new_body = bench.send(f"POST orders, {name}", "POST", "orders.json", {"order": {"tags": build_tags(), **body}})[
            "order"
        ]
        path = f"orders/{new_body['id']}"
        changed = {"note": "word " * 900, "tags": "other", "metafields": build_metafields("other")}
        bench.send(f"PUT orders, {name}", "PUT", f"{path}.json", {"order": changed})
        if new_body["financial_status"] != "paid":
            sale = {"transaction": {"kind": "sale", "amount": "0.01", "gateway": "manual"}}
            bench.send(f"POST transactions, {name}", "POST", f"{path}/transactions.json", sale)
        bench.send("POST orders/close", "POST", f"{path}/close.json", {})
        bench.send("POST orders/open", "POST", f"{path}/open.json", {})
        _refund(bench, name, path, new_body)
        bench.send(f"POST orders/cancel, {name}", "POST", f"{path}/cancel.json", {})
        bench.send(f"DELETE orders, {name}", "DELETE", f"{path}.json")
    saved_body = bench.client.post(
        f"{ROOT}/orders.json", {"order": {"line_items": [_line()]}}, "application/json"
    ).json()
    return {"orders": saved_body["order"]["id"]}


def send_draft_orders(bench: Bench, goods: BenchRows) -> dict[str, int]:
    """Send all requests; return the ids of objects that can own metafields."""
    discount = {"value_type": "percentage", "value": "10"}
    lines = [{"variant_id": pk, "quantity": 2, "applied_discount": discount} for pk in goods.variants]
    body: Body = {"line_items": lines, "tags": build_tags(), "metafields": build_metafields()}
    body |= {"shipping_line": {"title": "Post", "price": "4.00"}, "applied_discount": discount}
    name = f"{LINES} products, {MEMBERS} metafields"
    draft = bench.send(f"POST draft_orders, {name}", "POST", "draft_orders.json", {"draft_order": body})["draft_order"]
    path = f"draft_orders/{draft['id']}"
    changed = {"line_items": [{"id": line["id"], "quantity": 3} for line in draft["line_items"]], "tags": "other"}
    bench.send(f"PUT draft_orders, {name}", "PUT", f"{path}.json", {"draft_order": changed})
    invoice = {"draft_order_invoice": {"to": "buyer@example.com", "custom_message": "word " * 900}}
    bench.send("POST draft_orders/send_invoice", "POST", f"{path}/send_invoice.json", invoice)
    bench.send(f"PUT draft_orders/complete, {name}", "PUT", f"{path}/complete.json", {})
    other, kept = (
        bench.client.post(f"{ROOT}/draft_orders.json", {"draft_order": body}, "application/json").json()["draft_order"]
        for _ in range(2)
    )
    bench.send(f"DELETE draft_orders, {name}", "DELETE", f"draft_orders/{other['id']}.json")
    return {"draft_orders": kept["id"]}


def _refund(bench: Bench, name: str, path: str, order_body: Body) -> None:
    """Refund and restock one unit of each line item, with the maximum number of transactions."""
    units = [{"line_item_id": line["id"], "quantity": 1} for line in order_body["line_items"]]
    ids = [duty["id"] for line in order_body["line_items"] for duty in line["duties"]][:LINES]
    duties = [{"duty_id": pk, "refund_type": "PROPORTIONAL"} for pk in ids]
    body: Body = {"restock": True, "refund_line_items": units, "shipping": {"full_refund": True}}
    body["refund_duties"] = duties
    bench.send(f"POST refunds/calculate, {name}", "POST", f"{path}/refunds/calculate.json", {"refund": body})
    if order_body["financial_status"] == "paid":
        body["transactions"] = [{"amount": "0.01"}] * PAYBACKS
    bench.send(f"POST refunds, {name}", "POST", f"{path}/refunds.json", {"refund": body})


def _line() -> Body:
    return {"title": "Line", "price": "40.00", "quantity": 3}


def _taxes(count: int) -> list[Body]:
    return [{"title": f"T{number}", "rate": 0.001} for number in range(count)]


def _taxed() -> Body:
    shipping = [{"title": "Post", "price": "4.00", "tax_lines": _taxes(TAXES)}] * SHIPPING
    return {"line_items": [_line() | {"tax_lines": _taxes(TAXES)}] * LINES, "shipping_lines": shipping}


def _declared() -> Body:
    duty = {
        "shop_money": {"amount": "4.00"},
        "harmonized_system_code": "6912.00.1234",
        "country_code_of_origin": "SE",
        "tax_lines": _taxes(DUTY_TAXES),
    }
    return {"line_items": [_line() | {"duties": [duty] * DUTIES}] * LINES}


def _discounted() -> Body:
    codes = [{"code": f"CODE{n}", "amount": "5.00", "type": "fixed_amount"} for n in range(CODES)]
    return {"line_items": [_line()] * LINES, "discount_codes": codes}


def _paid() -> Body:
    waiting = [
        {"kind": "sale", "status": "pending", "amount": f"0.{n % 90 + 10}", "gateway": f"g{n}"}
        for n in range(MEMBERS // 2)
    ]
    failed = [{"kind": "sale", "status": "failure", "amount": "0.05", "gateway": "other"}] * (MEMBERS // 2)
    return {"line_items": [_line()], "transactions": [*waiting, *failed]}


def _described() -> Body:
    pairs = [{"name": f"name {n}", "value": "value " * 10} for n in range(10)]
    return {
        "line_items": [_line() | {"properties": pairs}] * LINES,
        "note_attributes": [{"name": f"name {n}", "value": "value"} for n in range(MEMBERS)],
        "metafields": build_metafields(),
        "email": "buyer@example.com",
    }
