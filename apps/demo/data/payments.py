"""Demo data: an enabled production handler and a sandbox handler."""

from datetime import datetime

from apps.core.tenancy.models import Shop
from apps.payments.domain import handlers, schemas


def create_demo_handlers(shop: Shop, at: datetime) -> None:
    for values in (
        {
            "handler_id": "wallet_pay",
            "enabled": True,
            "config": {
                "shop_id": f"wallet-{shop.pk}",
                "merchant_name": shop.name,
                "environment": "production",
                "supported_currencies": sorted({shop.currency, "EUR", "USD"}),
                "supported_countries": ["CA", "DE", "FR", "SE", "US"],
            },
            "available_instruments": [{"type": "wallet_pay"}],
        },
        {
            "handler_id": "wallet_pay_sandbox",
            "enabled": False,
            "config": {"shop_id": f"wallet-{shop.pk}-test", "environment": "sandbox"},
        },
    ):
        attrs = {"handler_version": schemas.get_schema_versions()[0], **values}
        handlers.create_handler(attrs, actor="system", at=at)
