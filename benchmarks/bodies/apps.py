"""Requests for webhook subscriptions, payment handlers and fulfillment services."""

import time
from datetime import UTC, datetime
from typing import Any

from benchmarks.bodies.runner import Bench

CURRENCIES = ["EUR", "USD", "GBP", "SEK", "JPY"]


def send_apps(bench: Bench, number: int) -> None:
    """Create, update and delete the largest object of each type."""
    _subscriptions(bench, number)
    _handlers(bench, number)
    _services(bench, number)
    _gift_cards(bench)
    _discounts(bench, number)


def _subscriptions(bench: Bench, number: int) -> None:
    terms = " AND ".join(f"variants.price:>={price}.00" for price in range(50))
    subscription: dict[str, Any] = {
        "address": f"https://app.example/{number}/" + "a" * 200,
        "topic": "products/update",
        "format": "json",
        "fields": ["variants.price", *(f"variants.field_{index}" for index in range(200))],
        "filter": terms,
        "metafield_namespaces": [f"space_{index}" for index in range(50)],
    }
    body = bench.send("POST webhooks", "POST", "webhooks.json", {"webhook": subscription})["webhook"]["id"]
    changed = {"webhook": {"filter": terms.replace(".00", ".50")}}
    bench.send("PUT webhooks", "PUT", f"webhooks/{body}.json", changed)
    since = {"replay": {"since": datetime.now(UTC).isoformat(timespec="seconds")}}
    bench.send("POST webhooks/replay", "POST", f"webhooks/{body}/replay.json", since)
    delivery = bench.send("POST webhooks/test", "POST", f"webhooks/{body}/test.json")["delivery"]["id"]
    bench.send("POST webhooks/deliveries/resend", "POST", f"webhooks/{body}/deliveries/{delivery}/resend.json")
    bench.send("DELETE webhooks", "DELETE", f"webhooks/{body}.json")


def _handlers(bench: Bench, number: int) -> None:
    config = {
        "shop_id": f"bodies-{number}",
        "merchant_name": "Bodies",
        "environment": "sandbox",
        "supported_currencies": CURRENCIES,
        "supported_countries": ["DE", "FR", "SE"],
    }
    instruments = [{"type": "wallet_pay", "constraints": {"maximum": 500}}]
    handler = {
        "handler_id": f"bodies-{number}",
        "version": "2026-04-08",
        "config": config,
        "available_instruments": instruments,
        "enabled": True,
    }
    path, name = "payment_handlers", "payment_handler"
    body = bench.send(f"POST {path}", "POST", f"{path}.json", {name: handler})[name]["id"]
    bench.send(f"PUT {path}", "PUT", f"{path}/{body}.json", {name: {"config": {**config, "merchant_name": "More"}}})
    credential = {"type": "wallet_token", "token": f"opaque-{time.time_ns()}-" + "a" * 2000}
    instrument = {"id": "pi", "handler_id": f"bodies-{number}", "type": "wallet_pay", "credential": credential}
    redemption = {"redemption": {"checkout_id": f"c-{number}", "payment_instrument": instrument}}
    bench.send("POST redemptions", "POST", f"{path}/{body}/redemptions.json", redemption)
    bench.send(f"DELETE {path}", "DELETE", f"{path}/{body}.json")


def _services(bench: Bench, number: int) -> None:
    path, name = "fulfillment_services", "fulfillment_service"
    service = {
        "name": f"{number} " + "a" * 240,
        "callback_url": f"https://depot.example/{number}/" + "a" * 2000,
        "inventory_management": True,
        "tracking_support": True,
    }
    body = bench.send(f"POST {path}", "POST", f"{path}.json", {name: service})[name]["id"]
    bench.send(f"PUT {path}", "PUT", f"{path}/{body}.json", {name: {"name": f"{number} " + "b" * 240}})
    bench.send(f"DELETE {path}", "DELETE", f"{path}/{body}.json")


def _gift_cards(bench: Bench) -> None:
    path, name = "gift_cards", "gift_card"
    note, moment = "word " * 1000, datetime.now(UTC)
    card: dict[str, Any] = {"initial_value": "100.00", "note": note, "template_suffix": "a" * 255}
    body = bench.send(f"POST {path}", "POST", f"{path}.json", {name: card})[name]["id"]
    expiry = f"{moment.year + 1}-01-01"
    bench.send(f"PUT {path}", "PUT", f"{path}/{body}.json", {name: {"note": "more " * 1000, "expires_on": expiry}})
    url = "https://till.example/" + "a" * 2000
    adjustment = {
        "amount": "-10.00",
        "note": note,
        "processed_at": moment.isoformat(timespec="seconds"),
        "remote_transaction_ref": "a" * 255,
        "remote_transaction_url": url,
    }
    bench.send("POST adjustments", "POST", f"{path}/{body}/adjustments.json", {"adjustment": adjustment})
    bench.send(f"POST {path}/disable", "POST", f"{path}/{body}/disable.json", {name: {}})


def _discounts(bench: Bench, number: int) -> None:
    path, moment = "price_rules", datetime.now(UTC).isoformat(timespec="seconds")
    rule = {
        "title": "a" * 255,
        "value_type": "percentage",
        "value": "-10.0",
        "customer_selection": "all",
        "target_type": "line_item",
        "target_selection": "all",
        "allocation_method": "across",
        "starts_at": moment,
    }
    body = bench.send(f"POST {path}", "POST", f"{path}.json", {"price_rule": rule})["price_rule"]["id"]
    bench.send(f"PUT {path}", "PUT", f"{path}/{body}.json", {"price_rule": {"title": "b" * 255, "usage_limit": 9}})
    codes, code = f"{path}/{body}/discount_codes", f"{number} " + "a" * 240
    created = bench.send("POST discount_codes", "POST", f"{codes}.json", {"discount_code": {"code": code}})
    one = f"{codes}/{created['discount_code']['id']}.json"
    bench.send("PUT discount_codes", "PUT", one, {"discount_code": {"code": f"{number} " + "b" * 240}})
    batch = {"discount_codes": [{"code": f"{number} {index} " + "c" * 240} for index in range(100)]}
    bench.send("POST batch", "POST", f"{path}/{body}/batch.json", batch)
    lines = [{"price": "19.99", "quantity": 2}] * 500
    cart = {"line_items": lines, "discount_codes": [f"{number} " + "b" * 240]}
    bench.send("POST discounts/calculate", "POST", "discounts/calculate.json", cart)
    bench.send("DELETE discount_codes", "DELETE", one)
    bench.send(f"DELETE {path}", "DELETE", f"{path}/{body}.json")
