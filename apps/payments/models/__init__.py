"""Models for payments."""

from apps.payments.models.payment_handlers import PaymentHandlerConfig, WalletShop
from apps.payments.models.redemptions import TokenRedemption

__all__ = ["PaymentHandlerConfig", "TokenRedemption", "WalletShop"]
