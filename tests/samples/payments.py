from apps.core.types import Attrs
from apps.payments.models import PaymentHandlerConfig
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.factories.payments import make_handler

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
    return {"id": make_handler(handler_id=_get_free_id(), config={"shop_id": f"s{world.shop.pk}"}, enabled=False).pk}


def make_enabled_handler(world: SampleContext) -> Attrs:
    # Each environment can have only one enabled handler.
    environment = ("sandbox", "production")[PaymentHandlerConfig.objects.count() % 2]
    config = {"shop_id": f"s{world.shop.pk}", "environment": environment}
    handler = make_handler(handler_id=_get_free_id(), config=config)
    return {"id": handler.pk, "handler_id": handler.handler_id}


def _get_free_id() -> str:
    return f"other-{PaymentHandlerConfig.objects.count()}"


def build_redemption_body(rows: Attrs) -> Attrs:
    credential = {"type": "wallet_token", "token": f"opaque-{rows['id']}", "binding": {"checkout_id": "c-1"}}
    instrument = {"id": "pi-1", "handler_id": rows["handler_id"], "type": "wallet_pay", "credential": credential}
    return {"redemption": {"checkout_id": "c-1", "payment_instrument": instrument}}


register_resource("payment_handlers", HANDLER, HANDLER, make_handler_id, count=False)
register_sample(
    "GET payment_handlers/<id>/checkout_response.json",
    arrange=make_handler_id,
    query={"currency": "EUR", "country": "FR", "checkout_id": "c-1"},
)
register_sample(
    "POST payment_handlers/<id>/redemptions.json", build_redemption_body, arrange=make_enabled_handler, status=201
)
