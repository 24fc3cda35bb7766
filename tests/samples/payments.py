"""Sample requests for payment handlers."""

from django.utils import timezone

from apps.core.types import Attrs
from apps.payments.domain import handlers
from apps.payments.models import PaymentHandlerConfig
from tests.samples import SampleContext, register_sample

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


def make_handler_id(world: SampleContext) -> Attrs:
    number = PaymentHandlerConfig.objects.count()
    attrs = {
        "handler_id": f"other-{number}",
        "handler_version": "2026-04-08",
        "config": {"shop_id": f"s{world.shop.pk}"},
    }
    return {"id": handlers.create_handler(attrs, actor="system", at=timezone.now()).pk}


def make_enabled_handler(world: SampleContext) -> Attrs:
    number = PaymentHandlerConfig.objects.count()
    attrs = {
        "handler_id": f"on-{number}",
        "handler_version": "2026-04-08",
        # Each environment can have only one enabled handler.
        "config": {"shop_id": f"s{world.shop.pk}", "environment": ("sandbox", "production")[number % 2]},
        "enabled": True,
    }
    handler = handlers.create_handler(attrs, actor="system", at=timezone.now())
    return {"id": handler.pk, "handler_id": handler.handler_id}


def build_redemption_body(rows: Attrs) -> Attrs:
    credential = {"type": "wallet_token", "token": f"opaque-{rows['id']}", "binding": {"checkout_id": "c-1"}}
    instrument = {"id": "pi-1", "handler_id": rows["handler_id"], "type": "wallet_pay", "credential": credential}
    return {"redemption": {"checkout_id": "c-1", "payment_instrument": instrument}}


register_sample("GET payment_handlers.json", arrange=make_handler_id)
register_sample("POST payment_handlers.json", HANDLER, status=201)
register_sample("GET payment_handlers/<id>.json", arrange=make_handler_id)
register_sample("PUT payment_handlers/<id>.json", HANDLER, arrange=make_handler_id)
register_sample("DELETE payment_handlers/<id>.json", arrange=make_handler_id)
register_sample(
    "GET payment_handlers/<id>/checkout_response.json",
    arrange=make_handler_id,
    query={"currency": "EUR", "country": "FR", "checkout_id": "c-1"},
)
register_sample(
    "POST payment_handlers/<id>/redemptions.json", build_redemption_body, arrange=make_enabled_handler, status=201
)
