"""The demo store's payment handlers: one that is on, and one to try things out with."""

from datetime import datetime

from apps.payments.domain import configuring, publishing
from apps.shops.models import Shop


def make(shop: Shop, at: datetime) -> None:
    """Configure the wallet for a fresh demo shop."""
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
        attrs = {"handler_version": publishing.versions()[0], **values}
        configuring.create_handler(attrs, actor="system", at=at)
