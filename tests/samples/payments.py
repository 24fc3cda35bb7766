"""Requests for payment handlers."""

from typing import Any

from django.utils import timezone

from apps.payments.domain import handlers
from apps.payments.models import PaymentHandlerConfig
from tests.samples import World, sample

HANDLER = {
    "payment_handler": {
        "handler_id": "wallet_pay",
        "version": "2026-04-08",
        "config": {
            "shop_id": "942252",
            "merchant_name": "Acme",
            "environment": "sandbox",
            "supported_currencies": ["EUR", "USD"],
            "supported_countries": ["FR", "US"],
        },
        "available_instruments": [{"type": "wallet_pay", "constraints": {"maximum": 500}}],
        "enabled": True,
    }
}


def one_handler(world: World) -> dict[str, Any]:
    number = PaymentHandlerConfig.objects.count()
    attrs = {
        "handler_id": f"other-{number}",
        "handler_version": "2026-04-08",
        "config": {"shop_id": f"s{world.shop.pk}"},
    }
    return {"id": handlers.create_handler(attrs, actor="system", at=timezone.now()).pk}


def handler_that_is_on(world: World) -> dict[str, Any]:
    number = PaymentHandlerConfig.objects.count()
    attrs = {
        "handler_id": f"on-{number}",
        "handler_version": "2026-04-08",
        # An environment can have one enabled handler.
        "config": {"shop_id": f"s{world.shop.pk}", "environment": ("sandbox", "production")[number % 2]},
        "enabled": True,
    }
    handler = handlers.create_handler(attrs, actor="system", at=timezone.now())
    return {"id": handler.pk, "handler_id": handler.handler_id}


def redemption(rows: dict[str, Any]) -> dict[str, Any]:
    credential = {"type": "wallet_token", "token": f"opaque-{rows['id']}", "binding": {"checkout_id": "c-1"}}
    instrument = {"id": "pi-1", "handler_id": rows["handler_id"], "type": "wallet_pay", "credential": credential}
    return {"redemption": {"checkout_id": "c-1", "payment_instrument": instrument}}


sample("GET payment_handlers.json", arrange=one_handler)
sample("POST payment_handlers.json", HANDLER, status=201)
sample("GET payment_handlers/<id>.json", arrange=one_handler)
sample("PUT payment_handlers/<id>.json", HANDLER, arrange=one_handler)
sample("DELETE payment_handlers/<id>.json", arrange=one_handler)
sample(
    "GET payment_handlers/<id>/checkout_response.json",
    arrange=one_handler,
    query={"currency": "EUR", "country": "FR", "checkout_id": "c-1"},
)
sample("POST payment_handlers/<id>/redemptions.json", redemption, arrange=handler_that_is_on, status=201)
